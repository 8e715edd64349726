#ifndef TESTS_UNIT_PLAN_WORLD_H
#define TESTS_UNIT_PLAN_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/engine/decide/health.h"
#include "agent/engine/decide/plan.h"

/* A small world for the planner: targets that live or not, a virtual clock,
 * and a provider that is an array of switches. A round is what the agent
 * does: probe until every check is settled, look at the provider, plan,
 * carry out (additions of a set first; after a failure nothing of that set is
 * taken out), remember. */

#define PW_SETS 12
#define PW_VALUES 8
#define PW_WITHDRAWN 256
#define PW_START_MS 1000000

enum pw_target { PW_DEAD, PW_ALIVE, PW_LOCAL, PW_NO_CHECK };
enum pw_write {
    PW_DONE,
    PW_FAILS,
    PW_UNKNOWN_DONE, /* no answer, and it happened */
    PW_UNKNOWN_LOST, /* no answer, and it did not */
};

struct pw_value {
    enum pw_target target;
    enum pw_write write;
    struct health health;
    struct health_rule rule;
    int64_t lag_ms;   /* its results come that much later than the others' */
    bool on, present; /* at the provider */
    bool fallback, dropped;
    enum decide_class class;
    enum tri dr_cond;
    bool dr_if_no_records;
    int64_t return_after_ms;
    bool return_manual;
    bool maintenance, away; /* its data centre; away only while it is well */
    size_t twin; /* 1 + the place of an earlier one with equal data; 0: none */
    struct memory_value memory;
    struct memory_writes writes; /* memory's, so that a copy of the world is
                                    one: pw_look */
};

struct pw_set {
    enum spec_type type;
    enum spec_order order;
    uint32_t take;
    enum spec_all_down all_down;
    bool damping, unseen, frozen;
    bool emptied; /* passed through empty in the last round */
    struct pw_value v[PW_VALUES];
    size_t n;
    struct memory_set memory;
};

struct pw {
    int64_t now_ms, step_ms;
    int pct;
    bool anchors, blind, learning;
    bool no_brake; /* for tests of other things */
    struct pw_set s[PW_SETS];
    size_t n;
    int64_t withdrawn_ms[PW_WITHDRAWN]; /* newest first; as the agent keeps */
    struct plan_zone zone;              /* of the last round */
    struct plan_set sets[PW_SETS];
    struct plan_value values[PW_SETS][PW_VALUES];
    size_t done, empties;     /* changes; sets that passed through empty */
    size_t check_withdrawals; /* in the last round */
};

static inline void pw_init(struct pw *w)
{
    memset(w, 0, sizeof *w);
    w->now_ms = PW_START_MS;
    w->step_ms = 10000;
    w->pct = 50;
}

/* A set of n values that all live, wherever they are; thresholds f. */
static inline struct pw_set *pw_set_add(struct pw *w, size_t n, uint32_t f)
{
    struct pw_set *s = &w->s[w->n++];

    s->damping = true;
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        s->v[i].target = PW_ALIVE;
        s->v[i].dr_cond = TRI_FALSE;
        s->v[i].rule.required_success = f;
        s->v[i].rule.required_failure = f;
        s->v[i].rule.access_period_ms = 10000;
    }
    return s;
}

/* As `once` does it: until the result agrees with the state, a second from
 * probe to probe. */
static inline void pw_probe_value(struct pw_value *v, int64_t now_ms)
{
    enum health_result r = v->target == PW_ALIVE  ? HEALTH_OK
                           : v->target == PW_DEAD ? HEALTH_FAIL
                                                  : HEALTH_LOCAL;

    if (v->target == PW_NO_CHECK || v->dropped)
        return;
    health_age(&v->health, &v->rule, now_ms);
    for (int i = 0; i < 16; i++) {
        (void)health_feed(&v->health, &v->rule, r, now_ms + v->lag_ms);
        if (health_is_settled(&v->health))
            break;
    }
}

static inline bool pw_any_up(const struct pw *w)
{
    for (size_t s = 0; s < w->n; s++)
        for (size_t i = 0; i < w->s[s].n; i++)
            if (w->s[s].v[i].target != PW_NO_CHECK && !w->s[s].v[i].dropped &&
                w->s[s].v[i].health.state == HEALTH_UP)
                return true;
    return false;
}

static inline void pw_look_value(struct pw_value *v, struct plan_value *p)
{
    const struct health *h = &v->health;

    memset(p, 0, sizeof *p);
    p->data = "192.0.2.1";
    p->class = v->class;
    p->dr_cond = v->dr_cond;
    p->dr_if_no_records = v->dr_if_no_records;
    p->return_after_ms = (uint32_t)v->return_after_ms;
    p->return_manual = v->return_manual;
    p->maintenance = v->maintenance && !v->dropped;
    p->fallback = v->fallback;
    p->dropped = v->dropped;
    p->ttl_s = -1;
    p->healthy = TRI_TRUE;
    p->present = v->present;
    p->published = v->on;
    v->memory.writes = &v->writes;
    p->memory = &v->memory;
    if (v->dropped)
        return;
    if (v->target != PW_NO_CHECK)
        p->healthy = h->state == HEALTH_UP     ? TRI_TRUE
                     : h->state == HEALTH_DOWN ? TRI_FALSE
                                               : TRI_UNKNOWN;
    p->away = v->away;
    if (p->healthy != TRI_FALSE) {
        p->healthy = v->maintenance ? TRI_FALSE : p->healthy;
        return;
    }
    p->never_up = !h->ever_up && !v->maintenance;
    p->decided_ms = h->since_ms;
    p->fail_streak = h->streak;
    p->need_failure = v->rule.required_failure & PLAN_NEED_MASK;
    p->access_period_ms = (uint32_t)v->rule.access_period_ms;
}

static inline void pw_look(struct pw *w)
{
    size_t recent = 0;

    memset(&w->zone, 0, sizeof w->zone);
    while (!w->no_brake && recent < PW_WITHDRAWN &&
           w->withdrawn_ms[recent] != 0)
        recent++;
    w->zone.now_ms = w->now_ms;
    w->zone.max_change_pct = w->pct;
    w->zone.blind = w->blind;
    w->zone.learning = w->learning;
    w->zone.alone = !w->anchors && !pw_any_up(w);
    w->zone.sets = w->sets;
    w->zone.nsets = w->n;
    w->zone.withdrawn_ms = w->withdrawn_ms;
    w->zone.nwithdrawn = recent;
    for (size_t s = 0; s < w->n; s++) {
        struct pw_set *from = &w->s[s];
        struct plan_set *to = &w->sets[s];

        memset(to, 0, sizeof *to);
        to->name = "www.example.org.";
        to->type = from->type;
        to->frozen = from->frozen;
        to->order = from->order;
        to->take = from->take;
        to->all_down = from->all_down;
        to->damping = from->damping;
        to->observed = !from->unseen;
        to->values = w->values[s];
        to->nvalues = (uint32_t)from->n;
        to->memory = &from->memory;
        for (size_t i = 0; i < from->n; i++) {
            struct plan_value *p = &w->values[s][i];

            pw_look_value(&from->v[i], p);
            p->twin = (uint32_t)from->v[i].twin;
            if (p->twin > 0) {
                p->memory = &from->v[p->twin - 1].memory;
                p->published = from->v[p->twin - 1].on;
                p->present = from->v[p->twin - 1].present;
            }
        }
    }
}

static inline void pw_plan(struct pw *w)
{
    pw_look(w);
    plan_make(&w->zone);
}

static inline void pw_remember_withdrawal(struct pw *w)
{
    memmove(w->withdrawn_ms + 1, w->withdrawn_ms,
            (PW_WITHDRAWN - 1) * sizeof w->withdrawn_ms[0]);
    w->withdrawn_ms[0] = w->now_ms;
    w->check_withdrawals++;
}

static inline size_t pw_count_on(const struct pw_set *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->v[i].on;
    return n;
}

/* returns false when it failed, as far as the agent can tell */
static inline bool pw_write_one(struct pw *w, size_t s, size_t i)
{
    struct pw_value *v = &w->s[s].v[i];
    struct plan_value *p = &w->values[s][i];

    if (v->write == PW_DONE || v->write == PW_UNKNOWN_DONE) {
        size_t before = pw_count_on(&w->s[s]);

        v->on = p->publish;
        v->present = true;
        if (before > 0 && pw_count_on(&w->s[s]) == 0) {
            w->s[s].emptied = true;
            w->empties++;
        }
    }
    if (v->write == PW_DONE) {
        if (plan_is_check_withdrawal(p))
            pw_remember_withdrawal(w);
        plan_done(&w->sets[s], p, w->now_ms, false);
        w->done++;
    } else if (v->write != PW_FAILS) {
        plan_done(&w->sets[s], p, w->now_ms, true);
    }
    return v->write == PW_DONE;
}

static inline void pw_apply(struct pw *w)
{
    w->done = w->check_withdrawals = 0;
    for (size_t s = 0; s < w->n; s++) {
        bool ok = true;

        w->s[s].emptied = false;
        for (int publish = 1; publish >= 0; publish--)
            for (size_t i = 0; i < w->s[s].n && (publish == 1 || ok); i++) {
                struct plan_value *p = &w->values[s][i];

                if (plan_is_change(p) && p->publish == publish)
                    ok = pw_write_one(w, s, i) && ok;
            }
    }
}

static inline void pw_probe(struct pw *w)
{
    for (size_t s = 0; s < w->n; s++)
        for (size_t i = 0; i < w->s[s].n; i++)
            pw_probe_value(&w->s[s].v[i], w->now_ms);
}

static inline void pw_round(struct pw *w)
{
    w->now_ms += w->step_ms;
    pw_probe(w);
    pw_plan(w);
    pw_apply(w);
}

static inline void pw_rounds(struct pw *w, int n)
{
    while (n-- > 0)
        pw_round(w);
}

/* "101": what the provider has switched on. */
static inline const char *pw_shows(const struct pw_set *s,
                                   char out[PW_VALUES + 1])
{
    for (size_t i = 0; i < s->n; i++)
        out[i] = s->v[i].on ? '1' : '0';
    out[s->n] = '\0';
    return out;
}

/* Switches by hand: as the provider is found, or as somebody else sets it. */
static inline void pw_switch(struct pw_set *s, const char *on)
{
    for (size_t i = 0; i < s->n && on[i] != '\0'; i++) {
        s->v[i].on = on[i] == '1';
        s->v[i].present = s->v[i].present || on[i] == '1';
    }
}

#endif
