#ifndef AGENT_ENGINE_WORLD_RECALL_H
#define AGENT_ENGINE_WORLD_RECALL_H

#include "agent/base/config.h"
#include "agent/engine/world/world.h"

/* The zones as last remembered: the last good specs of the state read anew,
 * and the world that they make with what is remembered. For commands that ask
 * nobody: explain, status, and the check of what an operator names. */

struct recall_owner {
    const char *name;       /* canonical */
    struct state_spec *row; /* borrowed */
    struct spec *spec;      /* NULL: no longer valid, see err */
    struct err err;
};

struct recall_zone {
    const char *name;              /* canonical */
    const struct config_zone *cfg; /* NULL: no longer in the configuration */
    struct recall_owner *owners;   /* the apex first, then by name */
    size_t nowners;
    size_t cap_owners;
    struct world *world; /* made by recall_worlds; NULL before */
};

/* A data centre, once for all specs that have it from the apex. */
struct recall_dc {
    struct recall_zone *zone;
    const struct recall_owner *owner; /* in whose spec it was found first */
    size_t index;                     /* in that spec's dcs */
    const char *name;
    bool shared; /* written in the apex spec */
};

struct recall {
    const struct config *cfg;
    struct state *state;
    struct arena *arena;
    struct checks *checks;
    struct probe_limits limits;
    struct recall_zone *zones; /* by name */
    size_t nzones, cap_zones, nsorted;
    struct recall_dc *dcs; /* by zone, then name */
    size_t ndcs, cap_dcs;
    const char **refused; /* targets that the limits refuse: messages */
    size_t nrefused, cap_refused;
};

/* Reads the specs. cfg and s are borrowed and outlive it. */
struct recall *recall_new(const struct config *cfg, struct state *s)
    __attribute__((returns_nonnull));
void recall_free(struct recall *r); /* NULL is fine */

/* Makes the world of each zone as of now_ms (engine time), judged and
 * planned: what the next round would decide if every check stayed as it is.
 * Writes to the rows of the state: only for a state that is not saved. Once. */
void recall_worlds(struct recall *r, int64_t now_ms);

/* name: canonical. NULL: not known. */
struct recall_zone *recall_zone_find(struct recall *r, const char *name);
/* Whether some spec of the zone manages records at name. */
bool recall_manages(const struct recall_zone *z, const char *name);
/* Some spec speaks for name, or manages records there. */
bool recall_knows(const struct recall_zone *z, const char *name);

#endif
