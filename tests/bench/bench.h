/* Helpers shared by the benches: clock, rusage, RSS, loopback target numbering.
 */
#ifndef BENCH_H
#define BENCH_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static inline int num(const char *s)
{
    return (int)strtol(s, NULL, 10);
}

struct cpu {
    double user, sys;
};

static inline struct cpu cpu_us(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (struct cpu){
        (double)r.ru_utime.tv_sec * 1e6 + (double)r.ru_utime.tv_usec,
        (double)r.ru_stime.tv_sec * 1e6 + (double)r.ru_stime.tv_usec};
}

static inline long rss_kb(void)
{
    long size = 0, res = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%ld %ld", &size, &res) != 2)
            res = 0;
        fclose(f);
    }
    return res * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Peak RSS of this program itself (ru_maxrss would carry over the parent's). */
static inline long peak_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

/* Target i of a block that starts at `base` (127.0.1.1, say): last
 * octet 1..250. */
static inline in_addr_t target(in_addr_t base, unsigned naddr, unsigned i)
{
    i %= naddr;
    return htonl((ntohl(base) & 0xffffff00u) + ((i / 250u) << 8) + 1u +
                 i % 250u);
}

static inline void die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void raise_nofile(void)
{
    struct rlimit rl;
    getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = rl.rlim_max;
    setrlimit(RLIMIT_NOFILE, &rl);
}

/* One JSON line with the figures that every bench reports. */
static inline void report(const char *name, unsigned n, unsigned k, unsigned ok,
                          unsigned refused, unsigned timeouts, unsigned other,
                          uint64_t t0, struct cpu c0, long rss0)
{
    double us = (double)(now_us() - t0);
    struct cpu c = cpu_us();
    printf("{\"bench\":\"%s\",\"n\":%u,\"k\":%u,\"ok\":%u,\"refused\":%u,"
           "\"timeout\":%u,\"other\":%u,"
           "\"wall_s\":%.3f,\"per_s\":%.0f,\"user_us\":%.2f,\"sys_us\":%.2f,"
           "\"cpu_us\":%.2f,"
           "\"rss0_kb\":%ld,\"maxrss_kb\":%ld}\n",
           name, n, k, ok, refused, timeouts, other, us / 1e6, n / (us / 1e6),
           (c.user - c0.user) / n, (c.sys - c0.sys) / n,
           (c.user - c0.user + c.sys - c0.sys) / n, rss0, peak_kb());
    fflush(stdout);
}
#endif
