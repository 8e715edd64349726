#include "agent/base/slab.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define PER_CHUNK 256u

struct slab {
    size_t size; /* of an item */
    unsigned char **chunks;
    size_t nchunks, cap;
    uint32_t n;     /* items that were ever taken */
    uint32_t spare; /* the last that was given back; it holds the next */
};

struct slab *slab_new(size_t size)
{
    const size_t align = sizeof(void *);
    struct slab *s = mem_alloc(sizeof *s);

    s->size = (size + align - 1) / align * align;
    s->spare = SLAB_NONE;
    return s;
}

void slab_free(struct slab *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->nchunks; i++)
        free(s->chunks[i]);
    free(s->chunks);
    free(s);
}

void *slab_at(const struct slab *s, uint32_t id)
{
    return s->chunks[id / PER_CHUNK] + id % PER_CHUNK * s->size;
}

void *slab_take(struct slab *s, uint32_t *id)
{
    void *item;

    if (s->spare == SLAB_NONE) {
        if (s->n == s->nchunks * PER_CHUNK) {
            s->chunks = mem_grow(s->chunks, &s->cap, s->nchunks,
                                 sizeof(unsigned char *));
            s->chunks[s->nchunks++] = mem_array(PER_CHUNK, s->size);
        }
        *id = s->n++;
        return slab_at(s, *id);
    }
    *id = s->spare;
    item = slab_at(s, *id);
    memcpy(&s->spare, item, sizeof s->spare);
    return memset(item, 0, s->size);
}

void slab_give(struct slab *s, uint32_t id)
{
    memcpy(slab_at(s, id), &s->spare, sizeof s->spare);
    s->spare = id;
}
