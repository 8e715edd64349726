#include "agent/engine/world/when.h"

#include <stdlib.h>
#include <string.h>

static const struct when already = {0, NULL, 0};
static const struct when never = {WHEN_NEVER, NULL, 0};

static struct when sooner(struct when a, struct when b)
{
    return b.at_ms < a.at_ms ? b : a;
}

static struct when later(struct when a, struct when b)
{
    return b.at_ms > a.at_ms ? b : a;
}

/* All of both (want), or one that fails. */
static struct when both(struct when a, struct when b, bool want)
{
    return want ? later(a, b) : sooner(a, b);
}

/* --- checks -------------------------------------------------------------- */

/* When it is asked next. Rounds re-probe at retryPeriod until they agree; a
 * service does so at once. */
static int64_t next_probe_ms(const struct when_env *env, const struct check *k)
{
    const struct health *h = &k->row->health;
    int64_t pace = health_is_settled(h) ? k->spec->access_period_ms
                                        : k->spec->retry_period_ms;
    int64_t at;

    if (env->cron_ms > 0)
        pace = env->cron_ms;
    at = h->last_ms != 0 ? h->last_ms + pace : env->now_ms;
    return at > env->now_ms ? at : env->now_ms;
}

struct when when_check(const struct when_env *env, const struct check *k,
                       bool want)
{
    const struct health *h;
    uint32_t need, have;
    struct when t;

    if (k == NULL)
        return never;
    h = &k->row->health;
    if (h->state == (want ? HEALTH_UP : HEALTH_DOWN))
        return already;
    need = want ? k->spec->required_success : k->spec->required_failure;
    have = h->last_ok == want ? h->streak : 0;
    t.missing = have < need ? need - have : 1;
    t.check = k;
    t.at_ms = next_probe_ms(env, k) +
              (int64_t)(t.missing - 1) * k->spec->retry_period_ms;
    return t;
}

/* In a condition a check that was never up says nothing. */
static struct when leaf(const struct when_env *env, size_t check, long place,
                        bool want)
{
    const struct check *k = world_check(env->w, env->spec, check, place);

    if (k != NULL && !want && k->row->health.state == HEALTH_DOWN &&
        !k->row->health.ever_up)
        return never;
    return when_check(env, k, want);
}

/* --- so many of them ----------------------------------------------------- */

static int by_time(const void *pa, const void *pb)
{
    const struct when *a = pa, *b = pb;

    return a->at_ms < b->at_ms ? -1 : a->at_ms > b->at_ms;
}

/* At least need of n are as wanted; for want false: so many are not that the
 * rest is too few. Reorders t. */
static struct when reach(struct when *t, size_t n, size_t need, bool want)
{
    size_t rank = want ? need : n - need + 1;

    if (need > n)
        return want ? never : already;
    if (rank == 0)
        return already;
    if (rank > n)
        return never;
    qsort(t, n, sizeof *t, by_time);
    return t[rank - 1];
}

/* --- data centres -------------------------------------------------------- */

static const struct spec_dc *dc_of(const struct when_env *env, size_t dc)
{
    return &env->w->specs[env->spec].spec->dcs[dc];
}

/* A dimension that is not given is up. */
static struct when dimension(const struct when_env *env, size_t dc,
                             enum spec_dimension d, bool want)
{
    const struct spec_dc *s = dc_of(env, dc);
    struct when *t, found;

    if (!s->dims[d].given)
        return want ? already : never;
    t = mem_array(s->dims[d].n, sizeof *t);
    for (size_t i = 0; i < s->dims[d].n; i++)
        t[i] = leaf(env, s->dims[d].checks[i], -1, want);
    found = reach(t, s->dims[d].n, s->dims[d].need, want);
    free(t);
    return found;
}

static bool counts_internet(const struct when_env *env, size_t dc)
{
    return env->w->agent_dc != NULL &&
           strcmp(env->w->agent_dc, dc_of(env, dc)->name) == 0;
}

static struct when maintenance(const struct when_env *env, size_t dc, bool want)
{
    const struct spec_dc *s = dc_of(env, dc);
    const struct state_override *row[2];
    struct when t = already;
    bool is = env->w->specs[env->spec].dcs[dc].maintenance;

    if (is == want)
        return already;
    if (want || s->maintenance)
        return never;
    row[0] = state_override_find(env->w->state, "maintenance", env->w->zone,
                                 s->name, env->now_ms);
    row[1] = state_override_find(env->w->state, "maintenance", "*", s->name,
                                 env->now_ms);
    for (int i = 0; i < 2; i++)
        if (row[i] != NULL && row[i]->until_ms == 0)
            return never;
        else if (row[i] != NULL && row[i]->until_ms > t.at_ms)
            t.at_ms = row[i]->until_ms;
    return t;
}

struct when when_dc(const struct when_env *env, size_t dc, bool want)
{
    const struct spec_dc *s = dc_of(env, dc);
    struct when t = maintenance(env, dc, !want);

    for (int d = 0; d < SPEC_NDIMENSIONS; d++) {
        enum spec_dimension dim = (enum spec_dimension)d;

        if (!s->dims[d].given)
            continue;
        if (d != SPEC_WAN && d != SPEC_ACCESS && !s->needs[d] &&
            (d != SPEC_INTERNET || !counts_internet(env, dc)))
            continue;
        t = both(t, dimension(env, dc, dim, want), want);
    }
    return t;
}

/* The state comes, or goes; what stands before it in the order of states is
 * left out: a lower bound. */
static struct when dc_state(const struct when_env *env, size_t dc,
                            enum spec_dc_state state, bool want)
{
    bool down = !want; /* what the dimension must become */
    struct when wan = dimension(env, dc, SPEC_WAN, down);
    struct when lan = dimension(env, dc, SPEC_LAN, down);
    struct when access = dimension(env, dc, SPEC_ACCESS, down);
    struct when internet = counts_internet(env, dc)
                               ? dimension(env, dc, SPEC_INTERNET, down)
                               : (want ? never : already);

    switch (state) {
    case SPEC_DC_NO_INTERNET:
        return internet;
    case SPEC_DC_NO_ACCESS:
        return want ? sooner(access, later(wan, lan))
                    : later(access, sooner(wan, lan));
    case SPEC_DC_NO_WAN:
        return wan;
    case SPEC_DC_NO_LAN:
        return lan;
    case SPEC_DC_OK:
    case SPEC_NDC_STATES:
        break;
    }
    wan = dimension(env, dc, SPEC_WAN, want);
    lan = dimension(env, dc, SPEC_LAN, want);
    access = dimension(env, dc, SPEC_ACCESS, want);
    return both(both(wan, lan, want), access, want);
}

/* --- conditions ---------------------------------------------------------- */

static struct when parts(const struct when_env *env, const struct spec_cond *c,
                         long place, bool want)
{
    size_t need = c->kind == SPEC_COND_ALL   ? c->n
                  : c->kind == SPEC_COND_ANY ? 1
                                             : c->need;
    struct when *t = mem_array(c->n, sizeof *t), found;

    for (size_t i = 0; i < c->n; i++)
        t[i] = when_cond(env, &c->of[i], place, want);
    found = reach(t, c->n, need, want);
    free(t);
    return found;
}

struct when when_cond(const struct when_env *env, const struct spec_cond *c,
                      long place, bool want)
{
    const struct spec *s = env->w->specs[env->spec].spec;

    if (c->negate)
        want = !want;
    switch (c->kind) {
    case SPEC_COND_CHECK:
        return leaf(env, c->ref, place, want);
    case SPEC_COND_DC:
        return when_dc(env, c->ref, want);
    case SPEC_COND_DC_STATE:
        return dc_state(env, c->ref, c->state, want);
    case SPEC_COND_DIMENSION:
        return dimension(env, c->ref, c->dimension, want);
    case SPEC_COND_MAINTENANCE:
        return maintenance(env, c->ref, want);
    case SPEC_COND_SCENARIO:
        return when_cond(env, &s->scenarios[c->ref].cond, place, want);
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        break;
    }
    return parts(env, c, place, want);
}

struct when when_record(const struct when_env *env,
                        const struct spec_record *rec, long place, bool want)
{
    struct when t = want ? already : never;

    for (size_t i = 0; i < rec->nchecks; i++)
        t = both(t,
                 when_check(
                     env, world_check(env->w, env->spec, rec->checks[i], place),
                     want),
                 want);
    if (spec_rare_of(rec)->when != NULL)
        t = both(t, when_cond(env, spec_rare_of(rec)->when, place, want), want);
    if (rec->dc >= 0)
        t = both(t, when_dc(env, (size_t)rec->dc, want), want);
    return t;
}

/* --- the brake ----------------------------------------------------------- */

int64_t when_brake(const struct when_env *env, const struct plan_set *set)
{
    int64_t since_ms = set->memory->brake_since_ms, at_ms = env->now_ms;

    for (size_t i = 0; i < set->nvalues; i++) {
        const struct plan_value *v = &set->values[i];
        int64_t pace = env->cron_ms > 0 ? env->cron_ms : v->access_period_ms;
        int64_t waited_ms = since_ms + v->access_period_ms, failed_ms;
        uint32_t more = v->fail_streak - v->memory->brake_streak;

        if (!v->published || v->healthy != TRI_FALSE || v->maintenance ||
            v->dropped)
            continue;
        if (v->fail_streak < v->memory->brake_streak)
            more = v->fail_streak;
        failed_ms = env->now_ms;
        if (more < v->need_failure)
            failed_ms += (int64_t)(v->need_failure - more) * pace;
        at_ms = waited_ms > at_ms ? waited_ms : at_ms;
        at_ms = failed_ms > at_ms ? failed_ms : at_ms;
    }
    return at_ms;
}
