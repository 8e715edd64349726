#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine/world/world.h"
#include "tests/unit/spec_help.h"

/* A zone as the engine sees it: who depends on what, twins, what left the
 * spec, the operator's overrides. */

#define MOST 4

struct room {
    struct spec *specs[MOST];
    size_t n;
    struct state *state;
    struct checks *checks;
    struct arena *arena;
    struct world *world;
    size_t refused, conflicts, opted_out;
    char told[1200];                 /* the last of them */
    const struct world_views *views; /* NULL: all */
};

static void on_refused(void *arg, const char *where, const struct err *e)
{
    struct room *r = arg;

    r->refused++;
    (void)snprintf(r->told, sizeof r->told, "%s: %s", where, e->msg);
}

static void on_conflict(void *arg, const char *text)
{
    struct room *r = arg;

    r->conflicts++;
    (void)snprintf(r->told, sizeof r->told, "%s", text);
}

static void on_opted_out(void *arg, const char *name, const char *data)
{
    struct room *r = arg;

    r->opted_out++;
    (void)snprintf(r->told, sizeof r->told, "%s %s", name, data);
}

static void room_open(struct room *r)
{
    struct err e;

    memset(r, 0, sizeof *r);
    assert_int_equal(state_open(NULL, false, &r->state, &e), 0);
}

static void room_spec(struct room *r, const char *owner, const char *text)
{
    const struct spec_context ctx = {.owner = owner, .zone = "example.org."};

    r->specs[r->n++] = help_good(&ctx, text);
}

static void room_build(struct room *r, const struct probe_limits *limits)
{
    const struct world_events ev = {on_refused, on_conflict, on_opted_out, r};
    const struct spec **specs;

    r->arena = arena_new();
    r->checks = checks_new(r->state);
    specs = arena_array(r->arena, r->n, sizeof *specs);
    for (size_t i = 0; i < r->n; i++)
        specs[i] = r->specs[i];
    r->world = world_new(r->arena, "example.org.", specs, r->n, r->state,
                         r->checks, limits, r->views, NULL, 1000, &ev);
}

static void room_drop(struct room *r)
{
    if (r->world != NULL)
        world_save(r->world);
    world_free(r->world);
    checks_free(r->checks);
    arena_free(r->arena);
    r->world = NULL;
    r->checks = NULL;
    r->arena = NULL;
    for (size_t i = 0; i < r->n; i++)
        spec_free(r->specs[i]);
    r->n = 0;
}

static void room_close(struct room *r)
{
    room_drop(r);
    state_close(r->state);
}

static void set_check(struct room *r, size_t id, enum health_state s)
{
    struct check *c = checks_at(r->checks, id);

    c->row->health = (struct health){.state = s,
                                     .ever_up = true,
                                     .last_ok = s == HEALTH_UP,
                                     .streak = 3,
                                     .since_ms = 1000,
                                     .last_ms = 1000};
    world_touch(r->world, c);
}

/* --- cost --------------------------------------------------------------------
 */

/* One check changed: what depends on it is judged, nothing else. */
static void test_dependents(void **state)
{
    struct room r;
    char owner[3][32], text[200];
    size_t shared;

    (void)state;
    room_open(&r);
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(owner[i], sizeof owner[i], "n%u.example.org.", i);
        (void)snprintf(text, sizeof text,
                       "{\"records\":[{\"data\":\"192.0.2.%u\",\"check\":80},"
                       "{\"data\":\"192.0.2.9\",\"check\":%u}]}",
                       i + 1, i < 2 ? 443 : 444);
        room_spec(&r, owner[i], text);
    }
    room_build(&r, NULL);
    assert_int_equal(checks_count(r.checks), 5);
    assert_int_equal(world_judge(r.world, 1000), 3); /* at first, all */
    assert_int_equal(r.world->njudged, 3);
    world_clear_judged(r.world);
    assert_int_equal(world_judge(r.world, 1000), 0);
    assert_int_equal(r.world->njudged, 0);
    for (size_t i = 0; i < 5; i++) {
        const struct check *c = checks_at(r.checks, i);

        shared = checks_targets(c)[0].port == 443 ? 2 : 1;
        world_touch(r.world, c);
        world_touch(r.world, c); /* twice is once */
        assert_int_equal(world_judge(r.world, 1000), shared);
        assert_int_equal(r.world->njudged, shared);
        world_clear_judged(r.world);
    }
    world_touch_all(r.world);
    assert_int_equal(world_judge(r.world, 1000), 3);
    room_close(&r);
}

static void test_health_reaches_values(void **state)
{
    struct room r;
    const struct plan_set *ps;

    (void)state;
    room_open(&r);
    room_spec(&r, "www.example.org.",
              "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":80,\"ttl\":60},"
              "{\"data\":\"192.0.2.2\",\"check\":80,\"drIfNoRecords\":true,"
              "\"returnAfter\":\"1m\",\"return\":\"manual\"}],"
              "\"fallbackRecords\":[{\"data\":\"192.0.2.3\"}],"
              "\"order\":\"priority\",\"take\":2,\"allDown\":\"none\","
              "\"damping\":false}");
    room_build(&r, NULL);
    set_check(&r, 0, HEALTH_UP);
    set_check(&r, 1, HEALTH_DOWN);
    assert_int_equal(world_judge(r.world, 2000), 1);
    assert_int_equal(r.world->plan.nsets, 1);
    ps = &r.world->plan.sets[0];
    assert_string_equal(ps->name, "www.example.org.");
    assert_int_equal(ps->order, SPEC_PRIORITY);
    assert_int_equal(ps->take, 2);
    assert_int_equal(ps->all_down, SPEC_NONE);
    assert_false(ps->damping);
    assert_int_equal(ps->nvalues, 3);
    assert_int_equal(ps->values[0].healthy, TRI_TRUE);
    assert_int_equal(ps->values[0].ttl_s, 60);
    assert_int_equal(ps->values[1].healthy, TRI_FALSE);
    assert_int_equal(ps->values[1].class, DECIDE_DR);
    assert_true(ps->values[1].dr_if_no_records);
    assert_int_equal(ps->values[1].return_after_ms, 60000);
    assert_true(ps->values[1].return_manual);
    assert_int_equal(ps->values[1].fail_streak, 3);
    assert_true(ps->values[2].fallback);
    assert_int_equal(ps->values[2].healthy, TRI_TRUE);
    room_close(&r);
}

/* --- views
 * -------------------------------------------------------------------- */

static void expect_set(const struct world *w, size_t i, const char *type,
                       const char *label, size_t audience, const char *data)
{
    assert_string_equal(
        strrchr(state_set_of(w->plan.sets[i].memory)->key, '|') + 1, type);
    assert_string_equal(w->sets[i].label, label);
    assert_int_equal(w->plan.sets[i].audience, audience);
    assert_string_equal(w->plan.sets[i].values[0].data, data);
}

static const char views_spec[] =
    "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":80,\"view\":\"eu\"},"
    "{\"data\":\"192.0.2.2\",\"check\":80},"
    "{\"data\":\"2001:db8::1\",\"check\":80,\"view\":\"asia\"}]}";

/* A record without view stands in each that the spec leaves out. */
static void test_views(void **state)
{
    static const char *const names[] = {"eu", "us"};
    const struct world_views views = {names, 2};
    struct room r;

    (void)state;
    room_open(&r);
    r.views = &views;
    room_spec(&r, "www.example.org.", views_spec);
    room_build(&r, NULL);
    assert_int_equal(r.world->plan.nsets, 4);
    expect_set(r.world, 0, "A", "A", 0, "192.0.2.2");
    expect_set(r.world, 1, "A eu", "A view eu", 1, "192.0.2.1");
    expect_set(r.world, 2, "A us", "A view us", 2, "192.0.2.2");
    expect_set(r.world, 3, "AAAA asia", "AAAA view asia", 0, "2001:db8::1");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(r.world->plan.sets[i].unmapped, i == 3);
    for (size_t i = 0; i < checks_count(r.checks); i++)
        set_check(&r, i, HEALTH_DOWN);
    assert_int_equal(world_judge(r.world, 2000), 1);
    assert_int_equal(r.world->plan.sets[0].values[0].healthy, TRI_FALSE);
    assert_int_equal(r.world->plan.sets[2].values[0].healthy, TRI_FALSE);
    room_close(&r);
}

static struct state_set *row_of(const struct room *r, size_t set)
{
    return state_set_of(r->world->plan.sets[set].memory);
}

/* What is remembered of one view is not another's, and the keys of sets
 * without view are as they always were. */
static void test_views_are_remembered_apart(void **state)
{
    static const char *const names[] = {"eu", "us"};
    const struct world_views views = {names, 2};
    struct room r;

    (void)state;
    room_open(&r);
    r.views = &views;
    room_spec(&r, "www.example.org.", views_spec);
    room_build(&r, NULL);
    assert_string_equal(row_of(&r, 0)->key, "example.org.|www.example.org.|A");
    assert_string_equal(row_of(&r, 0)->values->data, "192.0.2.2");
    assert_string_equal(row_of(&r, 2)->key,
                        "example.org.|www.example.org.|A us");
    assert_string_equal(row_of(&r, 2)->values->data, "192.0.2.2");
    row_of(&r, 2)->values->memory.expected = true;
    row_of(&r, 2)->values->memory.seen = true;
    room_drop(&r);
    room_spec(&r, "www.example.org.", views_spec);
    room_build(&r, NULL);
    assert_false(row_of(&r, 0)->values->memory.seen);
    assert_true(row_of(&r, 2)->values->memory.seen);
    assert_true(r.world->plan.sets[2].values[0].published);
    assert_false(r.world->plan.sets[0].values[0].published);
    room_close(&r);
}

/* --- values
 * -------------------------------------------------------------------
 */

static void test_twins(void **state)
{
    struct room r;
    const struct plan_set *ps;

    (void)state;
    room_open(&r);
    room_spec(&r, "www.example.org.",
              "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":80},"
              "{\"data\":\"192.0.2.2\"}],"
              "\"fallbackRecords\":[{\"data\":\"192.0.2.2\"},"
              "{\"data\":\"192.0.2.1\"}]}");
    room_build(&r, NULL);
    ps = &r.world->plan.sets[0];
    assert_int_equal(ps->nvalues, 4);
    assert_int_equal(ps->values[0].twin, 0);
    assert_int_equal(ps->values[1].twin, 0);
    assert_int_equal(ps->values[2].twin, 2);
    assert_int_equal(ps->values[3].twin, 1);
    assert_ptr_equal(ps->values[3].memory, ps->values[0].memory);
    room_close(&r);
}

/* What left the spec: opted out; what the agent had made stays a value of the
 * set, dropped, until another one is published. */
static void test_dropped(void **state)
{
    struct room r;
    const struct plan_set *ps;

    (void)state;
    room_open(&r);
    room_spec(&r, "www.example.org.",
              "{\"records\":[{\"data\":\"192.0.2.1\"},{\"data\":\"192.0.2.2\"},"
              "{\"data\":\"192.0.2.3\"},{\"data\":\"2001:db8::1\"}]}");
    room_build(&r, NULL);
    r.world->plan.sets[0].values[0].memory->created = true;
    r.world->plan.sets[0].values[0].memory->expected = true;
    r.world->plan.sets[0].values[1].memory->withdrawn = true;
    room_drop(&r);
    room_spec(&r, "www.example.org.",
              "{\"records\":[{\"data\":\"192.0.2.3\"}]}");
    room_build(&r, NULL);
    assert_int_equal(r.opted_out, 1);
    assert_string_equal(r.told, "www.example.org. 192.0.2.2");
    assert_int_equal(r.world->plan.nsets, 1);
    ps = &r.world->plan.sets[0];
    assert_int_equal(ps->nvalues, 2);
    assert_string_equal(ps->values[1].data, "192.0.2.1");
    assert_true(ps->values[1].dropped);
    assert_true(ps->values[1].published);
    assert_null(r.world->sets[0].values[1].record);
    assert_int_equal(world_judge(r.world, 1000), 1);
    assert_string_equal(world_note(r.world, &r.world->sets[0], 1), "");
    room_close(&r);
}

/* Two owners, one set: one of them speaks, the other has no effect. */
static void test_conflict(void **state)
{
    const struct spec_context ctx = {
        .owner = "a.example.org.", .zone = "example.org.", .cross_names = true};
    struct room r;

    (void)state;
    room_open(&r);
    r.specs[r.n++] = help_good(
        &ctx, "{\"records\":[{\"name\":\"www\",\"data\":\"192.0.2.1\"}]}");
    room_spec(&r, "www.example.org.",
              "{\"records\":[{\"data\":\"192.0.2.2\"}]}");
    room_build(&r, NULL);
    assert_int_equal(r.conflicts, 1);
    assert_int_equal(r.world->plan.nsets, 1);
    assert_string_equal(r.world->plan.sets[0].values[0].data, "192.0.2.2");
    assert_int_equal(world_judge(r.world, 1000), 2);
    room_close(&r);
}

/* A target that the limits refuse has no verdict, and is told. */
static void test_refused(void **state)
{
    const struct probe_limits none = {NULL, 0};
    struct room r;

    (void)state;
    room_open(&r);
    room_spec(&r, "www.example.org.",
              "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":80},"
              "{\"data\":\"192.0.2.2\",\"check\":\"tcp:80@127.0.0.1\"}]}");
    room_build(&r, &none);
    assert_true(r.refused >= 1);
    assert_non_null(strstr(r.told, "127.0.0.1"));
    assert_int_equal(world_judge(r.world, 1000), 1);
    assert_int_equal(r.world->plan.sets[0].values[1].healthy, TRI_UNKNOWN);
    room_close(&r);
}

/* --- the operator
 * ---------------------------------------------------------------
 */

static void test_maintenance(void **state)
{
    static const char *const zones[] = {"example.org.", "*"};
    struct room r;
    const struct plan_value *v;

    (void)state;
    room_open(&r);
    room_spec(&r, "www.example.org.",
              "{\"dcs\":{\"d1\":{},\"d2\":{}},\"records\":["
              "{\"data\":\"192.0.2.1\",\"dc\":\"d1\"},"
              "{\"data\":\"192.0.2.2\",\"dc\":\"d2\"}]}");
    room_build(&r, NULL);
    v = r.world->plan.sets[0].values;
    for (size_t i = 0; i < 2; i++) {
        state_override_set(r.state, "maintenance", zones[i], "d1", 5000, "me");
        state_override_set(r.state, "maintenance", "example.com.", "d2", 0,
                           "me");
        world_touch_all(r.world);
        (void)world_judge(r.world, 4999);
        assert_true(v[0].maintenance);
        assert_int_equal(v[0].healthy, TRI_FALSE);
        assert_false(v[1].maintenance);
        assert_string_equal(world_note(r.world, &r.world->sets[0], 0),
                            "its data centre is in maintenance");
        world_touch_all(r.world);
        (void)world_judge(r.world, 5000); /* over */
        assert_false(v[0].maintenance);
        assert_int_equal(v[0].healthy, TRI_TRUE);
    }
    room_close(&r);
}

static void test_freezes(void **state)
{
    static const char *const rows[][2] = {
        {"*", "*"}, {"example.org.", "*"}, {"example.org.", "a.example.org."}};
    struct room r;

    (void)state;
    room_open(&r);
    room_spec(&r, "a.example.org.", "{\"records\":[{\"data\":\"192.0.2.1\"}]}");
    room_spec(&r, "b.example.org.", "{\"records\":[{\"data\":\"192.0.2.1\"}]}");
    room_build(&r, NULL);
    for (size_t i = 0; i < 3; i++) {
        state_override_set(r.state, "freeze", rows[i][0], rows[i][1], 0, "me");
        world_apply_freezes(r.world, 2000);
        assert_true(r.world->plan.sets[0].frozen);
        assert_int_equal(r.world->plan.sets[1].frozen, i < 2);
        assert_true(state_override_clear(r.state, "freeze", rows[i][0],
                                         rows[i][1], 2000));
        world_apply_freezes(r.world, 2000);
        assert_false(r.world->plan.sets[0].frozen);
    }
    state_override_set(r.state, "freeze", "example.com.", "*", 0, "me");
    world_apply_freezes(r.world, 2000);
    assert_false(r.world->plan.sets[0].frozen);
    room_close(&r);
}

/* What judge remembers goes through the state. */
static void test_memory(void **state)
{
    static const char *const text =
        "{\"checks\":{\"c\":\"tcp:1@192.0.2.9\"},\"scenarios\":{\"s\":[[\"c\"]]"
        "},\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"s\"}]}";
    struct room r;

    (void)state;
    room_open(&r);
    room_spec(&r, "www.example.org.", text);
    room_build(&r, NULL);
    set_check(&r, 0, HEALTH_UP);
    (void)world_judge(r.world, 1000);
    room_drop(&r);
    room_spec(&r, "www.example.org.", text);
    room_build(&r, NULL);
    set_check(&r, 0, HEALTH_UNKNOWN);
    (void)world_judge(r.world, 2000);
    assert_int_equal(r.world->plan.sets[0].values[0].healthy, TRI_TRUE);
    assert_int_equal(
        world_cond(r.world, 0,
                   spec_rare_of(&r.specs[0]->sets[0].records[0])->when, 0),
        TRI_TRUE);
    assert_ptr_equal(world_check(r.world, 0, 0, -1), checks_at(r.checks, 0));
    room_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dependents),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_views_are_remembered_apart),
        cmocka_unit_test(test_health_reaches_values),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_maintenance),
        cmocka_unit_test(test_freezes),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
