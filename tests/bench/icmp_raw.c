/* ICMP echo limit: N echo requests to ADDRS addresses, one raw socket,
 * sendmmsg/recvmmsg in batches of 64. icmp_raw N K BASE ADDRS TIMEOUT_MS   (at
 * most K in flight, oldest expires first) */
#include "tests/bench/bench.h"
#include <linux/icmp.h>
#include <poll.h>

#define BATCH 64

static uint16_t cksum(const void *p, size_t n)
{
    const uint16_t *w = p;
    uint32_t s = 0;
    for (; n > 1; n -= 2)
        s += *w++;
    s = (s >> 16) + (s & 0xffff);
    return (uint16_t) ~(s + (s >> 16));
}

static unsigned n = 10000, k = 1024, naddr = 10000, tmo = 1000;
static in_addr_t base;
static int fd;
static uint16_t id;
/* A probe is told by its number in the packet and its address: 16 bytes of
 * state each. */
static struct state {
    uint64_t deadline;
    bool done;
} * st;
static unsigned sent, done, oldest, ok, to;
static struct mmsghdr m[BATCH];
static struct iovec iov[BATCH];
static struct sockaddr_in sa[BATCH];

static void prepare(unsigned b, void *data, size_t len)
{
    iov[b] = (struct iovec){data, len};
    m[b].msg_hdr = (struct msghdr){.msg_name = &sa[b],
                                   .msg_namelen = sizeof sa[b],
                                   .msg_iov = &iov[b],
                                   .msg_iovlen = 1};
}

static void send_some(uint64_t now)
{
    static struct {
        struct icmphdr h;
        uint32_t probe;
        char pad[52];
    } pk[BATCH];
    while (sent < n && sent - done < k) {
        unsigned b = 0;
        memset(m, 0, sizeof m);
        for (; b < BATCH && sent + b < n && sent + b - done < k; b++) {
            pk[b].h = (struct icmphdr){
                .type = ICMP_ECHO,
                .un.echo = {htons(id), htons((uint16_t)(sent + b))}};
            pk[b].probe = sent + b;
            pk[b].h.checksum = cksum(&pk[b], sizeof pk[b]);
            sa[b] = (struct sockaddr_in){.sin_family = AF_INET,
                                         .sin_addr.s_addr =
                                             target(base, naddr, sent + b)};
            prepare(b, &pk[b], sizeof pk[b]);
            st[sent + b].deadline = now + tmo * 1000u;
        }
        int r = sendmmsg(fd, m, b, 0);
        if (r < 0)
            break;
        sent += (unsigned)r;
    }
}

static void take_some(void)
{
    static char in[BATCH][128];
    for (int r = BATCH; r == BATCH;) {
        memset(m, 0, sizeof m);
        for (unsigned b = 0; b < BATCH; b++)
            prepare(b, in[b], sizeof in[b]);
        r = recvmmsg(fd, m, BATCH, MSG_DONTWAIT, NULL);
        for (int b = 0; b < r; b++) {
            struct icmphdr *h = (void *)(in[b] + 20);
            uint32_t probe;
            memcpy(&probe, h + 1, sizeof probe);
            if (h->un.echo.id != htons(id) || probe >= sent || st[probe].done ||
                sa[b].sin_addr.s_addr != target(base, naddr, probe))
                continue;
            st[probe].done = true;
            done++;
            ok++;
        }
    }
}

int main(int argc, char **argv)
{
    n = argc > 1 ? (unsigned)num(argv[1]) : n;
    k = argc > 2 ? (unsigned)num(argv[2]) : k;
    base = inet_addr(argc > 3 ? argv[3] : "127.0.1.1");
    naddr = argc > 4 ? (unsigned)num(argv[4]) : naddr;
    tmo = argc > 5 ? (unsigned)num(argv[5]) : tmo;
    fd = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_ICMP);
    if (fd < 0)
        die("raw socket");
    int buf = 8 << 20;
    struct icmp_filter flt = {~(1u << ICMP_ECHOREPLY)};
    setsockopt(fd, SOL_RAW, ICMP_FILTER, &flt, sizeof flt);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buf, sizeof buf);
    id = (uint16_t)getpid();
    st = calloc(n, sizeof *st);
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us(), now = t0;
    while (done < n) {
        send_some(now);
        struct pollfd p = {fd, POLLIN, 0};
        if (oldest < sent && st[oldest].deadline > now)
            poll(&p, 1, (int)((st[oldest].deadline - now + 999) / 1000));
        take_some();
        now = now_us();
        for (; oldest < sent && (st[oldest].done || st[oldest].deadline <= now);
             oldest++)
            if (!st[oldest].done) {
                st[oldest].done = true;
                done++;
                to++;
            }
    }
    report("icmp-raw", n, k, ok, 0, to, 0, t0, c0, rss0);
    return 0;
}
