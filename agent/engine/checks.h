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
    uint32_t id;            /* 0, 1, … in the order of adding */
    uint32_t probe_key_len; /* see checks_probe_key */
    uint32_t ntargets;
    uint32_t need;      /* of them: one result is good when so many are */
    struct addr target; /* where there is one */
    const struct addr *targets; /* with port (0 where the kind has none) */
    const struct spec_check *spec;
    const char *name; /* the set's, no final dot, where Host or SNI come from
                         it; NULL */
    const char *host; /* instead of targets: a name whose addresses are asked
                         for at each probe (CNAME records), any may answer */
    struct state_check *row; /* health and note: saved. Its key says all of
                                the above */
};

/* What a probe of it depends on: a part of the key, without the thresholds.
 * Checks that share it share their probes. Borrowed; *len bytes, no NUL. */
static inline const char *checks_probe_key(const struct check *c, size_t *len)
{
    *len = c->probe_key_len;
    return c->row->key;
}

static inline struct health_rule checks_rule(const struct check *c)
{
    struct health_rule r = {c->spec->required_success,
                            c->spec->required_failure,
                            c->spec->access_period_ms};

    return r;
}

struct checks;

/* state is borrowed and outlives it. */
struct checks *checks_new(struct state *s) __attribute__((returns_nonnull));
void checks_free(struct checks *c);

/* The check of spec for a record (used where the spec names no target of its
 * own; NULL: it does). Its health is aged to now_ms when it is added first.
 * Borrowed, valid until checks_free; spec must live as long. */
struct check *checks_add(struct checks *c, const struct spec_check *spec,
                         const struct spec_record *record, int64_t now_ms);

/* All are added: what only adding needs is freed. More may follow, at the
 * cost of making it anew. */
void checks_settle(struct checks *c);

size_t checks_count(const struct checks *c);
struct check *checks_at(const struct checks *c, size_t id);
bool checks_any_up(const struct checks *c);

/* The last result's text, for people. */
void checks_note(struct checks *c, struct state_check *row, const char *text);

/* The check for people: "tcp:443", "https:443/healthz"; returns out. */
const char *checks_text(const struct check *c, char *out, size_t size);
/* Where it probes, for people: "192.0.2.1", "2 of 3 targets", "www.…"; returns
 * out. */
const char *checks_where(const struct check *c, char *out, size_t size);

#endif
