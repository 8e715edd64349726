#include "agent/probes/dns.h"

#include <ldns/ldns.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/base/mem.h"
#include "agent/probes/net.h"
#include "agent/probes/stream.h"
#include "agent/probes/udp.h"

enum { EDNS_SIZE = 1232, HEADER = 12, MESSAGE_MAX = 65535 };

/* --- messages ------------------------------------------------------------- */

static uint16_t random_id(void)
{
    uint16_t id = 0;

    while (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        ; /* only a signal is in the way */
    return id;
}

int dns_question(const char *name, const char *type, uint8_t **out, size_t *len,
                 struct probe_result *r)
{
    ldns_rdf *owner = name != NULL ? ldns_dname_new_frm_str(name) : NULL;
    ldns_rr_type t =
        type != NULL ? ldns_get_rr_type_by_name(type) : (ldns_rr_type)0;
    ldns_pkt *q = NULL;
    uint8_t *wire = NULL;
    int rc = -1;

    if (owner != NULL && t != 0)
        q = ldns_pkt_query_new(owner, t, LDNS_RR_CLASS_IN, LDNS_RD);
    else if (owner != NULL)
        ldns_rdf_deep_free(owner);
    if (q != NULL) {
        ldns_pkt_set_id(q, random_id());
        ldns_pkt_set_edns_udp_size(q, EDNS_SIZE);
        if (ldns_pkt2wire(&wire, q, len) == LDNS_STATUS_OK) {
            *out = mem_alloc(*len);
            memcpy(*out, wire, *len);
            rc = 0;
        }
        LDNS_FREE(wire);
    }
    ldns_pkt_free(q);
    if (rc != 0)
        (void)probe_local(r, PROBE_UNABLE, "no question: %.24s %.16s",
                          name != NULL ? name : "no name",
                          type != NULL ? type : "no type");
    return rc;
}

static bool same_question(const ldns_pkt *q, const ldns_pkt *a)
{
    const ldns_rr *x, *y;

    if (ldns_pkt_id(q) != ldns_pkt_id(a) || !ldns_pkt_qr(a) ||
        ldns_pkt_qdcount(a) != 1)
        return false;
    x = ldns_rr_list_rr(ldns_pkt_question(q), 0);
    y = ldns_rr_list_rr(ldns_pkt_question(a), 0);
    return ldns_rr_get_type(x) == ldns_rr_get_type(y) &&
           ldns_rr_get_class(x) == ldns_rr_get_class(y) &&
           ldns_dname_compare(ldns_rr_owner(x), ldns_rr_owner(y)) == 0;
}

static bool has_data(const ldns_pkt *q, const ldns_pkt *a)
{
    const ldns_rr_list *l = ldns_pkt_answer(a);
    ldns_rr_type t = ldns_rr_get_type(ldns_rr_list_rr(ldns_pkt_question(q), 0));

    for (size_t i = 0; i < ldns_rr_list_rr_count(l); i++)
        if (t == LDNS_RR_TYPE_ANY ||
            ldns_rr_get_type(ldns_rr_list_rr(l, i)) == t)
            return true;
    return false;
}

static void judge(const ldns_pkt *q, const ldns_pkt *a, struct probe_result *r)
{
    char *name;

    if (ldns_pkt_get_rcode(a) == LDNS_RCODE_NOERROR) {
        if (!has_data(q, a))
            (void)probe_fail(r, PROBE_CONTENT, "NOERROR without data");
        return;
    }
    name = ldns_pkt_rcode2str(ldns_pkt_get_rcode(a));
    (void)probe_fail(r, PROBE_STATUS, "%.40s", name != NULL ? name : "error");
    LDNS_FREE(name);
}

enum dns_verdict dns_judge(const uint8_t *question, size_t question_len,
                           const uint8_t *answer, size_t len, bool over_tcp,
                           struct probe_result *r)
{
    ldns_pkt *q = NULL, *a = NULL;
    enum dns_verdict v = DNS_OTHER;

    /* Not ours: somebody guesses, or an answer to an earlier probe. */
    if (!over_tcp && (len < 2 || memcmp(question, answer, 2) != 0))
        return DNS_OTHER;
    /* TC: what follows may be cut anywhere. */
    if (!over_tcp && len >= HEADER && (answer[2] & 0x82) == 0x82)
        return DNS_CUT;
    if (ldns_wire2pkt(&q, question, question_len) == LDNS_STATUS_OK &&
        ldns_wire2pkt(&a, answer, len) == LDNS_STATUS_OK) {
        if (same_question(q, a)) {
            judge(q, a, r);
            v = DNS_JUDGED;
        } else if (ldns_pkt_qr(a) && ldns_pkt_qdcount(a) == 0 &&
                   ldns_pkt_get_rcode(a) != LDNS_RCODE_NOERROR) {
            judge(q, a, r); /* FORMERR and the like may leave it out */
            v = DNS_JUDGED;
        } else if (over_tcp) {
            (void)probe_fail(r, PROBE_PROTOCOL, "another question's answer");
            v = DNS_JUDGED;
        }
    } else {
        (void)probe_fail(r, PROBE_PROTOCOL, "not a DNS message");
        v = DNS_JUDGED;
    }
    ldns_pkt_free(q);
    ldns_pkt_free(a);
    return v;
}

/* --- the probe ------------------------------------------------------------ */

struct dns {
    struct stream stream; /* after a cut answer */
    bool tcp, asked;
    size_t question_len, got;
    uint8_t *question;
    uint8_t *frame; /* length and question; then length and answer */
};

static int dns_start(struct probe_run *run, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct dns *d = mem_alloc(sizeof *d);

    run->u.state = d;
    if (dns_question(p->dns_name, p->dns_type, &d->question, &d->question_len,
                     r) != 0)
        return -1;
    return udp_open(run, d->question, d->question_len, r);
}

static bool start_tcp(struct probe_run *run, struct dns *d,
                      struct probe_result *r)
{
    struct stream_to to = {.addr = run->spec.target, .talks_first = true};

    d->tcp = true;
    d->frame = mem_alloc(2 + MESSAGE_MAX);
    return stream_connect(run, &d->stream, &to, r) != 0 ||
           probe_run_watch(run, r) != 0;
}

static bool tcp_ready(struct probe_run *run, struct dns *d, uint32_t events,
                      struct probe_result *r)
{
    enum stream_step step = stream_step(run, &d->stream, events, r);
    size_t want = 2;
    ssize_t n;

    if (step != STREAM_READY)
        return step == STREAM_BAD;
    if (!d->asked) {
        d->asked = true;
        d->frame[0] = (uint8_t)(d->question_len >> 8);
        d->frame[1] = (uint8_t)d->question_len;
        memcpy(d->frame + 2, d->question, d->question_len);
        step = stream_send(run, &d->stream, d->frame, 2 + d->question_len, r);
    } else {
        step = stream_send(run, &d->stream, NULL, 0, r);
    }
    if (step != STREAM_READY)
        return step == STREAM_BAD;
    for (;;) {
        if (d->got >= 2) {
            want = 2 + (size_t)(d->frame[0] << 8 | d->frame[1]);
            if (d->got >= want)
                break;
        }
        n = stream_recv(run, &d->stream, d->frame + d->got, want - d->got, r);
        if (n == -1)
            return false;
        if (n == -2)
            return true;
        if (n == 0)
            return probe_fail(r, PROBE_PROTOCOL, "closed early");
        d->got += (size_t)n;
    }
    (void)dns_judge(d->question, d->question_len, d->frame + 2, want - 2, true,
                    r);
    return true;
}

static bool dns_ready(struct probe_run *run, uint32_t events,
                      struct probe_result *r)
{
    struct dns *d = run->u.state;
    uint8_t buf[4096];
    ssize_t n;

    if (d->tcp)
        return tcp_ready(run, d, events, r);
    n = udp_recv(run, buf, sizeof buf, r);
    if (n < 0)
        return n == -2;
    switch (dns_judge(d->question, d->question_len, buf, (size_t)n, false, r)) {
    case DNS_CUT:
        return start_tcp(run, d, r);
    case DNS_JUDGED:
        return true;
    case DNS_OTHER:
        break;
    }
    return false;
}

static void dns_end(struct probe_run *run)
{
    struct dns *d = run->u.state;

    if (d == NULL)
        return;
    free(d->question);
    free(d->frame);
    free(d);
}

static const char *dns_awaits(const struct probe_run *run)
{
    const struct dns *d = run->u.state;

    return d->tcp ? "the answer over TCP" : "no answer";
}

const struct probe_ops probe_dns = {
    .name = "dns",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_FD,
    .start = dns_start,
    .ready = dns_ready,
    .awaits = dns_awaits,
    .end = dns_end,
};
