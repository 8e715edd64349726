#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine/checks/check_key.h"
#include "agent/engine/checks/checks.h"
#include "agent/engine/state/state_key.h"
#include "tests/unit/spec_help.h"

/* Which checks there are: equal ones are one. */

struct registry {
    struct state *state;
    struct checks *checks;
    struct spec_record here, there, name;
};

static void registry_init(struct registry *r)
{
    struct err e;

    memset(r, 0, sizeof *r);
    assert_int_equal(state_open(NULL, false, &r->state, &e), 0);
    r->checks = checks_new(r->state);
    r->here.type = r->there.type = SPEC_A;
    assert_int_equal(addr_parse("192.0.2.1", &r->here.addr), 0);
    assert_int_equal(addr_parse("192.0.2.2", &r->there.addr), 0);
    r->name.type = SPEC_CNAME;
    r->name.data = "web.example.net.";
}

static void registry_fini(struct registry *r)
{
    checks_free(r->checks);
    state_close(r->state);
}

static struct check *add(struct registry *r, const struct spec_check *c,
                         const struct spec_record *rec)
{
    return checks_add(r->checks, c, rec, state_now_ms());
}

static struct spec_check spec_of(uint16_t port, uint32_t need)
{
    struct spec_check c;

    memset(&c, 0, sizeof c);
    c.kind = SPEC_CHECK_TCP;
    c.port = port;
    c.timeout_ms = 2000;
    c.access_period_ms = 10000;
    c.retry_period_ms = 100;
    c.required_success = c.required_failure = need;
    c.verify = true;
    c.pointer = "/records/0/check";
    return c;
}

static void test_equal_checks_are_one(void **state)
{
    struct registry r;
    struct spec_check c = spec_of(443, 3);
    struct check *k;

    (void)state;
    registry_init(&r);
    k = add(&r, &c, &r.here);
    assert_ptr_equal(add(&r, &c, &r.here), k);
    assert_ptr_not_equal(add(&r, &c, &r.there), k);
    c.target = r.here.addr; /* named in the spec, wherever the record points */
    assert_ptr_equal(add(&r, &c, &r.there), k);
    c.required_failure = 2;
    assert_ptr_not_equal(add(&r, &c, &r.here), k);
    c = spec_of(443, 3);
    c.timeout_ms = 1000;
    assert_ptr_not_equal(add(&r, &c, &r.here), k);
    c = spec_of(444, 3);
    assert_ptr_not_equal(add(&r, &c, &r.here), k);
    assert_int_equal(checks_count(r.checks), 5);
    assert_ptr_equal(checks_at(r.checks, 0), k);
    assert_int_equal(k->id, 0);
    assert_int_equal(checks_targets(k)[0].port, 443);
    assert_int_equal(k->row->health.state, HEALTH_UNKNOWN);
    registry_fini(&r);
}

static bool same_probe(const struct check *a, const struct check *b)
{
    size_t na = 0, nb = 0;
    const char *ka = checks_probe_key(a, &na), *kb = checks_probe_key(b, &nb);

    return na == nb && memcmp(ka, kb, na) == 0;
}

/* Thresholds are a check's own; probes are shared by all that want the same.
 */
static void test_probe_keys(void **state)
{
    struct registry r;
    struct spec_check a = spec_of(443, 3), b = spec_of(443, 2), c = a;
    const struct check *ka, *kb, *kc;

    (void)state;
    registry_init(&r);
    ka = add(&r, &a, &r.here);
    kb = add(&r, &b, &r.here);
    assert_ptr_not_equal(ka, kb);
    assert_true(same_probe(ka, kb));
    assert_string_not_equal(ka->row->key, kb->row->key);
    c.timeout_ms = 1000;
    kc = add(&r, &c, &r.here);
    assert_false(same_probe(ka, kc));
    registry_fini(&r);
}

static void expect_modern(const char *old, const char *want)
{
    char *modern = state_key_modern(old);

    if (want == NULL)
        assert_null(modern);
    else
        assert_string_equal(modern, want);
    free(modern);
}

/* As people read them in the file; what it has from older versions is not
 * lost. */
static void test_keys_are_read(void **state)
{
    struct registry r;
    struct spec_check c = spec_of(443, 2);
    const struct check *k;

    (void)state;
    registry_init(&r);
    c.timeout_ms = 1500;
    c.required_success = 3;
    c.repeat_timeout = true;
    k = add(&r, &c, &r.here);
    assert_string_equal(k->row->key, "tcp 192.0.2.1:443 1500ms+ 3/2");
    expect_modern("tcp 192.0.2.1:443 unverified=1 timeout=1500 repeat "
                  "success=3 failure=2",
                  k->row->key);
    expect_modern("https 192.0.2.1:443 path=/ unverified=1 method=GET "
                  "timeout=1500 success=3 failure=3",
                  "https 192.0.2.1:443 path=/ unverified=1 method=GET 1500ms "
                  "3/3");
    expect_modern("|udp 192.0.2.1:53 send= timeout=1 timeout=3000 success=1 "
                  "failure=1",
                  "|udp 192.0.2.1:53 send= timeout=1 3s 1/1");
    expect_modern(k->row->key, NULL);
    expect_modern("udp 192.0.2.1:53 send= timeout=3000 success=1 failure=1 1s "
                  "3/3",
                  NULL);
    expect_modern("udp 192.0.2.1:53 timeout=x success=1 failure=1", NULL);
    expect_modern("udp 192.0.2.1:53 timeout=3000 success=1", NULL);
    expect_modern("udp 192.0.2.1:53 timeout=3000", NULL);
    expect_modern("", NULL);
    registry_fini(&r);
}

/* Whatever the parser can tell apart is another check. */
static void test_parameters(void **state)
{
    static const char *const objects[] = {
        "\"tcp:80\"",
        "\"tls:80\"",
        "\"http:80/\"",
        "\"http:80/a\"",
        "\"https:80/a\"",
        "\"http://www.example.org:80/a\"",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\",\"method\":\"HEAD\"}",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\",\"status\":[200]}",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\",\"status\":\"200\","
        "\"body\":\"x\"}",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\",\"status\":\"200\","
        "\"bodyMatch\":\"x\"}",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\","
        "\"json\":{\"/s\":\"x\"}}",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\","
        "\"headers\":{\"x-s\":\"x\"}}",
        "{\"type\":\"http\",\"port\":80,\"path\":\"/a\","
        "\"followRedirects\":1}",
        "{\"type\":\"tls\",\"port\":80,\"minCertDays\":7}",
        "{\"type\":\"tls\",\"port\":80,\"verify\":false}",
        "{\"type\":\"tls\",\"port\":80,\"serverName\":\"a.example\"}",
        "\"icmp\"",
        "\"udp:80\"",
        "\"dns:80/example.org/A\"",
        "\"dns:80/example.org/AAAA\"",
        "\"smtp:80\"",
        "\"grpc:80/a\"",
        "\"grpc:80/b\"",
        "\"command:a\"",
        "\"command:b\"",
        "{\"type\":\"tcp\",\"port\":80,\"need\":1,"
        "\"targets\":[\"192.0.2.1\",\"192.0.2.2\"]}",
        "{\"type\":\"tcp\",\"port\":80,\"need\":2,"
        "\"targets\":[\"192.0.2.1\",\"192.0.2.2\"]}",
    };
    enum { N = sizeof objects / sizeof objects[0] };
    struct spec *specs[N];
    struct registry r;

    (void)state;
    registry_init(&r);
    for (size_t i = 0; i < N; i++) {
        char *text =
            mem_printf("{\"records\":[{\"data\":\"192.0.2.1\",\"check\":%s}]}",
                       objects[i]);

        specs[i] = help_good(&help_www, text);
        (void)add(&r, &specs[i]->checks[0], &specs[i]->sets[0].records[0]);
        if (checks_count(r.checks) != i + 1)
            fail_msg("%s is taken for another check", objects[i]);
        (void)add(&r, &specs[i]->checks[0], &specs[i]->sets[0].records[0]);
        assert_int_equal(checks_count(r.checks), i + 1);
        free(text);
    }
    registry_fini(&r);
    for (size_t i = 0; i < N; i++)
        spec_free(specs[i]);
}

/* A CNAME's check asks for addresses at each probe. */
static void test_by_name(void **state)
{
    struct registry r;
    struct spec_check c = spec_of(443, 3);
    struct check *k;
    char text[80];

    (void)state;
    registry_init(&r);
    k = add(&r, &c, &r.name);
    assert_string_equal(checks_host(k), "web.example.net.");
    assert_int_equal(k->ntargets, 0);
    assert_int_equal(k->need, 1);
    assert_string_equal(checks_where(k, text, sizeof text), "web.example.net.");
    assert_string_equal(checks_text(k, text, sizeof text), "tcp:443");
    c.target = r.here.addr; /* but not one with a target of its own */
    k = add(&r, &c, &r.name);
    assert_null(checks_host(k));
    assert_string_equal(checks_where(k, text, sizeof text), "192.0.2.1");
    registry_fini(&r);
}

static void test_where(void **state)
{
    struct registry r;
    struct spec_check c = spec_of(443, 3);
    struct addr targets[2];
    struct check *k;
    char text[80];

    (void)state;
    registry_init(&r);
    targets[0] = r.here.addr;
    targets[1] = r.there.addr;
    c.targets = targets;
    c.ntargets = 2;
    c.need = 1;
    k = add(&r, &c, NULL);
    assert_int_equal(k->ntargets, 2);
    assert_string_equal(checks_where(k, text, sizeof text), "1 of 2 targets");
    registry_fini(&r);
}

/* The state of a check outlives the registry, and is aged when it is met
 * again. */
static void test_state_is_kept(void **state)
{
    const int64_t day_ms = 24 * 3600 * 1000LL;
    struct registry r;
    struct spec_check c = spec_of(443, 3);
    struct check *k;

    (void)state;
    registry_init(&r);
    k = checks_add(r.checks, &c, &r.here, 1000);
    assert_false(checks_any_up(r.checks));
    k->row->health = (struct health){HEALTH_UP, true, true, 2, 900, 1000};
    assert_true(checks_any_up(r.checks));
    checks_free(r.checks);
    r.checks = checks_new(r.state);
    assert_false(checks_any_up(r.checks)); /* of those that are asked for */
    k = checks_add(r.checks, &c, &r.here, 2000);
    assert_int_equal(k->row->health.state, HEALTH_UP);
    assert_int_equal(k->row->health.streak, 2);
    checks_free(r.checks);
    r.checks = checks_new(r.state);
    k = checks_add(r.checks, &c, &r.here, 1001 + day_ms);
    assert_int_equal(k->row->health.state, HEALTH_UNKNOWN);
    assert_int_equal(k->row->health.streak, 0);
    assert_true(k->row->health.ever_up);
    registry_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_checks_are_one),
        cmocka_unit_test(test_probe_keys),
        cmocka_unit_test(test_keys_are_read),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_state_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
