#ifndef AGENT_ENGINE_HELPER_HELPER_MAIN_H
#define AGENT_ENGINE_HELPER_HELPER_MAIN_H

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/helper.h"

/* The helper of the service: forked before the service gives its rights up,
 * it keeps those that it was started with and does for the service what the
 * configuration names: hands out the configuration, files with secrets and
 * zone files; writes zone files; runs check, reload, notify and check
 * commands. It is asked by name and looks up in its own reading of the
 * configuration what that means; whatever is not in there it refuses and logs.
 * It ends, with the groups of all commands, when the service has. */

/* Forks. cfg: its first reading, made before anything came from outside; of
 * the caller's memory the helper keeps its copy. No threads, and nothing on a
 * loop, may be there yet.
 * returns the service's end of it, or NULL with e set (ERR_LOCAL). In the
 * helper it does not return. */
struct helper *helper_start(const struct config *cfg, struct err *e);

/* The helper itself, on its ends of the sockets, until they are closed. For
 * helper_start and tests.
 * returns its exit code */
int helper_serve(const struct config *cfg, int files, int runs);

#endif
