#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine/decide/health.h"

#define HOUR_MS (3600 * 1000LL)

static struct health_rule rule_of(uint32_t success, uint32_t failure)
{
    struct health_rule r = {success, failure, 10000};

    return r;
}

/* Feeds a script: 'o' ok, 'f' failed, 'l' local; one result a second.
 * returns how often the state changed; *now_ms: the clock, moved on */
static int feed(struct health *h, const struct health_rule *r,
                const char *script, int64_t *now_ms)
{
    int changes = 0;

    for (; *script != '\0'; script++) {
        *now_ms += 1000;
        changes += health_feed(h, r,
                               *script == 'o'   ? HEALTH_OK
                               : *script == 'f' ? HEALTH_FAIL
                                                : HEALTH_LOCAL,
                               *now_ms);
    }
    return changes;
}

static void feed_n(struct health *h, const struct health_rule *r, char what,
                   uint32_t n, int64_t *now_ms)
{
    const char one[2] = {what, '\0'};

    while (n-- > 0)
        (void)feed(h, r, one, now_ms);
}

/* n−1 results do nothing, the nth moves the state, and says so once. */
static void expect_move(struct health *h, const struct health_rule *r,
                        char what, uint32_t n, int64_t *now_ms)
{
    const char one[2] = {what, '\0'};
    enum health_state before = h->state;
    enum health_state after = what == 'o' ? HEALTH_UP : HEALTH_DOWN;

    for (uint32_t i = 1; i < n; i++) {
        assert_int_equal(feed(h, r, one, now_ms), 0);
        assert_int_equal(h->state, before);
        assert_int_equal(h->streak, i);
        assert_false(health_is_settled(h));
    }
    assert_int_equal(feed(h, r, one, now_ms), 1);
    assert_int_equal(h->state, after);
    assert_int_equal(h->since_ms, *now_ms);
    assert_int_equal(h->last_ms, *now_ms);
    assert_true(health_is_settled(h));
    assert_int_equal(feed(h, r, one, now_ms), 0);
    assert_int_equal(h->since_ms, *now_ms - 1000);
}

static void test_every_transition(void **state)
{
    (void)state;
    for (uint32_t s = 1; s <= 5; s++) {
        for (uint32_t f = 1; f <= 5; f++) {
            struct health_rule r = rule_of(s, f);
            struct health up = {0}, down = {0};
            int64_t now = 0;

            expect_move(&up, &r, 'o', s, &now);
            assert_true(up.ever_up);
            expect_move(&up, &r, 'f', f, &now);
            expect_move(&up, &r, 'o', s, &now);

            expect_move(&down, &r, 'f', f, &now);
            assert_false(down.ever_up);
            expect_move(&down, &r, 'o', s, &now);
            assert_true(down.ever_up);
            expect_move(&down, &r, 'f', f, &now);
            assert_true(down.ever_up);
        }
    }
}

/* One result that agrees takes back what had gathered against the state. */
static void test_agreement_clears(void **state)
{
    struct health_rule r = rule_of(3, 3);
    struct health h = {0};
    int64_t now = 0;

    (void)state;
    assert_int_equal(feed(&h, &r, "ooo", &now), 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(feed(&h, &r, "ffo", &now), 0);
    assert_int_equal(h.state, HEALTH_UP);
    assert_int_equal(feed(&h, &r, "fff", &now), 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(feed(&h, &r, "oof", &now), 0);
    assert_int_equal(h.state, HEALTH_DOWN);
}

/* While nothing is known, wavering gives no verdict either. */
static void test_unknown_wavers(void **state)
{
    struct health_rule r = rule_of(2, 2);
    struct health h = {0};
    int64_t now = 0;

    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(feed(&h, &r, "of", &now), 0);
    assert_int_equal(h.state, HEALTH_UNKNOWN);
    assert_false(health_is_settled(&h));
    assert_int_equal(feed(&h, &r, "oo", &now), 1);
}

static void test_local_counts_for_neither(void **state)
{
    struct health_rule r = rule_of(3, 3);
    struct health h = {0}, before;
    int64_t now = 0;

    (void)state;
    assert_int_equal(feed(&h, &r, "llllllll", &now), 0);
    before = (struct health){0};
    assert_memory_equal(&h, &before, sizeof h);
    assert_int_equal(feed(&h, &r, "lolol", &now), 0);
    assert_int_equal(h.streak, 2);
    assert_int_equal(feed(&h, &r, "lo", &now), 1);
    assert_int_equal(h.state, HEALTH_UP);
    /* It does not break a count, and it does not make one. */
    assert_int_equal(feed(&h, &r, "flflllll", &now), 0);
    assert_int_equal(h.state, HEALTH_UP);
    assert_int_equal(h.last_ms, now - 5000);
    assert_int_equal(feed(&h, &r, "f", &now), 1);
    assert_int_equal(h.state, HEALTH_DOWN);
}

static void test_settled(void **state)
{
    struct health_rule r = rule_of(1, 3);
    struct health h = {0};
    int64_t now = 0;

    (void)state;
    assert_false(health_is_settled(&h));
    (void)feed(&h, &r, "o", &now);
    assert_true(health_is_settled(&h));
    (void)feed(&h, &r, "f", &now);
    assert_false(health_is_settled(&h));
    (void)feed(&h, &r, "l", &now);
    assert_false(health_is_settled(&h));
    (void)feed(&h, &r, "o", &now);
    assert_true(health_is_settled(&h));
    (void)feed(&h, &r, "fff", &now);
    assert_int_equal(h.state, HEALTH_DOWN);
    assert_true(health_is_settled(&h));
    h.streak = 0;
    assert_false(health_is_settled(&h));
}

/* Counts: ten minutes, or three access periods where that is longer. */
static void test_counts_age(void **state)
{
    struct health_rule r = rule_of(5, 5);
    struct health h = {0};
    int64_t now = 0;

    (void)state;
    feed_n(&h, &r, 'o', 5, &now);
    feed_n(&h, &r, 'f', 4, &now);
    health_age(&h, &r, now + 600 * 1000);
    assert_int_equal(h.streak, 4);
    health_age(&h, &r, now + 600 * 1000 + 1);
    assert_int_equal(h.streak, 0);
    assert_int_equal(h.state, HEALTH_UP);
    now += 600 * 1000 + 1;
    /* The old failures are forgotten: five new ones are needed. */
    expect_move(&h, &r, 'f', 5, &now);

    r.access_period_ms = HOUR_MS;
    health_age(&h, &r, now + 3 * HOUR_MS);
    assert_int_equal(h.streak, 6);
    health_age(&h, &r, now + 3 * HOUR_MS + 1);
    assert_int_equal(h.streak, 0);
}

static void test_state_ages(void **state)
{
    struct health_rule r = rule_of(3, 3);
    struct health h = {0};
    int64_t now = 1000;

    (void)state;
    (void)feed(&h, &r, "ooo", &now);
    health_age(&h, &r, now + 24 * HOUR_MS);
    assert_int_equal(h.state, HEALTH_UP);
    health_age(&h, &r, now + 24 * HOUR_MS + 1);
    assert_int_equal(h.state, HEALTH_UNKNOWN);
    assert_int_equal(h.streak, 0);
    assert_true(h.ever_up);
    assert_false(health_is_settled(&h));
    now += 25 * HOUR_MS;
    expect_move(&h, &r, 'f', 3, &now);
    assert_true(h.ever_up);
}

static void test_nothing_ages_to_nothing(void **state)
{
    struct health_rule r = rule_of(1, 1);
    struct health h = {0}, zero = {0};

    (void)state;
    health_age(&h, &r, 0);
    health_age(&h, &r, 1000 * HOUR_MS);
    assert_memory_equal(&h, &zero, sizeof h);
}

/* Years of one result: the count stops at its end and does not wrap. */
static void test_count_has_an_end(void **state)
{
    struct health_rule r = rule_of(1, 1);
    struct health h = {.state = HEALTH_DOWN,
                       .last_ok = false,
                       .streak = UINT32_MAX - 1,
                       .last_ms = 1};
    int64_t now = 1;

    (void)state;
    assert_int_equal(feed(&h, &r, "fff", &now), 0);
    assert_int_equal(h.streak, UINT32_MAX);
    assert_true(health_is_settled(&h));
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(health_state_name(HEALTH_UNKNOWN), "unknown");
    assert_string_equal(health_state_name(HEALTH_UP), "up");
    assert_string_equal(health_state_name(HEALTH_DOWN), "down");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_transition),
        cmocka_unit_test(test_agreement_clears),
        cmocka_unit_test(test_unknown_wavers),
        cmocka_unit_test(test_local_counts_for_neither),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_counts_age),
        cmocka_unit_test(test_state_ages),
        cmocka_unit_test(test_nothing_ages_to_nothing),
        cmocka_unit_test(test_count_has_an_end),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
