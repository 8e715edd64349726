#ifndef AGENT_ENGINE_CHECKS_H
#define AGENT_ENGINE_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/loop.h"
#include "agent/engine/health.h"
#include "agent/engine/state.h"
#include "agent/probes/probe.h"
#include "specs/spec.h"

/* All checks of a round. Checks with the same target, parameters and
 * thresholds are one check; checks with the same target and parameters share
 * their probes. One target address is probed at most once in 100 ms. */

#define CHECKS_ADDRESS_GAP_MS 100
#define CHECKS_LOCAL_TRIES 3

struct check {
    const char *key;
    struct probe_spec probe;
    struct health_rule rule;
    int64_t retry_period_ms;
    struct state_check *row;  /* health and note: saved */
    enum health_state before; /* at the start of this run */
    uint32_t want_streak;     /* failures in a row asked for while it is
                                 down; 0: no more than confirmation */
    uint32_t results;         /* counted in this run */
    uint32_t locals;          /* that did not count */
    struct probe_result last;
};

struct checks;

/* state and probes are borrowed and outlive it. */
struct checks *checks_new(struct loop *l, struct probes *p, struct state *s)
    __attribute__((returns_nonnull));
void checks_free(struct checks *c);

/* The check of spec at the address of its record (used where the spec names
 * no target of its own). Borrowed, valid until checks_free. */
struct check *checks_add(struct checks *c, const struct spec_check *spec,
                         const struct addr *record);

/* Probes until every check agrees with its confirmed state (re-probing at
 * its retryPeriod), has want_streak failures where asked for, or could not
 * be probed CHECKS_LOCAL_TRIES times; at most until deadline_ms
 * (clock_mono_ms). Counters of what is not settled stay for the next run.
 * May be called again for what is still open.
 * progress: called now and then with (done, all); may be NULL */
typedef void checks_progress_fn(void *arg, size_t done, size_t all);
void checks_run(struct checks *c, int64_t deadline_ms,
                checks_progress_fn *progress, void *arg);

size_t checks_count(const struct checks *c);
struct check *checks_at(struct checks *c, size_t i);
bool checks_any_up(const struct checks *c);

/* true when one of the anchors answers: connects, or refuses (that too came
 * over the network). Each is tried twice. */
bool checks_anchors_answer(struct loop *l, struct probes *p,
                           const struct addr *anchors, size_t n,
                           int64_t deadline_ms);

#endif
