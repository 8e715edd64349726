#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/config.h"
#include "agent/base/config_tree.h"

/* What the command line and the environment ask for, in the form of a file. */

#define DNS_PORT 53

/* --- the provider -------------------------------------------------------- */

static const struct config_schema *find_type(const struct config_schema *s,
                                             const char *type)
{
    for (; s->type != NULL; s++)
        if (strcmp(s->type, type) == 0)
            return s;
    return NULL;
}

static int no_provider(const struct config_ctx *ctx, const struct config *cfg,
                       const char *name)
{
    struct buf known;

    buf_init(&known, ERR_MSG_SIZE);
    for (size_t i = 0; i < cfg->nproviders; i++)
        buf_printf(&known, "%s, ", cfg->providers[i].name);
    for (const struct config_schema *s = ctx->schemas; s->type != NULL; s++)
        buf_printf(&known, "%s%s", s == ctx->schemas ? "" : ", ", s->type);
    (void)err_set(ctx->e, ERR_INPUT, "--provider %.60s; accepted: %s", name,
                  buf_get(&known));
    buf_fini(&known);
    return -1;
}

/* A section with nothing but its type: the environment gives the rest. */
static int read_section(const struct config_ctx *ctx, const char *type,
                        struct config_provider *p)
{
    struct config_ctx own = *ctx;
    char *text = mem_printf("provider %s { type = %s }\n", type, type);
    cfg_t *root;
    int rc = -1;

    own.file = "environment";
    own.no_lines = true;
    root = config_tree_parse(&own, text);
    free(text);
    if (root == NULL)
        return -1;
    rc = config_read_provider(&own, config_sec_at(root, "provider", 0), p);
    p->line = 0;
    config_tree_free(root);
    return rc;
}

/* out: *out — a section of the file, or a new one behind them */
static int find_provider(const struct config_ctx *ctx, struct config *cfg,
                         const char *name, const struct config_provider **out)
{
    size_t n = cfg->nproviders;
    struct config_provider *list;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(cfg->providers[i].name, name) != 0)
            continue;
        *out = &cfg->providers[i];
        return 0;
    }
    if (find_type(ctx->schemas, name) == NULL)
        return no_provider(ctx, cfg, name);
    list = arena_array(ctx->arena, n + 1, sizeof *list);
    if (n > 0)
        memcpy(list, cfg->providers, n * sizeof *list);
    cfg->providers = list;
    cfg->nproviders = n + 1;
    *out = &list[n];
    return read_section(ctx, name, &list[n]);
}

/* --- the zone ------------------------------------------------------------ */

static int read_servers(const struct config_ctx *ctx, const char *text,
                        struct config_zone *z)
{
    struct addr *list = arena_array(ctx->arena, strlen(text) + 1, sizeof *list);
    char *copy = arena_strdup(ctx->arena, text), *save = NULL;
    size_t n = 0;

    for (char *w = strtok_r(copy, ", ", &save); w != NULL;
         w = strtok_r(NULL, ", ", &save))
        if (addr_parse_port(w, DNS_PORT, &list[n++], ctx->e) != 0)
            return err_wrap(ctx->e, "--servers");
    z->servers = list;
    z->nservers = n;
    return 0;
}

static const struct config_zone *section_of(const struct config *cfg,
                                            const char *name)
{
    for (size_t i = 0; i < cfg->nzones; i++)
        if (strcmp(cfg->zones[i].name, name) == 0)
            return &cfg->zones[i];
    return NULL;
}

static int canon_zone(const struct config_ctx *ctx, const char *text,
                      char out[NAME_SIZE])
{
    if (strcmp(text, "*") == 0) {
        memcpy(out, "*", 2);
        return 0;
    }
    if (name_canon(text, out, ctx->e) != 0)
        return err_wrap(ctx->e, "--zone");
    if (out[0] == '*')
        return err_set(ctx->e, ERR_INPUT, "--zone %.80s: a wildcard is no zone",
                       text);
    return 0;
}

static int select_zone(const struct config_ctx *ctx,
                       const struct config_request *req, struct config *cfg)
{
    struct config_zone *z = arena_alloc(ctx->arena, sizeof *z);
    const struct config_zone *section;
    char name[NAME_SIZE];

    if (canon_zone(ctx, req->zone, name) != 0)
        return -1;
    section = section_of(cfg, name);
    if (section == NULL)
        section = section_of(cfg, "*");
    if (section == NULL && req->provider == NULL)
        return err_set(ctx->e, ERR_INPUT,
                       "--zone %s has no section in %s; accepted: a zone that "
                       "has, or --provider with it",
                       name, cfg->file);
    if (req->provider != NULL &&
        find_provider(ctx, cfg, req->provider, &z->provider) != 0)
        return -1;
    if (req->provider == NULL ||
        (section != NULL &&
         strcmp(section->provider->name, z->provider->name) == 0))
        *z = *section;
    z->name = arena_strdup(ctx->arena, name);
    if (req->records)
        z->create = z->allow_active = true;
    if (req->servers != NULL && read_servers(ctx, req->servers, z) != 0)
        return -1;
    cfg->zones = z;
    cfg->nzones = 1;
    return 0;
}

int config_load_for(const struct config_request *req,
                    const struct config_schema *schemas, struct config **cfg,
                    struct err *e)
{
    struct err own = {0};
    struct config_ctx ctx = {
        .schemas = schemas, .e = e != NULL ? e : &own, .no_zones = true};
    struct config *c =
        config_new(&ctx, req->file != NULL ? req->file : "command line");

    *cfg = NULL;
    if ((req->file != NULL && config_read_file(&ctx, c) != 0) ||
        select_zone(&ctx, req, c) != 0) {
        config_free(c);
        return -1;
    }
    *cfg = c;
    return 0;
}
