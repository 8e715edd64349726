#include "resolver/transfer.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/exchange.h"
#include "resolver/owners.h"

#define TOTAL_MS 60000
#define MESSAGES_MAX ((uint64_t)256 * 1024 * 1024)

struct transfer {
    char zone[NAME_SIZE];
    char who[ADDR_TEXT_SIZE]; /* the server that is asked */
    const struct tsig_key *key;
    struct tsig_mac mac; /* of the request */
    struct tsig_stream *stream;
    uint16_t id;
    struct exchange *exchange;
    struct owners *owners;
    struct loop_timer *timer;
    struct err err;
    transfer_cb *cb;
    void *arg;
};

void transfer_free(struct transfer *t)
{
    if (t == NULL)
        return;
    exchange_free(t->exchange);
    owners_free(t->owners);
    tsig_stream_free(t->stream);
    loop_timer_cancel(t->timer);
    free(t);
}

static void finish(struct transfer *t, const struct resolver_owners *o)
{
    t->cb(t->arg, o);
    transfer_free(t);
}

static void fail(void *arg)
{
    struct transfer *t = arg;
    struct resolver_owners o = {.err = t->err};

    t->timer = NULL;
    finish(t, &o);
}

static void on_fail(void *arg, const struct err *e)
{
    struct transfer *t = arg;

    t->exchange = NULL;
    t->err = *e;
    fail(t);
}

/* What the message says, and whether it was said by the holder of the key.
 * A refusal comes before its signature: it changes nothing. */
static int take(struct transfer *t, const uint8_t *wire, size_t len, bool *done,
                struct err *e)
{
    struct message *m;
    int status = message_decode(wire, len, &m, e);

    if (status != 0)
        (void)err_wrap(e, "%s sent", t->who);
    else if (message_id(m) != t->id)
        status = err_set(e, ERR_RETRY, "%s answered another query", t->who);
    else
        status = owners_take(t->owners, m, t->who, done, e);
    message_free(m);
    if (status != 0 || t->key == NULL)
        return status;
    status = tsig_stream_take(t->stream, wire, len,
                              (uint64_t)clock_wall_ms() / 1000, *done, e);
    if (status != 0)
        (void)err_wrap(e, "the transfer of %s from %s is not believed", t->zone,
                       t->who);
    return status;
}

static bool on_message(void *arg, const uint8_t *wire, size_t len)
{
    struct transfer *t = arg;
    struct resolver_owners o = {0};
    bool done = false;

    if (take(t, wire, len, &done, &o.err) == 0) {
        if (!done)
            return true;
        o.owners = owners_get(t->owners, &o.n, &o.serial);
    }
    t->exchange = NULL; /* over: it goes by itself when we return */
    finish(t, &o);
    return false;
}

static int query(struct transfer *t, uint8_t **wire, size_t *len, struct err *e)
{
    uint8_t *plain;
    int status;

    if (message_query_plain(t->zone, MESSAGE_AXFR, false, false, wire, len,
                            e) != 0)
        return -1;
    if (uv_random(NULL, NULL, &t->id, sizeof t->id, 0, NULL) != 0) {
        free(*wire);
        return err_set(e, ERR_LOCAL, "no random numbers for a query");
    }
    message_set_id(*wire, t->id);
    if (t->key == NULL)
        return 0;
    plain = *wire;
    status = tsig_sign(t->key, (uint64_t)clock_wall_ms() / 1000, plain, *len,
                       wire, len, &t->mac, e);
    free(plain);
    if (status == 0)
        t->stream = tsig_stream_new(t->key, &t->mac);
    return status;
}

struct transfer *transfer_start(struct loop *l, const struct addr *server,
                                const char *zone, const struct tsig_key *key,
                                int64_t idle_ms, transfer_cb *cb, void *arg)
{
    struct transfer *t = mem_alloc(sizeof *t);
    struct exchange_limits limits = {
        .idle_ms = idle_ms, .total_ms = TOTAL_MS, .bytes = MESSAGES_MAX};
    uint8_t *wire;
    size_t len;

    (void)addr_format_port(server, t->who);
    t->key = key;
    t->cb = cb;
    t->arg = arg;
    t->owners = owners_new(zone);
    if (name_canon(zone, t->zone, &t->err) != 0 ||
        query(t, &wire, &len, &t->err) != 0) {
        t->timer = loop_timer_start(l, 0, fail, t);
        return t;
    }
    t->exchange =
        exchange_start(l, server, wire, len, &limits, on_message, on_fail, t);
    free(wire);
    return t;
}
