#include "providers/hook/hook_command.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/base/mem.h"
#include "agent/base/proc.h"

#define WAIT_MIN_MS 100
#define WAIT_MAX_MS 3600000
#define VARIABLES_MAX 64

const struct config_field hook_fields[] = {
    {"command", CONFIG_STR, true, false, NULL,
     "The command, by its full path or as it stands in PATH, with its "
     "arguments; run without a shell. It reads one request as JSON and writes "
     "one answer, see THE HOOK'S REQUESTS.",
     "HOOK_COMMAND"},
    {"directory", CONFIG_STR, false, false, "/",
     "The directory that it runs in, an absolute path.", "HOOK_DIRECTORY"},
    {"environment", CONFIG_STR, false, false, NULL,
     "Names of environment variables that it gets as dnsfailover itself has "
     "them, separated by blanks; beside them it gets PATH, HOME, USER, "
     "LOGNAME, "
     "SHELL, LANG, LANGUAGE, LC_*, TZ and TMPDIR, and no others.",
     "HOOK_ENVIRONMENT"},
    {"timeout", CONFIG_STR, false, false, "60s",
     "Time limit for each request, from 100ms to 1h; then the command and all "
     "that it started are ended.",
     "HOOK_TIMEOUT"},
    {"requests", CONFIG_STR, false, false, "list-records apply",
     "What it answers, separated by blanks: list-records, apply, list-zones, "
     "list-specs, write-spec. The first two are needed.",
     "HOOK_REQUESTS"},
    {"disables", CONFIG_BOOL, false, false, "no",
     "A withdrawn value stays in its listing, as \"enabled\": false.",
     "HOOK_DISABLES"},
    {"atomic", CONFIG_BOOL, false, false, "no",
     "It makes all changes of a request, or none.", "HOOK_ATOMIC"},
    {"min-ttl", CONFIG_INT, false, false, "0",
     "The lowest TTL that it takes, in seconds.", "HOOK_MIN_TTL"},
    {"publish-time", CONFIG_STR, false, false, "0",
     "How long it takes, at most, from its answer until DNS serves a change, "
     "up to 1h.",
     "HOOK_PUBLISH_TIME"},
    {NULL, CONFIG_STR, false, false, NULL, NULL, NULL},
};

static int fail_option(struct err *e, const char *name)
{
    return err_wrap(e, "%s", name);
}

static bool is_variable(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z') ||
              p[i] == '_' || (i > 0 && p[i] >= '0' && p[i] <= '9')))
            return false;
    return true;
}

static bool has(const struct hook_command *c, const char *name, size_t len)
{
    for (size_t i = 0; c->env[i] != NULL; i++)
        if (strncmp(c->env[i], name, len) == 0 && c->env[i][len] == '=')
            return true;
    return false;
}

/* What every command gets. returns how many */
static size_t begin_environment(struct hook_command *c)
{
    char **base = proc_env_new();
    size_t n = 0;

    while (base[n] != NULL)
        n++;
    c->env = mem_array(n + VARIABLES_MAX + 1, sizeof *c->env);
    for (size_t i = 0; i < n; i++)
        c->env[i] = mem_strdup(base[i]);
    free(base);
    return n;
}

static int read_environment(const struct config_provider *cfg,
                            struct hook_command *c, struct err *e)
{
    const char *p = config_option_get(cfg, hook_fields, "environment");
    size_t n = begin_environment(c), max = n + VARIABLES_MAX;

    while (p != NULL && *(p += strspn(p, " \t")) != '\0') {
        size_t len = strcspn(p, " \t");
        char *name;
        const char *value;

        if (!is_variable(p, len) || n == max) {
            (void)err_set(e, ERR_INPUT,
                          "\"%.100s\"; accepted: at most %d names of "
                          "variables, of letters, digits and _",
                          p, VARIABLES_MAX);
            return fail_option(e, "environment");
        }
        name = mem_strndup(p, len);
        value = getenv(name);
        if (value != NULL && !has(c, name, len))
            c->env[n++] = mem_printf("%s=%s", name, value);
        free(name);
        p += len;
    }
    return 0;
}

int hook_command_read(const struct config_provider *cfg, struct hook_command *c,
                      struct err *e)
{
    const char *command = config_option_get(cfg, hook_fields, "command");
    const char *dir = config_option_get(cfg, hook_fields, "directory");
    const char *timeout = config_option_get(cfg, hook_fields, "timeout");

    memset(c, 0, sizeof *c);
    if (command == NULL) {
        (void)err_set(e, ERR_INPUT, "is missing; accepted: a command line");
        return fail_option(e, "command");
    }
    if (proc_split(command, NULL, NULL, 0, &c->argv, e) != 0)
        return fail_option(e, "command");
    if (dir[0] != '/') {
        (void)err_set(e, ERR_INPUT, "\"%.200s\"; accepted: an absolute path",
                      dir);
        return fail_option(e, "directory");
    }
    c->dir = mem_strdup(dir);
    if (duration_parse(timeout, &c->timeout_ms, e) != 0)
        return fail_option(e, "timeout");
    if (c->timeout_ms < WAIT_MIN_MS || c->timeout_ms > WAIT_MAX_MS) {
        (void)err_set(e, ERR_INPUT, "\"%.40s\"; accepted: 100ms to 1h",
                      timeout);
        return fail_option(e, "timeout");
    }
    return read_environment(cfg, c, e);
}

void hook_command_fini(struct hook_command *c)
{
    proc_argv_free(c->argv);
    proc_argv_free(c->env);
    free(c->dir);
    memset(c, 0, sizeof *c);
}
