/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"

/* Records in their sets: disaster recovery, views, members for single sets,
 * several TXT records. */

#define INPUT(text, part) help_bad(&help_www, text, ERR_INPUT, part)

static void test_dr(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"scenarios\":{\"lost\":\"!tcp:80@192.0.2.99\"},\"records\":["
        "{\"data\":\"192.0.2.1\"},"
        "{\"data\":\"192.0.2.2\",\"drIfNoRecords\":true},"
        "{\"data\":\"192.0.2.3\",\"drCond\":\"lost\"},"
        "{\"data\":\"192.0.2.4\",\"dr\":true},"
        "{\"data\":\"192.0.2.5\",\"dr\":true,\"drCond\":\"lost\"},"
        "{\"data\":\"192.0.2.6\",\"dr\":false},"
        "{\"data\":\"192.0.2.7\",\"drIfNoRecords\":true,\"drCond\":\"lost\"},"
        "{\"data\":\"192.0.2.8\",\"drIfNoRecords\":false}]}");
    static const struct {
        bool dr, none, cond;
    } want[] = {{false, false, false}, {true, true, false},
                {true, false, true},   {true, true, false},
                {true, false, true},   {false, false, false},
                {true, true, true},    {false, false, false}};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const struct spec_record *r = &s->sets[0].records[i];

        assert_int_equal(r->dr, want[i].dr);
        assert_int_equal(r->dr_if_no_records, want[i].none);
        assert_int_equal(spec_rare_of(r)->dr_cond != NULL, want[i].cond);
    }
    help_round_trip(&help_www, s);
    spec_free(s);
}

static void test_return(void **state)
{
    struct spec *s = help_good(
        &help_www, "{\"records\":[{\"data\":\"192.0.2.1\",\"returnAfter\":"
                   "\"5m\",\"return\":\"manual\"},{\"data\":\"192.0.2.2\","
                   "\"return\":\"auto\"}]}");

    (void)state;
    assert_int_equal(s->sets[0].records[0].return_after_ms, 300000);
    assert_true(s->sets[0].records[0].return_manual);
    assert_int_equal(s->sets[0].records[1].return_after_ms, 0);
    assert_false(s->sets[0].records[1].return_manual);
    spec_free(s);
}

static void values(const struct spec_set *set, const char *view,
                   const char *want)
{
    struct buf b;

    help_same_text(set->view, view);
    buf_init(&b, 1000);
    for (size_t i = 0; i < set->nrecords; i++)
        buf_printf(&b, "%s ", set->records[i].data);
    for (size_t i = 0; i < set->nfallback; i++)
        buf_printf(&b, "(%s) ", set->fallback[i].data);
    assert_string_equal(buf_get(&b), want);
    buf_fini(&b);
}

/* What names no view stands in every view, and in the set of the rest. */
static void test_views(void **state)
{
    struct spec *s = help_good(
        &help_www, "{\"order\":\"priority\",\"records\":["
                   "{\"data\":\"192.0.2.3\"},"
                   "{\"data\":\"192.0.2.1\",\"view\":\"eu\"},"
                   "{\"data\":\"192.0.2.2\",\"view\":\"eu\"},"
                   "{\"data\":\"192.0.2.2\",\"view\":\"us\",\"ttl\":5},"
                   "{\"data\":\"192.0.2.3\",\"view\":\"us\",\"ttl\":9}],"
                   "\"fallbackRecords\":[{\"data\":\"192.0.2.9\"}],"
                   "\"sets\":{\"www A eu\":{\"take\":2},\"www A\":{\"take\":3,"
                   "\"allDown\":\"none\"}}}");

    (void)state;
    assert_int_equal(s->nsets, 3);
    values(&s->sets[0], NULL, "192.0.2.3 (192.0.2.9) ");
    values(&s->sets[1], "eu", "192.0.2.3 192.0.2.1 192.0.2.2 (192.0.2.9) ");
    values(&s->sets[2], "us", "192.0.2.2 192.0.2.3 (192.0.2.9) ");
    assert_int_equal(s->sets[0].take, 3);
    assert_int_equal(s->sets[1].take, 2);
    assert_int_equal(s->sets[1].all_down, SPEC_NONE);
    assert_int_equal(s->sets[2].take, 3);
    assert_int_equal(s->sets[2].ttl_s, 5);
    assert_int_equal(s->sets[2].records[1].ttl_s, 9);
    help_round_trip(&help_www, s);
    spec_free(s);
    /* a fallback of every view makes no set by itself */
    s = help_good(&help_www,
                  "{\"records\":[{\"data\":\"192.0.2.1\",\"view\":\"eu\"}],"
                  "\"fallbackRecords\":[{\"data\":\"192.0.2.9\"}]}");
    assert_int_equal(s->nsets, 1);
    values(&s->sets[0], "eu", "192.0.2.1 (192.0.2.9) ");
    spec_free(s);
    INPUT("{\"records\":[{\"data\":\"192.0.2.1\",\"view\":\"eu\"}],"
          "\"fallbackRecords\":[{\"data\":\"192.0.2.9\",\"view\":\"us\"}]}",
          "a fallback for www.example.org. A, of which no record");
}

static void test_single_sets(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"order\":\"priority\",\"damping\":false,\"records\":["
        "{\"data\":\"192.0.2.1\"},{\"data\":\"2001:db8::1\"},"
        "{\"name\":\"a.www\",\"data\":\"192.0.2.1\"}],"
        "\"sets\":{\"WWW A\":{\"order\":\"all\",\"damping\":true,"
        "\"fallbackRecords\":[{\"data\":\"192.0.2.9\",\"ttl\":5}]},"
        "\"a.www.example.org.|A\":{\"allDown\":\"all\",\"take\":\"2\"}}}");

    (void)state;
    assert_int_equal(s->nsets, 3);
    assert_int_equal(s->sets[0].order, SPEC_ALL);
    assert_true(s->sets[0].damping);
    values(&s->sets[0], NULL, "192.0.2.1 (192.0.2.9) ");
    assert_string_equal(s->sets[0].fallback[0].pointer,
                        "/sets/WWW A/fallbackRecords/0");
    assert_int_equal(s->sets[1].order, SPEC_PRIORITY);
    assert_false(s->sets[1].damping);
    assert_int_equal(s->sets[2].all_down, SPEC_DOWN_ALL);
    assert_int_equal(s->sets[2].take, 2);
    help_round_trip(&help_www, s);
    spec_free(s);
    INPUT("{\"records\":[{\"data\":\"192.0.2.1\"}],\"sets\":{\"www A x y\":"
          "{}}}",
          "/sets/www A x y: not a set");
}

/* Names, sets and lists over several TXT records. */
static void test_merge(void **state)
{
    static const char *const texts[] = {
        "{\"checks\":{\"web\":443},\"records\":[{\"data\":\"192.0.2.1\","
        "\"check\":\"web\"}],\"sets\":{\"www A\":{\"take\":2}}}",
        "{\"checks\":{\"web\":\"443\"},\"dcs\":{\"d\":{}}}",
        "{\"scenarios\":{\"s\":[[\"web\",\"d\"]]},\"records\":[{\"data\":"
        "\"192.0.2.2\",\"if\":\"s\"}],\"sets\":{\"www A\":{\"take\":\"2\"}}}",
        "{\"checks\":{\"web\":444}}",
        "{\"dcs\":{\"web\":{}}}",
        "{\"sets\":{\"www A\":{\"take\":3}}}"};
    struct spec_string strings[6];
    struct spec_txt txts[6];
    struct spec *s = NULL;
    struct err e = {0};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        strings[i].data = texts[i];
        strings[i].len = strlen(texts[i]);
        txts[i].strings = &strings[i];
        txts[i].nstrings = 1;
    }
    if (spec_parse(txts, 3, &help_www, &s, &e) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(s->nchecks, 1);
    assert_int_equal(s->sets[0].take, 2);
    assert_int_equal(s->sets[0].nrecords, 2);
    help_round_trip(&help_www, s);
    spec_free(s);
    for (size_t i = 3; i < 6; i++) {
        struct spec_txt two[] = {txts[0], txts[i]}, turned[] = {two[1], two[0]};
        struct err f = {0};

        assert_int_equal(spec_parse(two, 2, &help_www, &s, &e), -1);
        assert_int_equal(spec_parse(turned, 2, &help_www, &s, &f), -1);
        assert_string_equal(e.msg, f.msg);
        assert_non_null(strstr(e.msg, "given twice"));
    }
}

/* Checks of a record that counts once do not count twice. */
static void test_equal_records(void **state)
{
    struct spec *s = help_good(
        &help_www, "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":443,"
                   "\"if\":[[\"tcp:80\"]]},{\"data\":\"192.0.2.1\","
                   "\"check\":\"443\",\"if\":[[\"tcp:80\"]]},"
                   "{\"data\":\"192.0.2.2\",\"check\":81}]}");

    (void)state;
    assert_int_equal(s->nchecks, 3);
    assert_int_equal(s->sets[0].nrecords, 2);
    assert_int_equal(s->checks[s->sets[0].records[1].checks[0]].port, 81);
    help_round_trip(&help_www, s);
    spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dr),    cmocka_unit_test(test_return),
        cmocka_unit_test(test_views), cmocka_unit_test(test_single_sets),
        cmocka_unit_test(test_merge), cmocka_unit_test(test_equal_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
