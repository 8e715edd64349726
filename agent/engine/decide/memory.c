#include "agent/engine/decide/memory.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

const struct memory_writes memory_no_writes;

struct memory_writes *memory_writes(struct memory_value *m)
{
    if (m->writes == NULL)
        m->writes = mem_alloc(sizeof *m->writes);
    return m->writes;
}

void memory_value_fini(struct memory_value *m)
{
    free(m->writes);
    memset(m, 0, sizeof *m);
}
