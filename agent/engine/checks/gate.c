#include "agent/engine/checks/gate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define FIRST_CAP 64 /* a power of two, as all */

struct gate { /* family 0: free */
    uint8_t bytes[16];
    uint8_t family;
    int64_t next_ms;
};

struct gates {
    struct gate *v;
    size_t n, cap;
};

struct gates *gates_new(void)
{
    struct gates *g = mem_alloc(sizeof *g);

    g->cap = FIRST_CAP;
    g->v = mem_array(g->cap, sizeof *g->v);
    return g;
}

void gates_free(struct gates *g)
{
    if (g == NULL)
        return;
    free(g->v);
    free(g);
}

size_t gates_count(const struct gates *g)
{
    return g->n;
}

/* Addresses come from specs: a bad spread costs their own agent time, no
 * more. source: the finaliser of MurmurHash3, by Austin Appleby */
static uint64_t hash(const uint8_t bytes[16], uint8_t family)
{
    uint64_t a, b, h;

    memcpy(&a, bytes, 8);
    memcpy(&b, bytes + 8, 8);
    h = a ^ (b * 0x9e3779b97f4a7c15u) ^ family;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

static struct gate *place(struct gates *g, const uint8_t bytes[16],
                          uint8_t family)
{
    size_t at = (size_t)hash(bytes, family) & (g->cap - 1);

    while (g->v[at].family != 0 && (g->v[at].family != family ||
                                    memcmp(g->v[at].bytes, bytes, 16) != 0))
        at = (at + 1) & (g->cap - 1);
    return &g->v[at];
}

static void renew(struct gates *g, int64_t now_ms)
{
    struct gate *old = g->v;
    size_t n = g->n, cap = g->cap;

    for (size_t i = 0; i < cap; i++)
        n -= old[i].family != 0 && old[i].next_ms <= now_ms;
    g->cap = FIRST_CAP;
    while (g->cap < 4 * (n + 1))
        g->cap *= 2;
    g->v = mem_array(g->cap, sizeof *g->v);
    g->n = n;
    for (size_t i = 0; i < cap; i++)
        if (old[i].family != 0 && old[i].next_ms > now_ms)
            *place(g, old[i].bytes, old[i].family) = old[i];
    free(old);
}

int64_t gates_take(struct gates *g, const struct addr *a, int64_t now_ms,
                   int64_t gap_ms)
{
    struct gate *t = place(g, a->bytes, a->family);
    int64_t at_ms;

    if (t->family == 0) {
        if (2 * (g->n + 1) > g->cap) {
            renew(g, now_ms);
            t = place(g, a->bytes, a->family);
        }
        g->n++;
        memcpy(t->bytes, a->bytes, 16);
        t->family = a->family;
        t->next_ms = now_ms;
    }
    at_ms = t->next_ms > now_ms ? t->next_ms : now_ms;
    t->next_ms = at_ms + gap_ms;
    return at_ms;
}
