#include "agent/probes/deadline.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define ARITY 4

void deadline_init(struct deadline_heap *h)
{
    memset(h, 0, sizeof *h);
}

void deadline_fini(struct deadline_heap *h)
{
    free(h->v);
    free(h->place);
    memset(h, 0, sizeof *h);
}

static void put(struct deadline_heap *h, size_t at, struct deadline_entry e)
{
    h->v[at] = e;
    h->place[e.id] = (uint32_t)at + 1;
}

static void sift_up(struct deadline_heap *h, size_t at, struct deadline_entry e)
{
    while (at > 0) {
        size_t up = (at - 1) / ARITY;

        if (h->v[up].due_ns <= e.due_ns)
            break;
        put(h, at, h->v[up]);
        at = up;
    }
    put(h, at, e);
}

static void sift_down(struct deadline_heap *h, size_t at,
                      struct deadline_entry e)
{
    for (;;) {
        size_t first = at * ARITY + 1, best = first;

        if (first >= h->n)
            break;
        for (size_t i = first + 1; i < first + ARITY && i < h->n; i++)
            if (h->v[i].due_ns < h->v[best].due_ns)
                best = i;
        if (e.due_ns <= h->v[best].due_ns)
            break;
        put(h, at, h->v[best]);
        at = best;
    }
    put(h, at, e);
}

void deadline_add(struct deadline_heap *h, uint32_t id, int64_t due_ns)
{
    h->v = mem_grow(h->v, &h->cap, h->n, sizeof *h->v);
    h->place = mem_grow(h->place, &h->nplace, id, sizeof *h->place);
    h->n++;
    sift_up(h, h->n - 1, (struct deadline_entry){due_ns, id});
}

void deadline_remove(struct deadline_heap *h, uint32_t id)
{
    struct deadline_entry last;
    size_t at;

    if (id >= h->nplace || h->place[id] == 0)
        return;
    at = h->place[id] - 1;
    h->place[id] = 0;
    last = h->v[--h->n];
    if (at == h->n)
        return;
    if (at > 0 && h->v[(at - 1) / ARITY].due_ns > last.due_ns)
        sift_up(h, at, last);
    else
        sift_down(h, at, last);
}

bool deadline_first(const struct deadline_heap *h, struct deadline_entry *e)
{
    if (h->n == 0)
        return false;
    *e = h->v[0];
    return true;
}
