#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/plan_expect.h"

/* Others' hands, and writes whose outcome is not known. */

/* --- others' hands ---------------------------------------------------------
 */

static void test_switched_off_stays_off(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    settle(&w);
    pw_switch(s, "01");
    pw_rounds(&w, 100);
    EXPECT(&w, 0, "01");
    assert_true(s->v[0].memory.held_off);
    s->v[0].target = PW_LOCAL; /* no answer is no reason */
    pw_rounds(&w, 3);
    s->v[0].target = PW_ALIVE;
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "01");
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    assert_false(s->v[0].memory.held_off);
    s->v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "11");
    assert_int_equal(s->v[0].memory.damp, 0);
}

static void test_switched_off_and_on_again(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    settle(&w);
    pw_switch(s, "00");
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "00");
    assert_int_equal(w.sets[0].decision.rule, DECIDE_HOLD_HANDS);
    pw_switch(s, "10");
    pw_round(&w);
    assert_false(s->v[0].memory.held_off);
    assert_true(s->v[1].memory.held_off);
    EXPECT(&w, 0, "10");
}

/* A dead one that somebody switched off comes back when it lives. */
static void test_switched_off_while_dead(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 1, 3);
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "1"); /* allDown: keep */
    pw_switch(s, "0");
    pw_rounds(&w, 3);
    s->v[0].target = PW_ALIVE;
    pw_round(&w);
    EXPECT(&w, 0, "1");
}

static void test_switched_on_dead(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    for (int i = 0; i < 3; i++) {
        pw_switch(s, "11");
        pw_round(&w);
        EXPECT(&w, 0, "01");
        pw_round(&w);
        assert_int_equal(w.done, 0);
        w.now_ms += MINUTE_MS;
    }
    pw_switch(s, "11");
    pw_rounds(&w, 10);
    EXPECT(&w, 0, "11");
    assert_true(w.values[0][0].reclaim_held);
    assert_int_equal(s->v[0].memory.damp, 0);
    /* The hour is over. */
    w.now_ms += HOUR_MS;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    assert_false(w.values[0][0].reclaim_held);
}

/* Put in while dead, then well and wanted: from then on as any other. */
static void test_put_in_becomes_ours(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    settle(&w);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    w.now_ms += HOUR_MS / 2;
    s->v[0].target = PW_ALIVE;
    pw_switch(s, "11");
    pw_round(&w);
    EXPECT(&w, 0, "11");
    for (int i = 0; i < 5; i++) {
        s->v[0].target = PW_DEAD;
        pw_round(&w);
        EXPECT(&w, 0, "01");
        assert_int_equal(s->v[0].writes.reclaims_ms[0], 0);
        s->v[0].target = PW_ALIVE;
        for (int k = 0; k < 30 && !s->v[0].on; k++)
            pw_round(&w);
        EXPECT(&w, 0, "11");
    }
    assert_true(s->v[0].memory.damp > 0);
}

/* What one's own write did is never taken for another's hand. */
static void test_uncertain_writes(void **state)
{
    static const enum pw_write ends[] = {PW_UNKNOWN_DONE, PW_UNKNOWN_LOST};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pw w;
        struct pw_set *s;

        pw_init(&w);
        s = pw_set_add(&w, 2, 3);
        settle(&w);
        s->v[0].target = PW_DEAD;
        s->v[0].write = ends[i];
        pw_round(&w);
        assert_true(s->v[0].memory.uncertain);
        assert_int_equal(s->v[0].on, ends[i] == PW_UNKNOWN_LOST);
        s->v[0].write = PW_DONE;
        pw_round(&w);
        EXPECT(&w, 0, "01");
        assert_false(s->v[0].memory.uncertain);
        s->v[0].write = ends[i];
        s->v[0].target = PW_ALIVE;
        pw_round(&w);
        s->v[0].write = PW_DONE;
        pw_round(&w);
        EXPECT(&w, 0, "11");
        assert_false(s->v[0].memory.held_off);
        assert_false(s->v[0].memory.put_in);
    }
}

/* A healthy one that one's own write may have taken out is not held off. */
static void test_uncertain_swap(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    s->order = SPEC_PRIORITY;
    s->v[0].target = PW_DEAD;
    pw_switch(s, "01");
    pw_rounds(&w, 2);
    s->v[0].target = PW_ALIVE;
    s->v[1].write = PW_UNKNOWN_DONE;
    pw_round(&w);
    EXPECT(&w, 0, "10");
    s->v[1].write = PW_DONE;
    pw_round(&w);
    assert_false(s->v[1].memory.held_off);
    s->v[0].target = PW_DEAD;
    pw_round(&w);
    EXPECT(&w, 0, "01");
}

/* An addition that fails: nothing of the set goes; next round it is tried
 * again. */
static void test_failed_addition(void **state)
{
    struct pw w;
    struct pw_set *s;

    (void)state;
    pw_init(&w);
    s = pw_set_add(&w, 2, 3);
    s->order = SPEC_PRIORITY;
    settle(&w);
    s->v[0].target = PW_DEAD;
    s->v[1].write = PW_FAILS;
    pw_rounds(&w, 3);
    EXPECT(&w, 0, "10");
    s->v[1].write = PW_DONE;
    pw_round(&w);
    EXPECT(&w, 0, "01");
    assert_int_equal(w.empties, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switched_off_stays_off),
        cmocka_unit_test(test_switched_off_and_on_again),
        cmocka_unit_test(test_switched_off_while_dead),
        cmocka_unit_test(test_switched_on_dead),
        cmocka_unit_test(test_put_in_becomes_ours),
        cmocka_unit_test(test_uncertain_writes),
        cmocka_unit_test(test_uncertain_swap),
        cmocka_unit_test(test_failed_addition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
