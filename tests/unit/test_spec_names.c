/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"

/* Data centres, scenarios, and how their names resolve. */

#define INPUT(text, part) help_bad(&help_www, text, ERR_INPUT, part)
#define RECORDS "\"records\":[{\"data\":\"192.0.2.1\"}]"

static size_t find_scenario(const struct spec *s, const char *name)
{
    for (size_t i = 0; i < s->nscenarios; i++)
        if (strcmp(s->scenarios[i].name, name) == 0)
            return i;
    fail_msg("no scenario %s", name);
    return 0;
}

static void test_conditions(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"scenarios\":{\"all\":[[\"web\",\"!dc1\"],[\"dc1.noWan\"]],"
        "\"need\":{\"need\":2,\"of\":[\"all\",\"auto|dc1|wanAccess\","
        "{\"need\":1,\"of\":[\"!auto|dc1|maintenanceMode\",\"tcp:80\"]}]},"
        "\"one\":[[\"all\"]],\"not\":\"!tcp:25@192.0.2.9\"},"
        "\"dcs\":{\"dc1\":{\"wanAccess\":[\"192.0.2.1:443\"]}},"
        "\"checks\":{\"web\":\"icmp@192.0.2.7\"}," RECORDS "}");
    const struct spec_cond *all, *need, *one, *no;

    (void)state;
    assert_int_equal(s->nscenarios, 4);
    all = &s->scenarios[find_scenario(s, "all")].cond;
    assert_int_equal(all->kind, SPEC_COND_ANY);
    assert_string_equal(all->text, "[[web,!dc1],[dc1.noWan]]");
    assert_int_equal(all->n, 2);
    assert_int_equal(all->of[0].kind, SPEC_COND_ALL);
    assert_int_equal(all->of[0].of[0].kind, SPEC_COND_CHECK);
    assert_string_equal(s->checks[all->of[0].of[0].ref].name, "web");
    assert_int_equal(all->of[0].of[1].kind, SPEC_COND_DC);
    assert_true(all->of[0].of[1].negate);
    assert_string_equal(all->of[0].of[1].text, "!dc1");
    assert_int_equal(all->of[1].kind, SPEC_COND_DC_STATE);
    assert_int_equal(all->of[1].state, SPEC_DC_NO_WAN);
    assert_false(all->local);
    need = &s->scenarios[find_scenario(s, "need")].cond;
    assert_int_equal(need->kind, SPEC_COND_NEED);
    assert_int_equal(need->need, 2);
    assert_int_equal(need->of[0].kind, SPEC_COND_SCENARIO);
    assert_int_equal(need->of[0].ref, find_scenario(s, "all"));
    assert_int_equal(need->of[1].kind, SPEC_COND_DIMENSION);
    assert_int_equal(need->of[1].dimension, SPEC_WAN);
    assert_int_equal(need->of[2].of[0].kind, SPEC_COND_MAINTENANCE);
    assert_true(need->local);
    assert_string_equal(need->text, "2 of [all,auto|dc1|wanAccess,1 of "
                                    "[!auto|dc1|maintenanceMode,tcp:80]]");
    one = &s->scenarios[find_scenario(s, "one")].cond;
    assert_int_equal(one->kind, SPEC_COND_SCENARIO);
    assert_string_equal(one->text, "all");
    no = &s->scenarios[find_scenario(s, "not")].cond;
    assert_int_equal(no->kind, SPEC_COND_CHECK);
    assert_true(no->negate);
    assert_false(no->local);
    /* each after those that it names */
    for (size_t i = 0; i < s->nscenarios; i++)
        for (size_t k = 0; k < s->scenarios[i].cond.n; k++)
            if (s->scenarios[i].cond.of[k].kind == SPEC_COND_SCENARIO)
                assert_true(s->scenarios[i].cond.of[k].ref < i);
    help_round_trip(&help_www, s);
    spec_free(s);
}

static void test_record_conditions(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"scenarios\":{\"s\":\"https:443\"},\"dcs\":{\"a\":{},\"b\":{}},"
        "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"s\",\"dc\":\"b\"},"
        "{\"data\":\"192.0.2.2\",\"if\":[[\"s\",\"a\"],[\"!b\"]],"
        "\"drCond\":{\"need\":1,\"of\":[\"s\"]}},"
        "{\"data\":\"192.0.2.3\",\"if\":{\"type\":\"tcp:5@192.0.2.9\"}}]}");
    const struct spec_record *r = s->sets[0].records;

    (void)state;
    assert_int_equal(spec_rare_of(&r[0])->when->kind, SPEC_COND_SCENARIO);
    assert_true(spec_rare_of(&r[0])->when->local);
    assert_int_equal(r[0].dc, 1);
    assert_int_equal(r[1].dc, -1);
    assert_int_equal(spec_rare_of(&r[1])->when->kind, SPEC_COND_ANY);
    assert_true(r[1].dr);
    assert_false(r[1].dr_if_no_records);
    assert_int_equal(spec_rare_of(&r[1])->dr_cond->kind, SPEC_COND_NEED);
    assert_int_equal(spec_rare_of(&r[2])->when->kind, SPEC_COND_CHECK);
    assert_string_equal(spec_rare_of(&r[2])->when->text, "tcp:5@192.0.2.9");
    help_round_trip(&help_www, s);
    spec_free(s);
}

static void test_dc(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"dcs\":{\"dc1\":{\"wanAccess\":{\"need\":2,\"of\":["
        "\"192.0.2.1:443\",\"[2001:db8::1]:22\",\"icmp@192.0.2.3\"]},"
        "\"lanAccess\":[\"named\",{\"type\":\"https\",\"host\":\"a\","
        "\"target\":\"10.0.0.1\"}],\"noResponse\":true,\"onlyNew\":true,"
        "\"needs\":[\"lanAccess\"],\"fresh\":\"named\",\"accessPeriod\":\"1m\","
        "\"requiredSuccess\":1,\"requiredFailure\":9},"
        "\"dc2\":{\"internet\":[\"tcp:53@192.0.2.53\"],\"onlyNew\":\"1h\","
        "\"maintenanceMode\":true},\"dc3\":{\"onlyNew\":false}},"
        "\"checks\":{\"named\":\"tcp:1@10.0.0.2\"}," RECORDS "}");
    const struct spec_dc *d = &s->dcs[0];
    const struct spec_check *c;

    (void)state;
    assert_int_equal(s->ndcs, 3);
    assert_string_equal(d->name, "dc1");
    assert_string_equal(d->pointer, "/dcs/dc1");
    assert_true(d->dims[SPEC_WAN].given);
    assert_int_equal(d->dims[SPEC_WAN].n, 3);
    assert_int_equal(d->dims[SPEC_WAN].need, 2);
    c = &s->checks[d->dims[SPEC_WAN].checks[1]];
    assert_int_equal(c->port, 22);
    assert_int_equal(c->target.family, 6);
    assert_int_equal(c->target.port, 0);
    assert_int_equal(c->access_period_ms, 60000);
    assert_int_equal(c->required_success, 1);
    assert_int_equal(c->required_failure, 9);
    assert_int_equal(d->dims[SPEC_LAN].need, 1);
    /* a named check keeps its own pace */
    c = &s->checks[d->dims[SPEC_LAN].checks[0]];
    assert_string_equal(c->name, "named");
    assert_int_equal(c->required_failure, 3);
    assert_false(d->dims[SPEC_ACCESS].given);
    assert_true(d->no_response);
    assert_false(d->maintenance);
    assert_int_equal(d->only_new_ms, 600000);
    assert_int_equal(d->fresh->kind, SPEC_COND_CHECK);
    assert_false(d->needs[SPEC_WAN]);
    assert_true(d->needs[SPEC_LAN]);
    assert_true(s->dcs[1].maintenance);
    assert_int_equal(s->dcs[1].only_new_ms, 3600000);
    assert_true(s->dcs[1].dims[SPEC_INTERNET].given);
    assert_false(s->dcs[1].needs[SPEC_WAN]);
    assert_int_equal(s->dcs[2].only_new_ms, -1);
    help_round_trip(&help_www, s);
    spec_free(s);
    assert_string_equal(spec_dimension_name(SPEC_LAN), "lanAccess");
    assert_string_equal(spec_dc_state_name(SPEC_DC_NO_INTERNET), "noInternet");
}

static void test_cycles(void **state)
{
    (void)state;
    INPUT(
        "{\"scenarios\":{\"a\":[[\"!b\"]],\"b\":\"c\",\"c\":[[\"a\"]]}," RECORDS
        "}",
        "/scenarios/c/0/0: a cycle: a → b → c → a");
    INPUT("{\"scenarios\":{\"a\":\"a\"}," RECORDS "}", "a cycle: a → a");
    INPUT("{\"scenarios\":{\"x\":\"y\",\"y\":\"z\",\"z\":\"y\"}," RECORDS "}",
          "a cycle: y → z → y");
    INPUT("{\"dcs\":{\"d\":{\"fresh\":\"s\"}},\"scenarios\":{\"s\":"
          "\"auto|d|maintenanceMode\"}," RECORDS "}",
          "a cycle: d → s → d");
}

/* A chain of n scenarios, each names the next, the last one a check. */
static char *chain(unsigned n, bool forward)
{
    struct buf b;

    buf_init(&b, 1u << 16);
    buf_str(&b, "{\"checks\":{\"web\":80},\"scenarios\":{");
    for (unsigned i = 0; i < n; i++) {
        unsigned at = forward ? i : n - 1 - i;

        if (at + 1 < n)
            buf_printf(&b, "\"s%03u\":\"s%03u\"", at, at + 1);
        else
            buf_printf(&b, "\"s%03u\":\"!web\"", at);
        buf_str(&b, i + 1 < n ? "," : "},\"records\":[]}");
    }
    return buf_take(&b);
}

/* The same verdict whichever end is read first. */
static void test_depth(void **state)
{
    (void)state;
    for (unsigned n = 60; n < 70; n++) {
        struct spec *a = NULL, *b = NULL;
        char *forward = chain(n, true), *back = chain(n, false);
        struct err e = {0}, f = {0};
        int x = spec_parse_text(forward, strlen(forward), &help_www, &a, &e);
        int y = spec_parse_text(back, strlen(back), &help_www, &b, &f);

        assert_int_equal(x, y);
        assert_int_equal(x, n < 64 ? 0 : -1);
        if (x != 0) {
            assert_int_equal(e.code, ERR_LIMIT);
            assert_non_null(strstr(e.msg, "more than 64 levels"));
        }
        spec_free(a);
        spec_free(b);
        free(forward);
        free(back);
    }
}

static void test_unknown(void **state)
{
    (void)state;
    INPUT("{\"checks\":{\"web\":80},\"dcs\":{\"dc1\":{}},\"scenarios\":{"
          "\"s\":[[\"wbe\"]]}," RECORDS "}",
          "/scenarios/s/0/0: no check, dc or scenario \"wbe\" is known here "
          "(did you mean \"web\"?); known: dc1, s, web");
    INPUT("{\"records\":[{\"data\":\"192.0.2.1\",\"check\":\"web\"}]}",
          "/records/0/check: no check \"web\" is known here; known: none");
    INPUT("{\"dcs\":{\"dc1\":{}},\"records\":[{\"data\":\"192.0.2.1\","
          "\"check\":\"dc1\"}]}",
          "\"dc1\" is a dc; accepted: the name of a check");
    INPUT("{\"checks\":{\"a\":1},\"dcs\":{\"a\":{}}," RECORDS "}",
          "\"a\" is given twice");
}

/* Names resolve in the spec that uses them, the apex's below. */
static void test_inheritance(void **state)
{
    struct spec *apex = help_good(
        &help_apex,
        "{\"checks\":{\"web\":\"tcp:443@192.0.2.1\",\"other\":81},"
        "\"dcs\":{\"dc1\":{\"wanAccess\":[\"web\"]},\"unused\":{}},"
        "\"scenarios\":{\"up\":[[\"web\",\"dc1\"]],\"deep\":\"!up\"}}");
    struct spec_context ctx = help_www;
    struct spec *s;
    const struct spec_cond *up;

    (void)state;
    assert_int_equal(apex->nchecks, 2);
    ctx.apex = apex;
    s = help_good(&ctx, "{\"checks\":{\"web\":\"tcp:80@192.0.2.2\"},"
                        "\"records\":[{\"data\":\"192.0.2.1\","
                        "\"if\":\"deep\"}]}");
    /* only what is used comes along */
    assert_int_equal(s->nchecks, 1);
    assert_int_equal(s->checks[0].port, 80);
    assert_false(s->checks[0].from_apex);
    assert_int_equal(s->ndcs, 1);
    assert_true(s->dcs[0].from_apex);
    assert_int_equal(s->dcs[0].dims[SPEC_WAN].checks[0], 0);
    assert_int_equal(s->nscenarios, 2);
    assert_string_equal(s->scenarios[0].name, "up");
    assert_string_equal(s->scenarios[1].name, "deep");
    assert_true(s->scenarios[1].from_apex);
    up = &s->scenarios[0].cond;
    assert_int_equal(up->of[0].ref, 0);
    assert_int_equal(s->scenarios[1].cond.ref, 0);
    help_round_trip(&ctx, s);
    spec_free(s);
    /* named wrongly in between: the place is told with its spec */
    help_bad(&ctx,
             "{\"scenarios\":{\"web\":\"tcp:80\"},\"records\":[{\"data\":"
             "\"192.0.2.1\",\"dc\":\"dc1\"}]}",
             ERR_INPUT,
             "_failover.www.example.org, inherited from _failover.example.org "
             "/dcs/dc1/wanAccess/0: \"web\" is a scenario; accepted: the name "
             "of a check");
    help_bad(&ctx,
             "{\"scenarios\":{\"up\":\"deep\"},\"records\":[{\"data\":"
             "\"192.0.2.1\",\"if\":\"up\"}]}",
             ERR_INPUT, "a cycle: up → deep → up");
    help_bad(&ctx, "{\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"dc2\"}]}",
             ERR_INPUT, "known: dc1, deep, other, unused, up, web");
    spec_free(apex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_record_conditions),
        cmocka_unit_test(test_dc),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_inheritance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
