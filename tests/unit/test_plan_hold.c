#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/memory_help.h"
#include "tests/unit/plan_expect.h"

/* When a set is left as it is, and values that are not quite its own. */

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
    assert_true(memory_equal(&before, &s->v[0].memory));
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

/* A record that is its own fallback: one value, one switch. */
static void test_twins(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    s = pw_set_add(&w, 3, 3);
    s->v[2].fallback = true;
    s->v[2].target = PW_NO_CHECK;
    s->v[2].twin = 1;
    s->all_down = SPEC_NONE;
    pw_rounds(&w, 2);
    assert_true(s->v[0].on && s->v[1].on);
    assert_int_equal(w.done, 0);
    s->v[1].target = PW_DEAD;
    pw_round(&w);
    assert_true(s->v[0].on && !s->v[1].on);
    s->v[0].target = PW_DEAD;
    pw_rounds(&w, 10);
    assert_int_equal(w.sets[0].decision.tier, 5);
    assert_true(s->v[0].on);
    assert_int_equal(w.done, 0);
    s->v[1].target = PW_ALIVE;
    pw_round(&w);
    assert_true(!s->v[0].on && s->v[1].on);
    assert_int_equal(w.done, 2);
    assert_int_equal(w.check_withdrawals, 1);
    pw_round(&w);
    assert_int_equal(w.done, 0);
}

/* A healthy twin that somebody switched off is not brought back by the other
 * one, nor forgotten because of it. */
static void test_twins_and_hands(void **state)
{
    static const enum pw_target others[] = {PW_ALIVE, PW_NO_CHECK, PW_DEAD};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct pw w;
        struct pw_set *s;

        pw_init(&w);
        s = pw_set_add(&w, 3, 3);
        s->v[2].fallback = true;
        s->v[2].target = others[i];
        s->v[2].twin = 1;
        settle(&w);
        pw_switch(s, "01");
        pw_rounds(&w, 5);
        assert_true(!s->v[0].on && s->v[1].on);
        assert_true(s->v[0].memory.held_off);
    }
}

static void test_reasons(void **state)
{
    struct plan_set set;

    (void)state;
    memset(&set, 0, sizeof set);
    set.decision.rule = DECIDE_FALLBACK;
    assert_string_equal(plan_reason(&set), decide_rule_text(DECIDE_FALLBACK));
    for (int h = PLAN_FREE + 1; h <= PLAN_UNSEEN; h++) {
        set.hold = (enum plan_hold)h;
        assert_memory_equal(plan_reason(&set), "held: ", 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blind_holds_all),
        cmocka_unit_test(test_alone_looks_again),
        cmocka_unit_test(test_not_alone),
        cmocka_unit_test(test_alone_acts_in_tier_1),
        cmocka_unit_test(test_learning),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_dropped_stays_off),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_twins_and_hands),
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
