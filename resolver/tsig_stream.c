#include <stdlib.h>

#include "agent/base/mem.h"
#include "resolver/tsig_impl.h"

/* A zone transfer's messages, each of which is covered by the next MAC.
 * source: RFC 8945 5.3.1 */

#define UNSIGNED_MAX 99 /* in a row */

struct tsig_stream {
    const struct tsig_key *key;
    struct tsig_mac mac; /* of the request, then of the last signed message */
    struct tsig_digest digest; /* of what came since */
    bool open;                 /* digest was started */
    bool begun;                /* the first message was right */
    size_t nunsigned;
};

struct tsig_stream *tsig_stream_new(const struct tsig_key *key,
                                    const struct tsig_mac *request_mac)
{
    struct tsig_stream *s = mem_alloc(sizeof *s);

    s->key = key;
    s->mac = *request_mac;
    return s;
}

void tsig_stream_free(struct tsig_stream *s)
{
    struct tsig_mac unused;

    if (s == NULL)
        return;
    if (s->open)
        (void)!tsig_digest_end(&s->digest, &unused);
    free(s);
}

static int refuse(struct err *e, const struct tsig_record *r,
                  enum tsig_verdict v)
{
    const char *name = r != NULL ? tsig_error_name(r->error) : NULL;

    return err_set(e, ERR_AUTH, "TSIG: %s%s%s", tsig_verdict_text(v),
                   name != NULL ? ", the server says " : "",
                   name != NULL ? name : "");
}

static int take_first(struct tsig_stream *s, const uint8_t *wire, size_t len,
                      const struct tsig_record *r, uint64_t now_s,
                      struct err *e)
{
    struct tsig_check check;

    tsig_verify(s->key, &s->mac, wire, len, now_s, &check);
    if (check.verdict != TSIG_GOOD || check.error != 0)
        return refuse(e, r, check.verdict);
    s->mac.len = r->mac_len; /* as long as the algorithm's: it was right */
    for (size_t i = 0; i < r->mac_len; i++)
        s->mac.bytes[i] = r->mac[i];
    s->begun = true;
    return 0;
}

static void begin_digest(struct tsig_stream *s)
{
    if (s->open)
        return;
    tsig_digest_start(&s->digest, s->key);
    tsig_digest_add_mac(&s->digest, &s->mac);
    s->open = true;
}

static int take_signed(struct tsig_stream *s, const uint8_t *wire, size_t len,
                       const struct tsig_record *r, uint64_t now_s,
                       struct err *e)
{
    struct tsig_mac mac;

    if (r->mac_len == 0 || r->error != 0)
        return refuse(e, r, TSIG_UNSIGNED);
    if (!tsig_is_of_key(r, s->key))
        return refuse(e, r, TSIG_OTHER_KEY);
    begin_digest(s);
    tsig_digest_add_message(&s->digest, wire, len, r);
    tsig_digest_add_timers(&s->digest, r->time_s, r->fudge_s);
    s->open = false;
    if (tsig_digest_end(&s->digest, &mac) != 0 || !tsig_mac_equal(r, &mac))
        return refuse(e, r, TSIG_BAD_MAC);
    if (!tsig_time_fits(r, now_s))
        return refuse(e, r, TSIG_BAD_TIME);
    s->mac = mac;
    s->nunsigned = 0;
    return 0;
}

int tsig_stream_take(struct tsig_stream *s, const uint8_t *wire, size_t len,
                     uint64_t now_s, bool last, struct err *e)
{
    struct tsig_record r;
    int found = tsig_record_find(wire, len, &r);

    if (found < 0)
        return refuse(e, NULL, TSIG_MALFORMED);
    if (!s->begun)
        return take_first(s, wire, len, &r, now_s, e);
    if (found == 1)
        return take_signed(s, wire, len, &r, now_s, e);
    if (last || ++s->nunsigned > UNSIGNED_MAX)
        return refuse(e, NULL, TSIG_UNSIGNED);
    begin_digest(s);
    tsig_digest_add_message(&s->digest, wire, len, NULL);
    return 0;
}
