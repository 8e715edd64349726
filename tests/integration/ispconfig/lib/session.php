<?php
// Login, sessions, lock-out and permissions of the remote API.
declare(strict_types=1);

final class Sessions
{
    const LIFETIME_S = 1800;
    const WINDOW_S = 300;
    const MAX_FAILURES = 10;

    private Store $store;
    private string $address;

    public function __construct(Store $store, string $address)
    {
        $this->store = $store;
        $this->address = $address;
    }

    public function login($username, $password, $client_login): string
    {
        if ($this->store->config('maintenance') === '1') {
            throw new SoapFault('maintenance_mode', 'This ISPConfig '
                . 'installation is currently under maintenance. We should be '
                . 'back shortly. Thank you for your patience.');
        }
        if (empty($username)) {
            throw new SoapFault('login_username_empty',
                'The login username is empty.');
        }
        if (empty($password)) {
            throw new SoapFault('login_password_empty',
                'The login password is empty.');
        }
        if ($this->failures() >= self::MAX_FAILURES) {
            throw new SoapFault('login_failure_limit',
                'The login failure limit has been reached.');
        }
        $session = $client_login
            ? $this->loginClient((string)$username, (string)$password)
            : $this->loginRemote((string)$username, (string)$password);
        $this->store->run('DELETE FROM attempts_login WHERE ip = ?',
            $this->address);
        return $session;
    }

    private function loginRemote(string $username, string $password): string
    {
        $user = $this->store->row(
            'SELECT * FROM remote_user WHERE remote_username = ?', $username);
        if ($user === null || !$this->verify($user, $password)) {
            $this->countFailure();
            throw new SoapFault('login_failed',
                'The login failed. Username or password wrong.');
        }
        if (!$this->allowed($user)) {
            throw new SoapFault('login_failed',
                'The login is not allowed from ' . $this->address);
        }
        return $this->create((int)$user['remote_userid'],
            $user['remote_functions'], 0);
    }

    private function loginClient(string $username, string $password): string
    {
        $user = $this->store->row(
            'SELECT sys_user.*, can_use_api FROM sys_user '
            . 'JOIN client USING (client_id) WHERE username = ?', $username);
        if ($user === null || !self::hashMatches($user['passwort'],
            stripslashes($password))) {
            $this->countFailure();
            throw new SoapFault('client_login_failed',
                'The login failed. Username or password wrong.');
        }
        if ($user['can_use_api'] !== 'y') {
            throw new SoapFault('client_login_failed',
                'The login failed. Client may not use api.');
        }
        return $this->create((int)$user['userid'], '', 1);
    }

    private static function hashMatches(string $hash, string $password): bool
    {
        return hash_equals($hash, (string)crypt($password, $hash));
    }

    /** An old md5 hash is replaced at the first login that matches it. */
    private function verify(array $user, string $password): bool
    {
        $hash = $user['remote_password'];
        if ($hash !== '' && $hash[0] === '$') {
            return self::hashMatches($hash, stripslashes($password));
        }
        if (!hash_equals($hash, md5($password))) {
            return false;
        }
        $salt = '$6$rounds=5000$' . bin2hex(random_bytes(8)) . '$';
        $this->store->run(
            'UPDATE remote_user SET remote_password = ? WHERE remote_userid = ?',
            crypt($password, $salt), (int)$user['remote_userid']);
        return true;
    }

    private function allowed(array $user): bool
    {
        if ($this->address === '127.0.0.1' || $this->address === '::1') {
            return true;
        }
        if ($user['remote_access'] !== 'y') {
            return false;
        }
        $ips = array_filter(array_map('trim',
            explode(',', $user['remote_ips'])));
        return $ips === [] || in_array($this->address, $ips, true);
    }

    private function create(int $userid, string $functions, int $client): string
    {
        $now = $this->store->now();
        $this->store->run('DELETE FROM remote_session WHERE tstamp < ?',
            $now - self::LIFETIME_S);
        $id = chr(random_int(ord('a'), ord('z'))) . bin2hex(random_bytes(20));
        $this->store->run('INSERT INTO remote_session (remote_session, '
            . 'remote_userid, remote_functions, client_login, remote_ip, '
            . 'tstamp) VALUES (?, ?, ?, ?, ?, ?)', $id, $userid, $functions,
            $client, $this->address, $now);
        return $id;
    }

    public function logout($session_id): bool
    {
        if (empty($session_id)) {
            throw new SoapFault('session_id_empty', 'The SessionID is empty.');
        }
        $this->store->run('DELETE FROM remote_session WHERE remote_session = ?',
            (string)$session_id);
        return true;
    }

    /** The row of a session that may be used now from this address. */
    public function check($session_id): array
    {
        if (empty($session_id)) {
            throw new SoapFault('session_id_empty', 'The SessionID is empty.');
        }
        if (!is_string($session_id)) {
            throw new SoapFault('session_id_nostring',
                'Wrong SessionID datatype.');
        }
        if ($this->failures() >= self::MAX_FAILURES) {
            throw new SoapFault('session_failure_limit',
                'The Session failure limit has been reached.');
        }
        $session = $this->store->row('SELECT * FROM remote_session '
            . 'WHERE remote_session = ? AND tstamp >= ?', $session_id,
            $this->store->now() - self::LIFETIME_S);
        if ($session === null) {
            $this->countFailure();
            throw new SoapFault('session_does_not_exist',
                'The Session is expired or does not exist.');
        }
        if ($session['remote_ip'] !== $this->address) {
            throw new SoapFault('session_ip_mismatch', 'Session IP mismatch.');
        }
        return $session;
    }

    /** As check(), and the session must hold the permission $function. */
    public function permit($session_id, string $function): array
    {
        $session = $this->check($session_id);
        $has = preg_split('~[,;]\s*~', $session['remote_functions']);
        if ($session['client_login'] !== '1'
            && !in_array($function, $has, true)) {
            throw new SoapFault('permission_denied',
                'You do not have the permissions to access this function.');
        }
        return $session;
    }

    private function failures(): int
    {
        $row = $this->store->row('SELECT times FROM attempts_login '
            . 'WHERE ip = ? AND login_time > ?', $this->address,
            $this->store->now() - self::WINDOW_S);
        return $row === null ? 0 : (int)$row['times'];
    }

    private function countFailure(): void
    {
        $times = $this->failures() + 1;
        $this->store->run('INSERT OR REPLACE INTO attempts_login '
            . '(ip, times, login_time) VALUES (?, ?, ?)', $this->address,
            $times, $this->store->now());
    }
}
