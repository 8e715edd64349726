#include "agent/cli/lint.h"

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
    const struct config *cfg; /* NULL: none */
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
    l->section = lint_section(l->cfg, l->owner);
    if (l->section == NULL)
        return;
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
        ctx.allow_active = l->section != NULL && l->section->allow_active;
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

/* --- what DNS says of it ---------------------------------------------------
 */

struct asked {
    bool done;
    enum resolver_outcome outcome;
    uint32_t minimum_s;
    bool has_minimum;
};

static void on_asked(void *arg, const struct resolver_answer *answer)
{
    struct asked *a = arg;

    a->outcome = answer->outcome;
    a->has_minimum = answer->outcome == RESOLVER_FOUND &&
                     message_soa_minimum(answer->message, &a->minimum_s) == 0;
    a->done = true;
}

static struct asked ask(struct look *l, const char *name, uint16_t type)
{
    struct asked a = {false, RESOLVER_FAILED, 0, false};

    resolver_ask(l->resolver, &l->servers[0], name, type, on_asked, &a);
    /* a is this frame's: the resolver answers by its own time limits. */
    while (!loop_wait(l->loop, &a.done, clock_mono_ms() + ANSWER_MS))
        continue;
    return a;
}

static bool is_there(struct look *l, const char *name)
{
    static const uint16_t types[] = {MESSAGE_A, MESSAGE_AAAA, MESSAGE_CNAME};

    for (size_t i = 0; i < 3; i++)
        if (ask(l, name, types[i]).outcome != RESOLVER_GONE)
            return true;
    return false;
}

/* _failover.www makes www exist, and a wildcard answers no more for it.
 * source: RFC 4592 2.2.2 */
static void check_wildcard(struct look *l, struct lint_subject *s)
{
    char wildcard[NAME_SIZE + 4];

    if (l->owner[0] == '*' || name_equal(l->owner, l->zone))
        return;
    (void)snprintf(wildcard, sizeof wildcard, "*.%s", name_parent(l->owner));
    if (strlen(wildcard) >= NAME_SIZE || is_there(l, l->owner) ||
        ask(l, wildcard, MESSAGE_A).outcome != RESOLVER_FOUND)
        return;
    lint_note_add(s, "hides-wildcard", false,
                  "_failover.%.*s makes %s exist, and so %s no longer answers "
                  "for it: give %s records of its own",
                  (int)strlen(l->owner) - 1, l->owner, l->owner, wildcard,
                  l->owner);
}

static void check_minimum(struct look *l, struct lint_subject *s)
{
    struct asked a = {false, RESOLVER_FAILED, 0, false};

    for (size_t i = 0; i < s->spec->nsets; i++) {
        if (s->spec->sets[i].all_down != SPEC_NONE)
            continue;
        a = ask(l, l->zone, MESSAGE_SOA);
        break;
    }
    if (a.has_minimum && a.minimum_s > 60)
        lint_note_add(s, "soa-minimum", false,
                      "allDown: none, and the SOA minimum of %s is %u s: "
                      "resolvers remember the empty answer for so long after "
                      "everything is up again",
                      l->zone, a.minimum_s);
}

static int prepare(struct look *l, const char *name, struct err *e)
{
    struct resolver_options ro = {NULL, 0, 0, 0};

    if (cli_name(name, l->owner) != 0)
        return err_set(e, ERR_INPUT, "\"%.200s\" is neither a file nor a name",
                       name);
    if (l->cfg != NULL) {
        ro.servers = l->cfg->resolvers;
        ro.nservers = l->cfg->nresolvers;
    }
    if (resolver_new(l->loop, &ro, &l->resolver, e) != 0)
        return -1;
    use_section(l);
    return l->nservers == 0 ? find_zone(l, e) : 0;
}

void lint_dns(struct lint_subject *s, const struct config *cfg,
              const char *name)
{
    struct look l = {.arena = s->arena, .cfg = cfg};

    l.loop = loop_new();
    if (prepare(&l, name, &s->err) == 0 && judge(&l, &s->spec, &s->err) == 0) {
        s->txts = l.txts;
        s->ntxts = l.ntxts;
        lint_advise(s, cfg, l.section);
        check_wildcard(&l, s);
        check_minimum(&l, s);
    }
    if (l.resolver != NULL)
        resolver_free(l.resolver);
    loop_free(l.loop);
}
