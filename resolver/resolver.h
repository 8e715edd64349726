#ifndef RESOLVER_RESOLVER_H
#define RESOLVER_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "resolver/message.h"

/* Lookups: c-ares on the loop, ldns for the messages. No search list, no
 * hosts file, EDNS 1232, truncated answers again over TCP, at most 100
 * queries in flight to one server (bench: more are lost by default socket
 * buffers); the rest waits its turn. When a server lets a query time out and
 * answers nothing else meanwhile, what waits for it fails with the same
 * error. Every callback comes later, from the loop, and may start lookups
 * and free the resolver. */
struct resolver;

struct resolver_options {
    const struct addr *servers; /* recursive ones, port 0: 53;
                                   none: resolv.conf */
    size_t nservers;
    int64_t timeout_ms; /* of the first try; the next waits twice as long;
                           0: 2000 */
    int tries;          /* 0: 2 */
};

/* o is copied. A resolv.conf without servers is no error here: every
 * resolver_lookup then says so; resolver_ask needs none.
 * returns 0, or -1 with e set (ERR_LOCAL: c-ares cannot start) */
MUST_CHECK int resolver_new(struct loop *l, const struct resolver_options *o,
                            struct resolver **out, struct err *e);
/* The recursive servers in use; borrowed. */
const struct addr *resolver_servers(const struct resolver *r, size_t *n);
void resolver_free(struct resolver *r); /* open lookups are dropped */

enum resolver_outcome {
    RESOLVER_FOUND, /* NOERROR with records of the type */
    RESOLVER_GONE,  /* NXDOMAIN, or NODATA with a SOA: it is not there */
    RESOLVER_FAILED /* everything else: says nothing about the records */
};

struct resolver_answer {
    enum resolver_outcome outcome;
    struct message *message; /* decoded; NULL when failed without an answer;
                                borrowed during cb */
    struct addr server;      /* who answered */
    struct err err; /* FAILED: "192.0.2.53:53 says SERVFAIL", "… timed out";
                       GONE: "NXDOMAIN" or "no TXT" and by whom */
};
typedef void resolver_cb(void *arg, const struct resolver_answer *a);

/* Asks one authoritative server (RD off); an answer that is not
 * authoritative (AA clear) or a referral is FAILED. A CNAME at the name is
 * not followed: GONE when there is no record of the type.
 * in: name — canonical; type — RR type number (RFC 1035 3.2.2)
 * cb runs once, later. */
void resolver_ask(struct resolver *r, const struct addr *server,
                  const char *name, uint16_t type, resolver_cb *cb, void *arg);

/* The same under a key, where the server chooses the view by it: FAILED
 * (ERR_AUTH) unless the answer is signed with it. key: copied.
 * source: RFC 8945 5 */
struct tsig_key;
void resolver_ask_signed(struct resolver *r, const struct addr *server,
                         const struct tsig_key *key, const char *name,
                         uint16_t type, resolver_cb *cb, void *arg);

/* Asks the recursive servers (RD on, AD on), the next one when one fails;
 * CNAMEs are followed by them.
 * want_ad: an answer without the AD bit is FAILED. */
void resolver_lookup(struct resolver *r, const char *name, uint16_t type,
                     bool want_ad, resolver_cb *cb, void *arg);

/* --- zone cuts and authoritative servers --------------------------------- */

struct resolver_zone {
    struct err err;             /* ERR_NONE when found */
    const char *apex;           /* canonical */
    const struct addr *servers; /* of the NS set, with port 53, no doubles */
    size_t nservers;
    const char *const *ns_names; /* canonical NS targets */
    size_t nns_names;
};
typedef void resolver_zone_cb(void *arg, const struct resolver_zone *z);

/* The servers of the zone `zone` through the recursive servers: NS set, then
 * A and AAAA of each target (at most 32 targets), in the order of the NS
 * names and then of the addresses. Failing some targets is fine, failing all
 * is ERR_RETRY; a name without NS records is ERR_NOTFOUND. z is borrowed
 * during cb. want_ad as above, for each of these answers. */
void resolver_find_servers(struct resolver *r, const char *zone, bool want_ad,
                           resolver_zone_cb *cb, void *arg);

/* --- discovery ----------------------------------------------------------- */

/* What one owner's _failover TXT looks like, asked at every one of the
 * zone's authoritative servers until one gives a usable answer: the first
 * server that answers decides; a server that fails is left for the next. */
struct resolver_txt {
    const char *owner; /* canonical, without _failover */
    enum resolver_outcome outcome;
    const struct message_txt *txts; /* FOUND: every TXT record */
    size_t ntxts;
    uint32_t ttl_s;
    struct addr server;
    struct err err; /* as in resolver_answer */
};
typedef void resolver_txt_cb(void *arg, const struct resolver_txt *t);

/* t is borrowed during cb. */
void resolver_find_txt(struct resolver *r, const struct addr *servers,
                       size_t nservers, const char *owner, resolver_txt_cb *cb,
                       void *arg);

/* The owners of a zone's _failover TXT records and their texts, by zone
 * transfer (AXFR over TCP) from the first of servers that grants it. key:
 * signs the request, and then every message of the answer must verify;
 * borrowed until cb; NULL: no signatures. owners: sorted, no doubles; names
 * below another zone cut (NS inside the zone) are left out. At most 100,000
 * owners, 256 MiB of messages and a minute. source: RFC 5936, RFC 8945 5.3.1 */
struct resolver_owner {
    const char *name;               /* canonical, without _failover */
    const struct message_txt *txts; /* all of them; NULL: not kept, look it up
                                       (above 32 MiB of texts, for all) */
    size_t ntxts;
};
struct tsig_key;
struct resolver_owners {
    struct err err; /* ERR_NONE, ERR_RETRY, ERR_AUTH (REFUSED), ERR_LIMIT */
    const struct resolver_owner *owners;
    size_t n;
    uint32_t serial;
};
typedef void resolver_owners_cb(void *arg, const struct resolver_owners *o);
void resolver_axfr_owners(struct resolver *r, const struct addr *servers,
                          size_t nservers, const char *zone,
                          const struct tsig_key *key, resolver_owners_cb *cb,
                          void *arg);

#endif
