#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/mem.h"
#include "agent/engine/checks/check_run.h"

/* What the probes ask of others, answered by the engine: the addresses of a
 * redirect's host, through the resolver. */

#define ADDRESSES_MAX 40

struct lookup {
    struct check_hooks *hooks;
    probe_addrs_cb *cb;
    void *arg;
    size_t waiting, n;
    bool failed;
    struct addr found[ADDRESSES_MAX];
    struct lookup *prev, *next;
};

struct check_hooks {
    struct resolver *resolver;
    struct lookup *out;
};

static void lookup_end(struct lookup *l, enum probe_lookup outcome)
{
    DL_DELETE(l->hooks->out, l);
    l->cb(l->arg, outcome, l->found, l->n);
    free(l);
}

static void on_answer(void *arg, const struct resolver_answer *answer)
{
    static const uint16_t types[] = {MESSAGE_A, MESSAGE_AAAA};
    struct lookup *l = arg;

    for (size_t i = 0; i < 2 && answer->outcome == RESOLVER_FOUND; i++) {
        size_t room = ADDRESSES_MAX - l->n, n;
        uint32_t ttl_s = 0;

        n = message_addrs(answer->message, NULL, types[i], l->found + l->n,
                          room, &ttl_s);
        l->n += n < room ? n : room;
    }
    l->failed = l->failed || answer->outcome == RESOLVER_FAILED;
    if (--l->waiting > 0)
        return;
    lookup_end(l, l->n > 0    ? (l->failed ? PROBE_FOUND_SOME : PROBE_FOUND)
                  : l->failed ? PROBE_LOOKUP_FAILED
                              : PROBE_NO_NAME);
}

static void resolve(void *arg, const char *host, probe_addrs_cb *cb,
                    void *cb_arg)
{
    struct check_hooks *h = arg;
    struct lookup *l = mem_alloc(sizeof *l);
    char name[NAME_SIZE];

    l->hooks = h;
    l->cb = cb;
    l->arg = cb_arg;
    l->waiting = 2;
    DL_APPEND(h->out, l);
    if (name_canon(host, name, NULL) != 0)
        memcpy(name, "invalid.", 9); /* RFC 6761 6.4: never there */
    resolver_lookup(h->resolver, name, MESSAGE_A, false, on_answer, l);
    resolver_lookup(h->resolver, name, MESSAGE_AAAA, false, on_answer, l);
}

struct check_hooks *check_hooks_new(const struct check_run_env *env)
{
    struct check_hooks *h = mem_alloc(sizeof *h);
    struct probe_hooks hooks = {.arg = h, .doer = env->doer};

    h->resolver = env->resolver;
    if (env->resolver != NULL)
        hooks.resolve = resolve;
    probes_set_hooks(env->probes, &hooks);
    probes_prepare(env->probes);
    return h;
}

void check_hooks_free(struct check_hooks *h)
{
    if (h == NULL)
        return;
    while (h->out != NULL)
        lookup_end(h->out, PROBE_LOOKUP_FAILED);
    free(h);
}
