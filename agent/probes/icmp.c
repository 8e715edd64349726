#include "agent/probes/icmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/base/mem.h"
#include "agent/probes/net.h"

/* RFC 792, RFC 4443; an echo holds tag and token after its 8 bytes of
 * header. */
enum {
    V4_REPLY = 0,
    V4_UNREACHABLE = 3,
    V4_REQUEST = 8,
    V6_UNREACHABLE = 1,
    V6_REQUEST = 128,
    V6_REPLY = 129,
    HEADER = 8,
    IP6_HEADER = 40,
    TOKENS = 512,
    READS = 8 /* batches in a row */
};

struct icmp {
    int fd;
    int family;
    bool raw;
    uint16_t id;
    size_t nout; /* in out */
    struct net_icmp_packet out[NET_ICMP_BATCH];
    uint64_t tags[NET_ICMP_BATCH]; /* of out */
    struct net_icmp_packet in[NET_ICMP_BATCH];
    size_t ntokens;
    uint64_t tokens[TOKENS]; /* random numbers in stock */
};

static uint64_t token_new(struct icmp *m)
{
    if (m->ntokens == 0) {
        char *p = (char *)m->tokens;
        size_t have = 0;

        while (have < sizeof m->tokens) {
            ssize_t n = getrandom(p + have, sizeof m->tokens - have, 0);

            if (n < 0 && errno != EINTR)
                abort(); /* no such system call: nothing works here */
            have += n > 0 ? (size_t)n : 0;
        }
        m->ntokens = TOKENS;
    }
    return m->tokens[--m->ntokens];
}

struct icmp *icmp_get(struct probe_env *env, int family)
{
    struct icmp **slot = &env->icmp[family == 6];
    bool raw = false;
    int fd;

    if (*slot != NULL)
        return *slot;
    fd = net_icmp_open(family, &raw);
    if (fd < 0)
        return NULL;
    if (net_set_add(env->set, fd, NET_IN, ICMP_TAG((unsigned)family)) != 0) {
        int error = errno;

        (void)close(fd);
        errno = error;
        return NULL;
    }
    *slot = mem_alloc(sizeof **slot);
    (*slot)->fd = fd;
    (*slot)->family = family;
    (*slot)->raw = raw;
    (*slot)->id = (uint16_t)token_new(*slot);
    return *slot;
}

void icmp_free(struct icmp *m)
{
    if (m == NULL)
        return;
    (void)close(m->fd);
    free(m);
}

/* --- sending -------------------------------------------------------------- */

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* RFC 1071 */
static uint16_t checksum(const uint8_t *p, size_t n)
{
    uint32_t sum = 0;

    for (size_t i = 0; i + 1 < n; i += 2)
        sum += get16(p + i);
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t) ~(sum + (sum >> 16));
}

static int icmp_start(struct probe_run *run, struct probe_result *r)
{
    struct icmp *m = icmp_get(run->env, run->spec.target.family);
    struct net_icmp_packet *k;

    if (m == NULL) {
        probe_not_started(r, errno);
        if (errno == EPERM || errno == EACCES)
            (void)probe_local(r, PROBE_NO_NET,
                              "needs CAP_NET_RAW or ping_group_range");
        return -1;
    }
    run->u.token = token_new(m);
    k = &m->out[m->nout];
    m->tags[m->nout++] = run->tag;
    k->peer = run->spec.target;
    k->peer.port = 0;
    k->len = NET_ICMP_SIZE;
    memset(k->data, 0, NET_ICMP_SIZE);
    k->data[0] = m->family == 6 ? V6_REQUEST : V4_REQUEST;
    put16(k->data + 4, m->id);
    put16(k->data + 6, (uint16_t)run->tag);
    memcpy(k->data + HEADER, &run->tag, sizeof run->tag);
    memcpy(k->data + HEADER + 8, &run->u.token, sizeof run->u.token);
    if (m->family == 4) /* IPv6: the kernel's business */
        put16(k->data + 2, checksum(k->data, NET_ICMP_SIZE));
    return 0;
}

bool icmp_is_full(const struct probe_env *env)
{
    for (int i = 0; i < 2; i++)
        if (env->icmp[i] != NULL && env->icmp[i]->nout == NET_ICMP_BATCH)
            return true;
    return false;
}

/* returns true when the socket is full */
static bool flush(struct probe_env *env, struct icmp *m)
{
    size_t sent = 0;
    uint64_t failed[NET_ICMP_BATCH];
    int errors[NET_ICMP_BATCH];
    size_t nfailed = 0;

    while (sent < m->nout) {
        int n = net_icmp_send(m->fd, m->out + sent, m->nout - sent);

        if (n > 0) {
            sent += (size_t)n;
            continue;
        }
        if (errno == EAGAIN || errno == EINTR)
            break;
        failed[nfailed] = m->tags[sent++];
        errors[nfailed++] = errno;
    }
    memmove(m->out, m->out + sent, (m->nout - sent) * sizeof m->out[0]);
    memmove(m->tags, m->tags + sent, (m->nout - sent) * sizeof m->tags[0]);
    m->nout -= sent;
    sent = m->nout;
    for (size_t i = 0; i < nfailed && !env->freed; i++) {
        struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

        probe_not_started(&r, errors[i]);
        probe_run_finish(env, failed[i], &r);
    }
    return sent > 0;
}

bool icmp_flush(struct probe_env *env)
{
    bool more = false;

    for (int i = 0; i < 2 && !env->freed; i++)
        if (env->icmp[i] != NULL && env->icmp[i]->nout > 0)
            more = flush(env, env->icmp[i]) || more;
    return more;
}

/* --- receiving ------------------------------------------------------------ */

static void take_echo(const uint8_t *p, size_t len, struct icmp_news *out,
                      enum icmp_kind kind)
{
    if (len < HEADER + 16)
        return;
    out->id = get16(p + 4);
    out->seq = get16(p + 6);
    memcpy(&out->tag, p + HEADER, sizeof out->tag);
    memcpy(&out->token, p + HEADER + 8, sizeof out->token);
    out->kind = kind;
}

/* Skips an IPv4 header that holds ICMP. returns its length, 0: not one */
static size_t ip4_header(const uint8_t *p, size_t len)
{
    size_t n = len > 0 ? (size_t)(p[0] & 15) * 4 : 0;

    return len >= 20 && p[0] >> 4 == 4 && n >= 20 && n <= len && p[9] == 1 ? n
                                                                           : 0;
}

/* What an "unreachable" quotes: our request, from its IP header on. */
static void take_quote(const uint8_t *p, size_t len, int family,
                       struct icmp_news *out)
{
    size_t n = family == 4 ? ip4_header(p, len)
               : len >= IP6_HEADER && p[0] >> 4 == 6 && p[6] == 58
                   ? (size_t)IP6_HEADER
                   : 0;

    if (n == 0 || len < n + HEADER ||
        p[n] != (family == 4 ? V4_REQUEST : V6_REQUEST))
        return;
    out->about.family = (uint8_t)family;
    if (family == 4)
        memcpy(out->about.bytes, p + 16, 4);
    else
        memcpy(out->about.bytes, p + 24, 16);
    take_echo(p + n, len - n, out, ICMP_UNREACHABLE);
}

void icmp_parse(const uint8_t *p, size_t len, bool has_ip, int family,
                struct icmp_news *out)
{
    size_t n = has_ip ? ip4_header(p, len) : 0;

    memset(out, 0, sizeof *out);
    out->kind = ICMP_OTHER;
    if ((has_ip && n == 0) || len < n + HEADER)
        return;
    p += n;
    len -= n;
    if (p[0] == (family == 4 ? V4_REPLY : V6_REPLY) && p[1] == 0)
        take_echo(p, len, out, ICMP_REPLY);
    else if (p[0] == (family == 4 ? V4_UNREACHABLE : V6_UNREACHABLE))
        take_quote(p + HEADER, len - HEADER, family, out);
}

static void take(struct probe_env *env, const struct icmp *m,
                 const struct net_icmp_packet *k)
{
    struct icmp_news news;
    struct probe_run *run;
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

    icmp_parse(k->data, k->len, m->raw && m->family == 4, m->family, &news);
    if (news.kind == ICMP_OTHER)
        return;
    run = probe_run_find(env, news.tag);
    /* A datagram socket has an id of the kernel's choice, which the kernel
     * compares. */
    if (run == NULL || run->spec.kind != PROBE_ICMP ||
        run->u.token != news.token || news.seq != (uint16_t)run->tag ||
        (m->raw && news.id != m->id) ||
        !addr_equal(news.kind == ICMP_REPLY ? &k->peer : &news.about,
                    &run->spec.target))
        return;
    if (news.kind == ICMP_UNREACHABLE)
        probe_answered(&r, EHOSTUNREACH);
    probe_run_finish(env, news.tag, &r);
}

void icmp_read(struct probe_env *env, int family)
{
    size_t n = NET_ICMP_BATCH;

    for (int i = 0; i < READS && n == NET_ICMP_BATCH; i++) {
        struct icmp *m = env->icmp[family == 6];

        n = net_icmp_recv(m->fd, m->in);
        for (size_t k = 0; k < n; k++) {
            take(env, m, &m->in[k]);
            if (env->freed)
                return;
        }
    }
}

const struct probe_ops probe_icmp = {
    .name = "icmp",
    .default_timeout_ms = 2000,
    .lane = PROBE_LANE_NONE,
    .no_port = true,
    .start = icmp_start,
};
