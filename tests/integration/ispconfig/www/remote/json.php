<?php
// The JSON endpoint of the double.
declare(strict_types=1);

require __DIR__ . '/../../lib/start.php';

function answer(string $code, string $message, $response): void
{
    header('Content-Type: application/json; charset="utf-8"');
    echo json_encode(['code' => $code, 'message' => $message,
        'response' => $response]);
}

function serve(Store $store, Variants $variants, string $method,
    string $body): void
{
    $entry = Remote::functions()[$method] ?? null;
    if ($entry === null) {
        $variants->outcome('invalid_method');
        answer('invalid_method', $method === ''
            ? 'Method not provided in json call'
            : "Method $method does not exist", false);
        return;
    }
    $sent = json_decode($body, true);
    if (!is_array($sent)) {
        $variants->outcome('invalid_data');
        answer('invalid_data', 'The JSON data sent to the api is invalid',
            false);
        return;
    }
    $args = array_map(fn($name) => $sent[$name] ?? null, $entry[1]);
    $remote = new Remote($store, $variants->address(), $variants);
    try {
        $response = $remote->call($method, $args);
        $variants->outcome('ok');
        answer('ok', '', $response);
    } catch (SoapFault $fault) {
        $variants->outcome($fault->faultcode);
        answer('remote_fault', $fault->getMessage(), false);
    } catch (Error $error) {
        $variants->outcome('error');
        throw $error;
    }
}

ob_start('ob_gzhandler');
$store = new Store(getenv('ISPCONFIG_DOUBLE_DB'));
$variants = new Variants($store, 'json');
$body = file_get_contents('php://input');
$method = (string)(array_key_first($_GET) ?? '');
if (!$variants->beforeRequest($method, $body)) {
    serve($store, $variants, $method, $body);
}
