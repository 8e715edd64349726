#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

/* What it costs to learn a configuration's specs anew, by the engine's own
 * stages: servers, lists, texts, and the reading of the texts.
 *
 *     refresh_bench CONFIG TIMES
 *
 * All looks share one resolver and one memory, as those of `run` do: the
 * first knows nothing, the others every owner. Prints a JSON line for each:
 * owners, specs in force that this look read, those that no look-up found,
 * wall time, CPU for each owner. */

#define DEADLINE_MS 120000

struct bench {
    struct config *cfg;
    struct round_options options;
    struct loop *loop;
    struct http *http;
    struct resolver *resolver;
    struct state *state;
    size_t problems;
};

static void die(const struct err *e)
{
    (void)fprintf(stderr, "refresh_bench: %s\n", e->msg);
    exit(1);
}

static double cpu_us(void)
{
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void on_event(void *arg, const struct round_event *ev)
{
    struct bench *b = arg;

    if (ev->kind == ROUND_PROBLEM && b->problems++ == 0)
        (void)fprintf(stderr, "refresh_bench: %s\n", ev->text);
}

static void open_all(struct bench *b, const char *file)
{
    const struct config_schema schemas[] = {
        {"zonefile", provider_find("zonefile")->fields}, {NULL, NULL}};
    struct resolver_options ro = {0};
    struct err e;

    if (config_load(file, schemas, &b->cfg, &e) != 0)
        die(&e);
    b->options.sink = on_event;
    b->options.sink_arg = b;
    b->options.deadline_ms = DEADLINE_MS;
    b->loop = loop_new();
    b->http = http_new(b->loop);
    ro.servers = b->cfg->resolvers;
    ro.nservers = b->cfg->nresolvers;
    if (resolver_new(b->loop, &ro, &b->resolver, &e) != 0 ||
        state_open(NULL, false, &b->state, &e) != 0)
        die(&e);
}

static void print(const struct round *r, double wall_ms, double us)
{
    size_t owners = 0, specs = 0, failed = 0;

    for (size_t i = 0; i < r->nzones; i++) {
        const struct round_zone *z = r->zones[i];

        for (size_t k = 0; k < z->nowners; k++) {
            const struct round_owner *o = z->owners[k];

            owners += o != z->apex;
            specs += o->spec != NULL && o->outcome == RESOLVER_FOUND;
            failed += o->outcome == RESOLVER_FAILED;
        }
    }
    (void)printf("{\"bench\":\"refresh\",\"n\":%zu,\"ok\":%zu,\"failed\":%zu,"
                 "\"wall_s\":%.4f,\"cpu_us\":%.2f}\n",
                 owners, specs, failed, wall_ms / 1e3,
                 us / (double)(owners > 0 ? owners : 1));
}

static void look(struct bench *b)
{
    struct round r = {.cfg = b->cfg,
                      .o = &b->options,
                      .loop = b->loop,
                      .http = b->http,
                      .resolver = b->resolver,
                      .state = b->state,
                      .idle = true};
    double us;
    int64_t t0;

    r.arena = arena_new();
    r.start_ms = clock_mono_ms();
    r.end_ms = r.start_ms + DEADLINE_MS;
    round_open_providers(&r);
    us = cpu_us();
    t0 = clock_mono_ns();
    round_find_zones(&r);
    round_discover(&r);
    round_read_specs(&r);
    print(&r, (double)(clock_mono_ns() - t0) / 1e6, cpu_us() - us);
    round_close_providers(&r);
    for (size_t i = 0; i < r.nzones; i++) {
        for (size_t k = 0; k < r.zones[i]->nowners; k++)
            spec_free(r.zones[i]->owners[k]->spec);
        free(r.zones[i]->owners);
    }
    free(r.zones);
    arena_free(r.reading);
    arena_free(r.arena);
}

int main(int argc, char **argv)
{
    struct bench b = {0};

    if (argc != 3) {
        (void)fputs("usage: refresh_bench CONFIG TIMES\n", stderr);
        return 2;
    }
    open_all(&b, argv[1]);
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
        look(&b);
    resolver_free(b.resolver);
    http_free(b.http);
    loop_free(b.loop);
    state_close(b.state);
    config_free(b.cfg);
    return b.problems > 0;
}
