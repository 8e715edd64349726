#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/service_internal.h"
#include "agent/engine/state/state_zone.h"

/* Generations: what was opened for one reading of the configuration stays
 * open as long as a zone works with it. */

#define LIST_EVERY_MS 600000 /* the zones of an account */
#define LIST_AGAIN_MS 30000  /* after a listing that failed */
/* At the stop, for what a reload has left behind: */
#define GIVE_UP_MS 1000 /* to end its calls */
#define CLOSE_MS 5000   /* to end its sessions */

/* --- beginning and end ---------------------------------------------------- */

static void gen_free(struct service_gen *gen)
{
    if (gen->round.resolver != NULL)
        resolver_free(gen->round.resolver);
    check_hooks_free(gen->round.hooks);
    round_serials_end(&gen->round);
    check_shots_free(gen->shots);
    service_round_fini(&gen->lister);
    service_round_fini(&gen->round);
    config_free(gen->cfg);
    free(gen);
}

struct service_gen *service_gen_new(struct service *svc, struct config *cfg,
                                    struct err *e)
{
    struct service_gen *gen = mem_alloc(sizeof *gen);
    struct resolver_options ro = {cfg->resolvers, cfg->nresolvers, 0, 0};
    struct resolver *resolver = NULL;
    struct check_run_env env;

    gen->svc = svc;
    gen->cfg = cfg;
    service_round_init(gen, &gen->round);
    if (resolver_new(svc->loop, &ro, &resolver, e) != 0) {
        gen_free(gen);
        return NULL;
    }
    gen->round.resolver = resolver;
    if (round_check_trust(&gen->round, e) != 0) {
        gen_free(gen);
        return NULL;
    }
    gen->round.limits.allow = cfg->allow_targets;
    gen->round.limits.nallow = cfg->nallow_targets;
    round_take_commands(&gen->round);
    env.loop = svc->loop;
    env.probes = svc->probes;
    env.resolver = resolver;
    env.limits = &gen->round.limits;
    env.commands = gen->round.commands;
    env.ncommands = gen->round.ncommands;
    env.doer = cfg->doer;
    gen->round.hooks = check_hooks_new(&env);
    gen->shots = check_shots_new(&env);
    gen->refs = 1;
    round_open_providers(&gen->round);
    for (size_t i = 0; i < cfg->nproviders; i++)
        if (gen->round.providers[i].instance != NULL)
            service_problem_over(svc, "", cfg->providers[i].name);
    DL_APPEND(svc->gens, gen);
    return gen;
}

void service_gen_unref(struct service_gen *gen)
{
    gen->refs--;
    gen->svc->woken = true;
}

static void on_closed(void *arg)
{
    struct service_gen *gen = arg;

    gen->open--;
    gen->svc->woken = true;
}

static void close_providers(struct service_gen *gen)
{
    gen->closing = true;
    for (size_t i = 0; i < gen->cfg->nproviders; i++) {
        struct provider *p = gen->round.providers[i].instance;

        if (p == NULL)
            continue;
        gen->round.providers[i].instance = NULL;
        gen->open++;
        p->ops->close(p, on_closed, gen);
    }
}

static bool is_busy(struct service *svc)
{
    struct service_zone *z;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        if (z->work != SERVICE_IDLE ||
            (z->next != NULL && z->next->round.waiting > 0))
            return true;
    }
    return false;
}

static size_t count_open(struct service *svc)
{
    struct service_gen *gen;
    size_t n = 0;

    DL_FOREACH(svc->gens, gen)
    {
        n += gen->open;
    }
    return n;
}

/* Waits for those of configurations that a reload has replaced.
 * returns false when time is up */
static bool finish_closing(struct service *svc, int64_t ms)
{
    int64_t until_ms = clock_mono_ms() + ms;

    do
        svc->woken = false;
    while (count_open(svc) > 0 && loop_wait(svc->loop, &svc->woken, until_ms));
    return count_open(svc) == 0;
}

void service_gens_close(struct service *svc)
{
    struct service_gen *gen;

    if (!finish_closing(svc, GIVE_UP_MS))
        http_give_up(svc->http);
    DL_FOREACH(svc->gens, gen)
    {
        gen->round.end_ms = clock_mono_ms();
        gen->round.waiting = is_busy(svc); /* waits a second, then gives up */
        gen->round.idle = gen->round.waiting == 0;
        if (!gen->closing)
            round_close_providers(&gen->round);
    }
    (void)finish_closing(svc, CLOSE_MS);
    DL_FOREACH(svc->gens, gen)
    {
        resolver_free(gen->round.resolver);
        gen->round.resolver = NULL;
        check_shots_free(gen->shots);
        gen->shots = NULL;
    }
}

void service_gens_free(struct service *svc)
{
    struct service_gen *gen, *next;

    DL_FOREACH_SAFE(svc->gens, gen, next)
    {
        DL_DELETE(svc->gens, gen);
        gen_free(gen);
    }
}

void service_gen_zones(struct service_gen *gen)
{
    struct round *r = &gen->round;
    struct service_zone *z;

    r->nzones = 0;
    DL_FOREACH2(gen->svc->zones, z, next_zone)
    {
        if (z->now == NULL || z->now->gen != gen)
            continue;
        r->zones = mem_grow(r->zones, &r->zones_cap, r->nzones,
                            sizeof(struct round_zone *));
        r->zones[r->nzones++] = z->now->rz;
    }
}

/* --- the list of zones ---------------------------------------------------- */

static bool has_star(const struct service_gen *gen)
{
    for (size_t i = 0; i < gen->cfg->nzones; i++)
        if (strcmp(gen->cfg->zones[i].name, "*") == 0)
            return true;
    return false;
}

static void start_listing(struct service_gen *gen)
{
    struct service *svc = gen->svc;

    service_round_fini(&gen->lister);
    service_round_init(gen, &gen->lister);
    for (size_t i = 0; i < gen->cfg->nzones; i++) {
        struct state_problem *p = NULL;
        char *key = mem_printf("|%s", gen->cfg->zones[i].provider->name);

        if (strcmp(gen->cfg->zones[i].name, "*") == 0)
            HASH_FIND_STR(state_problems(svc->state), key, p);
        if (p != NULL)
            p->used = false;
        free(key);
    }
    gen->listing = true;
    round_list_zones(&gen->lister);
}

/* A list that failed, or came back empty, proves nothing. */
static bool is_trusted(const struct service_gen *gen)
{
    size_t stars = 0, named = 0;

    for (size_t i = 0; i < gen->cfg->nzones; i++) {
        struct state_problem *p = NULL;
        char *key = mem_printf("|%s", gen->cfg->zones[i].provider->name);

        HASH_FIND_STR(state_problems(gen->svc->state), key, p);
        free(key);
        if (strcmp(gen->cfg->zones[i].name, "*") != 0) {
            named++;
            continue;
        }
        stars++;
        if (p != NULL && p->used)
            return false;
    }
    return stars == 0 || gen->lister.nzones > named;
}

static struct round_zone *listed_as(const struct service_gen *gen,
                                    const char *name)
{
    for (size_t i = 0; i < gen->lister.nzones; i++)
        if (name_equal(gen->lister.zones[i]->name, name))
            return gen->lister.zones[i];
    return NULL;
}

static void take_list(struct service_gen *gen, int64_t now_ms)
{
    struct service *svc = gen->svc;
    bool trusted = is_trusted(gen);
    struct service_zone *z;

    gen->listing = false;
    for (size_t i = 0; i < gen->lister.nzones; i++) {
        struct round_zone *rz = gen->lister.zones[i];

        z = service_zone_get(svc, rz->name);
        z->leaving = false;
        z->cfg = rz->cfg;
        if (z->gen == gen)
            continue;
        z->gen = gen;
        z->refresh_now = z->full = true;
        z->retry_at_ms = 0;
    }
    DL_FOREACH2(svc->zones, z, next_zone)
    {
        if (trusted && listed_as(gen, z->name) == NULL)
            z->leaving = true;
    }
    for (size_t i = 0; i < gen->cfg->nzones; i++)
        if (trusted && strcmp(gen->cfg->zones[i].name, "*") == 0)
            service_problem_over(svc, "", gen->cfg->zones[i].provider->name);
    if (!gen->listed)
        sd_notify_send(svc->sd, "READY=1\nSTATUS=%zu %s", gen->lister.nzones,
                       gen->lister.nzones == 1 ? "zone" : "zones");
    gen->listed = true;
    gen->list_at_ms = !has_star(gen) ? SERVICE_NEVER
                      : trusted      ? now_ms + LIST_EVERY_MS
                                     : now_ms + LIST_AGAIN_MS;
}

/* --- the turn ------------------------------------------------------------- */

static void turn_current(struct service_gen *gen, int64_t now_ms,
                         int64_t *next_ms)
{
    if (!gen->listing && now_ms >= gen->list_at_ms)
        start_listing(gen);
    if (gen->listing && gen->lister.waiting == 0)
        take_list(gen, now_ms);
    if (!gen->listing && gen->list_at_ms < *next_ms)
        *next_ms = gen->list_at_ms;
}

void service_gen_turn(struct service *svc, int64_t now_ms, int64_t *next_ms)
{
    struct service_gen *gen, *next;

    DL_FOREACH_SAFE(svc->gens, gen, next)
    {
        if (gen == svc->gen)
            turn_current(gen, now_ms, next_ms);
        else if (gen->refs == 0 && !gen->closing && gen->lister.waiting == 0)
            close_providers(gen);
        if (gen->closing && gen->open == 0) {
            DL_DELETE(svc->gens, gen);
            gen_free(gen);
        }
    }
}
