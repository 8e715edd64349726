#ifndef TESTS_UNIT_STATE_COUNT_H
#define TESTS_UNIT_STATE_COUNT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "agent/engine/state/state.h"

/* Rows of the kinds that have very many: how many there are. */
#define STATE_COUNT_FN(kind, list)                                             \
    static inline size_t count_##list(struct state *s)                         \
    {                                                                          \
        size_t n = 0;                                                          \
                                                                               \
        for (const struct state_##kind *r = state_##list(s); r != NULL;        \
             r = r->next)                                                      \
            n++;                                                               \
        return n;                                                              \
    }

STATE_COUNT_FN(set, sets)
STATE_COUNT_FN(spec, specs)

static inline size_t count_checks(struct state *s)
{
    size_t n = 0, at = 0;

    while (state_checks(s, &at) != NULL)
        n++;
    return n;
}

/* The only one. */
static inline struct state_check *the_check(struct state *s)
{
    size_t at = 0;

    assert_int_equal(count_checks(s), 1);
    return state_checks(s, &at);
}

static inline size_t count_values(struct state *s)
{
    size_t n = 0;

    for (const struct state_set *set = state_sets(s); set != NULL;
         set = set->next)
        for (const struct state_value *v = set->values; v != NULL; v = v->next)
            n++;
    return n;
}

/* The value of the set of that zone, name and type. */
static inline struct state_value *value_get(struct state *s, const char *zone,
                                            const char *name, const char *type,
                                            const char *data)
{
    return state_value_get(s, state_set_get(s, zone, name, type), data);
}

#endif
