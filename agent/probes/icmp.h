#ifndef AGENT_PROBES_ICMP_H
#define AGENT_PROBES_ICMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/probes/kind.h"

/* ICMP echo, IPv4 and IPv6: one socket per family for all targets. A reply
 * counts once, and only where its source, id, sequence number, and the 8
 * random bytes of the probe fit. source: RFC 792, RFC 4443 4 */

/* Tags of the sockets in the descriptor set; no probe has them. */
#define ICMP_TAG(family) (UINT64_MAX - (family))

/* Opens the socket of a family (4 or 6) if it is not open.
 * returns it, or NULL with errno. */
struct icmp *icmp_get(struct probe_env *env, int family);
/* Takes in replies; ends probes. */
void icmp_read(struct probe_env *env, int family);
/* Sends what was started; ends probes that could not be sent.
 * returns true when something is left because the socket is full. */
bool icmp_flush(struct probe_env *env);
/* Whether nothing may be started before the next flush. */
bool icmp_is_full(const struct probe_env *env);
void icmp_free(struct icmp *m); /* NULL is fine */

/* What a packet that came in says; pure.
 * in: p, len — a packet as net_icmp_recv gives it; has_ip — an IPv4 header
 * stands before it; family */
enum icmp_kind { ICMP_OTHER, ICMP_REPLY, ICMP_UNREACHABLE };
struct icmp_news {
    enum icmp_kind kind;
    uint16_t id, seq;
    uint64_t tag, token;
    struct addr about; /* UNREACHABLE: whom the probe was for */
};
void icmp_parse(const uint8_t *p, size_t len, bool has_ip, int family,
                struct icmp_news *out);

#endif
