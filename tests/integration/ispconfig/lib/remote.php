<?php
// The functions of the remote API and the table that names them.
declare(strict_types=1);

final class Remote
{
    const HANDLER = '/usr/local/ispconfig/interface/lib/classes/'
        . 'soap_handler.inc.php';
    const VERSION = '3.2.11p2';

    private Store $store;
    private Sessions $sessions;
    private Variants $variants;

    public function __construct(Store $store, string $address,
        Variants $variants)
    {
        $this->store = $store;
        $this->sessions = new Sessions($store, $address);
        $this->variants = $variants;
    }

    /** name => [class, parameter names, required, handler, form]. */
    public static function functions(): array
    {
        $dns = 'remoting_dns';
        $update = ['session_id', 'client_id', 'primary_id', 'params'];
        $add = ['session_id', 'client_id', 'params'];
        $id = ['session_id', 'primary_id'];
        $serial = ['update_serial'];
        $table = [
            'login' => ['remoting', ['username', 'password', 'client_login'],
                2, 'login', ''],
            'logout' => ['remoting', ['session_id'], 1, 'logout', ''],
            'get_function_list' => ['remoting_server', ['session_id'], 1,
                'functionList', ''],
            'dns_zone_get' => [$dns, $id, 2, 'get', 'zone'],
            'dns_zone_add' => [$dns, $add, 3, 'add', 'zone'],
            'dns_zone_update' => [$dns, $update, 4, 'update', 'zone'],
            'dns_zone_delete' => [$dns, $id, 2, 'delete', 'zone'],
            'dns_zone_get_id' => [$dns, ['session_id', 'origin'], 2,
                'zoneGetId', ''],
            'dns_zone_get_by_user' => [$dns, ['session_id', 'client_id',
                'server_id'], 3, 'zoneGetByUser', ''],
            'dns_zone_set_status' => [$dns, ['session_id', 'primary_id',
                'status'], 3, 'zoneSetStatus', ''],
            'dns_rr_get_all_by_zone' => [$dns, ['session_id', 'zone_id'], 2,
                'allByZone', ''],
            'monitor_jobqueue_count' => ['remoting_monitor', ['session_id',
                'server_id'], 1, 'jobqueueCount', ''],
            'client_get_id' => ['remoting_client', ['session_id',
                'sys_userid'], 2, 'clientGetId', ''],
            'server_get_app_version' => ['remoting_server', ['session_id',
                'server_id'], 1, 'appVersion', ''],
        ];
        foreach (Forms::READABLE as $f) {
            $table["dns_{$f}_get"] = [$dns, $id, 2, 'get', $f];
            $table["dns_{$f}_delete"] = [$dns, [...$id, ...$serial], 2,
                'delete', $f];
        }
        foreach (Forms::WRITABLE as $f) {
            $table["dns_{$f}_add"] = [$dns, [...$add, ...$serial], 3, 'add',
                $f];
            $table["dns_{$f}_update"] = [$dns, [...$update, ...$serial], 4,
                'update', $f];
        }
        return $table;
    }

    /** Calls one function with positional arguments. */
    public function call(string $name, array $args)
    {
        $entry = self::functions()[$name] ?? null;
        if ($entry === null) {
            throw new SoapFault('invalid_method',
                "Method $name does not exist");
        }
        [$class, $params, $required, $handler, $form] = $entry;
        if (count($args) < $required) {
            $word = $required === count($params) ? 'exactly' : 'at least';
            throw new SoapFault('Server', "Too few arguments to function "
                . "$class::$name(), " . count($args) . ' passed in '
                . self::HANDLER . " on line 49 and $word $required expected");
        }
        $args = array_slice(array_pad($args, count($params), null), 0,
            count($params));
        $this->variants->beforeCall($name, $args);
        $answer = $this->$handler($name, $form, ...$args);
        return $this->variants->afterCall($name, $answer);
    }

    private function login($name, $form, $username, $password, $client_login)
    {
        return $this->sessions->login($username, $password, $client_login);
    }

    private function logout($name, $form, $session_id)
    {
        return $this->sessions->logout($session_id);
    }

    private function functionList($name, $form, $session_id)
    {
        $this->sessions->permit($session_id, $name);
        return array_keys(self::functions());
    }

    private function get($name, $form, $session_id, $primary_id)
    {
        $session = $this->sessions->permit($session_id, $name);
        return $this->read(Forms::table($form), $session, $primary_id);
    }

    private function read(string $table, array $session, $id)
    {
        if (is_object($id)) {
            $id = (array)$id;
        }
        if (is_array($id)) {
            $rows = $this->store->search($table, $id);
            return array_values(array_filter($rows,
                fn($row) => $this->owns($session, $row)));
        }
        if (!is_numeric($id)) {
            return [];
        }
        $id = (int)$id;
        if ($id === -1) {
            return $this->store->rows("SELECT * FROM $table ORDER BY id");
        }
        if ($id <= 0) {
            throw new SoapFault('invalid_id', 'The ID has to be > 0 or -1.');
        }
        $row = $this->store->row("SELECT * FROM $table WHERE id = ?", $id);
        return $row !== null && $this->owns($session, $row) ? $row : null;
    }

    /** A session of a customer is shown only the customer's own rows. */
    private function owns(array $session, array $row): bool
    {
        if ($session['client_login'] !== '1') {
            return true;
        }
        $user = $this->store->row('SELECT * FROM sys_user WHERE userid = ?',
            (int)$session['remote_userid']);
        return $user !== null && ($row['sys_userid'] === $user['userid']
            || $row['sys_groupid'] === $user['default_group']);
    }

    /** The owner a client id stands for; null: nobody in particular. */
    private function owner($client_id): ?array
    {
        $id = is_numeric($client_id) ? (int)$client_id : 0;
        if ($id === 0) {
            return null;
        }
        $user = $this->store->row(
            'SELECT * FROM sys_user WHERE client_id = ?', $id);
        if ($user === null) {
            throw new SoapFault('invalid_client_id', "Invalid client_id $id");
        }
        return ['sys_userid' => $user['userid'],
            'sys_groupid' => $user['default_group']];
    }

    private function checked(string $form, array $record, int $id): array
    {
        $values = Forms::encode($form, $record);
        $errors = Forms::errors($form, $values, $id, $this->store);
        if ($errors !== '') {
            throw new SoapFault('data_processing_error', $errors);
        }
        return $values;
    }

    /** The values as the columns keep them; a fault with the statement. */
    private function coerced(array $values, string $head, string $tail): array
    {
        try {
            $kept = [];
            foreach ($values as $column => $value) {
                $kept[$column] = $this->store->coerce($column, $value);
            }
            return $kept;
        } catch (DatabaseError $e) {
            $set = [];
            foreach ($values as $column => $value) {
                $set[] = "`$column` = '" . addslashes($value) . "'";
            }
            throw new SoapFault('database_error', $e->getMessage() . " $head "
                . implode(', ', $set) . $tail);
        }
    }

    private function dieWithoutId(): void
    {
        $this->variants->outcome('html');
        header('Content-Type: text/html; charset=utf-8');
        readfile(__DIR__ . '/no-primary-id.html');
        exit;
    }

    private function update($name, $form, $session_id, $client_id, $primary_id,
        $params, $update_serial = null)
    {
        $session = $this->sessions->permit($session_id, $name);
        $done = $this->write($form, $session, $client_id, $primary_id,
            $params);
        $this->maybeSerial($name, $session_id, $client_id, $params,
            $update_serial);
        return $done;
    }

    /** Lays $params over the row and stores it; returns the rows changed. */
    private function write(string $form, array $session, $client_id,
        $primary_id, $params): int
    {
        $owner = $this->owner($client_id);
        $id = is_numeric($primary_id) ? (int)$primary_id : 0;
        if ($id === 0) {
            $this->dieWithoutId();
        }
        $table = Forms::table($form);
        $old = $this->store->row("SELECT * FROM $table WHERE id = ?", $id);
        if ($old !== null && !$this->owns($session, $old)) {
            return 0;
        }
        $params = is_object($params) ? (array)$params : $params;
        $sent = is_array($params) ? $params : [];
        $values = $this->checked($form, array_merge($old ?? [], $sent), $id);
        $values = $this->coerced($values, "UPDATE `$table` SET",
            " WHERE 1 AND id = $id");
        if ($old === null) {
            return 0;
        }
        $new = array_merge($old, $values, $owner ?? []);
        if ($new === $old) {
            return 0;
        }
        $keys = array_keys(array_merge($values, $owner ?? []));
        $this->store->run("UPDATE $table SET "
            . implode(', ', array_map(fn($k) => "$k = ?", $keys))
            . ' WHERE id = ?', ...array_map(fn($k) => $new[$k], $keys),
            ...[$id]);
        $this->datalog($table, "id:$id", 'u', $session, $old, $new);
        return 1;
    }

    private function add($name, $form, $session_id, $client_id, $params,
        $update_serial = null)
    {
        $session = $this->sessions->permit($session_id, $name);
        $owner = $this->owner($client_id)
            ?? ['sys_userid' => '1', 'sys_groupid' => '1'];
        $params = is_object($params) ? (array)$params : $params;
        $table = Forms::table($form);
        $values = $this->checked($form, is_array($params) ? $params : [], 0);
        $values = array_merge($owner,
            $this->coerced($values, "INSERT INTO `$table` SET", ''));
        $keys = array_keys($values);
        $this->store->run("INSERT INTO $table (" . implode(', ', $keys)
            . ') VALUES (' . implode(', ', array_fill(0, count($keys), '?'))
            . ')', ...array_values($values));
        $id = $this->store->insertId();
        $new = $this->store->row("SELECT * FROM $table WHERE id = ?", $id);
        $this->datalog($table, 'id:', 'i', $session, [], $new);
        $this->maybeSerial($name, $session_id, $client_id, $params,
            $update_serial);
        return (string)$id;
    }

    private function delete($name, $form, $session_id, $primary_id,
        $update_serial = null)
    {
        $session = $this->sessions->permit($session_id, $name);
        $table = Forms::table($form);
        $id = is_numeric($primary_id) ? (int)$primary_id : 0;
        $old = $this->store->row("SELECT * FROM $table WHERE id = ?", $id);
        $done = 0;
        if ($old !== null && $this->owns($session, $old)) {
            $done = $this->store->run("DELETE FROM $table WHERE id = ?", $id);
            $this->datalog($table, "id:$id", 'd', $session, $old, []);
        }
        $this->maybeSerial($name, $session_id, 0, $old, $update_serial);
        return $done;
    }

    /**
     * Advances the serial of the zone named in $params, after the write and
     * without a lock: two calls at once may count only once.
     */
    private function maybeSerial(string $name, $session_id, $client_id, $params,
        $update_serial): void
    {
        if (!$update_serial || $this->variants->take('old_server', $name)
            !== null) {
            return;
        }
        $session = $this->sessions->permit($session_id, 'dns_zone_get');
        $zone = is_array($params) || is_object($params)
            ? ((array)$params)['zone'] ?? null : null;
        $soa = $this->read('dns_soa', $session, $zone);
        $session = $this->sessions->permit($session_id, 'dns_zone_update');
        $serial = $this->nextSerial((int)($soa['serial'] ?? 0));
        $this->write('zone', $session, $client_id, $soa['id'] ?? null,
            ['serial' => (string)$serial]);
    }

    private function nextSerial(int $old): int
    {
        $today = (int)date('Ymd', $this->store->now());
        return intdiv($old, 100) >= $today ? $old + 1 : $today * 100 + 1;
    }

    private function datalog(string $table, string $index, string $action,
        array $session, array $old, array $new): void
    {
        $server = (int)($new['server_id'] ?? $old['server_id']);
        $this->store->run('INSERT INTO sys_datalog (server_id, dbtable, dbidx,'
            . ' action, tstamp, user, data) VALUES (?, ?, ?, ?, ?, ?, ?)',
            $server, $table, $index, $action, $this->store->now(),
            'remote ' . $session['remote_userid'],
            json_encode(['old' => $old, 'new' => $new],
                JSON_INVALID_UTF8_SUBSTITUTE));
    }

    private function zoneGetId($name, $form, $session_id, $origin)
    {
        $this->sessions->permit($session_id, $name);
        if (!preg_match('~^[\w.\-]{1,64}\.[a-zA-Z0-9\-]{2,63}$~D',
            (string)$origin)) {
            throw new SoapFault('no_domain_found', 'Invalid domain name.');
        }
        foreach ($this->store->rows('SELECT id, origin FROM dns_soa '
            . 'ORDER BY id') as $row) {
            if (Store::like($row['origin'], "$origin%")) {
                return (int)$row['id'];
            }
        }
        throw new SoapFault('no_domain_found',
            'There is no domain ID with informed domain name.');
    }

    private function zoneGetByUser($name, $form, $session_id, $client_id,
        $server_id)
    {
        $this->sessions->permit($session_id, 'dns_zone_get');
        return $this->store->rows('SELECT id, origin FROM dns_soa JOIN '
            . 'sys_user ON sys_groupid = default_group WHERE client_id = ? '
            . 'AND server_id = ? ORDER BY id', (int)$client_id,
            (int)$server_id);
    }

    private function zoneSetStatus($name, $form, $session_id, $primary_id,
        $status)
    {
        $this->sessions->permit($session_id, $name);
        $active = ['active' => 'Y', 'inactive' => 'N'];
        if (!is_string($status) || !isset($active[strtolower($status)])) {
            throw new SoapFault('status_undefined',
                'The status is not available');
        }
        $flag = $active[strtolower($status)];
        return $this->store->run('UPDATE dns_soa SET active = ? WHERE id = ? '
            . 'AND active <> ?', $flag, (int)$primary_id, $flag);
    }

    private function allByZone($name, $form, $session_id, $zone_id)
    {
        $this->sessions->permit($session_id, 'dns_zone_get');
        return $this->store->rows('SELECT * FROM dns_rr WHERE zone = ? '
            . 'ORDER BY id', (int)$zone_id);
    }

    private function jobqueueCount($name, $form, $session_id, $server_id)
    {
        $this->sessions->permit($session_id, $name);
        return $this->store->row('SELECT COUNT(*) AS n FROM sys_datalog JOIN '
            . 'server USING (server_id) WHERE datalog_id > updated AND '
            . '(? = 0 OR server_id = ?)', (int)$server_id,
            (int)$server_id)['n'];
    }

    private function clientGetId($name, $form, $session_id, $sys_userid)
    {
        $this->sessions->permit($session_id, $name);
        $row = $this->store->row('SELECT client_id FROM sys_user WHERE '
            . 'userid = ?', (int)$sys_userid);
        if ($row === null) {
            throw new SoapFault('no_client_found',
                'There is no sysuser account for this client ID.');
        }
        return (int)$row['client_id'];
    }

    private function appVersion($name, $form, $session_id, $server_id)
    {
        $this->sessions->permit($session_id, 'server_get');
        return ['ispc_app_version' => self::VERSION];
    }
}
