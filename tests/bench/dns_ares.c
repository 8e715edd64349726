/* c-ares: N distinct TXT names, K in flight, epoll by the socket-state
 * callback, answers parsed. dns_ares N K PORT ZONE EDNS(0|1) [NAMES] */
#include "tests/bench/bench.h"
#include <ares.h>
#include <arpa/nameser.h>
#include <sys/epoll.h>

static unsigned done, ok, bad, to, inflight;
static uint64_t bytes;
static int ep;

static void on_sock(void *u, ares_socket_t fd, int rd, int wr)
{
    (void)u;
    struct epoll_event ev = {
        .events = (rd ? EPOLLIN : 0u) | (wr ? EPOLLOUT : 0u), .data.fd = fd};
    if (!rd && !wr)
        epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
    else if (epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev) && errno == ENOENT)
        epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
}

static void on_answer(void *u, int status, int timeouts, unsigned char *buf,
                      int len)
{
    struct ares_txt_ext *t = NULL;
    (void)u;
    (void)timeouts;
    done++;
    inflight--;
    if (status == ARES_SUCCESS &&
        ares_parse_txt_reply_ext(buf, len, &t) == ARES_SUCCESS) {
        ok++;
        for (struct ares_txt_ext *i = t; i; i = i->next)
            bytes += i->length;
        ares_free_data(t);
    } else if (status == ARES_ETIMEOUT) {
        to++;
    } else {
        bad++;
    }
}

int main(int argc, char **argv)
{
    unsigned n = (unsigned)num(argv[1]), k = (unsigned)num(argv[2]),
             started = 0;
    const char *zone = argc > 4 ? argv[4] : "example";
    bool edns = argc > 5 && num(argv[5]);
    unsigned names = argc > 6 ? (unsigned)num(argv[6]) : 10000;
    raise_nofile();
    ares_library_init(ARES_LIB_INIT_ALL);
    struct in_addr srv = {htonl(INADDR_LOOPBACK)};
    struct ares_options o = {.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
                                      ARES_FLAG_NORECURSE | ARES_FLAG_STAYOPEN |
                                      (edns ? ARES_FLAG_EDNS : 0),
                             .timeout = 1000,
                             .tries = 3,
                             .ednspsz = 4096,
                             .socket_receive_buffer_size = 8 << 20,
                             .udp_port = htons((uint16_t)num(argv[3])),
                             .tcp_port = htons((uint16_t)num(argv[3])),
                             .servers = &srv,
                             .nservers = 1,
                             .sock_state_cb = on_sock};
    ares_channel ch;
    ep = epoll_create1(0);
    o.udp_port = (uint16_t)num(
        argv[3]); /* host order here, network order in ares_init of old */
    o.tcp_port = o.udp_port;
    int rc = ares_init_options(
        &ch, &o,
        ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
            ARES_OPT_EDNSPSZ | ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT |
            ARES_OPT_SERVERS | ARES_OPT_SOCK_STATE_CB | ARES_OPT_SOCK_RCVBUF);
    if (rc) {
        fprintf(stderr, "%s\n", ares_strerror(rc));
        return 1;
    }
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us();
    while (done < n) {
        while (inflight < k && started < n) {
            char name[256];
            snprintf(name, sizeof name, "_failover.h%05u.%s", started++ % names,
                     zone);
            inflight++;
            ares_query(ch, name, ns_c_in, ns_t_txt, on_answer, NULL);
        }
        struct epoll_event ev[64];
        struct timeval tv, *tp = ares_timeout(ch, NULL, &tv);
        int r = epoll_wait(
            ep, ev, 64,
            tp ? (int)(tp->tv_sec * 1000 + tp->tv_usec / 1000 + 1) : 1000);
        for (int i = 0; i < r; i++)
            ares_process_fd(ch, ev[i].events & EPOLLOUT ? -1 : ev[i].data.fd,
                            ev[i].events & EPOLLOUT ? ev[i].data.fd
                                                    : ARES_SOCKET_BAD);
        if (r <= 0)
            ares_process_fd(ch, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    }
    char label[64];
    snprintf(label, sizeof label, "c-ares%s bytes/answer=%llu",
             edns ? " edns" : "", (unsigned long long)(ok ? bytes / ok : 0));
    report(label, n, k, ok, 0, to, bad, t0, c0, rss0);
    ares_destroy(ch);
    return 0;
}
