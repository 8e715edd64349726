#include "agent/engine/decide/decide.h"

#include <string.h>

enum tri tri_and(enum tri a, enum tri b)
{
    if (a == TRI_FALSE || b == TRI_FALSE)
        return TRI_FALSE;
    if (a == TRI_UNKNOWN || b == TRI_UNKNOWN)
        return TRI_UNKNOWN;
    return TRI_TRUE;
}

/* A tier of a list of records. tier 0: all of the list. */
struct pool {
    const struct decide_value *v;
    size_t n;
    int tier;
};

/* What it has to offer. */
struct offer {
    size_t members;
    size_t up;       /* may be published now */
    size_t waiting;  /* healthy, only waiting */
    size_t unknown;  /* no verdict, not published: may still come up */
    size_t never_up; /* the same, for want of a first success */
    size_t held_off; /* healthy, switched off by others */
    size_t verdicts; /* records of which something is known */
    bool all_never_up;
};

/* Whether a value stands in that tier. A DR record whose drCond has no truth
 * yet may still belong to tier 1. */
static enum tri is_member(const struct decide_value *v, int tier)
{
    if (tier == 0)
        return TRI_TRUE;
    if (v->class != DECIDE_DR)
        return tier == (v->class == DECIDE_PASSIVE ? 2 : 1) ? TRI_TRUE
                                                            : TRI_FALSE;
    if (tier == 1)
        return v->dr_cond;
    return tier == 3 && v->dr_if_no_records ? TRI_TRUE : TRI_FALSE;
}

static bool is_surely_up(const struct decide_value *v)
{
    return v->healthy == TRI_TRUE && !v->waiting && !v->held_off && !v->barred;
}

/* A check that has never been up speaks only while another record, one that
 * needs no lower tier, is surely up; alone it knows nothing. */
static enum tri truth(const struct pool *p, size_t i)
{
    const struct decide_value *v = &p->v[i];
    enum tri t = v->healthy;

    if (t == TRI_FALSE && v->never_up) {
        t = TRI_UNKNOWN;
        for (size_t k = 0; k < p->n && t == TRI_UNKNOWN; k++)
            if (k != i && is_surely_up(&p->v[k]) &&
                (p->tier == 0 || is_member(&p->v[k], 1) == TRI_TRUE ||
                 is_member(&p->v[k], 2) == TRI_TRUE))
                t = TRI_FALSE;
    }
    return tri_and(t, is_member(v, p->tier));
}

/* Unknown counts as up for what is published and as down for what is not. */
static bool counts_up(const struct pool *p, size_t i)
{
    const struct decide_value *v = &p->v[i];
    enum tri t = truth(p, i);

    if (v->held_off || v->barred)
        return false;
    if (t == TRI_UNKNOWN)
        return v->published;
    return t == TRI_TRUE && (!v->waiting || v->published);
}

static bool is_waiting(const struct pool *p, size_t i)
{
    const struct decide_value *v = &p->v[i];

    return !counts_up(p, i) && !v->held_off && !v->barred &&
           truth(p, i) == TRI_TRUE;
}

static struct offer look(const struct pool *p)
{
    struct offer o = {.all_never_up = true};

    for (size_t i = 0; i < p->n; i++) {
        const struct decide_value *v = &p->v[i];
        enum tri t = truth(p, i);

        if (is_member(v, p->tier) == TRI_FALSE)
            continue;
        o.members++;
        o.verdicts += t != TRI_UNKNOWN;
        o.all_never_up = o.all_never_up && v->never_up;
        if (counts_up(p, i))
            o.up++;
        else if (v->held_off)
            o.held_off++;
        else if (v->barred)
            continue;
        else if (t == TRI_TRUE)
            o.waiting++;
        else if (t == TRI_UNKNOWN && v->never_up)
            o.never_up++;
        else if (t == TRI_UNKNOWN)
            o.unknown++;
    }
    return o;
}

typedef bool pick_fn(const struct pool *p, size_t i);

/* The first of the pool that fit, as many as the set publishes at most. */
static void pick(const struct decide_set *set, const struct pool *p,
                 pick_fn *fits, bool *out)
{
    size_t most = set->take > 0 ? set->take : p->n, got = 0;

    if (set->single || (set->order == SPEC_PRIORITY && set->take == 0))
        most = 1;
    for (size_t i = 0; i < p->n && got < most; i++) {
        if (fits(p, i)) {
            out[i] = true;
            got++;
        }
    }
}

static void keep(const struct decide_set *set, bool *publish)
{
    for (size_t i = 0; i < set->nvalues; i++)
        publish[i] = set->values[i].published;
    for (size_t i = 0; i < set->nfallback; i++)
        publish[set->nvalues + i] = set->fallback[i].published;
}

static struct decision held(const struct decide_set *set, enum decide_rule r,
                            bool *publish)
{
    struct decision d = {0, r};

    keep(set, publish);
    return d;
}

static bool is_in_service_tier(const struct pool *p, size_t i)
{
    return !p->v[i].held_off && (is_member(&p->v[i], 1) == TRI_TRUE ||
                                 is_member(&p->v[i], 2) == TRI_TRUE);
}

static struct decision all_down(const struct decide_set *set, bool *publish)
{
    const struct pool all = {set->values, set->nvalues, 0};
    struct decision d = {6, DECIDE_ALL_DOWN_NONE};
    struct decide_set whole = *set;

    if (set->all_down == SPEC_KEEP) {
        d.rule = DECIDE_ALL_DOWN_KEEP;
        keep(set, publish);
    } else if (set->all_down == SPEC_DOWN_ALL) {
        d.rule = DECIDE_ALL_DOWN_ALL;
        whole.order = SPEC_ALL;
        whole.take = 0;
        pick(&whole, &all, is_in_service_tier, publish);
        if (memchr(publish, true, set->nvalues) == NULL) {
            d.rule = DECIDE_HOLD_NOBODY;
            keep(set, publish);
        }
    }
    return d;
}

/* Something of this tier may still turn out well: no lower one yet. */
static bool must_hold(const struct offer *o, enum decide_rule *r)
{
    *r = o->unknown > 0 ? DECIDE_HOLD_UNKNOWN : DECIDE_HOLD_NEVER_UP;
    return o->unknown > 0 || o->never_up > 0;
}

/* Tiers 1 to 3. returns false when none of them has a value. */
static bool try_tiers(const struct decide_set *set, bool *publish,
                      struct decision *d)
{
    static const enum decide_rule rules[] = {DECIDE_HEALTHY, DECIDE_RESERVE,
                                             DECIDE_RECOVERY};
    enum decide_rule why;

    for (int tier = 1; tier <= 3; tier++) {
        const struct pool p = {set->values, set->nvalues, tier};
        struct offer o = look(&p);

        if (o.up > 0) {
            pick(set, &p, counts_up, publish);
            d->tier = tier;
            d->rule = rules[tier - 1];
            return true;
        }
        if (must_hold(&o, &why)) {
            *d = held(set, why, publish);
            return true;
        }
    }
    return false;
}

/* Tier 4: DR records only when nothing else waits. */
static bool try_waiting(const struct decide_set *set, bool *publish,
                        struct decision *d)
{
    for (int tier = 1; tier <= 3; tier++) {
        const struct pool p = {set->values, set->nvalues, tier};

        if (look(&p).waiting == 0)
            continue;
        pick(set, &p, is_waiting, publish);
        d->tier = 4;
        d->rule = DECIDE_WAITING;
        return true;
    }
    return false;
}

/* Tiers 5 and 6. */
static struct decision last_resort(const struct decide_set *set, bool *publish)
{
    const struct pool p = {set->fallback, set->nfallback, 0};
    struct offer o = look(&p);
    struct decision d = {5, DECIDE_FALLBACK};
    enum decide_rule why;

    if (o.up > 0 || o.waiting > 0) {
        pick(set, &p, o.up > 0 ? counts_up : is_waiting,
             publish + set->nvalues);
        return d;
    }
    if (must_hold(&o, &why))
        return held(set, why, publish);
    return all_down(set, publish);
}

struct decision decide_set(const struct decide_set *set, bool *publish)
{
    const struct pool all = {set->values, set->nvalues, 0};
    struct offer o = look(&all);
    struct decision d = {0, DECIDE_HEALTHY};

    memset(publish, 0, (set->nvalues + set->nfallback) * sizeof *publish);
    if (set->nvalues == 0)
        return held(set, DECIDE_HOLD_EMPTY, publish);
    if (o.held_off == set->nvalues)
        return held(set, DECIDE_HOLD_HANDS, publish);
    /* Starting the agent changes nothing by itself: what counts as up only
     * because it is published displaces nobody. */
    if (o.verdicts == 0)
        return held(set,
                    o.all_never_up ? DECIDE_HOLD_NEVER_UP : DECIDE_HOLD_UNKNOWN,
                    publish);
    if (try_tiers(set, publish, &d) || try_waiting(set, publish, &d))
        return d;
    return last_resort(set, publish);
}

const char *decide_rule_text(enum decide_rule r)
{
    static const char *const texts[] = {
        [DECIDE_HEALTHY] = "healthy records",
        [DECIDE_RESERVE] = "reserve: healthy records of noResponse data "
                           "centres",
        [DECIDE_RECOVERY] = "disaster recovery: nothing better is healthy",
        [DECIDE_WAITING] = "only records that wait for their return are left",
        [DECIDE_FALLBACK] = "all records are down: fallbackRecords",
        [DECIDE_ALL_DOWN_KEEP] = "all records are down: kept (allDown: keep)",
        [DECIDE_ALL_DOWN_ALL] = "all records are down: all published "
                                "(allDown: all)",
        [DECIDE_ALL_DOWN_NONE] = "all records are down: none published "
                                 "(allDown: none)",
        [DECIDE_HOLD_UNKNOWN] = "held: a record has no verdict yet",
        [DECIDE_HOLD_NEVER_UP] = "held: the failing checks have never been up "
                                 "(a typo? a firewall?)",
        [DECIDE_HOLD_HANDS] = "held: what is healthy was switched off by "
                              "somebody else",
        [DECIDE_HOLD_EMPTY] = "held: the spec names no record here",
        [DECIDE_HOLD_NOBODY] = "held: all records are down, and none is one "
                               "that allDown: all publishes",
    };

    return texts[r];
}

bool decide_rule_holds(enum decide_rule r)
{
    return r == DECIDE_ALL_DOWN_KEEP || r >= DECIDE_HOLD_UNKNOWN;
}
