#include "agent/probes/probe.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/probes/net.h"

/* The connect could not even be started: our own side, except where the
 * answer was there at once. */
static void not_started(struct probe_result *r, int error)
{
    r->verdict = PROBE_LOCAL;
    r->sys_errno = error;
    switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
        r->verdict = PROBE_FAIL;
        r->reason = PROBE_CONNECT;
        break;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        r->reason = PROBE_NO_FD;
        break;
    default:
        /* No route or no address of that family, no free port, a firewall
         * or sandbox of our own. */
        r->reason = PROBE_NO_NET;
        break;
    }
}

/* The network or the target answered with an error. */
static void answered(struct probe_result *r, int error)
{
    r->sys_errno = error;
    if (error == 0) {
        r->verdict = PROBE_OK;
        r->reason = PROBE_FINE;
        return;
    }
    r->verdict = PROBE_FAIL;
    switch (error) {
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EACCES: /* ICMPv6 "administratively prohibited" */
        r->reason = PROBE_ROUTE;
        break;
    case ETIMEDOUT:
        r->reason = PROBE_TIMEOUT;
        r->sys_errno = 0;
        break;
    case ENETDOWN:
        r->verdict = PROBE_LOCAL;
        r->reason = PROBE_NO_NET;
        break;
    case ENOBUFS:
    case ENOMEM:
        r->verdict = PROBE_LOCAL;
        r->reason = PROBE_NO_FD;
        break;
    default:
        r->reason = PROBE_CONNECT;
        break;
    }
}

static int tcp_start(const struct probe_spec *spec, uint32_t *events,
                     struct probe_result *r)
{
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(&spec->target, &sa);
    int fd =
        socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        not_started(r, errno);
        return -1;
    }
    net_tcp_quiet(fd);
    if (connect(fd, (const struct sockaddr *)&sa, len) != 0 &&
        errno != EINPROGRESS) {
        not_started(r, errno);
        (void)close(fd);
        return -1;
    }
    *events = NET_OUT;
    return fd;
}

static bool tcp_ready(const struct probe_spec *spec, int fd, uint32_t events,
                      struct probe_result *r)
{
    int error = 0;
    socklen_t len = sizeof error;

    (void)spec;
    (void)events;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    answered(r, error);
    return true;
}

const struct probe_ops probe_tcp = {
    .name = "tcp",
    .default_timeout_ms = 2000,
    .start = tcp_start,
    .ready = tcp_ready,
};
