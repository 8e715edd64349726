#ifndef AGENT_ENGINE_WORLD_WORLD_H
#define AGENT_ENGINE_WORLD_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/mem.h"
#include "agent/engine/checks/checks.h"
#include "agent/engine/decide/judge.h"
#include "agent/engine/decide/plan.h"
#include "agent/engine/state/state.h"
#include "agent/engine/world/world_views.h"
#include "agent/probes/probe.h"
#include "specs/spec.h"

/* One zone as the engine sees it: the specs in force, the checks that their
 * conditions name, the sets, and what is remembered of each. Built once from
 * specs and state; afterwards a change of one check is judged at the cost of
 * what depends on it. No I/O, no clock: `once`, `simulate` and the service
 * use the same. */

/* A value of a set, beside its plan_value: world.values[i] and
 * world.plan_values[i] are one. A record without view may stand in several
 * sets. One for each target: bytes count, so values have numbers, 1 + i. */
struct world_value {
    const struct spec_record *record; /* NULL: dropped from the spec */
    int32_t place;                    /* in its spec's judge order; -1 */
    uint32_t next; /* number of the same record's in another view; 0: none */
};

/* A check that a spec needs and the limits allow. */
struct world_leaf {
    uint32_t check; /* index into spec.checks */
    uint32_t place; /* of the record at whose address it looks; 0 where it has
                       a target of its own */
    struct check *at;
};

struct world_set {
    const struct spec_claim *claim;
    struct world_value *values; /* of world.values; as plan.values */
    const char *label;          /* "A", "A view eu": for people */
    struct plan_set *plan;
    uint32_t spec; /* index into world.specs */
    bool judged;   /* is in world.judged */
};

/* A spec in force. */
struct world_spec {
    const struct spec *spec;
    struct judge_memory memory;
    struct state_judge *row; /* where memory is saved; NULL: nothing was */
    struct judge_dc *dcs;    /* last judgement, as spec.dcs */
    uint32_t *values; /* numbers in judge order, those of one record chained by
                         next; 0: claimed by another owner */
    const struct world_leaf *leaves; /* by check, then place */
    uint32_t *sets; /* that its records are in: indices into world.sets */
    uint32_t nrecords, nleaves, nsets;
    bool dirty; /* to be judged again */
};

struct world {
    const char *zone;     /* canonical */
    const char *agent_dc; /* NULL: none */
    struct state *state;
    struct checks *checks;
    struct arena *arena;
    struct world_spec *specs;
    size_t nspecs;
    struct spec_claim *claims;
    size_t nclaims;
    struct world_set *sets;     /* as plan.sets */
    struct world_value *values; /* of all sets, one after the other */
    struct plan_value *plan_values;
    struct plan_zone plan;
    /* The specs that check number c is in: dependents[first[c]] to
     * dependents[first[c + 1] - 1]. */
    size_t nchecks; /* that first covers */
    uint32_t *first, *dependents;
    size_t *dirty; /* numbers of the specs that are to be judged again */
    size_t ndirty;
    /* Numbers of the sets whose specs were judged since
     * world_clear_judged. */
    size_t *judged;
    size_t njudged;
    /* Of the judgement under way, in judge order. */
    struct judge_record *records;
    bool *published;
    int64_t now_ms; /* of the last judgement */
};

/* What building tells about. */
struct world_events {
    /* A target that the limits refuse; e says which and how to allow it. */
    void (*refused)(void *arg, const char *where, const struct err *e);
    /* Another owner's claim that has no effect. */
    void (*conflict)(void *arg, const char *text);
    /* A value that is managed no longer; the agent had switched it off. */
    void (*opted_out)(void *arg, const char *name, const char *data);
    void *arg;
};

/* limits NULL: none (simulation). views NULL: all that specs name have their
 * place (simulation). Everything lives in arena; specs, state and
 * checks are borrowed and outlive it. All specs are dirty at first. */
struct world *world_new(struct arena *arena, const char *zone,
                        const struct spec *const *specs, size_t nspecs,
                        struct state *state, struct checks *checks,
                        const struct probe_limits *limits,
                        const struct world_views *views, const char *agent_dc,
                        int64_t now_ms, const struct world_events *ev)
    __attribute__((returns_nonnull));
/* Frees what is not in the arena. */
void world_free(struct world *w);
/* Writes the memory of judgements into the state's rows; made where there is
 * something to keep. */
void world_save(struct world *w);

/* The check's state changed: what depends on it is judged at the next
 * world_judge. */
void world_touch(struct world *w, const struct check *c);
void world_touch_spec(struct world *w, size_t spec);
void world_touch_all(struct world *w);
/* Judges the dirty specs and hands the result to the values of plan.sets.
 * returns how many specs were judged; their sets are in world.judged. Costs
 * what was touched, whatever else the zone has. */
size_t world_judge(struct world *w, int64_t now_ms);
void world_clear_judged(struct world *w);
/* The truth of a condition of specs[spec], as last judged. place: of the
 * record whose condition it is, in judge order; -1: none */
enum tri world_cond(struct world *w, size_t spec, const struct spec_cond *cond,
                    long place);
/* Check number `check` of specs[spec] at that record; NULL: not asked for, or
 * refused by the limits. */
const struct check *world_check(const struct world *w, size_t spec,
                                size_t check, long place);
/* The last word of the checks behind a record, for people: the first that
 * fails, else the first; "" where there is none. Borrowed. */
const char *world_note(const struct world *w, const struct world_set *set,
                       size_t value);

/* --- the operator's overrides (state.h keeps them) ----------------------- */

/* dc is in maintenance by the operator. */
bool world_in_maintenance(const struct world *w, const char *dc,
                          int64_t now_ms);
/* Sets plan_set.frozen by what is frozen now. */
void world_apply_freezes(struct world *w, int64_t now_ms);

#endif
