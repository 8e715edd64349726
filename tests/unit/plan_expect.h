#ifndef TESTS_UNIT_PLAN_EXPECT_H
#define TESTS_UNIT_PLAN_EXPECT_H

#include <stdio.h>
#include <string.h>

#include "tests/unit/plan_world.h"

/* What the planner's tests share; cmocka.h is included before. */

#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS (60 * MINUTE_MS)

static inline void expect_at(const struct pw *w, size_t s, const char *want,
                             int line)
{
    char got[PW_VALUES + 1];

    if (strcmp(pw_shows(&w->s[s], got), want) != 0)
        fail_msg("line %d: set %zu shows %s, wanted %s (%s)", line, s, got,
                 want, plan_reason(&w->sets[s]));
}
#define EXPECT(w, s, want) expect_at(w, s, want, __LINE__)

/* A world that stands: every set published and known to be well. */
static inline void settle(struct pw *w)
{
    pw_rounds(w, 2);
    assert_int_equal(w->done, 0);
    w->now_ms += 2 * MINUTE_MS;
}

/* One outage of value 0: returns how long it stayed away after it was well
 * again, in milliseconds (step 1 s). */
static inline int64_t outage(struct pw *w)
{
    struct pw_value *v = &w->s[0].v[0];
    int64_t well_ms;

    v->target = PW_DEAD;
    pw_round(w);
    assert_false(v->on);
    v->target = PW_ALIVE;
    pw_round(w);
    well_ms = w->now_ms;
    while (!v->on) {
        assert_true(w->now_ms - well_ms <= PLAN_DAMP_MOST_MS);
        pw_round(w);
    }
    return w->now_ms - well_ms;
}

#endif
