#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/operator.h"

/* `maintenance`: a data centre out of service on purpose, and back. */

/* --- on ------------------------------------------------------------------ */

static int switch_on(struct operator_env *env, const char *dc)
{
    char zone[NAME_SIZE], *subject;
    struct override what = {"maintenance", "", ""};

    if (operator_dc_zone(env, dc, zone) != 0)
        return CLI_USAGE;
    state_override_set(env->state, "maintenance", zone, dc, env->until_ms,
                       env->user);
    (void)snprintf(what.zone, sizeof what.zone, "%s", zone);
    (void)snprintf(what.what, sizeof what.what, "%s", dc);
    subject = override_subject(&what);
    operator_event(env, "maintenance", zone[0] == '*' ? "" : zone, "", dc,
                   "%s%s", subject, env->until);
    (void)printf("%s%s; the next look takes its records out\n", subject,
                 env->until);
    free(subject);
    return CLI_DONE;
}

/* --- off ----------------------------------------------------------------- */

/* Its spec may say so as well. */
static void warn_of_spec(const struct operator_env *env, const char *dc,
                         const char *zone)
{
    for (size_t i = 0; i < env->recall->ndcs; i++) {
        const struct recall_dc *d = &env->recall->dcs[i];

        if (strcmp(d->name, dc) == 0 &&
            (zone[0] == '*' || name_equal(d->zone->name, zone)) &&
            d->owner->spec->dcs[d->index].maintenance)
            (void)printf("%s of %s stays in maintenance: its spec says "
                         "maintenanceMode\n",
                         dc, d->zone->name);
    }
}

static void say_off(struct operator_env *env, const char *dc, const char *zone)
{
    const char *where = zone[0] == '*' ? "every zone" : zone;

    operator_event(env, "maintenance", zone[0] == '*' ? "" : zone, "", dc,
                   "%s of %s is back from maintenance", dc, where);
    (void)printf("%s of %s is back from maintenance; the next look lets its "
                 "records in as their checks say\n",
                 dc, where);
    warn_of_spec(env, dc, zone);
}

/* Clears what fits; zone "": all of that name. returns how many */
static size_t clear(struct operator_env *env, const char *dc, const char *zone)
{
    size_t n = 0, done = 0;
    struct state_override **rows = override_list(env->state, env->now_ms, &n);

    for (size_t i = 0; i < n; i++) {
        struct override o;

        if (!override_split(rows[i], &o) ||
            strcmp(o.kind, "maintenance") != 0 || strcmp(o.what, dc) != 0 ||
            (zone[0] != '\0' && zone[0] != '*' && !name_equal(o.zone, zone)))
            continue;
        rows[i]->used = false;
        say_off(env, dc, o.zone);
        done++;
    }
    free(rows);
    return done;
}

static size_t count(struct operator_env *env, const char *dc)
{
    size_t n = 0, found = 0;
    struct state_override **rows = override_list(env->state, env->now_ms, &n);

    for (size_t i = 0; i < n; i++) {
        struct override o;

        found += override_split(rows[i], &o) &&
                 strcmp(o.kind, "maintenance") == 0 && strcmp(o.what, dc) == 0;
    }
    free(rows);
    return found;
}

/* What is in maintenance may have left the specs meanwhile: the overrides are
 * asked first. */
static int switch_off(struct operator_env *env, const char *dc)
{
    char zone[NAME_SIZE];

    if (operator_zone(env, zone) != 0)
        return CLI_USAGE;
    if (zone[0] == '\0' && count(env, dc) > 1)
        return cli_fail(CLI_USAGE,
                        "\"%s\" is in maintenance in more than one zone; say "
                        "which by --zone, or --zone '*' for every zone",
                        dc);
    if (clear(env, dc, zone) > 0)
        return CLI_DONE;
    if (zone[0] != '\0' && zone[0] != '*' &&
        state_override_find(env->state, "maintenance", "*", dc, env->now_ms) !=
            NULL)
        return cli_fail(CLI_USAGE,
                        "\"%s\" is in maintenance in every zone; --zone '*' "
                        "ends that",
                        dc);
    if (operator_dc_zone(env, dc, zone) != 0)
        return CLI_USAGE;
    (void)printf("%s of %s was not in maintenance by the operator\n", dc,
                 zone[0] == '*' ? "every zone" : zone);
    warn_of_spec(env, dc, zone);
    return CLI_DONE;
}

static int run(const struct cli_options *o, char *const *args)
{
    struct operator_env env;
    bool on;
    int rc;

    if (args[0] == NULL || args[1] == NULL || args[2] != NULL ||
        (strcmp(args[1], "on") != 0 && strcmp(args[1], "off") != 0))
        return cli_fail(CLI_USAGE,
                        "maintenance takes a data centre, and on or "
                        "off; found \"%s\" \"%s\"",
                        args[0] != NULL ? args[0] : "",
                        args[0] != NULL && args[1] != NULL ? args[1] : "");
    on = strcmp(args[1], "on") == 0;
    if (!on && o->for_ms != 0)
        return cli_fail(CLI_USAGE, "--for goes with on");
    rc = operator_begin(o, &env);
    if (rc == CLI_DONE)
        rc = on ? switch_on(&env, args[0]) : switch_off(&env, args[0]);
    return operator_end(&env, rc);
}

const struct cli_command cli_maintenance = {
    "maintenance",
    "DC on|off",
    "a data centre out of service, and back",
    "on: the next look takes the data centre's records out, whatever their\n"
    "checks say, until off or for as long as --for says. It survives restarts\n"
    "and is shown by status. --zone where the name is not unique; --zone '*':\n"
    "the data centre of that name in every zone.",
    "cTZLhV",
    run};
