/* The bare epoll probe loop: N probes, at most K in flight, one thread.
 *   probe -m tcp|http|https -n N -k K -a 127.0.1.1 -A ADDRS -p PORT -t MS [-c
 * rst|fin] [-r] [-R RATE [-G MS]] tcp: connect + SO_ERROR.  http: + GET, status
 * line checked.  https: + TLS by OpenSSL, no verification unless -v CAFILE; -r
 * resumes one TLS session, -2 holds to TLS 1.2.  -R: paced at RATE probes/s in
 * ticks of -G ms (1), as an agent with intervals would be.  -q: TCP_QUICKACK
 * off, as haproxy does (server never sees the connection). */
#include "tests/bench/bench.h"
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>

enum { CONNECTING, HANDSHAKE, READING };
struct slot {
    struct slot *prev, *next; /* in flight, oldest first: one timeout for all,
                                 so FIFO = by deadline */
    uint64_t deadline;
    SSL *ssl;
    int fd;
    int state;
};

static enum { TCP, HTTP, HTTPS } mode;
static unsigned nprobe = 10000, kmax = 1024, naddr = 10000, timeout_ms = 1000,
                rate, tick = 1;
static in_addr_t base;
static uint16_t port = 8000;
static const char *ca;
static bool rst = true, resume, tls12, noack;
static SSL_CTX *ctx;
static SSL_SESSION *sess;
static int ep;
static struct slot *slots, head = {&head, &head, 0, NULL, -1, 0}, *freel;
static unsigned started, done, inflight, n_ok, n_ref, n_to, n_other, n_reused;
static const char req[] = "GET / HTTP/1.1\r\nHost: probe\r\nUser-Agent: "
                          "probe\r\nConnection: close\r\n\r\n";

static void finish(struct slot *s, int err)
{
    switch (err) {
    case 0:
        n_ok++;
        break;
    case ECONNREFUSED:
        n_ref++;
        break;
    case ETIMEDOUT:
        n_to++;
        break;
    default:
        n_other++;
        break;
    }
    if (s->ssl) {
        if (resume && !err && !sess)
            sess = SSL_get1_session(s->ssl);
        n_reused += (unsigned)SSL_session_reused(s->ssl);
        SSL_set_shutdown(
            s->ssl, SSL_SENT_SHUTDOWN |
                        SSL_RECEIVED_SHUTDOWN); /* else the session is spoilt */
        SSL_free(s->ssl);
        s->ssl = NULL;
    }
    close(s->fd);
    s->prev->next = s->next;
    s->next->prev = s->prev;
    s->next = freel;
    freel = s;
    inflight--;
    done++;
}

static void start(uint64_t now)
{
    struct slot *s = freel;
    freel = s->next;
    s->next = &head;
    s->prev = head.prev;
    s->prev->next = head.prev = s;
    s->deadline = now + timeout_ms * 1000u;
    s->state = CONNECTING;
    inflight++;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        die("socket");
    if (rst) {
        struct linger l = {1, 0};
        setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    }
    if (noack && mode == TCP) { /* hold the handshake's last ACK back: the RST
                                   then ends it before accept() */
        int off = 0;
        setsockopt(s->fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
    }
    if (mode == HTTPS) { /* else Nagle holds the request back behind Finished:
                            40 ms a probe when resuming */
        int on = 1;
        setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = target(base, naddr, started++)};
    if (connect(s->fd, (void *)&sa, sizeof sa) && errno != EINPROGRESS) {
        finish(s, errno);
        return;
    }
    struct epoll_event ev = {
        .events = EPOLLOUT | EPOLLET | (mode ? EPOLLIN : 0), .data.ptr = s};
    if (epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev))
        die("epoll_ctl");
}

static bool ssl_wait(SSL *ssl, int rc) /* true: wait for the socket */
{
    int e = SSL_get_error(ssl, rc);
    return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

static void step(struct slot *s, uint32_t events)
{
    char buf[2048];
    ssize_t n;
    if (s->state == CONNECTING) {
        int err = 0;
        socklen_t len = sizeof err;
        getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len);
        if (err || mode == TCP) {
            finish(s, err);
            return;
        }
        if (!(events & EPOLLOUT))
            return;
        if (mode == HTTPS) {
            s->ssl = SSL_new(ctx);
            SSL_set_fd(s->ssl, s->fd);
            SSL_set_tlsext_host_name(s->ssl, "probe");
            if (sess)
                SSL_set_session(s->ssl, sess);
            s->state = HANDSHAKE;
        } else {
            if (send(s->fd, req, sizeof req - 1, MSG_NOSIGNAL) < 0)
                finish(s, errno);
            s->state = READING;
            return;
        }
    }
    if (s->state == HANDSHAKE) {
        int rc = SSL_connect(s->ssl);
        if (rc != 1) {
            if (!ssl_wait(s->ssl, rc))
                finish(s, EPROTO);
            return;
        }
        SSL_write(s->ssl, req, sizeof req - 1);
        s->state = READING;
    }
    if (mode == HTTPS) {
        n = SSL_read(s->ssl, buf, sizeof buf);
        if (n <= 0 && ssl_wait(s->ssl, (int)n))
            return;
    } else {
        n = recv(s->fd, buf, sizeof buf, 0);
        if (n < 0 && errno == EAGAIN)
            return;
    }
    finish(s,
           n >= 12 && !memcmp(buf, "HTTP/1.", 7) && !memcmp(buf + 9, "200", 3)
               ? 0
               : EPROTO);
}

static void options(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "m:n:k:a:A:p:t:c:v:rR:G:2q")) != -1;)
        switch (o) {
        case 'm':
            mode = !strcmp(optarg, "tcp")    ? TCP
                   : !strcmp(optarg, "http") ? HTTP
                                             : HTTPS;
            break;
        case 'n':
            nprobe = (unsigned)num(optarg);
            break;
        case 'k':
            kmax = (unsigned)num(optarg);
            break;
        case 'a':
            base = inet_addr(optarg);
            break;
        case 'A':
            naddr = (unsigned)num(optarg);
            break;
        case 'p':
            port = (uint16_t)num(optarg);
            break;
        case 't':
            timeout_ms = (unsigned)num(optarg);
            break;
        case 'c':
            rst = !strcmp(optarg, "rst");
            break;
        case 'v':
            ca = optarg;
            break;
        case 'R':
            rate = (unsigned)num(optarg);
            break;
        case 'G':
            tick = (unsigned)num(optarg);
            break;
        case 'q':
            noack = true;
            break;
        case '2':
            tls12 = true;
            break;
        case 'r':
            resume = true;
            break;
        default:
            exit(2);
        }
}

static void set_up(void)
{
    if (mode == HTTPS) {
        ctx = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
        if (tls12)
            SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
        if (ca) {
            SSL_CTX_load_verify_locations(ctx, ca, NULL);
            SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        }
    }
    ep = epoll_create1(EPOLL_CLOEXEC);
    slots = calloc(kmax, sizeof *slots);
    for (unsigned i = 0; i < kmax; i++) {
        slots[i].next = freel;
        freel = &slots[i];
    }
}

static void run(uint64_t t0)
{
    static struct epoll_event ev[512];
    uint64_t now = t0;
    while (done < nprobe) {
        uint64_t due = rate ? (now - t0) * rate / 1000000u + 1 : nprobe;
        while (inflight < kmax && started < nprobe && started < due)
            start(now);
        int wait = rate ? (int)tick : 0;
        if (inflight && !rate)
            wait = head.next->deadline > now
                       ? (int)((head.next->deadline - now + 999) / 1000)
                       : 0;
        int n = epoll_wait(ep, ev, 512, wait);
        for (int i = 0; i < n; i++)
            step(ev[i].data.ptr, ev[i].events);
        now = now_us();
        while (head.next != &head && head.next->deadline <= now)
            finish(head.next, ETIMEDOUT);
    }
}

int main(int argc, char **argv)
{
    base = inet_addr("127.0.1.1");
    options(argc, argv);
    raise_nofile();
    set_up();
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us();
    run(t0);
    report(mode == TCP    ? "epoll-tcp"
           : mode == HTTP ? "epoll-http"
                          : "epoll-https",
           nprobe, kmax, n_ok, n_ref, n_to, n_other, t0, c0, rss0);
    if (n_reused)
        fprintf(stderr, "sessions reused: %u\n", n_reused);
    return 0;
}
