<?php
// The forms behind the write functions: which fields each one writes, in
// which order, and which rules the merged record must pass.
declare(strict_types=1);

final class Forms
{
    const RR_FIELDS = ['server_id', 'zone', 'name', 'type', 'data', 'ttl',
        'active', 'stamp', 'serial'];
    const SOA_FIELDS = ['server_id', 'origin', 'ns', 'mbox', 'serial',
        'refresh', 'retry', 'expire', 'minimum', 'ttl', 'active', 'xfer',
        'also_notify', 'update_acl', 'dnssec_wanted', 'dnssec_algo'];

    // Families whose rules are established; the others can be read and
    // deleted, which needs no rules.
    const WRITABLE = ['a', 'aaaa', 'cname', 'txt', 'ns'];
    const READABLE = ['a', 'aaaa', 'alias', 'caa', 'cname', 'dname', 'ds',
        'hinfo', 'loc', 'mx', 'naptr', 'ns', 'ptr', 'rp', 'srv', 'sshfp',
        'tlsa', 'txt'];

    const RULES = [
        'a' => [
            'name' => [['regex', '~^[a-zA-Z0-9.\-*]{0,64}$~D',
                'name_error_regex']],
            'data' => [['notempty', '', 'data_error_empty'],
                ['ip', FILTER_FLAG_IPV4, 'ip_error_wrong']],
        ],
        'aaaa' => [
            'name' => [['regex', '~^[a-zA-Z0-9.\-*]{0,64}$~D',
                'name_error_regex']],
            'data' => [['notempty', '', 'data_error_empty'],
                ['ip', FILTER_FLAG_IPV6, 'ip_error_wrong']],
        ],
        'cname' => [
            'name' => [['regex', '~^[a-zA-Z0-9.\-*_]{0,255}$~D',
                'name_error_regex']],
            'data' => [['notempty', '', 'data_error_empty'],
                ['regex', '~^[a-zA-Z0-9.\-_]{1,255}$~D', 'data_error_regex']],
        ],
        'txt' => [
            'name' => [['regex', '~^(\*\.|[a-zA-Z0-9.\-_]){0,255}$~D',
                'name_error_regex']],
            'data' => [['notempty', '', 'data_error_empty']],
        ],
        'ns' => [
            'name' => [['regex', '~^[_a-zA-Z0-9.\-]{0,255}$~D',
                'name_error_regex']],
            'data' => [['notempty', '', 'data_error_empty'],
                ['regex', '~^[a-zA-Z0-9.\-]{1,255}$~D', 'data_error_regex']],
        ],
        'zone' => [
            'origin' => [['notempty', '', 'origin_error_empty'],
                ['unique', '', 'origin_error_unique'],
                ['regex', '~^[a-zA-Z0-9.\-/]{1,255}$~D',
                    'origin_error_regex']],
            'ns' => [['regex', '~^[a-zA-Z0-9.\-]{1,255}$~D',
                'ns_error_regex']],
            'mbox' => [['notempty', '', 'mbox_error_empty'],
                ['regex', '~^[a-zA-Z0-9.\-_]{1,254}\.$~D',
                    'mbox_error_regex']],
            'refresh' => [['min', 60, 'refresh_range_error']],
            'retry' => [['min', 60, 'retry_range_error']],
            'expire' => [['min', 60, 'expire_range_error']],
            'minimum' => [['min', 60, 'minimum_range_error']],
        ],
    ];

    public static function table(string $form): string
    {
        return $form === 'zone' ? 'dns_soa' : 'dns_rr';
    }

    public static function fields(string $form): array
    {
        return $form === 'zone' ? self::SOA_FIELDS : self::RR_FIELDS;
    }

    /**
     * The values to write: one string for each field of the form. The name
     * and the origin are lower-cased; an empty "active" is the form's N.
     */
    public static function encode(string $form, array $record): array
    {
        $values = [];
        foreach (self::fields($form) as $field) {
            $value = $record[$field] ?? '';
            // A PHP boolean reaches MySQL as '1' or ''.
            $value = is_scalar($value) ? (string)$value : 'Array';
            if ($field === 'name' || $field === 'origin') {
                $value = strtolower($value);
            }
            if ($value === ''
                && ($field === 'active' || $field === 'dnssec_wanted')) {
                $value = 'N';
            }
            $values[$field] = $value;
        }
        return $values;
    }

    /** Every broken rule as "key<br />" CR LF, one after the other. */
    public static function errors(string $form, array $values, int $id,
        Store $store): string
    {
        $rules = self::RULES[$form];
        $rules['ttl'] = [['min', 60, 'ttl_range_error']];
        $text = '';
        foreach (array_keys($values) as $field) {
            foreach ($rules[$field] ?? [] as [$kind, $arg, $key]) {
                $value = $values[$field];
                if (!self::passes($kind, $arg, $value, $id, $store)) {
                    $text .= "$key<br />\r\n";
                }
            }
        }
        return $text;
    }

    private static function passes(string $kind, $arg, string $value, int $id,
        Store $store): bool
    {
        switch ($kind) {
            case 'regex':
                return preg_match($arg, $value) === 1;
            case 'notempty':
                return $value !== '';
            case 'ip':
                return filter_var($value, FILTER_VALIDATE_IP, $arg) !== false;
            case 'min':
                // PHP compares a text that is no number as text: 'abc' is
                // not below 60, '' is.
                return !($value < $arg);
            case 'unique':
                $others = $store->search('dns_soa', ['origin' => $value]);
                foreach ($others as $row) {
                    if ((int)$row['id'] !== $id) {
                        return false;
                    }
                }
                return true;
        }
        throw new LogicException("no such rule: $kind");
    }
}
