#ifndef AGENT_PROBES_UDP_H
#define AGENT_PROBES_UDP_H

#include <stddef.h>
#include <sys/types.h>

#include "agent/probes/kind.h"

#define UDP_SIZE 65536

/* A connected socket in run->fd that has sent data.
 * returns 0, or -1 with r filled in. */
int udp_open(struct probe_run *run, const void *data, size_t len,
             struct probe_result *r);
/* returns the datagram's length, -1: none there, -2: failed, r is filled
 * in */
ssize_t udp_recv(struct probe_run *run, void *buf, size_t size,
                 struct probe_result *r);

#endif
