/* RFC 2136 limit: hand-made UPDATE messages (delete RRset A + add A), no TSIG,
 * one socket. upd_raw [-T] [-l] [-w W] -n CHANGES -b CHANGES_PER_MESSAGE -p
 * PORT -z ZONE -T: TCP.  -w W: W messages sent before the replies are read
 * (UDP).  -l: after each message query the last name until the new address is
 * served; prints the medians of send->reply and send->visible. */
#include "tests/bench/bench.h"
#include <poll.h>

static uint8_t *put16(uint8_t *p, unsigned v)
{
    *p++ = (uint8_t)(v >> 8);
    *p++ = (uint8_t)v;
    return p;
}
static uint8_t *put_name(uint8_t *p, const char *s)
{
    while (*s) {
        size_t n = strcspn(s, ".");
        *p++ = (uint8_t)n;
        memcpy(p, s, n);
        p += n;
        s += n + (s[n] == '.');
    }
    *p++ = 0;
    return p;
}
static uint8_t *
put_host(uint8_t *p, unsigned i) /* hNNNNN + pointer to the zone name at 12 */
{
    char b[8];
    snprintf(b, sizeof b, "h%05u", i % 100000u);
    *p++ = 6;
    memcpy(p, b, 6);
    return put16(p + 6, 0xc00c);
}
static int cmp(const void *a, const void *b)
{
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}
static int sock(int type, int port)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, type, 0), on = 1;
    if (connect(fd, (void *)&sa, sizeof sa))
        die("connect");
    if (type == SOCK_STREAM)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}
static void read_all(int fd, uint8_t *p, size_t n)
{
    while (n) {
        ssize_t r = read(fd, p, n);
        if (r <= 0)
            die("read");
        p += r;
        n -= (size_t)r;
    }
}

static unsigned n = 1000, batch = 1, names = 10000, win = 1, ok, bad, seed;
static int port = 5353, fd, qfd;
static bool tcp, lat;
static const char *zone = "example";
static uint8_t out[65536], in[65536], q[512], addr[4] = {10, 0, 0, 0};

static void options(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "n:b:p:z:w:Tl")) != -1;)
        switch (o) {
        case 'n':
            n = (unsigned)num(optarg);
            break;
        case 'b':
            batch = (unsigned)num(optarg);
            break;
        case 'p':
            port = num(optarg);
            break;
        case 'z':
            zone = optarg;
            break;
        case 'w':
            win = (unsigned)num(optarg);
            break;
        case 'T':
            tcp = true;
            break;
        case 'l':
            lat = true;
            break;
        default:
            exit(2);
        }
}

/* Builds message m and sends it; returns the number of its last host, whose
 * new address is in addr. */
static unsigned send_update(unsigned m)
{
    uint8_t *p = out + 2;
    unsigned host = 0;
    p = put16(p, m & 0xffff);
    p = put16(p, 5u << 11);
    p = put16(p, 1);
    p = put16(p, 0);
    p = put16(p, 2 * batch);
    p = put16(p, 0);
    p = put_name(p, zone);
    p = put16(put16(p, 6), 1);
    for (unsigned b = 0; b < batch; b++) {
        host = (m * batch + b) % names;
        uint32_t v = seed * 2654435761u + m * batch + b;
        addr[1] = (uint8_t)(v >> 16), addr[2] = (uint8_t)(v >> 8),
        addr[3] = (uint8_t)v;
        p = put16(put16(put_host(p, host), 1), 255);
        memset(p, 0, 6);
        p = put_host(p + 6, host);
        p = put16(put16(p, 1), 1);
        p = put16(put16(p, 0), 60);
        p = put16(p, 4);
        memcpy(p, addr, 4);
        p += 4;
    }
    size_t len = (size_t)(p - out - 2);
    put16(out, (unsigned)len);
    if (write(fd, out + (tcp ? 0 : 2), len + (tcp ? 2 : 0)) < 0)
        die("write");
    return host;
}

/* The replies to a window of messages, after its last one was sent. */
static void take_window(unsigned m, unsigned msgs)
{
    unsigned w = (m + 1) % win && m + 1 < msgs ? 0 : m % win + 1;
    for (; w; w--) {
        struct pollfd pf = {fd, POLLIN, 0};
        if (poll(&pf, 1, 5000) == 1 && read(fd, in, sizeof in) > 0 &&
            !(in[3] & 15))
            ok++;
        else
            bad++;
    }
}

static void take_reply(void)
{
    if (tcp) {
        read_all(fd, in, 2);
        read_all(fd, in, (size_t)in[0] << 8 | in[1]);
    } else if (read(fd, in, sizeof in) < 0) {
        die("reply");
    }
    if (in[3] & 15)
        bad++;
    else
        ok++;
}

/* Whether host is served with addr. */
static bool is_visible(unsigned m, unsigned host)
{
    char name[280];
    uint8_t *e = put16(put16(put16(q, m & 0xffff), 0), 1);
    memset(e, 0, 6);
    snprintf(name, sizeof name, "h%05u.%s", host, zone);
    e = put_name(e + 6, name);
    e = put16(put16(e, 1), 1);
    if (write(qfd, q, (size_t)(e - q)) < 0)
        die("query");
    ssize_t r = read(qfd, in, sizeof in);
    /* answer: pointer, type, class, ttl, rdlength, address */
    size_t rd = (size_t)(e - q) + 12;
    return r >= (ssize_t)rd + 4 && !memcmp(in + rd, addr, 4);
}

/* One message and its reply; with -l until it is served. */
static void exchange(unsigned m, uint64_t s, unsigned host, double *t_rep,
                     double *t_vis)
{
    bool replied = false, visible = !lat;
    while (!replied || !visible) {
        struct pollfd pf = {fd, POLLIN, 0};
        if (!replied && poll(&pf, 1, visible ? 5000 : 0) == 1) {
            take_reply();
            replied = true;
            *t_rep = (double)(now_us() - s);
        } else if (!replied && visible) {
            bad++;
            break;
        }
        if (!visible && is_visible(m, host)) {
            visible = true;
            *t_vis = (double)(now_us() - s);
        }
        if (now_us() - s > 10000000)
            die("never visible");
    }
}

int main(int argc, char **argv)
{
    options(argc, argv);
    fd = sock(tcp ? SOCK_STREAM : SOCK_DGRAM, port);
    qfd = sock(SOCK_DGRAM, port);
    seed = (unsigned)now_us();
    unsigned msgs = n / batch;
    double *t_rep = calloc(msgs, sizeof *t_rep),
           *t_vis = calloc(msgs, sizeof *t_vis);
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us();
    for (unsigned m = 0; m < msgs; m++) {
        uint64_t s = now_us();
        unsigned host = send_update(m);
        if (win > 1)
            take_window(m, msgs);
        else
            exchange(m, s, host, &t_rep[m], &t_vis[m]);
    }
    qsort(t_rep, msgs, sizeof *t_rep, cmp);
    qsort(t_vis, msgs, sizeof *t_vis, cmp);
    char label[128];
    snprintf(label, sizeof label,
             "upd-raw %s b=%u w=%u reply-ms p50=%.3f p99=%.3f visible-ms "
             "p50=%.3f p99=%.3f",
             tcp ? "tcp" : "udp", batch, win, t_rep[msgs / 2] / 1e3,
             t_rep[msgs * 99 / 100] / 1e3, t_vis[msgs / 2] / 1e3,
             t_vis[msgs * 99 / 100] / 1e3);
    report(label, n, 1, ok, 0, 0, bad, t0, c0, rss0);
    return 0;
}
