#include "agent/engine/round/round.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

/* The sequence of the stages, and what they stand on. */

static const struct round_zone *zone_of(const struct round *r,
                                        const struct state_problem *p)
{
    size_t n = strcspn(p->key, "|");

    for (size_t i = 0; i < r->nzones; i++)
        if (strlen(r->zones[i]->name) == n &&
            strncmp(r->zones[i]->name, p->key, n) == 0)
            return r->zones[i];
    return NULL;
}

/* A provider that stands for "*" did not list its zones. */
static bool is_listing_gone(const struct round *r)
{
    bool gone = false;

    for (size_t i = 0; i < r->cfg->nzones; i++) {
        struct state_problem *p = NULL;
        char *key = mem_printf("|%s", r->cfg->zones[i].provider->name);

        if (strcmp(r->cfg->zones[i].name, "*") == 0)
            HASH_FIND_STR(state_problems(r->state), key, p);
        gone = gone || (p != NULL && p->used);
        free(key);
    }
    return gone;
}

/* A problem of a stage that was not reached in this round: nobody knows
 * whether it is over. */
static bool is_open(const struct round *r, const struct state_problem *p)
{
    static const char *const late[] = {"write ", "apply", "visible ", "hands ",
                                       "hold "};
    const struct round_zone *z = zone_of(r, p);
    const char *key = p->key + strcspn(p->key, "|") + 1;

    if (z == NULL)
        return p->key[0] != '|' && is_listing_gone(r);
    if (z->failed)
        return true;
    if (z->world->plan.nsets == 0 ||
        (round_observed_all(z) && !z->world->plan.blind))
        return false;
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++)
        if (strncmp(key, late[i], strlen(late[i])) == 0)
            return true;
    return false;
}

static void count_problems(struct round *r)
{
    struct state_problem *p;

    for (p = state_problems(r->state); p != NULL; p = p->hh.next) {
        p->used = p->used || is_open(r, p);
        if (p->used) {
            r->result.problems += !p->minor;
        } else if (!r->o->plan_only) {
            char *zone = mem_strndup(p->key, strcspn(p->key, "|"));

            round_tell(r, ROUND_RESOLVED, zone, "", "", "", false, p->text);
            free(zone);
        }
    }
}

/* The AD bit is worth something only over a path nobody else is on.
 * source: RFC 6840 5.8 */
int round_check_trust(const struct round *r, struct err *e)
{
    char server[ADDR_TEXT_SIZE];
    size_t n = 0;
    const struct addr *servers = resolver_servers(r->resolver, &n);

    for (size_t i = 0; r->cfg->trust_ad && i < n; i++)
        if (addr_classify(&servers[i]) != ADDR_LOOPBACK)
            return err_set(e, ERR_INPUT,
                           "trust = ad needs a validating resolver on "
                           "loopback, but resolv.conf names %s; set servers "
                           "in resolver",
                           addr_format(&servers[i], server));
    return 0;
}

static int prepare(struct round *r, struct err *e)
{
    struct resolver_options ro = {r->cfg->resolvers, r->cfg->nresolvers, 0, 0};

    if (state_open(r->cfg->state, r->o->plan_only, &r->state, e) != 0) {
        /* A plan before the first run has nothing to remember. */
        if (!r->o->plan_only || e->code != ERR_NOTFOUND ||
            state_open(NULL, true, &r->state, e) != 0)
            return -1;
    }
    r->loop = loop_new();
    r->http = http_new(r->loop);
    if (resolver_new(r->loop, &ro, &r->resolver, e) != 0 ||
        round_check_trust(r, e) != 0 ||
        probes_new(r->loop, 0, &r->probes, e) != 0)
        return -1;
    r->checks = checks_new(r->state);
    return 0;
}

static void dispose(struct round *r)
{
    /* Callbacks may still be out: what calls back goes first. */
    if (r->resolver != NULL)
        resolver_free(r->resolver);
    round_serials_end(r);
    if (r->probes != NULL)
        probes_free(r->probes);
    check_hooks_free(r->hooks);
    check_run_free(r->run);
    checks_free(r->checks);
    if (r->http != NULL)
        http_free(r->http);
    loop_free(r->loop);
    for (size_t i = 0; i < r->nzones; i++)
        round_zone_fini(r->zones[i]);
    free(r->zones);
    state_close(r->state);
    arena_free(r->reading);
    arena_free(r->arena);
}

static int finish(struct round *r, struct err *e)
{
    count_problems(r);
    if (r->o->plan_only)
        return 0;
    for (size_t i = 0; i < r->nzones; i++)
        world_save(r->zones[i]->world);
    return state_save(r->state, e);
}

int round_run(const struct config *cfg, const struct round_options *o,
              struct round_result *result, struct err *e)
{
    struct round r = {.cfg = cfg, .o = o, .idle = true};
    int rc;

    r.arena = arena_new();
    r.start_ms = clock_mono_ms();
    r.end_ms = r.start_ms + o->deadline_ms;
    rc = prepare(&r, e);
    if (rc == 0) {
        round_open_providers(&r);
        round_find_zones(&r);
        round_discover(&r);
        round_read_specs(&r);
        round_build(&r);
        round_probe(&r);
        round_plan(&r);
        round_apply(&r);
        round_verify(&r);
        round_close_providers(&r);
        rc = finish(&r, e);
    }
    *result = r.result;
    dispose(&r);
    return rc;
}
