#include "agent/engine/decide.h"

#include <string.h>

enum tri tri_and(enum tri a, enum tri b)
{
    if (a == TRI_FALSE || b == TRI_FALSE)
        return TRI_FALSE;
    if (a == TRI_UNKNOWN || b == TRI_UNKNOWN)
        return TRI_UNKNOWN;
    return TRI_TRUE;
}

/* What a list of records (the values, or the fallback) has to offer. */
struct offer {
    size_t up;       /* may be published now */
    size_t waiting;  /* healthy, only waiting */
    size_t unknown;  /* no verdict, not published: may still come up */
    size_t never_up; /* the same, for want of a first success */
    size_t held_off; /* healthy, switched off by others */
    size_t verdicts; /* records of which something is known */
    bool all_never_up;
};

static bool is_surely_up(const struct decide_value *v)
{
    return v->healthy == TRI_TRUE && !v->waiting && !v->held_off;
}

/* A check that has never been up speaks only while another record of the
 * list is surely up; alone it knows nothing. */
static enum tri effective(const struct decide_value *v, size_t n, size_t i)
{
    if (v[i].healthy != TRI_FALSE || !v[i].never_up)
        return v[i].healthy;
    for (size_t k = 0; k < n; k++)
        if (k != i && is_surely_up(&v[k]))
            return TRI_FALSE;
    return TRI_UNKNOWN;
}

/* Unknown counts as up for what is published and as down for what is not. */
static bool counts_up(const struct decide_value *v, size_t n, size_t i)
{
    enum tri t = effective(v, n, i);

    if (v[i].held_off)
        return false;
    if (t == TRI_UNKNOWN)
        return v[i].published;
    return t == TRI_TRUE && (!v[i].waiting || v[i].published);
}

static struct offer look(const struct decide_value *v, size_t n)
{
    struct offer o = {.all_never_up = true};

    for (size_t i = 0; i < n; i++) {
        enum tri t = effective(v, n, i);

        o.verdicts += t != TRI_UNKNOWN;
        o.all_never_up = o.all_never_up && v[i].never_up;
        if (counts_up(v, n, i))
            o.up++;
        else if (v[i].held_off)
            o.held_off++;
        else if (t == TRI_TRUE)
            o.waiting++;
        else if (t == TRI_UNKNOWN && v[i].never_up)
            o.never_up++;
        else if (t == TRI_UNKNOWN)
            o.unknown++;
    }
    return o;
}

static bool is_waiting(const struct decide_value *v, size_t n, size_t i)
{
    return !counts_up(v, n, i) && !v[i].held_off && v[i].healthy == TRI_TRUE;
}

typedef bool pick_fn(const struct decide_value *v, size_t n, size_t i);

static void pick(const struct decide_set *set, const struct decide_value *v,
                 size_t n, pick_fn *fits, bool *out)
{
    size_t most = set->take > 0 ? set->take : n, got = 0;

    if (set->order == SPEC_PRIORITY && set->take == 0)
        most = 1;
    for (size_t i = 0; i < n && got < most; i++) {
        if (fits(v, n, i)) {
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

static struct decision all_down(const struct decide_set *set, bool *publish)
{
    struct decision d = {6, DECIDE_ALL_DOWN_NONE};

    if (set->all_down == SPEC_KEEP) {
        d.rule = DECIDE_ALL_DOWN_KEEP;
        keep(set, publish);
    } else if (set->all_down == SPEC_DOWN_ALL) {
        d.rule = DECIDE_ALL_DOWN_ALL;
        for (size_t i = 0; i < set->nvalues; i++)
            publish[i] = !set->values[i].held_off;
    }
    return d;
}

/* Something of this list may still turn out well: no lower tier yet. */
static bool must_hold(const struct offer *o, enum decide_rule *r)
{
    *r = o->unknown > 0 ? DECIDE_HOLD_UNKNOWN : DECIDE_HOLD_NEVER_UP;
    return o->unknown > 0 || o->never_up > 0;
}

struct decision decide_set(const struct decide_set *set, bool *publish)
{
    struct offer main = look(set->values, set->nvalues);
    struct offer rest = look(set->fallback, set->nfallback);
    struct decision d = {1, DECIDE_HEALTHY};
    enum decide_rule why;

    memset(publish, 0, (set->nvalues + set->nfallback) * sizeof *publish);
    if (set->nvalues == 0)
        return held(set, DECIDE_HOLD_EMPTY, publish);
    if (main.held_off == set->nvalues)
        return held(set, DECIDE_HOLD_HANDS, publish);
    /* Starting the agent changes nothing by itself: what counts as up only
     * because it is published displaces nobody. */
    if (main.verdicts == 0)
        return held(
            set, main.all_never_up ? DECIDE_HOLD_NEVER_UP : DECIDE_HOLD_UNKNOWN,
            publish);
    if (main.up > 0) {
        pick(set, set->values, set->nvalues, counts_up, publish);
        return d;
    }
    if (must_hold(&main, &why))
        return held(set, why, publish);
    if (main.waiting > 0) {
        pick(set, set->values, set->nvalues, is_waiting, publish);
        d.tier = 4;
        d.rule = DECIDE_WAITING;
        return d;
    }
    if (rest.up > 0 || rest.waiting > 0) {
        pick(set, set->fallback, set->nfallback,
             rest.up > 0 ? counts_up : is_waiting, publish + set->nvalues);
        d.tier = 5;
        d.rule = DECIDE_FALLBACK;
        return d;
    }
    if (must_hold(&rest, &why))
        return held(set, why, publish);
    return all_down(set, publish);
}

const char *decide_rule_text(enum decide_rule r)
{
    static const char *const texts[] = {
        [DECIDE_HEALTHY] = "healthy records",
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
    };

    return texts[r];
}

bool decide_rule_holds(enum decide_rule r)
{
    return r == DECIDE_ALL_DOWN_KEEP || r >= DECIDE_HOLD_UNKNOWN;
}
