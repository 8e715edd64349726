#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

/* Eighth stage: every authoritative server is asked until it shows what was
 * written. What cannot be seen in this round stays pending; three minutes
 * after the provider's publishing time that becomes a problem. */

#define FIRST_PAUSE_MS 50
#define PAUSE_MS 250
#define FROZEN_MS (3 * 60 * 1000LL)
#define AT_ONCE_MS 5000

/* One set at one server. */
struct look {
    struct round_zone *zone;
    size_t set;
    const struct addr *server;
    bool seen;
    int64_t until_ms;
    struct err err;
};

static bool is_pending(const struct plan_set *ps)
{
    for (size_t k = 0; k < ps->nvalues; k++)
        if (ps->values[k].memory->pending)
            return true;
    return false;
}

static uint16_t rr_number(enum spec_type t)
{
    return t == SPEC_A      ? MESSAGE_A
           : t == SPEC_AAAA ? MESSAGE_AAAA
                            : MESSAGE_CNAME;
}

static bool answer_has(const struct resolver_answer *answer,
                       const struct plan_set *ps, const char *data)
{
    struct addr want, have[64];
    uint32_t ttl_s = 0;
    size_t n;

    if (answer->outcome != RESOLVER_FOUND)
        return false;
    if (ps->type == SPEC_CNAME) {
        const char *const *t =
            message_targets(answer->message, ps->name, MESSAGE_CNAME, &n);

        return n == 1 && name_equal(t[0], data);
    }
    if (addr_parse(data, &want) != 0)
        return false;
    n = message_addrs(answer->message, ps->name, rr_number(ps->type), have, 64,
                      &ttl_s);
    for (size_t i = 0; i < n && i < 64; i++)
        if (addr_equal(&have[i], &want))
            return true;
    return false;
}

/* The server shows every written value as written. */
static bool shows(const struct resolver_answer *answer,
                  const struct plan_set *ps)
{
    if (answer->outcome == RESOLVER_FAILED)
        return false;
    for (size_t k = 0; k < ps->nvalues; k++) {
        const struct plan_value *v = &ps->values[k];

        if (v->memory->pending &&
            answer_has(answer, ps, v->data) != v->memory->expected)
            return false;
    }
    return true;
}

static void look_now(void *arg);

static void on_look(void *arg, const struct resolver_answer *answer)
{
    struct look *l = arg;
    struct round *r = l->zone->round;

    l->seen = shows(answer, &l->zone->world->plan.sets[l->set]);
    l->err = answer->err;
    if (l->seen || clock_mono_ms() + PAUSE_MS > l->until_ms)
        round_end(r);
    else
        (void)loop_timer_start(r->loop, PAUSE_MS, look_now, l);
}

static void look_now(void *arg)
{
    struct look *l = arg;
    struct round_zone *z = l->zone;
    const struct plan_set *ps = &z->world->plan.sets[l->set];

    round_audience_ask(round_audience_of(z, l->set), z->round->resolver,
                       l->server, ps->name, rr_number(ps->type), on_look, l);
}

/* How long this round waits: a provider that publishes later than at once is
 * looked at once, and again in the next round. */
static int64_t patience_of(const struct round_zone *z)
{
    int64_t left = z->round->end_ms - clock_mono_ms();

    if (z->provider->ops->caps.publish_ms > AT_ONCE_MS || left < 0)
        return 0;
    return left < AT_ONCE_MS ? left : AT_ONCE_MS;
}

static struct look *start_looks(struct round_zone *z, size_t s,
                                int64_t patience_ms)
{
    struct round *r = z->round;
    const struct round_audience *a = round_audience_of(z, s);
    size_t n;
    const struct addr *servers = round_audience_servers(a, &n);
    struct look *looks = arena_array(r->arena, n, sizeof *looks);

    if (a->provider == NULL || a->provider->ops->caps.publish_ms > AT_ONCE_MS)
        patience_ms = 0;
    for (size_t i = 0; i < n; i++) {
        looks[i].zone = z;
        looks[i].set = s;
        looks[i].server = &servers[i];
        looks[i].until_ms = clock_mono_ms() + patience_ms;
        round_begin(r);
        (void)loop_timer_start(r->loop, z->nchanges > 0 ? FIRST_PAUSE_MS : 0,
                               look_now, &looks[i]);
    }
    return looks;
}

/* --- the result ---------------------------------------------------------- */

static int64_t written_ms(const struct plan_set *ps)
{
    int64_t t = INT64_MAX;

    for (size_t k = 0; k < ps->nvalues; k++)
        if (ps->values[k].memory->pending &&
            memory_written(ps->values[k].memory)->last_ms < t)
            t = memory_written(ps->values[k].memory)->last_ms;
    return t;
}

static void wait_no_more(struct plan_set *ps)
{
    for (size_t k = 0; k < ps->nvalues; k++)
        ps->values[k].memory->pending = false;
}

static void on_visible(struct round_zone *z, size_t s, size_t nservers)
{
    struct plan_set *ps = &z->world->plan.sets[s];
    int64_t after_ms = state_now_ms() - written_ms(ps);
    char text[128];

    wait_no_more(ps);
    (void)snprintf(text, sizeof text,
                   "shown by %zu of %zu authoritative servers after "
                   "%" PRId64 ".%" PRId64 " s",
                   nservers, nservers, after_ms / 1000, after_ms % 1000 / 100);
    round_tell(z->round, ROUND_VISIBLE, z->name, ps->name,
               z->world->sets[s].label, "", false, text);
}

static void on_invisible(struct round_zone *z, size_t s,
                         const struct look *looks, size_t nservers)
{
    const struct plan_set *ps = &z->world->plan.sets[s];
    const struct provider *p = round_audience_of(z, s)->provider;
    const char *label = z->world->sets[s].label;
    int64_t late_ms = state_now_ms() - written_ms(ps) -
                      (p != NULL ? p->ops->caps.publish_ms : 0);
    char what[ROUND_KEY_SIZE], server[ADDR_TEXT_SIZE];
    char key[ROUND_KEY_SIZE + ADDR_TEXT_SIZE];

    round_set_key(what, "visible", ps);
    for (size_t i = 0; i < nservers; i++) {
        const struct look *l = &looks[i];

        if (l->seen)
            continue;
        addr_format_port(l->server, server);
        round_detail(z->round, z->name, "%s %s is not shown by %s yet",
                     ps->name, label, server);
        if (late_ms < FROZEN_MS)
            continue;
        (void)snprintf(key, sizeof key, "%s %s", what, server);
        round_problem(z->round, z->name, key,
                      "%s %s was written more than %d minutes ago and %s "
                      "still does not show it%s%s: the zone may be frozen "
                      "there (does it load?)",
                      ps->name, label, (int)(FROZEN_MS / 60000), server,
                      l->err.code != ERR_NONE ? ": " : "",
                      l->err.code != ERR_NONE ? l->err.msg : "");
    }
}

static void conclude(struct round_zone *z, size_t s, const struct look *looks)
{
    bool all = true;
    size_t n;

    (void)round_audience_servers(round_audience_of(z, s), &n);
    for (size_t i = 0; i < n; i++)
        all = all && looks[i].seen;
    if (n == 0)
        wait_no_more(&z->world->plan.sets[s]); /* nobody can be asked */
    else if (all)
        on_visible(z, s, n);
    else
        on_invisible(z, s, looks, n);
}

struct round_looks {
    struct look **of; /* by set; NULL: nothing is pending there */
};

struct round_looks *round_look(struct round_zone *z, int64_t patience_ms)
{
    struct arena *a = z->round->arena;
    struct round_looks *looks = arena_alloc(a, sizeof *looks);

    looks->of = arena_array(a, z->world->plan.nsets, sizeof *looks->of);
    for (size_t s = 0; s < z->world->plan.nsets; s++)
        if (z->world->plan.sets[s].masked)
            wait_no_more(&z->world->plan.sets[s]); /* DNS never shows it */
        else if (is_pending(&z->world->plan.sets[s]))
            looks->of[s] = start_looks(z, s, patience_ms);
    return looks;
}

void round_looked(struct round_zone *z, struct round_looks *looks)
{
    for (size_t s = 0; s < z->world->plan.nsets; s++)
        if (looks->of[s] != NULL)
            conclude(z, s, looks->of[s]);
}

void round_verify(struct round *r)
{
    struct round_looks **looks =
        arena_array(r->arena, r->nzones, sizeof *looks);

    if (r->o->plan_only)
        return;
    for (size_t i = 0; i < r->nzones; i++)
        if (!r->zones[i]->failed)
            looks[i] = round_look(r->zones[i], patience_of(r->zones[i]));
    (void)round_wait(r, r->end_ms);
    for (size_t i = 0; i < r->nzones; i++)
        if (looks[i] != NULL)
            round_looked(r->zones[i], looks[i]);
}
