<?php
// The log of requests, and the misbehaviour a test has planted in the table
// "variant". What needs the wire itself (a cut connection) is asked of the
// relay by the header X-Double.
declare(strict_types=1);

final class Variants
{
    const LOGIN_PAGE = "<!DOCTYPE html>\n<html><head><title>ISPConfig</title>"
        . "</head><body><form method=\"post\" action=\"/login/\">"
        . "<input name=\"username\"><input name=\"password\" "
        . "type=\"password\"></form></body></html>\n";

    private Store $store;
    private int $logId = 0;
    private string $endpoint;
    private string $address;

    public function __construct(Store $store, string $endpoint)
    {
        $this->store = $store;
        $this->endpoint = $endpoint;
        $this->address = $_SERVER['REMOTE_ADDR'];
    }

    /** The argument of a planted variant that fires now; else null. */
    public function take(string $name, string $method): ?string
    {
        foreach ($this->store->rows('SELECT * FROM variant WHERE name = ? '
            . 'AND times <> 0 ORDER BY id', $name) as $row) {
            if (!fnmatch($row['method'], $method)) {
                continue;
            }
            $id = (int)$row['id'];
            if ($this->store->run('UPDATE variant SET skip = skip - 1 '
                . 'WHERE id = ? AND skip > 0', $id) > 0) {
                continue;
            }
            if ($row['times'] === '-1' || $this->store->run('UPDATE variant '
                . 'SET times = times - 1 WHERE id = ? AND times > 0', $id)
                > 0) {
                return $row['arg'];
            }
        }
        return null;
    }

    public function address(): string
    {
        return $this->address;
    }

    /**
     * Logs the request and plays the variants that need no function to be
     * called. Returns true when the answer is already complete.
     */
    public function beforeRequest(string $method, string $body): bool
    {
        $this->address = $this->take('address', $method) ?? $this->address;
        $this->store->run('INSERT INTO call_log (endpoint, address, method, '
            . 'body) VALUES (?, ?, ?, ?)', $this->endpoint, $this->address,
            $method, $body);
        $this->logId = $this->store->insertId();

        $cut = $this->take('cut', $method);
        if ($cut !== null) {
            header("X-Double: cut=$cut");
        }
        $slow = $this->take('slow', $method);
        if ($slow !== null) {
            usleep((int)((float)$slow * 1e6));
        }
        return $this->page($method);
    }

    private function page(string $method): bool
    {
        $redirect = $this->take('redirect', $method);
        if ($redirect !== null) {
            $this->html('redirect', 302, '');
            header("Location: $redirect");
            return true;
        }
        if ($this->take('disabled', $method) !== null) {
            $this->html('disabled', 200,
                'Remote API is disabled in security settings.');
            return true;
        }
        if ($this->take('login_page', $method) !== null) {
            $this->html('login_page', 200, self::LOGIN_PAGE);
            return true;
        }
        if ($this->take('empty500', $method) !== null) {
            $this->html('empty500', 500, '');
            return true;
        }
        $raw = $this->take('raw', $method);
        if ($raw !== null) {
            $this->outcome('raw');
            header('Content-Type: text/xml; charset=utf-8');
            echo $raw;
            return true;
        }
        return false;
    }

    private function html(string $outcome, int $status, string $text): void
    {
        $this->outcome($outcome);
        http_response_code($status);
        header('Content-Type: text/html; charset=utf-8');
        echo $text;
    }

    /** Variants that strike between the transport and the function. */
    public function beforeCall(string $method, array $args): void
    {
        $this->store->run('UPDATE call_log SET method = ?, args = ? '
            . 'WHERE id = ?', $method,
            json_encode($args, JSON_INVALID_UTF8_SUBSTITUTE), $this->logId);
        $wait = $this->take('db_down', $method);
        if ($wait !== null) {
            usleep((int)((float)$wait * 1e6));
            throw new Error('Call to a member function queryOneRecord() '
                . 'on bool');
        }
        if ($this->take('session_lost', $method) !== null) {
            $this->store->run('DELETE FROM remote_session WHERE '
                . 'remote_session = ?', (string)$args[0]);
        }
        $fault = $this->take('fault', $method);
        if ($fault !== null) {
            [$code, $text] = explode('|', $fault, 2) + [1 => ''];
            throw new SoapFault($code, $text);
        }
    }

    /** Variants that bend an answer after the function has done its work. */
    public function afterCall(string $method, $answer)
    {
        if ($this->take('false', $method) !== null) {
            return false;
        }
        if (is_array($answer) && array_is_list($answer)) {
            if ($this->take('empty_list', $method) !== null) {
                return [];
            }
            if ($answer !== []
                && $this->take('control_char', $method) !== null) {
                $answer[count($answer) - 1]['data'] .= "\x01";
            }
        }
        return $answer;
    }

    public function outcome(string $outcome): void
    {
        $this->store->run('UPDATE call_log SET outcome = ? WHERE id = ?',
            $outcome, $this->logId);
    }
}
