#ifndef TESTS_UNIT_STATE_COUNT_H
#define TESTS_UNIT_STATE_COUNT_H

#include <stddef.h>

#include "agent/engine/state.h"

/* How many rows the state has of a kind that has very many. */
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

STATE_COUNT_FN(check, checks)
STATE_COUNT_FN(value, values)
STATE_COUNT_FN(set, sets)
STATE_COUNT_FN(spec, specs)

#endif
