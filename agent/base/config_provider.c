#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/config.h"
#include "agent/base/config_tree.h"
#include "agent/base/proc.h"

#define INT_LIMIT 1000000000000LL
#define TITLE_MAX 63

/* What a command template of a provider may name. */
static const char *const command_keys[] = {"zone", "file"};

static const struct config_field *find_field(const struct config_field *f,
                                             const char *name)
{
    for (; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static bool is_file_of(const char *file_option, const char *name)
{
    size_t n = strlen(name);

    return strncmp(file_option, name, n) == 0 &&
           strcmp(file_option + n, "-file") == 0;
}

/* An option is a secret when it can also be given as NAME-file. */
static const struct config_field *secret_file(const struct config_schema *s,
                                              const char *name)
{
    for (const struct config_field *f = s->fields; f->name != NULL; f++)
        if (is_file_of(f->name, name))
            return f;
    return NULL;
}

static int wrong_type(const struct config_ctx *ctx, cfg_t *sec)
{
    const struct config_value *v = config_at(sec, "type", 0);
    struct buf known;

    buf_init(&known, ERR_MSG_SIZE);
    for (const struct config_schema *s = ctx->schemas; s->type != NULL; s++)
        buf_printf(&known, "%s%s", s == ctx->schemas ? "" : ", ", s->type);
    if (v == NULL)
        (void)config_fail(ctx, sec, config_sec_line(sec), ERR_INPUT,
                          "type is missing; accepted: %s", buf_get(&known));
    else
        (void)config_fail(ctx, sec, v->line, ERR_INPUT,
                          "type: \"%.60s\"; accepted: %s", v->text,
                          buf_get(&known));
    buf_fini(&known);
    return -1;
}

static const struct config_schema *find_schema(const struct config_ctx *ctx,
                                               cfg_t *sec)
{
    const struct config_value *v = config_at(sec, "type", 0);

    for (const struct config_schema *s = ctx->schemas; s->type != NULL; s++)
        if (v != NULL && strcmp(s->type, v->text) == 0)
            return s;
    return NULL;
}

static int wrong_option(const struct config_ctx *ctx, cfg_t *sec,
                        const struct config_schema *s, const char *name)
{
    struct buf known;

    buf_init(&known, ERR_MSG_SIZE);
    buf_str(&known, "type");
    for (const struct config_field *f = s->fields; f->name != NULL; f++)
        buf_printf(&known, ", %s", f->name);
    (void)config_fail(ctx, sec, config_at(sec, name, 0)->line, ERR_INPUT,
                      "\"%s\" is not an option of type %s; accepted: %s", name,
                      s->type, buf_get(&known));
    buf_fini(&known);
    return -1;
}

/* Every option of every type is known to the parser. */
static int check_foreign(const struct config_ctx *ctx, cfg_t *sec,
                         const struct config_schema *own)
{
    for (const struct config_schema *s = ctx->schemas; s->type != NULL; s++)
        for (const struct config_field *f = s->fields; f->name != NULL; f++)
            if (find_field(own->fields, f->name) == NULL &&
                config_count(sec, f->name) > 0)
                return wrong_option(ctx, sec, own, f->name);
    return 0;
}

static int check_command(const char *text, struct err *e)
{
    char **argv;

    if (proc_split(text, command_keys, command_keys,
                   sizeof command_keys / sizeof command_keys[0], &argv, e) != 0)
        return -1;
    proc_argv_free(argv);
    return 0;
}

/* out: *text — the value, booleans as "yes" or "no" */
static int check_value(const struct config_ctx *ctx,
                       const struct config_field *f, const char *value,
                       const char **text)
{
    int64_t number;
    bool flag;

    *text = value;
    if (f->is_command)
        return check_command(value, ctx->e);
    switch (f->kind) {
    case CONFIG_INT:
        return config_parse_int(value, 0, INT_LIMIT, &number, ctx->e);
    case CONFIG_BOOL:
        if (config_parse_bool(value, &flag, ctx->e) != 0)
            return -1;
        *text = flag ? "yes" : "no";
        return 0;
    case CONFIG_STR:
        if (value[0] == '\0')
            return err_set(ctx->e, ERR_INPUT, "is empty");
        return 0;
    }
    return err_set(ctx->e, ERR_BUG, "unknown kind of option");
}

static int check_secret(const struct config_ctx *ctx, cfg_t *sec,
                        const struct config_schema *s,
                        const struct config_field *f, int line)
{
    const struct config_field *file = secret_file(s, f->name);

    if (file == NULL)
        return 0;
    if (config_count(sec, file->name) > 0)
        return config_fail(ctx, sec, line, ERR_INPUT,
                           "%s beside %s; accepted: one of them", f->name,
                           file->name);
    if (ctx->others_read)
        return config_fail(ctx, sec, line, ERR_AUTH,
                           "%s is written here and others can read the file; "
                           "accepted: %s, or chmod 600 %s",
                           f->name, file->name, ctx->file);
    return 0;
}

/* How much of the help says what the option is. */
static int what_len(const char *help)
{
    size_t n = 0;

    while (help[n] != '\0' && help[n] != ';' &&
           (help[n] != '.' || (help[n + 1] != ' ' && help[n + 1] != '\0')))
        n++;
    return (int)n;
}

static int missing(const struct config_ctx *ctx, cfg_t *sec,
                   const struct config_schema *s, const struct config_field *f,
                   const struct config_provider *p)
{
    const char *help = f->help != NULL ? f->help : f->name;

    return config_fail(ctx, sec, p->line, ERR_INPUT,
                       "%s is missing, which type %s needs (%.*s)%s%s", f->name,
                       s->type, what_len(help), help,
                       f->env != NULL ? "; the environment may give it: " : "",
                       f->env != NULL ? f->env : "");
}

static int read_field(const struct config_ctx *ctx, cfg_t *sec,
                      const struct config_schema *s,
                      const struct config_field *f, struct config_provider *p,
                      struct config_option *o)
{
    const struct config_value *v = config_at(sec, f->name, 0);
    const char *text;

    if (v == NULL)
        return 0;
    if (check_value(ctx, f, v->text, &text) != 0)
        return config_fail_value(ctx, sec, f->name, v->line);
    if (check_secret(ctx, sec, s, f, v->line) != 0)
        return -1;
    o->name = arena_strdup(ctx->arena, f->name);
    o->value = arena_strdup(ctx->arena, text);
    o->line = v->line;
    p->noptions++;
    return 0;
}

/* --- the environment ----------------------------------------------------- */

const char *config_env_get(const struct config_field *f, const char **name,
                           size_t *len)
{
    for (const char *at = f->env; at != NULL && *at != '\0'; at += *len) {
        char *key;
        const char *value;

        at += strspn(at, " ");
        *name = at;
        *len = strcspn(at, " ");
        key = mem_strndup(at, *len);
        value = getenv(key);
        free(key);
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

/* One of NAME and NAME-file is enough: the other is not looked for. */
static bool has_twin(const struct config_provider *p, const char *name)
{
    for (size_t i = 0; i < p->noptions; i++)
        if (is_file_of(name, p->options[i].name) ||
            is_file_of(p->options[i].name, name))
            return true;
    return false;
}

/* After the file's options, so that these rule. */
static int read_env(const struct config_ctx *ctx, cfg_t *sec,
                    const struct config_schema *s, const struct config_field *f,
                    struct config_provider *p, struct config_option *o)
{
    const char *name = NULL, *value, *text;
    size_t len = 0;

    if (config_option_find(p, f->name) != NULL)
        return 0;
    value = has_twin(p, f->name) ? NULL : config_env_get(f, &name, &len);
    if (value == NULL && f->required)
        return missing(ctx, sec, s, f, p);
    if (value == NULL)
        return 0;
    if (check_value(ctx, f, value, &text) != 0) {
        char *from = mem_printf("the environment's %.*s", (int)len, name);

        (void)config_fail_value(ctx, sec, from, p->line);
        free(from);
        return -1;
    }
    o->name = arena_strdup(ctx->arena, f->name);
    o->value = arena_strdup(ctx->arena, text);
    o->env = arena_strndup(ctx->arena, name, len);
    p->noptions++;
    return 0;
}

/* --- the section --------------------------------------------------------- */

static int check_title(const struct config_ctx *ctx, cfg_t *sec)
{
    const char *t = cfg_title(sec);
    size_t n = strlen(t);

    if (n > 0 && n <= TITLE_MAX &&
        strspn(t, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                  "0123456789-_.") == n)
        return 0;
    return config_fail(ctx, NULL, config_sec_line(sec), ERR_INPUT,
                       "provider \"%.80s\"; accepted: a name of up to %d "
                       "letters, digits, '-', '_' and '.'",
                       t, TITLE_MAX);
}

int config_read_provider(const struct config_ctx *ctx, cfg_t *sec,
                         struct config_provider *p)
{
    const struct config_schema *s = find_schema(ctx, sec);
    struct config_option *options;
    size_t n = 0;

    if (check_title(ctx, sec) != 0)
        return -1;
    if (s == NULL)
        return wrong_type(ctx, sec);
    if (check_foreign(ctx, sec, s) != 0)
        return -1;
    while (s->fields[n].name != NULL)
        n++;
    options = arena_array(ctx->arena, n, sizeof *options);
    p->name = arena_strdup(ctx->arena, cfg_title(sec));
    p->type = arena_strdup(ctx->arena, s->type);
    p->line = config_sec_line(sec);
    p->doer = ctx->doer;
    p->options = options;
    for (size_t i = 0; i < n; i++)
        if (read_field(ctx, sec, s, &s->fields[i], p, &options[p->noptions]) !=
            0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (read_env(ctx, sec, s, &s->fields[i], p, &options[p->noptions]) != 0)
            return -1;
    return 0;
}

int config_read_providers(const struct config_ctx *ctx, cfg_t *root,
                          struct config *cfg)
{
    size_t n = config_sec_count(root, "provider");
    struct config_provider *list = arena_array(ctx->arena, n, sizeof *list);

    cfg->providers = list;
    for (size_t i = 0; i < n; i++) {
        /* Counted before it is read: config_free wipes its options. */
        cfg->nproviders = i + 1;
        if (config_read_provider(ctx, config_sec_at(root, "provider", i),
                                 &list[i]) != 0)
            return -1;
    }
    return 0;
}

int config_provider_fail(const struct config_provider *p, struct err *e)
{
    if (p->line == 0)
        return err_wrap(e, "provider %s (environment)", p->name);
    return err_wrap(e, "provider %s (line %d)", p->name, p->line);
}

const struct config_option *config_option_find(const struct config_provider *p,
                                               const char *name)
{
    for (size_t i = 0; i < p->noptions; i++)
        if (strcmp(p->options[i].name, name) == 0)
            return &p->options[i];
    return NULL;
}

const char *config_option_get(const struct config_provider *p,
                              const struct config_field *fields,
                              const char *name)
{
    const struct config_option *o = config_option_find(p, name);
    const struct config_field *f = find_field(fields, name);

    if (o != NULL)
        return o->value;
    return f != NULL ? f->dflt : NULL;
}
