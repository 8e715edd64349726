#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/plan_world.h"

/* The brake: maxChange. */

#define MINUTE_MS (60 * 1000LL)

/* n sets of `values` values that live and are published; all settled, long
 * ago. */
static void world(struct pw *w, size_t n, size_t values, int pct)
{
    pw_init(w);
    w->anchors = true;
    w->pct = pct;
    for (size_t i = 0; i < n; i++)
        (void)pw_set_add(w, values, 3);
    pw_rounds(w, 2);
    assert_int_equal(w->done, 0);
    w->now_ms += 2 * MINUTE_MS;
}

static void kill_first(struct pw *w, size_t s)
{
    w->s[s].v[0].target = PW_DEAD;
}

/* Which sets are held by the brake: "0011". */
static void expect_held(const struct pw *w, const char *want, int line)
{
    char got[PW_SETS + 1];

    for (size_t s = 0; s < w->n; s++)
        got[s] = w->sets[s].hold == PLAN_BRAKE ? '1' : '0';
    got[w->n] = '\0';
    if (strcmp(got, want) != 0)
        fail_msg("line %d: held %s, wanted %s", line, got, want);
    for (size_t s = 0; s < w->n; s++)
        if (w->sets[s].hold == PLAN_BRAKE)
            assert_int_equal(w->sets[s].nchanges, 0);
}
#define HELD(w, want) expect_held(w, want, __LINE__)

static void test_share(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 10, 2, 50);
    for (size_t s = 0; s < 10; s++)
        kill_first(&w, s);
    pw_round(&w);
    assert_int_equal(w.zone.published, 20);
    assert_int_equal(w.zone.allowed, 10);
    assert_int_equal(w.check_withdrawals, 10);

    world(&w, 10, 2, 25);
    for (size_t s = 0; s < 10; s++)
        kill_first(&w, s);
    pw_round(&w);
    assert_int_equal(w.zone.allowed, 5);
    HELD(&w, "0000011111");
    assert_int_equal(w.check_withdrawals, 5);
}

static void test_three_at_least(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 4, 2, 0);
    for (size_t s = 0; s < 4; s++)
        kill_first(&w, s);
    pw_round(&w);
    assert_int_equal(w.zone.allowed, PLAN_BRAKE_LEAST);
    HELD(&w, "0001");
    assert_int_equal(w.check_withdrawals, 3);
}

static void test_all_allowed(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 8, 4, 100);
    for (size_t s = 0; s < 8; s++) {
        w.s[s].all_down = SPEC_NONE;
        for (size_t i = 0; i < 4; i++)
            w.s[s].v[i].target = PW_DEAD;
    }
    pw_round(&w);
    HELD(&w, "00000000");
    assert_int_equal(w.check_withdrawals, 32);
}

/* The latest confirmed ones wait. */
static void test_latest_are_held(void **state)
{
    static const int64_t lag_ms[] = {50, 10, 40, 20, 30, 0};
    struct pw w;

    (void)state;
    world(&w, 6, 2, 0);
    for (size_t s = 0; s < 6; s++) {
        kill_first(&w, s);
        w.s[s].v[0].lag_ms = lag_ms[s];
    }
    pw_round(&w);
    HELD(&w, "101010");
}

/* A set goes whole or not at all, and what is later than a held one waits
 * too. */
static void test_whole_sets(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 3, 6, 0);
    kill_first(&w, 0);
    for (size_t i = 0; i < 4; i++) {
        w.s[1].v[i].target = PW_DEAD;
        w.s[1].v[i].lag_ms = 100;
    }
    kill_first(&w, 2);
    w.s[2].v[0].lag_ms = 200;
    pw_round(&w);
    HELD(&w, "011");
    assert_int_equal(w.check_withdrawals, 1);
    assert_int_equal(pw_count_on(&w.s[1]), 6);
}

/* Another access period, and requiredFailure more results at that pace. */
static void test_release(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 5, 2, 0);
    for (size_t s = 0; s < 5; s++)
        kill_first(&w, s);
    pw_round(&w);
    HELD(&w, "00011");
    pw_rounds(&w, 2);
    HELD(&w, "00011");
    pw_round(&w);
    HELD(&w, "00000");
    assert_int_equal(w.check_withdrawals, 2);
    assert_int_equal(w.s[4].memory.brake_since_ms, 0);

    world(&w, 4, 2, 0);
    for (size_t s = 0; s < 4; s++) {
        kill_first(&w, s);
        w.s[s].v[0].rule.access_period_ms = 2 * MINUTE_MS;
    }
    pw_round(&w);
    for (int i = 0; i < 12; i++) {
        HELD(&w, "0001"); /* results enough, but not the period */
        pw_round(&w);
    }
    HELD(&w, "0000");
}

/* The window alone releases nobody. */
static void test_window_is_no_release(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 4, 2, 0);
    for (size_t s = 0; s < 4; s++) {
        kill_first(&w, s);
        w.s[s].v[0].rule.required_failure = 9;
    }
    pw_round(&w);
    pw_rounds(&w, 8);
    HELD(&w, "0001");
    pw_round(&w);
    HELD(&w, "0000");
}

static void test_window(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 5, 2, 0);
    for (size_t s = 0; s < 3; s++)
        kill_first(&w, s);
    pw_round(&w);
    assert_int_equal(w.check_withdrawals, 3);
    w.now_ms += 40000;
    kill_first(&w, 3);
    pw_round(&w); /* 50 s later */
    HELD(&w, "00010");
    kill_first(&w, 4);
    pw_round(&w); /* 60 s later: the window is empty */
    HELD(&w, "00010");
    assert_int_equal(w.check_withdrawals, 1);
}

/* What was held and lives again: nothing happened. */
static void test_recovery(void **state)
{
    struct pw w;
    char shows[PW_VALUES + 1];

    (void)state;
    world(&w, 4, 2, 0);
    for (size_t s = 0; s < 4; s++)
        kill_first(&w, s);
    pw_round(&w);
    HELD(&w, "0001");
    w.s[3].v[0].target = PW_ALIVE;
    pw_round(&w);
    HELD(&w, "0000");
    assert_int_equal(w.s[3].memory.brake_since_ms, 0);
    assert_string_equal(pw_shows(&w.s[3], shows), "11");
    /* The next outage is a new one. */
    kill_first(&w, 3);
    pw_round(&w);
    HELD(&w, "0001");
}

/* Results that are too old count anew: the hold asks for requiredFailure
 * more, not for as many as there had ever been. */
static void test_count_starts_anew(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 4, 2, 0);
    w.blind = true;
    for (size_t s = 0; s < 4; s++)
        kill_first(&w, s);
    pw_rounds(&w, 30);
    w.blind = false;
    pw_round(&w);
    HELD(&w, "0001");
    assert_true(w.s[3].v[0].memory.brake_streak > 30);
    w.now_ms += 20 * MINUTE_MS;
    pw_round(&w);
    assert_int_equal(w.s[3].v[0].health.streak, 1);
    HELD(&w, "0001");
    pw_round(&w);
    HELD(&w, "0001");
    pw_round(&w);
    HELD(&w, "0000");
    assert_int_equal(w.check_withdrawals, 1);
}

/* A value that dies in a set that is held waits for its own further
 * failures. */
static void test_death_in_a_held_set(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 4, 3, 0);
    for (size_t s = 0; s < 4; s++)
        kill_first(&w, s);
    pw_round(&w);
    HELD(&w, "0001");
    pw_rounds(&w, 2);
    w.s[3].v[1].target = PW_DEAD;
    pw_round(&w); /* value 0 would be free now */
    HELD(&w, "0001");
    pw_rounds(&w, 2);
    HELD(&w, "0001");
    pw_round(&w);
    HELD(&w, "0000");
    assert_int_equal(w.check_withdrawals, 2);
}

static void test_a_swap_is_one(void **state)
{
    struct pw w;

    (void)state;
    world(&w, 0, 0, 0);
    for (size_t s = 0; s < 4; s++)
        pw_set_add(&w, 2, 3)->order = SPEC_PRIORITY;
    pw_round(&w);
    w.now_ms += 2 * MINUTE_MS;
    for (size_t s = 0; s < 4; s++)
        kill_first(&w, s);
    pw_round(&w);
    HELD(&w, "0001");
    assert_int_equal(w.check_withdrawals, 3);
    /* The way back takes healthy ones out: that does not count. */
    pw_rounds(&w, 5);
    for (size_t s = 0; s < 4; s++)
        w.s[s].v[0].target = PW_ALIVE;
    w.step_ms = 1000;
    pw_round(&w);
    HELD(&w, "0000");
    assert_int_equal(w.check_withdrawals, 0);
    assert_int_equal(w.done, 8);
    assert_int_equal(w.empties, 0);
}

/* What is published only since less than a minute makes no room. */
static void test_as_of_a_minute_ago(void **state)
{
    struct pw w;

    (void)state;
    pw_init(&w);
    w.anchors = true;
    for (size_t s = 0; s < 5; s++)
        (void)pw_set_add(&w, 4, 3);
    pw_round(&w);
    assert_int_equal(w.done, 20);
    for (size_t s = 0; s < 5; s++)
        kill_first(&w, s);
    pw_round(&w);
    assert_int_equal(w.zone.published, 0);
    HELD(&w, "00011");
    w.now_ms += 2 * MINUTE_MS;
    pw_round(&w);
    /* 17 stand since then, and none was taken out within the last minute. */
    assert_int_equal(w.zone.published, 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_three_at_least),
        cmocka_unit_test(test_all_allowed),
        cmocka_unit_test(test_latest_are_held),
        cmocka_unit_test(test_whole_sets),
        cmocka_unit_test(test_release),
        cmocka_unit_test(test_window_is_no_release),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_count_starts_anew),
        cmocka_unit_test(test_death_in_a_held_set),
        cmocka_unit_test(test_a_swap_is_one),
        cmocka_unit_test(test_as_of_a_minute_ago),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
