#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/exchange.h"
#include "resolver/op.h"
#include "resolver/owners.h"
#include "resolver/resolver.h"

#define TOTAL_MS 60000
#define MESSAGES_MAX ((uint64_t)256 * 1024 * 1024)

/* One enumeration: the servers in turn until one grants the transfer. */
struct transfer {
    struct op op; /* first */
    struct resolver *resolver;
    struct addr *servers;
    size_t nservers, next;
    char zone[NAME_SIZE];
    char who[ADDR_TEXT_SIZE]; /* the server that is asked */
    uint16_t id;
    struct exchange *exchange;
    struct owners *owners;
    struct loop_timer *timer;
    struct err *err; /* as in struct lookup */
    bool all_refused;
    resolver_owners_cb *cb;
    void *arg;
};

static void free_transfer(struct op *op)
{
    struct transfer *t = (struct transfer *)op;

    exchange_free(t->exchange);
    owners_free(t->owners);
    loop_timer_cancel(t->timer);
    free(t->servers);
    free(t->err);
    free(t);
}

static void finish(struct transfer *t, const struct resolver_owners *o)
{
    op_remove(t->resolver, &t->op);
    t->cb(t->arg, o);
    free_transfer(&t->op);
}

static void give_up(void *arg)
{
    struct transfer *t = arg;
    struct resolver_owners o = {0};

    t->timer = NULL;
    o.err = *t->err;
    /* One server that did not refuse may grant it the next time. */
    if (o.err.code == ERR_AUTH && !t->all_refused)
        o.err.code = ERR_RETRY;
    finish(t, &o);
}

static void start_next(void *arg);

/* This server does not do; a limit would be met at each of them. */
static void try_next(struct transfer *t, const struct err *e)
{
    t->exchange = NULL;
    t->all_refused = t->all_refused && e->code == ERR_AUTH;
    op_join_error(&t->err, e);
    t->timer = loop_timer_start(
        op_loop(t->resolver), 0,
        e->code == ERR_LIMIT || t->next >= t->nservers ? give_up : start_next,
        t);
}

static void on_fail(void *arg, const struct err *e)
{
    try_next(arg, e);
}

static bool on_message(void *arg, const uint8_t *wire, size_t len)
{
    struct transfer *t = arg;
    struct resolver_owners o = {0};
    struct message *m;
    struct err e = {0};
    bool done = false;

    if (message_decode(wire, len, &m, &e) != 0) {
        (void)err_wrap(&e, "%s sent", t->who);
    } else if (message_id(m) != t->id) {
        (void)err_set(&e, ERR_RETRY, "%s answered another query", t->who);
    } else if (owners_take(t->owners, m, t->who, &done, &e) != 0) {
        done = false;
    }
    message_free(m);
    if (e.code != ERR_NONE) {
        try_next(t, &e);
        return false;
    }
    if (!done)
        return true;
    t->exchange = NULL; /* over: it goes by itself when we return */
    o.owners = owners_get(t->owners, &o.n, &o.serial);
    finish(t, &o);
    return false;
}

static int query(struct transfer *t, uint8_t **wire, size_t *len, struct err *e)
{
    if (message_query_plain(t->zone, MESSAGE_AXFR, false, false, wire, len,
                            e) != 0)
        return -1;
    if (uv_random(NULL, NULL, &t->id, sizeof t->id, 0, NULL) != 0) {
        free(*wire);
        return err_set(e, ERR_LOCAL, "no random numbers for a query");
    }
    message_set_id(*wire, t->id);
    return 0;
}

static void start_next(void *arg)
{
    struct transfer *t = arg;
    struct exchange_limits limits = {.total_ms = TOTAL_MS,
                                     .bytes = MESSAGES_MAX};
    const struct addr *server = &t->servers[t->next++];
    uint8_t *wire;
    size_t len;
    struct err e = {0};

    t->timer = NULL;
    addr_format_port(server, t->who);
    owners_free(t->owners);
    t->owners = owners_new(t->zone);
    if (query(t, &wire, &len, &e) != 0) {
        try_next(t, &e);
        return;
    }
    limits.idle_ms = 2 * op_timeout_ms(t->resolver);
    t->exchange = exchange_start(op_loop(t->resolver), server, wire, len,
                                 &limits, on_message, on_fail, t);
    free(wire);
}

void resolver_axfr_owners(struct resolver *r, const struct addr *servers,
                          size_t nservers, const char *zone,
                          resolver_owners_cb *cb, void *arg)
{
    struct transfer *t = mem_alloc(sizeof *t);
    struct err e;

    t->op.drop = free_transfer;
    t->resolver = r;
    t->servers = mem_array(nservers, sizeof *servers);
    t->nservers = nservers;
    for (size_t i = 0; i < nservers; i++) {
        t->servers[i] = servers[i];
        if (servers[i].port == 0)
            t->servers[i].port = 53;
    }
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
