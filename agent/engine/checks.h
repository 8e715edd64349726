#ifndef AGENT_ENGINE_CHECKS_H
#define AGENT_ENGINE_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/health.h"
#include "agent/engine/state.h"
#include "specs/spec.h"

/* All checks of an agent, each once: checks with the same kind, targets,
 * parameters and thresholds are one, whatever spec names them. Pure: who
 * probes is check_run.h, the simulator, or the service. */

struct check {
    size_t id;             /* 0, 1, … in the order of adding */
    const char *key;       /* says all of the above; the state's key */
    const char *probe_key; /* without thresholds: checks that share it share
                              their probes */
    const struct spec_check *spec;
    struct addr *targets; /* with port (0 where the kind has none) */
    size_t ntargets;
    uint32_t need;    /* of them: one result is good when so many are */
    const char *name; /* the set's, no final dot, where Host or SNI come from
                         it; NULL */
    const char *host; /* instead of targets: a name whose addresses are asked
                         for at each probe (CNAME records), any may answer */
    struct health_rule rule;
    int64_t retry_period_ms;
    struct state_check *row; /* health and note: saved */
};

struct checks;

/* state is borrowed and outlives it. */
struct checks *checks_new(struct state *s) __attribute__((returns_nonnull));
void checks_free(struct checks *c);

/* The check of spec for a record (used where the spec names no target of its
 * own; NULL: it does). Its health is aged to now_ms when it is added first.
 * Borrowed, valid until checks_free; spec must live as long. */
struct check *checks_add(struct checks *c, const struct spec_check *spec,
                         const struct spec_record *record, int64_t now_ms);

size_t checks_count(const struct checks *c);
struct check *checks_at(const struct checks *c, size_t id);
bool checks_any_up(const struct checks *c);

/* The check for people: "tcp:443", "https:443/healthz"; returns out. */
const char *checks_text(const struct check *c, char *out, size_t size);
/* Where it probes, for people: "192.0.2.1", "2 of 3 targets", "www.…"; returns
 * out. */
const char *checks_where(const struct check *c, char *out, size_t size);

#endif
