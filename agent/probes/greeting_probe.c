/* smtp, imap, pop3, ftp, ldap and their TLS forms: the greeting, and a
 * farewell, so that the server has nothing to complain of. */
#include <stdlib.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/probes/greeting.h"
#include "agent/probes/match.h"
#include "agent/probes/net.h"
#include "agent/probes/stream.h"

struct talk {
    struct stream stream;
    struct buf in;
    bool said_hello;
};

static enum greeting_kind kind_of(const struct probe_run *run)
{
    switch (run->spec.kind) {
    case PROBE_IMAP:
    case PROBE_IMAPS:
        return GREETING_IMAP;
    case PROBE_POP3:
    case PROBE_POP3S:
        return GREETING_POP3;
    case PROBE_FTP:
    case PROBE_FTPS:
        return GREETING_FTP;
    case PROBE_LDAP:
    case PROBE_LDAPS:
        return GREETING_LDAP;
    default:
        return GREETING_SMTP;
    }
}

static int talk_start(struct probe_run *run, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct talk *t = mem_alloc(sizeof *t);
    struct stream_to to = {
        .addr = run->spec.target,
        .tls = probe_kinds[run->spec.kind]->lane == PROBE_LANE_TLS,
        .verify = !p->no_verify,
        .min_cert_days = p->min_cert_days,
        .name = p->server_name != NULL ? p->server_name : p->host};

    run->u.state = t;
    buf_init(&t->in, GREETING_MAX);
    return stream_connect(run, &t->stream, &to, r);
}

static bool judge(struct probe_run *run, struct talk *t, struct probe_result *r)
{
    const char *expect = probe_run_params(run)->expect;
    struct probe_result unimportant = {PROBE_OK, PROBE_FINE, 0, 0, ""};
    size_t len;
    const char *bye;

    if (!greeting_judge(kind_of(run), buf_get(&t->in), t->in.len, r))
        return false;
    if (r->verdict == PROBE_OK && expect != NULL &&
        !match_text(buf_get(&t->in), t->in.len, expect))
        (void)probe_fail(r, PROBE_CONTENT, "not the expected greeting");
    if (r->reason != PROBE_PROTOCOL) {
        bye = greeting_bye(kind_of(run), &len);
        (void)stream_send(run, &t->stream, bye, len, &unimportant);
    }
    return true;
}

static bool talk_ready(struct probe_run *run, uint32_t events,
                       struct probe_result *r)
{
    struct talk *t = run->u.state;
    enum stream_step step = stream_step(run, &t->stream, events, r);
    char chunk[4096];

    if (step != STREAM_READY)
        return step == STREAM_BAD;
    if (!t->said_hello) {
        size_t len;
        const char *hello = greeting_hello(kind_of(run), &len);

        t->said_hello = true;
        step = stream_send(run, &t->stream, hello, len, r);
    } else {
        step = stream_send(run, &t->stream, NULL, 0, r);
    }
    if (step == STREAM_BAD)
        return true;
    for (;;) {
        ssize_t n = stream_recv(run, &t->stream, chunk, sizeof chunk, r);

        if (n == -1)
            return false;
        if (n == -2)
            return true;
        if (n == 0)
            return probe_fail(r, PROBE_PROTOCOL, "closed early");
        if ((size_t)n > GREETING_MAX - t->in.len)
            n = (ssize_t)(GREETING_MAX - t->in.len);
        buf_add(&t->in, chunk, (size_t)n);
        if (judge(run, t, r))
            return true;
    }
}

static const char *talk_awaits(const struct probe_run *run)
{
    const struct talk *t = run->u.state;
    const char *stage = stream_awaits(&t->stream);

    return stage != NULL   ? stage
           : t->in.len > 0 ? "the rest of the greeting"
                           : "no greeting";
}

static void talk_end(struct probe_run *run)
{
    struct talk *t = run->u.state;

    if (t == NULL)
        return;
    stream_end(&t->stream);
    buf_fini(&t->in);
    free(t);
}

#define TALK(KIND, LANE)                                                       \
    const struct probe_ops probe_##KIND = {.name = #KIND,                      \
                                           .default_timeout_ms = 5000,         \
                                           .lane = LANE,                       \
                                           .start = talk_start,                \
                                           .ready = talk_ready,                \
                                           .awaits = talk_awaits,              \
                                           .end = talk_end}
TALK(smtp, PROBE_LANE_FD);
TALK(imap, PROBE_LANE_FD);
TALK(pop3, PROBE_LANE_FD);
TALK(ftp, PROBE_LANE_FD);
TALK(ldap, PROBE_LANE_FD);
TALK(smtps, PROBE_LANE_TLS);
TALK(imaps, PROBE_LANE_TLS);
TALK(pop3s, PROBE_LANE_TLS);
TALK(ftps, PROBE_LANE_TLS);
TALK(ldaps, PROBE_LANE_TLS);
