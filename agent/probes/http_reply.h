#ifndef AGENT_PROBES_HTTP_REPLY_H
#define AGENT_PROBES_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"

/* The reply to one HTTP/1.x request on a connection of its own, piece by
 * piece; pure. source: RFC 9112 */

#define HTTP_REPLY_HEAD_MAX 16384
#define HTTP_REPLY_BODY_MAX 262144

enum http_reply_step {
    HTTP_REPLY_MORE,
    HTTP_REPLY_DONE, /* all of it, or as much of the body as is looked at */
    HTTP_REPLY_BAD,  /* see error */
};

struct http_reply {
    int status;        /* 0: not known yet */
    bool has_body;     /* false: HEAD, 204, 304 */
    bool cut;          /* the body is longer than HTTP_REPLY_BODY_MAX */
    const char *error; /* of BAD: "not HTTP", … */
    char *location;    /* of 3xx, as sent; NULL: none */
    struct buf head;   /* what is there of the status line and header */
    struct buf body;   /* kept where keep_body is set */
    bool keep_body, head_request, chunked, until_close;
    int state;            /* of the chunk parser */
    unsigned interim;     /* 1xx replies seen */
    uint64_t left;        /* of the body or the chunk */
    uint64_t body_len;    /* so far */
    uint32_t trailer_len; /* bytes of chunk lines and trailers in a row */
};

void http_reply_init(struct http_reply *h, bool head_request, bool keep_body);
void http_reply_fini(struct http_reply *h);
/* Takes in n bytes. Once DONE or BAD it stays so. */
enum http_reply_step http_reply_feed(struct http_reply *h, const char *p,
                                     size_t n);
/* The other side closed. returns DONE or BAD. */
enum http_reply_step http_reply_eof(struct http_reply *h);

#endif
