#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/operator.h"
#include "agent/engine/state/judge_text.h"

/* `readmit`: lets in again what is healthy and was kept out: by onlyNew,
 * return: manual, damping, or because somebody else switched it off. */

static int readmit_dc(struct operator_env *env, const char *dc)
{
    char zone[NAME_SIZE];

    if (operator_dc_zone(env, dc, zone) != 0)
        return CLI_USAGE;
    for (size_t i = 0; i < env->recall->nzones; i++) {
        const struct recall_zone *z = &env->recall->zones[i];
        size_t n;

        if (zone[0] != '*' && !name_equal(z->name, zone))
            continue;
        n = operator_readmit_dc(env, z, dc);
        if (n == 0 && zone[0] == '*')
            continue;
        operator_event(env, "readmit", z->name, "", dc,
                       "%s of %s may return with its %zu record%s", dc, z->name,
                       n, n == 1 ? "" : "s");
        (void)printf("%s of %s may return with its %zu record%s; the next "
                     "round publishes what is healthy\n",
                     dc, z->name, n, n == 1 ? "" : "s");
    }
    return CLI_DONE;
}

/* --- names --------------------------------------------------------------- */

static int no_name(const struct operator_env *env, const char *name)
{
    char *names = operator_names(env), *dcs = operator_dcs(env);

    (void)cli_fail(0,
                   "\"%s\" is neither a data centre nor a managed name; data "
                   "centres: %s; names: %s",
                   name, dcs, names);
    free(names);
    free(dcs);
    return CLI_USAGE;
}

static int no_data(struct operator_env *env, const struct recall_zone *z,
                   const char *name, const char *data)
{
    char *prefix = mem_printf("%s|%s|", z->name, name);
    size_t len = strlen(prefix);
    const struct state_set *set;

    (void)fprintf(stderr, "dnsfailover: %s has no value \"%s\"; known:", name,
                  data);
    for (set = state_sets(env->state); set != NULL; set = set->next) {
        if (strncmp(set->key, prefix, len) != 0)
            continue;
        for (const struct state_value *v = set->values; v != NULL; v = v->next)
            (void)fprintf(stderr, " %s", v->data);
    }
    (void)fputc('\n', stderr);
    free(prefix);
    return CLI_USAGE;
}

/* An address in its one form, or a name. */
static int canonical(const char *arg, char out[NAME_SIZE])
{
    struct addr a;
    char text[ADDR_TEXT_SIZE];

    if (addr_parse(arg, &a) != 0)
        return cli_name(arg, out);
    (void)snprintf(out, NAME_SIZE, "%s", addr_format(&a, text));
    return 0;
}

/* A data centre that is not let in keeps its records out all the same. */
static void warn_of_dc(struct operator_env *env, struct recall_zone *z,
                       const char *name)
{
    for (size_t i = 0; i < z->nowners; i++) {
        const struct spec *s = z->owners[i].spec;
        char *key = mem_printf("%s|%s", z->name, z->owners[i].name);
        struct state_judge *row = NULL;
        struct judge_memory m;

        row = state_judge_find(env->state, key);
        free(key);
        if (s == NULL || row == NULL)
            continue;
        judge_memory_init(&m, s);
        judge_text_read(row, s, &m);
        for (size_t k = 0; k < s->ndcs; k++) {
            bool here = false;

            for (size_t n = 0; n < s->nsets; n++)
                for (size_t v = 0; v < s->sets[n].nrecords; v++)
                    here = here || (name_equal(s->sets[n].name, name) &&
                                    s->sets[n].records[v].dc == (long)k);
            if (here && m.dcs[k].barred)
                (void)printf("its data centre %s is kept out (onlyNew): "
                             "readmit %s\n",
                             s->dcs[k].name, s->dcs[k].name);
        }
        judge_memory_fini(&m);
    }
}

static int readmit_name(struct operator_env *env, const char *arg,
                        const char *data_arg)
{
    char name[NAME_SIZE], data[NAME_SIZE] = "", zone[NAME_SIZE];
    struct recall_zone *z;

    if (cli_name(arg, name) != 0 || operator_zone(env, zone) != 0 ||
        (data_arg != NULL && canonical(data_arg, data) != 0))
        return CLI_USAGE;
    z = zone[0] != '\0' && zone[0] != '*' ? recall_zone_find(env->recall, zone)
                                          : operator_zone_of(env, name);
    if (z == NULL || !recall_manages(z, name))
        return no_name(env, name);
    if (operator_readmit_name(env, z->name, name,
                              data_arg != NULL ? data : NULL) == 0)
        return no_data(env, z, name, data_arg != NULL ? data : "");
    operator_event(env, "readmit", z->name, name, data, "%s may return",
                   data_arg != NULL ? data : name);
    (void)printf("%s%s%s%s may return; the next look publishes what is "
                 "healthy\n",
                 name, data_arg != NULL ? " (" : "", data,
                 data_arg != NULL ? ")" : "");
    warn_of_dc(env, z, name);
    return CLI_DONE;
}

static int run(const struct cli_options *o, char *const *args)
{
    struct operator_env env;
    int rc;

    if (args[0] == NULL || (args[1] != NULL && args[2] != NULL))
        return cli_fail(CLI_USAGE, "readmit takes a data centre, or a name "
                                   "and perhaps one of its values");
    rc = operator_begin(o, &env);
    if (rc == CLI_DONE && args[1] == NULL && operator_has_dc(&env, args[0]))
        rc = readmit_dc(&env, args[0]);
    else if (rc == CLI_DONE)
        rc = readmit_name(&env, args[0], args[1]);
    return operator_end(&env, rc);
}

const struct cli_command cli_readmit = {
    "readmit",
    "DC|NAME [DATA]",
    "let in again what was kept out",
    "A data centre that was away for longer than its onlyNew, with its\n"
    "records; or the records of a name (or one of them) that return manually,\n"
    "wait after too many changes, or were switched off by somebody else. "
    "Their\n"
    "checks decide as ever. --zone where a data centre's name is not unique.",
    "cZLhV",
    run};
