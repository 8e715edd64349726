#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/charstr.h"
#include "agent/base/mem.h"
#include "specs/publish.h"

/* Each format against a model of whoever reads it: the bytes come back. */

#define OWNER "www.example.org."
#define ROUNDS 3000
#define TEXT_MAX 3000

/* xorshift64*: the same sequence everywhere. */
static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717);
}

static size_t random_bytes(uint64_t *seed, char *out)
{
    static const char hard[] = "\"\\;()  \t\n\r0123456789$@'[]{}:,";
    size_t n = next(seed) % (TEXT_MAX + 1);

    if (next(seed) % 4 == 0)
        n = 255 * (next(seed) % 5) + next(seed) % 3;
    for (size_t i = 0; i < n; i++)
        out[i] = next(seed) % 3 == 0 ? hard[next(seed) % (sizeof hard - 1)]
                                     : (char)(next(seed) & 0xff);
    return n;
}

/* --- the readers' models -------------------------------------------------- */

/* The strings of a master file's line from p on, joined; base of \ooo.
 * returns where it stopped. source: RFC 1035 5.1 */
static const char *read_strings(const char *p, int base, struct buf *out)
{
    for (;;) {
        size_t one = 0;

        p += strspn(p, " \t\n()");
        if (*p != '"')
            return p;
        for (p++; *p != '"'; one++) {
            assert_int_not_equal(*p, '\0');
            assert_int_not_equal(*p, '\n');
            if (*p != '\\') {
                buf_char(out, *p++);
            } else if (p[1] >= '0' && p[1] <= '9') {
                char digits[4] = {p[1], p[2], p[3], '\0'};

                buf_char(out, (char)(unsigned char)strtol(digits, NULL, base));
                p += 4;
            } else {
                buf_char(out, p[1]);
                p += 2;
            }
        }
        assert_true(one <= 255);
        p++;
    }
}

static void assert_bytes(struct buf *got, const char *want, size_t len)
{
    assert_int_equal(got->len, len);
    assert_memory_equal(buf_get(got), want, len);
    buf_fini(got);
}

/* What ISPConfig's zone writer makes of a stored text: quotes around it, cut
 * every 255 bytes, nothing escaped. */
static char *zone_writer(const char *stored)
{
    size_t n = strlen(stored);
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_char(&b, '"');
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && i % 255 == 0)
            buf_str(&b, "\" \"");
        buf_char(&b, stored[i]);
    }
    buf_char(&b, '"');
    return buf_take(&b);
}

/* --- bytes ---------------------------------------------------------------- */

static void bind_gives_the_bytes_back(void **state)
{
    static const char head[] = "_failover.www.example.org. 300 IN TXT ";
    uint64_t seed = 20261;
    char text[TEXT_MAX + 1];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = random_bytes(&seed, text);
        char *record = publish_bind(OWNER, 300, text, n);
        struct buf got;

        buf_init(&got, 1 << 20);
        assert_memory_equal(record, head, sizeof head - 1);
        assert_string_equal(read_strings(record + sizeof head - 1, 10, &got),
                            "");
        assert_int_equal(record[strlen(record) - 1], '\n');
        for (const char *p = record; *p != '\0'; p++)
            assert_true((*p >= ' ' && *p <= '~') || *p == '\n');
        assert_bytes(&got, text, n);
        free(record);
    }
}

static void bind_is_a_record(void **state)
{
    char long_text[300], *record;

    (void)state;
    memset(long_text, 'a', sizeof long_text);
    record = publish_bind("*.example.org.", 60, "[{\"a\":\"x;y\\\"}]", 14);
    assert_string_equal(record, "_failover.*.example.org. 60 IN TXT "
                                "\"[{\\\"a\\\":\\\"x;y\\\\\\\"}]\"\n");
    free(record);
    record = publish_bind(".", 60, "[]", 2);
    assert_string_equal(record, "_failover. 60 IN TXT \"[]\"\n");
    free(record);
    record = publish_bind(OWNER, 300, long_text, 255);
    assert_null(strchr(record, '('));
    free(record);
    record = publish_bind(OWNER, 300, long_text, 256);
    assert_non_null(strstr(record, "TXT ( \"aaa"));
    assert_non_null(strstr(record, "aaa\"\n    \"a\" )\n"));
    free(record);
}

static void route53_gives_the_bytes_back(void **state)
{
    uint64_t seed = 20262;
    char text[TEXT_MAX + 1];
    size_t short_enough = 0;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = random_bytes(&seed, text);
        struct err e = {0};
        char *value = publish_route53(text, n, &e);
        struct buf got;

        if (value == NULL) {
            assert_int_equal(e.code, ERR_LIMIT);
            continue;
        }
        short_enough++;
        assert_true(strlen(value) <= 4000);
        buf_init(&got, 1 << 20);
        assert_string_equal(read_strings(value, 8, &got), "");
        assert_bytes(&got, text, n);
        free(value);
    }
    assert_true(short_enough > ROUNDS / 4);
}

static void route53_has_a_limit(void **state)
{
    char text[3960];
    struct err e = {0};
    char *value;

    (void)state;
    memset(text, 'a', sizeof text);
    /* 3,953 bytes: 16 strings, 32 quotes, 15 blanks */
    value = publish_route53(text, 3953, &e);
    assert_non_null(value);
    assert_int_equal(strlen(value), 4000);
    free(value);
    assert_null(publish_route53(text, 3954, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.msg, "4001"));
    assert_non_null(strstr(e.msg, "at most 4000"));
}

/* A random text of JSON's kind: UTF-8, no control characters. */
static size_t random_text(uint64_t *seed, char *out)
{
    static const char *const parts[] = {"\"",
                                        "\\",
                                        "a",
                                        ";",
                                        "(",
                                        ")",
                                        " ",
                                        "0",
                                        "\xc3\xa9",
                                        "\x7f",
                                        "\xe2\x82\xac",
                                        "\xef\xbf\xbf",
                                        "{",
                                        "]",
                                        "\xf0\x9f\x99\x82",
                                        "\xf4\x8f\xbf\xbf"};
    size_t n = 0;

    for (size_t k = next(seed) % 120; k > 0; k--) {
        const char *p = parts[next(seed) % (sizeof parts / sizeof parts[0])];

        memcpy(out + n, p, strlen(p));
        n += strlen(p);
    }
    out[n] = '\0';
    return n;
}

static void add_utf8(struct buf *b, unsigned v)
{
    if (v < 0x80) {
        buf_char(b, (char)v);
    } else if (v < 0x800) {
        buf_char(b, (char)(0xc0 | v >> 6));
        buf_char(b, (char)(0x80 | (v & 0x3f)));
    } else if (v < 0x10000) {
        buf_char(b, (char)(0xe0 | v >> 12));
        buf_char(b, (char)(0x80 | (v >> 6 & 0x3f)));
        buf_char(b, (char)(0x80 | (v & 0x3f)));
    } else {
        buf_char(b, (char)(0xf0 | v >> 18));
        buf_char(b, (char)(0x80 | (v >> 12 & 0x3f)));
        buf_char(b, (char)(0x80 | (v >> 6 & 0x3f)));
        buf_char(b, (char)(0x80 | (v & 0x3f)));
    }
}

static unsigned hex4(const char *p)
{
    char digits[5] = {p[0], p[1], p[2], p[3], '\0'};

    return (unsigned)strtoul(digits, NULL, 16);
}

/* Undoes the \u escapes that are ours: of what is not ASCII. */
static char *undo_u(const char *json)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    while (*json != '\0') {
        unsigned v;

        if (json[0] != '\\' || json[1] != 'u') {
            buf_char(&b, *json++);
            continue;
        }
        v = hex4(json + 2);
        json += 6;
        if (v >= 0xd800 && v < 0xdc00) {
            assert_memory_equal(json, "\\u", 2);
            v = 0x10000 + ((v - 0xd800) << 10) + (hex4(json + 2) - 0xdc00);
            json += 6;
        }
        add_utf8(&b, v);
    }
    return buf_take(&b);
}

static void ispconfig_gives_the_text_back(void **state)
{
    uint64_t seed = 20263;
    char text[TEXT_MAX + 1];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        size_t n = random_text(&seed, text);
        char *json, *stored = publish_ispconfig(text, n, &json);
        char *back = undo_u(json);
        struct buf got;

        for (const char *p = stored; *p != '\0'; p++)
            assert_true(*p >= ' ' && *p <= '~');
        assert_string_equal(back, text);
        if (strlen(stored) <= PUBLISH_ISPCONFIG_MAX) {
            char *line = zone_writer(stored);

            buf_init(&got, 1 << 20);
            assert_string_equal(read_strings(line, 10, &got), "");
            assert_bytes(&got, json, strlen(json));
            free(line);
        }
        free(stored);
        free(json);
        free(back);
    }
}

static void ispconfig_wants_utf8(void **state)
{
    static const char *const bad[] = {
        "\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *json = NULL;

        assert_null(publish_ispconfig(bad[i], strlen(bad[i]), &json));
        assert_null(json);
    }
}

static void escapes_are_read(void **state)
{
    static const char *const bad[] = {"\\", "a\\", "\\25", "\\256", "\\2x5"};
    struct buf b;

    (void)state;
    buf_init(&b, 255);
    assert_true(charstr_decode("a\\\"\\059\\\\b\\000", 14, &b));
    assert_bytes(&b, "a\";\\b", 6);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        buf_init(&b, 255);
        assert_false(charstr_decode(bad[i], strlen(bad[i]), &b));
        buf_fini(&b);
    }
}

static void octal_escapes_are_read(void **state)
{
    static const char *const bad[] = {"\\05", "\\400", "\\058", "\\8", "a\\"};
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_true(charstr_decode_octal("a\\\"\\052\\\\\\377\\000x", 18, &b));
    assert_int_equal(b.len, 7);
    assert_memory_equal(b.data, "a\"*\\\xff\0x", 7);
    buf_reset(&b);
    assert_int_equal(charstr_add_text_octal(&b, "\"\\\xc3*", 4, " "), 1);
    assert_string_equal(buf_get(&b), "\"\\\"\\\\\\303*\"");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        buf_reset(&b);
        assert_false(charstr_decode_octal(bad[i], strlen(bad[i]), &b));
    }
    buf_fini(&b);
}

/* --- specs ---------------------------------------------------------------- */

static struct spec *spec_of(const char *text)
{
    struct spec_context ctx = {
        .owner = OWNER, .zone = "example.org.", .keep_doc = true};
    struct spec *s = NULL;
    struct err e = {0};

    if (spec_parse_text(text, strlen(text), &ctx, &s, &e) != 0)
        fail_msg("%s", e.msg);
    return s;
}

/* Reads strings as DNS serves them. */
static struct spec *spec_of_text(const char *text)
{
    struct spec_context ctx = {
        .owner = OWNER, .zone = "example.org.", .keep_doc = true};
    size_t len = strlen(text), n = charstr_count(len);
    struct spec_string *strings = mem_array(n, sizeof *strings);
    struct spec_txt txt = {strings, n};
    struct spec *s = NULL;
    struct err e = {0};

    for (size_t i = 0; i < n; i++)
        strings[i] = (struct spec_string){text + i * 255,
                                          i + 1 < n ? 255 : len - i * 255};
    if (spec_parse(&txt, 1, &ctx, &s, &e) != 0)
        fail_msg("%s", e.msg);
    free(strings);
    return s;
}

static void assert_means_the_same(const struct spec *s,
                                  const struct publish_text *t)
{
    struct spec *back = spec_of_text(t->served);
    char *want = spec_print(s), *got = spec_print(back);

    assert_string_equal(got, want);
    assert_int_equal(back->spelling, t->spelling);
    spec_free(back);
    free(want);
    free(got);
}

#define SMALL "[{\"name\":\"www\",\"data\":\"192.0.2.1\",\"check\":\"443\"}]"

static char *large_rows(size_t n)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b,
                   "%s{\"name\":\"www\",\"data\":\"198.51.%zu.%zu\","
                   "\"check\":\"443\"}",
                   i > 0 ? "," : "[", i / 200, i % 200);
    buf_char(&b, ']');
    return buf_take(&b);
}

static void each_format_means_the_same(void **state)
{
    char *large = large_rows(40);
    const char *const texts[] = {
        SMALL, large,
        "{\"checks\":{\"web\":\"https://www.example.org/a?b=c\"},\"records\":["
        "{\"data\":\"192.0.2.1\",\"check\":\"web\"},{\"data\":\"192.0.2.2\","
        "\"check\":[\"web\",443],\"drIfNoRecords\":true}]}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct spec *s = spec_of(texts[i]);

        for (int f = 0; f < PUBLISH_NFORMATS; f++) {
            struct publish_text t;
            struct err e = {0};

            if (publish_text_make(s, (enum publish_format)f, 0, &t, &e) != 0)
                fail_msg("%s", e.msg);
            assert_means_the_same(s, &t);
            publish_text_fini(&t);
        }
        spec_free(s);
    }
    free(large);
}

static void ispconfig_chooses_the_spelling(void **state)
{
    struct spec *s = spec_of(SMALL);
    struct publish_text t;
    struct err e = {0};
    char *large = large_rows(4);

    (void)state;
    assert_int_equal(publish_text_make(s, PUBLISH_ISPCONFIG, 0, &t, &e), 0);
    assert_int_equal(t.spelling, SPEC_JSON);
    assert_non_null(strstr(t.stored, "{\\\"rows\\\":[{\\\"name\\\":"));
    assert_null(strchr(t.served, '\\'));
    publish_text_fini(&t);
    spec_free(s);
    s = spec_of(large);
    assert_int_equal(publish_text_make(s, PUBLISH_ISPCONFIG, 0, &t, &e), 0);
    assert_int_equal(t.spelling, SPEC_BARE);
    assert_null(strchr(t.stored, '"'));
    assert_string_equal(t.stored, t.served);
    publish_text_fini(&t);
    spec_free(s);
    free(large);
}

static void bare_refuses_by_name(void **state)
{
    struct spec *s = spec_of(
        "{\"checks\":{\"web\":{\"type\":\"http\",\"port\":80,\"body\":"
        "\"all is well with this server and with all of its databases\"}},"
        "\"records\":[{\"data\":\"192.0.2.1\",\"check\":\"web\"},"
        "{\"data\":\"192.0.2.2\",\"check\":\"web\"}]}");
    struct publish_text t;
    struct err e = {0};

    (void)state;
    assert_int_equal(publish_text_make(s, PUBLISH_BARE, 0, &t, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
    assert_non_null(strstr(e.msg, "/checks/web/body"));
    assert_null(t.stored);
    assert_int_equal(publish_text_make(s, PUBLISH_ISPCONFIG, 0, &t, &e), -1);
    assert_non_null(strstr(e.msg, "255"));
    assert_non_null(strstr(e.msg, "/checks/web/body"));
    assert_int_equal(publish_text_make(s, PUBLISH_BIND, 0, &t, &e), 0);
    publish_text_fini(&t);
    spec_free(s);
}

static void sizes_have_limits(void **state)
{
    char *large = large_rows(190);
    struct spec *s = spec_of(large);
    struct publish_text t;
    struct err e = {0};

    (void)state;
    assert_int_equal(publish_text_make(s, PUBLISH_RAW, 4096, &t, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.msg, "at most 4096"));
    assert_int_equal(publish_text_make(s, PUBLISH_RAW, 0, &t, &e), 0);
    publish_text_fini(&t);
    /* RFC 1035 4.1 counted by hand: 12 + 27 + 4, 12 + 101, 11 */
    assert_int_equal(publish_wire_len(OWNER, 100), 167);
    assert_int_equal(publish_wire_len(OWNER, 256), 167 + 157);
    assert_int_equal(publish_wire_len(".", 0), 12 + 11 + 4 + 12 + 1 + 11);
    spec_free(s);
    free(large);
}

static void formats_have_names(void **state)
{
    enum publish_format f;
    struct err e = {0};

    (void)state;
    for (int i = 0; i < PUBLISH_NFORMATS; i++) {
        const char *name = publish_format_name((enum publish_format)i);

        assert_int_equal(publish_format_parse(name, &f, &e), 0);
        assert_int_equal(f, i);
    }
    assert_int_equal(publish_format_parse("json", &f, &e), -1);
    assert_string_equal(e.msg, "found \"json\"; accepted: bind, ispconfig, "
                               "route53, raw, bare");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_gives_the_bytes_back),
        cmocka_unit_test(bind_is_a_record),
        cmocka_unit_test(route53_gives_the_bytes_back),
        cmocka_unit_test(route53_has_a_limit),
        cmocka_unit_test(ispconfig_gives_the_text_back),
        cmocka_unit_test(ispconfig_wants_utf8),
        cmocka_unit_test(escapes_are_read),
        cmocka_unit_test(octal_escapes_are_read),
        cmocka_unit_test(each_format_means_the_same),
        cmocka_unit_test(ispconfig_chooses_the_spelling),
        cmocka_unit_test(bare_refuses_by_name),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(formats_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
