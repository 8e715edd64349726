#include <errno.h>
#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/probes/net.h"

enum { RECEIVE_BUFFER = 4 << 20 };

static void filter_raw(int fd, int family)
{
    if (family == 4) {
        struct icmp_filter f = {
            ~(1u << ICMP_ECHOREPLY | 1u << ICMP_DEST_UNREACH)};

        (void)setsockopt(fd, SOL_RAW, ICMP_FILTER, &f, sizeof f);
    } else {
        struct icmp6_filter f;

        ICMP6_FILTER_SETBLOCKALL(&f);
        ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &f);
        ICMP6_FILTER_SETPASS(ICMP6_DST_UNREACH, &f);
        (void)setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &f, sizeof f);
    }
}

/* An echo is never fragmented: with DF its IP id is 0 and the kernel need not
 * draw one, a tenth of what an echo costs. source: RFC 6864 4.1, ip(7) */
static void set_whole(int fd)
{
    const int whole = IP_PMTUDISC_DO;

    (void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
}

int net_icmp_open(int family, bool *raw)
{
    int domain = family == 4 ? AF_INET : AF_INET6;
    int protocol = family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    const int size = RECEIVE_BUFFER;
    int fd =
        socket(domain, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);

    *raw = false;
    if (fd < 0 && errno != EMFILE && errno != ENFILE) {
        fd = socket(domain, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
        *raw = true;
    }
    if (fd < 0)
        return -1;
    if (*raw)
        filter_raw(fd, family);
    if (family == 4)
        set_whole(fd);
    /* A burst of replies must not be lost: a lost one looks dead. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    return fd;
}

int net_icmp_send(int fd, const struct net_icmp_packet *v, size_t n)
{
    struct mmsghdr m[NET_ICMP_BATCH];
    struct iovec iov[NET_ICMP_BATCH];
    union {
        struct sockaddr_storage any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } sa[NET_ICMP_BATCH];

    for (size_t i = 0; i < n; i++) {
        iov[i].iov_base = (void *)(uintptr_t)v[i].data; /* only read */
        iov[i].iov_len = v[i].len;
        memset(&m[i], 0, sizeof m[i]);
        m[i].msg_hdr.msg_name = &sa[i];
        m[i].msg_hdr.msg_namelen = addr_to_sockaddr(&v[i].peer, &sa[i].any);
        m[i].msg_hdr.msg_iov = &iov[i];
        m[i].msg_hdr.msg_iovlen = 1;
    }
    return sendmmsg(fd, m, (unsigned)n, MSG_DONTWAIT);
}

size_t net_icmp_recv(int fd, struct net_icmp_packet v[NET_ICMP_BATCH])
{
    struct mmsghdr m[NET_ICMP_BATCH];
    struct iovec iov[NET_ICMP_BATCH];
    struct sockaddr_in6 sa[NET_ICMP_BATCH]; /* the larger of the two */
    int n;

    for (size_t i = 0; i < NET_ICMP_BATCH; i++) {
        iov[i].iov_base = v[i].data;
        iov[i].iov_len = sizeof v[i].data;
        memset(&m[i], 0, sizeof m[i]);
        m[i].msg_hdr.msg_name = &sa[i];
        m[i].msg_hdr.msg_namelen = sizeof sa[i];
        m[i].msg_hdr.msg_iov = &iov[i];
        m[i].msg_hdr.msg_iovlen = 1;
    }
    n = recvmmsg(fd, m, NET_ICMP_BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++) {
        v[i].len = m[i].msg_len;
        if (addr_from_sockaddr((const struct sockaddr *)&sa[i], &v[i].peer) !=
            0)
            memset(&v[i].peer, 0, sizeof v[i].peer);
    }
    return n > 0 ? (size_t)n : 0;
}
