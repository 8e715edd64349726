#ifndef AGENT_PROBES_DEADLINE_H
#define AGENT_PROBES_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deadlines by id: an indexed 4-ary heap. The earliest is there at once;
 * adding and taking out any one cost O(log n), adding the latest O(1). */
struct deadline_entry {
    int64_t due_ns;
    uint32_t id;
};
struct deadline_heap {
    struct deadline_entry *v;
    size_t n, cap;
    uint32_t *place; /* of id in v, plus 1; 0: not there */
    size_t nplace;
};

void deadline_init(struct deadline_heap *h);
void deadline_fini(struct deadline_heap *h);
/* id — small: an array of that many places is kept; must not be there. */
void deadline_add(struct deadline_heap *h, uint32_t id, int64_t due_ns);
void deadline_remove(struct deadline_heap *h, uint32_t id); /* absent: fine */
/* out: *e — the earliest. returns false when empty. */
bool deadline_first(const struct deadline_heap *h, struct deadline_entry *e);

#endif
