#ifndef RESOLVER_CHANNEL_H
#define RESOLVER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

/* A c-ares channel to one server on the event loop: c-ares says through its
 * socket-state callback which descriptors to watch, one timer serves its
 * timeouts. Error answers and truncated ones are passed on as they came.
 * source: c-ares ares_init_options(3), ares_process(3) */
struct channel;

enum channel_kind {
    CHANNEL_EDNS,  /* UDP, answers up to MESSAGE_UDP_SIZE */
    CHANNEL_PLAIN, /* UDP, answers up to 512 bytes: RFC 1035 4.2.1 */
    CHANNEL_TCP
};

/* timeout_ms — of the first try; doubles with each further one over UDP.
 * returns 0, or -1 with e set (ERR_LOCAL) */
MUST_CHECK int channel_new(struct loop *l, const struct addr *server,
                           enum channel_kind kind, int64_t timeout_ms,
                           int tries, struct channel **out, struct err *e);
/* Open queries end without a callback but with drop(arg). */
void channel_free(struct channel *c);

/* What became of a query. status — ARES_SUCCESS, ARES_ETIMEOUT, …; wire is
 * borrowed, NULL without an answer. Must not free the channel. It may run
 * inside channel_send. */
typedef void channel_cb(void *arg, int status, const uint8_t *wire, size_t len);
typedef void channel_drop(void *arg);

/* Sends a query, its id included; borrowed during the call. */
void channel_send(struct channel *c, const uint8_t *wire, size_t len,
                  channel_cb *cb, channel_drop *drop, void *arg);

/* The name servers of resolv.conf with their ports.
 * out: *servers — heap, caller frees; *n — at least 1 (127.0.0.1)
 * returns 0, or -1 with e set (ERR_LOCAL) */
MUST_CHECK int channel_resolv_conf(struct addr **servers, size_t *n,
                                   struct err *e);

#endif
