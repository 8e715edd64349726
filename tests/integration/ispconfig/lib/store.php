<?php
// The database of the double: SQLite underneath, with the comparisons and
// the silent conversions of MySQL that a client of the real API can see.
declare(strict_types=1);

final class DatabaseError extends Exception
{
}

final class Store
{
    const NUMERIC = ['id', 'sys_userid', 'sys_groupid', 'server_id', 'zone',
        'aux', 'ttl', 'serial', 'refresh', 'retry', 'expire', 'minimum',
        'dnssec_last_signed'];
    const RR_TYPES = ['A', 'AAAA', 'ALIAS', 'CNAME', 'CAA', 'DNAME', 'DS',
        'HINFO', 'LOC', 'MX', 'NAPTR', 'NS', 'PTR', 'RP', 'SRV', 'SSHFP',
        'TLSA', 'TXT'];
    const TEXT_MAX_BYTES = 65535;
    const UINT_MAX = 4294967295;

    private SQLite3 $db;

    public function __construct(string $path)
    {
        $this->db = new SQLite3($path, SQLITE3_OPEN_READWRITE);
        $this->db->enableExceptions(true);
        $this->db->busyTimeout(10000);
        $this->db->exec('PRAGMA synchronous = OFF');
    }

    private function prepare(string $sql, array $args): SQLite3Stmt
    {
        $stmt = $this->db->prepare($sql);
        foreach (array_values($args) as $i => $value) {
            $stmt->bindValue($i + 1, $value);
        }
        return $stmt;
    }

    /** All rows; every value a string or null, as MySQL hands them out. */
    public function rows(string $sql, ...$args): array
    {
        $result = $this->prepare($sql, $args)->execute();
        $rows = [];
        while (($row = $result->fetchArray(SQLITE3_ASSOC)) !== false) {
            $rows[] = array_map(
                fn($v) => $v === null ? null : (string)$v, $row);
        }
        return $rows;
    }

    public function row(string $sql, ...$args): ?array
    {
        return $this->rows($sql, ...$args)[0] ?? null;
    }

    /** Runs a writing statement; returns the rows it touched. */
    public function run(string $sql, ...$args): int
    {
        $this->prepare($sql, $args)->execute();
        return $this->db->changes();
    }

    public function insertId(): int
    {
        return $this->db->lastInsertRowID();
    }

    public function config(string $name, string $default = ''): string
    {
        $row = $this->row('SELECT value FROM config WHERE name = ?', $name);
        return $row === null ? $default : $row['value'];
    }

    /** The server's clock, which the tests may advance. Seconds. */
    public function now(): int
    {
        return time() + (int)$this->config('clock_offset_s', '0');
    }

    public function columns(string $table): array
    {
        return array_column($this->rows("PRAGMA table_info($table)"), 'name');
    }

    /**
     * Rows of $table that match the map $where as ISPConfig's API does it:
     * "=" of utf8_general_ci, LIKE when the value holds a "%", an empty list
     * for an unknown column, #LIMIT# and #OFFSET# when they stand last.
     */
    public function search(string $table, array $where): array
    {
        $columns = $this->columns($table);
        $tests = [];
        $limit = null;
        $offset = 0;
        $counted = false;
        $shifted = false;
        foreach ($where as $key => $value) {
            if ($key === '#LIMIT#' || $key === '#OFFSET#') {
                $key === '#LIMIT#' ? $limit = (int)$value
                                   : $offset = (int)$value;
                $counted = true;
                continue;
            }
            $shifted = $shifted || $counted;
            $like = self::hasPercent($value);
            if (!in_array($key, $columns, true)) {
                return [];
            }
            $tests[] = [$key, (string)$value, $like];
        }
        if ($shifted) {
            return [];
        }
        $rows = array_filter($this->candidates($table, $tests),
            fn($row) => self::matches($row, $tests));
        return $limit === null ? array_values($rows)
                               : array_slice($rows, $offset, $limit);
    }

    /** Narrows by the numeric columns, so that a big table stays quick. */
    private function candidates(string $table, array $tests): array
    {
        $sql = "SELECT * FROM $table WHERE 1";
        $args = [];
        foreach ($tests as [$key, $value, $like]) {
            if (!$like && in_array($key, self::NUMERIC, true)) {
                $sql .= " AND \"$key\" = ?";
                $args[] = (float)$value;
            }
        }
        return $this->rows("$sql ORDER BY id", ...$args);
    }

    private static function matches(array $row, array $tests): bool
    {
        foreach ($tests as [$key, $value, $like]) {
            if (!$like && in_array($key, self::NUMERIC, true)) {
                continue;
            }
            if ($row[$key] === null) {
                return false;
            }
            $same = $like ? self::like($row[$key], $value)
                : self::fold(rtrim($row[$key], ' '))
                    === self::fold(rtrim($value, ' '));
            if (!$same) {
                return false;
            }
        }
        return true;
    }

    private static function hasPercent($value): bool
    {
        // Scalars become strings as they do without strict types; arrays and
        // objects are left to stristr(), whose TypeError is the real answer.
        if (is_scalar($value) || $value === null) {
            $value = (string)$value;
        }
        return stristr($value, '%') !== false;
    }

    /** Case and accents folded as utf8_general_ci does (Latin-1 letters). */
    private static function fold(string $text): string
    {
        static $map = null;
        if ($map === null) {
            $from = preg_split('//u', 'ÀÁÂÃÄÅàáâãäåÇçÈÉÊËèéêëÌÍÎÏìíîïÑñ'
                . 'ÒÓÔÕÖòóôõöÙÚÛÜùúûüÝýÿ', -1, PREG_SPLIT_NO_EMPTY);
            $to = 'aaaaaaaaaaaacceeeeeeeeiiiiiiiinnoooooooooouuuuuuuuyyy';
            $map = array_combine($from, str_split($to));
        }
        return strtolower(strtr($text, $map));
    }

    /** MySQL's LIKE: % any run, _ one character, \ takes the next as is. */
    public static function like(string $text, string $pattern): bool
    {
        $regex = '';
        $chars = preg_split('//u', self::fold($pattern), -1,
            PREG_SPLIT_NO_EMPTY);
        if ($chars === false) {
            $chars = str_split(self::fold($pattern));
        }
        for ($i = 0; $i < count($chars); $i++) {
            $c = $chars[$i];
            if ($c === '\\' && $i + 1 < count($chars)) {
                $regex .= preg_quote($chars[++$i], '~');
            } elseif ($c === '%') {
                $regex .= '.*';
            } else {
                $regex .= $c === '_' ? '.' : preg_quote($c, '~');
            }
        }
        $found = @preg_match("~^$regex\$~Dsu", self::fold($text));
        return $found === false ? preg_match("~^$regex\$~Ds", $text) === 1
                                : $found === 1;
    }

    /**
     * What MySQL keeps of a value sent to a column: cut, clamped, or '' for
     * an ENUM; in strict mode a DatabaseError with MySQL's text instead.
     */
    public function coerce(string $column, string $value): string
    {
        if (in_array($column, self::NUMERIC, true)) {
            return $this->coerceNumber($column, $value);
        }
        switch ($column) {
            case 'active':
            case 'dnssec_wanted':
                return $this->coerceEnum($column, $value, ['N', 'Y']);
            case 'type':
                return $this->coerceEnum($column, $value, self::RR_TYPES);
            case 'stamp':
                if (preg_match('~^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$~D', $value)) {
                    return $value;
                }
                $this->strict("Incorrect datetime value: '$value' for column "
                    . "'stamp' at row 1");
                return '0000-00-00 00:00:00';
        }
        // A column of 3-byte utf8 cannot hold a 4-byte character.
        $value = preg_replace('~[\xF0-\xF7][\x80-\xBF]{3}~', '????', $value);
        $max = $column === 'data' ? self::TEXT_MAX_BYTES : 255;
        if (strlen($value) > $max) {
            $this->strict("Data too long for column '$column' at row 1");
            $value = substr($value, 0, $max);
        }
        return $value;
    }

    private function coerceNumber(string $column, string $value): string
    {
        if (!preg_match('~^\s*-?\d+(\.\d*)?\s*$~D', $value)) {
            $this->strict("Incorrect integer value: '$value' for column "
                . "'$column' at row 1");
        }
        $number = (float)$value;
        if ($number < 0 || $number > self::UINT_MAX) {
            $this->strict("Out of range value for column '$column' at row 1");
        }
        return (string)(int)round(max(0, min(self::UINT_MAX, $number)));
    }

    private function coerceEnum(string $column, string $value, array $set): string
    {
        foreach ($set as $member) {
            if (strcasecmp(rtrim($value, ' '), $member) === 0) {
                return $member;
            }
        }
        if (ctype_digit($value) && isset($set[(int)$value - 1])) {
            return $set[(int)$value - 1];
        }
        $this->strict("Data truncated for column '$column' at row 1");
        return '';
    }

    private function strict(string $text): void
    {
        if ($this->config('strict') === '1') {
            throw new DatabaseError($text);
        }
    }
}
