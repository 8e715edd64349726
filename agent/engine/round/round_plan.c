#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/engine/round/round_internal.h"

/* Sixth stage: what the provider shows, and what is to be done. The
 * provider's own list is what counts, not DNS: DNS follows it later. */

enum rr_type round_rr_type(enum spec_type t)
{
    return t == SPEC_A ? RR_A : t == SPEC_AAAA ? RR_AAAA : RR_CNAME;
}

/* A name has one CNAME at most: one that is not ours stays. */
static bool has_foreign(const struct plan_set *ps, const struct rrset *have)
{
    for (size_t i = 0; have != NULL && i < have->n; i++) {
        bool ours = false;

        for (size_t k = 0; k < ps->nvalues; k++)
            ours =
                ours || strcmp(ps->values[k].data, have->values[i].data) == 0;
        if (!ours && have->values[i].enabled)
            return true;
    }
    return false;
}

static void take_set(struct round_zone *z, size_t s,
                     const struct rrset_list *list)
{
    struct plan_set *ps = &z->world->plan.sets[s];
    const struct rrset *have =
        rrset_find(list, ps->name, round_rr_type(ps->type));

    ps->observed = true;
    ps->masked = have != NULL && have->masked;
    ps->foreign = ps->type == SPEC_CNAME && has_foreign(ps, have);
    for (size_t k = 0; k < ps->nvalues; k++) {
        struct plan_value *v = &ps->values[k];
        const struct rr_value *rv =
            have != NULL ? rrset_value_find(have, v->data) : NULL;

        bool on = rv != NULL && rv->enabled;

        v->present = rv != NULL;
        if (z->live == NULL)
            v->published = on;
        else if (v->published != on || v->memory->uncertain)
            live_seen(z->live, s, k, on, state_now_ms());
    }
}

static bool is_in(const struct round_audience *a, size_t set)
{
    return round_audience_of(a->zone, set) == a &&
           !a->zone->world->plan.sets[set].unmapped;
}

static bool expects_something(const struct round_audience *a)
{
    const struct round_zone *z = a->zone;

    for (size_t s = 0; s < z->world->plan.nsets; s++)
        for (size_t k = 0; k < z->world->plan.sets[s].nvalues; k++)
            if (is_in(a, s) &&
                z->world->plan.sets[s].values[k].memory->expected)
                return true;
    return false;
}

/* "", or " of view eu" behind what is told of a provider. */
static void of_view(const struct round_audience *a, char out[ROUND_TYPE_SIZE])
{
    (void)snprintf(out, ROUND_TYPE_SIZE, "%s%s",
                   a->view != NULL ? " of view " : "",
                   a->view != NULL ? a->view->name : "");
}

static void on_records(void *arg, const struct provider_records *records)
{
    struct round_audience *a = arg;
    struct round_zone *z = a->zone;
    struct round *r = z->round;
    char view[ROUND_TYPE_SIZE], key[ROUND_TYPE_SIZE + 16];

    of_view(a, view);
    (void)snprintf(key, sizeof key, "records%s", view);
    if (records->err.code != ERR_NONE) {
        round_problem(r, z->name, key, "%s records%s at provider %s: %s",
                      z->name, view, a->cfg->name, records->err.msg);
    } else if (records->sets->n == 0 && expects_something(a)) {
        round_problem(r, z->name, key,
                      "%s the list of records%s at provider %s came back "
                      "empty; that proves nothing, all %ssets are held",
                      z->name, view, a->cfg->name,
                      a->view != NULL ? "its " : "");
    } else {
        a->observed = z->observed = true;
        for (size_t s = 0; s < z->world->plan.nsets; s++)
            if (is_in(a, s))
                take_set(z, s, records->sets);
    }
    round_end(r);
}

static void observe(struct round_audience *a)
{
    struct round_zone *z = a->zone;
    struct round *r = z->round;
    const struct plan_zone *plan = &z->world->plan;
    const char **names = arena_array(r->arena, plan->nsets, sizeof *names);
    size_t n = 0;

    a->observed = false;
    for (size_t s = 0; s < plan->nsets; s++)
        if (is_in(a, s) &&
            (n == 0 || !name_equal(names[n - 1], plan->sets[s].name)))
            names[n++] = plan->sets[s].name;
    if (n == 0 || a->provider == NULL) {
        a->observed = n == 0;
        z->observed = z->observed || (n == 0 && plan->nsets > 0);
        return;
    }
    round_begin(r);
    a->provider->ops->list_records(a->provider, z->name, names, n, on_records,
                                   a);
}

void round_observe(struct round_zone *z)
{
    for (size_t i = 0; i < z->naudiences; i++)
        observe(&z->audiences[i]);
}

/* --- telling ------------------------------------------------------------- */

static void detail_set(struct round_zone *z, const struct plan_set *ps,
                       const char *label)
{
    struct buf found, wanted;

    if (!z->round->o->detail)
        return;
    buf_init(&found, 800);
    buf_init(&wanted, 800);
    for (size_t k = 0; k < ps->nvalues; k++) {
        const struct plan_value *v = &ps->values[k];

        if (v->published)
            buf_printf(&found, " %s", v->data);
        if (v->publish)
            buf_printf(&wanted, " %s", v->data);
    }
    round_detail(z->round, z->name, "%s %s found:%s; wanted:%s; %s", ps->name,
                 label, found.len > 0 ? found.data : " none",
                 wanted.len > 0 ? wanted.data : " none", plan_reason(ps));
    buf_fini(&found);
    buf_fini(&wanted);
}

static void problem_of_value(struct round_zone *z, const struct plan_set *ps,
                             const struct plan_value *v)
{
    char what[ROUND_KEY_SIZE], key[ROUND_KEY_SIZE + 64];
    const char *in = ps->view != NULL ? ", view " : "";
    const char *view = ps->view != NULL ? ps->view : "";

    round_set_key(what, "hands", ps);
    (void)snprintf(key, sizeof key, "%s %.60s", what, v->data);
    if (v->memory->held_off)
        round_warn(z->round, z->name, key,
                   "%s (%s%s%s) is healthy, but was switched off by somebody "
                   "else: it stays off until it goes down and up again",
                   ps->name, v->data, in, view);
    else if (v->reclaim_held)
        round_warn(z->round, z->name, key,
                   "%s (%s%s%s) is switched on by somebody else again and "
                   "again: left on now",
                   ps->name, v->data, in, view);
}

void round_report_set(struct round_zone *z, size_t set)
{
    const struct plan_set *ps = &z->world->plan.sets[set];
    const char *type = z->world->sets[set].label;
    char key[ROUND_KEY_SIZE];

    detail_set(z, ps, type);
    if (z->round->o->ngiven > 0 && ps->decision.tier >= 5)
        round_note(z->round, z->name, "all dead: %s %s: %s", ps->name, type,
                   plan_reason(ps));
    for (size_t k = 0; k < ps->nvalues; k++)
        problem_of_value(z, ps, &ps->values[k]);
    if (ps->hold == PLAN_VIEW) {
        round_tell_view(z, set);
    } else if (ps->hold == PLAN_FOREIGN || ps->hold == PLAN_BRAKE ||
               ps->hold == PLAN_LEARNING || ps->hold == PLAN_ALONE) {
        round_set_key(key, "hold", ps);
        round_problem(z->round, z->name, key, "%s %s %s", ps->name, type,
                      plan_reason(ps));
    }
    if (!round_audience_of(z, set)->observed)
        return;
    state_note(z->round->state, &state_set_of(ps->memory)->reason,
               plan_reason(ps));
    for (size_t k = 0; k < ps->nvalues; k++)
        state_value_of(ps->values[k].memory)->published =
            ps->values[k].published;
}

static void plan_zone(struct round_zone *z)
{
    struct round *r = z->round;

    z->world->plan.now_ms = state_now_ms();
    z->world->plan.learning = state_is_lost(r->state);
    z->world->plan.withdrawn_ms = z->row->withdrawn_ms;
    while (z->world->plan.nwithdrawn <
               sizeof z->row->withdrawn_ms / sizeof z->row->withdrawn_ms[0] &&
           z->row->withdrawn_ms[z->world->plan.nwithdrawn] != 0)
        z->world->plan.nwithdrawn++;
    plan_make(&z->world->plan);
    for (size_t s = 0; s < z->world->plan.nsets; s++)
        round_report_set(z, s);
}

void round_plan(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++)
        if (!r->zones[i]->failed)
            round_observe(r->zones[i]);
    if (!round_wait(r, round_share(r, 85)))
        round_problem(r, "", "records",
                      "some provider did not answer in time; its sets are "
                      "held");
    for (size_t i = 0; i < r->nzones; i++)
        if (!r->zones[i]->failed)
            plan_zone(r->zones[i]);
}
