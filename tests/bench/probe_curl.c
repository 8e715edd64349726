/* libcurl as the probe engine: N probes, at most K in flight, one thread.
 *   probe_curl -u http|https -m connect|get -d poll|socket [-f] [-x] -n N -k K
 * -p PORT -t MS -f: a fresh easy handle per probe (else one per slot, kept).
 * -x: no connection kept in the cache (CURLOPT_FORBID_REUSE + FRESH_CONNECT).
 * -S: no session-id cache.  -v CAFILE: verify. -1: collect finished transfers
 * after every socket action (curl_multi_remove_handle walks the queue of
 * messages, so a long queue costs). */
#include "tests/bench/bench.h"
#include <curl/curl.h>
#include <sys/epoll.h>

static unsigned nprobe = 10000, kmax = 1024, naddr = 10000, timeout_ms = 1000;
static unsigned started, done, inflight, n_ok, n_ref, n_to, n_other;
static in_addr_t base;
static int port = 8000, ep, ep_timeout = -1;
static bool reap1, connect_only, fresh, nocache, nosess, sockdrv = true;
static const char *scheme = "http", *ca;
static CURLM *multi;
static CURL **pool;
static unsigned npool;
static long rss_full;

static size_t discard(char *p, size_t s, size_t n, void *u)
{
    (void)p;
    (void)u;
    return s * n;
}

static int on_socket(CURL *e, curl_socket_t fd, int what, void *u, void *sp)
{
    (void)e;
    (void)u;
    struct epoll_event ev = {.data.fd = fd};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
        curl_multi_assign(multi, fd, NULL);
        return 0;
    }
    ev.events = (what & CURL_POLL_IN ? EPOLLIN : 0) |
                (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    if (epoll_ctl(ep, sp ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) &&
        errno == EEXIST)
        epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev);
    if (!sp)
        curl_multi_assign(multi, fd, (void *)1);
    return 0;
}

static int on_timer(CURLM *m, long ms, void *u)
{
    (void)m;
    (void)u;
    ep_timeout = (int)ms;
    return 0;
}

static void set_static(CURL *e)
{
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    curl_easy_setopt(e, CURLOPT_USERAGENT, "probe");
    if (ca)
        curl_easy_setopt(e, CURLOPT_CAINFO, ca);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, ca ? 1L : 0L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
    if (connect_only)
        curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
    if (nocache) {
        curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1L);
        curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
    }
    if (nosess)
        curl_easy_setopt(e, CURLOPT_SSL_SESSIONID_CACHE, 0L);
}

static void start(void)
{
    char url[64], ip[INET_ADDRSTRLEN];
    struct in_addr a = {target(base, naddr, started++)};
    CURL *e = npool ? pool[--npool] : curl_easy_init();
    if (fresh || !rss_full)
        set_static(e);
    snprintf(url, sizeof url, "%s://%s:%d/", scheme,
             inet_ntop(AF_INET, &a, ip, sizeof ip), port);
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_multi_add_handle(multi, e);
    inflight++;
}

static void reap(void)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(multi, &left))) {
        CURL *e = m->easy_handle;
        long code = 0;
        switch (m->data.result) {
        case CURLE_OK:
            curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &code);
            if (connect_only || code == 200)
                n_ok++;
            else
                n_other++;
            break;
        case CURLE_COULDNT_CONNECT:
            n_ref++;
            break;
        case CURLE_OPERATION_TIMEDOUT:
            n_to++;
            break;
        default:
            n_other++;
        }
        curl_multi_remove_handle(multi, e);
        if (fresh)
            curl_easy_cleanup(e);
        else
            pool[npool++] = e;
        inflight--;
        done++;
    }
}

static void options(int argc, char **argv)
{
    for (int o; (o = getopt(argc, argv, "u:m:d:n:k:p:t:a:A:v:fxS1")) != -1;)
        switch (o) {
        case 'u':
            scheme = optarg;
            break;
        case 'm':
            connect_only = !strcmp(optarg, "connect");
            break;
        case 'd':
            sockdrv = !strcmp(optarg, "socket");
            break;
        case 'n':
            nprobe = (unsigned)num(optarg);
            break;
        case 'k':
            kmax = (unsigned)num(optarg);
            break;
        case 'p':
            port = num(optarg);
            break;
        case 't':
            timeout_ms = (unsigned)num(optarg);
            break;
        case 'a':
            base = inet_addr(optarg);
            break;
        case 'A':
            naddr = (unsigned)num(optarg);
            break;
        case 'v':
            ca = optarg;
            break;
        case 'f':
            fresh = true;
            break;
        case 'x':
            nocache = true;
            break;
        case '1':
            reap1 = true;
            break;
        case 'S':
            nosess = true;
            break;
        default:
            exit(2);
        }
}

static void set_up(void)
{
    curl_global_init(CURL_GLOBAL_ALL);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)(nocache ? 1 : kmax));
    ep = epoll_create1(EPOLL_CLOEXEC);
    if (sockdrv) {
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    }
    pool = calloc(kmax, sizeof *pool);
}

/* One turn of the loop. */
static void drive(void)
{
    static struct epoll_event ev[512];
    int running;
    if (sockdrv) {
        int n = epoll_wait(ep, ev, 512, ep_timeout);
        for (int i = 0; i < n; i++) {
            curl_multi_socket_action(
                multi, ev[i].data.fd,
                (ev[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                    (ev[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                    (ev[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR
                                                          : 0),
                &running);
            if (reap1)
                reap();
        }
        if (n <= 0 || ep_timeout == 0)
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    } else {
        curl_multi_poll(multi, NULL, 0, 1000, NULL);
        curl_multi_perform(multi, &running);
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
    while (!fresh && npool < kmax) { /* the kept handles, set up once */
        pool[npool] = curl_easy_init();
        set_static(pool[npool++]);
    }
    rss_full = 1;
    while (done < nprobe) {
        while (inflight < kmax && started < nprobe)
            start();
        if (rss_full == 1 && started >= kmax)
            rss_full = rss_kb();
        drive();
        reap();
    }
    char name[96];
    snprintf(name, sizeof name,
             "curl %s %s %s%s%s in-flight-rss-kb=%ld per-handle-b=%ld", scheme,
             connect_only ? "connect" : "get", sockdrv ? "socket" : "poll",
             fresh ? " fresh" : " kept", nocache ? " nocache" : "", rss_full,
             (rss_full - rss0) * 1024 / kmax);
    report(name, nprobe, kmax, n_ok, n_ref, n_to, n_other, t0, c0, rss0);
    return 0;
}
