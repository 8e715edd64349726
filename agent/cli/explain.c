#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/explain.h"
#include "providers/provider.h"

/* `explain`: why each record is or is not published, and what comes next. */

#define CRON_LEAST_MS (45 * 1000LL)
#define MINUTE_MS (60 * 1000LL)
#define DEBOUNCE_MS 3000 /* where the apex says none: spec-language 7 */

/* --- what surrounds it --------------------------------------------------- */

/* Rounds that are about whole minutes apart are cron's. */
static int64_t cron_of(const struct operator_env *env)
{
    int64_t gap_ms = state_run_gap_ms(env->state);

    if (env->o->cron_ms > 0)
        return env->o->cron_ms;
    if (gap_ms < CRON_LEAST_MS)
        return 0;
    return (gap_ms + MINUTE_MS / 2) / MINUTE_MS * MINUTE_MS;
}

static int64_t publish_ms(const struct recall_zone *z)
{
    for (size_t i = 0; z->cfg != NULL && providers[i] != NULL; i++)
        if (strcmp(providers[i]->type, z->cfg->provider->type) == 0)
            return providers[i]->caps.publish_ms;
    return 0;
}

static int64_t debounce_ms(const struct recall_zone *z)
{
    const struct recall_owner *o = z->owners;

    if (z->nowners == 0 || o->spec == NULL || !name_equal(o->name, z->name) ||
        o->spec->top->debounce_ms < 0)
        return DEBOUNCE_MS;
    return o->spec->top->debounce_ms;
}

/* --- the document -------------------------------------------------------- */

static bool is_asked(const struct world_set *set, const char *name)
{
    return name_equal(set->plan->name, name) ||
           name_equal(set->claim->spec->owner, name);
}

static void add_dcs(struct explain *x, cJSON *list, const bool *used)
{
    for (size_t i = 0; i < x->when.w->nspecs; i++) {
        x->when.spec = i;
        for (size_t k = 0; used[i] && k < x->when.w->specs[i].spec->ndcs; k++) {
            cJSON *dc = explain_dc(x, k);

            (void)cJSON_AddStringToObject(dc, "owner",
                                          x->when.w->specs[i].spec->owner);
            (void)cJSON_AddItemToArray(list, dc);
        }
    }
}

static void add_overrides(struct explain *x, cJSON *list)
{
    size_t n = 0;
    struct state_override **rows =
        override_list(x->env->state, x->when.now_ms, &n);

    for (size_t i = 0; i < n; i++) {
        struct override o;
        char *text;

        if (!override_split(rows[i], &o) ||
            (o.zone[0] != '*' && !name_equal(o.zone, x->zone->name)))
            continue;
        text = override_text(rows[i], x->when.now_ms);
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(text));
        free(text);
    }
    free(rows);
}

static void add_specs(struct explain *x, cJSON *list, const bool *used)
{
    for (size_t i = 0; i < x->when.w->nspecs; i++)
        for (size_t k = 0; k < x->zone->nowners; k++) {
            const struct recall_owner *o = &x->zone->owners[k];

            if (!used[i] || o->spec != x->when.w->specs[i].spec ||
                o->row->stale == NULL)
                continue;
            (void)cJSON_AddItemToArray(list, cJSON_CreateString(o->row->stale));
        }
}

static cJSON *document(struct explain *x, const char *name)
{
    bool *used = mem_array(x->when.w->nspecs, sizeof *used);
    char *file = override_freeze_file(x->env->cfg->state);
    cJSON *doc = cJSON_CreateObject(), *sets;

    (void)cJSON_AddStringToObject(doc, "name", name);
    (void)cJSON_AddStringToObject(doc, "zone", x->zone->name);
    sets = cJSON_AddArrayToObject(doc, "sets");
    for (size_t i = 0; i < x->when.w->plan.nsets; i++) {
        const struct world_set *set = &x->when.w->sets[i];

        if (!is_asked(set, name))
            continue;
        used[set->spec] = true;
        (void)cJSON_AddItemToArray(sets, explain_set(x, i));
    }
    add_dcs(x, cJSON_AddArrayToObject(doc, "dcs"), used);
    add_specs(x, cJSON_AddArrayToObject(doc, "stale"), used);
    add_overrides(x, cJSON_AddArrayToObject(doc, "overrides"));
    if (file != NULL)
        (void)cJSON_AddStringToObject(doc, "freezeFile", file);
    free(file);
    free(used);
    return doc;
}

/* --- the command --------------------------------------------------------- */

static struct recall_zone *find_zone(const struct operator_env *env,
                                     const char *name)
{
    struct recall_zone *best = NULL;

    for (size_t i = 0; i < env->recall->nzones; i++) {
        struct recall_zone *z = &env->recall->zones[i];

        if (recall_knows(z, name) &&
            (best == NULL || name_labels(z->name) > name_labels(best->name)))
            best = z;
    }
    return best;
}

static int unknown(const struct operator_env *env, const char *name)
{
    char *names = operator_names(env);

    (void)cli_fail(0, "\"%s\" is not managed; managed names: %s", name, names);
    free(names);
    return CLI_USAGE;
}

/* The name has a spec that is no longer valid, or speaks for no set. */
static int no_set(const struct recall_zone *z, const char *name)
{
    for (size_t i = 0; i < z->nowners; i++)
        if (name_equal(z->owners[i].name, name) && z->owners[i].spec == NULL)
            return cli_fail(CLI_FAILED,
                            "the last good spec of %s is no longer valid: %s",
                            name, z->owners[i].err.msg);
    return cli_fail(CLI_FAILED, "the spec of %s has no records of its own",
                    name);
}

static int explain(const struct operator_env *env, const char *name)
{
    struct explain x = {.env = env, .zone = find_zone(env, name)};
    cJSON *doc;
    char *text;
    int rc = CLI_DONE;

    if (x.zone == NULL)
        return unknown(env, name);
    recall_worlds(env->recall, env->now_ms);
    x.when.w = x.zone->world;
    x.when.now_ms = env->now_ms;
    x.when.cron_ms = cron_of(env);
    x.provider_ms = publish_ms(x.zone);
    x.debounce_ms = debounce_ms(x.zone);
    doc = document(&x, name);
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(doc, "sets")) ==
        0) {
        rc = no_set(x.zone, name);
    } else if (env->o->json) {
        text = cJSON_Print(doc);
        (void)puts(text != NULL ? text : "{}");
        cJSON_free(text);
    } else {
        explain_print(doc);
    }
    cJSON_Delete(doc);
    return rc;
}

static int run(const struct cli_options *o, char *const *args)
{
    struct operator_env env;
    char name[NAME_SIZE];
    int rc;

    if (args[0] == NULL || args[1] != NULL)
        return cli_fail(CLI_USAGE, "explain takes one name");
    if (cli_name(args[0], name) != 0)
        return CLI_USAGE;
    rc = operator_look(o, &env);
    if (rc == CLI_DONE)
        rc = explain(&env, name);
    return operator_end(&env, rc);
}

const struct cli_command cli_explain = {
    "explain",
    "NAME",
    "why a record is published or not, and what is next",
    "Its checks with counters and last results, its conditions, the data\n"
    "centres, what is missing for the next change and when it can come at the\n"
    "earliest, and the worst-case failover time. Read from the state,\n"
    "which a running service saves first. --cron: its interval stands for\n"
    "accessPeriod; without it, as far apart as the last rounds were.",
    "cJChV",
    run};
