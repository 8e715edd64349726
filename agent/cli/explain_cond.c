#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/explain.h"

/* Conditions, checks and data centres of an explanation. */

static const char *truth_text(enum tri t)
{
    return t == TRI_TRUE ? "true" : t == TRI_FALSE ? "false" : "unknown";
}

void explain_add_time(cJSON *o, const char *key, const struct explain *x,
                      int64_t at_ms)
{
    int64_t in_ms = at_ms > x->when.now_ms ? at_ms - x->when.now_ms : 0;

    if (at_ms == WHEN_NEVER)
        (void)cJSON_AddNullToObject(o, key);
    else
        (void)cJSON_AddNumberToObject(o, key, (double)in_ms / 1000.0);
}

static void add_ago(cJSON *o, const char *key, const struct explain *x,
                    int64_t at_ms)
{
    if (at_ms != 0)
        (void)cJSON_AddNumberToObject(
            o, key, (double)(x->when.now_ms - at_ms) / 1000.0);
}

static void add_names(cJSON *o, const struct check *k)
{
    char text[NAME_SIZE];

    (void)cJSON_AddStringToObject(o, "check",
                                  checks_text(k, text, sizeof text));
    (void)cJSON_AddStringToObject(o, "where",
                                  checks_where(k, text, sizeof text));
}

cJSON *explain_next(struct explain *x, const char *change, struct when t,
                    int64_t then_ms)
{
    cJSON *o;

    if (t.at_ms == WHEN_NEVER)
        return NULL;
    o = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(o, "change", change);
    explain_add_time(o, "earliest", x,
                     t.at_ms > x->when.now_ms ? t.at_ms + then_ms
                                              : x->when.now_ms + then_ms);
    if (t.check != NULL) {
        (void)cJSON_AddNumberToObject(o, "missing", t.missing);
        add_names(o, t.check);
    }
    return o;
}

/* --- checks -------------------------------------------------------------- */

static void add_counters(cJSON *o, const struct explain *x,
                         const struct check *k)
{
    const struct health *h = &k->row->health;

    (void)cJSON_AddStringToObject(o, "state", health_state_name(h->state));
    if (h->state != HEALTH_UNKNOWN)
        add_ago(o, "since", x, h->since_ms);
    (void)cJSON_AddBoolToObject(o, "everUp", h->ever_up);
    if (k->row->note != NULL)
        (void)cJSON_AddStringToObject(o, "last", k->row->note);
    add_ago(o, "lastAgo", x, h->last_ms);
    (void)cJSON_AddBoolToObject(o, "inTransition",
                                h->streak > 0 && !health_is_settled(h));
    (void)cJSON_AddNumberToObject(o, "good", h->last_ok ? h->streak : 0);
    (void)cJSON_AddNumberToObject(o, "failed", h->last_ok ? 0 : h->streak);
    (void)cJSON_AddNumberToObject(o, "requiredSuccess",
                                  k->spec->required_success);
    (void)cJSON_AddNumberToObject(o, "requiredFailure",
                                  k->spec->required_failure);
    (void)cJSON_AddNumberToObject(o, "accessPeriod",
                                  (double)k->spec->access_period_ms / 1000.0);
    (void)cJSON_AddNumberToObject(o, "retryPeriod",
                                  (double)k->spec->retry_period_ms / 1000.0);
}

cJSON *explain_check(struct explain *x, size_t check, long place)
{
    const struct spec *s = x->when.w->specs[x->when.spec].spec;
    const struct check *k = world_check(x->when.w, x->when.spec, check, place);
    const struct spec_check *c = &s->checks[check];
    cJSON *o = cJSON_CreateObject();
    char text[NAME_SIZE];

    if (c->name != NULL)
        (void)cJSON_AddStringToObject(o, "name", c->name);
    if (k == NULL) {
        (void)cJSON_AddStringToObject(o, "check",
                                      spec_check_text(c, text, sizeof text));
        (void)cJSON_AddStringToObject(o, "state", "unknown");
        (void)cJSON_AddBoolToObject(o, "refused", true);
        return o;
    }
    add_names(o, k);
    add_counters(o, x, k);
    return o;
}

/* --- conditions ---------------------------------------------------------- */

static void add_part(struct explain *x, cJSON *list, const struct spec_cond *c,
                     long place)
{
    (void)cJSON_AddItemToArray(list, explain_cond(x, c, place));
}

cJSON *explain_cond(struct explain *x, const struct spec_cond *c, long place)
{
    const struct spec *s = x->when.w->specs[x->when.spec].spec;
    cJSON *o = cJSON_CreateObject(), *list;

    (void)cJSON_AddStringToObject(o, "text", c->text != NULL ? c->text : "");
    (void)cJSON_AddStringToObject(
        o, "truth", truth_text(world_cond(x->when.w, x->when.spec, c, place)));
    switch (c->kind) {
    case SPEC_COND_CHECK:
        (void)cJSON_AddItemToObject(o, "check",
                                    explain_check(x, c->ref, place));
        break;
    case SPEC_COND_SCENARIO:
        list = cJSON_AddArrayToObject(o, "of");
        add_part(x, list, &s->scenarios[c->ref].cond, place);
        break;
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        (void)cJSON_AddStringToObject(o, "need",
                                      c->kind == SPEC_COND_ALL   ? "all"
                                      : c->kind == SPEC_COND_ANY ? "any"
                                                                 : "some");
        if (c->kind == SPEC_COND_NEED)
            (void)cJSON_AddNumberToObject(o, "count", c->need);
        list = cJSON_AddArrayToObject(o, "of");
        for (size_t i = 0; i < c->n; i++)
            add_part(x, list, &c->of[i], place);
        break;
    case SPEC_COND_DC:
    case SPEC_COND_DC_STATE:
    case SPEC_COND_DIMENSION:
    case SPEC_COND_MAINTENANCE:
        break;
    }
    return o;
}

/* --- data centres -------------------------------------------------------- */

static const char *state_of(const struct judge_dc *d)
{
    for (int i = 0; i < SPEC_NDC_STATES; i++)
        if (d->states[i] == TRI_TRUE)
            return spec_dc_state_name((enum spec_dc_state)i);
    return "unknown";
}

static void add_dimensions(struct explain *x, cJSON *o, const struct spec_dc *s,
                           const struct judge_dc *d)
{
    cJSON *list = cJSON_AddArrayToObject(o, "dimensions");

    for (int i = 0; i < SPEC_NDIMENSIONS; i++) {
        cJSON *dim, *checks;

        if (!s->dims[i].given)
            continue;
        dim = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(
            dim, "name", spec_dimension_name((enum spec_dimension)i));
        (void)cJSON_AddStringToObject(dim, "truth", truth_text(d->dims[i]));
        (void)cJSON_AddNumberToObject(dim, "need", s->dims[i].need);
        (void)cJSON_AddBoolToObject(dim, "forService", s->needs[i]);
        checks = cJSON_AddArrayToObject(dim, "checks");
        for (size_t k = 0; k < s->dims[i].n; k++)
            (void)cJSON_AddItemToArray(
                checks, explain_check(x, s->dims[i].checks[k], -1));
        (void)cJSON_AddItemToArray(list, dim);
    }
}

cJSON *explain_dc(struct explain *x, size_t dc)
{
    const struct world_spec *ws = &x->when.w->specs[x->when.spec];
    const struct spec_dc *s = &ws->spec->dcs[dc];
    const struct judge_dc *d = &ws->dcs[dc];
    const struct judge_dc_memory *m = &ws->memory.dcs[dc];
    bool in = d->in_service == TRI_TRUE;
    cJSON *o = cJSON_CreateObject(), *next;

    (void)cJSON_AddStringToObject(o, "name", s->name);
    (void)cJSON_AddStringToObject(o, "state", state_of(d));
    (void)cJSON_AddStringToObject(o, "inService", truth_text(d->in_service));
    (void)cJSON_AddBoolToObject(o, "maintenance", d->maintenance);
    (void)cJSON_AddBoolToObject(o, "noResponse", s->no_response);
    (void)cJSON_AddBoolToObject(o, "keptOut", m->barred);
    add_ago(o, "outFor", x, m->out_since_ms);
    if (s->only_new_ms >= 0)
        (void)cJSON_AddNumberToObject(o, "onlyNew",
                                      (double)s->only_new_ms / 1000.0);
    if (s->fresh != NULL)
        (void)cJSON_AddItemToObject(o, "fresh", explain_cond(x, s->fresh, -1));
    add_dimensions(x, o, s, d);
    next = explain_next(x, in ? "out" : "back", when_dc(&x->when, dc, !in), 0);
    if (next != NULL)
        (void)cJSON_AddItemToObject(o, "next", next);
    return o;
}
