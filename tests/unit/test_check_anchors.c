#include "tests/unit/check_world.h"

/* Is the agent itself cut off? Anchors on loopback, asked beside checks. */

static bool ask(struct world *w, const struct addr *a, size_t n)
{
    char note[PROBE_NOTE_SIZE];
    bool answer = check_run_anchors(w->loop, w->probes, w->run, a, n,
                                    clock_mono_ms() + 5000, note);

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
    unhang(fd3, fill);
}

/* Its address may be a target's: one probe in 100 ms, whatever asks. */
static void test_anchor_in_its_turn(void **state)
{
    struct world w;
    struct addr up;
    int fd = target_listen("127.0.0.1", &up);
    int64_t start_ms = clock_mono_ms();

    (void)state;
    world_init(&w);
    assert_true(ask(&w, &up, 1)); /* no other probes are made */
    assert_true(ask(&w, &up, 1));
    expect_ms(clock_mono_ms() - start_ms, 0, 90);
    (void)add(&w, &up, 1);
    start_ms = clock_mono_ms();
    (void)run(&w, 5000);
    assert_true(ask(&w, &up, 1));
    expect_ms(clock_mono_ms() - start_ms, 100, 400);
    assert_true(ask(&w, &up, 1));
    expect_ms(clock_mono_ms() - start_ms, 200, 600);
    world_fini(&w);
    (void)close(fd);
}

/* Who waits for its turn while another answers is not asked any more. */
static void test_turn_given_up(void **state)
{
    struct world w;
    struct addr up, a[4];
    int fd = target_listen("127.0.0.1", &up);
    int64_t start_ms;

    (void)state;
    world_init(&w);
    (void)running(&w);
    a[0] = a[1] = a[2] = a[3] = up;
    start_ms = clock_mono_ms();
    assert_true(ask(&w, a, 4));
    expect_ms(clock_mono_ms() - start_ms, 0, 90);
    idle(&w, 150); /* no timer is left */
    assert_int_equal(probes_in_flight(w.probes), 0);
    world_fini(&w);
    (void)close(fd);
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
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_anchor_in_its_turn),
        cmocka_unit_test(test_turn_given_up),
        cmocka_unit_test(test_no_anchor_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
