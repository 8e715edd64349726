#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/op.h"
#include "resolver/resolver.h"
#include "resolver/transfer.h"

/* One enumeration: the servers in turn until one grants the transfer. */
struct enumeration {
    struct op op; /* first */
    struct resolver *resolver;
    struct addr *servers;
    size_t nservers, next;
    char zone[NAME_SIZE];
    const struct tsig_key *key;
    struct transfer *transfer; /* that runs */
    struct loop_timer *timer;
    struct err *err; /* as in struct lookup */
    bool all_refused;
    resolver_owners_cb *cb;
    void *arg;
};

static void free_enumeration(struct op *op)
{
    struct enumeration *t = (struct enumeration *)op;

    transfer_free(t->transfer);
    loop_timer_cancel(t->timer);
    free(t->servers);
    free(t->err);
    free(t);
}

static void finish(struct enumeration *t, const struct resolver_owners *o)
{
    op_remove(t->resolver, &t->op);
    t->cb(t->arg, o);
    free_enumeration(&t->op);
}

static void give_up(void *arg)
{
    struct enumeration *t = arg;
    struct resolver_owners o = {0};

    t->timer = NULL;
    o.err = *t->err;
    /* One server that did not refuse may grant it the next time. */
    if (o.err.code == ERR_AUTH && !t->all_refused)
        o.err.code = ERR_RETRY;
    finish(t, &o);
}

static void start_next(void *arg);

static void on_transfer(void *arg, const struct resolver_owners *o)
{
    struct enumeration *t = arg;
    const struct err *e = &o->err;

    t->transfer = NULL;
    if (e->code == ERR_NONE) {
        finish(t, o);
        return;
    }
    /* This server does not do; a limit would be met at each of them. */
    t->all_refused = t->all_refused && e->code == ERR_AUTH;
    op_join_error(&t->err, e);
    t->timer = loop_timer_start(
        op_loop(t->resolver), 0,
        e->code == ERR_LIMIT || t->next >= t->nservers ? give_up : start_next,
        t);
}

static void start_next(void *arg)
{
    struct enumeration *t = arg;

    t->timer = NULL;
    t->transfer =
        transfer_start(op_loop(t->resolver), &t->servers[t->next++], t->zone,
                       t->key, 2 * op_timeout_ms(t->resolver), on_transfer, t);
}

void resolver_axfr_owners(struct resolver *r, const struct addr *servers,
                          size_t nservers, const char *zone,
                          const struct tsig_key *key, resolver_owners_cb *cb,
                          void *arg)
{
    struct enumeration *t = mem_alloc(sizeof *t);
    struct err e;

    t->op.drop = free_enumeration;
    t->resolver = r;
    t->servers = mem_array(nservers, sizeof *servers);
    t->nservers = nservers;
    for (size_t i = 0; i < nservers; i++) {
        t->servers[i] = servers[i];
        if (servers[i].port == 0)
            t->servers[i].port = 53;
    }
    t->key = key;
    t->all_refused = true;
    t->cb = cb;
    t->arg = arg;
    op_add(r, &t->op);
    if (name_canon(zone, t->zone, &e) != 0)
        op_join_error(&t->err, &e);
    else if (nservers == 0 &&
             err_set(&e, ERR_RETRY,
                     "no name server to transfer %.300s from is known",
                     t->zone) != 0)
        op_join_error(&t->err, &e);
    t->timer = loop_timer_start(op_loop(r), 0,
                                t->err == NULL ? start_next : give_up, t);
}
