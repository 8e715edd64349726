#include "agent/cli/lint_dns.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/mem.h"
#include "agent/engine/txt.h"
#include "resolver/resolver.h"

#define ANSWER_MS 15000

/* One name, looked at from start to end. */
struct look {
    struct arena *arena;
    struct loop *loop;
    struct resolver *resolver;
    struct config *cfg; /* NULL: none */
    const struct config_zone *section;
    char owner[NAME_SIZE], zone[NAME_SIZE];
    struct addr *servers;
    size_t nservers;
    const char **ns_names;
    size_t nns_names;
    struct spec_txt *txts;
    size_t ntxts;
    bool done;
    struct err err;
};

static void on_zone(void *arg, const struct resolver_zone *z)
{
    struct look *l = arg;

    l->err = z->err;
    if (z->err.code == ERR_NONE) {
        l->nservers = z->nservers;
        l->servers = arena_array(l->arena, z->nservers, sizeof *l->servers);
        memcpy(l->servers, z->servers, z->nservers * sizeof *l->servers);
        l->nns_names = z->nns_names;
        l->ns_names = arena_array(l->arena, z->nns_names, sizeof *l->ns_names);
        for (size_t i = 0; i < z->nns_names; i++)
            l->ns_names[i] = arena_strdup(l->arena, z->ns_names[i]);
    }
    l->done = true;
}

/* The nearest name above that has an NS set is the zone. */
static int find_zone(struct look *l, struct err *e)
{
    const char *at = l->owner;

    for (; strcmp(at, ".") != 0; at = name_parent(at)) {
        l->done = false;
        resolver_find_servers(l->resolver, at, false, on_zone, l);
        (void)loop_wait(l->loop, &l->done, clock_mono_ms() + ANSWER_MS);
        if (l->done && l->err.code == ERR_NONE) {
            memcpy(l->zone, at, strlen(at) + 1);
            return 0;
        }
    }
    return err_set(e, ERR_RETRY,
                   "%s: no zone found above it: %s; servers of the zone may "
                   "be named in the configuration (-c)",
                   l->owner, l->done ? l->err.msg : "no answer in time");
}

static void use_section(struct look *l)
{
    long best = -1;

    if (l->cfg == NULL)
        return;
    for (size_t i = 0; i < l->cfg->nzones; i++) {
        const char *zone = l->cfg->zones[i].name;

        if (strcmp(zone, "*") != 0 && name_within(l->owner, zone) &&
            (best < 0 ||
             name_labels(zone) > name_labels(l->cfg->zones[best].name)))
            best = (long)i;
    }
    if (best < 0)
        return;
    l->section = &l->cfg->zones[best];
    memcpy(l->zone, l->section->name, strlen(l->section->name) + 1);
    l->nservers = l->section->nservers;
    l->servers = arena_array(l->arena, l->nservers, sizeof *l->servers);
    memcpy(l->servers, l->section->servers, l->nservers * sizeof *l->servers);
}

static void on_txt(void *arg, const struct resolver_txt *t)
{
    struct look *l = arg;

    l->err = t->err;
    l->ntxts = t->outcome == RESOLVER_FOUND ? t->ntxts : 0;
    l->txts = txt_copy(l->arena, t->txts, l->ntxts);
    l->done = true;
}

/* Length of a name without its final dot. */
static int plain_len(const char *name)
{
    size_t n = strlen(name);

    return (int)(n > 1 && name[n - 1] == '.' ? n - 1 : n);
}

static int fetch(struct look *l, const char *owner, struct err *e)
{
    l->done = false;
    resolver_find_txt(l->resolver, l->servers, l->nservers, owner, on_txt, l);
    (void)loop_wait(l->loop, &l->done, clock_mono_ms() + ANSWER_MS);
    if (!l->done)
        return err_set(e, ERR_RETRY, "_failover.%.*s: no answer in time",
                       plain_len(owner), owner);
    if (l->ntxts == 0)
        return err_set(
            e, l->err.code == ERR_NOTFOUND ? ERR_NOTFOUND : ERR_RETRY,
            "_failover.%.*s: %s", plain_len(owner), owner, l->err.msg);
    return 0;
}

static int judge(struct look *l, struct spec **spec, struct err *e)
{
    struct spec_context ctx = {.owner = l->zone,
                               .zone = l->zone,
                               .ns_names = l->ns_names,
                               .nns_names = l->nns_names,
                               .min_period_ms = 500,
                               .max_targets = 200};
    struct spec *apex = NULL;
    struct err ignored;
    int rc;

    if (l->cfg != NULL) {
        ctx.min_period_ms = l->cfg->min_period_ms;
        ctx.max_targets = (size_t)l->cfg->max_targets;
        ctx.cross_names = l->section != NULL && l->section->cross_names;
    }
    if (!name_equal(l->owner, l->zone) && fetch(l, l->zone, &ignored) == 0 &&
        spec_parse(l->txts, l->ntxts, &ctx, &apex, &ignored) == 0)
        ctx.apex = apex;
    ctx.owner = l->owner;
    rc = fetch(l, l->owner, e);
    if (rc == 0)
        rc = spec_parse(l->txts, l->ntxts, &ctx, spec, e);
    /* What the spec took from the apex is copied into its own arena. */
    spec_free(apex);
    return rc;
}

static struct config *optional_config(const struct cli_options *o)
{
    if (!o->config_given && access(o->config, R_OK) != 0)
        return NULL;
    return cli_config(o);
}

int lint_dns(const struct cli_options *o, const char *name, struct spec **spec,
             struct err *e)
{
    struct look l = {.arena = arena_new()};
    struct resolver_options ro = {NULL, 0, 0, 0};
    int rc = -1;

    l.loop = loop_new();
    l.cfg = optional_config(o);
    if (o->config_given && l.cfg == NULL) {
        (void)err_set(e, ERR_INPUT, "the configuration cannot be read");
        goto out;
    }
    if (cli_name(name, l.owner) != 0) {
        (void)err_set(e, ERR_INPUT, "\"%.200s\" is neither a file nor a name",
                      name);
        goto out;
    }
    if (l.cfg != NULL) {
        ro.servers = l.cfg->resolvers;
        ro.nservers = l.cfg->nresolvers;
    }
    if (resolver_new(l.loop, &ro, &l.resolver, e) != 0)
        goto out;
    use_section(&l);
    if (l.nservers == 0 && find_zone(&l, e) != 0)
        goto out;
    rc = judge(&l, spec, e);
out:
    if (l.resolver != NULL)
        resolver_free(l.resolver);
    loop_free(l.loop);
    config_free(l.cfg);
    arena_free(l.arena);
    return rc;
}
