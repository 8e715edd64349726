#include "agent/base/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t width(const struct addr *a)
{
    return a->family == 6 ? 16 : 4;
}

int addr_parse(const char *text, struct addr *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, out->bytes) == 1) {
        out->family = 4;
        return 0;
    }
    if (inet_pton(AF_INET6, text, out->bytes) == 1) {
        out->family = 6;
        return 0;
    }
    memset(out, 0, sizeof *out);
    return -1;
}

static int parse_port(const char *text, uint16_t *out)
{
    unsigned long v = 0;
    size_t n = strlen(text);

    if (n == 0 || n > 5 || strspn(text, "0123456789") != n)
        return -1;
    v = strtoul(text, NULL, 10);
    if (v == 0 || v > 65535)
        return -1;
    *out = (uint16_t)v;
    return 0;
}

int addr_parse_port(const char *text, uint16_t port_or, struct addr *out,
                    struct err *e)
{
    char host[ADDR_TEXT_SIZE];
    const char *port = NULL, *end, *start = text;
    uint16_t n = port_or;
    size_t len;

    if (text[0] == '[') {
        start = text + 1;
        end = strchr(text, ']');
        if (end == NULL || (end[1] != '\0' && end[1] != ':'))
            goto bad;
        if (end[1] == ':')
            port = end + 2;
    } else {
        end = strchr(text, ':');
        if (end != NULL && strchr(end + 1, ':') == NULL)
            port = end + 1;
        else
            end = text + strlen(text);
    }
    len = (size_t)(end - start);
    if (len >= sizeof host)
        goto bad;
    memcpy(host, start, len);
    host[len] = '\0';
    if (addr_parse(host, out) != 0 || (text[0] == '[' && out->family != 6))
        goto bad;
    if (port != NULL && parse_port(port, &n) != 0)
        goto bad;
    out->port = n;
    return 0;
bad:
    return err_set(e, ERR_INPUT,
                   "\"%.100s\" is not an address; accepted: 192.0.2.1, "
                   "192.0.2.1:53, 2001:db8::1 or [2001:db8::1]:53",
                   text);
}

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

int cidr_parse(const char *text, struct cidr *out, struct err *e)
{
    char host[ADDR_TEXT_SIZE], *slash;
    unsigned long bits;

    if (strlen(text) >= sizeof host)
        goto bad;
    memcpy(host, text, strlen(text) + 1);
    slash = strchr(host, '/');
    if (slash != NULL)
        *slash = '\0';
    if (addr_parse(host, &out->net) != 0)
        goto bad;
    bits = width(&out->net) * 8;
    if (slash != NULL) {
        size_t n = strlen(slash + 1);

        if (n == 0 || n > 3 || strspn(slash + 1, "0123456789") != n ||
            strtoul(slash + 1, NULL, 10) > bits)
            goto bad;
        bits = strtoul(slash + 1, NULL, 10);
    }
    out->bits = (uint8_t)bits;
    for (size_t i = 0; i < width(&out->net); i++) {
        unsigned keep = bits > 8 * i ? (unsigned)(bits - 8 * i) : 0;

        if (keep < 8 && (uint8_t)(out->net.bytes[i] << keep) != 0)
            return err_set(e, ERR_INPUT, "\"%.60s\" has bits beyond its prefix",
                           text);
    }
    return 0;
bad:
    return err_set(e, ERR_INPUT,
                   "\"%.60s\" is not an address block; accepted: "
                   "192.0.2.0/24, 2001:db8::/32 or one address",
                   text);
}

bool cidr_contains(const struct cidr *block, const struct addr *a)
{
    return block->net.family == a->family &&
           same_prefix(block->net.bytes, a->bytes, block->bits);
}

const char *addr_format(const struct addr *a, char out[ADDR_TEXT_SIZE])
{
    if (a->family == 0 || inet_ntop(a->family == 6 ? AF_INET6 : AF_INET,
                                    a->bytes, out, ADDR_TEXT_SIZE) == NULL)
        memcpy(out, "-", 2);
    return out;
}

const char *addr_format_port(const struct addr *a, char out[ADDR_TEXT_SIZE])
{
    char host[ADDR_TEXT_SIZE];

    addr_format(a, host);
    if (a->family == 6)
        (void)snprintf(out, ADDR_TEXT_SIZE, "[%.46s]:%u", host, a->port);
    else
        (void)snprintf(out, ADDR_TEXT_SIZE, "%.46s:%u", host, a->port);
    return out;
}

int addr_compare(const struct addr *a, const struct addr *b)
{
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    return memcmp(a->bytes, b->bytes, width(a));
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    return addr_compare(a, b) == 0;
}

struct range {
    uint8_t family, bytes[16], bits;
    enum addr_class c;
};

/* First match wins. */
static const struct range ranges[] = {
    {4, {169, 254, 169, 254}, 32, ADDR_METADATA},
    {4, {0}, 8, ADDR_UNSPECIFIED},
    {4, {10}, 8, ADDR_PRIVATE},
    {4, {100, 64}, 10, ADDR_PRIVATE}, /* RFC 6598 */
    {4, {127}, 8, ADDR_LOOPBACK},
    {4, {169, 254}, 16, ADDR_LINK_LOCAL},
    {4, {172, 16}, 12, ADDR_PRIVATE},
    {4, {192, 168}, 16, ADDR_PRIVATE},
    {4, {224}, 4, ADDR_MULTICAST},
    {4, {255, 255, 255, 255}, 32, ADDR_BROADCAST},
    {4, {240}, 4, ADDR_PRIVATE}, /* reserved: RFC 1112 4 */
    {6, {0xfd, 0, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, ADDR_METADATA},
    {6, {0}, 128, ADDR_UNSPECIFIED},
    {6, {[15] = 1}, 128, ADDR_LOOPBACK},
    {6, {0xfc}, 7, ADDR_UNIQUE_LOCAL},
    {6, {0xfe, 0x80}, 10, ADDR_LINK_LOCAL},
    {6, {0xfe, 0xc0}, 10, ADDR_PRIVATE}, /* site-local: RFC 3879 */
    {6, {0xff}, 8, ADDR_MULTICAST},
};

/* Where an IPv6 form carries an IPv4 address, and at which byte. */
static const struct {
    uint8_t bytes[16], bits, at;
} carriers[] = {
    {{[10] = 0xff, 0xff}, 96, 12},      /* ::ffff:0:0/96 */
    {{[8] = 0xff, 0xff}, 96, 12},       /* ::ffff:0:0:0/96, SIIT */
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12}, /* 64:ff9b::/96 */
    {{0x20, 0x02}, 16, 2},              /* 2002::/16 */
    {{0}, 96, 12},                      /* ::/96, deprecated */
};

static bool embedded_v4(const struct addr *a, struct addr *out)
{
    if (a->family != 6)
        return false;
    for (size_t i = 0; i < sizeof carriers / sizeof carriers[0]; i++) {
        if (!same_prefix(a->bytes, carriers[i].bytes, carriers[i].bits))
            continue;
        memset(out, 0, sizeof *out);
        out->family = 4;
        memcpy(out->bytes, a->bytes + carriers[i].at, 4);
        return true;
    }
    return false;
}

static const struct range *find_range(const struct addr *a)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (ranges[i].family == a->family &&
            same_prefix(a->bytes, ranges[i].bytes, ranges[i].bits))
            return &ranges[i];
    return NULL;
}

bool addr_inner_v4(const struct addr *a, struct addr *out)
{
    return find_range(a) == NULL && embedded_v4(a, out);
}

enum addr_class addr_classify(const struct addr *a)
{
    const struct range *r = find_range(a);
    struct addr inner;

    if (r != NULL)
        return r->c;
    if (embedded_v4(a, &inner))
        return addr_classify(&inner);
    return ADDR_PUBLIC;
}

const char *addr_class_name(enum addr_class c)
{
    static const char *const names[] = {
        [ADDR_PUBLIC] = "public",
        [ADDR_PRIVATE] = "private",
        [ADDR_LOOPBACK] = "loopback",
        [ADDR_LINK_LOCAL] = "link-local",
        [ADDR_UNIQUE_LOCAL] = "unique-local",
        [ADDR_MULTICAST] = "multicast",
        [ADDR_METADATA] = "a metadata address",
        [ADDR_UNSPECIFIED] = "unspecified",
        [ADDR_BROADCAST] = "broadcast",
    };
    return names[c];
}

socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (a->family == 6) {
        struct sockaddr_in6 *s6 = (struct sockaddr_in6 *)out;

        s6->sin6_family = AF_INET6;
        s6->sin6_port = htons(a->port);
        memcpy(&s6->sin6_addr, a->bytes, 16);
        return sizeof *s6;
    }
    struct sockaddr_in *s4 = (struct sockaddr_in *)out;

    s4->sin_family = AF_INET;
    s4->sin_port = htons(a->port);
    memcpy(&s4->sin_addr, a->bytes, 4);
    return sizeof *s4;
}

int addr_from_sockaddr(const struct sockaddr *sa, struct addr *out)
{
    memset(out, 0, sizeof *out);
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in s4;

        memcpy(&s4, sa, sizeof s4);
        out->family = 4;
        out->port = ntohs(s4.sin_port);
        memcpy(out->bytes, &s4.sin_addr, 4);
        return 0;
    }
    if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 s6;

        memcpy(&s6, sa, sizeof s6);
        out->family = 6;
        out->port = ntohs(s6.sin6_port);
        memcpy(out->bytes, &s6.sin6_addr, 16);
        return 0;
    }
    return -1;
}
