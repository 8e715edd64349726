#include <string.h>

#include "agent/base/config.h"
#include "agent/base/config_tree.h"
#include "agent/base/proc.h"

/* Command sections: what a check command:NAME runs, and whose specs may say
 * so. A spec never carries a command line. */

#define NAME_MAX_LEN 63

static bool is_name(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz_";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz_0123456789-";
    size_t n = strlen(text);

    return n > 0 && n <= NAME_MAX_LEN && strchr(first, text[0]) != NULL &&
           strspn(text, rest) == n;
}

static int read_exec(const struct config_ctx *ctx, cfg_t *sec,
                     struct config_command *c)
{
    static const char *const keys[] = {"target"};
    static const char *const values[] = {"192.0.2.1"};
    char **argv = NULL;

    if (config_read_text(ctx, sec, "exec", &c->exec) != 0)
        return -1;
    if (c->exec == NULL)
        return config_fail(ctx, sec, c->line, ERR_INPUT,
                           "exec is missing; accepted: a command line, "
                           "{target} stands for the address");
    if (proc_split(c->exec, keys, values, 1, &argv, ctx->e) != 0)
        return config_fail_value(ctx, sec, "exec",
                                 config_at(sec, "exec", 0)->line);
    proc_argv_free(argv);
    return 0;
}

static int read_zones(const struct config_ctx *ctx, cfg_t *sec,
                      struct config_command *c)
{
    size_t n = config_count(sec, "zones");
    const char **list = arena_array(ctx->arena, n, sizeof *list);

    if (n == 0)
        return config_fail(ctx, sec, c->line, ERR_INPUT,
                           "zones is missing; accepted: the zones whose specs "
                           "may name this command");
    for (size_t i = 0; i < n; i++) {
        const struct config_value *v = config_at(sec, "zones", i);
        char name[NAME_SIZE];

        if (name_canon(v->text, name, ctx->e) != 0)
            return config_fail_value(ctx, sec, "zones", v->line);
        list[i] = arena_strdup(ctx->arena, name);
    }
    c->zones = list;
    c->nzones = n;
    return 0;
}

int config_read_commands(const struct config_ctx *ctx, cfg_t *root,
                         struct config *cfg)
{
    size_t n = config_sec_count(root, "command");
    struct config_command *list = arena_array(ctx->arena, n, sizeof *list);

    for (size_t i = 0; i < n; i++) {
        cfg_t *sec = config_sec_at(root, "command", i);

        list[i].line = config_sec_line(sec);
        list[i].name = arena_strdup(ctx->arena, cfg_title(sec));
        if (!is_name(list[i].name))
            return config_fail(ctx, sec, list[i].line, ERR_INPUT,
                               "the name of a command; accepted: a letter or "
                               "_, then letters, digits, _ and -");
        for (size_t k = 0; k < i; k++)
            if (strcmp(list[k].name, list[i].name) == 0)
                return config_fail(ctx, sec, list[i].line, ERR_INPUT,
                                   "is there already, in line %d",
                                   list[k].line);
        if (read_exec(ctx, sec, &list[i]) != 0 ||
            read_zones(ctx, sec, &list[i]) != 0)
            return -1;
    }
    cfg->commands = list;
    cfg->ncommands = n;
    return 0;
}

size_t config_commands_of(const struct config *cfg, const char *zone,
                          struct arena *a, const char *const **names,
                          const char *const **execs)
{
    const char **name = arena_array(a, cfg->ncommands, sizeof *name);
    const char **exec = arena_array(a, cfg->ncommands, sizeof *exec);
    size_t n = 0;

    for (size_t i = 0; i < cfg->ncommands; i++) {
        const struct config_command *c = &cfg->commands[i];

        for (size_t k = 0; k < c->nzones; k++) {
            if (!name_equal(c->zones[k], zone))
                continue;
            name[n] = c->name;
            exec[n++] = c->exec;
            break;
        }
    }
    *names = name;
    *execs = exec;
    return n;
}
