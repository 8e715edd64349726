#include "agent/base/keytable.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define CAP_FIRST 16

static const char *key_of(const struct keytable *t, const void *row)
{
    return (const char *)row + t->key_at;
}

/* Where the slots lie is chance from outside, and differs from table to
 * table: nobody can prepare keys that meet. source: FNV-1a, its end mixed as
 * in MurmurHash3 by Austin Appleby */
static size_t home(const struct keytable *t, const char *key)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)t->slots;

    for (; *key != '\0'; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    return (size_t)(h ^ (h >> 33)) & (t->cap - 1);
}

void *keytable_find(const struct keytable *t, const char *key)
{
    if (t->n == 0)
        return NULL;
    for (size_t at = home(t, key); t->slots[at] != NULL;
         at = (at + 1) & (t->cap - 1))
        if (strcmp(key_of(t, t->slots[at]), key) == 0)
            return t->slots[at];
    return NULL;
}

static void place(struct keytable *t, void *row)
{
    size_t at = home(t, key_of(t, row));

    while (t->slots[at] != NULL)
        at = (at + 1) & (t->cap - 1);
    t->slots[at] = row;
}

void keytable_add(struct keytable *t, void *row)
{
    if (4 * (t->n + 1) > 3 * t->cap) {
        struct keytable more = {NULL, t->n, t->cap > 0 ? 2 * t->cap : CAP_FIRST,
                                t->key_at};

        more.slots = mem_array(more.cap, sizeof(void *));
        for (size_t i = 0; i < t->cap; i++)
            if (t->slots[i] != NULL)
                place(&more, t->slots[i]);
        free(t->slots);
        *t = more;
    }
    place(t, row);
    t->n++;
}

/* What could not stand at its home because of it moves up. source: Knuth, The
 * Art of Computer Programming 3, 6.4, Algorithm R */
void keytable_remove(struct keytable *t, const void *row)
{
    size_t mask = t->cap - 1, gap = home(t, key_of(t, row)), at;

    while (t->slots[gap] != row)
        gap = (gap + 1) & mask;
    t->slots[gap] = NULL;
    t->n--;
    for (at = (gap + 1) & mask; t->slots[at] != NULL; at = (at + 1) & mask) {
        size_t want = home(t, key_of(t, t->slots[at]));

        if (((at - want) & mask) < ((at - gap) & mask))
            continue;
        t->slots[gap] = t->slots[at];
        t->slots[at] = NULL;
        gap = at;
    }
}

void keytable_fini(struct keytable *t)
{
    free(t->slots);
    *t = (struct keytable){.key_at = t->key_at};
}

void *keytable_row(size_t key_at, const char *key)
{
    size_t len = strlen(key) + 1;
    unsigned char *row = mem_alloc(key_at + len);

    memcpy(row + key_at, key, len);
    return row;
}
