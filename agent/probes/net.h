#ifndef AGENT_PROBES_NET_H
#define AGENT_PROBES_NET_H

#include <stddef.h>
#include <stdint.h>

/* What the probes need of the operating system beyond POSIX: a set of
 * descriptors that scales, and a TCP connect that the target hardly notices.
 * One file for each system (net_linux.c). */

enum { NET_IN = 1, NET_OUT = 2, NET_ERR = 4 };

#define NET_EVENTS 256 /* at most so many at a time */
struct net_event {
    uint64_t tag;
    uint32_t events; /* NET_… */
};

/* A descriptor set, itself a descriptor that is readable while a member is
 * ready; closed by close(). returns it, or -1 with errno.
 * source: epoll_create1(2) */
int net_set_new(void);
/* Adds fd, level-triggered; closing fd takes it out. events: NET_IN|NET_OUT,
 * NET_ERR is always reported. returns 0, or -1 with errno.
 * source: epoll_ctl(2) */
int net_set_add(int set, int fd, uint32_t events, uint64_t tag);
/* The members that are ready now, without waiting; how many, 0 on error.
 * source: epoll_wait(2) */
size_t net_set_ready(int set, struct net_event out[NET_EVENTS]);

/* Whether fd is ready now: NET_… bits. source: poll(2) */
uint32_t net_ready(int fd, uint32_t events);

/* Before connect: closing sends RST (SO_LINGER 0), and the handshake's last
 * ACK is held back (TCP_QUICKACK off, where there is such a thing), so that
 * the RST ends the connection before the target's accept(). Failure is
 * harmless and not reported. source: tcp(7), socket(7) */
void net_tcp_quiet(int fd);

#endif
