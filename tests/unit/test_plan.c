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

/* --- blind, alone, learning, unseen ----------------------------------------
 */

static void test_blind_holds_all(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 3, 3);
    s->v[2].fallback = true;
    s->all_down = SPEC_NONE;
    settle(&w);
    w.blind = true;
    s->v[0].target = s->v[1].target = PW_DEAD;
    pw_rounds(&w, 20);
    EXPECT(&w, 0, "110");
    assert_int_equal(w.sets[0].hold, PLAN_BLIND);
    assert_int_equal(w.sets[0].nchanges, 0);
    w.blind = false;
    pw_round(&w);
    EXPECT(&w, 0, "001");
    w.blind = true;
    s->v[0].target = s->v[1].target = PW_ALIVE;
    pw_rounds(&w, 5);
    EXPECT(&w, 0, "001");
    w.blind = false;
    pw_round(&w);
    EXPECT(&w, 0, "110");
}

static void test_alone_looks_again(void **state)
{
    static const enum spec_all_down ends[] = {SPEC_NONE, SPEC_DOWN_ALL};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct pw w;
        struct pw_set *s;
        bool fallback = i < 2;

        pw_init(&w);
        s = pw_set_add(&w, 3, 3);
        s->v[2].fallback = fallback;
        s->v[2].target = fallback ? PW_NO_CHECK : PW_ALIVE;
        s->all_down = ends[i % 2];
        settle(&w);
        if (ends[i % 2] == SPEC_DOWN_ALL && !fallback)
            pw_switch(s, "110");
        for (size_t k = 0; k < (fallback ? 2u : 3u); k++)
            s->v[k].target = PW_DEAD;
        for (uint32_t streak = 3; streak < 6; streak++) {
            pw_round(&w);
            assert_int_equal(s->v[0].health.streak, streak);
            assert_int_equal(w.sets[0].hold, PLAN_ALONE);
            assert_true(s->v[0].on && s->v[1].on);
        }
        pw_round(&w);
        assert_int_equal(w.sets[0].hold, PLAN_FREE);
        EXPECT(&w, 0,
               fallback                   ? "001"
               : ends[i % 2] == SPEC_NONE ? "000"
                                          : "111");
    }
}

/* Another check that is up, or anchors: then it is not alone. */
static void test_not_alone(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct pw w;
        struct pw_set *s;

        pw_init(&w);
        s = pw_set_add(&w, 2, 3);
        s->v[1].fallback = true;
        s->v[1].target = PW_NO_CHECK;
        if (i == 0)
            (void)pw_set_add(&w, 1, 3);
        w.anchors = i == 1;
        settle(&w);
        s->v[0].target = PW_DEAD;
        pw_round(&w);
        EXPECT(&w, 0, "01");
    }
}

/* Being alone holds back lower tiers only. */
static void test_alone_acts_in_tier_1(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    s->v[1].target = PW_NO_CHECK;
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "01");
}

static void test_learning(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 3, 1);
    s->v[0].target = PW_DEAD;
    pw_switch(s, "110");
    w.learning = true;
    pw_round(&w);
    EXPECT(&w, 0, "110");
    assert_int_equal(w.sets[0].hold, PLAN_LEARNING);
    w.learning = false;
    pw_round(&w);
    EXPECT(&w, 0, "011");
}

static void test_unseen(void **state)
{
    struct pw w;
    struct pw_set *s;
    struct memory_value before;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 1);
    settle(&w);
    before = s->v[0].memory;
    s->v[0].target = PW_DEAD;
    s->unseen = true;
    pw_rounds(&w, 5);
    EXPECT(&w, 0, "11");
    assert_int_equal(w.sets[0].hold, PLAN_UNSEEN);
    assert_memory_equal(&before, &s->v[0].memory, sizeof before);
    s->unseen = false;
    pw_round(&w);
    EXPECT(&w, 0, "01");
}

/* --- values that left the spec ---------------------------------------------
 */

static void test_dropped(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 3, 1);
    pw_switch(s, "010"); /* value 0 will be the agent's own */
    s->v[2].target = PW_DEAD;
    pw_rounds(&w, 2);
    EXPECT(&w, 0, "110");
    s->v[0].dropped = s->v[1].dropped = true;
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "110"); /* no other one is well and published */
    assert_false(plan_is_check_withdrawal(&w.values[0][0]));
    s->v[2].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "111");
    pw_round(&w);
    EXPECT(&w, 0, "011");
    assert_int_equal(w.check_withdrawals, 0);
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "011"); /* value 1 was there before the agent */
    assert_int_equal(w.empties, 0);
}

/* A dropped value that is off stays off. */
static void test_dropped_stays_off(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 1);
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].dropped = true;
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "01");
}

static void test_reasons(void **state)
{
    struct plan_set set;

    (void)state;
    memset(&set, 0, sizeof set);
    set.decision.rule = DECIDE_FALLBACK;
    assert_string_equal(plan_reason(&set), decide_rule_text(DECIDE_FALLBACK));
    for (int h = PLAN_FROZEN; h <= PLAN_UNSEEN; h++) {
        set.hold = (enum plan_hold)h;
        assert_memory_equal(plan_reason(&set), "held: ", 6);
    }
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
        cmocka_unit_test(test_blind_holds_all),
        cmocka_unit_test(test_alone_looks_again),
        cmocka_unit_test(test_not_alone),
        cmocka_unit_test(test_alone_acts_in_tier_1),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_dropped_stays_off),
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
