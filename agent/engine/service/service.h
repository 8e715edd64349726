#ifndef AGENT_ENGINE_SERVICE_SERVICE_H
#define AGENT_ENGINE_SERVICE_SERVICE_H

#include <stdbool.h>

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/helper.h"
#include "agent/base/loop.h"
#include "agent/base/sandbox.h"
#include "agent/engine/round/round.h"

/* The rounds of `once`, continuously: probes run at their pace, what they
 * change is decided at once, and each zone is read, written and verified by
 * itself, so that one that hangs holds up no other. */

struct service_options {
    struct loop *loop; /* borrowed */
    bool detail;       /* ROUND_DETAIL events are wanted */
    round_sink *sink;
    void *sink_arg;
    /* Reads the configuration again (SIGHUP). returns it, or NULL after
     * saying why: the one in force stays */
    struct config *(*load)(void *arg);
    void *load_arg;
    /* It becomes that user and enters the sandbox (agent/base/sandbox.h) once
     * what needs rights is open; from there on the helper does what the
     * configuration names. NULL, both: it stays as it is. */
    const struct sandbox_user *user;
    struct helper *helper; /* borrowed; the service ends when it does */
};

/* Runs until SIGTERM or SIGINT; a write that is on its way is brought to its
 * end, at most for SERVICE_STOP_MS. SIGHUP reads the configuration and all
 * specs again. Tells systemd (sd_notify) that it is ready, reloads, stops,
 * lives.
 * in:  cfg — taken
 * returns 0, or -1 with e set: ERR_BUSY (another run holds the lock, for
 * longer than a round takes), ERR_INPUT, ERR_LOCAL (the sandbox, or the
 * helper is gone) */
#define SERVICE_STOP_MS 75000
MUST_CHECK int service_run(struct config *cfg, const struct service_options *o,
                           struct err *e);

#endif
