#ifndef AGENT_ENGINE_CHECKS_CHECK_SHOT_H
#define AGENT_ENGINE_CHECKS_CHECK_SHOT_H

#include "agent/engine/checks/check_run.h"

/* One result of one check, whatever it takes: the probes of all its targets,
 * the look-up of its host, the pace per address. */

struct check_shot_result {
    enum health_result result;
    bool timed_out;   /* FAIL, and by timeout alone */
    const char *note; /* for people; borrowed during cb */
};
typedef void check_shot_cb(void *arg, const struct check_shot_result *r);

struct check_shots;
struct check_shots *check_shots_new(const struct check_run_env *env)
    __attribute__((returns_nonnull));
/* Shots that are out never call back. Their probes must be dropped by
 * probes_free, or have ended, before the loop goes on. */
void check_shots_free(struct check_shots *s);

/* cb runs once, later. */
void check_shot(struct check_shots *s, const struct check *c, check_shot_cb *cb,
                void *arg);

/* How long until the address may be probed, 0 ms or more; that time is taken.
 * For probes that are no check's: an anchor's. */
int64_t check_shots_turn_ms(struct check_shots *s, const struct addr *a);

#endif
