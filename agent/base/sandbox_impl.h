#ifndef AGENT_BASE_SANDBOX_IMPL_H
#define AGENT_BASE_SANDBOX_IMPL_H

#include "agent/base/err.h"

/* What the systems have to offer; sandbox.c alone includes it. */

/* Before and after the user has changed. returns 0, or -1 with e set. */
MUST_CHECK int sandbox_impl_before(struct err *e);
MUST_CHECK int sandbox_impl_after(const char *dir, struct err *e);

#endif
