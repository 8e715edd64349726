#ifndef RESOLVER_TSIG_H
#define RESOLVER_TSIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/name.h"

/* Transaction signatures: requests are signed, answers verified, one by one
 * or as the stream of a zone transfer. HMAC comes from OpenSSL; ldns neither
 * checks an answer's time nor digests the unsigned messages of a stream, and
 * loses the error of an answer whose MAC is wrong.
 * source: RFC 8945 */

#define TSIG_MAC_MAX 64      /* bytes, hmac-sha512 */
#define TSIG_SECRET_MAX 1024 /* bytes */
#define TSIG_FUDGE_S 300     /* RFC 8945 10 */

enum tsig_algorithm {
    TSIG_HMAC_SHA1,
    TSIG_HMAC_SHA224,
    TSIG_HMAC_SHA256,
    TSIG_HMAC_SHA384,
    TSIG_HMAC_SHA512
};

struct tsig_key {
    char name[NAME_SIZE]; /* canonical */
    enum tsig_algorithm algorithm;
    uint8_t secret[TSIG_SECRET_MAX];
    size_t secret_len;
};
struct tsig_mac {
    uint8_t bytes[TSIG_MAC_MAX];
    size_t len;
};

/* ---- keys (tsig_key.c) --------------------------------------------------- */

/* "hmac-sha256" */
const char *tsig_algorithm_name(enum tsig_algorithm a);
/* One key of a text in BIND's key syntax:
 *     key "NAME" { algorithm hmac-sha256; secret "BASE64"; };
 * in: text — len bytes; file — for messages; name — of the key, canonical, or
 * NULL where the text holds one
 * out: *key — freed by tsig_key_free
 * returns 0, or -1 with e set (ERR_INPUT "FILE:LINE: what was found; what is
 * accepted", ERR_UNSUPPORTED: hmac-md5 and truncated MACs) */
MUST_CHECK int tsig_key_parse(const char *text, size_t len, const char *file,
                              const char *name, struct tsig_key **key,
                              struct err *e);
void tsig_key_free(struct tsig_key *key); /* wipes it; NULL is fine */

/* ---- one request and its answer ------------------------------------------ */

/* The message with a TSIG record at its end.
 * in: wire — len bytes, a message without TSIG; now_s — seconds since 1970
 * out: *out — heap, *out_len bytes, caller frees; *mac — for the answer
 * returns 0, or -1 with e set (ERR_LIMIT: more than 65535 bytes; ERR_BUG: not
 * a message, or no HMAC) */
MUST_CHECK int tsig_sign(const struct tsig_key *key, uint64_t now_s,
                         const uint8_t *wire, size_t len, uint8_t **out,
                         size_t *out_len, struct tsig_mac *mac, struct err *e);

enum tsig_verdict {
    TSIG_GOOD,
    TSIG_UNSIGNED,  /* no TSIG record, or one without a MAC */
    TSIG_MALFORMED, /* cannot be read, or is not the last record */
    TSIG_OTHER_KEY, /* another name or algorithm than the request's */
    TSIG_BAD_MAC,   /* was changed on its way, or another secret */
    TSIG_BAD_TIME   /* MAC right, signed too long ago or in the future */
};
struct tsig_check {
    enum tsig_verdict verdict;
    uint16_t error;    /* the record's error field; 0: none, or no record */
    uint64_t time_s;   /* when it was signed; 0: not known */
    uint64_t server_s; /* BADTIME: the server's clock; 0: not told */
};
/* in: mac — of the request; wire — len bytes */
void tsig_verify(const struct tsig_key *key, const struct tsig_mac *mac,
                 const uint8_t *wire, size_t len, uint64_t now_s,
                 struct tsig_check *out);
/* "BADSIG" …, NULL for 0 and for what is no TSIG error. RFC 8945 3 */
const char *tsig_error_name(uint16_t error);
/* For a person, in words: "its signature is wrong: …". */
const char *tsig_verdict_text(enum tsig_verdict v);

/* ---- a stream of answers (tsig_stream.c) --------------------------------- */

/* The first message is signed, of the others every hundredth at least, and
 * the last. source: RFC 8945 5.3.1 */
struct tsig_stream;
/* key is borrowed. */
struct tsig_stream *tsig_stream_new(const struct tsig_key *key,
                                    const struct tsig_mac *request_mac)
    __attribute__((returns_nonnull));
void tsig_stream_free(struct tsig_stream *s); /* NULL is fine */
/* Takes the next message. last: nothing comes after it.
 * returns 0 (what it says may be used once a later one is signed), or -1 with
 * e set (ERR_AUTH: an unsigned first or last message, a wrong signature) */
MUST_CHECK int tsig_stream_take(struct tsig_stream *s, const uint8_t *wire,
                                size_t len, uint64_t now_s, bool last,
                                struct err *e);

#endif
