/* udp: send, and wait for any answer or the one that is expected. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/probes/match.h"
#include "agent/probes/net.h"
#include "agent/probes/udp.h"

int udp_open(struct probe_run *run, const void *data, size_t len,
             struct probe_result *r)
{
    struct sockaddr_storage sa;
    socklen_t sa_len = addr_to_sockaddr(&run->spec.target, &sa);

    run->fd =
        socket(sa.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    run->events = NET_IN;
    /* Connected: answers of others are not seen, "unreachable" is. */
    if (run->fd < 0 ||
        connect(run->fd, (const struct sockaddr *)&sa, sa_len) != 0 ||
        send(run->fd, data, len, MSG_NOSIGNAL) < 0) {
        probe_not_started(r, errno);
        return -1;
    }
    return 0;
}

ssize_t udp_recv(struct probe_run *run, void *buf, size_t size,
                 struct probe_result *r)
{
    ssize_t n = recv(run->fd, buf, size, 0);

    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EINTR)
        return -1;
    probe_answered(r, errno);
    return -2;
}

static int udp_start(struct probe_run *run, struct probe_result *r)
{
    const char *send = probe_run_params(run)->send;

    return udp_open(run, send != NULL ? send : "",
                    send != NULL ? strlen(send) : 0, r);
}

static bool udp_ready(struct probe_run *run, uint32_t events,
                      struct probe_result *r)
{
    const char *expect = probe_run_params(run)->expect;
    char buf[UDP_SIZE];
    ssize_t n = udp_recv(run, buf, sizeof buf, r);

    (void)events;
    if (n == -1)
        return false;
    if (n >= 0 && expect != NULL && !match_text(buf, (size_t)n, expect))
        return probe_fail(r, PROBE_CONTENT, "not the expected answer");
    return true;
}

const struct probe_ops probe_udp = {
    .name = "udp",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_FD,
    .start = udp_start,
    .ready = udp_ready,
};
