#ifndef TESTS_UNIT_PROPERTY_H
#define TESTS_UNIT_PROPERTY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/memory_help.h"
#include "tests/unit/plan_world.h"
#include "tests/unit/state_count.h"
#include "tests/unit/state_room.h"

/* Random specs and worlds for the property tests, and the tiers of
 * spec-language 4 a second time, straight from its text. */

/* --- numbers ---------------------------------------------------------------
 */

struct rng {
    uint64_t at;
};

/* splitmix64: small, and good enough to reach odd corners. */
static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->at += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)(rng_next(r) >> 33) % n;
}

static inline bool rng_percent(struct rng *r, uint32_t percent)
{
    return rng_below(r, 100) < percent;
}

static inline uint64_t env_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL && *text != '\0' ? strtoull(text, NULL, 0) : otherwise;
}

/* --- a second decide -------------------------------------------------------
 */

/* Records as bits of a mask, in chain order. */
struct naive_list {
    uint32_t up;      /* count as up */
    uint32_t waits;   /* healthy and only waiting */
    uint32_t open;    /* may still turn out well, and not published */
    uint32_t spoken;  /* there is a verdict */
    uint32_t off;     /* healthy, switched off by somebody else */
    uint32_t never;   /* whose check has never been up */
    uint32_t stands;  /* published now */
    uint32_t in[4];   /* surely of tier 1, 2, 3; [0]: of any list */
    uint32_t perhaps; /* DR: may be of tier 1 */
};

static inline void naive_place(struct naive_list *l,
                               const struct decide_value *v, uint32_t bit)
{
    l->in[0] |= bit;
    if (v->class == DECIDE_NORMAL)
        l->in[1] |= bit;
    else if (v->class == DECIDE_PASSIVE)
        l->in[2] |= bit;
    else if (v->dr_cond == TRI_TRUE)
        l->in[1] |= bit;
    else if (v->dr_cond == TRI_UNKNOWN)
        l->perhaps |= bit;
    if (v->class == DECIDE_DR && v->dr_if_no_records)
        l->in[3] |= bit;
}

/* fallback: a list without tiers. */
static inline struct naive_list naive_read(const struct decide_value *v,
                                           size_t n, bool fallback)
{
    struct naive_list l = {.up = 0};
    uint32_t sure = 0;

    for (size_t i = 0; i < n; i++) {
        naive_place(&l, &v[i], 1u << i);
        if (v[i].healthy == TRI_TRUE && !v[i].held_off && !v[i].waiting &&
            !v[i].barred)
            sure |= 1u << i;
    }
    if (!fallback)
        sure &= l.in[1] | l.in[2];
    for (size_t i = 0; i < n; i++) {
        uint32_t bit = 1u << i;
        bool never = v[i].healthy == TRI_FALSE && v[i].never_up;
        bool is_unknown =
            v[i].healthy == TRI_UNKNOWN || (never && (sure & ~bit) == 0);

        l.never |= v[i].never_up ? bit : 0;
        l.stands |= v[i].published ? bit : 0;
        l.spoken |= is_unknown ? 0 : bit;
        if (v[i].held_off)
            l.off |= bit;
        else if (v[i].barred)
            continue;
        else if (is_unknown && v[i].published)
            l.up |= bit;
        else if (is_unknown)
            l.open |= bit;
        else if (v[i].healthy == TRI_TRUE && v[i].waiting && !v[i].published)
            l.waits |= bit;
        else if (v[i].healthy == TRI_TRUE)
            l.up |= bit;
    }
    return l;
}

/* The first `most` bits. */
static inline uint32_t naive_first(uint32_t mask, uint32_t most)
{
    uint32_t out = 0;

    while (mask != 0 && most-- > 0) {
        out |= mask & (~mask + 1);
        mask &= mask - 1;
    }
    return out;
}

struct naive {
    int tier; /* 0: as it is */
    enum decide_rule rule;
    uint32_t values, fallback; /* what is published */
};

static inline enum decide_rule naive_hold(const struct naive_list *l,
                                          uint32_t open)
{
    return (open & ~l->never) != 0 ? DECIDE_HOLD_UNKNOWN : DECIDE_HOLD_NEVER_UP;
}

/* Tiers 1 to 4; tier -1: none of them. */
static inline struct naive naive_tiers(const struct naive_list *a,
                                       const struct naive_list *b,
                                       uint32_t most)
{
    static const enum decide_rule rules[] = {DECIDE_HEALTHY, DECIDE_HEALTHY,
                                             DECIDE_RESERVE, DECIDE_RECOVERY};
    struct naive d = {0, DECIDE_HOLD_UNKNOWN, a->stands, b->stands};

    for (int tier = 1; tier <= 3; tier++) {
        /* A DR record of tier 1 if its drCond were true: like one without
         * verdict, unless it is down anyway. */
        uint32_t perhaps = tier == 1 ? a->perhaps : 0;
        uint32_t up = (a->up & a->in[tier]) | (a->up & perhaps & a->stands);
        uint32_t open = (a->open & (a->in[tier] | perhaps)) |
                        (perhaps & ~a->stands & (a->up | a->waits));

        up |= perhaps & a->stands & a->waits;
        if (up != 0) {
            d = (struct naive){tier, rules[tier], naive_first(up, most), 0};
            return d;
        }
        if (open != 0) {
            d.rule = naive_hold(a, open);
            return d;
        }
    }
    for (int tier = 1; tier <= 3; tier++)
        if ((a->waits & a->in[tier]) != 0)
            return (struct naive){4, DECIDE_WAITING,
                                  naive_first(a->waits & a->in[tier], most), 0};
    d.tier = -1;
    return d;
}

static inline struct naive naive_decide(const struct decide_set *set)
{
    struct naive_list a = naive_read(set->values, set->nvalues, false);
    struct naive_list b = naive_read(set->fallback, set->nfallback, true);
    uint32_t all = (1u << set->nvalues) - 1;
    uint32_t most = set->single                   ? 1
                    : set->take > 0               ? set->take
                    : set->order == SPEC_PRIORITY ? 1
                                                  : UINT32_MAX;
    struct naive d = {0, DECIDE_HOLD_EMPTY, a.stands, b.stands}, upper;

    if (set->nvalues == 0)
        return d;
    upper = naive_tiers(&a, &b, most);
    if (a.off == all)
        d.rule = DECIDE_HOLD_HANDS;
    else if (a.spoken == 0)
        d.rule = a.never == all ? DECIDE_HOLD_NEVER_UP : DECIDE_HOLD_UNKNOWN;
    else if (upper.tier >= 0)
        d = upper;
    else if (b.up != 0)
        d = (struct naive){5, DECIDE_FALLBACK, 0, naive_first(b.up, most)};
    else if (b.waits != 0)
        d = (struct naive){5, DECIDE_FALLBACK, 0, naive_first(b.waits, most)};
    else if (b.open != 0)
        d.rule = naive_hold(&b, b.open);
    else if (set->all_down == SPEC_KEEP)
        d = (struct naive){6, DECIDE_ALL_DOWN_KEEP, a.stands, b.stands};
    else if (set->all_down == SPEC_DOWN_ALL &&
             ((a.in[1] | a.in[2]) & ~a.off) == 0)
        d = (struct naive){6, DECIDE_HOLD_NOBODY, a.stands, b.stands};
    else if (set->all_down == SPEC_DOWN_ALL)
        d = (struct naive){6, DECIDE_ALL_DOWN_ALL,
                           naive_first((a.in[1] | a.in[2]) & ~a.off,
                                       set->single ? 1 : UINT32_MAX),
                           0};
    else
        d = (struct naive){6, DECIDE_ALL_DOWN_NONE, 0, 0};
    return d;
}

/* What decide was asked, from a plan. */
struct described {
    struct decide_value v[PW_VALUES];
    size_t at[PW_VALUES]; /* place among the plan's values */
    struct decide_set set;
};

static inline void describe(const struct plan_set *ps, struct described *d)
{
    size_t n = 0;

    memset(&d->set, 0, sizeof d->set);
    for (size_t i = 0; i < ps->nvalues; i++) {
        const struct plan_value *v = &ps->values[i];

        if (v->dropped)
            continue;
        memset(&d->v[n], 0, sizeof d->v[n]);
        d->v[n].class = v->class;
        d->v[n].dr_cond = v->dr_cond;
        d->v[n].dr_if_no_records = v->dr_if_no_records;
        d->v[n].barred = v->away || v->memory->shut;
        d->v[n].healthy = v->healthy;
        d->v[n].never_up = v->never_up;
        d->v[n].waiting = v->waiting;
        d->v[n].held_off = v->memory->held_off;
        d->v[n].published = v->published;
        d->at[n++] = i;
        if (v->fallback)
            d->set.nfallback++;
        else
            d->set.nvalues++;
    }
    d->set.order = ps->order;
    d->set.take = ps->take;
    d->set.single = ps->type == SPEC_CNAME;
    d->set.all_down = ps->all_down;
    d->set.values = d->v;
    d->set.fallback = d->v + d->set.nvalues;
}

/* --- random worlds ---------------------------------------------------------
 */

static inline void random_decide_list(struct rng *r, struct decide_value *v,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memset(&v[i], 0, sizeof v[i]);
        v[i].healthy = (enum tri)rng_below(r, 3);
        v[i].published = rng_percent(r, 50);
        v[i].never_up = v[i].healthy == TRI_FALSE && rng_percent(r, 30);
        v[i].waiting = v[i].healthy == TRI_TRUE && rng_percent(r, 30);
        v[i].class = (enum decide_class)rng_below(r, 3);
        v[i].dr_cond = (enum tri)rng_below(r, 3);
        v[i].dr_if_no_records = rng_percent(r, 50);
        v[i].barred = rng_percent(r, 10);
        v[i].held_off =
            v[i].healthy != TRI_FALSE && !v[i].published && rng_percent(r, 30);
    }
}

static inline enum pw_target random_target(struct rng *r)
{
    uint32_t n = rng_below(r, 20);

    return n < 9    ? PW_ALIVE
           : n < 17 ? PW_DEAD
           : n < 19 ? PW_LOCAL
                    : PW_NO_CHECK;
}

static inline void random_order(struct rng *r, struct pw_set *s)
{
    s->order = rng_percent(r, 40) ? SPEC_PRIORITY : SPEC_ALL;
    s->take = rng_percent(r, 40) ? rng_below(r, 4) : 0;
    s->all_down = (enum spec_all_down)rng_below(r, 3);
}

static inline void random_rules(struct rng *r, struct pw_value *v)
{
    uint32_t n = v->fallback ? 9 : rng_below(r, 10);

    v->class = n < 2 ? DECIDE_PASSIVE : n < 4 ? DECIDE_DR : DECIDE_NORMAL;
    if (v->class == DECIDE_DR) {
        v->dr_if_no_records = rng_percent(r, 60);
        v->dr_cond = (enum tri)rng_below(r, 3);
    }
    if (rng_percent(r, 20))
        v->return_after_ms = 1000 * (1 + rng_below(r, 600));
    v->return_manual = rng_percent(r, 10);
}

static inline void random_set(struct rng *r, struct pw *w)
{
    size_t nvalues = 1 + rng_below(r, 4);
    size_t n = nvalues + (rng_percent(r, 40) ? 1 + rng_below(r, 2) : 0);
    struct pw_set *s = pw_set_add(w, n, 1);

    random_order(r, s);
    s->type = rng_percent(r, 15) ? SPEC_CNAME : SPEC_A;
    s->damping = rng_percent(r, 80);
    for (size_t i = 0; i < n; i++) {
        struct pw_value *v = &s->v[i];

        v->fallback = i >= nvalues;
        v->target =
            v->fallback && rng_percent(r, 50) ? PW_NO_CHECK : random_target(r);
        v->rule.required_success = 1 + rng_below(r, 3);
        v->rule.required_failure = 1 + rng_below(r, 3);
        v->rule.access_period_ms = rng_percent(r, 80) ? 10000 : 60000;
        v->lag_ms = rng_below(r, 500);
        v->on = rng_percent(r, 60);
        v->present = v->on || rng_percent(r, 50);
        random_rules(r, v);
    }
    if (n > nvalues && rng_percent(r, 20)) {
        s->v[n - 1].twin = 1 + rng_below(r, (uint32_t)nvalues);
        s->v[n - 1].on = s->v[n - 1].present = false;
    }
}

static inline void random_world(struct rng *r, struct pw *w)
{
    static const int pcts[] = {0, 10, 25, 50, 100};
    size_t n = 1 + rng_below(r, rng_percent(r, 20) ? PW_SETS : 3);

    pw_init(w);
    w->pct =
        rng_percent(r, 50) ? pcts[rng_below(r, 5)] : (int)rng_below(r, 101);
    w->anchors = rng_percent(r, 60);
    while (n-- > 0)
        random_set(r, w);
}

/* Through the state file and back. */
static inline void pw_through_file(struct pw *w)
{
    struct room room;

    room_open(&room);
    for (int load = 0; load < 2; load++) {
        struct state *st = room_state(&room);

        for (size_t s = 0; s < w->n; s++) {
            char name[32], data[32];
            struct memory_set *ms;

            (void)snprintf(name, sizeof name, "s%zu", s);
            ms = &state_set_get(st, "example.org.", name, "A")->memory;
            if (load == 0)
                *ms = w->s[s].memory;
            assert_memory_equal(ms, &w->s[s].memory, sizeof *ms);
            for (size_t i = 0; i < w->s[s].n; i++) {
                struct memory_value *m, *own = &w->s[s].v[i].memory;

                (void)snprintf(data, sizeof data, "192.0.2.%zu", i);
                m = &value_get(st, "example.org.", name, "A", data)->memory;
                if (load == 0)
                    memory_copy(m, own);
                assert_true(memory_equal(m, own));
            }
        }
        if (load == 0)
            room_save(st);
        state_close(st);
    }
    room_close(&room);
}

#endif
