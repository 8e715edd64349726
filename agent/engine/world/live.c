#include "agent/engine/world/live.h"

#include <stdlib.h>
#include <string.h>

struct recent { /* published by the agent within the last minute */
    const struct plan_value *v;
    int64_t at_ms;
};

struct live {
    struct world *w;
    struct state_zone *row;
    int64_t debounce_ms;
    int64_t flush_ms; /* when changes are carried out; INT64_MAX: none wait */
    /* Sets that are looked at, or will be when their time has come. */
    size_t *active, nactive;
    bool *is_active, *is_new;
    size_t *some, nsome;   /* of the last step */
    size_t published;      /* values, twins counted once */
    struct recent *recent; /* by time, from first on */
    size_t first_recent, nrecent, cap_recent;
    size_t fresh; /* of them, those that are published since then */
    size_t held[PLAN_UNSEEN + 1]; /* sets, by what holds them */
    size_t nheld;
};

/* --- what is published -----------------------------------------------------
 */

static bool is_recent(const struct plan_value *v, int64_t now_ms)
{
    return v->published && v->twin == 0 && !plan_stood(v, now_ms);
}

static bool is_noted(const struct live *l, const struct recent *r)
{
    for (size_t i = l->nrecent; i-- > l->first_recent;)
        if (l->recent[i].v == r->v && l->recent[i].at_ms == r->at_ms)
            return true;
    return false;
}

/* again: it may be noted already, or be older than the last note. */
static void note_recent(struct live *l, const struct plan_value *v, bool again)
{
    const struct recent r = {v, memory_written(v->memory)->last_ms};
    size_t at = l->nrecent;

    l->fresh++;
    if (again && is_noted(l, &r))
        return;
    l->recent =
        mem_grow(l->recent, &l->cap_recent, l->nrecent, sizeof *l->recent);
    for (; at > l->first_recent && l->recent[at - 1].at_ms > r.at_ms; at--)
        l->recent[at] = l->recent[at - 1];
    l->recent[at] = r;
    l->nrecent++;
}

/* Notes older than a minute go. One of a value that came and went says
 * nothing any more. */
static void drop_notes(struct live *l, int64_t now_ms)
{
    while (l->first_recent < l->nrecent &&
           now_ms - l->recent[l->first_recent].at_ms >= PLAN_BRAKE_WINDOW_MS) {
        const struct recent *r = &l->recent[l->first_recent++];

        l->fresh -= r->v->published && r->v->twin == 0 &&
                    memory_written(r->v->memory)->last_ms == r->at_ms;
    }
    if (l->first_recent <= l->nrecent / 2)
        return;
    l->nrecent -= l->first_recent;
    memmove(l->recent, l->recent + l->first_recent,
            l->nrecent * sizeof *l->recent);
    l->first_recent = 0;
}

static void set_published(struct live *l, struct plan_set *ps, size_t value,
                          bool on)
{
    struct plan_value *v = &ps->values[value];

    if (v->twin > 0)
        return;
    l->published += on;
    l->published -= v->published;
    for (size_t i = value; i < ps->nvalues; i++)
        if (i == value || ps->values[i].twin == value + 1) {
            ps->values[i].published = on;
            ps->values[i].present = ps->values[i].present || on;
        }
}

/* --- making -----------------------------------------------------------------
 */

static void activate(struct live *l, size_t set)
{
    l->is_new[set] = true;
    if (l->is_active[set])
        return;
    l->is_active[set] = true;
    l->active[l->nactive++] = set;
}

struct live *live_new(struct world *w, struct state_zone *row,
                      int64_t debounce_ms, int64_t now_ms)
{
    struct live *l = mem_alloc(sizeof *l);
    size_t n = w->plan.nsets;

    l->w = w;
    l->row = row;
    l->debounce_ms = debounce_ms;
    l->flush_ms = INT64_MAX;
    l->active = mem_array(n, sizeof *l->active);
    l->some = mem_array(n, sizeof *l->some);
    l->is_active = mem_array(n, sizeof *l->is_active);
    l->is_new = mem_array(n, sizeof *l->is_new);
    for (size_t i = 0; i < n; i++) {
        activate(l, i);
        for (size_t k = 0; k < w->plan.sets[i].nvalues; k++) {
            const struct plan_value *v = &w->plan.sets[i].values[k];

            l->published += v->published && v->twin == 0;
            if (is_recent(v, now_ms))
                note_recent(l, v, true);
        }
    }
    w->plan.counted = true;
    w->plan.withdrawn_ms = row->withdrawn_ms;
    return l;
}

void live_free(struct live *l)
{
    if (l == NULL)
        return;
    free(l->active);
    free(l->some);
    free(l->is_active);
    free(l->is_new);
    free(l->recent);
    free(l);
}

/* --- what happens ------------------------------------------------------------
 */

bool live_result(struct live *l, struct check *c, enum health_result result,
                 int64_t now_ms)
{
    const struct health_rule rule = checks_rule(c);
    bool changed = health_feed(&c->row->health, &rule, result, now_ms);

    /* A set that is held, or waits for the debounce, counts the failures of
     * what is down already. */
    if (changed || l->nheld > 0 || l->flush_ms != INT64_MAX)
        world_touch(l->w, c);
    return changed;
}

void live_seen(struct live *l, size_t set, size_t value, bool published,
               int64_t now_ms)
{
    struct plan_set *ps = &l->w->plan.sets[set];

    drop_notes(l, now_ms);
    l->fresh -= is_recent(&ps->values[value], now_ms);
    set_published(l, ps, value, published);
    if (is_recent(&ps->values[value], now_ms))
        note_recent(l, &ps->values[value], true);
    world_touch_spec(l->w, l->w->sets[set].spec);
    activate(l, set);
}

void live_before_override(struct live *l, int64_t now_ms)
{
    world_touch_all(l->w);
    (void)world_judge(l->w, now_ms);
}

void live_after_override(struct live *l, int64_t now_ms)
{
    world_apply_freezes(l->w, now_ms);
    world_touch_all(l->w);
    for (size_t i = 0; i < l->w->plan.nsets; i++)
        activate(l, i);
}

/* --- steps --------------------------------------------------------------- */

static bool is_pending(const struct plan_set *ps)
{
    return ps->nchanges > 0 || ps->hold != PLAN_FREE;
}

/* What is to be planned in this step. */
static void choose(struct live *l, int64_t now_ms)
{
    l->nsome = 0;
    for (size_t i = 0; i < l->nactive; i++) {
        size_t set = l->active[i];
        const struct plan_set *ps = &l->w->plan.sets[set];

        if (l->is_new[set] || is_pending(ps) ||
            (ps->again_ms != 0 && ps->again_ms <= now_ms))
            l->some[l->nsome++] = set;
        l->is_new[set] = false;
    }
}

static void plan_some(struct live *l, bool alone, int64_t now_ms)
{
    struct plan_zone *zone = &l->w->plan;
    size_t most = sizeof l->row->withdrawn_ms / sizeof l->row->withdrawn_ms[0];

    zone->now_ms = now_ms;
    zone->alone = alone;
    zone->some = l->some;
    zone->nsome = l->nsome;
    drop_notes(l, now_ms);
    zone->stood = l->published - l->fresh;
    zone->nwithdrawn = 0;
    while (zone->nwithdrawn < most && l->row->withdrawn_ms[zone->nwithdrawn] &&
           now_ms - l->row->withdrawn_ms[zone->nwithdrawn] <
               PLAN_BRAKE_WINDOW_MS)
        zone->nwithdrawn++;
    plan_make(zone);
}

/* Drops what is settled; returns whether something waits to be written. */
static bool sort_out(struct live *l)
{
    size_t n = 0;
    bool pending = false;

    memset(l->held, 0, sizeof l->held);
    l->nheld = 0;
    for (size_t i = 0; i < l->nactive; i++) {
        size_t set = l->active[i];
        const struct plan_set *ps = &l->w->plan.sets[set];

        pending = pending || ps->nchanges > 0;
        l->held[ps->hold]++;
        l->nheld += ps->hold != PLAN_FREE;
        if (is_pending(ps) || ps->again_ms != 0)
            l->active[n++] = set;
        else
            l->is_active[set] = false;
    }
    l->nactive = n;
    return pending;
}

/* What is planned because its time has come is judged first: how often its
 * checks have failed meanwhile is no change of state, and counts. */
static void touch_due(struct live *l, int64_t now_ms)
{
    for (size_t i = 0; i < l->nactive; i++) {
        const struct plan_set *ps = &l->w->plan.sets[l->active[i]];

        if (ps->again_ms != 0 && ps->again_ms <= now_ms)
            world_touch_spec(l->w, l->w->sets[l->active[i]].spec);
    }
}

bool live_step(struct live *l, bool alone, int64_t now_ms)
{
    touch_due(l, now_ms);
    (void)world_judge(l->w, now_ms);
    for (size_t i = 0; i < l->w->njudged; i++)
        activate(l, l->w->judged[i]);
    world_clear_judged(l->w);
    choose(l, now_ms);
    plan_some(l, alone, now_ms);
    if (!sort_out(l)) {
        l->flush_ms = INT64_MAX;
        return false;
    }
    if (l->flush_ms == INT64_MAX)
        l->flush_ms = now_ms + l->debounce_ms;
    if (l->flush_ms > now_ms)
        return false;
    l->flush_ms = INT64_MAX;
    return true;
}

int64_t live_next(const struct live *l)
{
    int64_t next_ms = l->flush_ms;

    for (size_t i = 0; i < l->nactive; i++) {
        int64_t at_ms = l->w->plan.sets[l->active[i]].again_ms;

        if (at_ms != 0 && at_ms < next_ms)
            next_ms = at_ms;
    }
    return next_ms;
}

const size_t *live_sets(const struct live *l, size_t *n)
{
    *n = l->nsome;
    return l->some;
}

bool live_holds(const struct live *l, enum plan_hold hold)
{
    return l->held[hold] > 0;
}

/* --- carried out --------------------------------------------------------- */

static void remember_withdrawal(struct state_zone *row, int64_t now_ms)
{
    int64_t *t = row->withdrawn_ms;
    size_t n = sizeof row->withdrawn_ms / sizeof t[0];

    memmove(t + 1, t, (n - 1) * sizeof t[0]);
    t[0] = now_ms != 0 ? now_ms : 1;
}

void live_done(struct live *l, size_t set, size_t value, int64_t now_ms)
{
    struct plan_set *ps = &l->w->plan.sets[set];
    struct plan_value *v = &ps->values[value];

    drop_notes(l, now_ms);
    l->fresh -= is_recent(v, now_ms);
    if (plan_is_check_withdrawal(v))
        remember_withdrawal(l->row, now_ms);
    plan_done(ps, v, now_ms, false);
    if (v->dropped && !v->publish)
        v->memory->withdrawn = false; /* done with, not switched off */
    set_published(l, ps, value, v->publish);
    if (is_recent(v, now_ms))
        note_recent(l, v, false);
    /* onlyNew asks whether another data centre was published meanwhile. */
    world_touch_spec(l->w, l->w->sets[set].spec);
    activate(l, set);
}
