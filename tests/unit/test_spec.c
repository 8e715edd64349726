/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"

/* What the members mean: the typed spec and its errors. */

static const char *const ns_names[] = {"ns1.example.org.",
                                       "ns2.www.example.org."};
static const struct spec_context www_ns = {.owner = "www.example.org.",
                                           .zone = "example.org.",
                                           .ns_names = ns_names,
                                           .nns_names = 2};
static const struct spec_context apex_ns = {.owner = "example.org.",
                                            .zone = "example.org.",
                                            .ns_names = ns_names,
                                            .nns_names = 2};

#define INPUT(text, part) help_bad(&help_www, text, ERR_INPUT, part)
#define CHECK(s, set, rec, n)                                                  \
    (&(s)->checks[(s)->sets[set].records[rec].checks[n]])
#define RECORD(more) "{\"records\":[{\"data\":\"192.0.2.1\"" more "}]}"
#define DATA(d) "{\"records\":[{\"data\":" d "}]}"
#define ROW(name, data, check)                                                 \
    "[{\"name\":\"" name "\",\"data\":\"" data "\",\"check\":" check "}]"

static void test_rows(void **state)
{
    struct spec *s = help_good(
        &help_www, "[{\"name\":\"WWW.example.org.\",\"data\":\"192.0.2.1\","
                   "\"check\":\"443\",\"ttl\":\"300\",\"note\":\"x\","
                   "\"comment\":1,\"x-a\":[]},"
                   "{\"name\":\"www\",\"data\":\"192.0.2.2\",\"check\":80}]");
    const struct spec_set *set = &s->sets[0];
    const struct spec_check *c = CHECK(s, 0, 0, 0);

    (void)state;
    assert_string_equal(s->owner, "www.example.org.");
    assert_string_equal(s->zone, "example.org.");
    assert_int_equal(s->form, SPEC_ROWS);
    assert_int_equal(s->nsets, 1);
    assert_string_equal(set->name, "www.example.org.");
    assert_int_equal(set->type, SPEC_A);
    assert_int_equal(set->order, SPEC_ALL);
    assert_int_equal(set->all_down, SPEC_KEEP);
    assert_int_equal(set->take, 0);
    assert_true(set->damping);
    assert_int_equal(set->ttl_s, 300);
    assert_int_equal(set->nrecords, 2);
    assert_int_equal(set->records[1].ttl_s, -1);
    assert_string_equal(set->records[1].pointer, "/1");
    assert_int_equal(set->records[1].prio, 2);
    assert_int_equal(c->port, 443);
    assert_int_equal(c->target.family, 0);
    assert_int_equal(c->timeout_ms, 1000);
    assert_int_equal(c->access_period_ms, 10000);
    assert_int_equal(c->retry_period_ms, 1000);
    assert_int_equal(c->required_success, 1);
    assert_int_equal(c->required_failure, 1);
    assert_true(c->repeat_timeout);
    assert_string_equal(c->pointer, "/0/check");
    assert_int_equal(s->nwarnings, 1);
    assert_int_equal(s->warnings[0].level, SPEC_NOTE_WARNING);
    assert_string_equal(s->warnings[0].text,
                        "_failover.www.example.org /0/note: unknown member, "
                        "ignored; a row takes name, data, check, ttl");
    help_round_trip(&help_www, s);
    spec_free(s);
}

static void test_rows_bad(void **state)
{
    (void)state;
    INPUT("[]", "found an empty list");
    INPUT("[{}]", "/0: \"name\" is missing; a row needs it");
    INPUT("[{\"name\":\"www\",\"check\":1}]", "/0: \"data\" is missing");
    INPUT("[{\"name\":\"www\",\"data\":\"192.0.2.1\"}]",
          "/0: \"check\" is missing");
    INPUT("[[]]", "/0: found a list; accepted: a row, an object");
    INPUT("{\"rows\":{}}", "/rows: found an object; accepted: a list");
    INPUT(ROW("www.example.net.", "192.0.2.1", "443"),
          "/0/name: www.example.net. is not in the zone example.org.");
    INPUT(ROW("www.example.org", "192.0.2.1", "443"),
          "a relative name that ends in the zone's name");
    INPUT(ROW("www", "192.0.2.1", "\"\""), "/0/check: found \"\"");
}

static void test_object(void **state)
{
    struct spec *s = help_good(
        &help_www,
        "{\"comment\":[1,{}],\"x-note\":null,\"order\":\"priority\","
        "\"take\":\"2\",\"allDown\":\"all\",\"defaults\":{\"ttl\":\"2m\","
        "\"timeout\":\"500ms\",\"accessPeriod\":30,\"retryPeriod\":1.5,"
        "\"requiredSuccess\":2,\"requiredFailure\":\"4\",\"comment\":\"c\"},"
        "\"records\":[{\"data\":\"192.0.2.1\",\"check\":443,\"prio\":7},"
        "{\"name\":\"a.www\",\"type\":\"A\",\"data\":\"192.0.2.2\","
        "\"check\":[\"tcp:25@2001:db8:0:0::9\",80,\"80\"],\"ttl\":30},"
        "{\"data\":\"192.0.2.3\",\"check\":\"tcp:1\",\"comment\":\"c\"}],"
        "\"rows\":[{\"name\":\"www\",\"data\":\"2001:DB8::1\",\"check\":22}],"
        "\"fallbackRecords\":[{\"data\":\"192.0.2.1\"},"
        "{\"name\":\"a.www\",\"data\":\"192.0.2.9\",\"check\":81}]}");
    const struct spec_set *set = s->sets;
    const struct spec_check *c;

    (void)state;
    assert_int_equal(s->form, SPEC_OBJECT);
    assert_int_equal(s->nsets, 3);
    /* www A */
    assert_string_equal(set[0].name, "www.example.org.");
    assert_int_equal(set[0].type, SPEC_A);
    assert_int_equal(set[0].order, SPEC_PRIORITY);
    assert_int_equal(set[0].take, 2);
    assert_int_equal(set[0].all_down, SPEC_DOWN_ALL);
    assert_int_equal(set[0].ttl_s, 120);
    assert_string_equal(set[0].records[0].data, "192.0.2.3");
    assert_int_equal(set[0].records[0].prio, 3);
    assert_string_equal(set[0].records[1].data, "192.0.2.1");
    assert_int_equal(set[0].nfallback, 1);
    assert_true(set[0].fallback[0].fallback);
    assert_int_equal(set[0].fallback[0].nchecks, 0);
    c = CHECK(s, 0, 1, 0);
    assert_int_equal(c->timeout_ms, 500);
    assert_int_equal(c->access_period_ms, 30000);
    assert_int_equal(c->retry_period_ms, 1500);
    assert_int_equal(c->required_success, 2);
    assert_int_equal(c->required_failure, 4);
    assert_false(c->repeat_timeout);
    /* www AAAA, of the rows: own defaults beat the rows' */
    assert_int_equal(set[1].type, SPEC_AAAA);
    assert_string_equal(set[1].records[0].data, "2001:db8::1");
    assert_string_equal(set[1].records[0].pointer, "/rows/0");
    c = CHECK(s, 1, 0, 0);
    assert_int_equal(c->required_success, 2);
    assert_true(c->repeat_timeout);
    /* a.www A */
    assert_string_equal(set[2].name, "a.www.example.org.");
    assert_int_equal(set[2].ttl_s, 30);
    assert_int_equal(set[2].records[0].nchecks, 2);
    assert_int_equal(CHECK(s, 2, 0, 0)->port, 25);
    assert_int_equal(CHECK(s, 2, 0, 0)->target.family, 6);
    assert_int_equal(CHECK(s, 2, 0, 1)->port, 80);
    assert_int_equal(s->checks[set[2].fallback[0].checks[0]].port, 81);
    assert_int_equal(s->top->debounce_ms, -1);
    assert_int_equal(s->top->max_change_pct, -1);
    help_round_trip(&help_www, s);
    spec_free(s);
}

/* J1 in our own members: what a lenient reader would take for port 80. */
static void test_ports(void **state)
{
    static const char *const bad[] = {"0",
                                      "65536",
                                      "4294967376",
                                      "80.5",
                                      "80.0",
                                      "1e2",
                                      "-80",
                                      "true",
                                      "null",
                                      "\"\"",
                                      "\" 80\"",
                                      "\"80 \"",
                                      "\"+80\"",
                                      "\"080\"",
                                      "\"0x50\"",
                                      "\"8O\"",
                                      "\"80.0\"",
                                      "1e400",
                                      "18446744073709551696",
                                      "\"tcp:\"",
                                      "\"tcp:0\"",
                                      "\"tcp:80@\"",
                                      "\"tcp:80@www.example.org\"",
                                      "\"tcp:80@192.0.2.010\"",
                                      "\"tcp:80/x\"",
                                      "\"tcp:80@192.0.2.1:80\"",
                                      "\"TCP:80\"",
                                      "\"-f\"",
                                      "\"192.0.2.1;id\"",
                                      "\"$(id)\"",
                                      "[true]",
                                      "[[80]]"};
    struct spec *s;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, RECORD(",\"check\":%s"), bad[i]);
        INPUT(text, "accepted: a TCP port from 1 to 65535");
    }
    INPUT(RECORD(",\"check\":[]"), "found an empty list");
    INPUT(RECORD(",\"check\":[80,0]"), "/records/0/check/1: found 0");
    s = help_good(&help_www, RECORD(",\"check\":\"80\""));
    assert_int_equal(CHECK(s, 0, 0, 0)->port, 80);
    spec_free(s);
}

static void test_periods(void **state)
{
    static const char *const bad[] = {"0",      "-1",      "\"0ms\"", "1e400",
                                      "1e2",    "\"10d\"", "\"\"",    "true",
                                      "[]",     "\"-1s\"", "\"inf\"", "0.0001",
                                      "999999", "\"1 s\"", "null",    "\".5\""};
    struct spec_context ctx = help_www;
    struct spec *s;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[100];

        (void)snprintf(text, sizeof text,
                       "{\"defaults\":{\"accessPeriod\":%s}}", bad[i]);
        INPUT(text, "/defaults/accessPeriod: found");
        (void)snprintf(text, sizeof text, "{\"defaults\":{\"timeout\":%s}}",
                       bad[i]);
        INPUT(text, "accepted: seconds, or \"500ms\"");
    }
    ctx.min_period_ms = 2000;
    help_bad(&ctx, "{\"defaults\":{\"accessPeriod\":\"1999ms\"}}", ERR_INPUT,
             "/defaults/accessPeriod: found \"1999ms\"; accepted: 2s or more "
             "(min-period in the agent's file)");
    help_bad(&ctx, "{\"defaults\":{\"retryPeriod\":1}}", ERR_INPUT,
             "/defaults/retryPeriod: found 1; accepted: 2s or more");
    /* The built-in second is raised in silence: nobody wrote it. */
    s = help_good(&ctx, RECORD(",\"check\":80"));
    assert_int_equal(CHECK(s, 0, 0, 0)->retry_period_ms, 2000);
    assert_int_equal(CHECK(s, 0, 0, 0)->access_period_ms, 10000);
    spec_free(s);
}

static void test_scalars_bad(void **state)
{
    (void)state;
    INPUT("{\"order\":\"prio\"}",
          "/order: found \"prio\"; accepted: \"all\" or \"priority\"");
    INPUT("{\"order\":true}", "/order: found true");
    INPUT("{\"allDown\":\"drop\"}", "\"keep\", \"all\" or \"none\"");
    INPUT("{\"take\":0}", "/take: found 0; accepted: a whole number from 1");
    INPUT("{\"take\":1.0}", "/take: found 1.0");
    INPUT(RECORD(",\"ttl\":-1"), "/records/0/ttl: found -1; accepted: whole");
    INPUT(RECORD(",\"ttl\":\"500ms\""), "/records/0/ttl");
    INPUT(RECORD(",\"ttl\":4294967296"), "/records/0/ttl: found 4294967296");
    INPUT(RECORD(",\"ttl\":\"x\""), "/records/0/ttl: found \"x\"");
    INPUT(RECORD(",\"prio\":1.5"), "/records/0/prio");
    INPUT("{\"defaults\":{\"requiredSuccess\":0}}", "from 1 to 1000");
    INPUT("{\"defaults\":{\"requiredFailure\":1001}}", "from 1 to 1000");
    INPUT("{\"defaults\":[]}", "/defaults: found a list");
    INPUT("{\"records\":{}}", "/records: found an object; accepted: a list");
    INPUT("{\"records\":[5]}", "/records/0: found 5; accepted: a record");
}

static void test_unknown(void **state)
{
    (void)state;
    INPUT("{\"record\":[]}",
          "/record: unknown member; accepted in the object form: defaults, "
          "checks, dcs, scenarios, order, take, allDown, damping, records, "
          "rows, fallbackRecords, sets, comment, x-…");
    INPUT("{\"Records\":[]}", "/Records: unknown member");
    INPUT(RECORD(",\"tll\":5"), "accepted in a record: name, type, data, "
                                "check, if, dc, ttl, prio, drIfNoRecords, "
                                "drCond, dr, returnAfter, return, view, "
                                "comment, x-…");
    INPUT("{\"defaults\":{\"requiredFailures\":3}}",
          "accepted in defaults: ttl, timeout, accessPeriod, retryPeriod");
    INPUT("{\"a/b~c\":1}", "/a~1b~0c: unknown member");
    INPUT("{\"\":1}", " /: unknown member");
    INPUT("{\"xyz\":1}", "/xyz: unknown member");
}

/* A13, R14: one address in other letters is one; no half addresses. */
static void test_addresses(void **state)
{
    static const char *const bad[] = {
        "2001:db8::1::", "192.0.2.010",  "192.0.2",
        "192.0.2.256",   "192.0.2.1.",   "192.0.2.1/32",
        "192.0.2.1;id",  "$(id)",        "-f..",
        "::g",           "fe80::1%eth0", "192.0.2.1:80",
        "[2001:db8::1]", " 192.0.2.1",   "0x7f.1",
        "3221225985",    "1.2.3.4.5",    ":",
        "2001:db8::1\\n"};
    struct spec *s;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, DATA("\"%s\""), bad[i]);
        INPUT(text, "/records/0/data: found \"");
    }
    INPUT(DATA("5"), "/records/0/data: found 5");
    INPUT(DATA("\"\""), "/records/0/data: found \"\"");
    INPUT(RECORD(",\"type\":\"AAAA\""), "data that fits type AAAA");
    INPUT(RECORD(",\"type\":\"MX\""), "\"A\", \"AAAA\" or \"CNAME\"");
    INPUT("{\"records\":[{\"type\":\"A\",\"data\":\"web\"}]}",
          "an IPv4 address: 192.0.2.1");
    INPUT("{\"records\":[{\"type\":\"AAAA\",\"data\":\"web\"}]}",
          "an IPv6 address");
    INPUT(RECORD(",\"type\":\"CNAME\""), "data that fits type CNAME");
    s = help_good(&help_www,
                  "{\"records\":[{\"data\":\"2001:DB8::1\"},"
                  "{\"data\":\"2001:db8:0:0:1::1\"},"
                  "{\"data\":\"2001:0db8:0000:0000:0001:0000:0000:0001\"},"
                  "{\"data\":\"2001:db8:0:0:0:0:0:1\"}]}");
    assert_int_equal(s->sets[0].nrecords, 2);
    assert_string_equal(s->sets[0].records[0].data, "2001:db8::1");
    assert_string_equal(s->sets[0].records[1].data, "2001:db8::1:0:0:1");
    help_round_trip(&help_www, s);
    spec_free(s);
    INPUT("{\"records\":[{\"data\":\"2001:DB8::1\"},"
          "{\"data\":\"2001:db8:0::1\",\"ttl\":5}]}",
          "/records/1: www.example.org. AAAA 2001:db8::1 is given twice, with "
          "different members (the other is /records/0)");
}

static void test_cname(void **state)
{
    struct spec *s = help_good(
        &help_www, "{\"records\":[{\"data\":\"a.example.net.\",\"check\":443},"
                   "{\"type\":\"CNAME\",\"data\":\"Web\"}]}");

    (void)state;
    assert_int_equal(s->nsets, 1);
    assert_int_equal(s->sets[0].type, SPEC_CNAME);
    assert_string_equal(s->sets[0].records[1].data, "web.example.org.");
    help_round_trip(&help_www, s);
    spec_free(s);
    /* in different views they stand apart */
    s = help_good(&help_www, "{\"records\":[{\"data\":\"web\",\"view\":\"eu\"},"
                             "{\"data\":\"192.0.2.1\",\"view\":\"us\"}]}");
    assert_int_equal(s->nsets, 2);
    spec_free(s);
    INPUT("{\"records\":[{\"data\":\"web\"},{\"data\":\"192.0.2.1\","
          "\"view\":\"us\"}]}",
          "a CNAME beside other types");
    /* R8 */
    help_bad(&help_apex, DATA("\"web.example.net.\""), ERR_INPUT,
             "/records/0/data: a CNAME at example.org., the apex of the zone, "
             "cannot stand beside SOA and NS");
    help_bad(&help_apex,
             "{\"records\":[{\"name\":\"@\",\"type\":\"CNAME\","
             "\"data\":\"web\"}]}",
             ERR_INPUT, "the apex of the zone");
    INPUT("{\"records\":[{\"data\":\"web\"},{\"data\":\"192.0.2.1\"}]}",
          "a CNAME beside other types at www.example.org.");
    INPUT(DATA("\"www\""), "a CNAME at www.example.org. to itself");
    INPUT(DATA("\"web.example.org\""), "ends in the zone's name");
}

static void test_names(void **state)
{
    static const struct {
        const char *name, *want;
    } good[] = {{"www", "www.example.org."},
                {"WWW.Example.ORG.", "www.example.org."},
                {"a.b.www", "a.b.www.example.org."},
                {"*.www", "*.www.example.org."}};
    struct spec_context wide = help_www;
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct spec *s;

        (void)snprintf(text, sizeof text, RECORD(",\"name\":\"%s\""),
                       good[i].name);
        s = help_good(&help_www, text);
        assert_string_equal(s->sets[0].name, good[i].want);
        help_round_trip(&help_www, s);
        spec_free(s);
    }
    INPUT(RECORD(",\"name\":\"@\""), "example.org. is outside what this spec");
    INPUT(RECORD(",\"name\":\"xwww\""), "is outside");
    INPUT(RECORD(",\"name\":\"example.org\""), "ends in the zone's name");
    INPUT(RECORD(",\"name\":\"Example.Org\""), "ends in the zone's name");
    INPUT(RECORD(",\"name\":\"a..b\""), "/records/0/name: found \"a..b\"");
    INPUT(RECORD(",\"name\":\"a b\""), "accepted: a name");
    INPUT(RECORD(",\"name\":\"\""), "accepted: a name");
    INPUT(RECORD(",\"name\":7"), "found 7; accepted: a name");
    wide.cross_names = true;
    spec_free(help_good(&wide, RECORD(",\"name\":\"@\"")));
    help_bad(&wide, RECORD(",\"name\":\"example.net.\""), ERR_INPUT,
             "is not in the zone");
    spec_free(help_good(&help_apex, RECORD(",\"name\":\"a.b\"")));
    /* name servers are never managed */
    help_bad(&apex_ns, RECORD(",\"name\":\"NS1\""), ERR_INPUT,
             "/records/0/name: ns1.example.org. is a name server of the zone");
    help_bad(&www_ns, RECORD(",\"name\":\"ns2.www\""), ERR_INPUT,
             "addresses are never managed");
}

static void test_sets(void **state)
{
    struct spec *s;

    (void)state;
    INPUT("{\"fallbackRecords\":[{\"data\":\"192.0.2.1\"}]}",
          "/fallbackRecords/0: a fallback for www.example.org. A, of which no "
          "record is given");
    INPUT("{\"order\":\"priority\",\"records\":[{\"data\":\"192.0.2.1\","
          "\"prio\":1}],\"rows\":[{\"name\":\"www\",\"data\":\"192.0.2.2\","
          "\"check\":1}]}",
          "/rows/0: the chain of www.example.org. A is spread over several");
    INPUT("{\"records\":[{\"data\":\"192.0.2.1\",\"check\":1},"
          "{\"data\":\"192.0.2.1\",\"check\":2}]}",
          "different members");
    s = help_good(&help_www, "{}");
    assert_int_equal(s->nsets, 0);
    assert_int_equal(s->nwarnings, 1);
    assert_non_null(strstr(s->warnings[0].text, "this spec does nothing"));
    spec_free(s);
    /* Equal ones once, order by prio, then by place. */
    s = help_good(&help_www,
                  "{\"order\":\"priority\",\"records\":["
                  "{\"data\":\"192.0.2.1\"},{\"data\":\"192.0.2.2\"},"
                  "{\"data\":\"192.0.2.2\"},{\"data\":\"192.0.2.3\"},"
                  "{\"data\":\"192.0.2.4\",\"prio\":0},"
                  "{\"data\":\"192.0.2.5\",\"prio\":3,\"ttl\":9}]}");
    assert_int_equal(s->sets[0].nrecords, 5);
    assert_string_equal(s->sets[0].records[0].data, "192.0.2.4");
    assert_string_equal(s->sets[0].records[1].data, "192.0.2.1");
    assert_string_equal(s->sets[0].records[2].data, "192.0.2.2");
    assert_string_equal(s->sets[0].records[3].data, "192.0.2.3");
    assert_string_equal(s->sets[0].records[4].data, "192.0.2.5");
    assert_int_equal(s->sets[0].ttl_s, 9);
    help_round_trip(&help_www, s);
    spec_free(s);
}

static void test_targets(void **state)
{
    struct spec_context ctx = help_www;
    const char *text = "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":"
                       "[80,\"tcp:80@192.0.2.1\",81,\"tcp:80@192.0.2.9\"]},"
                       "{\"data\":\"192.0.2.2\",\"check\":[80]}]}";

    (void)state;
    ctx.max_targets = 4;
    spec_free(help_good(&ctx, text));
    ctx.max_targets = 3;
    help_bad(&ctx, text, ERR_LIMIT,
             "found 4 targets (address and port); accepted: at most 3 "
             "(max-targets");
}

static void test_apex(void **state)
{
    struct spec *apex = help_good(
        &help_apex,
        "{\"defaults\":{\"ttl\":60,\"timeout\":3,\"requiredFailure\":5},"
        "\"names\":[\"www\",\"@\",\"a.example.org.\",\"WWW\"],"
        "\"debounce\":0,\"maxChange\":\"0%\"}");
    struct spec_context ctx = help_www;
    const struct spec_check *c;
    struct spec *s;

    (void)state;
    assert_int_equal(apex->top->nnames, 3);
    assert_string_equal(apex->top->names[0], "example.org.");
    assert_string_equal(apex->top->names[1], "a.example.org.");
    assert_string_equal(apex->top->names[2], "www.example.org.");
    assert_int_equal(apex->top->debounce_ms, 0);
    assert_int_equal(apex->top->max_change_pct, 0);
    assert_int_equal(apex->nwarnings, 0);
    assert_int_equal(apex->top->defaults.ttl_s, 60);
    assert_int_equal(apex->top->defaults.access_period_ms, -1);
    assert_int_equal(apex->top->defaults.required_success, 0);
    help_round_trip(&help_apex, apex);
    ctx.apex = apex;
    s = help_good(&ctx, "{\"defaults\":{\"timeout\":4},"
                        "\"records\":[{\"data\":\"192.0.2.1\",\"check\":1}]}");
    c = CHECK(s, 0, 0, 0);
    assert_int_equal(c->timeout_ms, 4000);
    assert_int_equal(c->required_failure, 5);
    assert_int_equal(c->required_success, 3);
    assert_int_equal(s->sets[0].ttl_s, 60);
    assert_int_equal(s->top->defaults.ttl_s, -1);
    help_round_trip(&ctx, s);
    spec_free(s);
    /* the rows' built-in values rank below the apex spec's */
    s = help_good(&ctx, ROW("www", "192.0.2.1", "443"));
    c = CHECK(s, 0, 0, 0);
    assert_int_equal(c->timeout_ms, 3000);
    assert_int_equal(c->required_failure, 5);
    assert_int_equal(c->required_success, 1);
    assert_true(c->repeat_timeout);
    spec_free(s);
    spec_free(apex);
}

static void test_apex_bad(void **state)
{
    (void)state;
    INPUT("{\"names\":[]}", "/names: \"names\" belongs into the apex spec, "
                            "_failover.example.org");
    INPUT("{\"debounce\":1}", "/debounce: \"debounce\" belongs");
    INPUT("{\"maxChange\":\"50%\"}", "/maxChange: \"maxChange\" belongs");
    help_bad(&help_apex, "{\"maxChange\":50}", ERR_INPUT,
             "/maxChange: found 50; accepted: \"0%\" to \"100%\"");
    help_bad(&help_apex, "{\"maxChange\":\"101%\"}", ERR_INPUT, "\"101%\"");
    help_bad(&help_apex, "{\"maxChange\":\"%\"}", ERR_INPUT, "\"%\"");
    help_bad(&help_apex, "{\"maxChange\":\"5.5%\"}", ERR_INPUT, "\"5.5%\"");
    help_bad(&help_apex, "{\"debounce\":\"11m\"}", ERR_INPUT, "/debounce");
    help_bad(&help_apex, "{\"names\":\"www\"}", ERR_INPUT,
             "/names: found \"www\"; accepted: a list");
    help_bad(&help_apex, "{\"names\":[\"_failover.www\"]}", ERR_INPUT,
             "/names/0: found \"_failover.www\"; accepted: owners");
    help_bad(&help_apex, "{\"names\":[\"example.net.\"]}", ERR_INPUT,
             "/names/0: found \"example.net.\"; accepted: owners");
    help_bad(&help_apex, "{\"names\":[\"www.example.org\"]}", ERR_INPUT,
             "ends in the zone's name");
}

/* Of a very long input only a little is quoted. */
static void test_quoted_length(void **state)
{
    struct buf b;
    struct spec *s = NULL;
    struct err e = {0};

    (void)state;
    buf_init(&b, 1u << 16);
    buf_str(&b, "{\"");
    for (int i = 0; i < 3000; i++)
        buf_str(&b, "l\xc3\xb6ng");
    buf_str(&b, "\":{\"");
    for (int i = 0; i < 3000; i++)
        buf_str(&b, "\\n");
    buf_str(&b, "\":1}}");
    assert_int_equal(spec_parse_text(buf_get(&b), b.len, &help_www, &s, &e),
                     -1);
    assert_true(strlen(e.msg) < 300);
    buf_reset(&b);
    buf_str(&b, "{\"records\":[{\"data\":\"");
    for (int i = 0; i < 15000; i++)
        buf_str(&b, "\xf0\x9f\x98\x80");
    buf_str(&b, "\"}]}");
    assert_true(b.len < SPEC_TEXT_MAX);
    assert_int_equal(spec_parse_text(buf_get(&b), b.len, &help_www, &s, &e),
                     -1);
    assert_true(strlen(e.msg) < 300);
    assert_null(s);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_bad),
        cmocka_unit_test(test_object),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_periods),
        cmocka_unit_test(test_scalars_bad),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_cname),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_apex),
        cmocka_unit_test(test_apex_bad),
        cmocka_unit_test(test_quoted_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
