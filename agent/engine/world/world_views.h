#ifndef AGENT_ENGINE_WORLD_WORLD_VIEWS_H
#define AGENT_ENGINE_WORLD_WORLD_VIEWS_H

#include <stddef.h>

#include "agent/base/config.h"
#include "agent/base/mem.h"
#include "specs/spec.h"

/* The views that a zone's section defines, and the sets that stand in them. A
 * set without view stands in each that its spec leaves out for that name and
 * type: "none: in every view". source: spec-language 3 and 9 */
struct world_views {
    const char *const *names; /* sorted, no doubles */
    size_t n;
};

/* Those of cfg (NULL: none), in a. */
const struct world_views *world_views_new(const struct config_zone *cfg,
                                          struct arena *a)
    __attribute__((returns_nonnull));
/* For a message: "eu", "us"; in a. */
const char *world_views_list(const struct world_views *v, struct arena *a)
    __attribute__((returns_nonnull));
/* returns 0: everybody's set, or v is NULL and every view has its place; else
 * 1 + the place of the view; -1: v does not have it. view NULL: none */
long world_views_find(const struct world_views *v, const char *view);
/* Adds the sets of views that a spec leaves out, in a.
 * in:  *claims — heap, *n, by name, type and view, none first
 * out: *claims — heap, instead of the old ones; *origins — heap, *n: each set
 *      as its spec has it */
void world_views_spread(const struct world_views *v, struct arena *a,
                        struct spec_claim **claims, size_t *n,
                        const struct spec_set ***origins);

#endif
