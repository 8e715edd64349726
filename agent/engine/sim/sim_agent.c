#include <stdlib.h>
#include <string.h>

#include "agent/engine/sim/sim_internal.h"

/* The simulated agent, and its provider, which does everything at once. */

/* --- the provider ------------------------------------------------------------
 */

static long shown_find(const struct sim_shown *shown, const char *data)
{
    for (size_t i = 0; i < shown->n; i++)
        if (strcmp(shown->data[i], data) == 0)
            return (long)i;
    return -1;
}

static void shown_set(struct sim_shown *shown, const char *data, bool on)
{
    long at = shown_find(shown, data);

    if ((at >= 0) == on)
        return;
    if (on) {
        shown->data =
            mem_grow(shown->data, &shown->cap, shown->n, sizeof *shown->data);
        shown->data[shown->n++] = mem_strdup(data);
    } else {
        free(shown->data[at]);
        shown->data[at] = shown->data[--shown->n];
    }
}

/* A CNAME of somebody else, which a name has no room for. */
static void look_for_foreign(struct sim *s, size_t set)
{
    struct plan_set *ps = &s->w->plan.sets[set];

    ps->foreign = false;
    for (size_t i = 0; ps->type == SPEC_CNAME && i < s->shown[set].n; i++) {
        bool known = false;

        for (size_t k = 0; k < ps->nvalues; k++)
            known =
                known || strcmp(ps->values[k].data, s->shown[set].data[i]) == 0;
        ps->foreign = ps->foreign || !known;
    }
}

void sim_shown_put(struct sim *s, size_t set, const char *data, bool on)
{
    const struct plan_set *ps = &s->w->plan.sets[set];

    for (size_t k = 0; k < ps->nvalues; k++)
        if (ps->values[k].twin == 0 && strcmp(ps->values[k].data, data) == 0)
            live_seen(s->live, set, k, on, s->now_ms);
    shown_set(&s->shown[set], data, on); /* may free data */
    look_for_foreign(s, set);
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

/* All that the provider shows: those of the spec in chain order, then others'
 * by text. Heap, caller frees the array. */
static const char **list_shown(const struct sim *s, size_t set)
{
    const struct sim_shown *shown = &s->shown[set];
    const struct plan_set *ps = &s->w->plan.sets[set];
    const char **list = mem_array(shown->n, sizeof *list);
    size_t n = 0, ours;

    for (size_t k = 0; k < ps->nvalues; k++)
        if (ps->values[k].twin == 0 && ps->values[k].published)
            list[n++] = ps->values[k].data;
    ours = n;
    for (size_t i = 0; i < shown->n; i++) {
        bool known = false;

        for (size_t k = 0; k < ours && !known; k++)
            known = strcmp(list[k], shown->data[i]) == 0;
        if (!known)
            list[n++] = shown->data[i];
    }
    if (n > ours)
        qsort(list + ours, n - ours, sizeof *list, by_text);
    return list;
}

static void tell_set(struct sim *s, size_t set, int tier, const char *reason)
{
    const struct plan_set *ps = &s->w->plan.sets[set];
    const char **list = list_shown(s, set);
    struct sim_event ev = {.kind = SIM_SET,
                           .name = ps->name,
                           .type = ps->type,
                           .view = s->w->sets[set].claim->set->view,
                           .publish = list,
                           .npublish = s->shown[set].n,
                           .tier = tier,
                           .reason = reason};

    sim_tell(s, &ev);
    free(list);
}

static void write_set(struct sim *s, size_t set)
{
    struct plan_set *ps = &s->w->plan.sets[set];
    const char *reason = plan_reason(ps);
    int tier = ps->decision.tier;
    bool changed = false;

    if (ps->nchanges == 0)
        return;
    for (size_t k = 0; k < ps->nvalues; k++) {
        struct plan_value *v = &ps->values[k];

        if (!plan_is_change(v))
            continue;
        changed = changed || v->publish != v->published;
        shown_set(&s->shown[set], v->data, v->publish);
        live_done(s->live, set, k, s->now_ms);
    }
    if (changed)
        tell_set(s, set, tier, reason);
}

static int by_number(const void *a, const void *b)
{
    const size_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

void sim_agent_write(struct sim *s)
{
    size_t n;
    const size_t *some = live_sets(s->live, &n);
    size_t *sets = mem_array(n, sizeof *sets);

    if (n > 0) {
        memcpy(sets, some, n * sizeof *sets);
        qsort(sets, n, sizeof *sets, by_number);
    }
    for (size_t i = 0; i < n; i++)
        write_set(s, sets[i]);
    free(sets);
}

/* --- the agent ---------------------------------------------------------------
 */

static void on_refused(void *arg, const char *where, const struct err *e)
{
    (void)arg;
    (void)where;
    (void)e;
}

static void on_conflict(void *arg, const char *text)
{
    struct sim_event ev = {.kind = SIM_NOTE, .reason = text};

    sim_tell(arg, &ev);
}

static void on_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    (void)name;
    (void)data;
}

static const struct spec *apex_of(const struct sim_options *o)
{
    for (size_t i = 0; i < o->nspecs; i++)
        if (strcmp(o->specs[i]->owner, o->zone) == 0)
            return o->specs[i];
    return NULL;
}

size_t sim_targets(const struct check *c)
{
    return c->ntargets > 0 ? c->ntargets : 1;
}

/* What stays when the agent goes. */
static void make_outside(struct sim *s)
{
    s->nchecks = checks_count(s->checks);
    s->nsets = s->w->plan.nsets;
    s->shown = mem_array(s->nsets, sizeof *s->shown);
    s->told = mem_array(s->nsets, sizeof *s->told);
    s->met = mem_array(s->nchecks, sizeof *s->met);
    for (size_t i = 0; i < s->nchecks; i++)
        s->met[i] =
            mem_array(sim_targets(checks_at(s->checks, i)), sizeof **s->met);
}

static void look_at_provider(struct sim *s)
{
    for (size_t i = 0; i < s->nsets; i++) {
        struct plan_set *ps = &s->w->plan.sets[i];

        ps->observed = true;
        for (size_t k = 0; k < ps->nvalues; k++) {
            struct plan_value *v = &ps->values[k];

            v->present = v->published = shown_find(&s->shown[i], v->data) >= 0;
        }
    }
}

static void start_checks(struct sim *s)
{
    s->sched = sched_new(s->o->seed, sizeof(struct check *));
    s->entries = mem_array(s->nchecks, sizeof(struct sched_entry *));
    s->nup = 0;
    s->hurried = false;
    for (size_t i = 0; i < s->nchecks; i++) {
        struct check *c = checks_at(s->checks, i);
        const struct sched_pace pace = {c->spec->access_period_ms,
                                        c->spec->retry_period_ms};
        size_t len = 0;
        const char *key = checks_probe_key(c, &len);
        struct check **room;

        s->entries[i] = sched_add(s->sched, key, len, &pace, s->now_ms);
        room = sched_room(s->entries[i]);
        *room = c;
        s->nup += c->row->health.state == HEALTH_UP;
    }
}

int sim_agent_start(struct sim *s, struct err *e)
{
    const struct world_events ev = {on_refused, on_conflict, on_opted_out, s};
    const struct spec *apex = apex_of(s->o);
    int64_t debounce_ms = LIVE_DEBOUNCE_MS;

    if (state_open(s->o->state_path, false, &s->state, e) != 0)
        return -1;
    s->checks = checks_new(s->state);
    s->arena = arena_new();
    s->w = world_new(s->arena, s->o->zone, s->o->specs, s->o->nspecs, s->state,
                     s->checks, NULL, NULL, s->o->agent_dc, s->now_ms, &ev);
    if (apex != NULL && apex->top->max_change_pct >= 0)
        s->w->plan.max_change_pct = apex->top->max_change_pct;
    if (apex != NULL && apex->top->debounce_ms >= 0)
        debounce_ms = apex->top->debounce_ms;
    if (s->shown == NULL)
        make_outside(s);
    look_at_provider(s);
    world_apply_freezes(s->w, s->now_ms);
    s->live = live_new(s->w, state_zone_get(s->state, s->o->zone), debounce_ms,
                       s->now_ms);
    start_checks(s);
    return 0;
}

void sim_agent_stop(struct sim *s)
{
    sched_free(s->sched);
    s->sched = NULL;
    free(s->entries);
    s->entries = NULL;
    live_free(s->live);
    s->live = NULL;
    world_free(s->w);
    s->w = NULL;
    arena_free(s->arena);
    s->arena = NULL;
    checks_free(s->checks);
    s->checks = NULL;
    state_close(s->state);
    s->state = NULL;
}

int sim_agent_restart(struct sim *s, struct err *e)
{
    world_save(s->w);
    if (state_save(s->state, e) != 0)
        return -1;
    sim_agent_stop(s);
    return sim_agent_start(s, e);
}
