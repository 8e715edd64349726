#include "tests/unit/probe_targets.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/engine/checks.h"

/* The checks of a round, with real probes of loopback targets. */

struct world {
    struct loop *loop;
    struct probes *probes;
    struct state *state;
    struct checks *checks;
    size_t told;
};

static void world_init_at_most(struct world *w, size_t in_flight)
{
    struct err e;

    memset(w, 0, sizeof *w);
    w->loop = loop_new();
    assert_int_equal(probes_new(w->loop, in_flight, &w->probes, &e), 0);
    assert_int_equal(state_open(NULL, false, &w->state, &e), 0);
    w->checks = checks_new(w->loop, w->probes, w->state);
}

static void world_init(struct world *w)
{
    world_init_at_most(w, 0);
}

static void world_fini(struct world *w)
{
    probes_free(w->probes);
    checks_free(w->checks);
    loop_free(w->loop);
    state_close(w->state);
}

static struct spec_check spec_of(uint16_t port, uint32_t need)
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

static struct check *add(struct world *w, const struct addr *at, uint32_t need)
{
    const struct spec_check c = spec_of(at->port, need);

    return checks_add(w->checks, &c, at);
}

/* done never exceeds all, and does not fall. */
static void on_progress(void *arg, size_t done, size_t all)
{
    struct world *w = arg;

    assert_true(done <= all);
    assert_true(done >= w->told);
    w->told = done;
}

/* returns how long it took, in milliseconds */
static int64_t run(struct world *w, int64_t limit_ms)
{
    int64_t start_ms = clock_mono_ms();

    w->told = 0;
    checks_run(w->checks, start_ms + limit_ms, on_progress, w);
    return clock_mono_ms() - start_ms;
}

/* Lets the loop run on, as the later stages of a round do. */
static void idle(struct world *w, int64_t ms)
{
    const bool never = false;

    assert_false(loop_wait(w->loop, &never, clock_mono_ms() + ms));
}

/* Times on a busy machine: never less, and not absurdly more. */
static void expect_ms(int64_t took_ms, int64_t least_ms, int64_t most_ms)
{
    if (took_ms < least_ms || took_ms > most_ms)
        fail_msg("took %lld ms, wanted %lld to %lld", (long long)took_ms,
                 (long long)least_ms, (long long)most_ms);
}

static void expect(const struct check *k, enum health_state state,
                   uint32_t results)
{
    if (k->row->health.state != state || k->results != results)
        fail_msg("%s: %s after %u results (%s), wanted %s after %u", k->key,
                 health_state_name(k->row->health.state), k->results,
                 k->row->note != NULL ? k->row->note : "",
                 health_state_name(state), results);
}

/* --- which checks there are ------------------------------------------------
 */

static void test_equal_checks_are_one(void **state)
{
    struct world w;
    struct addr at, other;
    struct spec_check c;
    struct check *k;

    (void)state;
    world_init(&w);
    assert_int_equal(addr_parse("192.0.2.1", &at), 0);
    assert_int_equal(addr_parse("192.0.2.2", &other), 0);
    c = spec_of(443, 3);
    k = checks_add(w.checks, &c, &at);
    assert_ptr_equal(checks_add(w.checks, &c, &at), k);
    assert_ptr_not_equal(checks_add(w.checks, &c, &other), k);
    c.target = at; /* named in the spec, wherever the record points to */
    assert_ptr_equal(checks_add(w.checks, &c, &other), k);
    c.required_failure = 2;
    assert_ptr_not_equal(checks_add(w.checks, &c, &at), k);
    c = spec_of(443, 3);
    c.timeout_ms = 1000;
    assert_ptr_not_equal(checks_add(w.checks, &c, &at), k);
    c = spec_of(444, 3);
    assert_ptr_not_equal(checks_add(w.checks, &c, &at), k);
    assert_int_equal(checks_count(w.checks), 5);
    assert_ptr_equal(checks_at(w.checks, 0), k);
    assert_int_equal(k->probe.target.port, 443);
    assert_int_equal(k->before, HEALTH_UNKNOWN);
    world_fini(&w);
}

/* Thresholds are a check's own, the probes are shared: one target address
 * would have to wait 100 ms for each further probe. */
static void test_probes_are_shared(void **state)
{
    struct world w;
    struct addr at;
    struct check *k[4];
    int fd = target_bind("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    for (uint32_t i = 0; i < 4; i++)
        k[i] = add(&w, &at, i + 1);
    expect_ms(run(&w, 5000), 300, 390);
    for (uint32_t i = 0; i < 4; i++)
        expect(k[i], HEALTH_DOWN, i + 1);
    world_fini(&w);
    (void)close(fd);
}

/* --- to the verdict --------------------------------------------------------
 */

static void test_until_the_threshold(void **state)
{
    struct world w;
    struct addr up, down;
    struct check *ku, *kd;
    int fd = target_listen("127.0.0.1", &up);
    int fd2 = target_bind("127.0.0.2", &down);

    (void)state;
    world_init(&w);
    ku = add(&w, &up, 2);
    kd = add(&w, &down, 4);
    expect_ms(run(&w, 5000), 300, 900);
    expect(ku, HEALTH_UP, 2);
    expect(kd, HEALTH_DOWN, 4);
    assert_true(ku->row->health.ever_up);
    assert_false(kd->row->health.ever_up);
    assert_non_null(strstr(kd->row->note, "refused"));
    assert_int_equal(kd->last.reason, PROBE_CONNECT);
    assert_true(checks_any_up(w.checks));
    world_fini(&w);
    (void)close(fd);
    (void)close(fd2);
}

/* What agrees with its state needs one result; what does not is looked at
 * until it is sure. */
static void test_known_states(void **state)
{
    struct world w;
    struct addr at;
    struct check *k;
    int fd = target_listen("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    k = add(&w, &at, 3);
    k->row->health = (struct health){.state = HEALTH_UP,
                                     .ever_up = true,
                                     .last_ok = false,
                                     .streak = 2,
                                     .last_ms = state_now_ms()};
    expect_ms(run(&w, 5000), 0, 90);
    expect(k, HEALTH_UP, 1);
    assert_int_equal(k->row->health.streak, 1);
    (void)close(fd);
    world_fini(&w);

    world_init(&w);
    k = add(&w, &at, 3);
    k->row->health = (struct health){.state = HEALTH_UP,
                                     .ever_up = true,
                                     .last_ok = false,
                                     .streak = 1,
                                     .last_ms = state_now_ms()};
    expect_ms(run(&w, 5000), 100, 400);
    expect(k, HEALTH_DOWN, 2); /* the failure of the last run counts */
    assert_false(checks_any_up(w.checks));
    world_fini(&w);
}

static void test_want_streak(void **state)
{
    struct world w;
    struct addr at;
    struct check *k;
    int fd = target_bind("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    k = add(&w, &at, 2);
    (void)run(&w, 5000);
    expect(k, HEALTH_DOWN, 2);
    (void)run(&w, 5000);
    expect(k, HEALTH_DOWN, 2); /* nothing is open */
    k->want_streak = 5;
    expect_ms(run(&w, 5000), 200, 700);
    expect(k, HEALTH_DOWN, 5);
    world_fini(&w);
    (void)close(fd);
}

static void test_nothing_to_do(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    expect_ms(run(&w, 5000), 0, 90);
    assert_false(checks_any_up(w.checks));
    world_fini(&w);
}

/* --- timeouts --------------------------------------------------------------
 */

static int64_t hang(bool repeat, enum health_state before, uint32_t results)
{
    struct world w;
    struct addr at;
    struct spec_check c;
    struct check *k;
    int fill[2], fd = target_hang(&at, fill);
    int64_t took_ms;

    world_init(&w);
    c = spec_of(at.port, 1);
    c.timeout_ms = 200;
    c.repeat_timeout = repeat;
    k = checks_add(w.checks, &c, &at);
    if (before != HEALTH_UNKNOWN)
        k->row->health = (struct health){before, true, before == HEALTH_UP,
                                         1,      1,    state_now_ms()};
    took_ms = run(&w, 5000);
    expect(k, HEALTH_DOWN, results);
    assert_int_equal(k->last.reason, PROBE_TIMEOUT);
    world_fini(&w);
    (void)close(fd);
    (void)close(fill[0]);
    (void)close(fill[1]);
    return took_ms;
}

/* One lost SYN is no outage: a timeout of what is not down is repeated at
 * once, and only then counts, once. */
static void test_repeated_timeout(void **state)
{
    (void)state;
    expect_ms(hang(true, HEALTH_UNKNOWN, 1), 400, 590);
    expect_ms(hang(true, HEALTH_UP, 1), 400, 590);
    expect_ms(hang(true, HEALTH_DOWN, 1), 200, 390);
    expect_ms(hang(false, HEALTH_UP, 1), 200, 390);
}

static void test_refusal_is_not_repeated(void **state)
{
    struct world w;
    struct addr at;
    struct spec_check c;
    struct check *k;
    int fd = target_bind("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    c = spec_of(at.port, 1);
    c.repeat_timeout = true;
    k = checks_add(w.checks, &c, &at);
    expect_ms(run(&w, 5000), 0, 90);
    expect(k, HEALTH_DOWN, 1);
    world_fini(&w);
    (void)close(fd);
}

/* --- local, deadline, gap --------------------------------------------------
 */

/* What the agent cannot probe keeps its state; it is tried three times. */
static void test_local(void **state)
{
    struct world w;
    struct addr at;
    struct check *k;

    (void)state;
    world_init(&w);
    assert_int_equal(addr_parse("255.255.255.255", &at), 0);
    at.port = 9;
    k = add(&w, &at, 1);
    k->row->health =
        (struct health){HEALTH_UP, true, true, 1, 1, state_now_ms()};
    (void)run(&w, 5000);
    if (k->last.verdict != PROBE_LOCAL) {
        world_fini(&w);
        print_message("this machine has a way to 255.255.255.255\n");
        skip();
    }
    expect(k, HEALTH_UP, 0);
    assert_int_equal(k->locals, CHECKS_LOCAL_TRIES);
    assert_non_null(strstr(k->row->note, "not probed"));
    world_fini(&w);
}

static void test_deadline(void **state)
{
    struct world w;
    struct addr at, hanging;
    struct spec_check c;
    struct check *k, *h;
    int fill[2], fd = target_bind("127.0.0.2", &at);
    int fd2 = target_hang(&hanging, fill);
    uint32_t seen;

    (void)state;
    world_init(&w);
    c = spec_of(at.port, 9);
    c.retry_period_ms = 200;
    k = checks_add(w.checks, &c, &at);
    c = spec_of(hanging.port, 1);
    c.timeout_ms = 900;
    h = checks_add(w.checks, &c, &hanging);
    expect_ms(run(&w, 500), 500, 700);
    seen = k->results;
    assert_in_range(seen, 2, 3);
    expect(k, HEALTH_UNKNOWN, seen);
    assert_int_equal(k->row->health.streak, seen);
    expect(h, HEALTH_UNKNOWN, 0);
    /* Nothing new is started; what was out still counts. */
    idle(&w, 600);
    expect(k, HEALTH_UNKNOWN, seen);
    expect(h, HEALTH_DOWN, 1);
    /* Called again, it goes on where it was. */
    (void)run(&w, 5000);
    expect(k, HEALTH_DOWN, 9);
    world_fini(&w);
    (void)close(fd);
    (void)close(fd2);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

/* A second run while the first one's probes are still out. */
static void test_run_again(void **state)
{
    struct world w;
    struct addr at[4];
    struct spec_check c;
    int fill[4][2], fd[4];

    (void)state;
    world_init(&w);
    for (int i = 0; i < 4; i++) {
        fd[i] = target_hang(&at[i], fill[i]);
        c = spec_of(at[i].port, 1);
        c.timeout_ms = 600;
        (void)checks_add(w.checks, &c, &at[i]);
        if (i == 2)
            (void)run(&w, 250);
    }
    expect_ms(run(&w, 5000), 300, 1200);
    for (size_t i = 0; i < 4; i++) {
        expect(checks_at(w.checks, i), HEALTH_DOWN, 1);
        (void)close(fd[i]);
        (void)close(fill[i][0]);
        (void)close(fill[i][1]);
    }
    world_fini(&w);
}

/* One address at most once in 100 ms, several at once. */
static void test_address_gap(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "127.0.0.1", "127.0.0.1",
                                        "127.0.0.1", "127.0.0.4", "127.0.0.5"};
    struct world w;
    struct addr at;
    int fd[6];

    (void)state;
    for (int same = 1; same >= 0; same--) {
        world_init(&w);
        for (size_t i = 0; i < 6; i++) {
            char host[16];

            (void)snprintf(host, sizeof host, "127.0.0.%d", 10 + (int)i);
            fd[i] = target_bind(same == 1 ? hosts[i] : host, &at);
            (void)add(&w, &at, 1);
        }
        if (same == 1)
            expect_ms(run(&w, 5000), 300, 600);
        else
            expect_ms(run(&w, 5000), 0, 90);
        for (size_t i = 0; i < 6; i++) {
            expect(checks_at(w.checks, i), HEALTH_DOWN, 1);
            (void)close(fd[i]);
        }
        world_fini(&w);
    }
}

/* --- anchors ---------------------------------------------------------------
 */

static bool ask(struct world *w, const struct addr *a, size_t n)
{
    bool answer =
        checks_anchors_answer(w->loop, w->probes, a, n, clock_mono_ms() + 5000);

    /* Nothing is left behind that would write to a frame that is gone. */
    assert_int_equal(probes_in_flight(w->probes), 0);
    assert_int_equal(probes_waiting(w->probes), 0);
    return answer;
}

static void test_anchors(void **state)
{
    struct world w;
    struct addr up, refuses, hangs, a[3];
    int fill[2], fd = target_listen("127.0.0.1", &up);
    int fd2 = target_bind("127.0.0.1", &refuses);
    int fd3 = target_hang(&hangs, fill);

    (void)state;
    world_init(&w);
    a[0] = a[1] = refuses;
    assert_true(ask(&w, a, 2)); /* that too came over the network */
    a[0] = a[1] = up;
    assert_true(ask(&w, a, 2));
    world_fini(&w);
    /* One after the other: two answers, while the third is awaited. */
    world_init_at_most(&w, 1);
    a[0] = up;
    a[1] = refuses;
    a[2] = hangs;
    assert_true(ask(&w, a, 3));
    world_fini(&w);
    (void)close(fd);
    (void)close(fd2);
    (void)close(fd3);
    (void)close(fill[0]);
    (void)close(fill[1]);
}

/* Each is tried twice. */
static void test_no_anchor_answers(void **state)
{
    struct world w;
    struct addr a[2];
    int fill[2][2], fd[2];
    int64_t start_ms;

    (void)state;
    world_init(&w);
    for (int i = 0; i < 2; i++)
        fd[i] = target_hang(&a[i], fill[i]);
    start_ms = clock_mono_ms();
    assert_false(ask(&w, a, 2));
    expect_ms(clock_mono_ms() - start_ms, 4000, 5500);
    world_fini(&w);
    for (int i = 0; i < 2; i++) {
        (void)close(fd[i]);
        (void)close(fill[i][0]);
        (void)close(fill[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_checks_are_one),
        cmocka_unit_test(test_probes_are_shared),
        cmocka_unit_test(test_until_the_threshold),
        cmocka_unit_test(test_known_states),
        cmocka_unit_test(test_want_streak),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_repeated_timeout),
        cmocka_unit_test(test_refusal_is_not_repeated),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_run_again),
        cmocka_unit_test(test_address_gap),
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_no_anchor_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
