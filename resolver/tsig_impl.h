#ifndef RESOLVER_TSIG_IMPL_H
#define RESOLVER_TSIG_IMPL_H

#include <openssl/evp.h>

#include "resolver/tsig.h"

/* What the tsig*.c files share; nobody else includes it. */

/* The TSIG record of a message, taken apart. */
struct tsig_record {
    size_t at;   /* where it begins: the message without it ends */
    uint16_t id; /* original ID */
    char key[NAME_SIZE], algorithm[NAME_SIZE]; /* canonical; "": unreadable */
    uint64_t time_s;
    uint16_t fudge_s, error;
    const uint8_t *mac, *other;
    size_t mac_len, other_len;
};
/* returns 1: found; 0: the message has none; -1: it cannot be read */
int tsig_record_find(const uint8_t *wire, size_t len, struct tsig_record *r);

/* A digest in the making. */
struct tsig_digest {
    EVP_MAC_CTX *ctx; /* NULL: it failed */
};
void tsig_digest_start(struct tsig_digest *d, const struct tsig_key *key);
void tsig_digest_add(struct tsig_digest *d, const void *p, size_t n);
/* A MAC with its length in front: RFC 8945 4.3.1. */
void tsig_digest_add_mac(struct tsig_digest *d, const struct tsig_mac *mac);
/* A message without its TSIG record: original ID, one additional record
 * less. r NULL: as it is. */
void tsig_digest_add_message(struct tsig_digest *d, const uint8_t *wire,
                             size_t len, const struct tsig_record *r);
/* Time and fudge. RFC 8945 5.3.1 */
void tsig_digest_add_timers(struct tsig_digest *d, uint64_t time_s,
                            uint16_t fudge_s);
/* returns 0, or -1: the HMAC failed; d is over in any case */
MUST_CHECK int tsig_digest_end(struct tsig_digest *d, struct tsig_mac *out);

/* The key's and the algorithm's names are the record's. */
bool tsig_is_of_key(const struct tsig_record *r, const struct tsig_key *key);
bool tsig_mac_equal(const struct tsig_record *r, const struct tsig_mac *mac);
bool tsig_time_fits(const struct tsig_record *r, uint64_t now_s);

#endif
