#include "agent/probes/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/probes/net.h"

int stream_connect(struct probe_run *run, struct stream *s,
                   const struct stream_to *to, struct probe_result *r)
{
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(&to->addr, &sa);
    const struct linger rst = {1, 0};
    const int on = 1;

    if (run->fd >= 0)
        (void)close(run->fd);
    if (to != &s->to)
        s->to = *to;
    s->stage = STREAM_CONNECTING;
    s->out_len = 0;
    run->fd =
        socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (run->fd < 0) {
        probe_not_started(r, errno);
        return -1;
    }
    if (to->talks_first)
        (void)setsockopt(run->fd, SOL_SOCKET, SO_LINGER, &rst, sizeof rst);
    /* Else a request behind the handshake's Finished waits 40 ms. */
    if (to->tls)
        (void)setsockopt(run->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    run->events = NET_IN | NET_OUT | NET_EDGE;
    if (connect(run->fd, (const struct sockaddr *)&sa, len) != 0 &&
        errno != EINPROGRESS) {
        probe_not_started(r, errno);
        return -1;
    }
    return 0;
}

void stream_broken(struct probe_result *r, int error)
{
    probe_answered(r, error);
    if (error == EPIPE)
        r->sys_errno = ECONNRESET;
}

static bool ssl_waits(int error)
{
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/* Refused with a session that an earlier server instance gave: whether it is
 * the session's fault shows without it. */
static enum stream_step try_full(struct probe_run *run, struct stream *s,
                                 struct probe_result *r)
{
    const struct probe_result fine = {PROBE_OK, PROBE_FINE, 0, 0, ""};

    tls_end(&s->peer, false);
    *r = fine;
    if (stream_connect(run, s, &s->to, r) != 0 || probe_run_watch(run, r) != 0)
        return STREAM_BAD;
    return STREAM_WAIT;
}

static enum stream_step handshake(struct probe_run *run, struct stream *s,
                                  struct probe_result *r)
{
    int rc, error;

    ERR_clear_error();
    errno = 0;
    rc = SSL_connect(s->peer.ssl);
    if (rc != 1) {
        int sys_errno = errno;

        error = SSL_get_error(s->peer.ssl, rc);
        if (ssl_waits(error))
            return STREAM_WAIT;
        if (s->peer.offered)
            return try_full(run, s, r);
        tls_failed(run->env, &s->peer, error, sys_errno, r);
        return STREAM_BAD;
    }
    if (tls_check_days(run->env, &s->peer, s->to.min_cert_days, r) != 0)
        return STREAM_BAD;
    s->stage = STREAM_OPEN;
    return STREAM_READY;
}

enum stream_step stream_step(struct probe_run *run, struct stream *s,
                             uint32_t events, struct probe_result *r)
{
    if (s->stage == STREAM_OPEN)
        return STREAM_READY;
    if (s->stage == STREAM_CONNECTING) {
        int error = 0;
        socklen_t len = sizeof error;

        if ((events & (NET_OUT | NET_ERR)) == 0)
            return STREAM_WAIT;
        if (getsockopt(run->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
            error = errno;
        if (error != 0) {
            probe_answered(r, error);
            return STREAM_BAD;
        }
        if (!s->to.tls) {
            s->stage = STREAM_OPEN;
            return STREAM_READY;
        }
        if (tls_begin(run->env, &s->peer, run->fd, s->to.name, s->to.verify,
                      s->to.alpn, &s->to.addr, false, r) != 0)
            return STREAM_BAD;
        s->stage = STREAM_HANDSHAKE;
    }
    return handshake(run, s, r);
}

enum stream_step stream_send(struct probe_run *run, struct stream *s,
                             const void *data, size_t len,
                             struct probe_result *r)
{
    if (data != NULL) {
        s->out = data;
        s->out_len = len;
    }
    while (s->out_len > 0) {
        int sys_errno, error;
        ssize_t n;

        if (s->to.tls) {
            int part = s->out_len < INT32_MAX ? (int)s->out_len : INT32_MAX;

            ERR_clear_error();
            errno = 0;
            n = SSL_write(s->peer.ssl, s->out, part);
        } else {
            n = send(run->fd, s->out, s->out_len, MSG_NOSIGNAL);
        }
        sys_errno = errno;
        if (n <= 0 && s->to.tls) {
            error = SSL_get_error(s->peer.ssl, (int)n);
            if (ssl_waits(error))
                return STREAM_WAIT;
            tls_failed(run->env, &s->peer, error, sys_errno, r);
            return STREAM_BAD;
        }
        if (n < 0 && (sys_errno == EAGAIN || sys_errno == EINTR))
            return STREAM_WAIT;
        if (n < 0) {
            stream_broken(r, sys_errno);
            return STREAM_BAD;
        }
        s->out += n;
        s->out_len -= (size_t)n;
    }
    return STREAM_READY;
}

ssize_t stream_recv(struct probe_run *run, struct stream *s, void *buf,
                    size_t size, struct probe_result *r)
{
    ssize_t n;
    int error, sys_errno;

    if (!s->to.tls) {
        do
            n = recv(run->fd, buf, size, 0);
        while (n < 0 && errno == EINTR);
        if (n >= 0)
            return n;
        if (errno == EAGAIN)
            return -1;
        stream_broken(r, errno);
        return -2;
    }
    ERR_clear_error();
    errno = 0;
    n = SSL_read(s->peer.ssl, buf, size < INT32_MAX ? (int)size : INT32_MAX);
    if (n > 0)
        return n;
    sys_errno = errno;
    error = SSL_get_error(s->peer.ssl, (int)n);
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (ssl_waits(error))
        return -1;
    tls_failed(run->env, &s->peer, error, sys_errno, r);
    return -2;
}

const char *stream_awaits(const struct stream *s)
{
    return s->stage == STREAM_CONNECTING  ? "connecting"
           : s->stage == STREAM_HANDSHAKE ? "TLS handshake"
                                          : NULL;
}

void stream_end(struct stream *s)
{
    tls_end(&s->peer, s->stage == STREAM_OPEN);
}

void stream_drop(struct probe_run *run, struct stream *s)
{
    stream_end(s);
    if (run->fd >= 0)
        (void)close(run->fd);
    run->fd = -1;
}
