#include "agent/cli/lint.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/mem.h"
#include "agent/engine/world/txt.h"
#include "resolver/resolver.h"
#include "specs/advise.h"

#define ANSWER_MS 15000
#define TTL_LONG_S 300 /* source: spec-language 10 */

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
    if (l->section == NULL || strcmp(l->section->name, "*") == 0)
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

/* The apex spec, or NULL. One that is there and of no use is told: without
 * its names the spec may look wrong. */
static struct spec *read_apex(struct look *l, struct lint_subject *s,
                              struct spec_context *ctx)
{
    struct spec *apex = NULL;
    struct err e;

    if (name_equal(l->owner, l->zone))
        return NULL;
    if (fetch(l, l->zone, &e) == 0 &&
        spec_parse(l->txts, l->ntxts, ctx, &apex, &e) == 0)
        return apex;
    if (e.code != ERR_NOTFOUND)
        lint_note_add(s, "apex", false, "judged without the apex spec: %s",
                      e.msg);
    return NULL;
}

static int judge(struct look *l, struct lint_subject *s)
{
    struct spec_context ctx = {.owner = l->zone,
                               .zone = l->zone,
                               .ns_names = l->ns_names,
                               .nns_names = l->nns_names,
                               .min_period_ms = 500,
                               .max_targets = 200};
    struct spec *apex;
    int rc;

    if (l->cfg != NULL) {
        ctx.min_period_ms = l->cfg->min_period_ms;
        ctx.max_targets = (size_t)l->cfg->max_targets;
        ctx.cross_names = l->section != NULL && l->section->cross_names;
        ctx.allow_active = l->section != NULL && l->section->allow_active;
    }
    apex = read_apex(l, s, &ctx);
    ctx.apex = apex;
    ctx.owner = l->owner;
    rc = fetch(l, l->owner, &s->err);
    if (rc == 0)
        rc = spec_parse(l->txts, l->ntxts, &ctx, &s->spec, &s->err);
    /* What the spec took from the apex is copied into its own arena. */
    spec_free(apex);
    return rc;
}

/* --- what DNS says of it ---------------------------------------------------
 */

struct asked {
    const char *name;
    uint16_t type;
    bool done;
    enum resolver_outcome outcome;
    uint32_t minimum_s, ttl_s;
    bool has_minimum, has_ttl;
};

static void on_asked(void *arg, const struct resolver_answer *answer)
{
    struct asked *a = arg;
    const struct message *m = answer->message;
    struct addr addr;

    a->outcome = answer->outcome;
    if (answer->outcome == RESOLVER_FOUND) {
        a->has_minimum = message_soa_minimum(m, &a->minimum_s) == 0;
        a->has_ttl =
            message_addrs(m, a->name, a->type, &addr, 1, &a->ttl_s) > 0;
    }
    a->done = true;
}

static struct asked ask(struct look *l, const char *name, uint16_t type)
{
    struct asked a = {.name = name, .type = type, .outcome = RESOLVER_FAILED};

    resolver_ask(l->resolver, &l->servers[0], name, type, on_asked, &a);
    /* a is this frame's: the resolver answers by its own time limits. */
    while (!loop_wait(l->loop, &a.done, clock_mono_ms() + ANSWER_MS))
        continue;
    return a;
}

/* What a name is asked for to see whether it is there. */
static const uint16_t usual_types[] = {MESSAGE_A, MESSAGE_AAAA, MESSAGE_CNAME,
                                       MESSAGE_TXT, MESSAGE_NS};
#define NUSUAL (sizeof usual_types / sizeof usual_types[0])

static bool has_records(struct look *l, const char *name)
{
    for (size_t i = 0; i < NUSUAL; i++)
        if (ask(l, name, usual_types[i]).outcome == RESOLVER_FOUND)
            return true;
    return false;
}

/* False, too, where no answer came. */
static bool has_none(struct look *l, const char *name)
{
    for (size_t i = 0; i < NUSUAL; i++)
        if (ask(l, name, usual_types[i]).outcome != RESOLVER_GONE)
            return false;
    return true;
}

/* _failover.www makes www exist, and a wildcard answers no more for it; so it
 * does with the names between www and the wildcard.
 * source: RFC 4592 2.2.2 and 3.3.1 */
static void check_wildcard(struct look *l, struct lint_subject *s)
{
    char wildcard[NAME_SIZE + 4];
    const char *at = l->owner;

    if (l->owner[0] == '*')
        return;
    while (!name_equal(at, l->zone) && has_none(l, at)) {
        at = name_parent(at);
        (void)snprintf(wildcard, sizeof wildcard, "*.%s", at);
        if (strlen(wildcard) >= NAME_SIZE || !has_records(l, wildcard))
            continue;
        lint_note_add(s, "hides-wildcard", false,
                      "_failover.%.*s makes %s exist, and so %s no longer "
                      "answers for it: give %s records of its own",
                      plain_len(l->owner), l->owner, l->owner, wildcard,
                      l->owner);
        return;
    }
}

static void check_minimum(struct look *l, struct lint_subject *s)
{
    struct asked a = {.outcome = RESOLVER_FAILED};

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

/* Where the spec gives no TTL, the one that stands in the zone counts. */
static void check_ttls(struct look *l, struct lint_subject *s)
{
    for (size_t i = 0; i < s->spec->nsets; i++) {
        const struct spec_set *set = &s->spec->sets[i];
        struct asked a;

        if (set->ttl_s >= 0 || set->type == SPEC_CNAME ||
            spec_worst_case_ms(s->spec, set, 0, 0, 0) < 0)
            continue;
        a = ask(l, set->name, set->type == SPEC_A ? MESSAGE_A : MESSAGE_AAAA);
        if (a.has_ttl && a.ttl_s > TTL_LONG_S)
            lint_note_add(s, "ttl-long", false,
                          "_failover.%.*s %s: %s %s stands in the zone with a "
                          "TTL of %u s: resolvers hand out a withdrawn value "
                          "for so long; give it a ttl of %d s at most",
                          plain_len(l->owner), l->owner,
                          set->records[0].pointer, set->name,
                          spec_type_name(set->type), a.ttl_s, TTL_LONG_S);
    }
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
              const char *name, int64_t cron_ms)
{
    struct look l = {.arena = s->arena, .cfg = cfg};

    l.loop = loop_new();
    if (prepare(&l, name, &s->err) == 0 && judge(&l, s) == 0) {
        s->txts = l.txts;
        s->ntxts = l.ntxts;
        lint_advise(s, cfg, l.section, cron_ms);
        check_wildcard(&l, s);
        check_minimum(&l, s);
        check_ttls(&l, s);
    }
    if (l.resolver != NULL)
        resolver_free(l.resolver);
    loop_free(l.loop);
}
