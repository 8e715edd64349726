#ifndef AGENT_ENGINE_CHECKS_CHECKS_H
#define AGENT_ENGINE_CHECKS_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/decide/health.h"
#include "agent/engine/state/state.h"
#include "specs/spec.h"

/* All checks of an agent, each once: checks with the same kind, targets,
 * parameters and thresholds are one, whatever spec names them. Pure: who
 * probes is check_run.h, the simulator, or the service. */

/* What each probe needs is here, though spec has some of it: a check is one
 * line of the caches, and its spec is cold when it is probed. */
struct check {
    union {
        struct addr target;         /* ntargets is 1 */
        const struct addr *targets; /* more */
        const char *host;           /* 0: a name whose addresses are asked for
                                       at each probe (CNAME records), any may
                                       answer */
    } at;                           /* see checks_targets, checks_host */
    const struct spec_check *spec;
    const char *name; /* the set's, no final dot, where Host or SNI come from
                         it; NULL */
    struct state_check *row; /* health and note: saved. Its key says all of
                                the above */
    uint32_t id;             /* 0, 1, … in the order of adding */
    uint32_t timeout_ms;
    uint16_t ntargets; /* a spec's text has no room for more than thousands */
    uint16_t need;     /* of them: one result is good when so many are */
    enum spec_check_kind kind : 8;
    bool repeat_timeout : 1;
    unsigned required_success : 11, required_failure : 11; /* at most 1000 */
};

/* With port (0 where the kind has none); NULL: see checks_host. */
static inline const struct addr *checks_targets(const struct check *c)
{
    if (c->ntargets == 1)
        return &c->at.target;
    return c->ntargets > 0 ? c->at.targets : NULL;
}

/* NULL: it has targets. */
static inline const char *checks_host(const struct check *c)
{
    return c->ntargets == 0 ? c->at.host : NULL;
}

/* What a probe of it depends on: a part of the key, without the thresholds.
 * Checks that share it share their probes. Borrowed; *len bytes, no NUL. */
const char *checks_probe_key(const struct check *c, size_t *len);

/* To count a result by; without the period, which only health_age asks for. */
static inline struct health_rule checks_rule(const struct check *c)
{
    struct health_rule r = {c->required_success, c->required_failure, 0};

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
