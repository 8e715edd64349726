#ifndef RESOLVER_TRANSFER_H
#define RESOLVER_TRANSFER_H

#include "agent/base/addr.h"
#include "agent/base/loop.h"
#include "resolver/resolver.h"
#include "resolver/tsig.h"

/* The owners of a zone's _failover TXT records, by one zone transfer from one
 * server; see resolver_axfr_owners. source: RFC 5936, RFC 8945 5.3.1 */
struct transfer;

/* o is borrowed; the transfer is over and freed afterwards. */
typedef void transfer_cb(void *arg, const struct resolver_owners *o);

/* in: zone — canonical; key — signs the request and verifies every message of
 * the answer, which is believed only then; borrowed until the end; NULL:
 * unsigned; idle_ms — to connect, and between two messages
 * cb runs once, later (ERR_RETRY, ERR_AUTH: not granted, or a signature that
 * is missing or wrong; ERR_LIMIT, ERR_LOCAL) */
struct transfer *transfer_start(struct loop *l, const struct addr *server,
                                const char *zone, const struct tsig_key *key,
                                int64_t idle_ms, transfer_cb *cb, void *arg)
    __attribute__((returns_nonnull));
/* Ends it without its callback; not from inside it. NULL is fine. */
void transfer_free(struct transfer *t);

#endif
