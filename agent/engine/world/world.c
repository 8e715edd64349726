#include "agent/engine/world/world.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/state/judge_text.h"
#include "agent/engine/world/world_build.h"

/* The living side of a zone: judging what changed. Building is
 * world_build.c. */

/* --- leaves -----------------------------------------------------------------
 */

struct leaf_env {
    struct world *w;
    struct world_spec *ws;
};

static struct check *check_of(const struct world_spec *ws, size_t check,
                              long place)
{
    size_t lo = 0, hi = ws->nleaves;

    if (!world_is_local(&ws->spec->checks[check]))
        place = 0;
    while (place >= 0 && lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct world_leaf *l = &ws->leaves[mid];

        if (l->check == check && l->place == (size_t)place)
            return l->at;
        if (l->check < check || (l->check == check && l->place < (size_t)place))
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static struct judge_leaf leaf(void *arg, size_t check, long place)
{
    const struct leaf_env *env = arg;
    const struct check *k = check_of(env->ws, check, place);
    struct judge_leaf l = {TRI_UNKNOWN, false, 0, 0, 0, 0};
    const struct health *h;

    if (k == NULL)
        return l;
    h = &k->row->health;
    if (h->state != HEALTH_UNKNOWN)
        l.up = h->state == HEALTH_UP ? TRI_TRUE : TRI_FALSE;
    l.never_up = h->state == HEALTH_DOWN && !h->ever_up;
    l.decided_ms = h->since_ms;
    l.fail_streak = h->last_ok ? 0 : h->streak;
    l.need_failure = k->spec->required_failure;
    l.access_period_ms = k->spec->access_period_ms;
    return l;
}

static bool maintenance(void *arg, const char *dc)
{
    const struct leaf_env *env = arg;

    return world_in_maintenance(env->w, dc, env->w->now_ms);
}

/* --- touching ----------------------------------------------------------------
 */

void world_touch(struct world *w, const struct check *c)
{
    if (c->id >= w->nchecks)
        return;
    for (size_t i = w->first[c->id]; i < w->first[c->id + 1]; i++)
        world_touch_spec(w, w->dependents[i]);
}

void world_touch_spec(struct world *w, size_t spec)
{
    if (w->specs[spec].dirty)
        return;
    w->specs[spec].dirty = true;
    w->dirty[w->ndirty++] = spec;
}

void world_touch_all(struct world *w)
{
    for (size_t i = 0; i < w->nspecs; i++)
        world_touch_spec(w, i);
}

/* --- judging
 * ------------------------------------------------------------------ */

static void hand_over(const struct judge_record *j, struct plan_value *v)
{
    v->healthy = j->healthy;
    v->never_up = j->never_up;
    v->maintenance = j->maintenance;
    v->away = j->barred;
    v->dr_cond = j->dr_cond;
    if (v->class == DECIDE_NORMAL && j->passive)
        v->class = DECIDE_PASSIVE;
    v->decided_ms = j->decided_ms;
    v->fail_streak = j->fail_streak;
    v->need_failure = j->need_failure & PLAN_NEED_MASK;
    v->access_period_ms = (uint32_t)j->access_period_ms;
}

static void judge_one(struct world *w, struct world_spec *ws, int64_t now_ms)
{
    struct leaf_env le = {w, ws};
    struct judge_env env = {leaf, maintenance, &le, w->agent_dc, now_ms};

    for (size_t i = 0; i < ws->nrecords; i++) {
        w->published[i] = false;
        for (uint32_t v = ws->values[i]; v > 0; v = w->values[v - 1].next)
            w->published[i] =
                w->published[i] || w->plan_values[v - 1].published;
    }
    judge_spec(ws->spec, &env, &ws->memory, w->published, ws->dcs, w->records);
    for (size_t i = 0; i < ws->nrecords; i++)
        for (uint32_t v = ws->values[i]; v > 0; v = w->values[v - 1].next)
            hand_over(&w->records[i], &w->plan_values[v - 1]);
    ws->dirty = false;
    for (size_t i = 0; i < ws->nsets; i++) {
        struct world_set *set = &w->sets[ws->sets[i]];

        if (!set->judged)
            w->judged[w->njudged++] = ws->sets[i];
        set->judged = true;
    }
}

size_t world_judge(struct world *w, int64_t now_ms)
{
    size_t n = w->ndirty;

    w->now_ms = now_ms;
    for (size_t i = 0; i < n; i++)
        judge_one(w, &w->specs[w->dirty[i]], now_ms);
    w->ndirty = 0;
    return n;
}

void world_clear_judged(struct world *w)
{
    for (size_t i = 0; i < w->njudged; i++)
        w->sets[w->judged[i]].judged = false;
    w->njudged = 0;
}

void world_save(struct world *w)
{
    for (size_t i = 0; i < w->nspecs; i++) {
        struct world_spec *ws = &w->specs[i];

        if (ws->row == NULL && judge_memory_is_empty(&ws->memory))
            continue;
        if (ws->row == NULL)
            ws->row = state_judge_get(w->state, w->zone, ws->spec->owner);
        judge_text_write(&ws->memory, ws->spec, ws->row);
    }
}

void world_free(struct world *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->nspecs; i++)
        judge_memory_fini(&w->specs[i].memory);
    free(w->claims);
}

/* --- conditions, for explain
 * --------------------------------------------------- */

enum tri world_cond(struct world *w, size_t spec, const struct spec_cond *cond,
                    long place)
{
    struct world_spec *ws = &w->specs[spec];
    struct leaf_env le = {w, ws};
    struct judge_env env = {leaf, maintenance, &le, w->agent_dc, w->now_ms};

    return judge_cond(ws->spec, &env, &ws->memory, ws->dcs, cond, place);
}

const struct check *world_check(const struct world *w, size_t spec,
                                size_t check, long place)
{
    return check_of(&w->specs[spec], check, place);
}

/* --- notes
 * ----------------------------------------------------------------------- */

static void note_check(const struct check *k, const struct check **best)
{
    if (k == NULL)
        return;
    if (*best == NULL || ((*best)->row->health.state != HEALTH_DOWN &&
                          k->row->health.state == HEALTH_DOWN))
        *best = k;
}

static void note_dc(const struct world_spec *ws, size_t dc,
                    const struct check **best)
{
    const struct spec_dc *d = &ws->spec->dcs[dc];

    for (int dim = 0; dim < SPEC_NDIMENSIONS; dim++)
        for (size_t i = 0; i < d->dims[dim].n; i++)
            note_check(check_of(ws, d->dims[dim].checks[i], -1), best);
}

static void note_cond(const struct world_spec *ws, const struct spec_cond *c,
                      long place, const struct check **best)
{
    switch (c->kind) {
    case SPEC_COND_CHECK:
        note_check(check_of(ws, c->ref, place), best);
        break;
    case SPEC_COND_SCENARIO:
        note_cond(ws, &ws->spec->scenarios[c->ref].cond, place, best);
        break;
    case SPEC_COND_DC:
    case SPEC_COND_DC_STATE:
    case SPEC_COND_DIMENSION:
    case SPEC_COND_MAINTENANCE:
        note_dc(ws, c->ref, best);
        break;
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        for (size_t i = 0; i < c->n; i++)
            note_cond(ws, &c->of[i], place, best);
        break;
    }
}

const char *world_note(const struct world *w, const struct world_set *set,
                       size_t value)
{
    const struct spec_record *rec = set->values[value].record;
    long place = set->values[value].place;
    const struct world_spec *ws = &w->specs[set->spec];
    const struct check *best = NULL;

    if (rec == NULL)
        return "";
    if (set->plan->values[value].maintenance)
        return "its data centre is in maintenance";
    for (size_t i = 0; i < rec->nchecks; i++)
        note_check(check_of(ws, rec->checks[i], place), &best);
    if (spec_rare_of(rec)->when != NULL)
        note_cond(ws, spec_rare_of(rec)->when, place, &best);
    if (rec->dc >= 0)
        note_dc(ws, (size_t)rec->dc, &best);
    return best != NULL && best->row->note != NULL ? best->row->note : "";
}

/* --- overrides
 * ---------------------------------------------------------------------- */

bool world_in_maintenance(const struct world *w, const char *dc, int64_t now_ms)
{
    return state_override_find(w->state, "maintenance", w->zone, dc, now_ms) !=
               NULL ||
           state_override_find(w->state, "maintenance", "*", dc, now_ms) !=
               NULL;
}

void world_apply_freezes(struct world *w, int64_t now_ms)
{
    bool all;

    if (w->plan.nsets == 0) /* a zone that failed has an empty world */
        return;
    all = state_override_find(w->state, "freeze", "*", "*", now_ms) != NULL ||
          state_override_find(w->state, "freeze", w->zone, "*", now_ms) != NULL;

    for (size_t i = 0; i < w->plan.nsets; i++) {
        struct plan_set *set = &w->plan.sets[i];

        set->frozen = all || state_override_find(w->state, "freeze", w->zone,
                                                 set->name, now_ms) != NULL;
    }
}
