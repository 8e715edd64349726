#include <string.h>
#include <strings.h>

#include "agent/base/buf.h"
#include "agent/base/charstr.h"
#include "providers/rfc2136/rfc2136.h"

/* Record data. source: RFC 1035 3.3, 3.4, RFC 3596 2.2 */

/* ---- from text ----------------------------------------------------------- */

static void make_name(struct arena *a, const char *name,
                      struct message_rdata *out)
{
    size_t n = strcmp(name, ".") == 0 ? 0 : strlen(name);
    uint8_t *data = arena_alloc(a, n + 1), *p = data;

    /* "www.example.org." has as many bytes as its labels with their lengths. */
    while (n > 0 && *name != '\0') {
        size_t len = strcspn(name, ".");

        *p++ = (uint8_t)len;
        memcpy(p, name, len);
        p += len;
        name += len + 1;
    }
    *p = 0;
    out->data = data;
    out->len = n + 1;
}

int rfc2136_rdata_make(struct arena *a, enum rr_type type, const char *data,
                       struct message_rdata *out, struct err *e)
{
    size_t n = type == RR_A ? 4 : 16;
    struct addr addr;

    memset(out, 0, sizeof *out);
    if (type == RR_CNAME) {
        make_name(a, data, out);
        return 0;
    }
    if ((type != RR_A && type != RR_AAAA) || addr_parse(data, &addr) != 0 ||
        addr.family != (type == RR_A ? 4 : 6))
        return err_set(e, ERR_INPUT, "\"%.100s\" is no data of type %s", data,
                       rr_type_name(type));
    out->data = memcpy(arena_alloc(a, n), addr.bytes, n);
    out->len = n;
    return 0;
}

void rfc2136_rdata_txt(struct arena *a, const char *text, size_t len,
                       struct message_rdata *out)
{
    size_t strings = charstr_count(len);
    uint8_t *data = arena_alloc(a, len + strings), *p = data;

    for (size_t i = 0; i < strings; i++) {
        size_t n = len > CHARSTR_MAX ? CHARSTR_MAX : len;

        *p++ = (uint8_t)n;
        memcpy(p, text, n);
        p += n;
        text += n;
        len -= n;
    }
    memset(out, 0, sizeof *out);
    out->data = data;
    out->len = (size_t)(p - data);
}

/* ---- to text ------------------------------------------------------------- */

const char *rfc2136_rdata_txt_text(struct arena *a,
                                   const struct message_rdata *r, size_t *len)
{
    char *text = arena_alloc(a, r->len + 1);
    size_t at = 0;

    *len = 0;
    while (at < r->len) {
        size_t n = r->data[at++];

        if (n > r->len - at)
            break; /* the decoder lets none through */
        memcpy(text + *len, r->data + at, n);
        *len += n;
        at += n;
    }
    return text;
}

static const char *name_text(struct arena *a, const struct message_rdata *r)
{
    char canon[NAME_SIZE];
    struct buf b;
    const char *out;

    buf_init(&b, 2048);
    for (size_t at = 0; at < r->len && r->data[at] != 0;) {
        size_t n = r->data[at++];

        for (size_t i = 0; i < n && at < r->len; i++, at++) {
            uint8_t c = r->data[at];

            if (c == '.' || c == '\\' || c <= ' ' || c > '~')
                buf_printf(&b, "\\%03u", c);
            else
                buf_char(&b, (char)c);
        }
        buf_char(&b, '.');
    }
    if (b.len == 0)
        buf_char(&b, '.');
    out = name_canon(buf_get(&b), canon, NULL) == 0
              ? arena_strdup(a, canon)
              : arena_strdup(a, buf_get(&b));
    buf_fini(&b);
    return out;
}

const char *rfc2136_rdata_text(struct arena *a, enum rr_type type,
                               const struct message_rdata *r)
{
    size_t want = type == RR_A ? 4 : 16;
    char text[ADDR_TEXT_SIZE];
    struct addr addr = {.family = type == RR_A ? 4 : 6};

    if (type == RR_CNAME)
        return name_text(a, r);
    if (r->len != want)
        return ""; /* the decoder lets none through */
    memcpy(addr.bytes, r->data, want);
    return arena_strdup(a, addr_format(&addr, text));
}

/* ---- comparing ----------------------------------------------------------- */

bool rfc2136_rdata_equal(enum rr_type type, const struct message_rdata *a,
                         const struct message_rdata *b)
{
    if (a->len != b->len)
        return false;
    if (type != RR_CNAME)
        return memcmp(a->data, b->data, a->len) == 0;
    /* Lengths of labels are below 'A': they stay what they are. */
    for (size_t i = 0; i < a->len; i++) {
        uint8_t x = a->data[i], y = b->data[i];

        x = x >= 'A' && x <= 'Z' ? (uint8_t)(x + 32) : x;
        y = y >= 'A' && y <= 'Z' ? (uint8_t)(y + 32) : y;
        if (x != y)
            return false;
    }
    return true;
}

bool rfc2136_set_has(const struct rfc2136_set *s, const struct message_rdata *r)
{
    for (size_t i = 0; i < s->n; i++)
        if (rfc2136_rdata_equal(s->type, &s->v[i], r))
            return true;
    return false;
}

bool rfc2136_set_equal(const struct rfc2136_set *a, const struct rfc2136_set *b)
{
    if (a->n != b->n) /* a server holds each value once: RFC 2181 5 */
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!rfc2136_set_has(b, &a->v[i]))
            return false;
    return true;
}

static void copy_rdata(struct arena *a, const struct message_rdata *from,
                       struct message_rdata *to)
{
    *to = *from;
    to->data = memcpy(arena_alloc(a, from->len + 1), from->data, from->len);
}

void rfc2136_set_copy(struct arena *a, const struct rfc2136_set *from,
                      struct rfc2136_set *to)
{
    struct message_rdata *v = arena_array(a, from->n, sizeof *v);
    struct message_rdata *cname = NULL;

    for (size_t i = 0; i < from->n; i++)
        copy_rdata(a, &from->v[i], &v[i]);
    if (from->cname != NULL) {
        cname = arena_alloc(a, sizeof *cname);
        copy_rdata(a, from->cname, cname);
    }
    *to = *from;
    to->v = v;
    to->cname = cname;
}
