#ifndef AGENT_ENGINE_CHECKS_CHECK_PARAMS_H
#define AGENT_ENGINE_CHECKS_CHECK_PARAMS_H

#include "agent/engine/checks/checks.h"
#include "agent/probes/probe.h"

/* A check of the spec language as what the probes take. */

/* What the agent's file allows a `command:` check to run. */
struct check_command {
    const char *name;
    const char *exec; /* a template: {target} */
};

struct check_params {
    struct probe_params probe;
    char **argv; /* heap; of a command */
};

enum probe_kind check_params_kind(enum spec_check_kind k);

/* c's parameters for one target: borrowed from c, but for argv.
 * commands: n of the agent's file; target: for {target}
 * out: *p — emptied by check_params_fini
 * returns 0, or -1 with e set (ERR_INPUT: no such command, bad template) */
MUST_CHECK int check_params_init(struct check_params *p, const struct check *c,
                                 const struct addr *target,
                                 const struct check_command *commands, size_t n,
                                 struct err *e);
void check_params_fini(struct check_params *p);

#endif
