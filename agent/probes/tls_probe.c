/* tls: connect, handshake, certificate. */
#include <stdlib.h>

#include "agent/base/mem.h"
#include "agent/probes/stream.h"

static int tls_start(struct probe_run *run, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct stream *s = mem_alloc(sizeof *s);
    struct stream_to to = {.addr = run->spec.target,
                           .tls = true,
                           .verify = !p->no_verify,
                           .min_cert_days = p->min_cert_days,
                           .name = p->server_name != NULL ? p->server_name
                                                          : p->host,
                           .talks_first = true};

    run->u.state = s;
    return stream_connect(run, s, &to, r);
}

static bool tls_ready(struct probe_run *run, uint32_t events,
                      struct probe_result *r)
{
    return stream_step(run, run->u.state, events, r) != STREAM_WAIT;
}

static const char *tls_awaits(const struct probe_run *run)
{
    const char *stage = stream_awaits(run->u.state);

    return stage != NULL ? stage : "";
}

static void tls_over(struct probe_run *run)
{
    if (run->u.state != NULL)
        stream_end(run->u.state);
    free(run->u.state);
}

const struct probe_ops probe_tls = {
    .name = "tls",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_TLS,
    .start = tls_start,
    .ready = tls_ready,
    .awaits = tls_awaits,
    .end = tls_over,
};
