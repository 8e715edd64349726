#include "resolver/pool.h"

#define CARES_NO_DEPRECATED
#include <ares.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include <uv.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/channel.h"

/* A query is in exactly one of these places:
 *   server->waiting  its turn has not come
 *   c-ares           sent; server->in_flight counts it
 *   pool->done       answered or failed; still counted until it is delivered
 * deliver() takes it from done and calls back, or sends it once more. */

/* A server that closes each connection after one answer takes two of our
 * queries with it at a time: so often a query is sent again for that. */
enum { RESENDS = POOL_IN_FLIGHT / 2 };

/* A server that let a query time out while others answer is not asked again
 * for so long: each further question would cost as much. */
#define SILENT_MS 30000

struct query {
    struct server *server;
    char name[NAME_SIZE];
    uint16_t type;
    bool rd, ad;
    bool in_flight, edns;
    enum channel_kind kind;
    unsigned resends;
    uint64_t answers_before; /* server's count when this was sent */
    int status;              /* of c-ares */
    uint8_t *wire;           /* the answer */
    size_t len;
    struct err *err; /* failed before or without c-ares; rare, and thousands
                        of queries wait at a time */
    pool_cb *cb;
    void *arg;
    struct query *prev, *next;
};

struct server {
    struct pool *pool;
    struct addr addr;
    struct channel *channels[3]; /* by enum channel_kind; NULL: not needed */
    bool plain;                  /* does not know EDNS */
    unsigned in_flight;
    uint64_t answers[2]; /* so far, over UDP and over TCP */
    int64_t silent_until_ms;
    struct query *waiting;
    struct server *prev, *next;
};

#define IDS 64 /* got at a time */

struct pool {
    struct loop *loop;
    int64_t timeout_ms;
    int tries;
    struct server *servers;
    struct query *done;
    struct loop_timer *timer; /* deliver() is due */
    bool *freed;              /* set while callbacks run */
    uint16_t ids[IDS];        /* random ones, nids left */
    size_t nids;
};

static void deliver(void *arg);

static void free_query(struct query *q)
{
    free(q->err);
    free(q->wire);
    free(q);
}

struct pool *pool_new(struct loop *l, int64_t timeout_ms, int tries)
{
    struct pool *p = mem_alloc(sizeof *p);

    p->loop = l;
    p->timeout_ms = timeout_ms;
    p->tries = tries;
    return p;
}

static void free_queries(struct query **list)
{
    while (*list != NULL) {
        struct query *q = *list;

        DL_DELETE(*list, q);
        free_query(q);
    }
}

void pool_free(struct pool *p)
{
    if (p == NULL)
        return;
    if (p->freed != NULL)
        *p->freed = true;
    loop_timer_cancel(p->timer);
    while (p->servers != NULL) {
        struct server *s = p->servers;

        for (size_t i = 0; i < sizeof s->channels / sizeof s->channels[0]; i++)
            channel_free(s->channels[i]);
        free_queries(&s->waiting);
        DL_DELETE(p->servers, s);
        free(s);
    }
    free_queries(&p->done);
    free(p);
}

/* Where the query's error is to be written. */
static struct err *error_of(struct query *q)
{
    if (q->err == NULL)
        q->err = mem_alloc(sizeof *q->err);
    return q->err;
}

static void finish(struct query *q)
{
    struct pool *p = q->server->pool;

    DL_APPEND(p->done, q);
    if (p->timer == NULL)
        p->timer = loop_timer_start(p->loop, 0, deliver, p);
}

/* How many answers the query's server has given over its transport. */
static uint64_t *answers_of(const struct query *q)
{
    return &q->server->answers[q->kind == CHANNEL_TCP];
}

static void on_answer(void *arg, int status, const uint8_t *wire, size_t len)
{
    struct query *q = arg;

    q->status = status;
    if (status == ARES_SUCCESS && wire != NULL) {
        ++*answers_of(q);
        q->wire = mem_alloc(len > 0 ? len : 1);
        q->len = len;
        memcpy(q->wire, wire, len);
    }
    finish(q);
}

static void on_drop(void *arg)
{
    free_query(arg);
}

/* One that cannot be guessed: RFC 5452 9.2. */
static int take_id(struct pool *p, uint16_t *id, struct err *e)
{
    if (p->nids == 0) {
        if (uv_random(NULL, NULL, p->ids, sizeof p->ids, 0, NULL) != 0)
            return err_set(e, ERR_LOCAL, "no random numbers for a query");
        p->nids = IDS;
    }
    *id = p->ids[--p->nids];
    return 0;
}

static int try_send(struct query *q, struct err *e)
{
    struct server *s = q->server;
    struct channel **c = &s->channels[q->kind];
    uint8_t *wire = NULL;
    size_t len;
    uint16_t id = 0;
    int status;

    status = (q->edns ? message_query : message_query_plain)(
        q->name, q->type, q->rd, q->ad, &wire, &len, e);
    if (status == 0)
        status = take_id(s->pool, &id, e);
    if (status == 0 && *c == NULL)
        status = channel_new(s->pool->loop, &s->addr, q->kind,
                             s->pool->timeout_ms, s->pool->tries, c, e);
    if (status == 0) {
        message_set_id(wire, id);
        channel_send(*c, wire, len, on_answer, on_drop, q);
    }
    free(wire);
    return status;
}

/* Out on its channel. */
static void send_query(struct query *q)
{
    struct err e;

    q->answers_before = *answers_of(q);
    q->edns = q->edns && !q->server->plain;
    if (try_send(q, &e) == 0)
        return;
    *error_of(q) = e;
    finish(q);
}

/* Sends what waits as far as there is room. */
static void pump(struct server *s)
{
    while (s->waiting != NULL && s->in_flight < POOL_IN_FLIGHT) {
        struct query *q = s->waiting;

        DL_DELETE(s->waiting, q);
        q->in_flight = true;
        s->in_flight++;
        q->kind = s->plain ? CHANNEL_PLAIN : CHANNEL_EDNS;
        send_query(q);
    }
}

static struct server *server_of(struct pool *p, const struct addr *addr)
{
    struct server *s;

    DL_FOREACH(p->servers, s)
    if (addr_equal(&s->addr, addr) && s->addr.port == addr->port)
        return s;
    s = mem_alloc(sizeof *s);
    s->pool = p;
    s->addr = *addr;
    DL_APPEND(p->servers, s);
    return s;
}

static bool others_answer(const struct server *s)
{
    const struct server *o;

    DL_FOREACH(s->pool->servers, o)
    if (o != s && o->answers[0] + o->answers[1] > 0)
        return true;
    return false;
}

/* With nobody else to turn to it is asked all the same. */
static bool is_silent(const struct server *s, struct err *e)
{
    char who[ADDR_TEXT_SIZE];

    if (s->silent_until_ms <= clock_mono_ms() || !others_answer(s))
        return false;
    (void)err_set(e, ERR_RETRY, "%s timed out a moment ago",
                  addr_format_port(&s->addr, who));
    return true;
}

void pool_ask(struct pool *p, const struct addr *server,
              const struct pool_question *question, pool_cb *cb, void *arg)
{
    struct query *q = mem_alloc(sizeof *q);
    struct server *s = server_of(p, server);
    struct err e;

    q->server = s;
    q->type = question->type;
    q->rd = question->rd;
    q->ad = question->ad;
    q->edns = true;
    q->cb = cb;
    q->arg = arg;
    if (name_canon(question->name, q->name, &e) != 0 || is_silent(s, &e)) {
        *error_of(q) = e;
        finish(q);
        return;
    }
    DL_APPEND(s->waiting, q);
    pump(s);
}

/* --- what an answer means for the transport ------------------------------ */

static void send_again(struct query *q, enum channel_kind kind, bool edns)
{
    free(q->wire);
    q->wire = NULL;
    q->len = 0;
    q->kind = kind;
    q->edns = edns;
    send_query(q);
}

/* The connection broke (not: timed out) but the server has answered others
 * meanwhile: it closes connections early, RFC 7766 6.2.3 permits it. */
static bool worth_another_try(const struct query *q)
{
    return q->kind == CHANNEL_TCP && q->status == ARES_ECONNREFUSED &&
           q->resends<RESENDS && * answers_of(q)> q->answers_before;
}

/* Sends q again where its answer asks for that. m: NULL, not decodable. */
static bool again(struct query *q, const struct message *m)
{
    struct server *s = q->server;
    int rcode;

    if (q->wire == NULL) {
        if (!worth_another_try(q))
            return false;
        q->resends++;
        send_again(q, q->kind, q->edns);
        return true;
    }
    if (m == NULL || message_is_tc(m)) {
        if (q->kind == CHANNEL_TCP)
            return false;
        send_again(q, CHANNEL_TCP, q->edns);
        return true;
    }
    if (!q->edns || message_has_edns(m))
        return false;
    s->plain = true; /* RFC 6891 7: no OPT in the answer */
    rcode = message_rcode(m);
    if (rcode != 1 && rcode != 4) /* FORMERR, NOTIMP */
        return false;
    send_again(q, q->kind == CHANNEL_TCP ? CHANNEL_TCP : CHANNEL_PLAIN, false);
    return true;
}

static void explain(struct query *q)
{
    char who[ADDR_TEXT_SIZE];
    const char *over = q->kind == CHANNEL_TCP ? " over TCP" : "";
    struct err *e = error_of(q);

    addr_format_port(&q->server->addr, who);
    if (q->status == ARES_ETIMEOUT)
        (void)err_set(e, ERR_RETRY, "%s timed out%s", who, over);
    else if (q->status == ARES_ECONNREFUSED)
        (void)err_set(e, ERR_RETRY, "%s refused the connection%s", who, over);
    else
        (void)err_set(e, ERR_RETRY, "%s: %s%s", who, ares_strerror(q->status),
                      over);
}

/* A server that let a query time out and answered no other one since: what
 * waits behind it would each wait as long, in hundreds. */
static void give_up_waiting(const struct query *q)
{
    struct server *s = q->server;

    if (q->status != ARES_ETIMEOUT || q->kind == CHANNEL_TCP ||
        *answers_of(q) > q->answers_before)
        return;
    s->silent_until_ms = clock_mono_ms() + SILENT_MS;
    while (s->waiting != NULL) {
        struct query *w = s->waiting;

        DL_DELETE(s->waiting, w);
        *error_of(w) = *q->err;
        finish(w);
    }
}

/* More does not fit, even over TCP. Some addresses of a name are of use; a
 * part of its texts, or of a zone's servers, would be taken for the whole. */
static bool is_enough(const struct query *q, const struct message *m)
{
    return (q->type == MESSAGE_A || q->type == MESSAGE_AAAA) &&
           message_count(m, NULL, q->type) > 0;
}

/* What is wrong with an answer that came, or NULL. */
static const char *fault_of(const struct query *q, const struct message *m,
                            const struct err *e)
{
    if (m == NULL)
        return e->msg;
    if (message_is_tc(m) && !is_enough(q, m))
        return "a truncated answer over TCP";
    return message_answers(m, q->name, q->type)
               ? NULL
               : "the answer to another question";
}

/* The decoded answer, or NULL with q->err set; false: q was sent again. */
static bool judge(struct query *q, struct message **m)
{
    char who[ADDR_TEXT_SIZE];
    const char *fault;
    struct err e;

    *m = NULL;
    if (q->err != NULL)
        return true;
    if (q->wire != NULL && message_decode(q->wire, q->len, m, &e) != 0)
        *m = NULL;
    if (again(q, *m)) {
        message_free(*m);
        *m = NULL;
        return false;
    }
    if (q->wire == NULL) {
        explain(q);
        give_up_waiting(q);
    } else if ((fault = fault_of(q, *m, &e)) != NULL) {
        (void)err_set(error_of(q), ERR_RETRY, "%s sent %s",
                      addr_format_port(&q->server->addr, who), fault);
    }
    return true;
}

static void deliver_one(struct query *q)
{
    struct message *m;
    struct server *s = q->server;

    if (!judge(q, &m))
        return;
    if (q->in_flight) {
        s->in_flight--;
        pump(s);
    }
    q->cb(q->arg, q->err == NULL ? m : NULL, q->err);
    message_free(m);
    free_query(q);
}

static void deliver(void *arg)
{
    struct pool *p = arg;
    bool freed = false, *outer = p->freed; /* a callback may wait: nested */
    /* What ends meanwhile comes with the next turn. */
    struct query *last = p->done != NULL ? p->done->prev : NULL;

    p->timer = NULL;
    p->freed = &freed;
    while (!freed && last != NULL && p->done != NULL) {
        struct query *q = p->done;

        if (q == last)
            last = NULL;
        DL_DELETE(p->done, q);
        deliver_one(q);
    }
    if (freed) {
        if (outer != NULL)
            *outer = true;
        return;
    }
    p->freed = outer;
    if (p->done != NULL && p->timer == NULL)
        p->timer = loop_timer_start(p->loop, 0, deliver, p);
}
