#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/operator.h"

/* `freeze` and `thaw`: no writes to a name, a zone, or at all; checks go on.
 */

/* What the argument names, as the parts of an override's key. returns 0, or
 * -1 after saying what is known */
static int target(const struct operator_env *env, const char *arg,
                  struct override *out)
{
    const struct recall_zone *z;
    char name[NAME_SIZE], zone[NAME_SIZE], *zones, *names;

    memset(out, 0, sizeof *out);
    (void)snprintf(out->kind, sizeof out->kind, "freeze");
    (void)snprintf(out->zone, sizeof out->zone, "*");
    (void)snprintf(out->what, sizeof out->what, "*");
    if (strcmp(arg, "all") == 0)
        return 0;
    if (cli_name(arg, name) != 0)
        return -1;
    if (operator_has_zone(env, name)) {
        memcpy(out->zone, name, sizeof name);
        return 0;
    }
    z = operator_zone_of(env, name);
    if (z != NULL) {
        (void)snprintf(zone, sizeof zone, "%s", z->name);
        memcpy(out->zone, zone, sizeof zone);
        memcpy(out->what, name, sizeof name);
        return 0;
    }
    zones = operator_zones(env);
    names = operator_names(env);
    (void)cli_fail(0,
                   "\"%s\" is neither a managed name nor a zone nor \"all\"; "
                   "names: %s; zones: %s",
                   name, names, zones);
    free(zones);
    free(names);
    return -1;
}

static const char *history_name(const struct override *o)
{
    if (strcmp(o->what, "*") != 0)
        return o->what;
    return strcmp(o->zone, "*") != 0 ? o->zone : "";
}

static void tell(struct operator_env *env, const char *event,
                 const struct override *o, const char *text)
{
    operator_event(env, event, o->zone[0] == '*' ? "" : o->zone,
                   history_name(o), "", "%s", text);
    (void)printf("%s\n", text);
}

/* --- freeze -------------------------------------------------------------- */

static int freeze(struct operator_env *env, const char *arg)
{
    struct override o;
    char *subject, *text;

    if (target(env, arg, &o) != 0)
        return CLI_USAGE;
    state_override_set(env->state, o.kind, o.zone, o.what, env->until_ms,
                       env->user);
    subject = override_subject(&o);
    text = mem_printf("%s%s: checks go on, nothing is written", subject,
                      env->until);
    tell(env, "freeze", &o, text);
    free(subject);
    free(text);
    return CLI_DONE;
}

/* --- thaw ---------------------------------------------------------------- */

/* The row is what was asked for, or within it. */
static bool is_within(const struct override *row, const struct override *asked)
{
    if (strcmp(row->kind, "freeze") != 0)
        return false;
    if (strcmp(asked->zone, "*") == 0)
        return true;
    if (!name_equal(row->zone, asked->zone))
        return false;
    return strcmp(asked->what, "*") == 0 || name_equal(row->what, asked->what);
}

static void thaw_row(struct operator_env *env, struct state_override *row,
                     const struct override *o)
{
    const char *what = history_name(o);
    char *text = mem_printf("%s is thawed; the next look writes what is due",
                            what[0] != '\0' ? what : "what was frozen");

    row->used = false;
    tell(env, "thaw", o, text);
    free(text);
}

/* What still keeps it frozen. */
static void warn_of_rest(struct operator_env *env, const struct override *o)
{
    char *file = override_freeze_file(env->cfg->state);
    const struct state_override *row =
        override_freeze_of(env->state, o->zone, o->what, env->now_ms);

    if (row != NULL) {
        char *text = override_text(row, env->now_ms);

        (void)printf("still: %s\n", text);
        free(text);
    }
    if (file != NULL)
        (void)printf("still frozen by the file %s: remove it\n", file);
    free(file);
}

/* A name that is frozen may have left the specs meanwhile. */
static bool is_frozen_name(struct operator_env *env, const char *arg,
                           struct override *out)
{
    size_t n = 0;
    struct state_override **rows = override_list(env->state, env->now_ms, &n);
    char name[NAME_SIZE];
    struct err e;
    bool found = false;

    for (size_t i = 0; i < n && !found; i++)
        found = name_canon(arg, name, &e) == 0 &&
                override_split(rows[i], out) &&
                strcmp(out->kind, "freeze") == 0 &&
                strcmp(history_name(out), name) == 0;
    free(rows);
    return found;
}

static int thaw(struct operator_env *env, const char *arg)
{
    struct state_override **rows;
    struct override asked;
    size_t n = 0, done = 0;

    if (!is_frozen_name(env, arg, &asked) && target(env, arg, &asked) != 0)
        return CLI_USAGE;
    rows = override_list(env->state, env->now_ms, &n);
    for (size_t i = 0; i < n; i++) {
        struct override o;

        if (!override_split(rows[i], &o) || !is_within(&o, &asked))
            continue;
        thaw_row(env, rows[i], &o);
        done++;
    }
    free(rows);
    if (done == 0)
        (void)printf("%s was not frozen by itself\n", arg);
    warn_of_rest(env, &asked);
    return CLI_DONE;
}

/* --- commands ------------------------------------------------------------ */

static int run(const struct cli_options *o, char *const *args,
               const char *command,
               int (*fn)(struct operator_env *env, const char *arg))
{
    struct operator_env env;
    int rc;

    if (args[0] == NULL || args[1] != NULL)
        return cli_fail(CLI_USAGE,
                        "%s takes one name, one zone, or all; found %s",
                        command, args[0] == NULL ? "none" : "more");
    rc = operator_begin(o, &env);
    if (rc == CLI_DONE)
        rc = fn(&env, args[0]);
    return operator_end(&env, rc);
}

static int run_freeze(const struct cli_options *o, char *const *args)
{
    return run(o, args, "freeze", freeze);
}

static int run_thaw(const struct cli_options *o, char *const *args)
{
    return run(o, args, "thaw", thaw);
}

const struct cli_command cli_freeze = {
    "freeze",
    "NAME|ZONE|all",
    "write nothing there; checks go on",
    "Until thaw, or for as long as --for says. A file called freeze in the\n"
    "directory of the state does the same for everything, as long as it is\n"
    "there.",
    "cTLhV",
    run_freeze};

const struct cli_command cli_thaw = {
    "thaw",
    "NAME|ZONE|all",
    "the end of freeze",
    "Of a zone: the names in it, too. all: everything that was frozen.",
    "cLhV",
    run_thaw};
