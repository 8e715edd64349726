/* The probe engine alone, for the benches: N probes at once, the figures as
 * one line of JSON, the same keys as tests/bench/probe.c prints.
 *   probe -n N -k IN_FLIGHT -a 127.0.1.1 -A ADDRESSES -p PORT -t TIMEOUT_MS
 * Probe i goes to the address block of -a, address i modulo ADDRESSES, last
 * byte 1 to 250 (as there). -d PERCENT: so many of them, evenly spread, go
 * 0.128.0.0 higher, where a black hole should be; "false_dead" counts the
 * others that were called dead. Exit 1 when not every probe was answered. */
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
    unsigned n, in_flight, naddr, port, timeout_ms, dead_percent;
    struct addr base;
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

    while ((o = getopt(argc, argv, "n:k:a:A:p:t:d:")) != -1) {
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
        case 'a':
            if (addr_parse(optarg, &b->base) == 0 && b->base.family == 4)
                break;
            return -1;
        default:
            return -1;
        }
    }
    return optind == argc && b->n > 0 && b->naddr > 0 && b->port > 0 ? 0 : -1;
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
    (void)printf("{\"bench\":\"engine-tcp\",\"n\":%u,\"k\":%u,\"ok\":%zu,"
                 "\"refused\":%zu,\"timeout\":%zu,\"local\":%zu,"
                 "\"other\":%zu,\"false_dead\":%zu,\"peak\":%zu,\"wall_s\":%."
                 "3f,\"per_s\":%.0f,"
                 "\"user_us\":%.2f,\"sys_us\":%.2f,\"cpu_us\":%.2f,"
                 "\"rss0_kb\":%ld,\"maxrss_kb\":%ld}\n",
                 b->n, b->in_flight, b->ok, b->refused, b->timeout, b->local,
                 b->other, b->false_dead, b->peak, (double)wall_ns / 1e9,
                 n / ((double)wall_ns / 1e9), user / n, sys / n,
                 (user + sys) / n, kb_before, peak_kb());
}

int main(int argc, char **argv)
{
    struct bench b = {.n = 10000,
                      .in_flight = 1024,
                      .naddr = 10000,
                      .port = 8000,
                      .timeout_ms = 1000,
                      .base = {4, {127, 0, 1, 1}, 0}};
    struct rusage before;
    struct loop *l = loop_new();
    struct err e;
    int64_t t0;
    long kb_before;

    if (parse(&b, argc, argv) != 0) {
        (void)fprintf(stderr, "usage: probe [-n N] [-k IN_FLIGHT] "
                              "[-a 127.0.1.1] [-A ADDRESSES] [-p PORT] "
                              "[-t TIMEOUT_MS] [-d PERCENT]\n");
        return 2;
    }
    if (probes_new(l, b.in_flight, &b.probes, &e) != 0) {
        (void)fprintf(stderr, "probe: %s\n", e.msg);
        return 1;
    }
    kb_before = peak_kb();
    (void)getrusage(RUSAGE_SELF, &before);
    t0 = clock_mono_ns();
    for (unsigned i = 0; i < b.n; i++) {
        struct probe_spec spec = {PROBE_TCP, target(&b, i),
                                  (int64_t)b.timeout_ms};
        bool dead = (uint64_t)(i + 1) * b.dead_percent / 100 >
                    (uint64_t)i * b.dead_percent / 100;

        if (dead)
            spec.target.bytes[1] ^= 128;
        probes_start(b.probes, &spec, dead ? on_result : on_living, &b);
    }
    (void)loop_wait(l, &b.finished, clock_mono_ms() + 600000);
    report(&b, &before, clock_mono_ns() - t0, kb_before);
    probes_free(b.probes);
    loop_free(l);
    return b.finished ? 0 : 1;
}
