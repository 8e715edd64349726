#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/exchange.h"
#include "resolver/op.h"
#include "resolver/outcome.h"
#include "resolver/tsig.h"

/* Questions under a key, for servers that choose the view by it. Over TCP: an
 * answer with its signature may not fit otherwise, and there are few. */

#define ANSWER_MAX 65537 /* with its length; RFC 1035 4.2.2 */
#define DNS_PORT 53

struct signed_ask {
    struct op op; /* first */
    struct resolver *resolver;
    char name[NAME_SIZE];
    struct outcome_question question;
    struct addr server;
    struct tsig_key key; /* a copy: its owner may go before the answer comes */
    struct tsig_mac mac;
    uint16_t id;
    struct exchange *exchange;
    struct loop_timer *timer;
    struct err err;
    resolver_cb *cb;
    void *arg;
};

static void drop_ask(struct op *op)
{
    struct signed_ask *s = (struct signed_ask *)op;

    exchange_free(s->exchange);
    loop_timer_cancel(s->timer);
    explicit_bzero(&s->key, sizeof s->key);
    free(s);
}

static void finish(struct signed_ask *s, struct resolver_answer *a)
{
    a->server = s->server;
    op_remove(s->resolver, &s->op);
    s->cb(s->arg, a);
    drop_ask(&s->op);
}

static void fail(void *arg)
{
    struct signed_ask *s = arg;
    struct resolver_answer a = {.outcome = RESOLVER_FAILED, .err = s->err};

    s->timer = NULL;
    finish(s, &a);
}

static void on_fail(void *arg, const struct err *e)
{
    struct signed_ask *s = arg;

    s->exchange = NULL;
    s->err = *e;
    fail(s);
}

/* What nobody signed says nothing of the records. */
static int check(struct signed_ask *s, const struct message *m,
                 const uint8_t *wire, size_t len, struct err *e)
{
    char who[ADDR_TEXT_SIZE];
    struct tsig_check seen;
    const char *error;

    (void)addr_format_port(&s->server, who);
    if (message_id(m) != s->id ||
        !message_answers(m, s->name, s->question.type))
        return err_set(e, ERR_RETRY, "%s answered another query", who);
    tsig_verify(&s->key, &s->mac, wire, len, (uint64_t)clock_wall_ms() / 1000,
                &seen);
    if (seen.verdict == TSIG_GOOD && seen.error == 0)
        return 0;
    error = tsig_error_name(seen.error);
    return err_set(e, ERR_AUTH,
                   "%s says %s%s%s to the query under key %s, and the answer "
                   "is not believed: %s",
                   who, message_rcode_name(message_rcode(m)),
                   error != NULL ? ", TSIG " : "", error != NULL ? error : "",
                   s->key.name, tsig_verdict_text(seen.verdict));
}

static bool on_message(void *arg, const uint8_t *wire, size_t len)
{
    struct signed_ask *s = arg;
    struct resolver_answer a = {.outcome = RESOLVER_FAILED};
    struct message *m = NULL;

    s->exchange = NULL; /* over: it goes by itself when we return */
    if (message_decode(wire, len, &m, &a.err) == 0 &&
        check(s, m, wire, len, &a.err) == 0) {
        a.outcome = outcome_judge(m, &s->question, &s->server, &a.err);
        a.message = m;
    }
    finish(s, &a);
    message_free(m);
    return false;
}

static int query(struct signed_ask *s, uint8_t **wire, size_t *len)
{
    uint8_t *plain;
    int rc;

    if (message_query_plain(s->name, s->question.type, false, false, &plain,
                            len, &s->err) != 0)
        return -1;
    if (uv_random(NULL, NULL, &s->id, sizeof s->id, 0, NULL) != 0) {
        rc = err_set(&s->err, ERR_LOCAL, "no random numbers for a query");
    } else {
        message_set_id(plain, s->id);
        rc = tsig_sign(&s->key, (uint64_t)clock_wall_ms() / 1000, plain, *len,
                       wire, len, &s->mac, &s->err);
    }
    free(plain);
    return rc;
}

void resolver_ask_signed(struct resolver *r, const struct addr *server,
                         const struct tsig_key *key, const char *name,
                         uint16_t type, resolver_cb *cb, void *arg)
{
    struct signed_ask *s = mem_alloc(sizeof *s);
    struct exchange_limits limits = {.idle_ms = op_timeout_ms(r),
                                     .total_ms = 2 * op_timeout_ms(r),
                                     .bytes = ANSWER_MAX};
    uint8_t *wire;
    size_t len;

    s->op.drop = drop_ask;
    s->resolver = r;
    s->key = *key;
    s->server = *server;
    if (s->server.port == 0)
        s->server.port = DNS_PORT;
    s->question.name = s->name;
    s->question.type = type;
    s->question.authoritative = true;
    s->cb = cb;
    s->arg = arg;
    op_add(r, &s->op);
    if (name_canon(name, s->name, &s->err) != 0 || query(s, &wire, &len) != 0) {
        s->timer = loop_timer_start(op_loop(r), 0, fail, s);
        return;
    }
    s->exchange = exchange_start(op_loop(r), &s->server, wire, len, &limits,
                                 on_message, on_fail, s);
    free(wire);
}
