#ifndef AGENT_ENGINE_SIM_SIM_H
#define AGENT_ENGINE_SIM_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "agent/engine/decide/health.h"
#include "agent/engine/sim/trace.h"
#include "specs/spec.h"

/* A zone on a virtual clock: the scheduler, health, judging, planning and
 * memory of the service, over a world that a trace tells of and a provider
 * that does at once what it is told. Results are there at once; a failure is
 * a refusal, so it counts at once for rows too; what no fact tells of gives
 * no verdict. source: design "Simulation" */

enum sim_kind {
    SIM_SET,   /* what a set publishes has changed */
    SIM_HELD,  /* a set is held from now on, or, reason NULL, no longer */
    SIM_CHECK, /* the confirmed state of a check has changed */
    SIM_NOTE,  /* a claim of two owners */
};

struct sim_event { /* what does not apply is NULL, 0 */
    enum sim_kind kind;
    int64_t t_ms;
    const char *name; /* canonical */
    enum spec_type type;
    const char *view;           /* NULL: none */
    const char *const *publish; /* SET: all values, in chain order; then
                                   foreign ones */
    size_t npublish;
    int tier;           /* SET: 1…6; 0: held as it is */
    const char *reason; /* SET, HELD, NOTE */
    const char *check;  /* CHECK: "tcp:443" */
    const char *where;  /* CHECK: "192.0.2.1" */
    enum health_state state;
};
typedef void sim_sink(void *arg, const struct sim_event *ev);

struct sim_options {
    const char *zone; /* canonical */
    const struct spec *const *specs;
    size_t nspecs;
    const struct trace_fact *facts; /* by time */
    size_t nfacts;
    uint64_t seed;
    int64_t start_ms;       /* engine time of t = 0; > 0 */
    const char *state_path; /* where the state is saved for a restart; NULL:
                               in memory, and TRACE_RESTART is an error */
    const char *agent_dc;   /* where the agent stands; NULL: nowhere */
    sim_sink *sink;
    void *sink_arg;
};

#define SIM_AFTER_MS (3600 * 1000LL) /* without an end: after the last fact */

/* returns 0, or -1 with e set: ERR_INPUT (a fact about what the specs do not
 * have: "line 3: …"), ERR_LOCAL (the state) */
MUST_CHECK int sim_run(const struct sim_options *o, struct err *e);

#endif
