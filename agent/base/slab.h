#ifndef AGENT_BASE_SLAB_H
#define AGENT_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>

/* Items of one size, by number: they lie close together, and stay where they
 * are. What is given back is the next to be taken, while it is in the caches.
 * The room of all is freed with the slab, not before. */
struct slab;

#define SLAB_NONE UINT32_MAX /* no item has this number */

/* size: of an item, at least 4 bytes */
struct slab *slab_new(size_t size) __attribute__((returns_nonnull));
void slab_free(struct slab *s); /* with all items; NULL is fine */
/* A zeroed item, aligned for pointers; out: *id — its number */
void *slab_take(struct slab *s, uint32_t *id) __attribute__((returns_nonnull));
void slab_give(struct slab *s, uint32_t id);
/* id: of an item that is taken */
void *slab_at(const struct slab *s, uint32_t id)
    __attribute__((returns_nonnull));

#endif
