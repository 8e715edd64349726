<?php
// The SOAP endpoint of the double.
declare(strict_types=1);

require __DIR__ . '/../../lib/start.php';

final class SoapHandler
{
    private Remote $remote;
    private Variants $variants;

    public function __construct(Remote $remote, Variants $variants)
    {
        $this->remote = $remote;
        $this->variants = $variants;
    }

    public function __call(string $name, array $args)
    {
        try {
            $answer = $this->remote->call($name, $args);
            $this->variants->outcome('ok');
            return $answer;
        } catch (SoapFault $fault) {
            $this->variants->outcome($fault->faultcode);
            throw $fault;
        } catch (Error $error) {
            $this->variants->outcome('error');
            throw $error;
        }
    }
}

$store = new Store(getenv('ISPCONFIG_DOUBLE_DB'));
$variants = new Variants($store, 'soap');
// Opening php://input gives ext-soap a body even where PHP by itself reads
// none, and the answer would no longer be the empty page of a real server.
$hasBody = $_SERVER['REQUEST_METHOD'] === 'POST'
    && isset($_SERVER['CONTENT_TYPE']);
$body = $hasBody ? file_get_contents('php://input') : '';
preg_match('~Body[^>]*>\s*<(?:[\w.-]+:)?([\w.-]+)~', $body, $found);
if (!$variants->beforeRequest($found[1] ?? '', $body)) {
    $server = new SoapServer(null, ['uri' => $_SERVER['REQUEST_URI']]);
    $server->setObject(new SoapHandler(
        new Remote($store, $variants->address(), $variants), $variants));
    $server->handle();
}
