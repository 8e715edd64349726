#ifndef AGENT_BASE_SANDBOX_FILTER_H
#define AGENT_BASE_SANDBOX_FILTER_H

#include "agent/base/err.h"

/* The system calls of a service (sandbox_linux.c alone includes it).
 * returns 0, or -1 with e set (ERR_LOCAL). source: seccomp_rule_add(3) */
MUST_CHECK int sandbox_filter_load(struct err *e);

#endif
