#ifndef AGENT_ENGINE_CHECKS_CHECK_RUN_H
#define AGENT_ENGINE_CHECKS_CHECK_RUN_H

#include "agent/base/loop.h"
#include "agent/engine/checks/check_params.h"
#include "agent/engine/checks/checks.h"
#include "agent/probes/probe.h"
#include "resolver/resolver.h"

/* Probing within one round: until every check has a verdict. One target
 * address is probed at most once in 100 ms. */

#define CHECK_RUN_GAP_MS 100
#define CHECK_RUN_LOCAL_TRIES 3

/* How a check fared in this run. */
struct check_run_result {
    enum health_state before; /* at its start */
    uint32_t want_streak; /* failures in a row asked for while it is down; 0:
                             no more than confirmation */
    uint32_t results;     /* that counted */
    uint32_t locals;      /* that did not */
};

struct check_run_env {
    struct loop *loop;
    struct probes *probes;
    struct resolver *resolver;            /* for targets by name; NULL: none */
    const struct probe_limits *limits;    /* for their addresses; NULL: none */
    const struct check_command *commands; /* of the agent's file */
    size_t ncommands;
    const struct doer *doer; /* runs them */
};
/* Gives the probes what they ask of others: look-ups, commands. To be freed
 * when the probes have others or are freed, and the resolver is freed: the
 * look-ups that it dropped end then. */
struct check_hooks *check_hooks_new(const struct check_run_env *env)
    __attribute__((returns_nonnull));
void check_hooks_free(struct check_hooks *h); /* NULL is fine */

struct check_run;
/* Over all checks of c as they are now; c is borrowed. */
struct check_run *check_run_new(const struct check_run_env *env,
                                struct checks *c)
    __attribute__((returns_nonnull));
void check_run_free(struct check_run *r);

/* Probes until every check agrees with its confirmed state (re-probing at
 * its retryPeriod), has want_streak failures where asked for, or could not
 * be probed CHECK_RUN_LOCAL_TRIES times; at most until deadline_ms
 * (clock_mono_ms). Counters of what is not settled stay for the next run.
 * May be called again for what is still open.
 * progress: called now and then with (done, all); may be NULL */
typedef void check_run_progress(void *arg, size_t done, size_t all);
void check_run_go(struct check_run *r, int64_t deadline_ms,
                  check_run_progress *progress, void *arg);

struct check_run_result *check_run_of(struct check_run *r,
                                      const struct check *c);
/* What an anchor is asked: a connection, or without port an echo. */
struct probe_spec check_run_anchor(const struct addr *anchor,
                                   int64_t timeout_ms);
/* true when one of the anchors answers: connects or refuses (that too came
 * over the network); port 0: an echo. Each is tried twice.
 * run: whose pace per address they keep; NULL: no other probes are made
 * out: note — why the agent could not ask one of them; "" where it could */
bool check_run_anchors(struct loop *l, struct probes *p, struct check_run *run,
                       const struct addr *anchors, size_t n,
                       int64_t deadline_ms, char note[PROBE_NOTE_SIZE]);
/* "no anchor answers: …"; returns out. */
const char *check_run_blind_text(const char *note, char out[200]);
void check_run_anchor_note(const struct probe_result *r,
                           char note[PROBE_NOTE_SIZE]);

#endif
