#ifndef AGENT_ENGINE_STATE_STATE_ZONE_H
#define AGENT_ENGINE_STATE_STATE_ZONE_H

#include "agent/engine/state/state.h"

/* The state of a process that stays: rows that are no longer used go while
 * it runs, not at its end. */

/* Nothing of the zone (values, sets, judges) counts as used; world_new marks
 * what is. */
void state_zone_unmark(struct state *s, const char *zone);
/* Drops those that are not used; nobody points to them any more. */
void state_zone_sweep(struct state *s, const char *zone);
/* The zone is not served any more: nothing of it counts as used. */
void state_zone_leave(struct state *s, const char *zone);
/* Everything that was loaded counts as used, until somebody says not. */
void state_zone_keep_all(struct state *s);
/* A problem that is over goes. */
void state_zone_drop_problem(struct state *s, struct state_problem *row);

#endif
