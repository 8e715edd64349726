#include "agent/engine/decide/plan.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS (60 * MINUTE_MS)
#define DAMP_AFTER 3
#define RECLAIMS_PER_HOUR 3
_Static_assert(DAMP_AFTER <= MEMORY_EVENTS &&
                   RECLAIMS_PER_HOUR <= MEMORY_EVENTS,
               "the memory is too short");

/* --- events -------------------------------------------------------------- */

static void event_add(int64_t *events, int64_t now_ms)
{
    memmove(events + 1, events, (MEMORY_EVENTS - 1) * sizeof *events);
    events[0] = now_ms != 0 ? now_ms : 1; /* 0 means none */
}

static size_t events_since(const int64_t *events, int64_t from_ms)
{
    size_t n = 0;

    while (n < MEMORY_EVENTS && events[n] != 0 && events[n] > from_ms)
        n++;
    return n;
}

/* And the damping that comes of them. */
static void forget_withdrawals(struct memory_value *m)
{
    m->damp = 0;
    if (m->writes != NULL)
        memset(m->writes->withdrawals_ms, 0, sizeof m->writes->withdrawals_ms);
}

/* --- time ----------------------------------------------------------------- */

/* The set is to be looked at again then, at the latest. */
static void again_at(struct plan_set *set, int64_t at_ms, int64_t now_ms)
{
    if (at_ms > now_ms && (set->again_ms == 0 || at_ms < set->again_ms))
        set->again_ms = at_ms;
}

/* --- others' hands, damping ---------------------------------------------- */

/* return: manual, and out for want of health. */
static bool must_shut(const struct plan_value *v)
{
    return v->return_manual && !v->dropped && v->healthy == TRI_FALSE &&
           !v->maintenance;
}

static void look_at_hands(struct plan_value *v)
{
    struct memory_value *m = v->memory;

    v->confirm = v->confirm || m->uncertain; /* until it is written */
    /* A withdrawal whose answer was lost, and it happened. */
    if (m->seen && m->uncertain && m->expected && !v->published)
        m->shut = m->shut || must_shut(v);
    if (m->seen && !m->uncertain && m->expected != v->published) {
        m->put_in = v->published;
        /* Whoever puts a value in by hand has let it in; allDown: all, which
         * publishes what is shut, too, has not. */
        m->shut = m->shut && !v->published;
        m->held_off = !v->published && v->healthy != TRI_FALSE;
    }
    if (v->published || v->healthy == TRI_FALSE)
        m->held_off = false;
    if (v->published)
        m->withdrawn = m->returning = false;
    else
        m->put_in = false;
    m->seen = true;
    m->uncertain = false;
    m->expected = v->published;
}

static void look_at_health(struct plan_set *set, struct plan_value *v,
                           int64_t now_ms)
{
    struct memory_value *m = v->memory;

    if (v->maintenance)
        return;
    if (v->healthy == TRI_FALSE) {
        m->healthy_since_ms = 0;
        m->returning = true;
    } else if (v->healthy == TRI_TRUE && m->healthy_since_ms == 0) {
        m->healthy_since_ms = now_ms != 0 ? now_ms : 1;
    }
    if (m->healthy_since_ms != 0 && now_ms - m->healthy_since_ms >= HOUR_MS) {
        forget_withdrawals(m);
    }
    if (m->healthy_since_ms != 0 &&
        (m->damp > 0 || memory_written(m)->withdrawals_ms[0] != 0))
        again_at(set, m->healthy_since_ms + HOUR_MS, now_ms);
}

int64_t plan_damp_wait_ms(uint32_t damp)
{
    int64_t wait = PLAN_DAMP_FIRST_MS;

    if (damp == 0)
        return 0;
    while (--damp > 0 && wait < PLAN_DAMP_MOST_MS)
        wait *= 2;
    return wait < PLAN_DAMP_MOST_MS ? wait : PLAN_DAMP_MOST_MS;
}

static bool must_wait(struct plan_set *set, const struct plan_value *v,
                      int64_t now_ms)
{
    const struct memory_value *m = v->memory;
    int64_t wait_ms = set->damping ? plan_damp_wait_ms(m->damp) : 0;

    if (m->returning && v->return_after_ms > wait_ms)
        wait_ms = v->return_after_ms;
    if (v->healthy != TRI_TRUE || v->published || v->twin > 0)
        return false;
    again_at(set, m->healthy_since_ms + wait_ms, now_ms);
    return now_ms - m->healthy_since_ms < wait_ms;
}

/* --- one set ------------------------------------------------------------- */

static void keep_set(struct plan_set *set)
{
    for (size_t i = 0; i < set->nvalues; i++) {
        struct plan_value *v = &set->values[i];

        v->publish = v->published;
        /* No write now, not even to make sure: that is for a later round. */
        v->memory->uncertain = v->memory->uncertain || v->confirm;
        v->confirm = false;
    }
}

static struct decide_value describe(struct plan_set *set, struct plan_value *v,
                                    int64_t now_ms)
{
    struct decide_value d;

    v->waiting = must_wait(set, v, now_ms);
    d.class = v->class;
    d.dr_cond = v->dr_cond;
    d.dr_if_no_records = v->dr_if_no_records;
    d.healthy = v->healthy;
    d.never_up = v->never_up;
    d.waiting = v->waiting;
    d.barred = v->away || v->memory->shut;
    d.held_off = v->memory->held_off;
    d.published = v->published;
    return d;
}

/* A dropped value is left as it stands; one that the agent had created goes
 * once a healthy one of the spec is published. */
static void decide_dropped(struct plan_set *set)
{
    bool served = false;

    for (size_t i = 0; i < set->nvalues; i++) {
        const struct plan_value *v = &set->values[i];

        served = served || (!v->dropped && v->publish && v->published &&
                            v->healthy == TRI_TRUE);
    }
    for (size_t i = 0; i < set->nvalues; i++) {
        struct plan_value *v = &set->values[i];

        if (v->dropped)
            v->publish = v->published && !(v->memory->created && served);
    }
}

/* One value cannot be on and off: wanted by one of the twins is wanted. */
static void join_twins(struct plan_set *set)
{
    for (size_t i = 0; i < set->nvalues; i++) {
        const struct plan_value *v = &set->values[i];

        if (v->twin > 0 && v->publish)
            set->values[v->twin - 1].publish = true;
    }
    for (size_t i = 0; i < set->nvalues; i++)
        if (set->values[i].twin > 0)
            set->values[i].publish =
                set->values[set->values[i].twin - 1].publish;
}

/* What others put in against the decision is taken out three times an hour,
 * then left to them; but for a second CNAME, with which no server loads the
 * zone. What the decision wants is no longer theirs. */
static void limit_reclaims(struct plan_set *set, int64_t now_ms)
{
    for (size_t i = 0; i < set->nvalues; i++) {
        struct plan_value *v = &set->values[i];
        const int64_t *reclaims_ms = memory_written(v->memory)->reclaims_ms;

        if (v->publish && !v->dropped)
            v->memory->put_in = false;
        v->reclaim_held =
            !v->publish && v->published && v->memory->put_in &&
            set->type != SPEC_CNAME &&
            events_since(reclaims_ms, now_ms - HOUR_MS) >= RECLAIMS_PER_HOUR;
        if (v->reclaim_held) {
            v->publish = true;
            again_at(set, reclaims_ms[RECLAIMS_PER_HOUR - 1] + HOUR_MS, now_ms);
        }
    }
}

static void decide_one(struct plan_set *set, int64_t now_ms)
{
    struct decide_value *d = mem_array(set->nvalues, sizeof *d);
    bool *publish = mem_array(set->nvalues, sizeof *publish);
    struct decide_set in = {.order = set->order,
                            .take = set->take,
                            .single = set->type == SPEC_CNAME,
                            .all_down = set->all_down,
                            .values = d};
    size_t n = 0;

    for (size_t i = 0; i < set->nvalues; i++) {
        struct plan_value *v = &set->values[i];

        if (v->twin == 0) { /* twins share one memory: one look */
            look_at_hands(v);
            look_at_health(set, v, now_ms);
        }
        if (v->dropped)
            continue;
        d[n++] = describe(set, v, now_ms);
        if (v->fallback)
            in.nfallback++;
        else
            in.nvalues++;
    }
    in.fallback = d + in.nvalues;
    set->decision = decide_set(&in, publish);
    n = 0;
    for (size_t i = 0; i < set->nvalues; i++)
        if (!set->values[i].dropped)
            set->values[i].publish = publish[n++];
    join_twins(set);
    decide_dropped(set);
    limit_reclaims(set, now_ms);
    free(d);
    free(publish);
}

/* --- the sets that are looked at -------------------------------------------
 */

static size_t count_looked(const struct plan_zone *zone)
{
    return zone->some != NULL ? zone->nsome : zone->nsets;
}

static struct plan_set *looked_at(const struct plan_zone *zone, size_t i)
{
    return &zone->sets[zone->some != NULL ? zone->some[i] : i];
}

/* --- a blind agent does not act ------------------------------------------ */

static bool failed_twice_over(const struct plan_set *set)
{
    for (size_t i = 0; i < set->nvalues; i++) {
        const struct plan_value *v = &set->values[i];

        if (!v->dropped && v->healthy == TRI_FALSE &&
            v->fail_streak / 2 < v->need_failure)
            return false;
    }
    return true;
}

bool plan_is_change(const struct plan_value *v)
{
    return (v->publish != v->published || v->confirm) && v->twin == 0;
}

static size_t count_changes(const struct plan_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->nvalues; i++)
        n += plan_is_change(&set->values[i]);
    return n;
}

static void hold_blind(const struct plan_zone *zone, struct plan_set *set)
{
    if (set->unmapped)
        set->hold = PLAN_VIEW;
    else if (!set->observed)
        set->hold = PLAN_UNSEEN;
    else if (set->foreign && count_changes(set) > 0)
        set->hold = PLAN_FOREIGN;
    else if (set->frozen)
        set->hold = PLAN_FROZEN;
    else if (zone->blind)
        set->hold = PLAN_BLIND;
    else if (zone->learning && count_changes(set) > 0)
        set->hold = PLAN_LEARNING;
    else if (zone->alone && set->decision.tier >= 3 && count_changes(set) > 0 &&
             !failed_twice_over(set))
        set->hold = PLAN_ALONE;
    if (set->hold != PLAN_FREE)
        keep_set(set);
}

/* --- brake --------------------------------------------------------------- */

bool plan_is_check_withdrawal(const struct plan_value *v)
{
    return v->published && !v->publish && !v->dropped && v->twin == 0 &&
           v->healthy == TRI_FALSE && !v->maintenance &&
           v->access_period_ms > 0; /* 0: no check stands behind it */
}

static size_t count_withdrawals(const struct plan_set *set, int64_t *latest_ms)
{
    size_t n = 0;

    *latest_ms = INT64_MIN;
    for (size_t i = 0; i < set->nvalues; i++) {
        const struct plan_value *v = &set->values[i];

        if (!plan_is_check_withdrawal(v))
            continue;
        n++;
        if (v->decided_ms > *latest_ms)
            *latest_ms = v->decided_ms;
    }
    return n;
}

struct brake_row {
    struct plan_set *set;
    size_t n;
    int64_t latest_ms;
    size_t index;
};

static int brake_order(const void *pa, const void *pb)
{
    const struct brake_row *a = pa, *b = pb;

    if (a->latest_ms != b->latest_ms)
        return a->latest_ms < b->latest_ms ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static void brake_begin(struct plan_set *set, int64_t now_ms)
{
    set->memory->brake_since_ms = now_ms != 0 ? now_ms : 1;
    for (size_t i = 0; i < set->nvalues; i++)
        set->values[i].memory->brake_streak = set->values[i].fail_streak;
}

/* Its checks have failed for another access period and requiredFailure more
 * results: since the hold began, or since they were confirmed, if that was
 * later. A streak that has started anew counts from its start. */
static bool has_failed_on(struct plan_set *set, struct plan_value *v,
                          int64_t now_ms)
{
    int64_t since_ms = set->memory->brake_since_ms;
    uint32_t from = v->memory->brake_streak;

    if (v->decided_ms > since_ms) {
        since_ms = v->decided_ms;
        from = v->need_failure;
    }
    if (v->fail_streak < from)
        from = v->memory->brake_streak = 0;
    again_at(set, since_ms + v->access_period_ms, now_ms);
    return now_ms - since_ms >= v->access_period_ms &&
           v->fail_streak - from >= v->need_failure;
}

static bool brake_is_over(struct plan_set *set, int64_t now_ms)
{
    bool over = true;

    for (size_t i = 0; i < set->nvalues; i++) {
        struct plan_value *v = &set->values[i];

        if (plan_is_check_withdrawal(v))
            over = has_failed_on(set, v, now_ms) && over;
    }
    return over;
}

static void brake_hold(struct plan_set *set)
{
    set->hold = PLAN_BRAKE;
    keep_set(set);
}

/* What the agent itself has published since then does not count; what it has
 * taken out since then is counted from the times of the withdrawals. */
bool plan_stood(const struct plan_value *v, int64_t now_ms)
{
    int64_t changed_ms = memory_written(v->memory)->last_ms;

    return v->published && v->twin == 0 &&
           (changed_ms == 0 || now_ms - changed_ms >= PLAN_BRAKE_WINDOW_MS);
}

static size_t brake_measure(struct plan_zone *zone)
{
    size_t recent = 0;

    for (size_t i = 0; i < zone->nwithdrawn; i++)
        recent += zone->now_ms - zone->withdrawn_ms[i] < PLAN_BRAKE_WINDOW_MS;
    zone->published = recent + zone->stood;
    for (size_t i = 0; i < zone->nsets && !zone->counted; i++)
        for (size_t k = 0; k < zone->sets[i].nvalues; k++)
            zone->published +=
                plan_stood(&zone->sets[i].values[k], zone->now_ms);
    zone->allowed = zone->published * (size_t)zone->max_change_pct / 100;
    if (zone->allowed < PLAN_BRAKE_LEAST)
        zone->allowed = PLAN_BRAKE_LEAST;
    return recent;
}

static void brake(struct plan_zone *zone)
{
    struct brake_row *rows = mem_array(count_looked(zone), sizeof *rows);
    size_t n = 0, used = brake_measure(zone);
    bool full = false;

    for (size_t i = 0; i < count_looked(zone); i++) {
        struct plan_set *set = looked_at(zone, i);
        struct brake_row r = {set, 0, 0, (size_t)(set - zone->sets)};

        r.n = count_withdrawals(r.set, &r.latest_ms);
        if (r.n > 0)
            rows[n++] = r;
        else if (r.set->hold == PLAN_FREE)
            r.set->memory->brake_since_ms = 0;
    }
    qsort(rows, n, sizeof *rows, brake_order);
    for (size_t i = 0; i < n; i++) {
        struct plan_set *set = rows[i].set;

        if (set->memory->brake_since_ms != 0) {
            if (brake_is_over(set, zone->now_ms))
                used += rows[i].n;
            else
                brake_hold(set);
            continue;
        }
        full = full || used + rows[i].n > zone->allowed;
        if (full) {
            brake_begin(set, zone->now_ms);
            brake_hold(set);
        } else {
            used += rows[i].n;
        }
    }
    free(rows);
}

/* --- the whole ----------------------------------------------------------- */

void plan_make(struct plan_zone *zone)
{
    for (size_t i = 0; i < count_looked(zone); i++) {
        struct plan_set *set = looked_at(zone, i);

        set->hold = PLAN_FREE;
        set->again_ms = 0;
        if (set->observed)
            decide_one(set, zone->now_ms);
        hold_blind(zone, set);
    }
    brake(zone);
    for (size_t i = 0; i < count_looked(zone); i++) {
        struct plan_set *set = looked_at(zone, i);

        set->memory->tier = set->decision.tier;
        set->nchanges = (uint32_t)count_changes(set);
    }
}

static void remember_withdrawal(struct plan_set *set, struct plan_value *v,
                                int64_t now_ms)
{
    struct memory_value *m = v->memory;
    size_t recent;

    if (m->put_in) {
        event_add(memory_writes(m)->reclaims_ms, now_ms);
        return;
    }
    if (!plan_is_check_withdrawal(v))
        return;
    event_add(memory_writes(m)->withdrawals_ms, now_ms);
    recent = events_since(m->writes->withdrawals_ms, now_ms - 10 * MINUTE_MS);
    if (set->damping && (m->damp > 0 || recent >= DAMP_AFTER) &&
        m->damp < MEMORY_DAMP_MOST)
        m->damp++;
}

void plan_done(struct plan_set *set, struct plan_value *v, int64_t now_ms,
               bool unknown)
{
    struct memory_value *m = v->memory;

    m->uncertain = unknown;
    v->confirm = false;
    if (unknown)
        return;
    if (v->publish) {
        m->created = m->created || !v->present;
        m->held_off = m->returning = false;
    } else {
        m->shut = m->shut || (v->published && must_shut(v));
        remember_withdrawal(set, v, now_ms);
        set->memory->brake_since_ms = 0;
    }
    m->put_in = false;
    m->withdrawn = !v->publish;
    m->expected = v->publish;
    m->pending = true;
    memory_writes(m)->last_ms = now_ms;
}

void plan_readmit(struct memory_value *m)
{
    m->held_off = m->shut = m->returning = false;
    forget_withdrawals(m);
}

static bool all_in_maintenance(const struct plan_set *set)
{
    for (size_t i = 0; i < set->nvalues; i++)
        if (!set->values[i].dropped && !set->values[i].fallback &&
            !set->values[i].maintenance)
            return false;
    return set->nvalues > 0;
}

static const char *maintenance_reason(enum decide_rule rule)
{
    switch (rule) {
    case DECIDE_FALLBACK:
        return "every data centre is in maintenance: fallbackRecords";
    case DECIDE_ALL_DOWN_KEEP:
        return "every data centre is in maintenance: kept (allDown: keep)";
    case DECIDE_ALL_DOWN_ALL:
        return "every data centre is in maintenance: all published "
               "(allDown: all)";
    case DECIDE_ALL_DOWN_NONE:
        return "every data centre is in maintenance: none published "
               "(allDown: none)";
    default:
        return decide_rule_text(rule);
    }
}

const char *plan_reason(const struct plan_set *set)
{
    switch (set->hold) {
    case PLAN_VIEW:
        return "held: the agent's file says nothing about its view";
    case PLAN_FOREIGN:
        return "held: a CNAME that the spec does not name stands there, and a "
               "name has one at most";
    case PLAN_FROZEN:
        return "held: frozen by the operator";
    case PLAN_BLIND:
        return "held: no anchor answers, the agent may be cut off";
    case PLAN_ALONE:
        return "held: no check at all is up; more failures are awaited "
               "before DR, fallback or empty";
    case PLAN_BRAKE:
        return "held: more would be withdrawn within a minute than maxChange "
               "allows";
    case PLAN_LEARNING:
        return "held: the state was lost, this round only learns";
    case PLAN_UNSEEN:
        return "held: the provider's records could not be read";
    case PLAN_FREE:
        break;
    }
    return all_in_maintenance(set) ? maintenance_reason(set->decision.rule)
                                   : decide_rule_text(set->decision.rule);
}
