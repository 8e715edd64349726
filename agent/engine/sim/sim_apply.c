#include <stdlib.h>
#include <string.h>

#include "agent/engine/sim/sim_internal.h"

/* A fact of the trace begins to hold. */

static void override(struct sim *s, const struct trace_fact *f,
                     const char *kind, const char *zone, const char *what)
{
    int64_t until_ms = f->for_ms > 0 ? s->now_ms + f->for_ms : 0;

    live_before_override(s->live, s->now_ms);
    if (f->on)
        state_override_set(s->state, kind, zone, what, until_ms, "the trace");
    else
        (void)state_override_clear(s->state, kind, zone, what, s->now_ms);
    live_after_override(s->live, s->now_ms);
}

static void readmit_dc(struct sim *s, const char *dc)
{
    for (size_t i = 0; i < s->w->nspecs; i++) {
        struct world_spec *ws = &s->w->specs[i];

        for (size_t k = 0; k < ws->spec->ndcs; k++) {
            if (strcmp(ws->spec->dcs[k].name, dc) != 0)
                continue;
            judge_readmit(&ws->memory, k);
            for (size_t r = 0; r < ws->nrecords; r++)
                for (uint32_t v = ws->values[r]; v > 0;
                     v = s->w->values[v - 1].next)
                    if (s->w->values[v - 1].record->dc == (long)k)
                        plan_readmit(s->w->plan_values[v - 1].memory);
        }
    }
}

static void readmit_name(struct sim *s, const struct sim_bound *b)
{
    for (size_t i = 0; i < s->nsets; i++) {
        struct plan_set *ps = &s->w->plan.sets[i];

        for (size_t k = 0; k < ps->nvalues; k++)
            if (strcmp(ps->name, b->name) == 0 &&
                (b->ndata == 0 || strcmp(ps->values[k].data, b->data[0]) == 0))
                plan_readmit(ps->values[k].memory);
    }
}

static void readmit(struct sim *s, const struct sim_bound *b)
{
    live_before_override(s->live, s->now_ms);
    if (b->is_dc)
        readmit_dc(s, b->name);
    else
        readmit_name(s, b);
    live_after_override(s->live, s->now_ms);
}

bool sim_is_shown(const struct sim *s, const struct trace_fact *f,
                  const struct sim_bound *b, size_t set)
{
    const struct plan_set *ps = &s->w->plan.sets[set];
    const char *view = s->w->sets[set].claim->set->view;

    return ps->type == b->type && strcmp(ps->name, b->name) == 0 &&
           (f->view == NULL || (view != NULL && strcmp(f->view, view) == 0));
}

static void show(struct sim *s, size_t set, const char *const *data, size_t n)
{
    const struct sim_shown *shown = &s->shown[set];

    for (size_t i = shown->n; i > 0; i--) {
        bool stays = false;

        for (size_t k = 0; k < n && !stays; k++)
            stays = strcmp(shown->data[i - 1], data[k]) == 0;
        if (!stays)
            sim_shown_put(s, set, shown->data[i - 1], false);
    }
    for (size_t k = 0; k < n; k++)
        sim_shown_put(s, set, data[k], true);
}

void sim_facts_apply(struct sim *s, size_t fact)
{
    static const enum sim_met met[] = {SIM_OK, SIM_FAIL, SIM_LOCAL};
    const struct trace_fact *f = &s->o->facts[fact];
    const struct sim_bound *b = &s->bounds[fact];

    switch (f->kind) {
    case TRACE_RESULT:
        for (size_t i = 0; i < b->n; i++)
            s->met[b->aims[i].check][b->aims[i].target] = met[f->result];
        break;
    case TRACE_MAINTENANCE:
        override(s, f, "maintenance", s->o->zone, b->name);
        break;
    case TRACE_FREEZE:
        override(s, f, "freeze", b->zone, b->name);
        break;
    case TRACE_READMIT:
        readmit(s, b);
        break;
    case TRACE_PUBLISHED:
        for (size_t i = 0; i < s->nsets; i++)
            if (sim_is_shown(s, f, b, i))
                show(s, i, b->data, b->ndata);
        break;
    case TRACE_RESTART:
    case TRACE_END:
        break;
    }
}
