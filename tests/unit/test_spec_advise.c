/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "specs/advise.h"
#include "tests/unit/spec_help.h"

/* What is said beyond errors. */

static const struct spec_advise_context alone = {.debounce_ms = -1};

/* All advice on text, one line each: "id: text". */
static char *advice(const char *text, const struct spec_advise_context *ctx)
{
    struct spec *s = help_good(&help_www, text);
    struct spec_string string = {text, strlen(text)};
    struct spec_txt txt = {&string, 1};
    struct arena *a = arena_new();
    struct spec_advice *list;
    struct buf b;
    size_t n;

    buf_init(&b, 1u << 16);
    spec_advise(s, &txt, 1, ctx, a, &list, &n);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s: %s\n", spec_advice_kinds[list[i].kind].id,
                   list[i].text);
    spec_free(s);
    arena_free(a);
    return buf_take(&b);
}

static void says(const char *text, const char *part)
{
    char *all = advice(text, &alone);

    if (strstr(all, part) == NULL)
        fail_msg("%s\nnot found: %s\n%s", text, part, all);
    free(all);
}

static void silent(const char *text, const char *id)
{
    char *all = advice(text, &alone);

    if (strstr(all, id) != NULL)
        fail_msg("%s\nfound: %s\n%s", text, id, all);
    free(all);
}

#define TWO(more)                                                              \
    "{\"records\":[{\"data\":\"192.0.2.1\"" more                               \
    "},{\"data\":\"192.0.2.2\",\"check\":1}]}"

static void test_each(void **state)
{
    (void)state;
    says("[{name:www,data:192.0.2.1,check:80}]",
         "spelling: _failover.www.example.org: the spelling is bare");
    says("[{\\\"name\\\":\\\"www\\\",\\\"data\\\":\\\"192.0.2.1\\\","
         "\\\"check\\\":80}]",
         "the spelling is JSON with escaped");
    says(TWO(",\"comment\":\"a;b\""), "panel-characters: "
                                      "_failover.www.example.org: a semicolon");
    says(TWO(",\"comment\":\")(\""), "unbalanced parentheses");
    says(TWO(",\"comment\":\"\\\"\""), "an odd number of quotes");
    says(TWO(",\"check\":443,\"ttl\":301"),
         "ttl-long: _failover.www.example.org /records/0: www.example.org. A "
         "has a TTL of 301 s");
    says("{\"defaults\":{\"accessPeriod\":1,\"requiredFailure\":1},"
         "\"records\":[{\"data\":\"192.0.2.1\",\"check\":1,\"ttl\":60}]}",
         "ttl-detection: _failover.www.example.org /records/0: "
         "www.example.org. A has a TTL of 60 s, while a failure is known after "
         "3s");
    says(TWO(",\"check\":\"dns:53/www.example.org/A@192.0.2.53\""),
         "own-name: _failover.www.example.org /records/0/check: "
         "dns:53/www.example.org./A@192.0.2.53 asks for www.example.org.");
    says(TWO(",\"check\":{\"type\":\"http\",\"followRedirects\":1}"),
         "follows redirects");
    says(TWO(",\"check\":{\"type\":\"https\",\"verify\":false}"),
         "verify-off: _failover.www.example.org /records/0/check: https:443 "
         "does not verify");
    says("{\"records\":[{\"data\":\"192.0.2.1\",\"check\":1}]}",
         "single-record: _failover.www.example.org /records/0: "
         "www.example.org. A has a single record");
    says("{\"dcs\":{\"d\":{\"internet\":[\"192.0.2.1:1\"]}},"
         "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"}]}",
         "internet: _failover.www.example.org /dcs/d: internet of d counts");
    says(TWO(",\"check\":443"),
         "failover-time: _failover.www.example.org /records/0: "
         "www.example.org. A: a failover takes at most 19s, and the TTL that "
         "stands in the zone");
}

static void test_silent(void **state)
{
    const char *good = "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":443,"
                       "\"ttl\":60},{\"data\":\"192.0.2.2\",\"check\":443}]}";
    struct spec_advise_context ctx = alone;
    char *all = advice(good, &alone);

    (void)state;
    assert_string_equal(all, "failover-time: _failover.www.example.org "
                             "/records/0: www.example.org. A: a failover takes "
                             "at most 79s\n");
    free(all);
    silent("{\"records\":[{\"data\":\"192.0.2.1\",\"check\":1}],"
           "\"fallbackRecords\":[{\"data\":\"192.0.2.9\"}]}",
           "single-record");
    silent("{\"records\":[{\"data\":\"192.0.2.1\"}]}", "failover-time");
    ctx.dc = "d";
    all = advice("{\"dcs\":{\"d\":{\"internet\":[\"192.0.2.1:1\"]}},"
                 "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"}]}",
                 &ctx);
    assert_null(strstr(all, "internet:"));
    free(all);
}

static void test_size(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1u << 16);
    buf_str(&b, "{\"comment\":\"");
    for (int i = 0; i < 1100; i++)
        buf_char(&b, 'x');
    buf_str(&b, "\"}");
    silent(buf_get(&b), "txt-size");
    buf_reset(&b);
    buf_str(&b, "{\"comment\":\"");
    for (int i = 0; i < 1300; i++)
        buf_char(&b, 'x');
    buf_str(&b, "\"}");
    /* 12 header, 27 name, 4 question, 12 record, 1314 text, 6 lengths,
     * 11 OPT */
    says(buf_get(&b), "txt-size: _failover.www.example.org: the answer has "
                      "1386 bytes");
    buf_fini(&b);
}

/* The formula of the language's page. */
static void test_worst_case(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"defaults\":{\"accessPeriod\":\"20s\",\"retryPeriod\":\"1s\","
        "\"timeout\":\"3s\",\"requiredFailure\":4},\"dcs\":{\"d\":{"
        "\"wanAccess\":[\"192.0.2.1:1\"],\"accessPeriod\":\"1m\"}},"
        "\"scenarios\":{\"s\":\"d\"},"
        "\"records\":[{\"data\":\"192.0.2.1\",\"check\":443,\"ttl\":60},"
        "{\"data\":\"2001:db8::1\",\"if\":\"s\"},"
        "{\"name\":\"a.www\",\"data\":\"192.0.2.1\"}],"
        "\"rows\":[{\"name\":\"r.www\",\"data\":\"192.0.2.1\","
        "\"check\":1}]}");

    (void)state;
    /* 20 + 3 × 3 + 3 + 3 + 60 + 60 */
    assert_int_equal(spec_worst_case_ms(s, &s->sets[0], 0, 60000, 3000),
                     155000);
    /* cron each minute, no debounce */
    assert_int_equal(spec_worst_case_ms(s, &s->sets[0], 60000, 60000, 0),
                     192000);
    /* through the scenario and the dc: 60 + 3 × 3 + 3 */
    assert_int_equal(spec_worst_case_ms(s, &s->sets[1], 0, 0, 0), 72000);
    assert_int_equal(spec_worst_case_ms(s, &s->sets[2], 0, 0, 0), -1);
    /* a row tries a timeout again: 20 + 3 × 6 + 6 */
    assert_int_equal(spec_worst_case_ms(s, &s->sets[3], 0, 0, 0), 44000);
    spec_free(s);
}

static void test_kinds(void **state)
{
    (void)state;
    for (int i = 0; i < SPEC_NADVICE; i++) {
        assert_non_null(spec_advice_kinds[i].id);
        assert_non_null(spec_advice_kinds[i].help);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),  cmocka_unit_test(test_silent),
        cmocka_unit_test(test_size),  cmocka_unit_test(test_worst_case),
        cmocka_unit_test(test_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
