#include <string.h>

#include "resolver/tsig_impl.h"

/* The TSIG record at the end of a message. source: RFC 1035 4.1, RFC 8945
 * 4.2 */

enum { TYPE_TSIG = 250, CLASS_ANY = 255, HEAD = 12, POINTERS_MAX = 64 };

/* A place in a message; a step beyond its end makes it bad for good. */
struct place {
    const uint8_t *wire;
    size_t len, at;
    bool bad;
};

static const uint8_t *take(struct place *p, size_t n)
{
    const uint8_t *here = p->wire + p->at;

    if (p->bad || n > p->len - p->at) {
        p->bad = true;
        return NULL;
    }
    p->at += n;
    return here;
}

static uint32_t take_number(struct place *p, size_t bytes)
{
    const uint8_t *b = take(p, bytes);
    uint32_t v = 0;

    for (size_t i = 0; b != NULL && i < bytes; i++)
        v = v << 8 | b[i];
    return v;
}

static uint16_t take16(struct place *p)
{
    return (uint16_t)take_number(p, 2);
}

/* One label to text; a byte that needs an escape makes the text unusable. */
static void add_label(char *text, size_t *n, const uint8_t *b, size_t len)
{
    if (*n == SIZE_MAX)
        return;
    if (*n + len + 2 > NAME_SIZE || memchr(b, '\0', len) != NULL ||
        memchr(b, '.', len) != NULL) {
        *n = SIZE_MAX;
        return;
    }
    memcpy(text + *n, b, len);
    text[*n + len] = '.';
    *n += len + 1;
}

/* A name, compressed or not. out: its canonical text, "": none to us; may be
 * NULL: only skipped */
static void take_name(struct place *p, char *out)
{
    struct place q = *p; /* follows pointers */
    char text[NAME_SIZE];
    size_t n = 0, jumps = 0;

    for (;;) {
        size_t c = take_number(&q, 1);
        const uint8_t *b;

        if (q.bad || (c & 0xc0) == 0xc0) {
            size_t to = (c & 0x3f) << 8 | take_number(&q, 1);

            if (jumps++ == 0)
                p->at = q.at;
            if (q.bad || to >= q.at || jumps > POINTERS_MAX) {
                p->bad = true;
                return;
            }
            q.at = to;
            continue;
        }
        if (c > 63 || (b = take(&q, c)) == NULL) {
            p->bad = true;
            return;
        }
        if (c == 0)
            break;
        if (out != NULL)
            add_label(text, &n, b, c);
    }
    if (jumps == 0)
        p->at = q.at;
    if (out == NULL)
        return;
    out[0] = '\0';
    if (n == SIZE_MAX || n >= sizeof text)
        return;
    text[n] = '\0';
    if (name_canon(n == 0 ? "." : text, out, NULL) != 0)
        out[0] = '\0';
}

static void skip_record(struct place *p)
{
    take_name(p, NULL);
    (void)take(p, 8);
    (void)take(p, take16(p));
}

/* type, class, ttl and rdata. returns 1, or 0: no TSIG record */
static int take_tsig(struct place *p, struct tsig_record *r)
{
    uint16_t type = take16(p), class = take16(p);
    uint32_t ttl = take_number(p, 4);
    size_t rdata, end;

    rdata = take16(p);
    end = p->at + rdata;
    if (p->bad || type != TYPE_TSIG)
        return p->bad ? -1 : 0;
    take_name(p, r->algorithm);
    r->time_s = (uint64_t)take16(p) << 32;
    r->time_s |= take_number(p, 4);
    r->fudge_s = take16(p);
    r->mac_len = take16(p);
    r->mac = take(p, r->mac_len);
    r->id = take16(p);
    r->error = take16(p);
    r->other_len = take16(p);
    r->other = take(p, r->other_len);
    /* The last record, and nothing behind it. */
    if (p->bad || p->at != end || end != p->len || class != CLASS_ANY ||
        ttl != 0)
        return -1;
    return 1;
}

int tsig_record_find(const uint8_t *wire, size_t len, struct tsig_record *r)
{
    struct place p = {wire, len, 0, false};
    size_t questions, records, additional;

    memset(r, 0, sizeof *r);
    (void)take(&p, 4);
    questions = take16(&p);
    records = take16(&p);
    records += take16(&p);
    additional = take16(&p);
    for (size_t i = 0; i < questions && !p.bad; i++) {
        take_name(&p, NULL);
        (void)take(&p, 4);
    }
    if (additional == 0)
        return p.bad ? -1 : 0;
    for (size_t i = 0; i + 1 < records + additional && !p.bad; i++)
        skip_record(&p);
    r->at = p.at;
    take_name(&p, r->key);
    return p.bad ? -1 : take_tsig(&p, r);
}
