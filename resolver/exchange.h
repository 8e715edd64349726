#ifndef RESOLVER_EXCHANGE_H
#define RESOLVER_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

/* One query over a TCP connection of its own, answered by any number of
 * messages, handed on as they come; further queries may follow on it before
 * the answers to the first are there. source: RFC 1035 4.2.2, RFC 5936 4.1,
 * RFC 7766 6.2.1.1 */
struct exchange;

struct exchange_limits {
    int64_t idle_ms;  /* to connect, and between two messages */
    int64_t total_ms; /* for the whole */
    uint64_t bytes;   /* of all messages */
};

/* wire is borrowed. returns true when more messages are expected; after
 * false the exchange is over and freed. */
typedef bool exchange_message_cb(void *arg, const uint8_t *wire, size_t len);
/* It failed (ERR_RETRY, ERR_LIMIT, ERR_LOCAL) and is freed afterwards. */
typedef void exchange_fail_cb(void *arg, const struct err *e);

/* query is copied. Callbacks come later, from the loop. */
struct exchange *exchange_start(struct loop *l, const struct addr *server,
                                const uint8_t *query, size_t len,
                                const struct exchange_limits *limits,
                                exchange_message_cb *on_message,
                                exchange_fail_cb *on_fail, void *arg)
    __attribute__((returns_nonnull));
/* Another query behind those that were sent; copied. What on_message sends
 * goes out as one when it returns. */
void exchange_send(struct exchange *x, const uint8_t *query, size_t len);
/* In on_fail: whether the connection was made, so that the server may have
 * read something. */
bool exchange_is_connected(const struct exchange *x);
/* Ends it without a callback; not from inside its callbacks. NULL is fine. */
void exchange_free(struct exchange *x);

#endif
