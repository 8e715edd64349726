#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/base/clock.h"
#include "providers/rfc2136/rfc2136.h"
#include "resolver/exchange.h"

#define TOTAL_MS 120000
#define ANSWERS_MAX ((uint64_t)1024 * 1024 * 1024)

/* A message that waits for its answer; its place goes by its id. */
struct pending {
    bool waits, is_signed;
    uint16_t id;
    size_t slot;
    struct tsig_mac mac;
};

struct rfc2136_talk {
    struct rfc2136 *p;
    struct exchange *exchange; /* NULL: no connection */
    struct pending ring[RFC2136_IN_FLIGHT];
    size_t npending;
    uint16_t next_id;
    bool in_callback, over;
    rfc2136_answer_cb *cb;
    void *arg;
};

struct rfc2136_talk *rfc2136_talk_new(struct rfc2136 *p, rfc2136_answer_cb *cb,
                                      void *arg)
{
    struct rfc2136_talk *t = mem_alloc(sizeof *t);

    t->p = p;
    t->cb = cb;
    t->arg = arg;
    (void)uv_random(NULL, NULL, &t->next_id, sizeof t->next_id, 0, NULL);
    return t;
}

void rfc2136_talk_free(struct rfc2136_talk *t)
{
    if (t == NULL)
        return;
    t->over = true;
    if (t->in_callback)
        return;
    exchange_free(t->exchange);
    free(t);
}

size_t rfc2136_talk_room(const struct rfc2136_talk *t)
{
    return RFC2136_IN_FLIGHT - t->npending;
}

/* ---- answers ------------------------------------------------------------- */

static void give(struct rfc2136_talk *t, struct pending *w,
                 struct rfc2136_answer *a)
{
    w->waits = false;
    t->npending--;
    a->slot = w->slot;
    a->is_signed = w->is_signed;
    t->in_callback = true;
    t->cb(t->arg, a);
    t->in_callback = false;
}

/* returns the message that it answers, or NULL with e set */
static struct pending *find(struct rfc2136_talk *t, const uint8_t *wire,
                            size_t len, struct err *e)
{
    uint16_t id = len >= 2 ? (uint16_t)(wire[0] << 8 | wire[1]) : 0;
    struct pending *w = &t->ring[id % RFC2136_IN_FLIGHT];

    if (len >= 2 && w->waits && w->id == id)
        return w;
    (void)err_set(e, ERR_UNKNOWN, "%s answered what it was not asked",
                  t->p->who);
    return NULL;
}

/* The connection is gone: what waited on it ends. What a callback sends
 * meanwhile goes over another one. */
static void end_all(struct rfc2136_talk *t, const struct err *e,
                    bool is_garbled)
{
    uint16_t ids[RFC2136_IN_FLIGHT];
    size_t n = 0;

    for (size_t i = 0; i < RFC2136_IN_FLIGHT; i++) {
        const struct pending *w =
            &t->ring[(t->next_id + i) % RFC2136_IN_FLIGHT];

        if (w->waits)
            ids[n++] = w->id;
    }
    for (size_t i = 0; i < n && !t->over; i++) {
        struct rfc2136_answer a = {.err = *e, .is_garbled = is_garbled};

        give(t, &t->ring[ids[i] % RFC2136_IN_FLIGHT], &a);
    }
}

static void on_fail(void *arg, const struct err *e)
{
    struct rfc2136_talk *t = arg;
    struct err why = *e;

    if (exchange_is_connected(t->exchange) && why.code != ERR_LOCAL)
        why.code = ERR_UNKNOWN;
    else if (why.code != ERR_LOCAL)
        why.code = ERR_RETRY;
    t->exchange = NULL;
    end_all(t, &why, false);
    if (t->over)
        rfc2136_talk_free(t);
}

/* returns false: the exchange is over */
static bool after_callback(struct rfc2136_talk *t)
{
    if (!t->over)
        return true;
    t->exchange = NULL; /* it goes by itself */
    rfc2136_talk_free(t);
    return false;
}

static bool on_message(void *arg, const uint8_t *wire, size_t len)
{
    struct rfc2136_talk *t = arg;
    struct rfc2136_answer a = {.m = NULL};
    struct err e = {0};
    struct pending *w = find(t, wire, len, &e);

    if (w == NULL) {
        t->exchange = NULL;
        end_all(t, &e, true);
        if (t->over)
            rfc2136_talk_free(t);
        return false;
    }
    if (w->is_signed)
        tsig_verify(t->p->key, &w->mac, wire, len,
                    (uint64_t)clock_wall_ms() / 1000, &a.tsig);
    if (message_decode(wire, len, &a.m, &a.err) != 0) {
        (void)err_wrap(&a.err, "%s sent", t->p->who);
        a.err.code = ERR_UNKNOWN;
        a.is_garbled = true;
    }
    give(t, w, &a);
    message_free(a.m);
    return after_callback(t);
}

/* ---- sending ------------------------------------------------------------- */

static void start(struct rfc2136_talk *t, const uint8_t *wire, size_t len)
{
    struct exchange_limits limits = {.idle_ms = t->p->timeout_ms,
                                     .total_ms = TOTAL_MS,
                                     .bytes = ANSWERS_MAX};

    t->exchange = exchange_start(t->p->env.loop, &t->p->server, wire, len,
                                 &limits, on_message, on_fail, t);
}

int rfc2136_talk_send(struct rfc2136_talk *t, size_t slot, uint8_t *wire,
                      size_t len, bool sign, struct err *e)
{
    uint16_t id = t->next_id;
    struct pending *w = &t->ring[id % RFC2136_IN_FLIGHT];
    uint8_t *with = NULL;

    if (w->waits)
        return err_set(e, ERR_BUG, "more than %u messages at once",
                       RFC2136_IN_FLIGHT);
    message_set_id(wire, id);
    if (sign && tsig_sign(t->p->key, (uint64_t)clock_wall_ms() / 1000, wire,
                          len, &with, &len, &w->mac, e) != 0)
        return -1;
    t->next_id++;
    w->waits = true;
    w->is_signed = sign;
    w->id = id;
    w->slot = slot;
    t->npending++;
    if (t->exchange != NULL)
        exchange_send(t->exchange, with != NULL ? with : wire, len);
    else
        start(t, with != NULL ? with : wire, len);
    free(with);
    return 0;
}
