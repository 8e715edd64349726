#ifndef TESTS_UNIT_CHECK_WORLD_H
#define TESTS_UNIT_CHECK_WORLD_H

#include "tests/unit/probe_targets.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/engine/checks/check_run.h"

/* What the tests of a run of checks share: checks of loopback targets, real
 * probes, and how long it takes. */

struct world {
    struct loop *loop;
    struct probes *probes;
    struct state *state;
    struct checks *checks;
    struct check_run *run; /* NULL: not begun */
    size_t told;
    struct spec_check specs[8];
    size_t nspecs;
};

static inline void world_init_at_most(struct world *w, size_t in_flight)
{
    struct err e;

    memset(w, 0, sizeof *w);
    w->loop = loop_new();
    assert_int_equal(probes_new(w->loop, in_flight, &w->probes, &e), 0);
    assert_int_equal(state_open(NULL, false, &w->state, &e), 0);
    w->checks = checks_new(w->state);
}

static inline void world_init(struct world *w)
{
    world_init_at_most(w, 0);
}

static inline void world_fini(struct world *w)
{
    check_run_free(w->run);
    probes_free(w->probes);
    checks_free(w->checks);
    loop_free(w->loop);
    state_close(w->state);
}

static inline struct spec_check spec_of(uint16_t port, uint32_t need)
{
    struct spec_check c;

    memset(&c, 0, sizeof c);
    c.kind = SPEC_CHECK_TCP;
    c.port = port;
    c.timeout_ms = 2000;
    c.access_period_ms = 10000;
    c.retry_period_ms = 100;
    c.required_success = c.required_failure = need;
    c.pointer = "/records/0/check";
    return c;
}

/* A check of a record with that address. The registry borrows its spec. */
static inline struct check *add_spec(struct world *w, struct spec_check c,
                                     const struct addr *at)
{
    struct spec_record rec;

    memset(&rec, 0, sizeof rec);
    rec.addr = *at;
    assert_true(w->nspecs < sizeof w->specs / sizeof w->specs[0]);
    w->specs[w->nspecs] = c;
    return checks_add(w->checks, &w->specs[w->nspecs++], &rec, state_now_ms());
}

static inline struct check *add(struct world *w, const struct addr *at,
                                uint32_t need)
{
    return add_spec(w, spec_of(at->port, need), at);
}

/* done never exceeds all, and does not fall. */
static inline void on_progress(void *arg, size_t done, size_t all)
{
    struct world *w = arg;

    assert_true(done <= all);
    assert_true(done >= w->told);
    w->told = done;
}

static inline struct check_run *running(struct world *w)
{
    const struct check_run_env env = {w->loop, w->probes, NULL, NULL};

    w->run = w->run != NULL ? w->run : check_run_new(&env, w->checks);
    return w->run;
}

/* returns how long it took, in milliseconds */
static inline int64_t run(struct world *w, int64_t limit_ms)
{
    int64_t start_ms = clock_mono_ms();

    w->told = 0;
    check_run_go(running(w), start_ms + limit_ms, on_progress, w);
    return clock_mono_ms() - start_ms;
}

/* Lets the loop run on, as the later stages of a round do. */
static inline void idle(struct world *w, int64_t ms)
{
    const bool never = false;

    assert_false(loop_wait(w->loop, &never, clock_mono_ms() + ms));
}

static inline void unhang(int fd, const int fill[2])
{
    (void)close(fd);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

/* Times on a busy machine: never less, and not absurdly more. */
static inline void expect_ms(int64_t took_ms, int64_t least_ms, int64_t most_ms)
{
    if (took_ms < least_ms || took_ms > most_ms)
        fail_msg("took %lld ms, wanted %lld to %lld", (long long)took_ms,
                 (long long)least_ms, (long long)most_ms);
}

static inline void expect_of(struct world *w, const struct check *k,
                             enum health_state state, uint32_t results)
{
    const struct check_run_result *res = check_run_of(running(w), k);

    if (k->row->health.state != state || res->results != results)
        fail_msg("%s: %s after %u results (%s), wanted %s after %u",
                 k->row->key, health_state_name(k->row->health.state),
                 res->results, k->row->note != NULL ? k->row->note : "",
                 health_state_name(state), results);
}

#endif
