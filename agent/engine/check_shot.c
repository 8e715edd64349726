#include "agent/engine/check_shot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"

#define ADDRESSES_MAX 40 /* of a host; more are left out */

struct gate { /* one target address, and when it may be probed again */
    uint8_t key[17];
    int64_t next_ms;
    UT_hash_handle hh;
};

struct shot;

/* One target of a shot. */
struct aim {
    struct shot *shot;
    struct probe_spec probe;
    struct check_params params; /* borrowed by the probe until it ends */
    struct loop_timer *timer;
};

struct shot {
    struct check_shots *owner;
    const struct check *check;
    check_shot_cb *cb;
    void *arg;
    struct aim *aims;
    size_t n;
    uint32_t need;
    size_t waiting, ok, failed, local, timed_out;
    size_t lookups; /* answers of the resolver still awaited */
    struct addr found[ADDRESSES_MAX];
    size_t nfound;
    bool lookup_failed;
    bool partly; /* some address could not be tried: note says why */
    char note[200];
    struct shot *prev, *next;
};

struct check_shots {
    struct check_run_env env;
    struct gate *gates;
    struct shot *out;
};

struct check_shots *check_shots_new(const struct check_run_env *env)
{
    struct check_shots *s = mem_alloc(sizeof *s);

    s->env = *env;
    return s;
}

static void shot_free(struct shot *t)
{
    for (size_t i = 0; i < t->n; i++) {
        loop_timer_cancel(t->aims[i].timer);
        check_params_fini(&t->aims[i].params);
    }
    free(t->aims);
    free(t);
}

void check_shots_free(struct check_shots *s)
{
    struct gate *g, *gn;

    if (s == NULL)
        return;
    while (s->out != NULL) {
        struct shot *t = s->out;

        DL_DELETE(s->out, t);
        shot_free(t);
    }
    HASH_ITER(hh, s->gates, g, gn)
    {
        HASH_DEL(s->gates, g);
        free(g);
    }
    free(s);
}

/* --- the end ----------------------------------------------------------------
 */

static void finish(struct shot *t)
{
    struct check_shot_result r = {HEALTH_LOCAL, false, t->note};

    if (t->ok >= t->need)
        r.result = HEALTH_OK;
    else if (t->ok + t->local < t->need)
        r.result = HEALTH_FAIL;
    r.timed_out = r.result == HEALTH_FAIL && t->timed_out == t->failed;
    DL_DELETE(t->owner->out, t);
    t->cb(t->arg, &r);
    shot_free(t);
}

/* The note of a failure is worth more than that of a success, unless a
 * success decides. */
static bool tells(const struct shot *t, const struct probe_result *r)
{
    if (t->note[0] == '\0')
        return true;
    return t->partly ? r->verdict == PROBE_OK : r->verdict != PROBE_OK;
}

static void on_probe(void *arg, const struct probe_result *r)
{
    struct aim *a = arg;
    struct shot *t = a->shot;
    char text[128], target[ADDR_TEXT_SIZE];

    t->waiting--;
    if (r->verdict == PROBE_OK)
        t->ok++;
    else if (r->verdict == PROBE_FAIL)
        t->failed++;
    else
        t->local++;
    t->timed_out += r->reason == PROBE_TIMEOUT;
    if (tells(t, r)) {
        probe_describe(&a->probe, r, text);
        if (t->n == 1 && t->check->host == NULL)
            (void)snprintf(t->note, sizeof t->note, "%s", text);
        else
            (void)snprintf(t->note, sizeof t->note, "%s at %s", text,
                           addr_format(&a->probe.target, target));
    }
    if (t->waiting == 0)
        finish(t);
}

/* --- aiming ------------------------------------------------------------------
 */

static struct gate *gate_get(struct check_shots *s, const struct addr *a)
{
    struct gate *g = NULL;
    uint8_t key[17] = {a->family};

    memcpy(key + 1, a->bytes, 16);
    HASH_FIND(hh, s->gates, key, sizeof key, g);
    if (g == NULL) {
        g = mem_alloc(sizeof *g);
        memcpy(g->key, key, sizeof key);
        g->next_ms = INT64_MIN;
        HASH_ADD(hh, s->gates, key, sizeof g->key, g);
    }
    return g;
}

static void fire(void *arg)
{
    struct aim *a = arg;

    a->timer = NULL;
    probes_start(a->shot->owner->env.probes, &a->probe, on_probe, a);
}

static void finish_later(void *arg)
{
    struct shot *t = arg;

    t->aims[0].timer = NULL;
    finish(t);
}

/* No probe at all: the result is known, and told later. */
static void end_without_probe(struct shot *t, bool fails, const char *note)
{
    t->need = 1;
    t->failed = fails;
    t->local = !fails;
    (void)snprintf(t->note, sizeof t->note, "%.190s", note);
    t->n = 1;
    t->aims = mem_array(1, sizeof *t->aims);
    t->aims[0].timer = loop_timer_start(t->owner->env.loop, 0, finish_later, t);
}

static bool is_allowed(void *arg, const struct addr *a)
{
    const struct check_run_env *env = arg;
    struct err e;

    return env->limits == NULL || probe_allowed(env->limits, a, "", &e) == 0;
}

static int load_aims(struct shot *t, const struct addr *targets, size_t n,
                     struct err *e)
{
    struct check_run_env *env = &t->owner->env;

    t->aims = mem_array(n, sizeof *t->aims);
    t->n = n;
    for (size_t i = 0; i < n; i++) {
        struct aim *a = &t->aims[i];

        if (check_params_init(&a->params, t->check, &targets[i], env->commands,
                              env->ncommands, e) != 0)
            return -1;
        a->params.probe.allowed = is_allowed;
        a->params.probe.allowed_arg = env;
        a->shot = t;
        a->probe.kind = check_params_kind(t->check->spec->kind);
        a->probe.target = targets[i];
        a->probe.timeout_ms = t->check->spec->timeout_ms;
        a->probe.params = &a->params.probe;
    }
    return 0;
}

static void aim_at(struct shot *t, const struct addr *targets, size_t n)
{
    int64_t now_ms = clock_mono_ms();
    struct err e;

    if (load_aims(t, targets, n, &e) != 0) {
        for (size_t i = 0; i < n; i++)
            check_params_fini(&t->aims[i].params);
        free(t->aims);
        end_without_probe(t, false, e.msg);
        return;
    }
    t->waiting = n;
    for (size_t i = 0; i < n; i++) {
        struct aim *a = &t->aims[i];
        struct gate *g = gate_get(t->owner, &targets[i]);
        int64_t at_ms = g->next_ms > now_ms ? g->next_ms : now_ms;

        g->next_ms = at_ms + CHECK_RUN_GAP_MS;
        if (at_ms > now_ms)
            a->timer =
                loop_timer_start(t->owner->env.loop, at_ms - now_ms, fire, a);
        else
            fire(a);
    }
}

/* --- hosts
 * -------------------------------------------------------------------- */

/* What was not tried may answer: without it nothing is down. */
static void miss(struct shot *t, const char *why)
{
    t->local = 1;
    t->partly = true;
    (void)snprintf(t->note, sizeof t->note, "%.190s", why);
}

/* Every address of the host under the agent's limits. */
static void aim_at_host(struct shot *t)
{
    const struct probe_limits *limits = t->owner->env.limits;
    size_t n = 0, refused = 0;
    struct err e = {ERR_NONE, ""};

    for (size_t i = 0; i < t->nfound; i++) {
        t->found[n] = t->found[i];
        t->found[n].port = t->check->spec->port;
        if (limits != NULL && probe_allowed(limits, &t->found[n], "", &e) != 0)
            refused++;
        else
            n++;
    }
    if (n > 0 && refused > 0)
        miss(t, e.msg);
    else if (n > 0 && t->lookup_failed)
        miss(t, "some of its addresses could not be looked up");
    if (n > 0)
        aim_at(t, t->found, n);
    else if (refused > 0)
        end_without_probe(t, false, e.msg);
    else if (t->lookup_failed)
        end_without_probe(t, false, "its addresses could not be looked up");
    else
        end_without_probe(t, true, "no such name, or no address");
}

static void on_addresses(void *arg, const struct resolver_answer *answer)
{
    struct shot *t = arg;
    static const uint16_t types[] = {MESSAGE_A, MESSAGE_AAAA};

    for (size_t i = 0; i < 2 && answer->outcome == RESOLVER_FOUND; i++) {
        uint32_t ttl_s = 0;
        size_t n =
            message_addrs(answer->message, NULL, types[i], t->found + t->nfound,
                          ADDRESSES_MAX - t->nfound, &ttl_s);

        t->nfound +=
            n < ADDRESSES_MAX - t->nfound ? n : ADDRESSES_MAX - t->nfound;
    }
    t->lookup_failed = t->lookup_failed || answer->outcome == RESOLVER_FAILED;
    if (--t->lookups == 0)
        aim_at_host(t);
}

void check_shot(struct check_shots *s, const struct check *c, check_shot_cb *cb,
                void *arg)
{
    struct shot *t = mem_alloc(sizeof *t);

    t->owner = s;
    t->check = c;
    t->cb = cb;
    t->arg = arg;
    t->need = c->need;
    DL_APPEND(s->out, t);
    if (c->host == NULL) {
        aim_at(t, c->targets, c->ntargets);
    } else if (s->env.resolver == NULL) {
        end_without_probe(t, false, "no resolver to look it up");
    } else {
        t->lookups = 2;
        resolver_lookup(s->env.resolver, c->host, MESSAGE_A, false,
                        on_addresses, t);
        resolver_lookup(s->env.resolver, c->host, MESSAGE_AAAA, false,
                        on_addresses, t);
    }
}
