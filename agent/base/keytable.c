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

static size_t after(const struct keytable *t, size_t at)
{
    return at + 1 < t->cap ? at + 1 : 0;
}

/* How far it is from one place on to another. */
static size_t way(const struct keytable *t, size_t from, size_t to)
{
    return to >= from ? to - from : to + t->cap - from;
}

/* Where the slots lie is chance from outside, and differs from table to
 * table: nobody can prepare keys that meet. source: FNV-1a, its end mixed as
 * in MurmurHash3 by Austin Appleby, brought into the range as by Daniel Lemire,
 * Fast Random Integer Generation in an Interval (2019) */
static size_t home(const struct keytable *t, const char *key)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)(uintptr_t)t->slots;

    for (; *key != '\0'; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    return (size_t)(((h >> 32) * t->cap) >> 32);
}

void *keytable_find(const struct keytable *t, const char *key)
{
    if (t->n == 0)
        return NULL;
    for (size_t at = home(t, key); t->slots[at] != NULL; at = after(t, at))
        if (strcmp(key_of(t, t->slots[at]), key) == 0)
            return t->slots[at];
    return NULL;
}

static void place(struct keytable *t, void *row)
{
    size_t at = home(t, key_of(t, row));

    while (t->slots[at] != NULL)
        at = after(t, at);
    t->slots[at] = row;
}

void keytable_add(struct keytable *t, void *row)
{
    if (4 * (t->n + 1) > 3 * t->cap) {
        struct keytable more = {NULL, t->n,
                                t->cap > 0 ? t->cap + t->cap / 2 : CAP_FIRST,
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
    size_t gap = home(t, key_of(t, row));

    while (t->slots[gap] != row)
        gap = after(t, gap);
    t->slots[gap] = NULL;
    t->n--;
    for (size_t at = after(t, gap); t->slots[at] != NULL; at = after(t, at)) {
        size_t want = home(t, key_of(t, t->slots[at]));

        if (way(t, want, at) < way(t, gap, at))
            continue;
        t->slots[gap] = t->slots[at];
        t->slots[at] = NULL;
        gap = at;
    }
}

void *keytable_next(const struct keytable *t, size_t *at)
{
    while (*at < t->cap)
        if (t->slots[(*at)++] != NULL)
            return t->slots[*at - 1];
    return NULL;
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
