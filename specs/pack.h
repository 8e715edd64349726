#ifndef SPECS_PACK_H
#define SPECS_PACK_H

#include "specs/spec.h"

/* A read spec holds the tree and the texts that it was read from, several
 * times what it means. What is kept for long is a copy of the meaning alone,
 * in one piece of memory that fits. */

/* The whole of s once more, without its document.
 * in:  s — as spec_parse builds it; not to be used afterwards
 *      scratch — for what the copying needs
 * returns the copy, freed by spec_free; without doc and top: an apex spec is
 * not packed */
struct spec *spec_pack(struct spec *s, struct arena *scratch)
    __attribute__((returns_nonnull));

#endif
