#ifndef TESTS_UNIT_PROBE_TARGETS_H
#define TESTS_UNIT_PROBE_TARGETS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/base/addr.h"

/* Targets of the probe tests, on loopback ports that the kernel chooses. */

static inline void target_own_addr(int fd, struct addr *out)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    assert_int_equal(addr_from_sockaddr((struct sockaddr *)&sa, out), 0);
}

/* A bound socket that does not listen: connects are refused.
 * returns the descriptor; out: *at — its address */
static inline int target_bind(const char *host, struct addr *at)
{
    struct sockaddr_storage sa;
    struct addr a;
    socklen_t len;
    int fd;

    assert_int_equal(addr_parse(host, &a), 0);
    len = addr_to_sockaddr(&a, &sa);
    fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
    target_own_addr(fd, at);
    return fd;
}

static inline int target_listen(const char *host, struct addr *at)
{
    int fd = target_bind(host, at);

    assert_int_equal(listen(fd, 4096), 0);
    return fd;
}

/* A listener whose queue is full: further connects hang. fill: what fills
 * it, closed by the caller with the listener. */
static inline int target_hang(struct addr *at, int fill[2])
{
    struct sockaddr_storage sa;
    socklen_t len;
    int fd = target_bind("127.0.0.1", at);

    assert_int_equal(listen(fd, 0), 0);
    len = addr_to_sockaddr(at, &sa);
    for (int i = 0; i < 2; i++) {
        fill[i] =
            socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(fill[i] >= 0);
        (void)connect(fill[i], (struct sockaddr *)&sa, len);
    }
    return fd;
}

/* Takes everything out of the listener's queue; how many there were. */
static inline size_t target_accepted(int fd)
{
    size_t n = 0;
    int c;

    while ((c = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)close(c);
        n++;
    }
    return n;
}

#endif
