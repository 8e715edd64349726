#ifndef AGENT_PROBES_NET_H
#define AGENT_PROBES_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"

/* What the probes need of the operating system beyond POSIX: a set of
 * descriptors that scales, and a TCP connect that the target hardly notices.
 * One file for each system (net_linux.c). */

enum { NET_IN = 1, NET_OUT = 2, NET_ERR = 4, NET_EDGE = 8 };

#define NET_EVENTS 256 /* at most so many at a time */
struct net_event {
    uint64_t tag;
    uint32_t events; /* NET_… */
};

/* A descriptor set, itself a descriptor that is readable while a member is
 * ready; closed by close(). returns it, or -1 with errno.
 * source: epoll_create1(2) */
int net_set_new(void);
/* Adds fd, level-triggered unless NET_EDGE is given; closing fd takes it out.
 * events: NET_IN|NET_OUT, NET_ERR is always reported. One that is there
 * already gets the new events and tag. returns 0, or -1 with errno.
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

/* Whether the system says that its wall clock is synchronised; true where it
 * does not say. source: adjtimex(2) */
bool net_clock_ok(void);

/* --- ICMP echo ----------------------------------------------------------- */

/* A socket for echo requests to all targets of a family (4 or 6): a datagram
 * socket where the system lets us have one, else a raw one that sees replies
 * and "unreachable" only. out: *raw
 * returns it, or -1 with errno (EPERM, EACCES: neither is allowed).
 * source: icmp(7), raw(7), RFC 3542 3.2 */
int net_icmp_open(int family, bool *raw);

enum { NET_ICMP_BATCH = 64, NET_ICMP_SIZE = 64, NET_ICMP_IN = 256 };
struct net_icmp_packet {
    struct addr peer;
    size_t len;
    uint8_t data[NET_ICMP_IN]; /* in: from the IP header on where IPv4 is raw */
};
/* Sends n <= NET_ICMP_BATCH packets at once. returns how many were sent, or
 * -1 with errno of the first. source: sendmmsg(2) */
int net_icmp_send(int fd, const struct net_icmp_packet *v, size_t n);
/* Receives at most NET_ICMP_BATCH. returns how many, 0: none are there.
 * source: recvmmsg(2) */
size_t net_icmp_recv(int fd, struct net_icmp_packet v[NET_ICMP_BATCH]);

#endif
