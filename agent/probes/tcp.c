#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/probes/kind.h"
#include "agent/probes/net.h"

static int tcp_start(struct probe_run *run, struct probe_result *r)
{
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(&run->spec.target, &sa);
    int fd =
        socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        probe_not_started(r, errno);
        return -1;
    }
    run->fd = fd;
    run->events = NET_OUT;
    net_tcp_quiet(fd);
    if (connect(fd, (const struct sockaddr *)&sa, len) != 0 &&
        errno != EINPROGRESS) {
        probe_not_started(r, errno);
        return -1;
    }
    return 0;
}

static bool tcp_ready(struct probe_run *run, uint32_t events,
                      struct probe_result *r)
{
    int error = 0;
    socklen_t len = sizeof error;

    (void)events;
    if (getsockopt(run->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    probe_answered(r, error);
    return true;
}

const struct probe_ops probe_tcp = {
    .name = "tcp",
    .default_timeout_ms = 2000,
    .lane = PROBE_LANE_FD,
    .start = tcp_start,
    .ready = tcp_ready,
};
