#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/base/mem.h"
#include "agent/engine/decide/sched.h"

/* A check that counts the results it takes. */
struct probed {
    size_t taken;
    bool calm;
    int64_t last_ms, least_ms, most_ms; /* pauses between them */
    int64_t first_ms;
};

static bool take(void *taker, void *room)
{
    const int64_t *now_ms = taker;
    struct probed *p = *(struct probed **)room;

    if (p->taken == 0)
        p->first_ms = *now_ms;
    if (p->taken > 0) {
        int64_t pause = *now_ms - p->last_ms;

        if (p->least_ms == 0 || pause < p->least_ms)
            p->least_ms = pause;
        if (pause > p->most_ms)
            p->most_ms = pause;
    }
    p->taken++;
    p->last_ms = *now_ms;
    return p->calm;
}

static struct sched_entry *add(struct sched *s, const char *key,
                               const struct sched_pace *pace, struct probed *p,
                               int64_t now_ms)
{
    struct sched_entry *e = sched_add(s, key, strlen(key), pace, now_ms);
    struct probed **room = sched_room(e);

    *room = p;
    assert_ptr_equal(sched_of(room), e);
    return e;
}

/* Instant probes until end_ms; returns how many there were. */
static size_t run(struct sched *s, int64_t end_ms)
{
    struct sched_entry *g;
    int64_t at_ms;
    size_t n = 0;

    while ((g = sched_next_due(s, &at_ms)) != NULL && at_ms <= end_ms) {
        sched_started(s, g, at_ms);
        sched_result(s, g, take, &at_ms);
        n++;
    }
    return n;
}

static const struct sched_pace ten = {10000, 1000};

static void calm_pauses_are_a_period_less_jitter(void **state)
{
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed p = {.calm = true};

    (void)state;
    (void)add(s, "a", &ten, &p, 0);
    (void)run(s, 3600 * 1000);
    assert_in_range(p.first_ms, 0, 9999);
    assert_in_range(p.least_ms, 9000, 9200);
    assert_in_range(p.most_ms, 9800, 10000);
    assert_in_range(p.taken, 360, 400);
    sched_free(s);
}

static void transition_is_exact(void **state)
{
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed p = {.calm = false};

    (void)state;
    (void)add(s, "a", &ten, &p, 0);
    (void)run(s, 60000);
    assert_int_equal(p.least_ms, 1000);
    assert_int_equal(p.most_ms, 1000);
    sched_free(s);
}

static void pace_counts_from_start_to_start(void **state)
{
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed p = {.calm = false};
    struct sched_entry *g;
    int64_t at_ms, now_ms;

    (void)state;
    (void)add(s, "a", &ten, &p, 0);
    g = sched_next_due(s, &at_ms);
    sched_started(s, g, at_ms);
    assert_null(sched_next_due(s, &now_ms)); /* its probe is out */
    now_ms = at_ms + 700;
    sched_result(s, g, take, &now_ms);
    assert_ptr_equal(sched_next_due(s, &now_ms), g);
    assert_int_equal(now_ms, at_ms + 1000);
    /* A probe that takes longer than the pace: the next one is due at once. */
    sched_started(s, g, now_ms);
    at_ms = now_ms + 2000;
    sched_result(s, g, take, &at_ms);
    (void)sched_next_due(s, &at_ms);
    assert_true(at_ms <= now_ms + 2000);
    sched_free(s);
}

static void shared_probes_are_taken_when_due(void **state)
{
    static const struct sched_pace thirty = {30000, 1000};
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed fast = {.calm = true}, slow = {.calm = true};
    size_t n;

    (void)state;
    (void)add(s, "a", &ten, &fast, 0);
    (void)add(s, "a", &thirty, &slow, 0);
    assert_int_equal(sched_groups(s), 1);
    n = run(s, 3600 * 1000);
    /* The slow one takes results of the fast one, and asks for few more. */
    assert_true(n < fast.taken + slow.taken / 2);
    assert_in_range(slow.most_ms, 1, 30000);
    assert_in_range(slow.taken, 118, 140);
    assert_in_range(fast.most_ms, 9000, 10000);
    sched_free(s);
}

static void starts_are_spread(void **state)
{
    enum { N = 10000, PARTS = 10 };
    struct probed *p = mem_array(N, sizeof *p);
    struct sched *s = sched_new(7, sizeof(struct probed *));
    size_t parts[PARTS] = {0};

    (void)state;
    for (size_t i = 0; i < N; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "tcp 192.0.2.1:%zu", i);
        p[i].calm = true;
        (void)add(s, key, &ten, &p[i], 0);
    }
    (void)run(s, 10000);
    for (size_t i = 0; i < N; i++)
        parts[p[i].first_ms * PARTS / 10000]++;
    for (size_t i = 0; i < PARTS; i++)
        assert_in_range(parts[i], N / PARTS * 8 / 10, N / PARTS * 12 / 10);
    sched_free(s);
    free(p);
}

static void long_periods_begin_soon_and_part(void **state)
{
    static const struct sched_pace hour = {3600 * 1000, 1000};
    enum { N = 1000 };
    struct probed *p = mem_array(N, sizeof *p);
    struct sched *s = sched_new(7, sizeof(struct probed *));
    size_t early = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "%zu", i);
        p[i].calm = true;
        (void)add(s, key, &hour, &p[i], 0);
    }
    assert_int_equal(run(s, SCHED_FIRST_MS), N + 0u);
    (void)run(s, SCHED_FIRST_MS + 1800 * 1000);
    for (size_t i = 0; i < N; i++)
        early += p[i].taken > 1;
    assert_in_range(early, N * 4 / 10, N * 6 / 10);
    (void)run(s, 4 * 3600 * 1000);
    for (size_t i = 0; i < N; i++)
        assert_in_range(p[i].most_ms, 1, 3600 * 1000);
    sched_free(s);
    free(p);
}

static void order_of_adding_does_not_matter(void **state)
{
    struct probed p[6] = {{0}};
    static const char *const keys[] = {"a", "b", "c"};

    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct sched *s = sched_new(3, sizeof(struct probed *));

        for (int i = 0; i < 3; i++) {
            int k = turn == 0 ? i : 2 - i;

            p[3 * turn + k].calm = true;
            (void)add(s, keys[k], &ten, &p[3 * turn + k], 0);
        }
        (void)run(s, 100000);
        sched_free(s);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p[i].last_ms, p[3 + i].last_ms);
        assert_int_equal(p[i].taken, p[3 + i].taken);
    }
}

static void another_seed_gives_other_times(void **state)
{
    int64_t at_ms[2];

    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        struct sched *s = sched_new(i, sizeof(struct probed *));
        struct probed p = {0};

        (void)add(s, "a", &ten, &p, 0);
        (void)sched_next_due(s, &at_ms[i]);
        sched_free(s);
    }
    assert_int_not_equal(at_ms[0], at_ms[1]);
}

static void removing(void **state)
{
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed a = {.calm = true}, b = {.calm = true};
    struct sched_entry *ea = add(s, "k", &ten, &a, 0);
    struct sched_entry *eb = add(s, "k", &ten, &b, 0);
    struct sched_entry *g;
    int64_t at_ms;

    (void)state;
    (void)run(s, 30000);
    sched_remove(s, ea);
    a.taken = 0;
    (void)run(s, 60000);
    assert_int_equal(a.taken, 0);
    assert_true(b.taken > 4);
    /* While its probe is out. */
    g = sched_next_due(s, &at_ms);
    sched_started(s, g, at_ms);
    b.taken = 0;
    sched_remove(s, eb);
    assert_null(sched_any_room(s, g));
    sched_result(s, g, take, &at_ms);
    assert_int_equal(b.taken, 0);
    assert_int_equal(sched_groups(s), 0);
    assert_null(sched_next_due(s, &at_ms));
    sched_free(s);
}

static void added_while_a_probe_is_out(void **state)
{
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed a = {.calm = true}, b = {.calm = true};
    struct sched_entry *g;
    int64_t at_ms;

    (void)state;
    (void)add(s, "k", &ten, &a, 0);
    g = sched_next_due(s, &at_ms);
    sched_started(s, g, at_ms);
    (void)add(s, "k", &ten, &b, at_ms);
    sched_result(s, g, take, &at_ms);
    assert_int_equal(a.taken, 1);
    assert_int_equal(b.taken, 0); /* that probe began before it */
    (void)run(s, at_ms + 10000);
    assert_true(b.taken > 0);
    sched_free(s);
}

static void hurry(void **state)
{
    struct sched *s = sched_new(1, sizeof(struct probed *));
    struct probed p = {.calm = true};
    struct sched_entry *e = add(s, "k", &ten, &p, 0);
    int64_t first_ms, at_ms;

    (void)state;
    (void)sched_next_due(s, &first_ms);
    sched_hurry(s, e); /* no probe yet: nothing to be faster than */
    (void)sched_next_due(s, &at_ms);
    assert_int_equal(at_ms, first_ms);
    (void)run(s, first_ms);
    sched_hurry(s, e);
    (void)sched_next_due(s, &at_ms);
    assert_int_equal(at_ms, first_ms + 1000);
    (void)run(s, at_ms);
    assert_int_equal(p.taken, 2);
    sched_free(s);
}

static void calm_is_agreeing(void **state)
{
    struct health up = {HEALTH_UP, true, true, 3, 0, 0};
    struct health wavering = {HEALTH_UP, true, false, 1, 0, 0};
    struct health fresh = {HEALTH_UNKNOWN, false, false, 0, 0, 0};
    struct health counting = {HEALTH_UNKNOWN, false, true, 2, 0, 0};

    (void)state;
    assert_true(sched_is_calm(&up, HEALTH_OK));
    assert_false(sched_is_calm(&wavering, HEALTH_FAIL));
    assert_false(sched_is_calm(&wavering, HEALTH_LOCAL));
    assert_false(sched_is_calm(&counting, HEALTH_OK));
    assert_true(sched_is_calm(&fresh, HEALTH_LOCAL));
}

/* Random adding, removing and running against a plain look at the rule: the
 * heap never loses an entry and never goes back in time. */
static void many(void **state)
{
    enum { N = 100000 };
    struct probed *p = mem_array(N, sizeof *p);
    struct sched_entry **e = mem_array(N, sizeof *e);
    struct sched *s = sched_new(11, sizeof(struct probed *));
    struct sched_entry *g;
    int64_t at_ms, before_ms = 0;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "%zu", i % (N - N / 10));
        p[i].calm = i % 3 != 0;
        e[i] = add(s, key, &ten, &p[i], 0);
    }
    assert_int_equal(sched_groups(s), N - N / 10);
    for (size_t i = 0; i < N; i += 2)
        sched_remove(s, e[i]);
    while ((g = sched_next_due(s, &at_ms)) != NULL && at_ms <= 20000) {
        assert_true(at_ms >= before_ms);
        before_ms = at_ms;
        sched_started(s, g, at_ms);
        sched_result(s, g, take, &at_ms);
        n++;
    }
    for (size_t i = 1; i < N; i += 2)
        assert_true(p[i].taken >= (p[i].calm ? 2u : 10u));
    assert_true(n > N / 2);
    sched_free(s);
    free(e);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calm_pauses_are_a_period_less_jitter),
        cmocka_unit_test(transition_is_exact),
        cmocka_unit_test(pace_counts_from_start_to_start),
        cmocka_unit_test(shared_probes_are_taken_when_due),
        cmocka_unit_test(starts_are_spread),
        cmocka_unit_test(long_periods_begin_soon_and_part),
        cmocka_unit_test(order_of_adding_does_not_matter),
        cmocka_unit_test(another_seed_gives_other_times),
        cmocka_unit_test(removing),
        cmocka_unit_test(added_while_a_probe_is_out),
        cmocka_unit_test(hurry),
        cmocka_unit_test(calm_is_agreeing),
        cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
