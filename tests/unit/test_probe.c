#include "tests/unit/probe_targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/probes/probe.h"

struct world {
    struct loop *loop;
    struct probes *probes;
    size_t want, got, verdicts[3], reasons[PROBE_NREASONS], peak;
    struct probe_result last;
    int no_fd_errno;
    int64_t max_us;
    bool done;
};

static void world_init(struct world *w, size_t max_in_flight)
{
    struct err e;

    memset(w, 0, sizeof *w);
    w->loop = loop_new();
    assert_int_equal(probes_new(w->loop, max_in_flight, &w->probes, &e), 0);
}

static void world_fini(struct world *w)
{
    probes_free(w->probes);
    loop_free(w->loop);
}

static void on_result(void *arg, const struct probe_result *r)
{
    struct world *w = arg;

    w->last = *r;
    if (r->elapsed_us > w->max_us)
        w->max_us = r->elapsed_us;
    w->verdicts[r->verdict]++;
    w->reasons[r->reason]++;
    if (r->reason == PROBE_NO_FD)
        w->no_fd_errno = r->sys_errno;
    if (probes_in_flight(w->probes) > w->peak)
        w->peak = probes_in_flight(w->probes);
    w->done = ++w->got == w->want;
}

static void start(struct world *w, const struct addr *at, int64_t timeout_ms)
{
    const struct probe_spec spec = {PROBE_TCP, *at, timeout_ms};

    w->want++;
    probes_start(w->probes, &spec, on_result, w);
}

static void finish(struct world *w)
{
    w->done = w->got == w->want;
    assert_true(loop_wait(w->loop, &w->done, clock_mono_ms() + 60000));
    assert_int_equal(probes_in_flight(w->probes), 0);
    assert_int_equal(probes_waiting(w->probes), 0);
}

static void one(const struct addr *at, int64_t timeout_ms,
                struct probe_result *r)
{
    struct world w;

    world_init(&w, 0);
    start(&w, at, timeout_ms);
    assert_int_equal(w.got, 0); /* never from inside the start */
    finish(&w);
    *r = w.last;
    world_fini(&w);
}

static void expect(const struct addr *at, enum probe_verdict verdict,
                   enum probe_reason reason, int sys_errno)
{
    struct probe_result r;

    one(at, 5000, &r);
    assert_int_equal(r.verdict, verdict);
    assert_int_equal(r.reason, reason);
    assert_int_equal(r.sys_errno, sys_errno);
    assert_true(r.elapsed_us >= 0 && r.elapsed_us < 5000000);
}

static void test_alive_and_refused(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "127.3.2.1", "::1"};

    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct addr at;
        int fd = target_listen(hosts[i], &at);

        expect(&at, PROBE_OK, PROBE_FINE, 0);
        (void)close(fd);
        fd = target_bind(hosts[i], &at);
        expect(&at, PROBE_FAIL, PROBE_CONNECT, ECONNREFUSED);
        (void)close(fd);
    }
}

/* One hanging target that is judged: a machine so busy that the test itself
 * is late gets another try. */
static void hang(struct world *w, const struct addr *at, int64_t timeout_ms)
{
    for (int i = 0; i < 10; i++) {
        start(w, at, timeout_ms);
        finish(w);
        if (w->last.reason != PROBE_LATE)
            break;
    }
    assert_int_equal(w->last.verdict, PROBE_FAIL);
    assert_int_equal(w->last.reason, PROBE_TIMEOUT);
    assert_int_equal(w->last.sys_errno, 0);
    assert_true(w->last.elapsed_us >= timeout_ms * 1000);
}

static void test_hanging(void **state)
{
    struct addr at;
    struct world w;
    int fill[2], fd = target_hang(&at, fill);

    (void)state;
    world_init(&w, 0);
    hang(&w, &at, 120);
    hang(&w, &at, 1);
    world_fini(&w);
    (void)close(fd);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

/* Each timeout is its own; many different ones at once. */
static void test_timeouts_in_order(void **state)
{
    struct addr at;
    struct world w;
    int fill[2], fd = target_hang(&at, fill);
    int64_t t0;

    (void)state;
    world_init(&w, 0);
    t0 = clock_mono_ms();
    for (int64_t i = 0; i < 300; i++)
        start(&w, &at, 1 + (i * 37) % 300);
    finish(&w);
    t0 = clock_mono_ms() - t0;
    assert_int_equal(w.reasons[PROBE_TIMEOUT] + w.reasons[PROBE_LATE], 300);
    assert_true(w.max_us >= 300000);
    assert_true(t0 >= 300);
    world_fini(&w);
    (void)close(fd);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

/* We have no way to these: it says nothing about the target. */
static void test_no_way_out(void **state)
{
    static const char *const hosts[] = {"255.255.255.255", "224.0.0.1",
                                        "ff02::1"};

    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct addr at;

        assert_int_equal(addr_parse(hosts[i], &at), 0);
        at.port = 80;
        expect(&at, PROBE_LOCAL, PROBE_NO_NET, ENETUNREACH);
    }
}

/* Living, refusing and hanging ones together, more than may be in flight:
 * each gets its own verdict. */
static void test_thousands(void **state)
{
    enum { N = 5000, CAP = 1000 };
    struct addr good, bad;
    struct world w;
    int fd = target_listen("127.0.0.1", &good);
    int fd2 = target_bind("127.0.0.1", &bad);

    (void)state;
    world_init(&w, CAP);
    for (int i = 0; i < N; i++)
        start(&w, &good, 5000);
    assert_int_equal(probes_waiting(w.probes), N);
    finish(&w);
    assert_int_equal(w.verdicts[PROBE_OK], N);
    assert_true(w.peak <= CAP);
    for (int i = 0; i < N; i++)
        start(&w, i % 2 == 0 ? &good : &bad, 5000);
    finish(&w);
    assert_int_equal(w.verdicts[PROBE_OK], N + N / 2);
    assert_int_equal(w.reasons[PROBE_CONNECT], N / 2);
    world_fini(&w);
    (void)close(fd);
    (void)close(fd2);
}

/* A timeout runs from the probe's own start, not from its place in line. */
static void test_waiting_costs_nothing(void **state)
{
    struct addr dead, good;
    struct world w;
    int fill[2], full = target_hang(&dead, fill);
    int fd = target_listen("127.0.0.1", &good);

    (void)state;
    world_init(&w, 1);
    for (int i = 0; i < 4; i++)
        start(&w, &dead, 50);
    start(&w, &good, 40);
    finish(&w);
    assert_int_equal(w.reasons[PROBE_TIMEOUT] + w.reasons[PROBE_LATE], 4);
    assert_int_equal(w.verdicts[PROBE_OK], 1);
    assert_int_equal(w.last.verdict, PROBE_OK);
    world_fini(&w);
    (void)close(fd);
    (void)close(full);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

/* The target's accept() has nothing to do. */
static void test_quiet(void **state)
{
    struct addr at;
    struct world w;
    int fd = target_listen("127.0.0.1", &at);

    (void)state;
    world_init(&w, 0);
    for (int i = 0; i < 200; i++)
        start(&w, &at, 5000);
    finish(&w);
    assert_int_equal(w.verdicts[PROBE_OK], 200);
    assert_int_equal(target_accepted(fd), 0);
    world_fini(&w);
    (void)close(fd);
}

/* In a child whose descriptor limit falls while probes run: those without a
 * descriptor are nobody's fault. returns the child's exit
 * code. */
static int run_out_of_descriptors(void)
{
    struct rlimit rl;
    struct addr at;
    struct world w;
    int status = 0, fd = target_listen("127.0.0.1", &at);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0) {
        (void)close(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    world_init(&w, 1000);
    (void)getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = 40;
    (void)setrlimit(RLIMIT_NOFILE, &rl);
    for (int i = 0; i < 300; i++)
        start(&w, &at, 5000);
    if (!loop_wait(w.loop, &w.done, clock_mono_ms() + 30000))
        _exit(1);
    if (w.verdicts[PROBE_FAIL] != 0)
        _exit(2);
    if (w.reasons[PROBE_NO_FD] == 0 || w.no_fd_errno != EMFILE)
        _exit(3);
    if (w.verdicts[PROBE_OK] + w.verdicts[PROBE_LOCAL] != 300)
        _exit(4);
    _exit(0);
}

static void test_descriptor_limit(void **state)
{
    (void)state;
    assert_int_equal(run_out_of_descriptors(), 0);
}

/* A low hard limit lowers what is in flight instead. */
static void test_low_hard_limit(void **state)
{
    struct addr at;
    int status = 0, fd = target_listen("127.0.0.1", &at);
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit rl = {60, 60};
        struct world w;

        if (setrlimit(RLIMIT_NOFILE, &rl) != 0)
            _exit(77); /* valgrind keeps the hard limit */
        world_init(&w, 1000);
        for (int i = 0; i < 300; i++)
            start(&w, &at, 5000);
        (void)loop_wait(w.loop, &w.done, clock_mono_ms() + 30000);
        _exit(w.verdicts[PROBE_OK] == 300 && w.peak <= 30 ? 0 : 1);
    }
    (void)close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void block_300ms(void *arg)
{
    int64_t until = clock_mono_ms() + 300;

    (void)arg;
    while (clock_mono_ms() < until)
        ;
}

static void test_late_loop(void **state)
{
    struct addr good, dead;
    struct world w;
    int fill[2], full = target_hang(&dead, fill);
    int fd = target_listen("127.0.0.1", &good);

    (void)state;
    world_init(&w, 0);
    for (int i = 0; i < 50; i++)
        start(&w, &good, 200);
    /* Before and after the first turn of the probes. */
    (void)loop_timer_start(w.loop, 0, block_300ms, NULL);
    (void)loop_timer_start(w.loop, 0, block_300ms, NULL);
    finish(&w);
    assert_int_equal(w.verdicts[PROBE_OK], 50);

    start(&w, &dead, 200);
    (void)loop_timer_start(w.loop, 50, block_300ms, NULL);
    finish(&w);
    assert_int_equal(w.last.verdict, PROBE_LOCAL);
    assert_int_equal(w.last.reason, PROBE_LATE);

    /* Blind in the middle, awake at the end. */
    start(&w, &dead, 700);
    (void)loop_timer_start(w.loop, 50, block_300ms, NULL);
    finish(&w);
    assert_int_equal(w.last.reason, PROBE_LATE);

    /* What is past does not count against the next one. */
    hang(&w, &dead, 200);
    world_fini(&w);
    (void)close(fd);
    (void)close(full);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

struct blocker {
    struct world *w;
    size_t n;
};

static void on_result_block(void *arg, const struct probe_result *r)
{
    struct blocker *b = arg;

    b->n++;
    assert_int_equal(r->verdict, PROBE_OK);
    block_300ms(NULL);
    on_result(b->w, r);
}

/* The same when a probe's own callback is what blocks. */
static void test_slow_callback(void **state)
{
    struct addr good;
    struct world w;
    struct blocker b = {&w, 0};
    struct probe_spec spec = {PROBE_TCP, {0}, 200};
    int fd = target_listen("127.0.0.1", &good);

    (void)state;
    world_init(&w, 0);
    spec.target = good;
    for (int i = 0; i < 3; i++) {
        w.want++;
        probes_start(w.probes, &spec, on_result_block, &b);
        start(&w, &good, 200);
    }
    finish(&w);
    assert_int_equal(b.n, 3);
    assert_int_equal(w.verdicts[PROBE_OK], 6);
    world_fini(&w);
    (void)close(fd);
}

static void test_free_with_open_probes(void **state)
{
    struct addr dead;
    struct world w;
    int fill[2], full = target_hang(&dead, fill);

    (void)state;
    world_init(&w, 100);
    for (int i = 0; i < 300; i++)
        start(&w, &dead, 5000);
    while (probes_in_flight(w.probes) < 100)
        (void)loop_wait(w.loop, &w.done, clock_mono_ms() + 5);
    assert_int_equal(probes_waiting(w.probes), 200);
    world_fini(&w);
    assert_int_equal(w.got, 0);
    (void)close(full);
    (void)close(fill[0]);
    (void)close(fill[1]);
    world_init(&w, 100); /* at once, nothing started */
    world_fini(&w);
    probes_free(NULL);
}

static void on_result_free(void *arg, const struct probe_result *r)
{
    struct world *w = arg;

    (void)r;
    w->got++;
    w->done = true;
    probes_free(w->probes);
}

/* Freed from inside a callback, with others ready in the same turn. */
static void test_free_from_callback(void **state)
{
    struct addr good, nowhere = {.family = 4, .bytes = {224, 0, 0, 1}};

    (void)state;
    nowhere.port = 80;
    int fd = target_listen("127.0.0.1", &good);

    for (int i = 0; i < 2; i++) {
        const struct probe_spec spec = {PROBE_TCP, i == 0 ? good : nowhere,
                                        1000};
        struct world w;

        world_init(&w, 0);
        for (int k = 0; k < 20; k++)
            probes_start(w.probes, &spec, on_result_free, &w);
        assert_true(loop_wait(w.loop, &w.done, clock_mono_ms() + 10000));
        assert_int_equal(w.got, 1);
        loop_free(w.loop);
    }
    (void)close(fd);
}

static void on_result_again(void *arg, const struct probe_result *r)
{
    struct world *w = arg;
    struct addr at = {.family = 4, .bytes = {127, 0, 0, 1}, .port = 1};
    const struct probe_spec spec = {PROBE_TCP, at, 1000};

    assert_int_not_equal(r->verdict, PROBE_OK);
    if (w->want < 2000) {
        w->want += 2;
        probes_start(w->probes, &spec, on_result_again, w);
        probes_start(w->probes, &spec, on_result_again, w);
    }
    w->done = ++w->got == w->want;
}

/* Callbacks that start more, while the slots grow. */
static void test_start_from_callback(void **state)
{
    struct world w;
    struct addr at = {.family = 4, .bytes = {224, 0, 0, 1}, .port = 1};
    const struct probe_spec spec = {PROBE_TCP, at, 1000};

    (void)state;
    world_init(&w, 7);
    w.want = 1;
    probes_start(w.probes, &spec, on_result_again, &w);
    finish(&w);
    assert_true(w.got >= 2000);
    world_fini(&w);
}

static void describe(enum probe_verdict v, enum probe_reason reason, int error,
                     int64_t timeout_ms, const char *want)
{
    const struct probe_spec p = {
        PROBE_TCP, {4, {192, 0, 2, 1}, 443}, timeout_ms};
    const struct probe_result r = {v, reason, error, 0};
    char out[128];

    assert_string_equal(probe_describe(&p, &r, out), want);
}

static void test_describe(void **state)
{
    (void)state;
    describe(PROBE_OK, PROBE_FINE, 0, 1000, "tcp:443 ok");
    describe(PROBE_FAIL, PROBE_CONNECT, ECONNREFUSED, 1000, "tcp:443 refused");
    describe(PROBE_FAIL, PROBE_CONNECT, ECONNRESET, 1000, "tcp:443 reset");
    describe(PROBE_FAIL, PROBE_TIMEOUT, 0, 1000, "tcp:443 timeout after 1s");
    describe(PROBE_FAIL, PROBE_TIMEOUT, 0, 250, "tcp:443 timeout after 250ms");
    describe(PROBE_FAIL, PROBE_TIMEOUT, 0, 0, "tcp:443 timeout after 2s");
    describe(PROBE_FAIL, PROBE_ROUTE, EHOSTUNREACH, 1000,
             "tcp:443 host unreachable");
    describe(PROBE_LOCAL, PROBE_NO_FD, EMFILE, 1000,
             "tcp:443 not probed: out of descriptors (Too many open files)");
    describe(PROBE_LOCAL, PROBE_NO_NET, ENETUNREACH, 1000,
             "tcp:443 not probed: no way out of this machine (network "
             "unreachable)");
    describe(PROBE_LOCAL, PROBE_NO_NET, EACCES, 1000,
             "tcp:443 not probed: forbidden on this machine (Permission "
             "denied)");
    describe(PROBE_LOCAL, PROBE_LATE, 0, 1000,
             "tcp:443 not judged: the agent itself was late");
    assert_string_equal(probe_kind_name(PROBE_TCP), "tcp");
    assert_string_equal(probe_reason_name(PROBE_NO_FD), "no-fd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alive_and_refused),
        cmocka_unit_test(test_hanging),
        cmocka_unit_test(test_timeouts_in_order),
        cmocka_unit_test(test_no_way_out),
        cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_waiting_costs_nothing),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_descriptor_limit),
        cmocka_unit_test(test_low_hard_limit),
        cmocka_unit_test(test_late_loop),
        cmocka_unit_test(test_slow_callback),
        cmocka_unit_test(test_free_with_open_probes),
        cmocka_unit_test(test_free_from_callback),
        cmocka_unit_test(test_start_from_callback),
        cmocka_unit_test(test_describe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
