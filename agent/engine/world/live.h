#ifndef AGENT_ENGINE_WORLD_LIVE_H
#define AGENT_ENGINE_WORLD_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/world/world.h"

/* A world in motion: results come in, what they change is judged and planned,
 * changes are grouped for the zone's debounce. Pure: time is an argument, the
 * caller probes, writes and waits. An event costs what depends on it, not
 * what the zone holds. source: spec-language 7
 *
 *   live_result, live_seen … ──▶ live_step ──true──▶ write plan_is_change
 *        ▲                          │ false           live_done, live_step
 *        └──── wait for live_next ◀─┘ */

#define LIVE_DEBOUNCE_MS 3000 /* where the apex spec gives none */

struct live;

/* w and row are borrowed and outlive it; plan_value.published is as the
 * provider shows it, plan_set.observed where it could be read. All specs are
 * judged and all sets planned at the first step. */
struct live *live_new(struct world *w, struct state_zone *row,
                      int64_t debounce_ms, int64_t now_ms)
    __attribute__((returns_nonnull));
void live_free(struct live *l);

/* A result of check c, which is counted here. returns true when its confirmed
 * state changed */
bool live_result(struct live *l, struct check *c, enum health_result result,
                 int64_t now_ms);
/* The provider shows a value switched on, or off. */
void live_seen(struct live *l, size_t set, size_t value, bool published,
               int64_t now_ms);
/* Before and after the operator's overrides or memory are changed: the time
 * until now belongs to what was before. */
void live_before_override(struct live *l, int64_t now_ms);
void live_after_override(struct live *l, int64_t now_ms);

/* Judges and plans what has changed, or whose time has come.
 * in:  alone — see plan_zone
 * returns true when changes are to be carried out now: those of all sets in
 * live_sets for which plan_is_change is true */
bool live_step(struct live *l, bool alone, int64_t now_ms);
/* When live_step is to be called although nothing happens; INT64_MAX: not. */
int64_t live_next(const struct live *l);
/* Numbers of the sets that the last step looked at. Borrowed. */
const size_t *live_sets(const struct live *l, size_t *n);
/* Some set is held for that reason, as of the last step. */
bool live_holds(const struct live *l, enum plan_hold hold);

/* That change was carried out. */
void live_done(struct live *l, size_t set, size_t value, int64_t now_ms);

#endif
