/* The engine with kinds beyond TCP: shares that do not hold each other up, and
 * an engine that ends while they run. */
#include "tests/unit/probe_targets.h"

#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/probes/probe.h"

struct world {
    struct loop *loop;
    struct probes *probes;
    size_t peak, want, got, verdicts[3], reasons[PROBE_NREASONS];
    bool done;
};

static void world_init(struct world *w)
{
    struct err e;

    memset(w, 0, sizeof *w);
    w->loop = loop_new();
    assert_int_equal(probes_new(w->loop, 0, &w->probes, &e), 0);
}

static void world_fini(struct world *w)
{
    probes_free(w->probes);
    loop_free(w->loop);
}

static void on_result(void *arg, const struct probe_result *r)
{
    struct world *w = arg;

    if (probes_running(w->probes) > w->peak)
        w->peak = probes_running(w->probes);
    w->verdicts[r->verdict]++;
    w->reasons[r->reason]++;
    w->done = ++w->got == w->want;
}

static void start(struct world *w, enum probe_kind kind, const struct addr *at,
                  int64_t timeout_ms, const struct probe_params *p)
{
    const struct probe_spec spec = {kind, *at, timeout_ms, p};

    w->want++;
    w->done = false;
    probes_start(w->probes, &spec, on_result, w);
}

static void finish(struct world *w)
{
    assert_true(loop_wait(w->loop, &w->done, clock_mono_ms() + 60000));
    assert_int_equal(probes_running(w->probes), 0);
    assert_int_equal(probes_in_flight(w->probes), 0);
    assert_int_equal(probes_waiting(w->probes), 0);
}

/* Lets what was started begin. */
static void turn_until(struct world *w, size_t running)
{
    int64_t until = clock_mono_ms() + 10000;
    bool never = false;

    while (probes_running(w->probes) < running && clock_mono_ms() < until)
        (void)loop_wait(w->loop, &never, clock_mono_ms() + 2);
    assert_int_equal(probes_running(w->probes), running);
}

static const struct probe_params unverified = {.host = "h", .no_verify = true};

/* More TLS than may be in flight, none of which gets an answer: TCP and ICMP
 * behind them are served all the same. */
static void test_full_lane_holds_nobody_up(void **state)
{
    enum { TLS = PROBE_TLS_MAX + 100, TCP = 100 };
    struct addr silent, good;
    struct world w;
    int fd = target_listen("127.0.0.1", &silent);
    int fd2 = target_listen("127.0.0.1", &good);

    (void)state;
    world_init(&w);
    for (int i = 0; i < TLS; i++)
        start(&w, PROBE_HTTPS, &silent, 30000, &unverified);
    turn_until(&w, PROBE_TLS_MAX);
    assert_int_equal(probes_in_flight(w.probes), PROBE_TLS_MAX);
    assert_int_equal(probes_waiting(w.probes), TLS - PROBE_TLS_MAX);
    w.want = TCP;
    for (int i = 0; i < TCP; i++) {
        start(&w, PROBE_TCP, &good, 5000, NULL);
        w.want--;
    }
    assert_true(loop_wait(w.loop, &w.done, clock_mono_ms() + 30000));
    assert_int_equal(w.verdicts[PROBE_OK], TCP);
    assert_int_equal(probes_in_flight(w.probes), PROBE_TLS_MAX);
    world_fini(&w);
    (void)close(fd);
    (void)close(fd2);
}

/* Commands too have a share, and each gets its turn. */
static void test_commands_in_turns(void **state)
{
    enum { N = 3 * PROBE_CHILDREN_MAX };
    char sh[] = "/bin/sh", c[] = "-c", ok[] = "exit 0", bad[] = "exit 2";
    char *good_argv[] = {sh, c, ok, NULL}, *bad_argv[] = {sh, c, bad, NULL};
    const struct probe_params good = {.command = "ok", .argv = good_argv};
    const struct probe_params fails = {.command = "no", .argv = bad_argv};
    struct addr at = {4, {127, 0, 0, 1}, 0};
    struct world w;

    (void)state;
    world_init(&w);
    for (int i = 0; i < N; i++)
        start(&w, PROBE_COMMAND, &at, 30000, i % 2 == 0 ? &good : &fails);
    finish(&w);
    assert_true(w.peak < PROBE_CHILDREN_MAX);
    assert_int_equal(w.verdicts[PROBE_OK], N / 2);
    assert_int_equal(w.reasons[PROBE_FAILED], N / 2);
    world_fini(&w);
}

struct late {
    probe_addrs_cb *cb;
    void *arg;
    char host[64];
};

static void keep(void *arg, const char *host, probe_addrs_cb *cb, void *cb_arg)
{
    struct late *l = arg;

    l->cb = cb;
    l->arg = cb_arg;
    (void)snprintf(l->host, sizeof l->host, "%s", host);
}

/* One redirect to a name, from a listener of ours. */
static void redirect(struct world *w, int fd)
{
    static const char reply[] = "HTTP/1.1 302 x\r\nLocation: http://n.test/\r\n"
                                "Content-Length: 0\r\n\r\n";
    int64_t until = clock_mono_ms() + 10000;
    bool never = false;
    int c = -1;

    while (c < 0 && clock_mono_ms() < until) {
        (void)loop_wait(w->loop, &never, clock_mono_ms() + 2);
        c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    }
    assert_true(c >= 0);
    assert_int_equal(write(c, reply, sizeof reply - 1), sizeof reply - 1);
    for (int i = 0; i < 20; i++)
        (void)loop_wait(w->loop, &never, clock_mono_ms() + 2);
    (void)close(c);
}

/* Names that are answered after the probe's end, or after the engine's. */
static void test_late_names(void **state)
{
    const struct probe_params p = {.host = "h", .follow_redirects = 1};
    struct late l = {0};
    const struct probe_hooks hooks = {.arg = &l, .resolve = keep};
    struct addr at, found = {4, {127, 0, 0, 1}, 0};
    struct world w;
    int fd = target_listen("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    probes_set_hooks(w.probes, &hooks);
    start(&w, PROBE_HTTP, &at, 300, &p);
    redirect(&w, fd);
    assert_string_equal(l.host, "n.test");
    finish(&w);
    assert_int_equal(w.reasons[PROBE_TIMEOUT] + w.reasons[PROBE_LATE], 1);
    l.cb(l.arg, PROBE_FOUND, &found, 1);
    assert_int_equal(w.got, 1);

    l.host[0] = '\0';
    start(&w, PROBE_HTTP, &at, 30000, &p);
    redirect(&w, fd);
    assert_string_equal(l.host, "n.test");
    probes_free(w.probes);
    l.cb(l.arg, PROBE_FOUND, &found, 1);
    loop_free(w.loop);
    assert_int_equal(w.got, 1);
    (void)close(fd);
}

/* Everything open at once, then gone: nothing leaks, nothing is called. */
static void test_free_with_all_kinds_open(void **state)
{
    char sleep_bin[] = "/bin/sleep", long_time[] = "600";
    char *argv[] = {sleep_bin, long_time, NULL};
    struct probe_params p = {.host = "h",
                             .no_verify = true,
                             .dns_name = "x.test",
                             .dns_type = "A",
                             .command = "sleep",
                             .argv = argv};
    struct addr at;
    struct world w;
    int fd = target_listen("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    /* ICMP where it is allowed. */
    for (unsigned k = 0; k < PROBE_NKINDS; k++)
        if (k != PROBE_ICMP && k != PROBE_COMMAND)
            start(&w, (enum probe_kind)k, &at, 30000, &p);
    start(&w, PROBE_COMMAND, &at, 30000, &p);
    start(&w, PROBE_ICMP, &at, 5000, NULL);
    for (int i = 0; i < 10; i++) {
        bool never = false;

        (void)loop_wait(w.loop, &never, clock_mono_ms() + 2);
    }
    assert_true(probes_running(w.probes) > 10);
    world_fini(&w);
    (void)close(fd);
}

static void test_names_of_kinds(void **state)
{
    enum probe_kind k;

    (void)state;
    for (unsigned i = 0; i < PROBE_NKINDS; i++) {
        assert_true(probe_kind_find(probe_kind_name((enum probe_kind)i), &k));
        assert_int_equal(k, i);
    }
    assert_false(probe_kind_find("telnet", &k));
    for (unsigned i = 0; i < PROBE_NREASONS; i++)
        assert_non_null(probe_reason_name((enum probe_reason)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_lane_holds_nobody_up),
        cmocka_unit_test(test_commands_in_turns),
        cmocka_unit_test(test_late_names),
        cmocka_unit_test(test_free_with_all_kinds_open),
        cmocka_unit_test(test_names_of_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
