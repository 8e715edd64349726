#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine/world/when.h"

/* How soon a truth could change. The clock stands at 1,000,000 ms; every
 * check is asked each 10 s, each 1 s while results differ, was asked 4 s ago
 * for the last time, and needs 3 results. */

#define NOW_MS 1000000
#define LAST_MS (NOW_MS - 4000)
#define NEXT_MS (LAST_MS + 10000)

struct wh {
    struct arena *arena;
    struct state *state;
    struct checks *checks;
    struct spec *spec;
    struct when_env env;
};

static void on_refused(void *arg, const char *where, const struct err *e)
{
    (void)arg;
    fail_msg("%s: %s", where, e->msg);
}

static void on_conflict(void *arg, const char *text)
{
    (void)arg;
    fail_msg("%s", text);
}

static void on_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    fail_msg("%s %s", name, data);
}

/* ups: the checks' ports that are up; the others are down; both settled, and
 * both were up once. */
static void set_check(struct check *k, const char *ups)
{
    struct health *h = &k->row->health;
    char port[16];

    (void)snprintf(port, sizeof port, "%u ", k->spec->port);
    h->state = strstr(ups, port) != NULL ? HEALTH_UP : HEALTH_DOWN;
    h->last_ok = h->state == HEALTH_UP;
    h->ever_up = true;
    h->streak = 5;
    h->since_ms = LAST_MS - 60000;
    h->last_ms = LAST_MS;
}

/* members: of the object form, beside defaults. */
static void wh_open(struct wh *h, const char *members, const char *ups)
{
    static const struct spec_context ctx = {.owner = "www.example.org.",
                                            .zone = "example.org."};
    static const struct world_events ev = {on_refused, on_conflict,
                                           on_opted_out, NULL};
    char *text = mem_printf("{\"defaults\":{\"accessPeriod\":10,"
                            "\"retryPeriod\":1},%s}",
                            members);
    const struct spec *specs[1];
    struct err e;

    memset(h, 0, sizeof *h);
    h->arena = arena_new();
    assert_int_equal(state_open(NULL, false, &h->state, &e), 0);
    h->checks = checks_new(h->state);
    if (spec_parse_text(text, strlen(text), &ctx, &h->spec, &e) != 0)
        fail_msg("%s", e.msg);
    free(text);
    specs[0] = h->spec;
    h->env.w = world_new(h->arena, "example.org.", specs, 1, h->state,
                         h->checks, NULL, NULL, "here", NOW_MS, &ev);
    h->env.now_ms = NOW_MS;
    for (size_t i = 0; i < checks_count(h->checks); i++)
        set_check(checks_at(h->checks, i), ups);
    (void)world_judge(h->env.w, NOW_MS);
}

static void wh_close(struct wh *h)
{
    world_free(h->env.w);
    spec_free(h->spec);
    checks_free(h->checks);
    state_close(h->state);
    arena_free(h->arena);
}

static struct check *wh_check(const struct wh *h, unsigned port)
{
    for (size_t i = 0; i < checks_count(h->checks); i++)
        if (checks_at(h->checks, i)->spec->port == port)
            return checks_at(h->checks, i);
    fail_msg("no check at port %u", port);
    return NULL;
}

static struct when wh_record(const struct wh *h, bool want)
{
    return when_record(&h->env, &h->spec->sets[0].records[0], 0, want);
}

/* --- checks --------------------------------------------------------------- */

#define ONE "\"records\":[{\"data\":\"192.0.2.1\",\"check\":80}]"

static void expect(struct when t, int64_t at_ms, uint32_t missing, int line)
{
    if (t.at_ms != at_ms || t.missing != missing)
        fail_msg("line %d: at %lld, %u missing; wanted %lld, %u", line,
                 (long long)t.at_ms, t.missing, (long long)at_ms, missing);
}
#define EXPECT(t, at_ms, missing) expect(t, at_ms, missing, __LINE__)

static void test_settled(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, ONE, "80 ");
    EXPECT(when_check(&h.env, wh_check(&h, 80), true), 0, 0);
    EXPECT(when_check(&h.env, wh_check(&h, 80), false), NEXT_MS + 2000, 3);
    EXPECT(wh_record(&h, false), NEXT_MS + 2000, 3);
    assert_ptr_equal(wh_record(&h, false).check, wh_check(&h, 80));
    wh_close(&h);
    wh_open(&h, ONE, "");
    EXPECT(when_check(&h.env, wh_check(&h, 80), false), 0, 0);
    EXPECT(wh_record(&h, true), NEXT_MS + 2000, 3);
    EXPECT(when_check(&h.env, NULL, true), WHEN_NEVER, 0);
    wh_close(&h);
}

static void test_in_transition(void **state)
{
    struct health *k;
    struct wh h;

    (void)state;
    wh_open(&h, ONE, "80 ");
    k = &wh_check(&h, 80)->row->health;
    k->last_ok = false;
    k->streak = 2;
    k->last_ms = NOW_MS - 200;
    EXPECT(wh_record(&h, false), NOW_MS + 800, 1);
    k->streak = 1;
    EXPECT(wh_record(&h, false), NOW_MS + 1800, 2);
    k->last_ms = NOW_MS - 5000; /* overdue: now */
    EXPECT(wh_record(&h, false), NOW_MS + 1000, 2);
    h.env.cron_ms = 60000;
    EXPECT(wh_record(&h, false), NOW_MS - 5000 + 60000 + 1000, 2);
    wh_close(&h);
}

static void test_unknown(void **state)
{
    struct health *k;
    struct wh h;

    (void)state;
    wh_open(&h, ONE, "");
    k = &wh_check(&h, 80)->row->health;
    memset(k, 0, sizeof *k);
    EXPECT(wh_record(&h, true), NOW_MS + 2000, 3);
    EXPECT(wh_record(&h, false), NOW_MS + 2000, 3);
    wh_close(&h);
}

static void test_cron(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, ONE, "80 ");
    h.env.cron_ms = 60000;
    EXPECT(wh_record(&h, false), LAST_MS + 60000 + 2000, 3);
    wh_close(&h);
}

/* --- conditions ------------------------------------------------------------
 */

#define CHECKS                                                                 \
    "\"checks\":{\"a\":\"tcp:1@192.0.2.9\",\"b\":\"tcp:2@192.0.2.9\","         \
    "\"c\":\"tcp:3@192.0.2.9\"},"
#define IF(cond) CHECKS "\"records\":[{\"data\":\"192.0.2.1\",\"if\":" cond "}]"

/* The check at port comes later than the others. */
static void delay(const struct wh *h, unsigned port, int64_t ms)
{
    wh_check(h, port)->row->health.last_ms += ms;
}

#define SOON (NEXT_MS + 2000)
#define LATE (NEXT_MS + 2000 + 500)

static void test_and(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, IF("[[\"a\",\"b\"]]"), "");
    delay(&h, 2, 500);
    EXPECT(wh_record(&h, true), LATE, 3);
    EXPECT(wh_record(&h, false), 0, 0);
    wh_close(&h);
    wh_open(&h, IF("[[\"a\",\"b\"]]"), "1 2 ");
    delay(&h, 2, 500);
    EXPECT(wh_record(&h, false), SOON, 3);
    wh_close(&h);
    wh_open(&h, IF("[[\"a\",\"b\"]]"), "1 ");
    delay(&h, 2, 500);
    EXPECT(wh_record(&h, true), LATE, 3); /* b alone is missing */
    assert_int_equal(wh_record(&h, true).check->spec->port, 2);
    wh_close(&h);
}

static void test_or(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, IF("[[\"a\"],[\"b\"]]"), "");
    delay(&h, 1, 500);
    EXPECT(wh_record(&h, true), SOON, 3);
    wh_close(&h);
    wh_open(&h, IF("[[\"a\"],[\"b\"]]"), "1 2 ");
    delay(&h, 1, 500);
    EXPECT(wh_record(&h, false), LATE, 3);
    wh_close(&h);
}

static void test_not(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, IF("\"!a\""), "1 ");
    EXPECT(wh_record(&h, false), 0, 0);
    EXPECT(wh_record(&h, true), SOON, 3);
    wh_close(&h);
}

static void test_need(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, IF("{\"need\":2,\"of\":[\"a\",\"b\",\"c\"]}"), "1 ");
    delay(&h, 2, 500);
    EXPECT(wh_record(&h, true), SOON, 3); /* a is up, c comes first */
    wh_close(&h);
    wh_open(&h, IF("{\"need\":2,\"of\":[\"a\",\"b\",\"c\"]}"), "1 2 3 ");
    delay(&h, 2, 500);
    EXPECT(wh_record(&h, false), SOON, 3); /* two of three must go */
    delay(&h, 3, 500);
    EXPECT(wh_record(&h, false), LATE, 3);
    wh_close(&h);
}

/* A check that was never up makes no condition false. */
static void test_never_up(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, IF("\"!a\""), "");
    wh_check(&h, 1)->row->health.ever_up = false;
    EXPECT(wh_record(&h, true), WHEN_NEVER, 0);
    EXPECT(wh_record(&h, false), SOON, 3);
    wh_close(&h);
}

static void test_scenario(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h,
            CHECKS "\"scenarios\":{\"s\":[[\"a\",\"!b\"]]},"
                   "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"!s\"}]",
            "1 ");
    EXPECT(wh_record(&h, true), SOON, 3);
    EXPECT(wh_record(&h, false), 0, 0);
    wh_close(&h);
}

/* --- data centres -----------------------------------------------------------
 */

#define DC(members)                                                            \
    "\"dcs\":{\"d\":{\"wanAccess\":[\"tcp:1@192.0.2.8\"],"                     \
    "\"lanAccess\":[\"tcp:2@192.0.2.8\",\"tcp:3@192.0.2.8\"]" members "}},"    \
    "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"}]"

static void test_dc(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, DC(""), "1 2 3 ");
    EXPECT(wh_record(&h, true), 0, 0);
    EXPECT(when_dc(&h.env, 0, false), SOON, 3);
    assert_int_equal(when_dc(&h.env, 0, false).check->spec->port, 1);
    wh_close(&h);
    wh_open(&h, DC(""), "");
    EXPECT(when_dc(&h.env, 0, true), SOON, 3);
    EXPECT(when_dc(&h.env, 0, false), 0, 0);
    wh_close(&h);
}

/* Both targets of the LAN must fail; the first that comes is enough. */
static void test_dc_needs(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, DC(",\"needs\":[\"lanAccess\"]"), "1 2 3 ");
    delay(&h, 1, 1000);
    delay(&h, 2, 500);
    EXPECT(when_dc(&h.env, 0, false), LATE, 3);
    wh_close(&h);
    wh_open(&h, DC(",\"needs\":[\"lanAccess\"]"), "1 ");
    delay(&h, 2, 500);
    EXPECT(when_dc(&h.env, 0, true), SOON, 3);
    wh_close(&h);
}

static void test_dc_maintenance(void **state)
{
    struct wh h;

    (void)state;
    wh_open(&h, DC(""), "1 2 3 ");
    state_override_set(h.state, "maintenance", "example.org.", "d",
                       NOW_MS + 7000, "alice");
    /* The world asks the real clock. */
    h.env.w->specs[0].dcs[0].maintenance = true;
    EXPECT(when_dc(&h.env, 0, true), NOW_MS + 7000, 0);
    EXPECT(when_dc(&h.env, 0, false), 0, 0);
    state_override_set(h.state, "maintenance", "*", "d", 0, "alice");
    EXPECT(when_dc(&h.env, 0, true), WHEN_NEVER, 0);
    wh_close(&h);
    wh_open(&h, DC(",\"maintenanceMode\":true"), "1 2 3 ");
    EXPECT(when_dc(&h.env, 0, true), WHEN_NEVER, 0);
    wh_close(&h);
}

static struct when wh_if(const char *cond, const char *ups, bool want)
{
    struct wh h;
    struct when t;
    char *members =
        mem_printf("\"dcs\":{\"d\":{\"wanAccess\":[\"tcp:1@192.0.2.8\"],"
                   "\"lanAccess\":[\"tcp:2@192.0.2.8\"]}},"
                   "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"%s\"}]",
                   cond);

    wh_open(&h, members, ups);
    t = wh_record(&h, want);
    t.check = NULL;
    wh_close(&h);
    free(members);
    return t;
}

static void test_dc_states(void **state)
{
    (void)state;
    EXPECT(wh_if("d.noWan", "1 2 ", true), SOON, 3);
    EXPECT(wh_if("d.noWan", "2 ", false), SOON, 3);
    EXPECT(wh_if("d.noLan", "1 2 ", true), SOON, 3);
    EXPECT(wh_if("d.noAccess", "2 ", true), SOON, 3);
    EXPECT(wh_if("d.noAccess", "", false), SOON, 3);
    EXPECT(wh_if("d.noInternet", "1 2 ", true), WHEN_NEVER, 0);
    EXPECT(wh_if("d.ok", "1 2 ", false), SOON, 3);
    EXPECT(wh_if("d.ok", "", true), SOON, 3);
    EXPECT(wh_if("auto|d|wanAccess", "", true), SOON, 3);
    EXPECT(wh_if("!auto|d|lanAccess", "2 ", true), SOON, 3);
    EXPECT(wh_if("auto|d|maintenanceMode", "", true), WHEN_NEVER, 0);
    EXPECT(wh_if("!auto|d|maintenanceMode", "", true), 0, 0);
}

/* --- the brake
 * ---------------------------------------------------------------- */

static void test_brake(void **state)
{
    struct plan_value *v;
    struct plan_set *set;
    struct wh h;

    (void)state;
    wh_open(&h, ONE, "");
    set = &h.env.w->plan.sets[0];
    v = &set->values[0];
    v->published = true;
    v->need_failure = 3;
    v->access_period_ms = 10000;
    v->fail_streak = 4;
    v->memory->brake_streak = 3;
    set->memory->brake_since_ms = NOW_MS - 2000;
    assert_int_equal(when_brake(&h.env, set), NOW_MS + 20000);
    v->fail_streak = 6; /* often enough: the period is left */
    assert_int_equal(when_brake(&h.env, set), NOW_MS + 8000);
    set->memory->brake_since_ms = NOW_MS - 20000;
    assert_int_equal(when_brake(&h.env, set), NOW_MS);
    v->fail_streak = 1; /* began anew */
    assert_int_equal(when_brake(&h.env, set), NOW_MS + 20000);
    wh_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_in_transition),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_cron),
        cmocka_unit_test(test_and),
        cmocka_unit_test(test_or),
        cmocka_unit_test(test_not),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_never_up),
        cmocka_unit_test(test_scenario),
        cmocka_unit_test(test_dc),
        cmocka_unit_test(test_dc_needs),
        cmocka_unit_test(test_dc_maintenance),
        cmocka_unit_test(test_dc_states),
        cmocka_unit_test(test_brake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
