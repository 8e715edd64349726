#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/plan_expect.h"

/* --- first contact ------------------------------------------------------- */

static void test_first_contact(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 4, 3);
    s->v[1].target = PW_DEAD;
    s->v[3].target = PW_NO_CHECK;
    pw_switch(s, "0110");
    pw_round(&w);
    EXPECT(&w, 0, "1011");
    assert_int_equal(w.sets[0].nchanges, 3);
    assert_int_equal(w.sets[0].decision.tier, 1);
    assert_int_equal(s->memory.tier, 1);
    assert_true(s->v[0].memory.created);
    assert_false(s->v[1].memory.created);
    assert_true(s->v[1].memory.withdrawn);
    assert_true(s->v[0].memory.pending);
    pw_round(&w);
    assert_int_equal(w.done, 0);
    assert_int_equal(w.empties, 0);
}

/* Nothing known: nothing done, whatever is found. */
static void test_start_changes_nothing(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 3, 3);
    s->order = SPEC_PRIORITY;
    s->all_down = SPEC_NONE;
    for (size_t i = 0; i < 3; i++)
        s->v[i].target = PW_LOCAL;
    pw_switch(s, "011");
    pw_rounds(&w, 50);
    EXPECT(&w, 0, "011");
    for (size_t i = 0; i < 3; i++)
        s->v[i].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "100");
}

/* --- damping ---------------------------------------------------------------
 */

static void test_damping(void **state)
{
    static const int64_t waits_s[] = {0,   0,   30,  60,   120,
                                      240, 480, 960, 1920, 3600};
    struct pw w;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    (void)pw_set_add(&w, 2, 1);
    settle(&w);
    for (size_t i = 0; i < sizeof waits_s / sizeof waits_s[0]; i++)
        assert_int_equal(outage(&w), waits_s[i] * 1000);
    /* The last wait was an hour of health: that clears it. */
    assert_int_equal(w.s[0].v[0].memory.damp, 0);
    assert_int_equal(outage(&w), 0);
    assert_int_equal(outage(&w), 0);
    assert_int_equal(outage(&w), 30000);
    /* Less than an hour does not. */
    w.now_ms += 50 * MINUTE_MS;
    pw_round(&w);
    assert_int_equal(outage(&w), 60000);
}

static void test_damping_needs_three_in_ten_minutes(void **state)
{
    struct pw w;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    (void)pw_set_add(&w, 2, 1);
    settle(&w);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(outage(&w), 0);
        w.now_ms += 5 * MINUTE_MS;
        pw_round(&w);
    }
    assert_int_equal(w.s[0].v[0].memory.damp, 0);
}

static void test_damping_off(void **state)
{
    struct pw w;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    pw_set_add(&w, 2, 1)->damping = false;
    settle(&w);
    for (int i = 0; i < 20; i++)
        assert_int_equal(outage(&w), 0);
}

/* Tier 4: one that waits is better than none. */
static void test_waiting_is_better_than_none(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    s = pw_set_add(&w, 3, 1);
    s->v[2].fallback = true;
    settle(&w);
    for (int i = 0; i < 3; i++)
        (void)outage(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "010");
    assert_true(w.values[0][0].waiting);
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "100");
    assert_int_equal(w.sets[0].decision.tier, 4);
    pw_round(&w);
    assert_int_equal(w.sets[0].decision.tier, 1);
    EXPECT(&w, 0, "100");
    assert_int_equal(w.empties, 0);
}

static void test_damp_steps(void **state)
{
    (void)state;
    assert_int_equal(plan_damp_wait_ms(0), 0);
    assert_int_equal(plan_damp_wait_ms(1), 30000);
    assert_int_equal(plan_damp_wait_ms(2), 60000);
    assert_int_equal(plan_damp_wait_ms(7), 1920000);
    assert_int_equal(plan_damp_wait_ms(8), 3600000);
    assert_int_equal(plan_damp_wait_ms(32), 3600000);
    assert_int_equal(plan_damp_wait_ms(UINT32_MAX), 3600000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_contact),
        cmocka_unit_test(test_start_changes_nothing),
        cmocka_unit_test(test_damping),
        cmocka_unit_test(test_damping_needs_three_in_ten_minutes),
        cmocka_unit_test(test_damping_off),
        cmocka_unit_test(test_waiting_is_better_than_none),
        cmocka_unit_test(test_damp_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
