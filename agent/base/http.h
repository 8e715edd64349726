#ifndef AGENT_BASE_HTTP_H
#define AGENT_BASE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/loop.h"

/* The HTTP(S) client towards providers and web hooks: libcurl's multi
 * interface on the loop. Redirects are never followed (credentials), only
 * http and https are spoken, the proxy variables of the environment are
 * ignored. */
struct http;

struct http_request {
    const char *method; /* NULL: GET, or POST with a body */
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; or NULL */
    const char *body;           /* NULL: none */
    size_t body_len;
    int64_t timeout_ms;         /* whole call; 0: 30 s */
    int64_t connect_timeout_ms; /* 0: 10 s */
    size_t max_body;            /* of the answer; 0: 16 MiB */
    const char *ca_pem;         /* whom to trust; NULL: the system's */
    const char *pin_sha256;     /* base64 of the SHA-256 of the server's public
                                   key (as HPKP, RFC 7469 2.4); NULL: none.
                                   With a pin the chain and the name are not
                                   checked: the key is what is trusted */
    int ip_family;              /* 4 or 6 to pin it; 0: any */
    bool repeatable;            /* may run twice without harm. libcurl sends
                                   a request again when a kept connection
                                   turns out to be dead: what is neither GET,
                                   HEAD nor repeatable gets a new connection,
                                   where it does not do that */
};

struct http_response {
    long status;              /* 0: no answer, see err */
    const char *content_type; /* "" when none; borrowed during cb */
    const char *body;         /* NUL-terminated; borrowed during cb */
    size_t body_len;
    const char *location;  /* of 3xx: where to, absolute; NULL: none */
    int64_t retry_after_s; /* of 429 and 503, delta or date; -1: none */
    int64_t date_s;        /* the Date header, seconds since 1970; -1: none */
    int ip_family;         /* of the connection: 4, 6; 0: none */
    char pin_seen[64];     /* the server key's pin where TLS got so far, as
                              pin_sha256 wants it; "" otherwise */
    struct err err;        /* code ERR_NONE when status is set. ERR_RETRY:
                              nothing was sent (name, connect, TLS);
                              ERR_UNKNOWN: sent, no whole answer;
                              ERR_INPUT: certificate or pin refused (the text
                              prints the pin to paste); ERR_LIMIT: too big */
    const void *call;      /* for http_header, nobody else's business */
};
typedef void http_cb(void *arg, const struct http_response *r);
/* The value of a header of the answer (the last of that name; letter case does
 * not count), NULL when there is none; borrowed during cb. r may be made by
 * hand, with call NULL. source: curl_easy_header(3) */
const char *http_header(const struct http_response *r, const char *name);

struct http *http_new(struct loop *l) __attribute__((returns_nonnull));
/* Open calls are dropped without cb. Not from inside a cb. */
void http_free(struct http *h);
/* Ends every open call; each gets its cb, later, with err set. Not from inside
 * a cb. */
void http_give_up(struct http *h);
/* Copies what it needs of req; calls cb once, later.
 * source: libcurl-multi(3), CURLMOPT_SOCKETFUNCTION(3) */
void http_send(struct http *h, const struct http_request *req, http_cb *cb,
               void *arg);

/* What an option or a message needs of a URL. */
struct http_url {
    bool https;
    bool loopback;  /* a loopback address literal, or "localhost" */
    char host[256]; /* without the brackets of an IPv6 literal */
    int port;       /* the scheme's own when none is given */
};
/* url: absolute, http or https, without user and password (they have options
 * of their own, and would get into messages).
 * returns 0, or -1 with e set (ERR_INPUT). source: RFC 3986 3, curl_url(3) */
MUST_CHECK int http_url_parse(const char *url, struct http_url *out,
                              struct err *e);

/* text is a pin as pin_sha256 wants it: 44 characters of base64. */
bool http_pin_is_valid(const char *text);

#endif
