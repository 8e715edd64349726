#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/plan_expect.h"

/* Who comes back when; maintenance, freeze, CNAME sets, noResponse and DR. */

/* --- returns -----------------------------------------------------------------
 */

/* Fast out, slow back; a value that was never down does not wait. */
static void test_return_after(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    s = pw_set_add(&w, 2, 1);
    s->damping = false;
    s->v[0].return_after_ms = 90 * 1000;
    pw_switch(s, "01");
    pw_round(&w);
    EXPECT(&w, 0, "11"); /* first contact: nothing to return from */
    for (int i = 0; i < 5; i++)
        assert_int_equal(outage(&w), 90 * 1000);
    /* A new outage while it waits: from the beginning. */
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].target = PW_ALIVE;
    pw_rounds(&w, 60);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].target = PW_ALIVE;
    pw_rounds(&w, 90);
    EXPECT(&w, 0, "01");
    pw_round(&w);
    EXPECT(&w, 0, "11");
}

/* Better than none; and once it is published it stays. */
static void test_return_after_alone(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 3, 1);
    s->v[0].return_after_ms = HOUR_MS;
    s->v[2].fallback = true;
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].target = PW_ALIVE;
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "100");
    assert_int_equal(w.sets[0].decision.tier, 4);
    assert_string_equal(plan_reason(&w.sets[0]),
                        decide_rule_text(DECIDE_WAITING));
    s->v[1].target = PW_ALIVE;
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "110");
}

/* The longer of returnAfter and damping. */
static void test_return_after_and_damping(void **state)
{
    static const int64_t waits_s[] = {50, 50, 50, 60, 120};
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    s = pw_set_add(&w, 2, 1);
    s->v[0].return_after_ms = 50 * 1000;
    settle(&w);
    for (size_t i = 0; i < sizeof waits_s / sizeof waits_s[0]; i++)
        assert_int_equal(outage(&w), waits_s[i] * 1000);
}

static void test_return_manual(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 3, 1);
    s->v[0].return_manual = true;
    s->v[2].fallback = true;
    pw_switch(s, "010");
    pw_round(&w);
    EXPECT(&w, 0, "110"); /* it was never withdrawn */
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    assert_true(s->v[0].memory.shut);
    s->v[0].target = PW_ALIVE;
    pw_rounds(&w, 1000);
    EXPECT(&w, 0, "010");
    /* Nobody else is left, and still it is not let in. */
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "001");
    s->v[1].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "010");
    plan_readmit(&s->v[0].memory);
    pw_round(&w);
    EXPECT(&w, 0, "110");
    /* Whoever switches it on by hand has let it in, too. */
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "010");
    pw_switch(s, "110");
    pw_rounds(&w, 5);
    EXPECT(&w, 0, "110");
    assert_false(s->v[0].memory.shut);
}

/* A withdrawal whose answer was lost is one when it happened. */
static void test_return_manual_uncertain(void **state)
{
    static const enum pw_write ends[] = {PW_UNKNOWN_DONE, PW_UNKNOWN_LOST};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pw w;
        struct pw_set *s;

        pw_init(&w);
        s = pw_set_add(&w, 2, 1);
        s->v[0].return_manual = true;
        settle(&w);
        s->v[0].target = PW_DEAD;
        s->v[0].write = ends[i];
        pw_round(&w);
        s->v[0].write = PW_DONE;
        pw_round(&w);
        EXPECT(&w, 0, "01");
        s->v[0].target = PW_ALIVE;
        pw_rounds(&w, 5);
        EXPECT(&w, 0, "01");
        assert_true(s->v[0].memory.shut);
    }
}

/* allDown: all publishes what is shut; that lets it in for as long only. */
static void test_shut_in_all_down_all(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 2, 1);
    s->all_down = SPEC_DOWN_ALL;
    s->v[0].return_manual = true;
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "11");
    s->v[0].target = PW_ALIVE;
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "11");
    assert_int_equal(w.sets[0].decision.rule, DECIDE_ALL_DOWN_ALL);
    s->v[1].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    assert_int_equal(w.check_withdrawals, 0);
    plan_readmit(&s->v[0].memory);
    pw_round(&w);
    EXPECT(&w, 0, "11");
}

/* A swap for the chain's sake shuts nobody out. */
static void test_swap_is_no_withdrawal(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 1);
    s->order = SPEC_PRIORITY;
    s->v[1].return_manual = true;
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    s->v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "10");
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "01");
}

static void test_readmit_ends_damping(void **state)
{
    struct pw w;

    (void)state;
    pw_init(&w);
    w.step_ms = 1000;
    w.no_brake = true;
    (void)pw_set_add(&w, 2, 1);
    settle(&w);
    for (int i = 0; i < 6; i++)
        (void)outage(&w);
    w.s[0].v[0].target = PW_DEAD;
    pw_round(&w);
    w.s[0].v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    plan_readmit(&w.s[0].v[0].memory);
    pw_round(&w);
    EXPECT(&w, 0, "11");
    assert_int_equal(outage(&w), 0);
}

/* onlyNew: its data centre is back and not let in. */
static void test_away(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 3, 1);
    s->v[2].fallback = true;
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    s->v[0].target = PW_ALIVE;
    s->v[0].away = true;
    pw_rounds(&w, 5);
    EXPECT(&w, 0, "010");
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "001");
    s->v[0].away = false;
    pw_round(&w);
    EXPECT(&w, 0, "100");
}

/* --- maintenance, freeze, CNAME ---------------------------------------------
 */

/* Out at once, whatever the checks say; back at once, no damping, nothing to
 * wait for. */
static void test_maintenance(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    s->v[0].return_after_ms = HOUR_MS;
    s->v[0].return_manual = true;
    settle(&w);
    for (int i = 0; i < 5; i++) {
        s->v[0].maintenance = true;
        pw_round(&w);
        EXPECT(&w, 0, "01");
        assert_int_equal(w.check_withdrawals, 0);
        assert_false(s->v[0].memory.shut);
        assert_string_equal(plan_reason(&w.sets[0]),
                            decide_rule_text(DECIDE_HEALTHY));
        s->v[0].maintenance = false;
        pw_round(&w);
        EXPECT(&w, 0, "11");
    }
    assert_int_equal(s->v[0].memory.damp, 0);
    s->v[1].target = PW_LOCAL; /* unknown, and out all the same */
    memset(&s->v[1].health, 0, sizeof s->v[1].health);
    s->v[1].maintenance = true;
    pw_round(&w);
    EXPECT(&w, 0, "10");
}

/* It does not count for the brake: a whole zone may go. */
static void test_maintenance_is_not_braked(void **state)
{
    struct pw w;

    (void)state;
    pw_init(&w);
    w.pct = 0;
    for (size_t i = 0; i < PW_SETS; i++)
        (void)pw_set_add(&w, 2, 3);
    settle(&w);
    for (size_t i = 0; i < PW_SETS; i++)
        w.s[i].v[0].maintenance = true;
    pw_round(&w);
    for (size_t i = 0; i < PW_SETS; i++)
        EXPECT(&w, i, "01");
    assert_int_equal(w.withdrawn_ms[0], 0);
}

static void test_all_in_maintenance(void **state)
{
    static const struct {
        enum spec_all_down all_down;
        bool fallback;
        const char *want, *reason;
    } rows[] = {
        {SPEC_KEEP, false, "110",
         "every data centre is in maintenance: kept (allDown: keep)"},
        {SPEC_DOWN_ALL, false, "110",
         "every data centre is in maintenance: all published (allDown: all)"},
        {SPEC_NONE, false, "000",
         "every data centre is in maintenance: none published (allDown: none)"},
        {SPEC_NONE, true, "001",
         "every data centre is in maintenance: fallbackRecords"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pw w;
        struct pw_set *s;

        pw_init(&w);
        w.anchors = true;
        s = pw_set_add(&w, 3, 3);
        s->all_down = rows[i].all_down;
        s->v[2].fallback = true;
        settle(&w);
        s->v[2].target = rows[i].fallback ? PW_ALIVE : PW_DEAD;
        s->v[0].maintenance = s->v[1].maintenance = true;
        pw_round(&w);
        EXPECT(&w, 0, rows[i].want);
        assert_string_equal(plan_reason(&w.sets[0]), rows[i].reason);
        pw_rounds(&w, 3);
        EXPECT(&w, 0, rows[i].want);
        s->v[0].maintenance = s->v[1].maintenance = false;
        pw_round(&w);
        EXPECT(&w, 0, "110");
    }
}

static void test_frozen(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 1);
    (void)pw_set_add(&w, 2, 1);
    settle(&w);
    s->frozen = true;
    s->v[0].target = w.s[1].v[0].target = PW_DEAD;
    pw_rounds(&w, 50);
    EXPECT(&w, 0, "11");
    EXPECT(&w, 1, "01");
    assert_int_equal(w.sets[0].hold, PLAN_FROZEN);
    assert_int_equal(w.sets[0].nchanges, 0);
    assert_string_equal(plan_reason(&w.sets[0]),
                        "held: frozen by the operator");
    assert_int_equal(s->v[0].memory.healthy_since_ms, 0); /* checks go on */
    s->frozen = false;
    pw_round(&w);
    EXPECT(&w, 0, "01");
}

static void test_cname(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 4, 1);
    s->type = SPEC_CNAME;
    s->take = 3;
    s->v[3].fallback = true;
    pw_switch(s, "0100");
    pw_round(&w);
    EXPECT(&w, 0, "1000");
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "0100");
    s->v[1].target = s->v[2].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "0001");
    s->all_down = SPEC_DOWN_ALL;
    s->v[3].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "1000");
    assert_int_equal(w.empties, 0);
}

/* A second CNAME by hand is taken out again however often it comes: no server
 * loads a zone with two. */
static void test_second_cname(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 1);
    s->type = SPEC_CNAME;
    pw_rounds(&w, 2);
    for (int i = 0; i < 10; i++) {
        pw_switch(s, "11");
        pw_round(&w);
        EXPECT(&w, 0, "10");
    }
}

/* --- passive and DR ----------------------------------------------------------
 */

static void test_passive_and_dr(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 4, 1);
    s->v[1].class = DECIDE_PASSIVE;
    s->v[2].class = s->v[3].class = DECIDE_DR;
    s->v[2].dr_if_no_records = true;
    pw_switch(s, "1111");
    pw_round(&w);
    EXPECT(&w, 0, "1000");
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "0100");
    assert_int_equal(w.sets[0].decision.tier, 2);
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "0010");
    assert_int_equal(w.sets[0].decision.tier, 3);
    s->v[3].dr_cond = TRI_TRUE;
    pw_round(&w);
    EXPECT(&w, 0, "0001");
    assert_int_equal(w.sets[0].decision.tier, 1);
    s->v[3].dr_cond = TRI_UNKNOWN; /* as it stands */
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "0001");
    s->v[3].dr_cond = TRI_FALSE;
    pw_round(&w);
    EXPECT(&w, 0, "0010");
    s->v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "1000");
    assert_int_equal(w.empties, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_return_after),
        cmocka_unit_test(test_return_after_alone),
        cmocka_unit_test(test_return_after_and_damping),
        cmocka_unit_test(test_return_manual),
        cmocka_unit_test(test_return_manual_uncertain),
        cmocka_unit_test(test_shut_in_all_down_all),
        cmocka_unit_test(test_swap_is_no_withdrawal),
        cmocka_unit_test(test_readmit_ends_damping),
        cmocka_unit_test(test_away),
        cmocka_unit_test(test_maintenance),
        cmocka_unit_test(test_maintenance_is_not_braked),
        cmocka_unit_test(test_all_in_maintenance),
        cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_cname),
        cmocka_unit_test(test_second_cname),
        cmocka_unit_test(test_passive_and_dr),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
