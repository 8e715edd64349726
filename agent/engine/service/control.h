#ifndef AGENT_ENGINE_SERVICE_CONTROL_H
#define AGENT_ENGINE_SERVICE_CONTROL_H

#include <sys/types.h>

#include "agent/base/err.h"

/* How the operator's commands reach a service that holds the state: a socket
 * `control` in the state's directory, for its owner and root alone. One
 * request a connection: a JSON object and a newline; the answer is "ok" or
 * "error TEXT".
 *
 *   {"save": true}               the state is saved; it can be read then
 *   {"overrides": [{"key", "used", "until_ms", "since_wall_ms", "user"}],
 *    "readmit": [{"zone", "name", "data"} or {"zone", "dc"}],
 *    "events": [{"event", "zone", "name", "data", "reason"}]}
 *                                that is done, told and saved
 *
 * Times are those of the state's rows: both sides run in the same boot. */

#define CONTROL_REQUEST_MAX (1024 * 1024)

/* The socket of that state. Heap, caller frees; NULL: its path is too long
 * for a socket. */
char *control_path(const char *state_path);

/* The process that listens there. returns 0 when none does, or it cannot be
 * told (also when we may not ask). source: unix(7) SO_PEERCRED */
pid_t control_pid(const char *state_path);

/* Asks the service that holds the state; waits at most for some seconds.
 * returns 0, or -1 with e set: ERR_NOTFOUND (no service listens), ERR_RETRY
 * (no answer, or it says why not) */
MUST_CHECK int control_ask(const char *state_path, const char *request,
                           struct err *e);

#endif
