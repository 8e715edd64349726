#ifndef AGENT_PROBES_STREAM_H
#define AGENT_PROBES_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/probes/kind.h"
#include "agent/probes/tls.h"

/* A TCP connection of a probe, with TLS or without, on run->fd. Embedded in
 * the state of its kind. Edge-triggered: every call goes on until the socket
 * would block. */

struct stream_to { /* texts are borrowed while the stream lives */
    struct addr addr;
    bool tls, verify;
    uint32_t min_cert_days;
    const char *name; /* SNI and verification */
    const char *alpn; /* wire form, NULL: none */
    bool talks_first; /* we speak first, and have the whole answer at the end:
                         closing sends RST, no port stays in TIME_WAIT */
};
enum stream_stage { STREAM_CONNECTING, STREAM_HANDSHAKE, STREAM_OPEN };
struct stream {
    struct stream_to to;
    enum stream_stage stage;
    struct tls_peer peer;
    const char *out; /* what is still to be sent; borrowed */
    size_t out_len;
};

/* Closes what run->fd holds and starts to connect.
 * returns 0 (run->fd and run->events are set; the engine or probe_run_watch
 * adds it), or -1 with r filled in. */
int stream_connect(struct probe_run *run, struct stream *s,
                   const struct stream_to *to, struct probe_result *r);
/* Goes on with connect and handshake. returns STREAM_READY once open (each
 * time again), STREAM_WAIT, or STREAM_BAD with r filled in. */
enum stream_step { STREAM_READY, STREAM_WAIT, STREAM_BAD };
enum stream_step stream_step(struct probe_run *run, struct stream *s,
                             uint32_t events, struct probe_result *r);
/* Sends data (borrowed until all is sent) or, with NULL, what is left of it.
 * STREAM_READY: all was sent. */
enum stream_step stream_send(struct probe_run *run, struct stream *s,
                             const void *data, size_t len,
                             struct probe_result *r);
/* returns the number of bytes, 0 at the end, -1: none now, -2: failed, r is
 * filled in */
ssize_t stream_recv(struct probe_run *run, struct stream *s, void *buf,
                    size_t size, struct probe_result *r);
/* "connecting", "TLS handshake", or NULL when open. */
const char *stream_awaits(const struct stream *s);
/* The TLS session is kept where the handshake went well. run->fd stays. */
void stream_end(struct stream *s);
/* The same, and closes run->fd: nothing comes from it while the probe waits for
 * something else. */
void stream_drop(struct probe_run *run, struct stream *s);
/* The reason of a broken connection that was open: reset, unreachable. */
void stream_broken(struct probe_result *r, int error);

#endif
