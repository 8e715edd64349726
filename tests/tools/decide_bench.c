#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/engine/world/live.h"

/* What deciding costs, without any network:
 *
 *     decide_bench parse N     N specs of 900 bytes, read and merged
 *     decide_bench decide N    N such specs: everything decided again, and
 *                              what one check that changed costs
 *
 * Prints one JSON line; times are CPU. */

#define ZONE "example.org."
#define BYTES 900u
#define CHOSEN 100 /* checks that change, spread over all */
#define TURNS 200

static double cpu_us(void)
{
    struct timespec ts = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static long peak_kb(void)
{
    struct rusage ru;

    return getrusage(RUSAGE_SELF, &ru) == 0 ? ru.ru_maxrss : 0;
}

/* --- specs ---------------------------------------------------------------- */

static const char apex_text[] =
    "{\"defaults\":{\"accessPeriod\":\"10s\",\"timeout\":\"2s\",\"ttl\":60},"
    "\"checks\":{\"witness\":\"tcp:443@198.51.100.1\"},"
    "\"dcs\":{\"dc3\":{\"wanAccess\":[\"tcp:443@198.51.100.3\"],"
    "\"noResponse\":true}}}";

/* Three data centres, a scenario, DR and fallback; filled up to BYTES. */
static char *make_text(size_t i)
{
    unsigned a = 11 + (unsigned)(i / 65536) * 3, b = i / 256 % 256, c = i % 256;
    struct buf t;

    buf_init(&t, BYTES + 1);
    buf_printf(&t,
               "{\"checks\":{\"web\":\"http:8080/healthz\"},"
               "\"dcs\":{\"dc1\":{\"wanAccess\":[\"tcp:443@%u.%u.%u.1\"],"
               "\"lanAccess\":[\"tcp:22@%u.%u.%u.5\",\"tcp:22@%u.%u.%u.6\"]},"
               "\"dc2\":{\"wanAccess\":[\"tcp:443@%u.%u.%u.2\"]}},"
               "\"scenarios\":{\"serves1\":[[\"dc1\",\"web\"],"
               "[\"auto|dc1|wanAccess\",\"!dc2\",\"witness\"]]},"
               "\"order\":\"priority\",\"records\":["
               "{\"data\":\"%u.%u.%u.1\",\"dc\":\"dc1\",\"check\":\"web\","
               "\"if\":\"serves1\",\"returnAfter\":\"1m\"},"
               "{\"data\":\"%u.%u.%u.2\",\"dc\":\"dc2\",\"check\":\"web\"},"
               "{\"data\":\"%u.%u.%u.3\",\"dc\":\"dc3\",\"check\":443},"
               "{\"data\":\"%u.%u.%u.4\",\"drIfNoRecords\":true}],"
               "\"fallbackRecords\":[{\"data\":\"203.0.113.200\"}],"
               "\"comment\":\"",
               a, b, c, a, b, c, a, b, c, a, b, c, a, b, c, a, b, c, a, b, c, a,
               b, c);
    while (t.len < BYTES - 2)
        buf_char(&t, 'x');
    buf_str(&t, "\"}");
    return buf_take(&t);
}

static struct spec *read_one(const char *text, size_t len, const char *owner,
                             const struct spec *apex)
{
    const struct spec_context ctx = {
        .owner = owner, .zone = ZONE, .apex = apex};
    struct spec_string strings[8];
    struct spec_txt txt = {strings, 0};
    struct spec *s = NULL;
    struct err e;

    for (size_t at = 0; at < len; at += 255) {
        strings[txt.nstrings].data = text + at;
        strings[txt.nstrings++].len = len - at < 255 ? len - at : 255;
    }
    if (spec_parse(&txt, 1, &ctx, &s, &e) != 0) {
        (void)fprintf(stderr, "decide_bench: %s\n", e.msg);
        exit(1);
    }
    return s;
}

/* A spec before it is read. */
struct input {
    char *text, owner[32];
    size_t len;
};

static void make_input(size_t i, struct input *in)
{
    in->text = make_text(i);
    in->len = strlen(in->text);
    (void)snprintf(in->owner, sizeof in->owner, "n%zu." ZONE, i);
}

static int parse(size_t n)
{
    struct spec *apex = read_one(apex_text, sizeof apex_text - 1, ZONE, NULL);
    struct input *in = mem_array(n, sizeof *in);
    struct spec **specs = mem_array(n, sizeof *specs);
    double t0, us;

    for (size_t i = 0; i < n; i++)
        make_input(i, &in[i]);
    t0 = cpu_us();
    for (size_t i = 0; i < n; i++)
        specs[i] = read_one(in[i].text, in[i].len, in[i].owner, apex);
    us = cpu_us() - t0;
    (void)printf("{\"n\":%zu,\"bytes\":%zu,\"parse_us\":%.3f,"
                 "\"peak_kb\":%ld}\n",
                 n, in[0].len, us / (double)n, peak_kb());
    for (size_t i = 0; i < n; i++) {
        spec_free(specs[i]);
        free(in[i].text);
    }
    spec_free(apex);
    free(specs);
    free(in);
    return 0;
}

/* --- deciding ------------------------------------------------------------- */

struct bench {
    struct spec *apex, **specs;
    size_t n;
    struct arena *arena;
    struct state *state;
    struct checks *checks;
    struct world *w;
    struct live *live;
    int64_t now_ms;
};

static void ignore_refused(void *arg, const char *where, const struct err *e)
{
    (void)arg;
    (void)where;
    (void)e;
}

static void ignore_conflict(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void ignore_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    (void)name;
    (void)data;
}

static void feed(struct bench *b, size_t check, enum health_result r)
{
    struct check *c = checks_at(b->checks, check);
    uint32_t n =
        r == HEALTH_OK ? c->spec->required_success : c->spec->required_failure;

    b->now_ms++;
    for (uint32_t i = 0; i < n; i++)
        (void)live_result(b->live, c, r, b->now_ms);
}

static void step(struct bench *b)
{
    while (live_step(b->live, false, b->now_ms)) {
        size_t n;
        const size_t *sets = live_sets(b->live, &n);
        size_t *copy = mem_array(n, sizeof *copy);

        memcpy(copy, sets, n * sizeof *copy);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < b->w->plan.sets[copy[i]].nvalues; k++)
                if (plan_is_change(&b->w->plan.sets[copy[i]].values[k]))
                    live_done(b->live, copy[i], k, b->now_ms);
        free(copy);
    }
}

static void start(struct bench *b, size_t n)
{
    const struct world_events ev = {ignore_refused, ignore_conflict,
                                    ignore_opted_out, NULL};
    struct err e;

    memset(b, 0, sizeof *b);
    b->n = n;
    b->now_ms = 1000000;
    b->apex = read_one(apex_text, sizeof apex_text - 1, ZONE, NULL);
    b->specs = mem_array(n, sizeof *b->specs);
    for (size_t i = 0; i < n; i++) {
        struct input in;

        make_input(i, &in);
        b->specs[i] = read_one(in.text, in.len, in.owner, b->apex);
        free(in.text);
    }
    b->arena = arena_new();
    if (state_open(NULL, false, &b->state, &e) != 0) {
        (void)fprintf(stderr, "decide_bench: %s\n", e.msg);
        exit(1);
    }
    b->checks = checks_new(b->state);
    b->w = world_new(b->arena, ZONE, (const struct spec *const *)b->specs, n,
                     b->state, b->checks, NULL, NULL, NULL, b->now_ms, &ev);
    for (size_t i = 0; i < b->w->plan.nsets; i++)
        b->w->plan.sets[i].observed = true;
    b->live = live_new(b->w, state_zone_get(b->state, ZONE), LIVE_DEBOUNCE_MS,
                       b->now_ms);
    for (size_t i = 0; i < checks_count(b->checks); i++)
        feed(b, i, HEALTH_OK);
    step(b);
    b->now_ms += LIVE_DEBOUNCE_MS;
    step(b);
    b->now_ms += 3600 * 1000;
}

static void stop(struct bench *b)
{
    live_free(b->live);
    world_free(b->w);
    checks_free(b->checks);
    state_close(b->state);
    arena_free(b->arena);
    for (size_t i = 0; i < b->n; i++)
        spec_free(b->specs[i]);
    spec_free(b->apex);
    free(b->specs);
}

/* Everything again, as a round does it; per spec. */
static double decide_all(struct bench *b)
{
    struct plan_zone all = b->w->plan;
    double best = 1e30;

    all.some = NULL;
    all.counted = false;
    all.stood = 0;
    for (int i = 0; i < 5; i++) {
        double t0 = cpu_us(), us;

        world_touch_all(b->w);
        (void)world_judge(b->w, b->now_ms);
        world_clear_judged(b->w);
        plan_make(&all);
        us = cpu_us() - t0;
        best = us < best ? us : best;
    }
    return best / (double)b->n;
}

/* One check goes down and up again; per change. stride: between the checks
 * that take turns. */
static double decide_single(struct bench *b, size_t stride, size_t chosen,
                            size_t turns)
{
    size_t n = checks_count(b->checks);
    double t0 = cpu_us();

    for (size_t turn = 0; turn < turns; turn++)
        for (size_t i = 0; i < chosen; i++) {
            /* Those of the apex spec are everybody's: left out. */
            size_t check = i * stride % n;

            if (b->w->first[check + 1] - b->w->first[check] > 4)
                continue;
            feed(b, check, HEALTH_FAIL);
            step(b);
            feed(b, check, HEALTH_OK);
            step(b);
        }
    return (cpu_us() - t0) / (double)(2 * turns * chosen);
}

static int decide(size_t n)
{
    struct bench b;
    double all, single, cold;
    size_t nchecks;

    start(&b, n);
    nchecks = checks_count(b.checks);
    all = decide_all(&b);
    (void)decide_single(&b, nchecks / CHOSEN, CHOSEN, 1);
    single = decide_single(&b, nchecks / CHOSEN, CHOSEN, TURNS);
    cold = decide_single(&b, 7919, 20000, 1);
    (void)printf("{\"n\":%zu,\"checks\":%zu,\"all_us\":%.3f,"
                 "\"single_us\":%.3f,\"cold_us\":%.3f,\"peak_kb\":%ld}\n",
                 n, nchecks, all, single, cold, peak_kb());
    stop(&b);
    return 0;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    unsigned long n = argc == 3 ? strtoul(argv[2], &end, 10) : 0;

    if (n >= 1000 && n <= 1000000 && *end == '\0') {
        if (strcmp(argv[1], "parse") == 0)
            return parse(n);
        if (strcmp(argv[1], "decide") == 0)
            return decide(n);
    }
    (void)fputs("usage: decide_bench parse|decide N   (1000…1000000)\n",
                stderr);
    return 2;
}
