#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "agent/engine/world/world.h"

/* decide: cases as JSON lines on standard input, what the program makes of
 * them on standard output, one line each. Nothing is probed, nothing written.
 *
 * {"zone":"example.org.", "apex":TEXT or null, "owner":"www.example.org.",
 *  "texts":[TEXT…], "agent_dc":"dc1" or null,
 *  "published":{"www.example.org. A":["192.0.2.1"]},
 *  "steps":[{"now_ms":1000, "checks":{"tcp:443@192.0.2.1":"T"},
 *            "maintenance":["dc1"], "readmit":["dc1"], "restart":true}…]}
 *
 * A check's letter: T up, F down, N down and never up, U (or not named)
 * without verdict. What a step decides is published in the next.
 *
 * {"steps":[{"records":{"www.example.org. A 192.0.2.1":"T"},
 *            "sets":{"www.example.org. A":{"tier":1, "rule":"healthy",
 *                                          "publish":["192.0.2.1"]}}}…]}
 * or {"error":TEXT} */

#define LINE_MOST (1u << 22)

struct job {
    const cJSON *in;
    const char *zone;
    struct spec *apex, *spec;
    struct state *state;
    struct checks *checks;
    struct arena *arena;
    struct world *world;
};

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void on_refused(void *arg, const char *where, const struct err *e)
{
    (void)arg;
    (void)fprintf(stderr, "%s: %s\n", where, e->msg);
}

static void on_text(void *arg, const char *text)
{
    (void)arg;
    (void)fprintf(stderr, "%s\n", text);
}

static void on_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    (void)fprintf(stderr, "%s (%s) opted out\n", name, data);
}

/* --- specs ------------------------------------------------------------------
 */

static int read_specs(struct job *job, struct err *e)
{
    const char *owner = text_of(job->in, "owner");
    const char *apex = text_of(job->in, "apex");
    const cJSON *texts = cJSON_GetObjectItemCaseSensitive(job->in, "texts");
    size_t n = (size_t)cJSON_GetArraySize(texts), i = 0;
    struct spec_txt *txts = mem_array(n, sizeof *txts);
    struct spec_string *strings = mem_array(n, sizeof *strings);
    struct spec_context ctx = {.owner = job->zone, .zone = job->zone};
    const cJSON *t;
    int rc = 0;

    cJSON_ArrayForEach(t, texts)
    {
        strings[i].data = cJSON_GetStringValue(t);
        strings[i].len = strlen(strings[i].data);
        txts[i].strings = &strings[i];
        txts[i++].nstrings = 1;
    }
    if (apex != NULL)
        rc = spec_parse_text(apex, strlen(apex), &ctx, &job->apex, e);
    ctx.owner = owner;
    ctx.apex = job->apex;
    if (rc == 0)
        rc = spec_parse(txts, n, &ctx, &job->spec, e);
    free(txts);
    free(strings);
    return rc;
}

/* --- the world
 * ----------------------------------------------------------------
 */

static void build(struct job *job, int64_t now_ms)
{
    static const struct world_events ev = {on_refused, on_text, on_opted_out,
                                           NULL};
    const struct spec **specs;
    size_t n = 0;

    job->arena = arena_new();
    specs = arena_array(job->arena, 2, sizeof *specs);
    if (job->apex != NULL)
        specs[n++] = job->apex;
    specs[n++] = job->spec;
    job->checks = checks_new(job->state);
    job->world =
        world_new(job->arena, job->zone, specs, n, job->state, job->checks,
                  NULL, NULL, text_of(job->in, "agent_dc"), now_ms, &ev);
    job->world->plan.max_change_pct = 100;
    for (size_t s = 0; s < job->world->plan.nsets; s++)
        job->world->plan.sets[s].observed = true;
}

static void drop(struct job *job)
{
    if (job->world != NULL)
        world_save(job->world);
    world_free(job->world);
    checks_free(job->checks);
    arena_free(job->arena);
    job->world = NULL;
    job->checks = NULL;
    job->arena = NULL;
}

static void set_key(const struct plan_set *ps, char *out, size_t size)
{
    (void)snprintf(out, size, "%s %s", ps->name, spec_type_name(ps->type));
}

static bool is_listed(const cJSON *list, const char *text)
{
    const cJSON *item = list != NULL ? list->child : NULL;

    while (item != NULL && strcmp(item->valuestring, text) != 0)
        item = item->next;
    return item != NULL;
}

static void publish_first(struct job *job)
{
    const cJSON *sets = cJSON_GetObjectItemCaseSensitive(job->in, "published");

    for (size_t s = 0; s < job->world->plan.nsets; s++) {
        struct plan_set *ps = &job->world->plan.sets[s];
        const cJSON *list;
        char key[NAME_SIZE + 8];

        set_key(ps, key, sizeof key);
        list = cJSON_GetObjectItemCaseSensitive(sets, key);
        for (size_t k = 0; k < ps->nvalues; k++)
            ps->values[k].published = is_listed(list, ps->values[k].data);
    }
}

/* After a restart: as the world that was left stood. */
static void take_over(struct job *job, const bool *published)
{
    size_t n = 0;

    for (size_t s = 0; s < job->world->plan.nsets; s++)
        for (size_t k = 0; k < job->world->plan.sets[s].nvalues; k++)
            job->world->plan.sets[s].values[k].published = published[n++];
}

static void restart(struct job *job, int64_t now_ms)
{
    const struct world *w = job->world;
    bool *published;
    size_t n = 0;

    for (size_t s = 0; s < w->plan.nsets; s++)
        n += w->plan.sets[s].nvalues;
    published = mem_array(n, sizeof *published);
    n = 0;
    for (size_t s = 0; s < w->plan.nsets; s++)
        for (size_t k = 0; k < w->plan.sets[s].nvalues; k++)
            published[n++] = w->plan.sets[s].values[k].published;
    drop(job);
    build(job, now_ms);
    take_over(job, published);
    free(published);
}

/* --- a step
 * --------------------------------------------------------------------
 */

static void check_key(const struct check *c, char *out, size_t size)
{
    char text[ADDR_TEXT_SIZE];
    const struct addr *targets = checks_targets(c);
    size_t n =
        (size_t)snprintf(out, size, "%s:%u@",
                         spec_check_kind_name(c->spec->kind), c->spec->port);

    if (checks_host(c) != NULL)
        (void)snprintf(out + n, size - n, "%s", checks_host(c));
    for (size_t i = 0; i < c->ntargets && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i > 0 ? "," : "",
                              addr_format(&targets[i], text));
    if (c->ntargets > 1 && n < size)
        (void)snprintf(out + n, size - n, " need %u", c->need);
}

static void set_checks(struct job *job, const cJSON *step, int64_t now_ms)
{
    const cJSON *letters = cJSON_GetObjectItemCaseSensitive(step, "checks");

    for (size_t i = 0; i < checks_count(job->checks); i++) {
        struct check *c = checks_at(job->checks, i);
        struct health *h = &c->row->health;
        const char *letter;
        char key[400];

        check_key(c, key, sizeof key);
        letter = text_of(letters, key);
        memset(h, 0, sizeof *h);
        if (letter == NULL || *letter == 'U')
            continue;
        h->state = *letter == 'T' ? HEALTH_UP : HEALTH_DOWN;
        h->ever_up = *letter != 'N';
        h->last_ok = *letter == 'T';
        h->streak = 10;
        h->since_ms = h->last_ms = now_ms;
    }
}

static void set_maintenance(struct job *job, const cJSON *step)
{
    struct state_override *row = state_overrides(job->state);
    const cJSON *dc;

    for (; row != NULL; row = row->hh.next)
        row->until_ms = 1; /* long over */
    dc = cJSON_GetObjectItemCaseSensitive(step, "maintenance")->child;
    for (; dc != NULL; dc = dc->next)
        state_override_set(job->state, "maintenance", job->zone,
                           dc->valuestring, 0, "test");
}

static void readmit(struct job *job, const char *dc)
{
    struct world *w = job->world;

    for (size_t i = 0; i < w->nspecs; i++) {
        struct world_spec *ws = &w->specs[i];

        for (size_t d = 0; d < ws->spec->ndcs; d++)
            if (strcmp(ws->spec->dcs[d].name, dc) == 0)
                judge_readmit(&ws->memory, d);
    }
    for (size_t s = 0; s < w->plan.nsets; s++)
        for (size_t k = 0; k < w->plan.sets[s].nvalues; k++) {
            const struct world_value *wv = &w->sets[s].values[k];

            if (wv->record != NULL && wv->record->dc >= 0 &&
                strcmp(w->specs[w->sets[s].spec].spec->dcs[wv->record->dc].name,
                       dc) == 0)
                plan_readmit(w->plan.sets[s].values[k].memory);
        }
}

static void carry_out(struct plan_set *ps, int64_t now_ms)
{
    for (size_t k = 0; k < ps->nvalues; k++) {
        struct plan_value *v = &ps->values[k];

        if (plan_is_change(v))
            plan_done(ps, v, now_ms, false);
        if (v->memory->writes != NULL) /* the brake is not for here */
            v->memory->writes->last_ms = 0;
    }
    for (size_t k = 0; k < ps->nvalues; k++) {
        ps->values[k].published = ps->values[k].publish;
        ps->values[k].present |= ps->values[k].publish;
    }
}

static const char *rule_name(const struct plan_set *ps)
{
    if (ps->hold != PLAN_FREE)
        return plan_reason(ps);
    switch (ps->decision.rule) {
    case DECIDE_HEALTHY:
        return "healthy";
    case DECIDE_RESERVE:
        return "reserve";
    case DECIDE_RECOVERY:
        return "recovery";
    case DECIDE_WAITING:
        return "waiting";
    case DECIDE_FALLBACK:
        return "fallback";
    case DECIDE_ALL_DOWN_KEEP:
    case DECIDE_HOLD_NOBODY:
        return "keep";
    case DECIDE_ALL_DOWN_ALL:
        return "all";
    case DECIDE_ALL_DOWN_NONE:
        return "none";
    default:
        return "hold";
    }
}

static void tell_set(const struct plan_set *ps, cJSON *records, cJSON *sets)
{
    char key[NAME_SIZE + 8], record[NAME_SIZE * 2 + 16];
    cJSON *out, *publish;

    set_key(ps, key, sizeof key);
    out = cJSON_AddObjectToObject(sets, key);
    (void)cJSON_AddNumberToObject(out, "tier", ps->decision.tier);
    (void)cJSON_AddStringToObject(out, "rule", rule_name(ps));
    publish = cJSON_AddArrayToObject(out, "publish");
    for (size_t k = 0; k < ps->nvalues; k++) {
        const struct plan_value *v = &ps->values[k];
        const char *letter = v->never_up               ? "N"
                             : v->healthy == TRI_TRUE  ? "T"
                             : v->healthy == TRI_FALSE ? "F"
                                                       : "U";

        if (v->twin > 0)
            continue;
        if (v->publish)
            (void)cJSON_AddItemToArray(publish, cJSON_CreateString(v->data));
        (void)snprintf(record, sizeof record, "%s %s", key, v->data);
        (void)cJSON_AddStringToObject(records, record, letter);
    }
}

static cJSON *take_step(struct job *job, const cJSON *step)
{
    int64_t now_ms = (int64_t)cJSON_GetNumberValue(
        cJSON_GetObjectItemCaseSensitive(step, "now_ms"));
    cJSON *out = cJSON_CreateObject();
    cJSON *records = cJSON_AddObjectToObject(out, "records");
    cJSON *sets = cJSON_AddObjectToObject(out, "sets");
    const cJSON *dc;

    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(step, "restart")))
        restart(job, now_ms);
    set_checks(job, step, now_ms);
    set_maintenance(job, step);
    cJSON_ArrayForEach(dc, cJSON_GetObjectItemCaseSensitive(step, "readmit"))
        readmit(job, dc->valuestring);
    world_touch_all(job->world);
    (void)world_judge(job->world, now_ms);
    world_clear_judged(job->world);
    job->world->plan.now_ms = now_ms;
    plan_make(&job->world->plan);
    for (size_t s = 0; s < job->world->plan.nsets; s++) {
        tell_set(&job->world->plan.sets[s], records, sets);
        carry_out(&job->world->plan.sets[s], now_ms);
    }
    return out;
}

/* --- cases
 * ---------------------------------------------------------------------
 */

static cJSON *run(const cJSON *in)
{
    struct job job = {.in = in, .zone = text_of(in, "zone")};
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(in, "steps"), *step;
    cJSON *out = cJSON_CreateObject(), *told;
    struct err e = {ERR_NONE, ""};

    if (job.zone == NULL || text_of(in, "owner") == NULL)
        (void)err_set(&e, ERR_INPUT, "zone and owner are required");
    else if (state_open(NULL, false, &job.state, &e) == 0 &&
             read_specs(&job, &e) == 0) {
        told = cJSON_AddArrayToObject(out, "steps");
        build(&job, 1);
        publish_first(&job);
        cJSON_ArrayForEach(step, steps)(void)
            cJSON_AddItemToArray(told, take_step(&job, step));
        drop(&job);
    }
    if (e.code != ERR_NONE)
        (void)cJSON_AddStringToObject(out, "error", e.msg);
    spec_free(job.spec);
    spec_free(job.apex);
    state_close(job.state);
    return out;
}

int main(void)
{
    char *line = malloc(LINE_MOST);

    if (line == NULL)
        return 1;
    while (fgets(line, LINE_MOST, stdin) != NULL) {
        cJSON *in = cJSON_Parse(line), *out;
        char *text;

        if (in == NULL) {
            (void)fprintf(stderr, "not JSON: %.100s\n", line);
            free(line);
            return 2;
        }
        out = run(in);
        text = cJSON_PrintUnformatted(out);
        (void)printf("%s\n", text);
        free(text);
        cJSON_Delete(out);
        cJSON_Delete(in);
    }
    free(line);
    return 0;
}
