/* DNS limit: N TXT queries over connected UDP sockets, K in flight,
 * sendmmsg/recvmmsg, no library. dns_raw N K PORT ZONE [NAMES]   (names
 * _failover.hNNNNN.ZONE; EDNS 4096) */
#include "tests/bench/bench.h"
#include <poll.h>

#define BATCH 64

static size_t put_name(uint8_t *p, const char *s)
{
    uint8_t *q = p;
    while (*s) {
        size_t n = strcspn(s, ".");
        *q++ = (uint8_t)n;
        memcpy(q, s, n);
        q += n;
        s += n + (s[n] == '.');
    }
    *q++ = 0;
    return (size_t)(q - p);
}

/* The query with that id for name; returns its end. */
static uint8_t *put_query(uint8_t *p, unsigned id, const char *name)
{
    static const uint8_t hdr[10] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
    static const uint8_t tail[15] = {0, 16, 0, 1, 0, 0, 41, 16,
                                     0, 0,  0, 0, 0, 0, 0};
    *p++ = (uint8_t)(id >> 8);
    *p++ = (uint8_t)id;
    memcpy(p, hdr, sizeof hdr);
    p += sizeof hdr;
    p += put_name(p, name);
    memcpy(p, tail, sizeof tail);
    return p + sizeof tail;
}

int main(int argc, char **argv)
{
    unsigned n = (unsigned)num(argv[1]), k = (unsigned)num(argv[2]);
    const char *zone = argc > 4 ? argv[4] : "example";
    unsigned names = argc > 5 ? (unsigned)num(argv[5]) : 10000;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), rb = 16 << 20;
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)num(argv[3])),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rb, sizeof rb);
    if (connect(fd, (void *)&sa, sizeof sa))
        die("connect");
    uint8_t *pend = calloc(65536, 1);
    unsigned sent = 0, done = 0, ok = 0, bad = 0, lost = 0;
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us();
    while (done < n) {
        struct mmsghdr m[BATCH];
        struct iovec iov[BATCH];
        static uint8_t out[BATCH][300], in[BATCH][4096];
        while (sent < n && sent - done < k) {
            unsigned b = 0;
            memset(m, 0, sizeof m);
            for (; b < BATCH && sent + b < n && sent + b - done < k; b++) {
                unsigned id = (sent + b) & 0xffff;
                char name[256];
                snprintf(name, sizeof name, "_failover.h%05u.%s",
                         (sent + b) % names, zone);
                uint8_t *p = put_query(out[b], id, name);
                iov[b] = (struct iovec){out[b], (size_t)(p - out[b])};
                m[b].msg_hdr =
                    (struct msghdr){.msg_iov = &iov[b], .msg_iovlen = 1};
                pend[id] = 1;
            }
            int r = sendmmsg(fd, m, b, 0);
            if (r <= 0)
                break;
            sent += (unsigned)r;
        }
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, 1000) ==
            0) { /* a second of silence: what is out is lost */
            lost += sent - done;
            done = sent;
        }
        for (int r = BATCH; r == BATCH;) {
            memset(m, 0, sizeof m);
            for (unsigned b = 0; b < BATCH; b++) {
                iov[b] = (struct iovec){in[b], sizeof in[b]};
                m[b].msg_hdr =
                    (struct msghdr){.msg_iov = &iov[b], .msg_iovlen = 1};
            }
            r = recvmmsg(fd, m, BATCH, MSG_DONTWAIT, NULL);
            for (int b = 0; b < r; b++) {
                unsigned id = (unsigned)in[b][0] << 8 | in[b][1];
                if (m[b].msg_len < 12 || !pend[id])
                    continue;
                pend[id] = 0;
                done++;
                if ((in[b][3] & 15) == 0 && in[b][7] == 1 && !(in[b][2] & 2))
                    ok++;
                else
                    bad++;
            }
        }
    }
    report("dns-raw", n, k, ok, 0, lost, bad, t0, c0, rss0);
    return 0;
}
