#ifndef TESTS_UNIT_CHAIN_H
#define TESTS_UNIT_CHAIN_H

#include <unistd.h>

#include "agent/engine/world/live.h"
#include "tests/unit/random_spec.h"
#include "tests/unit/spec_help.h"

/* The whole chain on a virtual clock: spec text, parser, checks, judge,
 * decide, plan, and a provider that is an array of switches. cmocka.h is
 * included before. */

#define CH_SETS 8
#define CH_VALUES 16
#define CH_TARGETS 64
#define CH_START_MS 1000000

struct chain {
    const struct spec *spec; /* borrowed */
    struct state *state;
    char path[64]; /* of the state's file; "": in memory */
    struct checks *checks;
    struct arena *arena;
    struct world *world;
    struct live *live;
    const char *agent_dc;
    int64_t now_ms;
    bool on[CH_SETS][CH_VALUES];
    char target[CH_TARGETS]; /* T alive, F dead, L cannot be probed */
    size_t writes;
    char broken[300]; /* what must not be; "" : nothing */
};

#define CH_MUST(ch, what)                                                      \
    do {                                                                       \
        if (!(what) && (ch)->broken[0] == '\0')                                \
            (void)snprintf((ch)->broken, sizeof(ch)->broken, "%s:%d: %s",      \
                           __FILE__, __LINE__, #what);                         \
    } while (0)

/* --- building ----------------------------------------------------------------
 */

static inline void ch_refused(void *arg, const char *where, const struct err *e)
{
    (void)arg;
    fail_msg("%s: %s", where, e->msg);
}

static inline void ch_conflict(void *arg, const char *text)
{
    (void)arg;
    fail_msg("%s", text);
}

static inline void ch_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    fail_msg("%s %s", name, data);
}

static inline void ch_build(struct chain *ch)
{
    static const struct world_events ev = {ch_refused, ch_conflict,
                                           ch_opted_out, NULL};
    struct world *w;

    ch->arena = arena_new();
    ch->checks = checks_new(ch->state);
    w = ch->world =
        world_new(ch->arena, "example.org.", &ch->spec, 1, ch->state,
                  ch->checks, NULL, NULL, ch->agent_dc, ch->now_ms, &ev);
    w->now_ms = ch->now_ms;
    assert_true(w->plan.nsets <= CH_SETS);
    for (size_t s = 0; s < w->plan.nsets; s++) {
        struct plan_set *ps = &w->plan.sets[s];

        assert_true(ps->nvalues <= CH_VALUES);
        ps->observed = true;
        for (size_t k = 0; k < ps->nvalues; k++)
            ps->values[k].published = ps->values[k].present = ch->on[s][k];
    }
    world_apply_freezes(w, ch->now_ms);
    ch->live =
        live_new(w, state_zone_get(ch->state, "example.org."), 0, ch->now_ms);
}

static inline void ch_drop(struct chain *ch)
{
    live_free(ch->live);
    if (ch->world != NULL)
        world_save(ch->world);
    world_free(ch->world);
    checks_free(ch->checks);
    arena_free(ch->arena);
    ch->live = NULL;
    ch->world = NULL;
    ch->checks = NULL;
    ch->arena = NULL;
}

/* As good as new, and cheaper. */
static inline void ch_forget(struct state *st)
{
    struct state_check *c;
    struct state_set *s = state_sets(st);
    struct state_judge *j = state_judges(st);
    struct state_override *o = state_overrides(st);

    for (size_t at = 0; (c = state_checks(st, &at)) != NULL;)
        memset(&c->health, 0, sizeof c->health);
    for (; s != NULL; s = s->next) {
        memset(&s->memory, 0, sizeof s->memory);
        for (struct state_value *v = s->values; v != NULL; v = v->next)
            memory_value_fini(&v->memory);
    }
    for (; j != NULL; j = j->next) {
        state_text(&j->print, NULL);
        state_text(&j->truth, NULL);
        state_text(&j->dcs, NULL);
    }
    for (; o != NULL; o = o->hh.next)
        o->used = false;
    memset(state_zone_get(st, "example.org.")->withdrawn_ms, 0,
           sizeof state_zone_get(st, "example.org.")->withdrawn_ms);
}

static inline void ch_open_state(struct chain *ch)
{
    struct err e;

    if (state_open(ch->path[0] != '\0' ? ch->path : NULL, false, &ch->state,
                   &e) != 0)
        fail_msg("%s", e.msg);
}

/* Counts that a new process would take for too old: ageing is meant to make a
 * difference. */
static inline bool ch_is_stale(const struct chain *ch)
{
    for (size_t i = 0; i < checks_count(ch->checks); i++) {
        const struct check *c = checks_at(ch->checks, i);
        struct health h = c->row->health;

        const struct health_rule rule = checks_rule(c);

        health_age(&h, &rule, ch->now_ms);
        if (h.streak != c->row->health.streak ||
            h.state != c->row->health.state)
            return true;
    }
    return false;
}

/* A new process: what is saved is all that is left. */
static inline void ch_restart(struct chain *ch)
{
    struct err e;

    ch_drop(ch);
    if (ch->path[0] != '\0') {
        if (state_save(ch->state, &e) != 0)
            fail_msg("%s", e.msg);
        state_close(ch->state);
        ch_open_state(ch);
    }
    ch_build(ch);
}

static inline void ch_close(struct chain *ch)
{
    ch_drop(ch);
    if (ch->path[0] != '\0')
        state_close(ch->state);
}

/* --- the world
 * ------------------------------------------------------------------
 */

/* Which target a check looks at, whatever its number is: FNV-1a. */
static inline size_t ch_target(const struct check *c)
{
    uint32_t h = 2166136261u;
    size_t len = 0;
    const char *key = checks_probe_key(c, &len);

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)key[i]) * 16777619u;
    return (h >> 8) % CH_TARGETS;
}

static inline enum health_result ch_result(const struct chain *ch,
                                           const struct check *c)
{
    char t = ch->target[ch_target(c)];

    return t == 'T' ? HEALTH_OK : t == 'F' ? HEALTH_FAIL : HEALTH_LOCAL;
}

static inline size_t ch_count_on(const struct chain *ch, size_t set)
{
    const struct plan_set *ps = &ch->world->plan.sets[set];
    size_t n = 0;

    for (size_t k = 0; k < ps->nvalues; k++)
        n += ps->values[k].twin == 0 && ch->on[set][k];
    return n;
}

static inline void ch_switch(struct chain *ch, size_t set, size_t value,
                             bool on)
{
    const struct plan_set *ps = &ch->world->plan.sets[set];

    for (size_t k = 0; k < ps->nvalues; k++)
        if (k == value || ps->values[k].twin == value + 1)
            ch->on[set][k] = on;
}

/* Additions first; a set never passes through empty but for allDown: none. */
static inline void ch_apply_set(struct chain *ch, size_t set)
{
    const struct plan_set *ps = &ch->world->plan.sets[set];
    bool may_empty = ps->decision.rule == DECIDE_ALL_DOWN_NONE;
    size_t before = ch_count_on(ch, set);

    for (int publish = 1; publish >= 0; publish--)
        for (size_t k = 0; k < ps->nvalues; k++) {
            const struct plan_value *v = &ps->values[k];

            if (!plan_is_change(v) || v->publish != (publish == 1))
                continue;
            ch_switch(ch, set, k, v->publish);
            live_done(ch->live, set, k, ch->now_ms);
            ch->writes++;
            CH_MUST(ch, before == 0 || ch_count_on(ch, set) > 0 || may_empty);
        }
    CH_MUST(ch, ps->type != SPEC_CNAME || ch_count_on(ch, set) <= 1 ||
                    ps->decision.tier == 0 || ps->hold != PLAN_FREE ||
                    ps->decision.rule == DECIDE_ALL_DOWN_KEEP ||
                    ps->decision.rule == DECIDE_HOLD_NOBODY);
}

static inline void ch_step(struct chain *ch)
{
    const size_t *some;
    size_t n, rounds = 0;

    while (live_step(ch->live, !checks_any_up(ch->checks), ch->now_ms)) {
        size_t todo[CH_SETS];

        some = live_sets(ch->live, &n);
        memcpy(todo, some, n * sizeof *todo);
        for (size_t i = 0; i < n; i++)
            ch_apply_set(ch, todo[i]);
        /* What plan said is done: nothing is left to do. */
        CH_MUST(ch, ++rounds == 1);
        if (rounds > 4)
            return;
    }
}

/* Everything judged and planned anew gives the same as what was kept up to
 * date piece by piece. */
static inline void ch_check_whole(struct chain *ch)
{
    struct plan_zone *zone = &ch->world->plan;
    int tiers[CH_SETS];
    enum plan_hold holds[CH_SETS];

    for (size_t s = 0; s < zone->nsets; s++) {
        tiers[s] = zone->sets[s].decision.tier;
        holds[s] = zone->sets[s].hold;
    }
    world_touch_all(ch->world);
    (void)world_judge(ch->world, ch->now_ms);
    world_clear_judged(ch->world);
    zone->now_ms = ch->now_ms;
    zone->some = NULL;
    zone->counted = false;
    zone->stood = 0;
    plan_make(zone);
    zone->counted = true;
    for (size_t s = 0; s < zone->nsets; s++) {
        CH_MUST(ch, zone->sets[s].nchanges == 0);
        CH_MUST(ch, zone->sets[s].decision.tier == tiers[s]);
        CH_MUST(ch, zone->sets[s].hold == holds[s]);
    }
}

/* One result of every check; of those in transition one more each second. */
static inline void ch_probe(struct chain *ch)
{
    for (int second = 0; second < 4; second++) {
        bool any = false;

        for (size_t i = 0; i < checks_count(ch->checks); i++) {
            struct check *c = checks_at(ch->checks, i);
            const struct health *h = &c->row->health;

            if (second > 0 && (h->streak == 0 || health_is_settled(h)))
                continue;
            (void)live_result(ch->live, c, ch_result(ch, c), ch->now_ms);
            any = true;
        }
        if (!any && second > 0)
            break;
        ch_step(ch);
        ch->now_ms += 1000;
    }
    ch_step(ch);
}

/* --- the operator, and others
 * ---------------------------------------------------
 */

static inline void ch_maintenance(struct chain *ch, size_t dc)
{
    const char *name = ch->spec->dcs[dc].name;

    live_before_override(ch->live, ch->now_ms);
    if (!state_override_clear(ch->state, "maintenance", "example.org.", name,
                              ch->now_ms))
        state_override_set(ch->state, "maintenance", "example.org.", name, 0,
                           "test");
    live_after_override(ch->live, ch->now_ms);
}

static inline void ch_freeze(struct chain *ch)
{
    live_before_override(ch->live, ch->now_ms);
    if (!state_override_clear(ch->state, "freeze", "example.org.",
                              "www.example.org.", ch->now_ms))
        state_override_set(ch->state, "freeze", "example.org.",
                           "www.example.org.", 0, "test");
    live_after_override(ch->live, ch->now_ms);
}

static inline void ch_readmit(struct chain *ch, size_t dc)
{
    const struct world *w = ch->world;

    live_before_override(ch->live, ch->now_ms);
    judge_readmit(&w->specs[0].memory, dc);
    for (size_t s = 0; s < w->plan.nsets; s++)
        for (size_t k = 0; k < w->plan.sets[s].nvalues; k++)
            if (w->sets[s].values[k].record->dc == (long)dc)
                plan_readmit(w->plan.sets[s].values[k].memory);
    live_after_override(ch->live, ch->now_ms);
}

static inline void ch_hand(struct chain *ch, size_t set, size_t value)
{
    const struct plan_set *ps = &ch->world->plan.sets[set];

    while (ps->values[value].twin > 0)
        value = ps->values[value].twin - 1;
    ch_switch(ch, set, value, !ch->on[set][value]);
    live_seen(ch->live, set, value, ch->on[set][value], ch->now_ms);
}

#endif
