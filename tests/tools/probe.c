/* The probe engine alone, for the benches: N probes at once, the figures as
 * one line of JSON, the same keys as tests/bench/probe.c prints.
 *   probe [-m tcp|http|https|icmp] -n N -k IN_FLIGHT -a 127.0.1.1
 *         -A ADDRESSES -p PORT -t TIMEOUT_MS [-R RATE [-G MS]] [-f N] [-v
 * CAFILE] -R: paced, in ticks of -G ms (10). -f: every N-th TLS handshake is a
 * full one. -v: verify. Probe i goes to the address block of -a, address i
 * modulo ADDRESSES, last byte 1 to 250 (as there). -d PERCENT: so many of them,
 * evenly spread, go 0.128.0.0 higher, where a black hole should be;
 * "false_dead" counts the others that were called dead. Exit 1 when not every
 * probe was answered. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/probes/probe.h"

struct bench {
    struct probes *probes;
    unsigned n, in_flight, naddr, port, timeout_ms, dead_percent, rate, tick_ms;
    unsigned started;
    unsigned full_every;
    const char *ca_file;
    enum probe_kind kind;
    struct probe_params params;
    struct addr base;
    struct loop *loop;
    int64_t t0;
    size_t done, ok, refused, timeout, local, other, false_dead, peak;
    bool finished;
};

static void on_result(void *arg, const struct probe_result *r)
{
    struct bench *b = arg;
    size_t open = probes_in_flight(b->probes) + 1;

    if (open > b->peak)
        b->peak = open;
    if (r->verdict == PROBE_OK)
        b->ok++;
    else if (r->verdict == PROBE_LOCAL)
        b->local++;
    else if (r->reason == PROBE_CONNECT)
        b->refused++;
    else if (r->reason == PROBE_TIMEOUT)
        b->timeout++;
    else
        b->other++;
    b->finished = ++b->done == b->n;
}

static void on_living(void *arg, const struct probe_result *r)
{
    struct bench *b = arg;

    if (r->verdict == PROBE_FAIL)
        b->false_dead++;
    on_result(arg, r);
}

static struct addr target(const struct bench *b, unsigned i)
{
    struct addr a = b->base;
    unsigned net;

    i %= b->naddr;
    net = ((unsigned)a.bytes[1] << 8 | a.bytes[2]) + i / 250;
    a.bytes[1] = (uint8_t)(net >> 8);
    a.bytes[2] = (uint8_t)net;
    a.bytes[3] = (uint8_t)(1 + i % 250);
    a.port = (uint16_t)b->port;
    return a;
}

static int parse(struct bench *b, int argc, char **argv)
{
    int o;

    while ((o = getopt(argc, argv, "n:k:a:A:p:t:d:m:R:G:f:v:")) != -1) {
        unsigned v = (unsigned)strtoul(optarg != NULL ? optarg : "", NULL, 10);

        switch (o) {
        case 'n':
            b->n = v;
            break;
        case 'k':
            b->in_flight = v;
            break;
        case 'A':
            b->naddr = v;
            break;
        case 'p':
            b->port = v;
            break;
        case 'd':
            b->dead_percent = v;
            break;
        case 't':
            b->timeout_ms = v;
            break;
        case 'R':
            b->rate = v;
            break;
        case 'G':
            b->tick_ms = v;
            break;
        case 'f':
            b->full_every = v;
            break;
        case 'v':
            b->ca_file = optarg;
            break;
        case 'm':
            if (probe_kind_find(optarg, &b->kind))
                break;
            return -1;
        case 'a':
            if (addr_parse(optarg, &b->base) == 0 && b->base.family == 4)
                break;
            return -1;
        default:
            return -1;
        }
    }
    return optind == argc && b->n > 0 && b->naddr > 0 && b->port > 0 &&
                   b->tick_ms > 0
               ? 0
               : -1;
}

static double cpu_us(const struct timeval *t)
{
    return (double)t->tv_sec * 1e6 + (double)t->tv_usec;
}

/* Peak memory of this program itself; ru_maxrss would carry over its
 * parent's. */
static long peak_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "re");

    if (f == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    (void)fclose(f);
    return kb;
}

static void report(const struct bench *b, const struct rusage *before,
                   int64_t wall_ns, long kb_before)
{
    struct rusage r;
    double user, sys, n = (double)b->n;

    (void)getrusage(RUSAGE_SELF, &r);
    user = cpu_us(&r.ru_utime) - cpu_us(&before->ru_utime);
    sys = cpu_us(&r.ru_stime) - cpu_us(&before->ru_stime);
    (void)printf("{\"bench\":\"engine-%s\",\"n\":%u,\"k\":%u,\"ok\":%zu,"
                 "\"refused\":%zu,\"timeout\":%zu,\"local\":%zu,"
                 "\"other\":%zu,\"false_dead\":%zu,\"peak\":%zu,\"wall_s\":%."
                 "3f,\"per_s\":%.0f,"
                 "\"user_us\":%.2f,\"sys_us\":%.2f,\"cpu_us\":%.2f,"
                 "\"rss0_kb\":%ld,\"maxrss_kb\":%ld}\n",
                 probe_kind_name(b->kind), b->n, b->in_flight, b->ok,
                 b->refused, b->timeout, b->local, b->other, b->false_dead,
                 b->peak, (double)wall_ns / 1e9, n / ((double)wall_ns / 1e9),
                 user / n, sys / n, (user + sys) / n, kb_before, peak_kb());
}

static void start_one(struct bench *b)
{
    unsigned i = b->started++;
    struct probe_spec spec = {b->kind, target(b, i), (int64_t)b->timeout_ms,
                              &b->params};
    bool dead = (uint64_t)(i + 1) * b->dead_percent / 100 >
                (uint64_t)i * b->dead_percent / 100;

    if (dead)
        spec.target.bytes[1] ^= 128;
    probes_start(b->probes, &spec, dead ? on_result : on_living, b);
}

/* What is due by now, then a pause. */
static void on_tick(void *arg)
{
    struct bench *b = arg;
    uint64_t due =
        (uint64_t)(clock_mono_ns() - b->t0) * b->rate / 1000000000 + 1;

    while (b->started < b->n && b->started < due)
        start_one(b);
    if (b->started < b->n)
        (void)loop_timer_start(b->loop, b->tick_ms, on_tick, b);
}

static void run(struct bench *b)
{
    if (b->rate > 0)
        on_tick(b);
    else
        while (b->started < b->n)
            start_one(b);
    (void)loop_wait(b->loop, &b->finished, clock_mono_ms() + 600000);
}

static const char usage[] =
    "usage: probe [-m KIND] [-n N] [-k IN_FLIGHT] [-a 127.0.1.1]\n"
    "             [-A ADDRESSES] [-p PORT] [-t TIMEOUT_MS] [-d PERCENT]\n"
    "             [-R RATE [-G MS]] [-f N] [-v CAFILE]\n";

int main(int argc, char **argv)
{
    struct bench b = {.n = 10000,
                      .in_flight = 1024,
                      .naddr = 10000,
                      .port = 8000,
                      .timeout_ms = 1000,
                      .tick_ms = 10,
                      .base = {4, {127, 0, 1, 1}, 0},
                      .params = {.host = "probe"}};
    struct probe_hooks hooks = {0};
    struct rusage before;
    struct err e;
    long kb_before;

    if (parse(&b, argc, argv) != 0) {
        (void)fputs(usage, stderr);
        return 2;
    }
    b.loop = loop_new();
    hooks.ca_file = b.ca_file;
    hooks.tls_full_every = b.full_every;
    b.params.no_verify = b.ca_file == NULL;
    if (probes_new(b.loop, b.in_flight, &b.probes, &e) != 0) {
        (void)fprintf(stderr, "probe: %s\n", e.msg);
        return 1;
    }
    probes_set_hooks(b.probes, &hooks);
    kb_before = peak_kb();
    (void)getrusage(RUSAGE_SELF, &before);
    b.t0 = clock_mono_ns();
    run(&b);
    report(&b, &before, clock_mono_ns() - b.t0, kb_before);
    probes_free(b.probes);
    loop_free(b.loop);
    return b.finished ? 0 : 1;
}
