/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"
#include "specs/json.h"

/* The strict layer: what is JSON and what only looks like it (case J1). */

static int parse(const char *text, size_t len, struct err *e)
{
    struct arena *a = arena_new();
    struct spec_value *root;
    int rc =
        spec_json_parse(a, "_failover.www.example.org", text, len, &root, e);

    arena_free(a);
    return rc;
}

static void good(const char *text)
{
    struct err e = {0};

    if (parse(text, strlen(text), &e) != 0)
        fail_msg("%s: %s", text, e.msg);
}

static void bad(const char *text, size_t len, enum err_code code,
                const char *part)
{
    struct err e = {0};

    if (parse(text, len, &e) == 0)
        fail_msg("accepted: %.100s", text);
    if (e.code != code || strstr(e.msg, part) == NULL)
        fail_msg("%.100s: %s: %s; expected %s", text, err_code_name(e.code),
                 e.msg, part);
    assert_int_equal(strncmp(e.msg, "_failover.www.example.org", 25), 0);
    assert_null(strchr(e.msg, '\n'));
    assert_true(strlen(e.msg) < 400);
}

#define BAD(text, part) bad(text, sizeof(text) - 1, ERR_INPUT, part)

static void test_good(void **state)
{
    (void)state;
    good("{}");
    good("[]");
    good(" \t\r\n{ \"a\" : [ 1 , -0.5e+3 , true , false , null ] } \n");
    good("{\"\\u0076\":1,\"n\":\"\\uD83D\\uDE00 \\/ \\u00fc \xc3\xbc\"}");
    good("\"x\"");
    good("[0,-0,10,1.25,1e5,1E-5]");
}

static void test_syntax(void **state)
{
    (void)state;
    BAD("", "(byte 0): found nothing");
    BAD(" \t\r\n", "found the end of the text");
    BAD("[1,]", "/1 (byte 3): found \"]\"");
    BAD("{\"a\":1,}", "(byte 7): found \"}\"; accepted: a member's name");
    BAD("{\"a\":1}}", "(byte 7): found \"}\"; accepted: the end");
    BAD("{\"v\":1,/* x */\"c\":[]}", "(byte 7): found \"/* x */");
    BAD("{\"v\":NaN}", "/v (byte 5): found \"NaN}\"");
    BAD("[Infinity]", "found");
    BAD("{\"a\" 1}", "accepted: \":\"");
    BAD("{a:1}", "a member's name in quotes");
    BAD("{'a':1}", "a member's name in quotes");
    BAD("[1 2]", "\",\" or \"]\"");
    BAD("[tru]", "/0 (byte 1)");
    BAD("[\"a", "a closing quote");
    BAD("[\"a\\\"", "a closing quote");
    BAD("[\"\\x\"]", "\\uXXXX");
    BAD("[1,2", "the end of the text");
    BAD("[\"a\0b\"]", "byte 0x00");
    BAD("[1]\0", "byte 0x00");
    BAD("{\"a\":{\"b\":[0,1,{\"c\":x}]}}", "/a/b/2/c (byte 20)");
}

static void test_numbers(void **state)
{
    (void)state;
    BAD("[01]", "leading zeros");
    BAD("[-]", "a digit after the minus");
    BAD("[+1]", "a value");
    BAD("[.5]", "a value");
    BAD("[1.]", "a digit after the point");
    BAD("[1e]", "a digit in the exponent");
    BAD("[0x10]", "\",\" or \"]\"");
    BAD("[1111111111222222222233333333334444444444555555555566666666667777]",
        "at most 63 characters");
    good("[111111111122222222223333333333444444444455555555556666666666777]");
}

static void test_unicode(void **state)
{
    (void)state;
    BAD("\xef\xbb\xbf{}", "a byte order mark");
    BAD("[\"\\u0000\"]", "U+0000");
    BAD("[\"\\ud800\"]", "a low surrogate");
    BAD("[\"\\ud800\\ud800\"]", "a low surrogate");
    BAD("[\"\\udc00\\ud800\"]", "a high surrogate");
    BAD("[\"\\u12g4\"]", "four hexadecimal digits");
    BAD("[\"\\u12", "four hexadecimal digits");
    BAD("[\"caf\xe9\"]", "found byte 0xE9; accepted: UTF-8");
    BAD("[\"\xc0\xaf\"]", "byte 0xC0");
    BAD("[\"\xe0\x80\xaf\"]", "byte 0xE0");
    BAD("[\"\xed\xa0\x80\"]", "byte 0xED");
    BAD("[\"\xf4\x90\x80\x80\"]", "byte 0xF4");
    BAD("[\"\xe2\x82", "byte 0xE2");
    BAD("\xff\xfe{\0}\0", "byte 0xFF");
    BAD("[\"a\nb\"]", "byte 0x0A; accepted: a control character only");
    BAD("[\"a\tb\"]", "byte 0x09");
}

static void test_duplicates(void **state)
{
    (void)state;
    BAD("{\"a\":1,\"a\":1}", "/a: found this member twice");
    BAD("{\"a\":{\"b\":1,\"\\u0062\":2}}", "/a/b: found this member twice");
    BAD("[{\"a/b~\":1,\"x\":2,\"a/b~\":3}]", "/0/a~1b~0: found");
    good("{\"a\":1,\"A\":2,\"b\":{\"a\":1}}");
}

static void test_limits(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1u << 20);
    for (int i = 0; i < 32; i++)
        buf_char(&b, '[');
    for (int i = 0; i < 32; i++)
        buf_char(&b, ']');
    good(buf_get(&b));
    buf_reset(&b);
    for (int i = 0; i < 60000; i++)
        buf_char(&b, '[');
    bad(buf_get(&b), b.len, ERR_LIMIT, "more than 32 levels");
    buf_reset(&b);
    for (int i = 0; i < 33; i++)
        buf_str(&b, "{\"a\":");
    bad(buf_get(&b), b.len, ERR_LIMIT, "more than 32 levels");
    buf_reset(&b);
    buf_str(&b, "[\"");
    while (b.len < SPEC_TEXT_MAX - 2)
        buf_char(&b, 'x');
    buf_str(&b, "\"]");
    good(buf_get(&b));
    buf_char(&b, ' ');
    bad(buf_get(&b), b.len, ERR_LIMIT, "65001 bytes; accepted: at most 65000");
    buf_fini(&b);
}

/* What a message quotes is short and clean, whatever the text holds. */
static void test_quoting(void **state)
{
    struct buf b;
    struct err e = {0};

    (void)state;
    buf_init(&b, 1u << 16);
    for (int i = 0; i < 20; i++)
        buf_str(&b, "{\"\xc2\x9b\xe2\x80\xa6long\x7f name of a member here\":");
    buf_str(&b, "\"\x01");
    assert_int_equal(parse(buf_get(&b), b.len, &e), -1);
    assert_true(strlen(e.msg) < 250);
    assert_null(strstr(e.msg, "\xc2\x9b"));
    assert_null(strchr(e.msg, '\x7f'));
    buf_fini(&b);
}

/* The files of case J1, and what j1.tsv expects of each. */
static void test_shared_cases(void **state)
{
    char path[2048], line[512];
    size_t n = 0;
    FILE *f;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/cases/files/json/j1.tsv",
                   help_shared());
    f = fopen(path, "r");
    if (f == NULL) {
        print_message("no %s: skipped\n", path);
        skip();
    }
    while (fgets(line, sizeof line, f) != NULL) {
        /* Language beyond JSON, and a list at the top: test_spec.c. */
        static const char *const semantic[] = {
            "j1-07", "j1-08", "j1-09", "j1-10", "j1-11", "j1-12", "j1-21"};
        char *tab = strchr(line, '\t'), *text;
        bool accept, skipped = false;
        struct err e = {0};
        size_t len = 0;

        assert_non_null(tab);
        *tab = '\0';
        accept = strncmp(tab + 1, "accept", 6) == 0;
        for (size_t i = 0; i < sizeof semantic / sizeof semantic[0]; i++)
            skipped |= strncmp(line, semantic[i], 5) == 0;
        (void)snprintf(path, sizeof path, "%s/cases/files/json/%s",
                       help_shared(), line);
        text = help_read(path, &len);
        assert_non_null(text);
        if ((parse(text, len, &e) == 0) != (accept || skipped))
            fail_msg("%s: %s", line, e.msg);
        if (!accept && !skipped)
            assert_true(strlen(e.msg) > 0 && strlen(e.msg) < 400);
        free(text);
        n++;
    }
    (void)fclose(f);
    assert_true(n >= 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_unicode),
        cmocka_unit_test(test_duplicates), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_quoting),    cmocka_unit_test(test_shared_cases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
