#ifndef RESOLVER_OWNERS_H
#define RESOLVER_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "resolver/message.h"
#include "resolver/resolver.h"

/* The owners of _failover TXT records in a zone transfer and their texts,
 * taken from its messages one after the other. Pure.
 * source: RFC 5936 2.2 */
struct owners;

enum {
    OWNERS_MAX = 100000,
    OWNERS_CUTS_MAX = 1000000,
    OWNERS_TEXT_MAX = 32 << 20, /* bytes; above it only names are kept */
};

/* zone — canonical */
struct owners *owners_new(const char *zone) __attribute__((returns_nonnull));
void owners_free(struct owners *o); /* NULL is fine */

/* Takes the next message. who — the server, for the texts.
 * out: *done — true with the closing SOA
 * returns 0, or -1 with e set: ERR_AUTH (REFUSED, NOTAUTH), ERR_RETRY (other
 * RCODEs, not a zone transfer, first and last SOA differ), ERR_LIMIT */
MUST_CHECK int owners_take(struct owners *o, const struct message *m,
                           const char *who, bool *done, struct err *e);

/* After *done: names without _failover in canonical order, no doubles, none
 * below a zone cut; borrowed from o. *serial — of the SOA. */
const struct resolver_owner *owners_get(struct owners *o, size_t *n,
                                        uint32_t *serial);

#endif
