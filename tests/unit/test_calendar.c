#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "agent/base/mem.h"
#include "agent/engine/decide/calendar.h"

#define YEAR_MS (16 * 1024)

static void expect_first(struct calendar *c, int64_t due_ms, uint32_t id)
{
    int64_t got_ms = -1;
    uint32_t got = UINT32_MAX;

    assert_true(calendar_first(c, &got_ms, &got));
    assert_int_equal(got_ms, due_ms);
    assert_int_equal(got, id);
}

static void empty(void **state)
{
    struct calendar *c = calendar_new();
    int64_t due_ms;
    uint32_t id;

    (void)state;
    assert_false(calendar_first(c, &due_ms, &id));
    calendar_add(c, 5, 0, 1);
    calendar_remove(c, 5, 1);
    assert_false(calendar_first(c, &due_ms, &id));
    calendar_free(c);
    calendar_free(NULL);
}

/* What falls on one day of several years, and what is due before today. */
static void years(void **state)
{
    struct calendar *c = calendar_new();

    (void)state;
    calendar_add(c, 100 + 3 * YEAR_MS, 0, 3);
    expect_first(c, 100 + 3 * YEAR_MS, 3);
    calendar_add(c, 101 + YEAR_MS, 0, 1);
    calendar_add(c, 102 + YEAR_MS, 0, 2);
    expect_first(c, 101 + YEAR_MS, 1);
    calendar_add(c, 110, 0, 0);
    expect_first(c, 110, 0);
    calendar_remove(c, 110, 0);
    calendar_remove(c, 101 + YEAR_MS, 1);
    expect_first(c, 102 + YEAR_MS, 2);
    calendar_remove(c, 102 + YEAR_MS, 2);
    expect_first(c, 100 + 3 * YEAR_MS, 3);
    calendar_free(c);
}

static void ties(void **state)
{
    struct calendar *c = calendar_new();

    (void)state;
    calendar_add(c, 7, 2, 5);
    calendar_add(c, 7, 1, 9);
    calendar_add(c, 7, 1, 8);
    expect_first(c, 7, 8);
    calendar_remove(c, 7, 8);
    expect_first(c, 7, 9);
    calendar_remove(c, 7, 9);
    expect_first(c, 7, 5);
    calendar_free(c);
}

/* Against a plain look at all of them: times near and years apart, also such
 * that go back. */
static void many(void **state)
{
    enum { N = 400, STEPS = 40000 };
    struct calendar *c = calendar_new();
    int64_t due_ms[N], first_ms;
    uint64_t r = 1;

    (void)state;
    for (uint32_t i = 0; i < N; i++)
        due_ms[i] = -1;
    for (int step = 0; step < STEPS; step++) {
        uint32_t i, first = N, id = N;

        r = r * 6364136223846793005u + 1442695040888963407u;
        i = (uint32_t)(r >> 33) % N;
        if (due_ms[i] >= 0) {
            calendar_remove(c, due_ms[i], i);
            due_ms[i] = -1;
        } else {
            due_ms[i] = (int64_t)(r >> 40) % (step % 3 == 0 ? 50 : 9 * YEAR_MS);
            calendar_add(c, due_ms[i], 0, i);
        }
        for (uint32_t k = 0; k < N; k++)
            if (due_ms[k] >= 0 && (first == N || due_ms[k] < due_ms[first]))
                first = k;
        assert_int_equal(calendar_first(c, &first_ms, &id), first < N);
        assert_int_equal(id, first);
        if (first < N)
            assert_int_equal(first_ms, due_ms[first]);
    }
    calendar_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(years),
        cmocka_unit_test(ties),
        cmocka_unit_test(many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
