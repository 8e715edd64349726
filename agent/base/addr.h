#ifndef AGENT_BASE_ADDR_H
#define AGENT_BASE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "agent/base/err.h"

#define ADDR_TEXT_SIZE 64 /* "[v6]:port" with room */

/* An IP address, with a port where one was given (0: none). */
struct addr {
    uint8_t family;    /* 4 or 6; 0: none */
    uint8_t bytes[16]; /* network order; 4 used by family 4 */
    uint16_t port;     /* host order */
};

/* An address block. */
struct cidr {
    struct addr net;
    uint8_t bits;
};

/* What kind of place an address is; decides what may be probed. */
enum addr_class {
    ADDR_PUBLIC, /* documentation ranges too: RFC 5737, RFC 3849 */
    ADDR_PRIVATE,
    ADDR_LOOPBACK,
    ADDR_LINK_LOCAL,
    ADDR_UNIQUE_LOCAL,
    ADDR_MULTICAST,
    ADDR_METADATA, /* 169.254.169.254, fd00:ec2::254 */
    ADDR_UNSPECIFIED,
    ADDR_BROADCAST,
};

/* A literal address without port, strict: no leading zeros, four parts.
 * returns 0, or -1 (not an address). source: RFC 4291 2.2, inet_pton(3) */
MUST_CHECK int addr_parse(const char *text, struct addr *out);
/* "192.0.2.1", "192.0.2.1:53", "2001:db8::1", "[2001:db8::1]:53"; port_or is
 * put where no port is given. returns 0, or -1 with e set (ERR_INPUT). */
MUST_CHECK int addr_parse_port(const char *text, uint16_t port_or,
                               struct addr *out, struct err *e);
/* "10.0.0.0/8", "fd00::/8" or a single address; bits beyond the prefix must
 * be zero. returns 0, or -1 with e set (ERR_INPUT). */
MUST_CHECK int cidr_parse(const char *text, struct cidr *out, struct err *e);
bool cidr_contains(const struct cidr *block, const struct addr *a);

/* The canonical text without port (RFC 5952); returns out. */
const char *addr_format(const struct addr *a, char out[ADDR_TEXT_SIZE]);
/* "192.0.2.1:53" or "[2001:db8::1]:53"; returns out. */
const char *addr_format_port(const struct addr *a, char out[ADDR_TEXT_SIZE]);

/* Same family and bytes; the port does not count. */
bool addr_equal(const struct addr *a, const struct addr *b);
int addr_compare(const struct addr *a, const struct addr *b);

/* IPv4-mapped, -compatible, 6to4 and NAT64 forms are classed by the IPv4
 * address inside. source: RFC 6890, RFC 4291 2.5.5, RFC 3056, RFC 6052 */
enum addr_class addr_classify(const struct addr *a);
/* The IPv4 address inside such a form; returns false for any other address
 * (::1 and :: too). */
bool addr_inner_v4(const struct addr *a, struct addr *out);
const char *addr_class_name(enum addr_class c); /* "private", "loopback", … */

socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *out);
MUST_CHECK int addr_from_sockaddr(const struct sockaddr *sa, struct addr *out);

#endif
