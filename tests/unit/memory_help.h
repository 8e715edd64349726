#ifndef TESTS_UNIT_MEMORY_HELP_H
#define TESTS_UNIT_MEMORY_HELP_H

#include <string.h>

#include "agent/engine/decide/memory.h"

/* Both remember the same of a value. */
static inline bool memory_equal(const struct memory_value *a,
                                const struct memory_value *b)
{
    struct memory_value x = *a, y = *b;

    x.writes = y.writes = NULL;
    return memcmp(&x, &y, sizeof x) == 0 &&
           memcmp(memory_written(a), memory_written(b),
                  sizeof(struct memory_writes)) == 0;
}

/* to: zeroed, or written before */
static inline void memory_copy(struct memory_value *to,
                               const struct memory_value *from)
{
    memory_value_fini(to);
    *to = *from;
    to->writes = NULL;
    if (from->writes != NULL)
        *memory_writes(to) = *from->writes;
}

#endif
