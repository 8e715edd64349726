#include "agent/engine/checks/check_shot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/base/slab.h"
#include "agent/engine/checks/gate.h"

#define ADDRESSES_MAX 40 /* of a host; more are left out */

struct shot;

/* One target of a shot. */
struct aim {
    struct shot *shot;
    struct probe_spec probe;
    struct check_params *params; /* borrowed by the probe until it ends; NULL:
                                    its kind has none */
    struct loop_timer *timer;
};

/* What the resolver said of a host. */
struct found {
    size_t waiting; /* answers that are still out */
    size_t n;
    bool failed;
    struct addr v[ADDRESSES_MAX];
};

#define NOTE_SIZE 200

/* One is made for each probe, and thousands may be out: the usual one, of a
 * single address, is a single small piece. */
struct shot {
    struct check_shots *owner;
    const struct check *check;
    check_shot_cb *cb;
    void *arg;
    struct aim *aims; /* &one where n is 1 */
    size_t n;
    uint32_t need;
    uint32_t waiting, ok, failed, local, timed_out;
    bool partly;         /* some address could not be tried: note says why */
    struct found *found; /* NULL: no host is looked up */
    char *note;          /* of the probes that have ended; NULL: none yet */
    uint32_t id;         /* in room */
    struct shot *prev, *next;
    struct aim one;
};

struct check_shots {
    struct check_run_env env;
    struct gates *gates;
    struct slab *room;
    struct shot *out;
};

struct check_shots *check_shots_new(const struct check_run_env *env)
{
    struct check_shots *s = mem_alloc(sizeof *s);

    s->env = *env;
    s->gates = gates_new();
    s->room = slab_new(sizeof(struct shot));
    return s;
}

static void drop_aims(struct shot *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->aims[i].params != NULL)
            check_params_fini(t->aims[i].params);
        free(t->aims[i].params);
    }
    if (t->aims != &t->one)
        free(t->aims);
    t->aims = NULL;
    t->n = 0;
    memset(&t->one, 0, sizeof t->one);
}

static void make_aims(struct shot *t, size_t n)
{
    t->aims = n > 1 ? mem_array(n, sizeof *t->aims) : &t->one;
    t->n = n;
}

static void shot_free(struct shot *t)
{
    for (size_t i = 0; i < t->n; i++)
        loop_timer_cancel(t->aims[i].timer);
    drop_aims(t);
    free(t->found);
    free(t->note);
    slab_give(t->owner->room, t->id);
}

void check_shots_free(struct check_shots *s)
{
    if (s == NULL)
        return;
    while (s->out != NULL) {
        struct shot *t = s->out;

        DL_DELETE(s->out, t);
        shot_free(t);
    }
    gates_free(s->gates);
    slab_free(s->room);
    free(s);
}

/* --- the end ----------------------------------------------------------------
 */

static void finish(struct shot *t, const char *note)
{
    struct check_shot_result r = {HEALTH_LOCAL, false,
                                  note != NULL ? note : ""};

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
    if (t->note == NULL)
        return true;
    return t->partly ? r->verdict == PROBE_OK : r->verdict != PROBE_OK;
}

static void describe(const struct shot *t, const struct aim *a,
                     const struct probe_result *r, char out[NOTE_SIZE])
{
    char target[ADDR_TEXT_SIZE];
    size_t len;

    probe_describe(&a->probe, r, out);
    if (t->n == 1 && checks_host(t->check) == NULL)
        return;
    len = strlen(out);
    (void)snprintf(out + len, NOTE_SIZE - len, " at %s",
                   addr_format(&a->probe.target, target));
}

static void on_probe(void *arg, const struct probe_result *r)
{
    struct aim *a = arg;
    struct shot *t = a->shot;
    char text[NOTE_SIZE];
    bool is_told = tells(t, r);

    t->waiting--;
    if (r->verdict == PROBE_OK)
        t->ok++;
    else if (r->verdict == PROBE_FAIL)
        t->failed++;
    else
        t->local++;
    t->timed_out += r->reason == PROBE_TIMEOUT;
    if (is_told)
        describe(t, a, r, text);
    if (t->waiting == 0) {
        finish(t, is_told ? text : t->note);
    } else if (is_told) {
        free(t->note);
        t->note = mem_strdup(text);
    }
}

/* --- aiming ------------------------------------------------------------------
 */

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
    finish(t, t->note);
}

/* No probe at all: the result is known, and told later. */
static void end_without_probe(struct shot *t, bool fails, const char *note)
{
    t->need = 1;
    t->failed = fails;
    t->local = !fails;
    free(t->note);
    t->note = mem_strndup(note, NOTE_SIZE - 1);
    make_aims(t, 1);
    t->aims[0].timer = loop_timer_start(t->owner->env.loop, 0, finish_later, t);
}

static bool is_allowed(void *arg, const struct addr *a)
{
    const struct check_shots *s = arg;
    struct err e;

    return s->env.limits == NULL ||
           probe_allowed(s->env.limits, a, "", &e) == 0;
}

int64_t check_shots_turn_ms(struct check_shots *s, const struct addr *a)
{
    int64_t now_ms = clock_mono_ms();

    return gates_take(s->gates, a, now_ms, CHECK_RUN_GAP_MS) - now_ms;
}

/* Of where a redirect leads to. */
static int64_t turn_ms(void *arg, const struct addr *a)
{
    return check_shots_turn_ms(arg, a);
}

static int load_aims(struct shot *t, const struct addr *targets, size_t n,
                     struct err *e)
{
    struct check_run_env *env = &t->owner->env;
    enum probe_kind kind = check_params_kind(t->check->kind);

    make_aims(t, n);
    for (size_t i = 0; i < n; i++) {
        struct aim *a = &t->aims[i];

        a->shot = t;
        a->probe.kind = kind;
        a->probe.target = targets[i];
        a->probe.timeout_ms = t->check->timeout_ms;
        if (kind == PROBE_TCP || kind == PROBE_ICMP)
            continue;
        a->params = mem_alloc(sizeof *a->params);
        if (check_params_init(a->params, t->check, &targets[i], env->commands,
                              env->ncommands, e) != 0)
            return -1;
        a->params->probe.allowed = is_allowed;
        a->params->probe.turn_ms = turn_ms;
        a->params->probe.allowed_arg = t->owner;
        a->probe.params = &a->params->probe;
    }
    return 0;
}

static void aim_at(struct shot *t, const struct addr *targets, size_t n)
{
    int64_t now_ms = clock_mono_ms();
    struct err e;

    if (load_aims(t, targets, n, &e) != 0) {
        drop_aims(t);
        end_without_probe(t, false, e.msg);
        return;
    }
    t->waiting = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct aim *a = &t->aims[i];
        int64_t at_ms =
            gates_take(t->owner->gates, &targets[i], now_ms, CHECK_RUN_GAP_MS);

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
    free(t->note);
    t->note = mem_strndup(why, NOTE_SIZE - 1);
}

/* Every address of the host under the agent's limits. */
static void aim_at_host(struct shot *t)
{
    const struct probe_limits *limits = t->owner->env.limits;
    struct found *f = t->found;
    size_t n = 0, refused = 0;
    struct err e = {ERR_NONE, ""};

    for (size_t i = 0; i < f->n; i++) {
        f->v[n] = f->v[i];
        f->v[n].port = t->check->spec->port;
        if (limits != NULL && probe_allowed(limits, &f->v[n], "", &e) != 0)
            refused++;
        else
            n++;
    }
    if (n > 0 && refused > 0)
        miss(t, e.msg);
    else if (n > 0 && f->failed)
        miss(t, "some of its addresses could not be looked up");
    if (n > 0)
        aim_at(t, f->v, n);
    else if (refused > 0)
        end_without_probe(t, false, e.msg);
    else if (f->failed)
        end_without_probe(t, false, "its addresses could not be looked up");
    else
        end_without_probe(t, true, "no such name, or no address");
}

static void on_addresses(void *arg, const struct resolver_answer *answer)
{
    struct shot *t = arg;
    struct found *f = t->found;
    static const uint16_t types[] = {MESSAGE_A, MESSAGE_AAAA};

    for (size_t i = 0; i < 2 && answer->outcome == RESOLVER_FOUND; i++) {
        uint32_t ttl_s = 0;
        size_t room = ADDRESSES_MAX - f->n, n;

        n = message_addrs(answer->message, NULL, types[i], f->v + f->n, room,
                          &ttl_s);
        f->n += n < room ? n : room;
    }
    f->failed = f->failed || answer->outcome == RESOLVER_FAILED;
    if (--f->waiting == 0)
        aim_at_host(t);
}

void check_shot(struct check_shots *s, const struct check *c, check_shot_cb *cb,
                void *arg)
{
    const char *host = checks_host(c);
    uint32_t id;
    struct shot *t = slab_take(s->room, &id);

    t->id = id;
    t->owner = s;
    t->check = c;
    t->cb = cb;
    t->arg = arg;
    t->need = c->need;
    DL_APPEND(s->out, t);
    if (host == NULL) {
        aim_at(t, checks_targets(c), c->ntargets);
    } else if (s->env.resolver == NULL) {
        end_without_probe(t, false, "no resolver to look it up");
    } else {
        t->found = mem_alloc(sizeof *t->found);
        t->found->waiting = 2;
        resolver_lookup(s->env.resolver, host, MESSAGE_A, false, on_addresses,
                        t);
        resolver_lookup(s->env.resolver, host, MESSAGE_AAAA, false,
                        on_addresses, t);
    }
}
