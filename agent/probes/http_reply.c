#include "agent/probes/http_reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/mem.h"

enum { INTERIM_MAX = 8 };
enum { HEAD, BODY, SIZE, SIZE_REST, DATA, DATA_END, TRAILER, DONE, BAD };

void http_reply_init(struct http_reply *h, bool head_request, bool keep_body)
{
    memset(h, 0, sizeof *h);
    h->head_request = head_request;
    h->keep_body = keep_body;
    buf_init(&h->head, HTTP_REPLY_HEAD_MAX);
    buf_init(&h->body, HTTP_REPLY_BODY_MAX);
}

void http_reply_fini(struct http_reply *h)
{
    buf_fini(&h->head);
    buf_fini(&h->body);
    free(h->location);
    h->location = NULL;
}

static enum http_reply_step bad(struct http_reply *h, const char *error)
{
    h->state = BAD;
    h->error = error;
    return HTTP_REPLY_BAD;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- status line and header ---------------------------------------------- */

/* "HTTP/1.1 200 reason"; n may be less than the whole line.
 * returns false as soon as it cannot become one */
static bool may_be_status_line(const char *p, size_t n)
{
    static const char start[] = "HTTP/1.";
    size_t len = sizeof start - 1;

    if (memcmp(p, start, n < len ? n : len) != 0)
        return false;
    if (n > 7 && !is_digit(p[7]))
        return false;
    if (n > 8 && p[8] != ' ')
        return false;
    for (size_t i = 9; i < 12 && i < n; i++)
        if (!is_digit(p[i]))
            return false;
    return n <= 12 || p[12] == ' ' || p[12] == '\r' || p[12] == '\n';
}

static bool name_is(const char *line, size_t name_len, const char *name)
{
    return strlen(name) == name_len && strncasecmp(line, name, name_len) == 0;
}

static bool is_token(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= ' ' || p[i] == 127 || strchr("\"(),/:;<=>?@[\\]{}", p[i]))
            return false;
    return n > 0;
}

/* returns NULL or what is wrong */
static const char *take_length(struct http_reply *h, const char *v, size_t n,
                               bool *seen)
{
    uint64_t length = 0;

    if (n == 0 || n > 18)
        return "bad Content-Length";
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(v[i]))
            return "bad Content-Length";
        length = length * 10 + (uint64_t)(v[i] - '0');
    }
    if (*seen && length != h->left)
        return "two different Content-Length";
    *seen = true;
    h->left = length;
    return NULL;
}

static const char *take_line(struct http_reply *h, const char *line, size_t n,
                             bool *seen)
{
    const char *colon = memchr(line, ':', n);
    const char *v;
    size_t name_len;

    if (colon == NULL || !is_token(line, (size_t)(colon - line)))
        return "bad header line";
    name_len = (size_t)(colon - line);
    v = colon + 1;
    n -= name_len + 1;
    while (n > 0 && (*v == ' ' || *v == '\t')) {
        v++;
        n--;
    }
    while (n > 0 && (v[n - 1] == ' ' || v[n - 1] == '\t'))
        n--;
    if (name_is(line, name_len, "content-length"))
        return take_length(h, v, n, seen);
    if (name_is(line, name_len, "transfer-encoding")) {
        if (!name_is(v, n, "chunked"))
            return name_is(v, n, "identity") ? NULL
                                             : "unknown Transfer-Encoding";
        h->chunked = true;
    } else if (name_is(line, name_len, "location") && h->location == NULL &&
               h->status >= 300 && h->status < 400) {
        h->location = mem_strndup(v, n);
    }
    return NULL;
}

/* The header ends at end (behind its empty line). What it says about the body:
 * RFC 9112 6.3. */
static enum http_reply_step take_head(struct http_reply *h, const char *p,
                                      const char *end)
{
    bool seen = false, first = true;

    if (memchr(p, '\0', (size_t)(end - p)) != NULL)
        return bad(h, "zero byte in the header");
    h->chunked = false;
    h->left = 0;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)(nl - p);
        const char *wrong = NULL;

        if (n > 0 && p[n - 1] == '\r')
            n--;
        if (first)
            h->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
        else if (n > 0 && *p != ' ' && *p != '\t') /* else: folded */
            wrong = take_line(h, p, n, &seen);
        if (wrong != NULL)
            return bad(h, wrong);
        first = false;
        p = nl + 1;
    }
    if (h->status < 100 || h->status == 101)
        return bad(h, h->status < 100 ? "not HTTP" : "101 without being asked");
    if (h->status < 200)
        return ++h->interim > INTERIM_MAX ? bad(h, "too many 1xx replies")
                                          : HTTP_REPLY_MORE;
    h->has_body = !h->head_request && h->status != 204 && h->status != 304;
    if (h->chunked)
        h->left = 0;
    h->until_close = h->has_body && !h->chunked && !seen;
    h->state = !h->has_body || (!h->chunked && seen && h->left == 0) ? DONE
               : h->chunked                                          ? SIZE
                                                                     : BODY;
    return h->state == DONE ? HTTP_REPLY_DONE : HTTP_REPLY_MORE;
}

/* returns the place behind the empty line, or NULL */
static const char *find_end(const char *p, size_t n, size_t from)
{
    const char *nl = p + from, *end = p + n;

    while ((nl = memchr(nl, '\n', (size_t)(end - nl))) != NULL) {
        nl++;
        if (nl < end && *nl == '\n')
            return nl + 1;
        if (end - nl >= 2 && nl[0] == '\r' && nl[1] == '\n')
            return nl + 2;
    }
    return NULL;
}

/* --- body ---------------------------------------------------------------- */

/* returns false once the body is longer than what is looked at */
static bool take_body(struct http_reply *h, const char *p, size_t n)
{
    uint64_t room = HTTP_REPLY_BODY_MAX - h->body_len;

    h->cut = n > room;
    if (h->cut)
        n = (size_t)room;
    if (h->keep_body)
        buf_add(&h->body, p, n);
    h->body_len += n;
    return !h->cut;
}

static int hex(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One byte of the framing between chunks. returns NULL or what is wrong */
static const char *chunk_byte(struct http_reply *h, char c)
{
    if (++h->trailer_len > HTTP_REPLY_HEAD_MAX)
        return "too long a chunk line or trailer";
    switch (h->state) {
    case SIZE:
        if (hex(c) >= 0) {
            if (h->left > UINT64_MAX / 32)
                return "bad chunk size";
            h->left = h->left * 16 + (uint64_t)hex(c);
            return NULL;
        }
        if (h->trailer_len == 1)
            return "bad chunk size";
        h->state = SIZE_REST;
        if (c != '\n')
            return c == ';' || c == '\r' || c == ' ' || c == '\t'
                       ? NULL
                       : "bad chunk size";
        /* fallthrough */
    case SIZE_REST:
        if (c == '\n') {
            h->state = h->left > 0 ? DATA : TRAILER;
            h->trailer_len = 0;
        }
        return NULL;
    case DATA_END:
        if (c == '\r' && h->trailer_len == 1)
            return NULL;
        if (c != '\n')
            return "bad end of a chunk";
        h->state = SIZE;
        h->left = h->trailer_len = 0;
        return NULL;
    default: /* TRAILER; left: length of the line so far */
        if (c == '\n' && h->left == 0)
            h->state = DONE;
        else if (c == '\n')
            h->left = 0;
        else if (c != '\r')
            h->left++;
        return NULL;
    }
}

static enum http_reply_step feed_chunks(struct http_reply *h, const char *p,
                                        size_t n)
{
    while (n > 0 && h->state != DONE) {
        size_t part = 1;

        if (h->state == DATA) {
            part = n < h->left ? n : (size_t)h->left;
            if (!take_body(h, p, part))
                h->state = DONE;
            h->left -= part;
            if (h->left == 0 && h->state == DATA) {
                h->state = DATA_END;
                h->trailer_len = 0;
            }
        } else {
            const char *wrong = chunk_byte(h, *p);

            if (wrong != NULL)
                return bad(h, wrong);
        }
        p += part;
        n -= part;
    }
    return h->state == DONE ? HTTP_REPLY_DONE : HTTP_REPLY_MORE;
}

static enum http_reply_step feed_body(struct http_reply *h, const char *p,
                                      size_t n)
{
    if (h->chunked)
        return feed_chunks(h, p, n);
    if (!h->until_close && n > h->left)
        n = (size_t)h->left;
    if (!take_body(h, p, n))
        h->state = DONE;
    if (!h->until_close) {
        h->left -= n;
        if (h->left == 0)
            h->state = DONE;
    }
    return h->state == DONE ? HTTP_REPLY_DONE : HTTP_REPLY_MORE;
}

/* --- both ---------------------------------------------------------------- */

enum http_reply_step http_reply_feed(struct http_reply *h, const char *p,
                                     size_t n)
{
    while (h->state == HEAD) {
        size_t before = h->head.len;
        size_t part = HTTP_REPLY_HEAD_MAX - before;
        const char *head, *end;
        enum http_reply_step step;

        if (part > n)
            part = n;
        buf_add(&h->head, p, part);
        head = buf_get(&h->head);
        if (!may_be_status_line(head, h->head.len))
            return bad(h, "not HTTP");
        end = find_end(head, h->head.len, before > 3 ? before - 3 : 0);
        if (end == NULL)
            return h->head.len < HTTP_REPLY_HEAD_MAX
                       ? HTTP_REPLY_MORE
                       : bad(h, "header longer than 16 KiB");
        step = take_head(h, head, end);
        p += (size_t)(end - head) - before;
        n -= (size_t)(end - head) - before;
        buf_reset(&h->head);
        if (step != HTTP_REPLY_MORE)
            return step;
        if (n == 0)
            return HTTP_REPLY_MORE;
    }
    if (h->state == BAD)
        return HTTP_REPLY_BAD;
    return h->state == DONE || n == 0
               ? (h->state == DONE ? HTTP_REPLY_DONE : HTTP_REPLY_MORE)
               : feed_body(h, p, n);
}

enum http_reply_step http_reply_eof(struct http_reply *h)
{
    if (h->state == DONE || (h->state == BODY && h->until_close)) {
        h->state = DONE;
        return HTTP_REPLY_DONE;
    }
    return h->state == BAD ? HTTP_REPLY_BAD : bad(h, "closed early");
}
