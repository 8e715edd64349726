#include "agent/cli/status_operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"

/* --- data centres -------------------------------------------------------- */

/* A data centre as last judged; what the apex has counts once. */
struct dc {
    const char *zone, *owner, *name, *state;
    enum tri in_service;
    bool maintenance, kept_out;
};

static const char *state_of(const struct judge_dc *d)
{
    for (int i = 0; i < SPEC_NDC_STATES; i++)
        if (d->states[i] == TRI_TRUE)
            return spec_dc_state_name((enum spec_dc_state)i);
    return "unknown";
}

/* Each spec that has it remembers for itself whether it is let in. */
static bool is_kept_out(const struct world *w, const char *name)
{
    for (size_t i = 0; i < w->nspecs; i++)
        for (size_t k = 0; k < w->specs[i].spec->ndcs; k++)
            if (strcmp(w->specs[i].spec->dcs[k].name, name) == 0 &&
                w->specs[i].memory.dcs[k].barred)
                return true;
    return false;
}

static bool describe(const struct recall_dc *d, struct dc *out)
{
    const struct world *w = d->zone->world;

    for (size_t i = 0; i < w->nspecs; i++) {
        const struct world_spec *ws = &w->specs[i];

        if (ws->spec != d->owner->spec)
            continue;
        out->zone = d->zone->name;
        out->owner = d->shared ? d->zone->name : d->owner->name;
        out->name = d->name;
        out->state = state_of(&ws->dcs[d->index]);
        out->in_service = ws->dcs[d->index].in_service;
        out->maintenance = ws->dcs[d->index].maintenance;
        out->kept_out = d->shared ? is_kept_out(w, d->name)
                                  : ws->memory.dcs[d->index].barred;
        return true;
    }
    return false;
}

static bool is_asked(const char *want, const char *zone)
{
    return want[0] == '\0' || name_within(want, zone) ||
           name_within(zone, want);
}

static const char *service_text(const struct dc *d)
{
    return d->maintenance               ? "in maintenance"
           : d->kept_out                ? "kept out until readmit (onlyNew)"
           : d->in_service == TRI_TRUE  ? "in service"
           : d->in_service == TRI_FALSE ? "out of service"
                                        : "service unknown";
}

static void print_dcs(struct recall *r, const char *want)
{
    for (size_t i = 0; i < r->ndcs; i++) {
        struct dc d;

        if (!is_asked(want, r->dcs[i].zone->name) || !describe(&r->dcs[i], &d))
            continue;
        (void)printf("data centre %s (%s): %s, %s\n", d.name, d.owner, d.state,
                     service_text(&d));
    }
}

static void json_dcs(struct recall *r, const char *want, cJSON *list)
{
    for (size_t i = 0; i < r->ndcs; i++) {
        struct dc d;
        cJSON *o;

        if (!is_asked(want, r->dcs[i].zone->name) || !describe(&r->dcs[i], &d))
            continue;
        o = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(o, "zone", d.zone);
        (void)cJSON_AddStringToObject(o, "owner", d.owner);
        (void)cJSON_AddStringToObject(o, "name", d.name);
        (void)cJSON_AddStringToObject(o, "state", d.state);
        (void)cJSON_AddBoolToObject(o, "inService", d.in_service == TRI_TRUE);
        (void)cJSON_AddBoolToObject(o, "maintenance", d.maintenance);
        (void)cJSON_AddBoolToObject(o, "keptOut", d.kept_out);
        (void)cJSON_AddItemToArray(list, o);
    }
}

/* --- overrides ----------------------------------------------------------- */

static bool is_override_asked(const struct override *o, const char *want)
{
    return o->zone[0] == '*' || is_asked(want, o->zone);
}

static void print_overrides(struct state *s, const char *want, int64_t now_ms)
{
    size_t n = 0;
    struct state_override **rows = override_list(s, now_ms, &n);

    for (size_t i = 0; i < n; i++) {
        struct override o;
        char *text;

        if (!override_split(rows[i], &o) || !is_override_asked(&o, want))
            continue;
        text = override_text(rows[i], now_ms);
        (void)printf("operator: %s\n", text);
        free(text);
    }
    free(rows);
}

static cJSON *json_override(const struct state_override *row,
                            const struct override *o, int64_t now_ms)
{
    cJSON *out = cJSON_CreateObject();
    bool dc = strcmp(o->kind, "maintenance") == 0;
    char time[32];

    (void)cJSON_AddStringToObject(out, "kind", o->kind);
    (void)cJSON_AddStringToObject(out, "zone", o->zone);
    (void)cJSON_AddStringToObject(out, dc ? "dc" : "name", o->what);
    (void)cJSON_AddStringToObject(out, "user",
                                  row->user != NULL ? row->user : "");
    clock_format(row->since_wall_ms, time, sizeof time);
    (void)cJSON_AddStringToObject(out, "since", time);
    if (row->until_ms == 0)
        return out;
    clock_format(override_until_wall_ms(row, now_ms), time, sizeof time);
    (void)cJSON_AddStringToObject(out, "until", time);
    return out;
}

static void json_overrides(struct state *s, const char *want, int64_t now_ms,
                           cJSON *list)
{
    size_t n = 0;
    struct state_override **rows = override_list(s, now_ms, &n);

    for (size_t i = 0; i < n; i++) {
        struct override o;

        if (override_split(rows[i], &o) && is_override_asked(&o, want))
            (void)cJSON_AddItemToArray(list,
                                       json_override(rows[i], &o, now_ms));
    }
    free(rows);
}

/* --- both ---------------------------------------------------------------- */

void status_operator_print(const struct config *cfg, struct state *s,
                           const char *want)
{
    int64_t now_ms = state_now_ms();
    struct recall *r = recall_new(cfg, s);
    char *file = override_freeze_file(cfg->state);

    recall_worlds(r, now_ms);
    print_dcs(r, want);
    print_overrides(s, want, now_ms);
    if (file != NULL)
        (void)printf("operator: frozen by the file %s\n", file);
    free(file);
    recall_free(r);
}

void status_operator_json(const struct config *cfg, struct state *s,
                          const char *want, cJSON *o)
{
    int64_t now_ms = state_now_ms();
    struct recall *r = recall_new(cfg, s);
    char *file = override_freeze_file(cfg->state);

    recall_worlds(r, now_ms);
    json_dcs(r, want, cJSON_AddArrayToObject(o, "dcs"));
    json_overrides(s, want, now_ms, cJSON_AddArrayToObject(o, "overrides"));
    if (file != NULL)
        (void)cJSON_AddStringToObject(o, "freezeFile", file);
    free(file);
    recall_free(r);
}
