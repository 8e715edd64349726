#ifndef AGENT_ENGINE_WORLD_WHEN_H
#define AGENT_ENGINE_WORLD_WHEN_H

#include "agent/engine/world/world.h"

/* How soon a truth could change: from the counters of checks and the times at
 * which they are asked. A lower bound, for people who wait: what really
 * comes, the targets decide. Pure. */

#define WHEN_NEVER INT64_MAX

struct when {
    int64_t at_ms;             /* engine time at the earliest; 0: it is so
                                  already; WHEN_NEVER: not by itself */
    const struct check *check; /* that it hangs on; NULL: none */
    uint32_t missing;          /* results in a row that are missing of it */
};

struct when_env {
    struct world *w;
    size_t spec; /* index into w->specs */
    int64_t now_ms;
    int64_t cron_ms; /* rounds are so far apart; 0: a service, which asks at
                        the pace of accessPeriod */
};

/* The check, seen from now, becomes up (want) or down. */
struct when when_check(const struct when_env *env, const struct check *k,
                       bool want);
/* The condition becomes true (want) or false; place as in world_cond. */
struct when when_cond(const struct when_env *env, const struct spec_cond *c,
                      long place, bool want);
/* Data centre number dc of the spec comes into service, or out of it. */
struct when when_dc(const struct when_env *env, size_t dc, bool want);
/* The record becomes healthy, or not: check AND if AND dc. */
struct when when_record(const struct when_env *env,
                        const struct spec_record *rec, long place, bool want);
/* What the brake holds may go: the checks behind v have failed on. */
int64_t when_brake(const struct when_env *env, const struct plan_set *set);

#endif
