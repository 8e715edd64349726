#include "agent/cli/publish_net.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/cli/served_serial.h"
#include "agent/engine/world/txt.h"

#define ANSWER_MS 15000
#define LIST_MS 60000
#define CLOSE_MS 5000

/* --- which zone ----------------------------------------------------------- */

static bool is_longer(const char *zone, const char *than)
{
    return than[0] == '\0' || name_labels(zone) > name_labels(than);
}

const struct config_zone *publish_section(const struct config *cfg,
                                          const char *owner)
{
    const struct config_zone *best = NULL;

    for (size_t i = 0; cfg != NULL && i < cfg->nzones; i++) {
        const struct config_zone *z = &cfg->zones[i];

        if (strcmp(z->name, "*") != 0 && name_within(owner, z->name) &&
            (best == NULL || is_longer(z->name, best->name)))
            best = z;
    }
    return best;
}

struct listing {
    struct publish_net *n;
    const struct config_zone *section;
    bool done;
    struct err err;
};

static void on_zones(void *arg, const struct provider_names *names)
{
    struct listing *l = arg;
    struct publish_net *n = l->n;

    l->err = names->err;
    for (size_t i = 0; i < names->n; i++) {
        if (!name_within(n->owner, names->names[i]) ||
            !is_longer(names->names[i], n->zone))
            continue;
        memcpy(n->zone, names->names[i], strlen(names->names[i]) + 1);
        n->section = l->section;
    }
    l->done = true;
}

/* --- the provider --------------------------------------------------------- */

static void served_serial(void *arg, const char *zone, provider_serial_cb *cb,
                          void *cb_arg)
{
    struct publish_net *n = arg;

    served_serial_ask(n->arena, n->loop, n->resolver, n->servers, n->nservers,
                      NULL, zone, cb, cb_arg);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void close_provider(struct publish_net *n)
{
    struct provider *p = n->provider;
    /* Not on the stack: it may end after we gave up. */
    bool *done = arena_alloc(n->arena, sizeof *done);

    n->provider = NULL;
    if (p == NULL)
        return;
    p->ops->close(p, on_closed, done);
    (void)loop_wait(n->loop, done, clock_mono_ms() + CLOSE_MS);
}

static int open_provider(struct publish_net *n,
                         const struct config_provider *cfg, struct err *e)
{
    struct provider_env env = {.loop = n->loop,
                               .http = n->http,
                               .served_serial = served_serial,
                               .arg = n};
    const struct provider_ops *ops = provider_find(cfg->type);

    if (ops == NULL)
        return err_set(e, ERR_BUG, "no such type: %s", cfg->type);
    if (ops->open(ops, &env, cfg, &n->provider, e) != 0)
        return config_provider_fail(cfg, e);
    return 0;
}

/* A zone that only a section of "*" covers, or a longer one than those that
 * are named. */
static int list_zones(struct publish_net *n, const struct config_zone *section,
                      struct err *e)
{
    struct listing l = {.n = n, .section = section};
    struct provider *p;

    if (open_provider(n, section->provider, e) != 0)
        return -1;
    p = n->provider;
    if (p->ops->list_zones == NULL) {
        (void)err_set(&l.err, ERR_UNSUPPORTED,
                      "cannot list zones; name them instead of \"*\"");
    } else {
        p->ops->list_zones(p, on_zones, &l);
        if (!loop_wait(n->loop, &l.done, clock_mono_ms() + LIST_MS))
            (void)err_set(&l.err, ERR_RETRY, "no list of zones in time");
    }
    close_provider(n);
    if (l.err.code == ERR_NONE)
        return 0;
    *e = l.err;
    return err_wrap(e, "provider %s", section->provider->name);
}

static int find_zone(struct publish_net *n, bool with_provider, struct err *e)
{
    n->section = publish_section(n->cfg, n->owner);
    if (n->section != NULL)
        memcpy(n->zone, n->section->name, strlen(n->section->name) + 1);
    for (size_t i = 0; with_provider && i < n->cfg->nzones; i++)
        if (strcmp(n->cfg->zones[i].name, "*") == 0 &&
            list_zones(n, &n->cfg->zones[i], e) != 0)
            return -1;
    if (n->section == NULL)
        return err_set(e, ERR_NOTFOUND,
                       "no zone of the configuration (%s) contains %s",
                       n->cfg->file, n->owner);
    return 0;
}

int publish_open(const struct config *cfg, const char *owner,
                 bool with_provider, struct publish_net *n, struct err *e)
{
    struct resolver_options ro = {.servers = cfg->resolvers,
                                  .nservers = cfg->nresolvers};

    memset(n, 0, sizeof *n);
    n->cfg = cfg;
    memcpy(n->owner, owner, strlen(owner) + 1);
    n->arena = arena_new();
    n->loop = loop_new();
    n->http = http_new(n->loop);
    if (resolver_new(n->loop, &ro, &n->resolver, e) != 0 ||
        find_zone(n, with_provider, e) != 0)
        return -1;
    return with_provider ? open_provider(n, n->section->provider, e) : 0;
}

void publish_close(struct publish_net *n)
{
    close_provider(n);
    if (n->resolver != NULL)
        resolver_free(n->resolver);
    http_free(n->http);
    loop_free(n->loop);
    spec_free(n->apex);
    arena_free(n->arena);
}

/* --- the servers ---------------------------------------------------------- */

struct finding {
    struct publish_net *n;
    bool done;
    struct err err;
};

static void take_ns(struct publish_net *n, const char *const *names,
                    size_t count)
{
    n->ns_names = arena_array(n->arena, count + 1, sizeof *n->ns_names);
    for (size_t i = 0; i < count; i++)
        n->ns_names[i] = arena_strdup(n->arena, names[i]);
    n->nns_names = count;
}

static void on_servers(void *arg, const struct resolver_zone *z)
{
    struct finding *f = arg;
    struct publish_net *n = f->n;

    f->err = z->err;
    f->done = true;
    if (z->err.code != ERR_NONE)
        return;
    n->servers = arena_array(n->arena, z->nservers + 1, sizeof *n->servers);
    memcpy(n->servers, z->servers, z->nservers * sizeof *n->servers);
    n->nservers = z->nservers;
    take_ns(n, z->ns_names, z->nns_names);
}

static void on_ns(void *arg, const struct resolver_answer *answer)
{
    struct finding *f = arg;
    size_t count = 0;
    const char *const *names;

    f->done = true;
    if (answer->outcome != RESOLVER_FOUND)
        return;
    names = message_targets(answer->message, f->n->zone, MESSAGE_NS, &count);
    take_ns(f->n, names, count);
}

int publish_find_servers(struct publish_net *n, struct err *e)
{
    /* Not on the stack: an answer may come after we gave up. */
    struct finding *f = arena_alloc(n->arena, sizeof *f);
    const struct config_zone *section = n->section;

    f->n = n;
    if (section->nservers == 0 || strcmp(section->name, "*") == 0) {
        resolver_find_servers(n->resolver, n->zone, n->cfg->trust_ad,
                              on_servers, f);
    } else {
        n->servers =
            arena_array(n->arena, section->nservers, sizeof *n->servers);
        memcpy(n->servers, section->servers,
               section->nservers * sizeof *n->servers);
        n->nservers = section->nservers;
        resolver_ask(n->resolver, &n->servers[0], n->zone, MESSAGE_NS, on_ns,
                     f);
    }
    if (!loop_wait(n->loop, &f->done, clock_mono_ms() + ANSWER_MS) &&
        n->nservers == 0)
        (void)err_set(&f->err, ERR_RETRY, "no answer in time");
    if (n->nservers > 0)
        return 0;
    *e = f->err;
    return err_wrap(e, "authoritative servers of %s", n->zone);
}

/* --- specs ---------------------------------------------------------------- */

static void on_look(void *arg, const struct resolver_txt *t)
{
    struct publish_look *l = arg;

    l->outcome = t->outcome;
    l->err = t->err;
    l->ntxts = t->outcome == RESOLVER_FOUND ? t->ntxts : 0;
    l->txts = txt_copy(l->net->arena, t->txts, l->ntxts);
    l->done = true;
}

struct publish_look *publish_look_all(struct publish_net *n, const char *owner)
{
    struct publish_look *looks =
        arena_array(n->arena, n->nservers + 1, sizeof *looks);
    int64_t until_ms = clock_mono_ms() + ANSWER_MS;

    for (size_t i = 0; i < n->nservers; i++) {
        looks[i].net = n;
        looks[i].server = &n->servers[i];
        looks[i].outcome = RESOLVER_FAILED;
        (void)err_set(&looks[i].err, ERR_RETRY, "no answer in time");
        resolver_find_txt(n->resolver, looks[i].server, 1, owner, on_look,
                          &looks[i]);
    }
    for (size_t i = 0; i < n->nservers; i++)
        (void)loop_wait(n->loop, &looks[i].done, until_ms);
    return looks;
}

void publish_context(const struct publish_net *n, struct spec_context *ctx)
{
    memset(ctx, 0, sizeof *ctx);
    ctx->owner = n->owner;
    ctx->zone = n->zone;
    ctx->apex = n->apex;
    ctx->ns_names = n->ns_names;
    ctx->nns_names = n->nns_names;
    ctx->min_period_ms = n->cfg->min_period_ms;
    ctx->max_targets = (size_t)n->cfg->max_targets;
    ctx->cross_names = n->section->cross_names;
    ctx->allow_active = n->section->allow_active;
    ctx->keep_doc = true;
}

int publish_find_apex(struct publish_net *n, struct err *e)
{
    const struct publish_look *looks;
    struct spec_context ctx;

    if (name_equal(n->owner, n->zone))
        return 0;
    publish_context(n, &ctx);
    ctx.owner = n->zone;
    looks = publish_look_all(n, n->zone);
    for (size_t i = 0; i < n->nservers; i++) {
        *e = looks[i].err;
        if (looks[i].outcome == RESOLVER_GONE)
            return 0;
        if (looks[i].outcome != RESOLVER_FOUND)
            continue;
        if (spec_parse(looks[i].txts, looks[i].ntxts, &ctx, &n->apex, e) == 0 ||
            e->code == ERR_NOTFOUND)
            return 0;
        return -1; /* it names its place itself */
    }
    return err_wrap(e, "the apex spec, _failover.%s", n->zone);
}
