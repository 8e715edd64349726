#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/config.h"
#include "agent/base/config_tree.h"

#define DNS_PORT 53
#define MARK "_failover"
#define VIEW_MAX 63
/* source: spec_item_is_view, specs/item.h */
#define VIEW_LETTERS                                                           \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-"

/* By name, so that two spellings of one zone meet. */
static int read_name(const struct config_ctx *ctx, cfg_t *sec,
                     const struct config *cfg, struct config_zone *z)
{
    const char *title = cfg_title(sec);
    char name[NAME_SIZE] = "*";

    if (strcmp(title, "*") != 0) {
        if (name_canon(title, name, ctx->e) != 0)
            return config_fail_value(ctx, NULL, "zone", z->line);
        if (name[0] == '*')
            return config_fail(ctx, sec, z->line, ERR_INPUT,
                               "a wildcard is no zone; accepted: a zone's "
                               "name, or \"*\" for every zone of the provider");
    }
    for (const struct config_zone *o = cfg->zones; o < z; o++)
        if (strcmp(o->name, name) == 0)
            return config_fail(ctx, sec, z->line, ERR_INPUT,
                               "is given twice; first in line %d", o->line);
    z->name = arena_strdup(ctx->arena, name);
    return 0;
}

static int read_provider(const struct config_ctx *ctx, cfg_t *sec,
                         const struct config *cfg, int line,
                         const struct config_provider **out)
{
    const struct config_value *v = config_at(sec, "provider", 0);

    if (v == NULL)
        return config_fail(ctx, sec, line, ERR_INPUT,
                           "provider is missing; accepted: the name of a "
                           "provider section");
    *out = NULL;
    for (size_t i = 0; i < cfg->nproviders; i++)
        if (strcmp(cfg->providers[i].name, v->text) == 0)
            *out = &cfg->providers[i];
    if (*out == NULL)
        return config_fail(ctx, sec, v->line, ERR_INPUT,
                           "provider: \"%.60s\"; accepted: the name of a "
                           "provider section of this file",
                           v->text);
    return 0;
}

static int read_owner(const struct config_ctx *ctx, const struct config_zone *z,
                      const char *text, char out[NAME_SIZE])
{
    if (name_resolve(text, z->name, out, ctx->e) != 0)
        return -1;
    if (!name_within(out, z->name))
        return err_set(ctx->e, ERR_INPUT,
                       "\"%.100s\" is not in the zone; accepted: names "
                       "relative to it, or absolute ones in it",
                       text);
    if (strncmp(out, MARK ".", sizeof MARK) == 0)
        return err_set(ctx->e, ERR_INPUT,
                       "\"%.100s\"; accepted: the name itself, without " MARK,
                       text);
    return 0;
}

/* One of the names, and where in the list it stands. */
struct listed {
    const char *name;
    size_t at;
};

static int by_name(const void *pa, const void *pb)
{
    const struct listed *a = pa, *b = pb;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* The first that stood there before; n: none. There may be thousands. */
static size_t find_double(const char *const *list, size_t n)
{
    struct listed *sorted = mem_array(n, sizeof *sorted);
    size_t found = n;

    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct listed){list[i], i};
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1].name, sorted[i].name) == 0 &&
            sorted[i].at < found)
            found = sorted[i].at;
    free(sorted);
    return found;
}

static int read_names(const struct config_ctx *ctx, cfg_t *sec,
                      struct config_zone *z)
{
    size_t n = config_count(sec, "names"), twice;
    const char **list = arena_array(ctx->arena, n, sizeof *list);
    char name[NAME_SIZE];

    if (n > 0 && strcmp(z->name, "*") == 0)
        return config_fail(ctx, sec, config_at(sec, "names", 0)->line,
                           ERR_INPUT,
                           "names; accepted: in a section of one zone only");
    for (size_t i = 0; i < n; i++) {
        const struct config_value *v = config_at(sec, "names", i);

        if (read_owner(ctx, z, v->text, name) != 0)
            return config_fail_value(ctx, sec, "names", v->line);
        list[i] = arena_strdup(ctx->arena, name);
    }
    twice = find_double(list, n);
    if (twice < n)
        return config_fail(ctx, sec, config_at(sec, "names", twice)->line,
                           ERR_INPUT, "names: \"%.100s\" is given twice",
                           config_at(sec, "names", twice)->text);
    z->names = list;
    z->nnames = n;
    return 0;
}

static int read_discover(const struct config_ctx *ctx, cfg_t *sec,
                         struct config_zone *z)
{
    static const char *const words[] = {[DISCOVER_PROVIDER] = "provider",
                                        [DISCOVER_AXFR] = "axfr",
                                        [DISCOVER_NAMES] = "names",
                                        NULL};
    size_t i = DISCOVER_PROVIDER;

    if (config_read_word(ctx, sec, "discover", words, &i) != 0)
        return -1;
    if (strcmp(z->name, "*") == 0 && i != DISCOVER_PROVIDER)
        return config_fail(ctx, sec, config_at(sec, "discover", 0)->line,
                           ERR_INPUT,
                           "discover: \"%s\"; accepted for every zone of a "
                           "provider: provider",
                           words[i]);
    z->discover = (enum config_discover)i;
    return 0;
}

/* --- views ----------------------------------------------------------------
 */

static bool is_view(const char *name)
{
    size_t n = strlen(name);

    return n >= 1 && n <= VIEW_MAX && strspn(name, VIEW_LETTERS) == n;
}

/* Two views in one place would write over each other. */
static int check_view(const struct config_ctx *ctx, cfg_t *sec,
                      const struct config_zone *z, const struct config_view *v)
{
    int line = config_at(sec, "provider", 0)->line;

    if (v->provider == z->provider)
        return config_fail(ctx, sec, line, ERR_INPUT,
                           "provider: \"%.60s\" is the zone's own; accepted: "
                           "another provider section, for this view alone",
                           v->provider->name);
    for (size_t i = 0; i < z->nviews; i++)
        if (z->views[i].provider == v->provider)
            return config_fail(ctx, sec, line, ERR_INPUT,
                               "provider: \"%.60s\" is that of view \"%s\"; "
                               "accepted: another provider section, for this "
                               "view alone",
                               v->provider->name, z->views[i].name);
    return 0;
}

static int read_view(const struct config_ctx *ctx, cfg_t *sec,
                     const struct config *cfg, const struct config_zone *z,
                     struct config_view *v)
{
    const char *name = cfg_title(sec);

    v->line = config_sec_line(sec);
    if (!is_view(name))
        return config_fail(ctx, sec, v->line, ERR_INPUT,
                           "\"%.60s\" is no view's name; accepted: 1 to 63 "
                           "letters, digits and . _ : / -",
                           name);
    v->name = arena_strdup(ctx->arena, name);
    if (read_provider(ctx, sec, cfg, v->line, &v->provider) != 0 ||
        config_read_addrs(ctx, sec, "servers", DNS_PORT, &v->servers,
                          &v->nservers) != 0)
        return -1;
    return check_view(ctx, sec, z, v);
}

static int by_view(const void *pa, const void *pb)
{
    const struct config_view *a = pa, *b = pb;

    return strcmp(a->name, b->name);
}

static int read_views(const struct config_ctx *ctx, cfg_t *sec,
                      const struct config *cfg, struct config_zone *z)
{
    size_t n = config_sec_count(sec, "view");
    struct config_view *list = arena_array(ctx->arena, n, sizeof *list);

    z->views = list;
    for (; z->nviews < n; z->nviews++)
        if (read_view(ctx, config_sec_at(sec, "view", z->nviews), cfg, z,
                      &list[z->nviews]) != 0)
            return -1;
    if (n > 0)
        qsort(list, n, sizeof *list, by_view);
    return 0;
}

bool config_zone_uses(const struct config_zone *z,
                      const struct config_provider *p)
{
    for (size_t i = 0; i < z->nviews; i++)
        if (z->views[i].provider == p)
            return true;
    return z->provider == p;
}

/* --- the zone --------------------------------------------------------------
 */

static int read_zone(const struct config_ctx *ctx, cfg_t *sec,
                     const struct config *cfg, struct config_zone *z)
{
    static const char *const modes[] = {"enforce", "observe", NULL};
    size_t mode = 0;

    z->line = config_sec_line(sec);
    if (read_name(ctx, sec, cfg, z) != 0 ||
        read_provider(ctx, sec, cfg, z->line, &z->provider) != 0 ||
        read_discover(ctx, sec, z) != 0 || read_names(ctx, sec, z) != 0 ||
        config_read_addrs(ctx, sec, "servers", DNS_PORT, &z->servers,
                          &z->nservers) != 0 ||
        config_read_word(ctx, sec, "mode", modes, &mode) != 0 ||
        config_read_bool(ctx, sec, "create", &z->create) != 0 ||
        config_read_bool(ctx, sec, "cross-names", &z->cross_names) != 0 ||
        config_read_bool(ctx, sec, "allow-active", &z->allow_active) != 0 ||
        read_views(ctx, sec, cfg, z) != 0)
        return -1;
    z->observe = mode == 1;
    return 0;
}

int config_read_zones(const struct config_ctx *ctx, cfg_t *root,
                      struct config *cfg)
{
    size_t n = config_sec_count(root, "zone");
    struct config_zone *list = arena_array(ctx->arena, n, sizeof *list);

    if (n == 0 && !ctx->no_zones)
        return config_fail(ctx, NULL, 0, ERR_INPUT,
                           "no zone is configured; accepted: at least one "
                           "section zone \"NAME\" { provider = … }");
    cfg->zones = list;
    cfg->nzones = n;
    for (size_t i = 0; i < n; i++)
        if (read_zone(ctx, config_sec_at(root, "zone", i), cfg, &list[i]) != 0)
            return -1;
    return 0;
}
