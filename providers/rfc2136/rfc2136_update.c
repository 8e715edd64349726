#include <ldns/ldns.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "providers/rfc2136/rfc2136.h"

/* UPDATE messages: all sets are as they were read; each is deleted and added
 * anew as a whole. Adding a value with another TTL changes the whole set at
 * one server and is ignored by another: so all are added, always.
 * source: RFC 2136 2.4, 2.5 */

#define TIME_SIZE 32
#define RECORD_SIZE 10 /* type, class, TTL, length */

size_t rfc2136_step_size(const struct rfc2136_step *s)
{
    size_t name = strlen(s->now->name) + 1;
    size_t size = 2 * (name + RECORD_SIZE);

    for (size_t i = 0; i < s->now->n; i++)
        size += name + RECORD_SIZE + s->now->v[i].len;
    for (size_t i = 0; i < s->want->n; i++)
        size += name + RECORD_SIZE + s->want->v[i].len;
    return size;
}

/* ---- building ------------------------------------------------------------ */

struct builder {
    ldns_rr_list *need, *updates;
    bool failed;
};

static void push(struct builder *b, ldns_rr_list *to, const char *name,
                 enum rr_type type, ldns_rr_class class, uint32_t ttl_s,
                 const struct message_rdata *data)
{
    ldns_rr *rr = ldns_rr_new();
    ldns_rdf *owner = ldns_dname_new_frm_str(name), *rdf;

    if (rr == NULL || owner == NULL) {
        ldns_rr_free(rr);
        ldns_rdf_deep_free(owner);
        b->failed = true;
        return;
    }
    ldns_rr_set_owner(rr, owner);
    ldns_rr_set_type(rr, (ldns_rr_type)type);
    ldns_rr_set_class(rr, class);
    ldns_rr_set_ttl(rr, ttl_s);
    if (data != NULL) {
        rdf =
            ldns_rdf_new_frm_data(LDNS_RDF_TYPE_UNKNOWN, data->len, data->data);
        b->failed |= rdf == NULL || !ldns_rr_push_rdf(rr, rdf);
    }
    b->failed |= !ldns_rr_list_push_rr(to, rr);
}

/* RFC 2136 2.4.2, 2.4.3: the set is exactly this, or there is none. */
static void need_set(struct builder *b, const struct rfc2136_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        push(b, b->need, s->name, s->type, LDNS_RR_CLASS_IN, 0, &s->v[i]);
    if (s->n == 0)
        push(b, b->need, s->name, s->type, LDNS_RR_CLASS_NONE, 0, NULL);
}

static void add_set(struct builder *b, const struct rfc2136_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        push(b, b->updates, s->name, s->type, LDNS_RR_CLASS_IN, s->ttl_s,
             &s->v[i]);
}

/* Zone, prerequisite and update section, without copies of b's lists. */
static ldns_pkt *packet(struct builder *b, const char *zone)
{
    ldns_rdf *name = ldns_dname_new_frm_str(zone);
    ldns_pkt *pkt = name != NULL ? ldns_pkt_query_new(name, LDNS_RR_TYPE_SOA,
                                                      LDNS_RR_CLASS_IN, 0)
                                 : NULL;

    if (pkt == NULL) {
        ldns_rdf_deep_free(name);
        return NULL;
    }
    ldns_pkt_set_opcode(pkt, LDNS_PACKET_UPDATE);
    ldns_rr_list_deep_free(ldns_pkt_answer(pkt));
    ldns_pkt_set_answer(pkt, b->need);
    ldns_pkt_set_ancount(pkt, (uint16_t)ldns_rr_list_rr_count(b->need));
    ldns_rr_list_deep_free(ldns_pkt_authority(pkt));
    ldns_pkt_set_authority(pkt, b->updates);
    ldns_pkt_set_nscount(pkt, (uint16_t)ldns_rr_list_rr_count(b->updates));
    b->need = b->updates = NULL;
    return pkt;
}

/* Takes what b holds. */
static int finish(struct builder *b, const char *zone, uint8_t **wire,
                  size_t *len, struct err *e)
{
    ldns_pkt *pkt = b->failed ? NULL : packet(b, zone);
    ldns_status status = LDNS_STATUS_MEM_ERR;

    if (pkt != NULL)
        status = ldns_pkt2wire(wire, pkt, len);
    ldns_pkt_free(pkt);
    ldns_rr_list_deep_free(b->need);
    ldns_rr_list_deep_free(b->updates);
    if (status != LDNS_STATUS_OK)
        return err_set(e, ERR_BUG, "an update of %s cannot be written: %s",
                       zone, ldns_get_errorstr_by_id(status));
    return 0;
}

int rfc2136_update_build(const char *zone, const struct rfc2136_step *steps,
                         size_t n, uint8_t **wire, size_t *len, struct err *e)
{
    struct builder b = {ldns_rr_list_new(), ldns_rr_list_new(), false};

    *wire = NULL;
    for (size_t i = 0; i < n; i++)
        need_set(&b, steps[i].now);
    /* All go before any comes: a CNAME makes room for an address. */
    for (size_t i = 0; i < n; i++)
        push(&b, b.updates, steps[i].now->name, steps[i].now->type,
             LDNS_RR_CLASS_ANY, 0, NULL);
    for (size_t i = 0; i < n; i++)
        add_set(&b, steps[i].want);
    return finish(&b, zone, wire, len, e);
}

int rfc2136_update_ask(const char *zone, const char *name, enum rr_type type,
                       uint8_t **wire, size_t *len, struct err *e)
{
    struct builder b = {ldns_rr_list_new(), ldns_rr_list_new(), false};

    *wire = NULL;
    push(&b, b.need, name, type, LDNS_RR_CLASS_ANY, 0, NULL);
    return finish(&b, zone, wire, len, e);
}

/* ---- what an answer means ------------------------------------------------ */

enum {
    FORMERR = 1,
    NXDOMAIN = 3,
    NOTIMP = 4,
    REFUSED = 5,
    YXDOMAIN = 6,
    YXRRSET = 7,
    NXRRSET = 8,
    NOTAUTH = 9,
    NOTZONE = 10,
    BADSIG = 16,
    BADKEY = 17,
    BADTIME = 18
};

/* "REFUSED", or "NOTAUTH, TSIG BADSIG" */
static void say(const struct rfc2136 *p, const char *zone,
                const struct rfc2136_answer *a, enum err_code code,
                const char *what, struct err *e)
{
    const char *tsig = tsig_error_name(a->tsig.error);

    (void)err_set(e, code, "%s says %s%s%s to the update of %s: %s", p->who,
                  message_rcode_name(message_rcode(a->m)),
                  tsig != NULL ? ", TSIG " : "", tsig != NULL ? tsig : "", zone,
                  what);
}

static void say_time(const struct rfc2136 *p, const char *zone,
                     const struct rfc2136_answer *a, struct err *e)
{
    int64_t now_ms = clock_wall_ms(), server_ms;
    char ours[TIME_SIZE], theirs[TIME_SIZE], text[160];

    clock_format(now_ms, ours, sizeof ours);
    if (a->tsig.server_s == 0 || a->tsig.server_s > INT64_MAX / 1000) {
        (void)snprintf(text, sizeof text,
                       "the clocks differ by more than %d s; this machine's "
                       "says %s",
                       TSIG_FUDGE_S, ours);
    } else {
        server_ms = (int64_t)a->tsig.server_s * 1000;
        clock_format(server_ms, theirs, sizeof theirs);
        (void)snprintf(text, sizeof text,
                       "the server's clock says %s, this machine's %s (%s%lld "
                       "s); %d s are allowed",
                       theirs, ours, server_ms > now_ms ? "-" : "+",
                       llabs((long long)(now_ms - server_ms)) / 1000,
                       TSIG_FUDGE_S);
    }
    say(p, zone, a, ERR_AUTH, text, e);
}

/* An error of the signature: signed or not, it is no success. */
static enum rfc2136_verdict judge_tsig(const struct rfc2136 *p,
                                       const char *zone,
                                       const struct rfc2136_answer *a,
                                       struct err *e)
{
    switch (a->tsig.error) {
    case BADTIME:
        say_time(p, zone, a, e);
        return RFC2136_STOP;
    case BADSIG:
        say(p, zone, a, ERR_AUTH,
            "the secret of the key is not the one that the server has", e);
        return RFC2136_STOP;
    case BADKEY:
        say(p, zone, a, ERR_AUTH,
            "the server does not know the key, or it may not change this", e);
        return RFC2136_REFUSED;
    default:
        say(p, zone, a, ERR_AUTH, "an error of the signature", e);
        return RFC2136_STOP;
    }
}

static enum rfc2136_verdict judge_rcode(const struct rfc2136 *p,
                                        const char *zone,
                                        const struct rfc2136_answer *a,
                                        struct err *e)
{
    switch (message_rcode(a->m)) {
    case NXDOMAIN:
    case YXDOMAIN:
    case YXRRSET:
    case NXRRSET:
        say(p, zone, a, ERR_CONFLICT,
            "somebody else changed it at the same time", e);
        return RFC2136_STALE;
    case REFUSED:
        say(p, zone, a, ERR_AUTH, "the key may not change this", e);
        return RFC2136_REFUSED;
    case NOTAUTH:
        say(p, zone, a, ERR_AUTH,
            "it is no primary of the zone, or the key may not change it", e);
        return RFC2136_REFUSED;
    case FORMERR:
    case NOTZONE:
        say(p, zone, a, ERR_INPUT, "it does not take that", e);
        return RFC2136_REFUSED;
    case NOTIMP:
        say(p, zone, a, ERR_AUTH, "it takes no dynamic updates", e);
        return RFC2136_STOP;
    default:
        say(p, zone, a, ERR_RETRY, "nothing was changed", e);
        return RFC2136_FAILED;
    }
}

enum rfc2136_verdict rfc2136_update_judge(const struct rfc2136 *p,
                                          const char *zone,
                                          const struct rfc2136_answer *a,
                                          struct err *e)
{
    enum tsig_verdict tsig = a->tsig.verdict;

    memset(e, 0, sizeof *e);
    if (a->m == NULL) {
        *e = a->err;
        (void)err_wrap(e, "update of %s", zone);
        if (a->is_garbled)
            return RFC2136_DISBELIEVED;
        return a->err.code == ERR_UNKNOWN ? RFC2136_LOST : RFC2136_FAILED;
    }
    if (!message_is_response(a->m, 5)) {
        (void)err_set(e, ERR_UNKNOWN,
                      "%s answered the update of %s with what is no answer to "
                      "an update",
                      p->who, zone);
        return RFC2136_DISBELIEVED;
    }
    /* Who does not know the key cannot sign: such an answer is unsigned, and
     * believed as a failure only. */
    if (tsig != TSIG_GOOD &&
        (tsig != TSIG_UNSIGNED || message_rcode(a->m) == 0)) {
        (void)err_set(e, ERR_UNKNOWN,
                      "%s answered the update of %s with %s, which is not "
                      "believed: %s",
                      p->who, zone, message_rcode_name(message_rcode(a->m)),
                      tsig_verdict_text(tsig));
        return RFC2136_DISBELIEVED;
    }
    if (a->tsig.error != 0)
        return judge_tsig(p, zone, a, e);
    return message_rcode(a->m) == 0 ? RFC2136_DONE : judge_rcode(p, zone, a, e);
}
