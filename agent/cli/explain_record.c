#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/cli/explain.h"
#include "specs/advise.h"

/* The sets and records of an explanation. */

/* --- why a record is kept out -------------------------------------------- */

/* until_ms: when it ends by itself; WHEN_NEVER: it does not */
static void add_reason(struct explain *x, cJSON *list, char *text,
                       int64_t until_ms)
{
    cJSON *o = cJSON_CreateObject();

    (void)cJSON_AddStringToObject(o, "why", text);
    explain_add_time(o, "endsIn", x, until_ms);
    (void)cJSON_AddItemToArray(list, o);
    free(text);
}

static void maintenance(struct explain *x, cJSON *list,
                        const struct spec_dc *dc)
{
    struct state *s = x->env->state;
    const char *zones[] = {x->zone->name, "*"};

    if (dc->maintenance)
        add_reason(x, list,
                   mem_printf("data centre %s: its spec says maintenanceMode",
                              dc->name),
                   WHEN_NEVER);
    for (int i = 0; i < 2; i++) {
        const struct state_override *row = state_override_find(
            s, "maintenance", zones[i], dc->name, x->when.now_ms);

        if (row != NULL)
            add_reason(x, list, override_text(row, x->when.now_ms),
                       row->until_ms != 0 ? row->until_ms : WHEN_NEVER);
    }
}

static void away(struct explain *x, cJSON *list, const struct spec_dc *dc)
{
    char span[32];

    add_reason(x, list,
               mem_printf("data centre %s was away for longer than onlyNew "
                          "(%s) while another one served: until readmit %s%s%s",
                          dc->name, duration_format(dc->only_new_ms, span),
                          dc->name,
                          dc->fresh != NULL ? ", or until fresh is true: " : "",
                          dc->fresh != NULL ? dc->fresh->text : ""),
               WHEN_NEVER);
}

/* How long a healthy value still has to wait, as plan.c reckons. */
static int64_t wait_ms(const struct plan_set *set, const struct plan_value *v,
                       const char **what)
{
    const struct memory_value *m = v->memory;
    int64_t ms = set->damping ? plan_damp_wait_ms(m->damp) : 0;

    *what = "damping, after so many withdrawals";
    if (m->returning && v->return_after_ms > ms) {
        ms = v->return_after_ms;
        *what = "returnAfter";
    }
    return ms;
}

static void waits(struct explain *x, cJSON *list, const struct plan_set *set,
                  const struct plan_value *v)
{
    const char *what;
    char span[32];
    int64_t ms = wait_ms(set, v, &what);

    add_reason(x, list,
               mem_printf("%s: waits %s", what, duration_format(ms, span)),
               v->memory->healthy_since_ms + ms);
}

static cJSON *reasons(struct explain *x, const struct world_set *set, size_t i)
{
    const struct plan_value *v = &set->plan->values[i];
    const struct spec_record *rec = set->values[i].record;
    const struct spec *s = x->when.w->specs[x->when.spec].spec;
    cJSON *list = cJSON_CreateArray();

    if (rec != NULL && rec->dc >= 0 && v->maintenance)
        maintenance(x, list, &s->dcs[rec->dc]);
    if (rec != NULL && rec->dc >= 0 && v->away)
        away(x, list, &s->dcs[rec->dc]);
    if (v->memory->shut)
        add_reason(x, list,
                   mem_printf("return: manual; until readmit %s %s",
                              set->plan->name, v->data),
                   WHEN_NEVER);
    if (v->memory->held_off)
        add_reason(x, list,
                   mem_printf("somebody else switched it off: until it goes "
                              "down and up again, or readmit %s %s",
                              set->plan->name, v->data),
                   WHEN_NEVER);
    if (v->waiting)
        waits(x, list, set->plan, v);
    if (v->reclaim_held)
        add_reason(x, list,
                   mem_strdup("somebody else switches it on again and again: "
                              "left on now"),
                   WHEN_NEVER);
    return list;
}

/* --- records ------------------------------------------------------------- */

static const char *class_of(const struct plan_value *v)
{
    if (v->dropped)
        return "dropped from the spec";
    if (v->fallback)
        return "fallback";
    return v->class == DECIDE_DR        ? "disaster recovery"
           : v->class == DECIDE_PASSIVE ? "reserve (noResponse)"
                                        : "normal";
}

static const char *health_of(const struct plan_value *v)
{
    return v->healthy == TRI_TRUE    ? "up"
           : v->healthy == TRI_FALSE ? "down"
                                     : "unknown";
}

static void add_conditions(struct explain *x, cJSON *o,
                           const struct spec_record *rec, long place)
{
    const struct spec *s = x->when.w->specs[x->when.spec].spec;
    cJSON *list = cJSON_AddArrayToObject(o, "checks");

    for (size_t i = 0; i < rec->nchecks; i++)
        (void)cJSON_AddItemToArray(list,
                                   explain_check(x, rec->checks[i], place));
    if (spec_rare_of(rec)->when != NULL)
        (void)cJSON_AddItemToObject(
            o, "if", explain_cond(x, spec_rare_of(rec)->when, place));
    if (rec->dc >= 0)
        (void)cJSON_AddStringToObject(o, "dc", s->dcs[rec->dc].name);
    if (spec_rare_of(rec)->dr_cond != NULL)
        (void)cJSON_AddItemToObject(
            o, "drCond", explain_cond(x, spec_rare_of(rec)->dr_cond, place));
}

/* What its conditions may bring next, and after which wait it counts. */
static void add_next(struct explain *x, cJSON *o, const struct plan_set *set,
                     const struct plan_value *v, const struct spec_record *rec,
                     long place)
{
    bool up = v->healthy == TRI_TRUE;
    const char *change = up ? "down" : "up";
    int64_t then_ms = 0;
    struct when t;
    cJSON *next;

    if (rec->nchecks == 0 && spec_rare_of(rec)->when == NULL && rec->dc < 0)
        return;
    if (v->healthy == TRI_FALSE && !v->published) {
        then_ms = set->damping ? plan_damp_wait_ms(v->memory->damp) : 0;
        if (v->return_after_ms > then_ms)
            then_ms = v->return_after_ms;
    }
    t = when_record(&x->when, rec, place, !up);
    if (v->healthy == TRI_UNKNOWN) {
        struct when down = when_record(&x->when, rec, place, false);

        change = "verdict";
        t = down.at_ms < t.at_ms ? down : t;
    }
    if (v->waiting) {
        const char *what;

        change = "back";
        t.check = NULL;
        t.at_ms = v->memory->healthy_since_ms + wait_ms(set, v, &what);
    }
    next = explain_next(x, change, t, then_ms);
    if (next == NULL)
        return;
    if (then_ms > 0)
        (void)cJSON_AddNumberToObject(next, "thenWaits",
                                      (double)then_ms / 1000.0);
    (void)cJSON_AddItemToObject(o, "next", next);
}

static cJSON *explain_value(struct explain *x, const struct world_set *set,
                            size_t i)
{
    const struct plan_value *v = &set->plan->values[i];
    const struct world_value *wv = &set->values[i];
    cJSON *o = cJSON_CreateObject();

    (void)cJSON_AddStringToObject(o, "data", v->data);
    (void)cJSON_AddStringToObject(o, "class", class_of(v));
    (void)cJSON_AddBoolToObject(o, "published", v->published);
    (void)cJSON_AddBoolToObject(o, "wanted", v->publish);
    (void)cJSON_AddBoolToObject(o, "pending", v->memory->pending);
    (void)cJSON_AddStringToObject(o, "health", health_of(v));
    (void)cJSON_AddBoolToObject(o, "neverUp", v->never_up);
    (void)cJSON_AddItemToObject(o, "keptOut", reasons(x, set, i));
    if (wv->record == NULL)
        return o;
    add_conditions(x, o, wv->record, wv->place);
    add_next(x, o, set->plan, v, wv->record, wv->place);
    return o;
}

/* --- sets ---------------------------------------------------------------- */

static void add_hold(struct explain *x, cJSON *o, const struct plan_set *set)
{
    const struct state_override *row;
    cJSON *hold;

    if (set->hold == PLAN_FREE)
        return;
    hold = cJSON_AddObjectToObject(o, "hold");
    (void)cJSON_AddStringToObject(hold, "why", plan_reason(set));
    if (set->hold == PLAN_BRAKE)
        explain_add_time(hold, "endsIn", x, when_brake(&x->when, set));
    row = override_freeze_of(x->env->state, x->zone->name, set->name,
                             x->when.now_ms);
    if (set->hold == PLAN_FROZEN && row != NULL)
        explain_add_time(hold, "endsIn", x,
                         row->until_ms != 0 ? row->until_ms : WHEN_NEVER);
}

static void add_rules(cJSON *o, const struct spec_set *s)
{
    static const char *const all_down[] = {
        [SPEC_KEEP] = "keep", [SPEC_DOWN_ALL] = "all", [SPEC_NONE] = "none"};

    (void)cJSON_AddStringToObject(o, "order",
                                  s->order == SPEC_ALL ? "all" : "priority");
    if (s->take > 0)
        (void)cJSON_AddNumberToObject(o, "take", s->take);
    (void)cJSON_AddStringToObject(o, "allDown", all_down[s->all_down]);
    if (s->ttl_s >= 0)
        (void)cJSON_AddNumberToObject(o, "ttl", (double)s->ttl_s);
}

static void add_worst_case(struct explain *x, cJSON *o,
                           const struct world_set *set)
{
    int64_t cron_ms = x->when.cron_ms;
    int64_t ms =
        spec_worst_case_ms(set->claim->spec, set->claim->set, cron_ms,
                           x->provider_ms, cron_ms > 0 ? 0 : x->debounce_ms);

    if (ms < 0)
        return;
    (void)cJSON_AddNumberToObject(o, "worstCase", (double)ms / 1000.0);
    if (cron_ms > 0)
        (void)cJSON_AddNumberToObject(o, "cron", (double)cron_ms / 1000.0);
}

cJSON *explain_set(struct explain *x, size_t i)
{
    const struct world_set *set = &x->when.w->sets[i];
    const struct plan_set *ps = set->plan;
    const char *reason = state_set_of(ps->memory)->reason;
    cJSON *o = cJSON_CreateObject(), *list;

    x->when.spec = set->spec;
    (void)cJSON_AddStringToObject(o, "zone", x->zone->name);
    (void)cJSON_AddStringToObject(o, "owner", set->claim->spec->owner);
    (void)cJSON_AddStringToObject(o, "name", ps->name);
    (void)cJSON_AddStringToObject(o, "type", spec_type_name(ps->type));
    if (set->claim->set->view != NULL)
        (void)cJSON_AddStringToObject(o, "view", set->claim->set->view);
    (void)cJSON_AddNumberToObject(o, "tier", ps->decision.tier);
    (void)cJSON_AddStringToObject(o, "reason", plan_reason(ps));
    if (reason != NULL)
        (void)cJSON_AddStringToObject(o, "lastReason", reason);
    add_hold(x, o, ps);
    add_rules(o, set->claim->set);
    add_worst_case(x, o, set);
    list = cJSON_AddArrayToObject(o, "records");
    for (size_t k = 0; k < ps->nvalues; k++)
        if (ps->values[k].twin == 0)
            (void)cJSON_AddItemToArray(list, explain_value(x, set, k));
    return o;
}
