#include "agent/base/config_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"

struct opt_spec {
    const char *name;
    bool list;
};

static const struct opt_spec agent_opts[] = {
    {"state", false},  {"user", false},         {"dc", false},
    {"anchors", true}, {"allow-targets", true}, {"listen", false},
    {"notify", false}, {"max-targets", false},  {"min-period", false},
};
static const struct opt_spec resolver_opts[] = {{"servers", true},
                                                {"trust", false}};
static const struct opt_spec zone_opts[] = {
    {"provider", false},    {"discover", false},     {"names", true},
    {"servers", true},      {"mode", false},         {"create", false},
    {"cross-names", false}, {"allow-active", false},
};
static const struct opt_spec view_opts[] = {{"provider", false},
                                            {"servers", true}};
static const struct opt_spec command_opts[] = {{"exec", false},
                                               {"zones", true}};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* libconfuse hands values over one by one; the first of an assignment finds
 * the option empty. def.number is free in options of this type: it keeps the
 * line of the first assignment. */
static int on_value(cfg_t *sec, cfg_opt_t *opt, const char *text, void *out)
{
    size_t len = strlen(text);
    struct config_value *v;

    if (opt->nvalues == 1 && opt->def.number != 0) {
        cfg_error(sec, "\"%s\" is given twice; first in line %ld", opt->name,
                  opt->def.number);
        return -1;
    }
    if (opt->nvalues == 1)
        opt->def.number = sec->line;
    v = mem_alloc(sizeof *v + len + 1);
    v->line = sec->line;
    memcpy(v->text, text, len + 1);
    memcpy(out, &v, sizeof v);
    return 0;
}

static void free_value(void *p)
{
    struct config_value *v = p;

    explicit_bzero(v->text, strlen(v->text)); /* passwords are among them */
    free(v);
}

static bool is_option(const cfg_opt_t *o)
{
    return o->name[0] != CONFIG_AT[0];
}

static const char *advice(const char *text)
{
    static const struct {
        const char *start, *accepted;
    } known[] = {
        {"missing equal sign", "NAME = VALUE"},
        {"attempt to append", "NAME = VALUE"},
        {"missing title", "SECTION \"TITLE\" { … }"},
        {"missing opening brace", "SECTION { … } or SECTION \"TITLE\" { … }"},
        {"premature end", "NAME = VALUE"},
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (strncmp(text, known[i].start, strlen(known[i].start)) == 0)
            return known[i].accepted;
    return "NAME = VALUE, NAME = {\"a\", \"b\"} for options that take several, "
           "SECTION { … }";
}

static void list_options(cfg_t *sec, struct buf *out)
{
    const char *sep = "";

    for (const cfg_opt_t *o = sec->opts; o->name != NULL; o++) {
        if (!is_option(o))
            continue;
        buf_printf(out, "%s%s%s", sep, o->name,
                   (o->flags & CFGF_TITLE) != 0 ? " NAME" : "");
        sep = ", ";
    }
}

/* libconfuse's own words, and what it leaves out. */
static void explain(cfg_t *sec, const char *text, struct buf *out)
{
    static const char unknown[] = "no such option '",
                      doubled[] = "found duplicate title '";
    const char *name = strchr(text, '\'');
    int len = name != NULL ? (int)strcspn(name + 1, "'") : 0;
    bool root = strcmp(cfg_name(sec), "root") == 0;

    if (strncmp(text, unknown, strlen(unknown)) == 0) {
        buf_printf(out, "\"%.*s\" is not %s%s; accepted: ", len, name + 1,
                   root ? "a section" : "an option of ",
                   root ? "" : cfg_name(sec));
        list_options(sec, out);
    } else if (strncmp(text, doubled, strlen(doubled)) == 0) {
        buf_printf(out,
                   "\"%.*s\" is given twice; accepted: one section for "
                   "each name",
                   len, name + 1);
    } else if (text[0] == '"') {
        buf_str(out, text); /* from on_value */
    } else {
        buf_printf(out, "%s; accepted: %s", text, advice(text));
    }
}

/* The callback has no argument of ours, and the program no globals: the
 * message waits in the section's comment, which libconfuse frees. */
__attribute__((format(printf, 2, 0))) static void
on_error(cfg_t *sec, const char *fmt, va_list ap)
{
    char text[ERR_MSG_SIZE];
    struct buf b;

    if (sec->comment != NULL)
        return;
    (void)vsnprintf(text, sizeof text, fmt, ap);
    buf_init(&b, 4 * sizeof text);
    buf_printf(&b, "%d: ", sec->line);
    explain(sec, text, &b);
    sec->comment = buf_take(&b);
}

static const char *find_error(cfg_t *sec)
{
    if (sec->comment != NULL)
        return sec->comment;
    for (cfg_opt_t *o = sec->opts; o->name != NULL; o++) {
        if (o->type != CFGT_SEC)
            continue;
        for (unsigned i = 0; i < cfg_opt_size(o); i++) {
            cfg_t *inner = cfg_opt_getnsec(o, i);
            const char *found = inner != NULL ? find_error(inner) : NULL;

            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

static cfg_opt_t value_opt(const char *name, bool list)
{
    cfg_opt_t o;

    memset(&o, 0, sizeof o);
    o.name = name;
    o.type = CFGT_PTR;
    o.flags = list ? CFGF_LIST : CFGF_NONE;
    o.parsecb = on_value;
    o.freecb = free_value;
    return o;
}

static cfg_opt_t section_opt(const char *name, cfg_opt_t *opts, bool title)
{
    cfg_opt_t o;

    memset(&o, 0, sizeof o);
    o.name = name;
    o.type = CFGT_SEC;
    o.flags = CFGF_MULTI | (title ? CFGF_TITLE | CFGF_NO_TITLE_DUPES : 0);
    o.subopts = opts;
    return o;
}

/* Room for spare more options behind those of spec, and the end's. */
static cfg_opt_t *make_opts(struct arena *a, const struct opt_spec *spec,
                            size_t n, size_t spare)
{
    cfg_opt_t *o = arena_array(a, n + spare + 2, sizeof *o);

    o[0] = value_opt(CONFIG_AT, false);
    o[0].def.parsed = arena_strdup(a, "at");
    for (size_t i = 0; i < n; i++)
        o[1 + i] = value_opt(spec[i].name, spec[i].list);
    return o;
}

/* libconfuse wants to know every option beforehand: those of all types. */
static cfg_opt_t *provider_opts(struct arena *a,
                                const struct config_schema *schemas)
{
    size_t n = 1;
    cfg_opt_t *o, *end;

    for (const struct config_schema *s = schemas; s->type != NULL; s++)
        for (const struct config_field *f = s->fields; f->name != NULL; f++)
            n++;
    o = make_opts(a, NULL, 0, n);
    end = o + 1;
    *end++ = value_opt("type", false);
    for (const struct config_schema *s = schemas; s->type != NULL; s++) {
        for (const struct config_field *f = s->fields; f->name != NULL; f++) {
            const cfg_opt_t *known = o;

            while (known < end && strcmp(known->name, f->name) != 0)
                known++;
            if (known == end)
                *end++ = value_opt(f->name, false);
        }
    }
    return o;
}

static cfg_t *make_root(struct arena *a, const struct config_schema *schemas)
{
    cfg_opt_t *zone = make_opts(a, zone_opts, COUNT(zone_opts), 1);
    cfg_opt_t root[6];

    zone[1 + COUNT(zone_opts)] =
        section_opt("view", make_opts(a, view_opts, COUNT(view_opts), 0), true);
    memset(root, 0, sizeof root);
    root[0] = section_opt(
        "agent", make_opts(a, agent_opts, COUNT(agent_opts), 0), false);
    root[1] = section_opt("resolver",
                          make_opts(a, resolver_opts, COUNT(resolver_opts), 0),
                          false);
    root[2] = section_opt("provider", provider_opts(a, schemas), true);
    root[3] = section_opt("zone", zone, true);
    root[4] = section_opt(
        "command", make_opts(a, command_opts, COUNT(command_opts), 0), true);
    return cfg_init(root, CFGF_NONE); /* takes a copy */
}

cfg_t *config_tree_parse(const struct config_ctx *ctx, const char *text)
{
    struct arena *a = arena_new();
    cfg_t *root = make_root(a, ctx->schemas);
    const char *found;

    arena_free(a);
    if (root == NULL) {
        (void)err_set(ctx->e, ERR_LOCAL, "%s: no memory to read it", ctx->file);
        return NULL;
    }
    (void)cfg_set_error_function(root, on_error);
    if (cfg_parse_buf(root, text) == CFG_SUCCESS)
        return root;
    found = find_error(root);
    if (found != NULL)
        (void)err_set(ctx->e, ERR_INPUT, "%s:%s", ctx->file, found);
    else
        (void)err_set(ctx->e, ERR_INPUT, "%s:%d: not understood; accepted: %s",
                      ctx->file, root->line, advice(""));
    config_tree_free(root);
    return NULL;
}

void config_tree_free(cfg_t *root)
{
    if (root != NULL)
        (void)cfg_free(root);
}
