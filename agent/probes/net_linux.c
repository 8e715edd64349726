#include "agent/probes/net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timex.h>

int net_set_new(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

int net_set_add(int set, int fd, uint32_t events, uint64_t tag)
{
    struct epoll_event ev = {.data.u64 = tag};

    if ((events & NET_IN) != 0)
        ev.events |= EPOLLIN;
    if ((events & NET_OUT) != 0)
        ev.events |= EPOLLOUT;
    if ((events & NET_EDGE) != 0)
        ev.events |= EPOLLET;
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev) == 0)
        return 0;
    return errno == EEXIST ? epoll_ctl(set, EPOLL_CTL_MOD, fd, &ev) : -1;
}

size_t net_set_ready(int set, struct net_event out[NET_EVENTS])
{
    struct epoll_event ev[NET_EVENTS];
    int n = epoll_wait(set, ev, NET_EVENTS, 0);

    for (int i = 0; i < n; i++) {
        uint32_t got = ev[i].events;

        out[i].tag = ev[i].data.u64;
        out[i].events = ((got & EPOLLIN) != 0 ? NET_IN : 0u) |
                        ((got & EPOLLOUT) != 0 ? NET_OUT : 0u) |
                        ((got & (EPOLLERR | EPOLLHUP)) != 0 ? NET_ERR : 0u);
    }
    return n > 0 ? (size_t)n : 0;
}

uint32_t net_ready(int fd, uint32_t events)
{
    struct pollfd p = {.fd = fd};

    if ((events & NET_IN) != 0)
        p.events |= POLLIN;
    if ((events & NET_OUT) != 0)
        p.events |= POLLOUT;
    if (poll(&p, 1, 0) <= 0)
        return 0;
    return ((p.revents & POLLIN) != 0 ? NET_IN : 0u) |
           ((p.revents & POLLOUT) != 0 ? NET_OUT : 0u) |
           ((p.revents & (POLLERR | POLLHUP)) != 0 ? NET_ERR : 0u);
}

void net_tcp_quiet(int fd)
{
    const struct linger l = {1, 0};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
#ifdef TCP_QUICKACK
    const int off = 0;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
#endif
}

bool net_clock_ok(void)
{
    struct timex t = {.modes = 0};

    return adjtimex(&t) != TIME_ERROR;
}
