/* http and https: one request, the whole reply (at most 256 KiB of it), and
 * where redirects are on the same again at the place they name. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/mem.h"
#include "agent/probes/http_reply.h"
#include "agent/probes/http_target.h"
#include "agent/probes/match.h"
#include "agent/probes/net.h"
#include "agent/probes/stream.h"

enum { REQUEST_MAX = 131072, ADDRS_MAX = 64, CHUNK = 16384 };

struct http {
    struct stream stream;
    struct http_target first, at;
    struct http_reply reply;
    struct buf request;
    bool asked, redirected, resolving;
    bool has_turn; /* it waited for the pace of the address at next */
    struct loop_timer *turn;
    struct probe_env *env; /* while turn runs */
    uint64_t tag;
    uint32_t hops;
    const char *method;
    struct addr *addrs; /* of a redirect; those from next on are untried */
    size_t naddrs, next;
};

static int begin(struct probe_run *run, struct http *h, const struct addr *to,
                 struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    const char *name =
        p->server_name != NULL && !h->redirected ? p->server_name : h->at.host;
    struct stream_to st = {.addr = *to,
                           .tls = h->at.https,
                           .verify = !p->no_verify,
                           .min_cert_days = p->min_cert_days,
                           .name = name,
                           .talks_first = true};

    h->asked = false;
    return stream_connect(run, &h->stream, &st, r);
}

static int http_start(struct probe_run *run, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct http *h = mem_alloc(sizeof *h);

    run->u.state = h;
    h->method = p->method != NULL ? p->method : "GET";
    buf_init(&h->request, REQUEST_MAX);
    http_reply_init(&h->reply, strcasecmp(h->method, "HEAD") == 0,
                    match_wants_body(p));
    if (http_target_of(&run->spec, &h->first, r) != 0)
        return -1;
    h->at = h->first;
    h->at.host = mem_strdup(h->first.host);
    h->at.path = mem_strdup(h->first.path);
    return begin(run, h, &run->spec.target, r);
}

/* --- redirects ------------------------------------------------------------ */

static bool is_redirect(const struct http_reply *y)
{
    return y->location != NULL &&
           (y->status == 301 || y->status == 302 || y->status == 303 ||
            y->status == 307 || y->status == 308);
}

static bool may_go(struct probe_run *run, const struct addr *a)
{
    const struct probe_params *p = probe_run_params(run);

    return addr_equal(a, &run->spec.target) ||
           (p->allowed != NULL && p->allowed(p->allowed_arg, a));
}

static bool try_next(struct probe_run *run, struct http *h,
                     struct probe_result *r);

static void on_turn(void *arg)
{
    struct http *h = arg;
    struct probe_env *env = h->env;
    struct probe_run *run = probe_run_find(env, h->tag);
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

    h->turn = NULL;
    h->has_turn = true;
    if (run != NULL && try_next(run, h, &r))
        probe_run_finish(env, run->tag, &r);
}

/* The pace per address holds for where redirects lead, too; the check's own
 * target was waited for at its start. returns true while it waits */
static bool must_wait(struct probe_run *run, struct http *h,
                      const struct addr *a)
{
    const struct probe_params *p = probe_run_params(run);
    int64_t ms = 0;

    if (!h->has_turn && p->turn_ms != NULL && !addr_equal(a, &run->spec.target))
        ms = p->turn_ms(p->allowed_arg, a);
    h->has_turn = false;
    if (ms <= 0)
        return false;
    h->env = run->env;
    h->tag = run->tag;
    h->turn = loop_timer_start(run->env->loop, ms, on_turn, h);
    return true;
}

/* Tries the addresses that are left. returns false when one is on its way */
static bool try_next(struct probe_run *run, struct http *h,
                     struct probe_result *r)
{
    char text[ADDR_TEXT_SIZE];
    const struct probe_result fine = {PROBE_OK, PROBE_FINE, 0, 0, ""};

    while (h->next < h->naddrs) {
        const struct addr *a = &h->addrs[h->next];

        if (!may_go(run, a)) {
            (void)probe_local(r, PROBE_REFUSED, "redirect to %s",
                              addr_format(a, text));
            return true;
        }
        if (must_wait(run, h, a))
            return false;
        h->next++;
        *r = fine;
        if (begin(run, h, a, r) == 0 && probe_run_watch(run, r) == 0)
            return false;
    }
    return true;
}

static bool go_to(struct probe_run *run, struct http *h,
                  const struct addr *addrs, size_t n, struct probe_result *r)
{
    size_t k = 0;

    free(h->addrs);
    h->naddrs = n < ADDRS_MAX ? n : ADDRS_MAX;
    h->addrs = mem_array(h->naddrs, sizeof *h->addrs);
    h->next = 0;
    /* The family that the check is about comes first. */
    for (int same = 1; same >= 0; same--)
        for (size_t i = 0; i < h->naddrs; i++)
            if ((addrs[i].family == run->spec.target.family) == (same == 1)) {
                h->addrs[k] = addrs[i];
                h->addrs[k++].port = h->at.port;
            }
    return try_next(run, h, r);
}

static void on_addrs(void *arg, enum probe_lookup outcome,
                     const struct addr *addrs, size_t n)
{
    uint64_t tag;
    struct probe_env *env = probe_ticket_take(arg, &tag);
    struct probe_run *run = env != NULL ? probe_run_find(env, tag) : NULL;
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};
    struct http *h;
    bool done;

    if (run == NULL)
        return;
    h = run->u.state;
    if (!h->resolving) /* the answer of a hop before this one */
        return;
    h->resolving = false;
    run->partly = outcome == PROBE_FOUND_SOME;
    if ((outcome == PROBE_FOUND || outcome == PROBE_FOUND_SOME) && n > 0)
        done = go_to(run, h, addrs, n, &r);
    else if (outcome == PROBE_LOOKUP_FAILED)
        done = probe_local(&r, PROBE_UNABLE, "%.32s cannot be looked up",
                           h->at.host);
    else
        done = probe_fail(&r, PROBE_NAME, "no such name: %.32s", h->at.host);
    if (done)
        probe_run_finish(env, tag, &r);
}

static bool look_up(struct probe_run *run, struct http *h,
                    struct probe_result *r)
{
    struct probe_env *env = run->env;

    if (env->hooks.resolve == NULL)
        return probe_local(r, PROBE_UNABLE, "redirect to %.32s", h->at.host);
    h->resolving = true;
    env->hooks.resolve(env->hooks.arg, h->at.host, on_addrs,
                       probe_ticket_new(run));
    return false;
}

static bool follow(struct probe_run *run, struct http *h,
                   struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct http_target next;
    struct addr target = run->spec.target;
    bool keep = h->reply.status >= 307;

    if (++h->hops > p->follow_redirects)
        return probe_fail(r, PROBE_PROTOCOL, "more than %u redirects",
                          (unsigned)p->follow_redirects);
    if (http_target_follow(&h->at, h->reply.location, &next, r) != 0)
        return true;
    http_target_fini(&h->at);
    h->at = next;
    h->redirected = strcmp(h->at.host, h->first.host) != 0;
    /* 301 to 303 turn everything into GET, but HEAD stays. */
    if (!keep && strcasecmp(h->method, "HEAD") != 0)
        h->method = "GET";
    stream_drop(run, &h->stream);
    http_reply_fini(&h->reply);
    http_reply_init(&h->reply, strcasecmp(h->method, "HEAD") == 0,
                    match_wants_body(p));
    if (!h->redirected)
        return go_to(run, h, &target, 1, r);
    if (h->at.is_address)
        return go_to(run, h, &h->at.literal, 1, r);
    return look_up(run, h, r);
}

/* --- the reply ------------------------------------------------------------ */

static bool judge(struct probe_run *run, struct http *h, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    const struct http_reply *y = &h->reply;

    if (!match_status(p->status, p->nstatus, y->status))
        return probe_fail(r, PROBE_STATUS, "status %d", y->status);
    if (match_wants_body(p))
        (void)match_body(p, buf_get(&y->body), y->body.len, y->cut, r);
    return true;
}

static bool take_reply(struct probe_run *run, struct http *h,
                       enum http_reply_step step, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    const struct http_reply *y = &h->reply;

    if (step == HTTP_REPLY_BAD)
        return probe_fail(r, PROBE_PROTOCOL, "%s", y->error);
    if (p->follow_redirects > 0 && is_redirect(y))
        return follow(run, h, r);
    /* A status that fails needs no body. */
    if (step == HTTP_REPLY_DONE ||
        (y->status >= 200 && !match_status(p->status, p->nstatus, y->status)))
        return judge(run, h, r);
    return false;
}

static bool ask(struct probe_run *run, struct http *h, struct probe_result *r)
{
    enum stream_step step;
    bool plain = !http_target_same(&h->at, &h->first) ||
                 strcasecmp(h->method, probe_run_params(run)->method != NULL
                                           ? probe_run_params(run)->method
                                           : "GET") != 0;

    if (!h->asked) {
        h->asked = true;
        buf_reset(&h->request);
        if (http_target_request(&h->at, probe_run_params(run), h->method, plain,
                                &h->request, r) != 0)
            return true;
        step = stream_send(run, &h->stream, buf_get(&h->request),
                           h->request.len, r);
    } else {
        step = stream_send(run, &h->stream, NULL, 0, r);
    }
    if (step != STREAM_BAD || h->at.https)
        return step == STREAM_BAD;
    /* It does not listen any more; what it said before may be the reply. */
    h->stream.out_len = 0;
    *r = (struct probe_result){PROBE_OK, PROBE_FINE, 0, 0, ""};
    return false;
}

static bool is_between(const struct http *h)
{
    return h->resolving || h->turn != NULL;
}

static bool http_ready(struct probe_run *run, uint32_t events,
                       struct probe_result *r)
{
    struct http *h = run->u.state;
    char chunk[CHUNK];
    enum stream_step step;

    if (is_between(h)) /* the connection of the hop before this one */
        return false;
    step = stream_step(run, &h->stream, events, r);
    if (step == STREAM_BAD && h->next < h->naddrs &&
        h->stream.stage == STREAM_CONNECTING) {
        stream_drop(run, &h->stream);
        return try_next(run, h, r);
    }
    if (step != STREAM_READY)
        return step == STREAM_BAD;
    if ((!h->asked || h->stream.out_len > 0) && ask(run, h, r))
        return true;
    /* Right after the request there is no answer yet. */
    if ((events & (NET_IN | NET_ERR)) == 0)
        return false;
    for (;;) {
        ssize_t n = stream_recv(run, &h->stream, chunk, sizeof chunk, r);

        if (n == -1)
            return false;
        if (n == -2 && r->reason == PROBE_CONNECT)
            return probe_fail(r, PROBE_PROTOCOL, "closed early (reset)");
        if (n == -2)
            return true;
        if (take_reply(run, h,
                       n == 0 ? http_reply_eof(&h->reply)
                              : http_reply_feed(&h->reply, chunk, (size_t)n),
                       r))
            return true;
        /* A redirect has begun another connection. */
        if (is_between(h) || h->stream.stage != STREAM_OPEN)
            return false;
    }
}

static const char *http_awaits(const struct probe_run *run)
{
    const struct http *h = run->u.state;
    const char *stage = stream_awaits(&h->stream);

    return h->resolving            ? "looking up the redirect's host"
           : h->turn != NULL       ? "the pace of the redirect's address"
           : stage != NULL         ? stage
           : h->reply.status != 0  ? "the rest of the body"
           : h->reply.head.len > 0 ? "the rest of the header"
                                   : "no reply to the request";
}

static void http_end(struct probe_run *run)
{
    struct http *h = run->u.state;

    if (h == NULL)
        return;
    loop_timer_cancel(h->turn);
    stream_end(&h->stream);
    http_reply_fini(&h->reply);
    http_target_fini(&h->first);
    http_target_fini(&h->at);
    buf_fini(&h->request);
    free(h->addrs);
    free(h);
}

const struct probe_ops probe_http = {
    .name = "http",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_FD,
    .start = http_start,
    .ready = http_ready,
    .awaits = http_awaits,
    .end = http_end,
};
const struct probe_ops probe_https = {
    .name = "https",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_TLS,
    .start = http_start,
    .ready = http_ready,
    .awaits = http_awaits,
    .end = http_end,
};
