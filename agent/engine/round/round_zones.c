#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

/* First stage: provider instances, the zones, their authoritative servers. */

void round_fail_zone(struct round_zone *z, const char *key, const struct err *e)
{
    z->failed = true;
    round_problem(z->round, z->name, key, "%s %s: %s", z->name, key, e->msg);
}

/* --- providers ----------------------------------------------------------- */

static struct round_provider *provider_of(struct round *r,
                                          const struct config_zone *zone)
{
    return &r->providers[zone->provider - r->cfg->providers];
}

static void on_stop(void *arg, const char *provider, uint32_t print, int64_t ms,
                    const struct err *e)
{
    const struct round_provider *p = arg;
    struct state_stop *row = state_stop_get(p->round->state, provider);

    row->until_ms = state_now_ms() + ms;
    row->print = print;
    state_text(&row->text, e->msg);
}

static bool is_stopped(void *arg, const char *provider, uint32_t print,
                       struct err *e)
{
    const struct round_provider *p = arg;
    struct state_stop *row = NULL;

    HASH_FIND_STR(state_stops(p->round->state), provider, row);
    if (row == NULL || row->text == NULL || row->print != print ||
        row->until_ms <= state_now_ms())
        return false;
    (void)err_set(e, ERR_AUTH, "%s", row->text);
    return true;
}

static void on_keep(void *arg, const char *provider, const char *key,
                    const char *text)
{
    const struct round_provider *p = arg;

    state_kept_set(p->round->state, provider, key, text);
}

static const char *find_kept(void *arg, const char *provider, const char *key)
{
    const struct round_provider *p = arg;

    return state_kept_find(p->round->state, provider, key);
}

void round_open_providers(struct round *r)
{
    struct provider_env env = {.loop = r->loop,
                               .http = r->http,
                               .served_serial = round_served_serial,
                               .stop = on_stop,
                               .stopped = is_stopped,
                               .keep = on_keep,
                               .kept = find_kept};

    r->providers =
        arena_array(r->arena, r->cfg->nproviders, sizeof *r->providers);
    for (size_t i = 0; i < r->cfg->nproviders; i++) {
        const struct config_provider *cfg = &r->cfg->providers[i];
        const struct provider_ops *ops = provider_find(cfg->type);
        struct err e = {ERR_NONE, ""};

        env.arg = &r->providers[i];
        r->providers[i].round = r;
        r->providers[i].cfg = cfg;
        if (ops == NULL)
            (void)err_set(&e, ERR_BUG, "no such type: %s", cfg->type);
        if (ops == NULL ||
            ops->open(ops, &env, cfg, &r->providers[i].instance, &e) != 0) {
            (void)config_provider_fail(cfg, &e);
            round_problem(r, "", cfg->name, "%s", e.msg);
        }
    }
}

struct closing {
    size_t waiting;
    bool done;
};

static void on_closed(void *arg)
{
    struct closing *c = arg;

    c->waiting--;
    c->done = c->waiting == 0;
}

void round_close_providers(struct round *r)
{
    struct closing *c = arena_alloc(r->arena, sizeof *c);
    int64_t now_ms = clock_mono_ms();
    int64_t until_ms = (now_ms > r->end_ms ? now_ms : r->end_ms) + 1000;

    /* Before anything is closed, so that no logout is given up; what was given
     * up is told in a later turn, and starts nothing new by then. */
    if (r->waiting > 0 && !loop_wait(r->loop, &r->idle, until_ms))
        http_give_up(r->http);
    for (size_t i = 0; i < r->cfg->nproviders; i++) {
        struct provider *p = r->providers[i].instance;

        if (p == NULL)
            continue;
        r->providers[i].instance = NULL;
        c->waiting++;
        p->ops->close(p, on_closed, c);
    }
    /* Beyond the deadline if need be: a session should be ended. */
    if (c->waiting > 0)
        (void)loop_wait(r->loop, &c->done, clock_mono_ms() + 5000);
}

/* --- zones --------------------------------------------------------------- */

struct round_zone *
round_add_zone(struct round *r, const struct config_zone *cfg, const char *name)
{
    struct round_zone *z = arena_alloc(r->arena, sizeof *z);

    z->round = r;
    z->cfg = cfg;
    z->name = arena_strdup(r->arena, name);
    round_add_audiences(z);
    z->provider = z->audiences[0].provider;
    z->row = state_zone_get(r->state, z->name);
    if (z->provider == NULL)
        z->failed = true;
    r->zones = mem_grow(r->zones, &r->zones_cap, r->nzones, sizeof z);
    r->zones[r->nzones++] = z;
    return z;
}

static bool is_configured(const struct round *r, const char *name)
{
    for (size_t i = 0; i < r->cfg->nzones; i++)
        if (name_equal(r->cfg->zones[i].name, name))
            return true;
    return false;
}

static void keep_all(struct state *s)
{
    for (struct state_zone *z = state_zones(s); z != NULL; z = z->hh.next)
        state_keep_zone(s, z->key);
}

struct listing {
    struct round *r;
    const struct config_zone *cfg;
};

/* The zones of an account: those with a section of their own are left to
 * it. A listing that fails keeps what is remembered. */
static void on_zones(void *arg, const struct provider_names *names)
{
    struct listing *l = arg;

    if (names->err.code != ERR_NONE) {
        round_problem(l->r, "", l->cfg->provider->name,
                      "provider %s: list of zones: %s", l->cfg->provider->name,
                      names->err.msg);
        keep_all(l->r->state);
    }
    for (size_t i = 0; i < names->n; i++)
        if (!is_configured(l->r, names->names[i]))
            (void)round_add_zone(l->r, l->cfg, names->names[i]);
    round_end(l->r);
}

static void list_zones(struct round *r, const struct config_zone *cfg)
{
    struct provider *p = provider_of(r, cfg)->instance;
    struct listing *l = arena_alloc(r->arena, sizeof *l);

    if (p == NULL)
        return;
    if (p->ops->list_zones == NULL) {
        round_problem(r, "", cfg->provider->name,
                      "provider %s: cannot list zones; name them instead of "
                      "\"*\"",
                      cfg->provider->name);
        return;
    }
    l->r = r;
    l->cfg = cfg;
    round_begin(r);
    p->ops->list_zones(p, on_zones, l);
}

/* --- servers ------------------------------------------------------------- */

/* The caller's specs need no answer of DNS, unless the provider waits for a
 * served serial. */
static void no_servers(struct round_zone *z, const struct err *e)
{
    if (z->round->o->ngiven > 0 && !z->provider->ops->caps.needs_reload)
        round_detail(z->round, z->name,
                     "%s authoritative servers: %s; nobody is asked whether "
                     "DNS shows the changes",
                     z->name, e->msg);
    else
        round_fail_zone(z, "authoritative servers", e);
}

static void on_servers(void *arg, const struct resolver_zone *found)
{
    struct round_zone *z = arg;
    struct arena *a = z->round->arena;

    if (found->err.code != ERR_NONE) {
        /* Servers from the configuration do not need the NS set. */
        if (z->nservers == 0)
            no_servers(z, &found->err);
        z->asked = true;
        goto out;
    }
    if (z->nservers == 0) {
        z->servers = arena_array(a, found->nservers, sizeof *z->servers);
        memcpy(z->servers, found->servers,
               found->nservers * sizeof *z->servers);
        z->nservers = found->nservers;
    }
    z->ns_names = arena_array(a, found->nns_names, sizeof *z->ns_names);
    for (size_t i = 0; i < found->nns_names; i++)
        z->ns_names[i] = arena_strdup(a, found->ns_names[i]);
    z->nns_names = found->nns_names;
out:
    round_end(z->round);
}

static void find_servers(struct round_zone *z)
{
    struct round *r = z->round;

    if (z->failed)
        return;
    if (z->cfg->nservers == 0) {
        round_begin(r);
        resolver_find_servers(r->resolver, z->name, r->cfg->trust_ad,
                              on_servers, z);
        return;
    }
    /* Their NS set is asked together with the specs: round_discover.c. */
    z->servers = arena_array(r->arena, z->cfg->nservers, sizeof *z->servers);
    memcpy(z->servers, z->cfg->servers, z->cfg->nservers * sizeof *z->servers);
    z->nservers = z->cfg->nservers;
}

void round_list_zones(struct round *r)
{
    for (size_t i = 0; i < r->cfg->nzones; i++) {
        if (strcmp(r->cfg->zones[i].name, "*") == 0)
            list_zones(r, &r->cfg->zones[i]);
        else
            (void)round_add_zone(r, &r->cfg->zones[i], r->cfg->zones[i].name);
    }
}

void round_find_servers(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++)
        find_servers(r->zones[i]);
}

void round_check_servers(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];
        struct err late;

        if (z->failed || z->nservers > 0 || z->asked)
            continue;
        (void)err_set(&late, ERR_RETRY, "no answer in time");
        no_servers(z, &late);
    }
}

void round_find_zones(struct round *r)
{
    round_list_zones(r);
    (void)round_wait(r, round_share(r, 15));
    round_find_servers(r);
    (void)round_wait(r, round_share(r, 25));
    round_check_servers(r);
}

/* --- the served serial --------------------------------------------------- */

/* A server that does not answer must not hold up what the others say. */
#define SERIAL_PATIENCE_MS 200

/* Lives until all answers came, or the round ends: some may never come. */
struct serial_job {
    struct round *r;
    struct serial_job *prev, *next;
    struct provider_serial best;
    size_t waiting;
    struct loop_timer *timer;
    bool told;
    provider_serial_cb *cb;
    void *cb_arg;
};

static void serial_free(struct serial_job *job)
{
    DL_DELETE(job->r->serials, job);
    loop_timer_cancel(job->timer);
    free(job);
}

static void serial_tell(void *arg)
{
    struct serial_job *job = arg;
    bool last = job->waiting == 0;

    job->timer = NULL;
    job->told = true;
    job->cb(job->cb_arg, &job->best);
    if (last)
        serial_free(job);
}

void round_serials_end(struct round *r)
{
    while (r->serials != NULL)
        serial_free(r->serials);
}

static void on_serial(void *arg, const struct resolver_answer *answer)
{
    struct serial_job *job = arg;
    struct round *r = job->r;
    uint32_t serial = 0;

    if (answer->outcome == RESOLVER_FOUND &&
        message_serial(answer->message, &serial) == 0) {
        /* RFC 1982: newer when less than half the space ahead. */
        if (!job->best.known || (int32_t)(serial - job->best.serial) > 0)
            job->best.serial = serial;
        job->best.known = true;
    }
    job->waiting--;
    if (job->waiting == 0) {
        loop_timer_cancel(job->timer);
        job->timer = NULL;
        if (job->told)
            serial_free(job);
        else
            serial_tell(job);
    } else if (job->told) {
        return;
    } else if (job->best.known && job->timer == NULL) {
        job->timer =
            loop_timer_start(r->loop, SERIAL_PATIENCE_MS, serial_tell, job);
    }
}

static const struct round_audience *
audience_at(const struct round *r, const char *zone, const struct provider *p)
{
    for (size_t i = 0; i < r->nzones; i++)
        for (size_t k = 0; k < r->zones[i]->naudiences; k++)
            if (name_equal(r->zones[i]->name, zone) &&
                r->zones[i]->audiences[k].provider == p)
                return &r->zones[i]->audiences[k];
    return NULL;
}

void round_served_serial(void *arg, const char *zone, provider_serial_cb *cb,
                         void *cb_arg)
{
    const struct round_provider *p = arg;
    struct round *r = p->round;
    struct serial_job *job = mem_alloc(sizeof *job);
    const struct round_audience *a = audience_at(r, zone, p->instance);
    const struct addr *servers = NULL;
    size_t n = 0;

    if (a != NULL)
        servers = round_audience_servers(a, &n);
    job->r = r;
    DL_APPEND(r->serials, job);
    job->cb = cb;
    job->cb_arg = cb_arg;
    if (n == 0) {
        job->timer = loop_timer_start(r->loop, 0, serial_tell, job);
        return;
    }
    job->waiting = n;
    for (size_t i = 0; i < n; i++)
        round_audience_ask(a, r->resolver, &servers[i], a->zone->name,
                           MESSAGE_SOA, on_serial, job);
}
