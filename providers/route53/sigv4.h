#ifndef PROVIDERS_ROUTE53_SIGV4_H
#define PROVIDERS_ROUTE53_SIGV4_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"

/* Amazon's request signature, version 4, in the Authorization header. Pure:
 * key, time and request in, text out.
 * source: "AWS Signature Version 4 for API requests", IAM User Guide */

#define SIGV4_TIME_SIZE 17 /* "20150830T123600Z" */
#define SIGV4_MAX ((size_t)256 * 1024)

struct sigv4_key {
    const char *id, *secret;
};

struct sigv4_scope {
    char time[SIGV4_TIME_SIZE]; /* as in the request's X-Amz-Date */
    const char *region, *service;
};

struct sigv4_header {
    const char *name, *value; /* any letters; blanks around do not count */
};

/* Every header listed is signed: Host and X-Amz-Date must be, and
 * X-Amz-Security-Token where there is a session. */
struct sigv4_request {
    const char *method;
    const char *path;  /* as sent, without the query */
    const char *query; /* as sent, without "?"; "" when there is none */
    const struct sigv4_header *headers;
    size_t n_headers;
    const char *body; /* NULL: none */
    size_t body_len;
};

/* wall_ms: milliseconds since 1970 UTC */
void sigv4_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE]);

/* The canonical request and the string to sign, added to out; each is made of
 * the one before. */
void sigv4_canonical(const struct sigv4_request *r, struct buf *out);
void sigv4_string_to_sign(const struct sigv4_scope *s, const char *canonical,
                          size_t len, struct buf *out);
/* The Authorization header's value, added to out. */
void sigv4_authorization(const struct sigv4_key *k, const struct sigv4_scope *s,
                         const struct sigv4_request *r, struct buf *out);

/* text with every byte but A-Z a-z 0-9 - . _ ~ as %XX. source: RFC 3986 2.3 */
void sigv4_encode(struct buf *out, const char *text, size_t len);

#endif
