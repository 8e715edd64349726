#ifndef TESTS_UNIT_PROPERTY_TRIAL_H
#define TESTS_UNIT_PROPERTY_TRIAL_H

#include "tests/unit/property.h"

/* One random world of the planner, and what the test itself keeps of it. */

#ifdef __SANITIZE_ADDRESS__
#define CASES 10000
#else
#define CASES 100000
#endif
#define WINDOW_MS 60000
#define HOUR_MS 3600000
#define LOG_MOST 1024

/* What the test itself keeps of a value, apart from the agent's memory. */
struct shadow {
    bool seen, was_on, uncertain;
    bool off; /* somebody switched it off while it was not down */
    bool put_in;
    bool returning; /* down since it was last published */
    int64_t healthy_since_ms;
    int64_t changed_ms; /* by the agent */
    int64_t reclaims_ms[4];
    size_t switches; /* in the quiet phase */
};

struct trial {
    uint64_t seed;
    struct rng rng;
    struct pw w;
    struct shadow v[PW_SETS][PW_VALUES];
    bool was_braked[PW_SETS];
    int64_t all_ms[LOG_MOST], free_ms[LOG_MOST]; /* withdrawals */
    size_t nall, nfree;
    bool flappy; /* damping needs many outages */
    bool clean;  /* every write of this round went well */
    int round;
};

#define MUST(t, s, what)                                                       \
    do {                                                                       \
        if (!(what))                                                           \
            broken(t, s, #what, __LINE__);                                     \
    } while (0)

static inline void broken(const struct trial *t, size_t s, const char *what,
                          int line)
{
    const struct plan_set *set = &t->w.sets[s];

    for (size_t i = 0; i < set->nvalues; i++) {
        const struct plan_value *v = &set->values[i];

        print_message("value %zu: class %d dr_cond %d if_no_records %d healthy "
                      "%d never_up %d waiting %d held_off "
                      "%d fallback %d dropped %d published %d publish %d "
                      "put_in %d maintenance %d away %d shut %d\n",
                      i, (int)v->class, (int)v->dr_cond, v->dr_if_no_records,
                      (int)v->healthy, v->never_up, v->waiting,
                      v->memory->held_off, v->fallback, v->dropped,
                      v->published, v->publish, v->memory->put_in,
                      v->maintenance, v->away, v->memory->shut);
    }
    fail_msg(
        "DNSFAILOVER_SEED=%llu DNSFAILOVER_CASES=1: line %d, round %d, set "
        "%zu (order %d take %u allDown %d; tier %d, %s): not so: %s",
        (unsigned long long)t->seed, line, t->round, s, (int)set->order,
        set->take, (int)set->all_down, set->decision.tier, plan_reason(set),
        what);
}

#endif
