#ifndef RESOLVER_MESSAGE_H
#define RESOLVER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/mem.h"

/* DNS messages, with ldns as the codec: what the resolver and the providers
 * read from an answer. source: RFC 1035 4, RFC 6891 */

enum { /* RR type numbers, RFC 1035 3.2.2, RFC 3596 */
       MESSAGE_A = 1,
       MESSAGE_NS = 2,
       MESSAGE_CNAME = 5,
       MESSAGE_SOA = 6,
       MESSAGE_TXT = 16,
       MESSAGE_AAAA = 28,
       MESSAGE_AXFR = 252 /* RFC 5936 */
};

#define MESSAGE_UDP_SIZE 1232 /* what our EDNS offers; no fragments */

struct message; /* a decoded message */

struct message_string {
    const char *data;
    size_t len;
};
struct message_txt { /* one TXT record */
    const struct message_string *strings;
    size_t nstrings;
    uint32_t ttl_s;
};

/* A query: id 0 (the sender sets it), EDNS 1232.
 * out: *wire — heap, caller frees; *len — bytes
 * returns 0, or -1 with e set (ERR_INPUT: not a name) */
MUST_CHECK int message_query(const char *name, uint16_t type, bool rd, bool ad,
                             uint8_t **wire, size_t *len, struct err *e);
/* The same without EDNS: for servers that do not know it (RFC 6891 6.2.2),
 * and for zone transfers. */
MUST_CHECK int message_query_plain(const char *name, uint16_t type, bool rd,
                                   bool ad, uint8_t **wire, size_t *len,
                                   struct err *e);
/* Puts the id into a query of len >= 2 bytes. */
void message_set_id(uint8_t *wire, uint16_t id);
/* out: *m — freed by message_free. returns 0, or -1 with e set (ERR_RETRY:
 * cannot be decoded) */
MUST_CHECK int message_decode(const uint8_t *wire, size_t len,
                              struct message **m, struct err *e);
void message_free(struct message *m);

uint16_t message_id(const struct message *m);
/* A response whose question is (name, type), class IN: RFC 5452 4. */
bool message_answers(const struct message *m, const char *name, uint16_t type);
/* A response of this opcode: 0 query, 5 update. RFC 1035 4.1.1, RFC 2136 1.3 */
bool message_is_response(const struct message *m, unsigned opcode);
int message_rcode(const struct message *m); /* RFC 1035 4.1.1, RFC 6891 6.1.3 */
const char *message_rcode_name(int rcode);  /* "SERVFAIL" … */
bool message_is_aa(const struct message *m);
bool message_is_ad(const struct message *m);
bool message_is_tc(const struct message *m);
bool message_has_edns(const struct message *m);
bool message_has_soa(const struct message *m); /* in the authority section */
/* NS records and no SOA in the authority section: RFC 2308 2.1 */
bool message_is_referral(const struct message *m);
/* "TXT" …; NULL for a type that has no name here. */
const char *message_type_name(uint16_t type);
/* The answer records of (name, type); what is returned is borrowed from m.
 * name NULL: any name (answers behind CNAMEs). */
size_t message_count(const struct message *m, const char *name, uint16_t type);
const struct message_txt *message_txts(struct message *m, const char *name,
                                       size_t *n);
/* out: up to max addresses (A or AAAA by type) with the smallest TTL;
 * returns how many there are */
size_t message_addrs(const struct message *m, const char *name, uint16_t type,
                     struct addr *out, size_t max, uint32_t *ttl_s);
/* The raw data of the answer records of (name, type), names in them without
 * compression; borrowed. */
struct message_rdata {
    const uint8_t *data;
    size_t len;
    uint32_t ttl_s;
};
const struct message_rdata *message_rdatas(struct message *m, const char *name,
                                           uint16_t type, size_t *n);
/* Targets of NS or CNAME records as canonical names; borrowed. */
const char *const *message_targets(struct message *m, const char *name,
                                   uint16_t type, size_t *n);
/* The answer section, record by record in its order (zone transfers). */
struct message_record {
    const char *owner; /* canonical; NULL: a name that is none to us */
    uint16_t type;
    uint32_t serial; /* of a SOA */
    const void *rr;  /* for message_record_txt */
};
/* Of a TXT record: a copy that lives in a. */
struct message_txt *message_record_txt(const struct message_record *r,
                                       struct arena *a)
    __attribute__((returns_nonnull));
/* Calls fn for each record of class IN until it returns false. */
typedef bool message_record_fn(void *arg, const struct message_record *r);
void message_each(const struct message *m, message_record_fn *fn, void *arg);

/* The serial of a SOA in the answer. returns 0, or -1: none */
MUST_CHECK int message_serial(const struct message *m, uint32_t *serial);

/* How long a negative answer of the zone is kept, by the SOA in the answer:
 * the smaller of its TTL and its minimum. returns 0, or -1: none.
 * source: RFC 2308 5 */
MUST_CHECK int message_soa_minimum(const struct message *m, uint32_t *seconds);

#endif
