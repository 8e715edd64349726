#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/base/buf.h"
#include "agent/engine/world/live.h"

/* What is judged and planned in parts is what is judged and planned as a
 * whole: random zones in which random things happen, on both sides. */

#define ZONE "example.org."
#define NSETS 8u
#define ZONES 150
#define EVENTS 300

static uint64_t chance(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static unsigned below(uint64_t *seed, unsigned n)
{
    return (unsigned)(chance(seed) % n);
}

/* --- zones ---------------------------------------------------------------- */

static const char apex_text[] =
    "{\"dcs\":{\"dc1\":{\"wanAccess\":[\"tcp:1@192.0.2.1\"],"
    "\"onlyNew\":\"1m\"},"
    "\"dc2\":{\"wanAccess\":[\"tcp:1@192.0.2.2\"],"
    "\"lanAccess\":[\"tcp:1@192.0.2.3\"],\"noResponse\":true}},"
    "\"scenarios\":{\"s\":[[\"!dc2\",\"dc1\"],[\"dc2.noLan\"]]}}";

static void random_record(struct buf *t, uint64_t *seed, unsigned set,
                          unsigned i)
{
    static const char *const more[] = {
        "",
        "",
        ",\"check\":\"tcp:1\"",
        ",\"check\":[\"tcp:1\",\"tcp:2@192.0.2.9\"]",
        ",\"returnAfter\":\"20s\",\"check\":\"tcp:1\"",
        ",\"return\":\"manual\",\"check\":\"tcp:1\"",
        ",\"drIfNoRecords\":true,\"check\":\"tcp:1\"",
        ",\"drCond\":\"s\"",
        ",\"if\":\"s\""};
    static const char *const dcs[] = {"", ",\"dc\":\"dc1\"", ",\"dc\":\"dc2\""};

    buf_printf(t, "%s{\"data\":\"198.51.%u.%u\"%s%s}", i > 0 ? "," : "", set, i,
               more[below(seed, 9)], dcs[below(seed, 3)]);
}

static char *random_text(uint64_t *seed, unsigned set)
{
    static const char *const all_down[] = {"keep", "all", "none"};
    unsigned n = 1 + below(seed, 4);
    struct buf t;

    buf_init(&t, 4000);
    buf_printf(&t,
               "{\"order\":\"%s\",\"allDown\":\"%s\",\"damping\":%s,"
               "\"defaults\":{\"requiredFailure\":%u,\"requiredSuccess\":%u},"
               "\"records\":[",
               below(seed, 2) ? "all" : "priority", all_down[below(seed, 3)],
               below(seed, 4) ? "true" : "false", 1 + below(seed, 3),
               1 + below(seed, 2));
    for (unsigned i = 0; i < n; i++)
        random_record(&t, seed, set, i);
    buf_printf(&t, "]%s}",
               below(seed, 2) ? ",\"fallbackRecords\":[{\"data\":"
                                "\"203.0.113.1\",\"check\":\"tcp:9\"}]"
                              : "");
    return buf_take(&t);
}

static struct spec *read_spec(const char *text, const char *owner,
                              const struct spec *apex)
{
    const struct spec_context ctx = {
        .owner = owner, .zone = ZONE, .apex = apex};
    struct spec *s = NULL;
    struct err e;

    if (spec_parse_text(text, strlen(text), &ctx, &s, &e) != 0)
        fail_msg("%s: %s", e.msg, text);
    return s;
}

/* --- the two sides -------------------------------------------------------- */

struct side {
    struct state *state;
    struct checks *checks;
    struct arena *arena;
    struct world *w;
    struct live *live; /* of the side that looks at parts */
    struct state_zone *row;
};

static void ignore_refused(void *arg, const char *where, const struct err *e)
{
    (void)arg;
    (void)where;
    (void)e;
}

static void ignore_conflict(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void ignore_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    (void)name;
    (void)data;
}

static void side_init(struct side *s, const struct spec *const *specs, size_t n,
                      int64_t now_ms)
{
    const struct world_events ev = {ignore_refused, ignore_conflict,
                                    ignore_opted_out, NULL};
    struct err e;

    memset(s, 0, sizeof *s);
    assert_int_equal(state_open(NULL, false, &s->state, &e), 0);
    s->checks = checks_new(s->state);
    s->arena = arena_new();
    s->w = world_new(s->arena, ZONE, specs, n, s->state, s->checks, NULL, NULL,
                     NULL, now_ms, &ev);
    s->w->plan.max_change_pct = 20;
    s->row = state_zone_get(s->state, ZONE);
    for (size_t i = 0; i < s->w->plan.nsets; i++)
        s->w->plan.sets[i].observed = true;
}

static void side_fini(struct side *s)
{
    live_free(s->live);
    world_free(s->w);
    arena_free(s->arena);
    checks_free(s->checks);
    state_close(s->state);
}

/* The whole: every spec judged, every set planned. */
static void plan_all(struct side *s, bool alone, int64_t now_ms)
{
    struct plan_zone *z = &s->w->plan;

    world_touch_all(s->w);
    (void)world_judge(s->w, now_ms);
    world_clear_judged(s->w);
    world_apply_freezes(s->w, now_ms);
    z->now_ms = now_ms;
    z->alone = alone;
    z->withdrawn_ms = s->row->withdrawn_ms;
    z->nwithdrawn = 0;
    while (z->nwithdrawn < 256 && z->withdrawn_ms[z->nwithdrawn] != 0)
        z->nwithdrawn++;
    plan_make(z);
}

static void set_all(struct plan_set *ps, size_t value, bool on)
{
    for (size_t k = 0; k < ps->nvalues; k++)
        if (strcmp(ps->values[k].data, ps->values[value].data) == 0) {
            ps->values[k].published = on;
            ps->values[k].present = ps->values[k].present || on;
        }
}

static void write_all(struct side *s, int64_t now_ms)
{
    for (size_t i = 0; i < s->w->plan.nsets; i++)
        for (size_t k = 0; k < s->w->plan.sets[i].nvalues; k++) {
            struct plan_set *ps = &s->w->plan.sets[i];
            struct plan_value *v = &ps->values[k];
            bool on = v->publish;

            if (!plan_is_change(v))
                continue;
            if (plan_is_check_withdrawal(v)) {
                memmove(s->row->withdrawn_ms + 1, s->row->withdrawn_ms,
                        255 * sizeof(int64_t));
                s->row->withdrawn_ms[0] = now_ms;
            }
            plan_done(ps, v, now_ms, false);
            set_all(ps, k, on);
        }
}

static void write_parts(struct side *s, int64_t now_ms)
{
    size_t n;
    const size_t *sets = live_sets(s->live, &n);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s->w->plan.sets[sets[i]].nvalues; k++)
            if (plan_is_change(&s->w->plan.sets[sets[i]].values[k]))
                live_done(s->live, sets[i], k, now_ms);
}

static void compare(const struct side *parts, const struct side *whole)
{
    assert_int_equal(parts->w->plan.allowed, whole->w->plan.allowed);
    for (size_t i = 0; i < parts->w->plan.nsets; i++) {
        const struct plan_set *a = &parts->w->plan.sets[i];
        const struct plan_set *b = &whole->w->plan.sets[i];

        assert_int_equal(a->hold, b->hold);
        assert_int_equal(a->decision.tier, b->decision.tier);
        assert_int_equal(a->decision.rule, b->decision.rule);
        assert_int_equal(a->nchanges, b->nchanges);
        for (size_t k = 0; k < a->nvalues; k++) {
            const struct plan_value *v = &a->values[k], *w = &b->values[k];

            assert_int_equal(v->published, w->published);
            assert_int_equal(v->publish, w->publish);
            assert_int_equal(v->healthy, w->healthy);
            assert_int_equal(v->memory->damp, w->memory->damp);
            assert_int_equal(v->memory->held_off, w->memory->held_off);
            assert_int_equal(v->memory->shut, w->memory->shut);
        }
    }
}

/* --- what happens --------------------------------------------------------- */

struct story {
    struct side parts, whole;
    uint64_t seed;
    int64_t now_ms;
    bool *up; /* what probes of a check meet */
};

static void result(struct story *t, size_t check, enum health_result r)
{
    struct check *c = checks_at(t->whole.checks, check);
    const struct health_rule rule = checks_rule(c);

    (void)live_result(t->parts.live, checks_at(t->parts.checks, check), r,
                      t->now_ms);
    (void)health_feed(&c->row->health, &rule, r, t->now_ms);
}

static void probes(struct story *t)
{
    size_t n = checks_count(t->whole.checks);

    for (size_t i = 0; i < n; i++) {
        if (below(&t->seed, 10) == 0)
            t->up[i] = !t->up[i] || below(&t->seed, 4) != 0;
        if (below(&t->seed, 3) != 0)
            result(t, i,
                   below(&t->seed, 20) == 0 ? HEALTH_LOCAL
                   : t->up[i]               ? HEALTH_OK
                                            : HEALTH_FAIL);
    }
}

static void somebody(struct story *t)
{
    size_t i = below(&t->seed, (unsigned)t->whole.w->plan.nsets);
    struct plan_set *ps = &t->whole.w->plan.sets[i];
    size_t k = below(&t->seed, (unsigned)ps->nvalues);
    bool on = below(&t->seed, 2) != 0;

    if (ps->values[k].twin > 0)
        return;
    live_seen(t->parts.live, i, k, on, t->now_ms);
    set_all(ps, k, on);
}

static void override_one(struct side *s, const char *kind, const char *what,
                         bool on, int64_t until_ms, int64_t now_ms)
{
    if (on)
        state_override_set(s->state, kind, ZONE, what, until_ms, "test");
    else
        (void)state_override_clear(s->state, kind, ZONE, what, now_ms);
}

static void operator_does(struct story *t)
{
    static const char *const names[] = {"n0.example.org.", "n1.example.org.",
                                        "*"};
    bool dc = below(&t->seed, 2) != 0, on = below(&t->seed, 3) == 0;
    const char *kind = dc ? "maintenance" : "freeze";
    const char *what =
        dc ? (below(&t->seed, 2) ? "dc1" : "dc2") : names[below(&t->seed, 3)];

    live_before_override(t->parts.live, t->now_ms);
    world_touch_all(t->whole.w);
    (void)world_judge(t->whole.w, t->now_ms);
    override_one(&t->parts, kind, what, on, 0, t->now_ms);
    override_one(&t->whole, kind, what, on, 0, t->now_ms);
    live_after_override(t->parts.live, t->now_ms);
}

static void readmit(struct story *t)
{
    size_t i = below(&t->seed, (unsigned)t->whole.w->plan.nsets);

    live_before_override(t->parts.live, t->now_ms);
    for (size_t k = 0; k < t->whole.w->plan.sets[i].nvalues; k++) {
        plan_readmit(t->parts.w->plan.sets[i].values[k].memory);
        plan_readmit(t->whole.w->plan.sets[i].values[k].memory);
    }
    live_after_override(t->parts.live, t->now_ms);
}

static void settle(struct story *t)
{
    bool due, alone = !checks_any_up(t->whole.checks);

    do {
        due = live_step(t->parts.live, alone, t->now_ms);
        plan_all(&t->whole, alone, t->now_ms);
        compare(&t->parts, &t->whole);
        if (due) {
            write_parts(&t->parts, t->now_ms);
            write_all(&t->whole, t->now_ms);
        }
    } while (due);
}

static void happen(struct story *t)
{
    static const int64_t steps_ms[] = {1000, 1000, 5000, 20000, 4000000};
    int64_t to_ms =
        t->now_ms + steps_ms[below(&t->seed, below(&t->seed, 9) ? 4 : 5)];

    /* Nothing that time alone does is missed, or comes late. */
    while (live_next(t->parts.live) < to_ms) {
        assert_true(live_next(t->parts.live) > t->now_ms);
        t->now_ms = live_next(t->parts.live);
        settle(t);
    }
    t->now_ms = to_ms;
    probes(t);
    if (below(&t->seed, 8) == 0)
        somebody(t);
    if (below(&t->seed, 12) == 0)
        operator_does(t);
    if (below(&t->seed, 12) == 0)
        readmit(t);
    settle(t);
}

static void tell(uint64_t seed)
{
    struct story t = {.seed = seed, .now_ms = 1000000};
    struct spec *specs[1 + NSETS];
    const struct spec *borrowed[1 + NSETS];

    specs[0] = read_spec(apex_text, ZONE, NULL);
    for (unsigned i = 0; i < NSETS; i++) {
        char *owner = mem_printf("n%u." ZONE, i),
             *text = random_text(&t.seed, i);

        specs[i + 1] = read_spec(text, owner, specs[0]);
        free(text);
        free(owner);
    }
    memcpy(borrowed, specs, sizeof specs);
    side_init(&t.parts, borrowed, 1 + NSETS, t.now_ms);
    side_init(&t.whole, borrowed, 1 + NSETS, t.now_ms);
    t.parts.live = live_new(t.parts.w, t.parts.row,
                            below(&t.seed, 3) * INT64_C(3000), t.now_ms);
    t.up = mem_array(checks_count(t.whole.checks), sizeof *t.up);
    settle(&t);
    for (int i = 0; i < EVENTS; i++)
        happen(&t);
    side_fini(&t.parts);
    side_fini(&t.whole);
    for (size_t i = 0; i <= NSETS; i++)
        spec_free(specs[i]);
    free(t.up);
}

static void parts_are_the_whole(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= ZONES; i++)
        tell(i * UINT64_C(0x9e3779b97f4a7c15));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
