#ifndef RESOLVER_POOL_H
#define RESOLVER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "resolver/message.h"

/* The servers that are asked, each with a queue: at most POOL_IN_FLIGHT
 * queries are under way to one server, the rest waits its turn. A truncated
 * or damaged UDP answer is asked again over TCP, FORMERR and NOTIMP to EDNS
 * without EDNS. An answer that is truncated over TCP, too, counts only for
 * addresses. source: RFC 7766 5, RFC 6891 6.2.2 and 7 */
struct pool;

enum { POOL_IN_FLIGHT = 100 };

/* timeout_ms — of one try; tries — over UDP */
struct pool *pool_new(struct loop *l, int64_t timeout_ms, int tries)
    __attribute__((returns_nonnull));
void pool_free(struct pool *p); /* open queries end without a callback */

struct pool_question {
    const char *name; /* canonical; copied */
    uint16_t type;
    bool rd, ad; /* header bits: recursion, authentic data */
};

/* m — the decoded answer to this very question, whatever its RCODE, borrowed
 * during the call; NULL: none, and e says why ("192.0.2.53:53 timed out").
 * May free the pool. */
typedef void pool_cb(void *arg, struct message *m, const struct err *e);

/* Asks server; cb runs once, later. */
void pool_ask(struct pool *p, const struct addr *server,
              const struct pool_question *q, pool_cb *cb, void *arg);

#endif
