#ifndef AGENT_ENGINE_HELPER_HELPER_ROOM_H
#define AGENT_ENGINE_HELPER_HELPER_ROOM_H

#include "agent/base/buf.h"
#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/helper_wire.h"

/* What the helper knows: its readings of the configuration; and what a request
 * comes to in them. */
struct helper_room;

/* cfg: the first reading; borrowed. Its file is read again on request. */
struct helper_room *helper_room_new(const struct config *cfg)
    __attribute__((returns_nonnull));
/* Removes zone files that are staged. */
void helper_room_free(struct helper_room *r);

/* A request of `files`.
 * in:  fd — what came with it; -1: nothing
 * out: *a — with err, always; text — what follows it; fds — a->nfds of them,
 *      for the caller to close */
void helper_room_answer(struct helper_room *r, const struct helper_request *q,
                        int fd, struct helper_answer *a, struct buf *text,
                        int fds[HELPER_FILES_MAX]);

/* What RUN is to run. */
struct helper_command {
    char **argv;       /* by proc_argv_free */
    char *dir;         /* heap; NULL: as is */
    char **env;        /* by proc_argv_free; NULL: as is */
    const char *input; /* borrowed from the request; NULL: none */
    size_t input_len;
    int64_t timeout_ms;
};
/* out: *c — emptied by helper_command_fini, also after an error
 * returns 0, or -1 with e set: ERR_AUTH (the configuration has no such command,
 * or the target may not be probed), ERR_INPUT, ERR_NOTFOUND */
MUST_CHECK int helper_room_command(struct helper_room *r,
                                   const struct helper_request *q,
                                   struct helper_command *c, struct err *e);
void helper_command_fini(struct helper_command *c);

/* A request that was refused, for people: it should never come.
 * name: of the provider or command that it was about; "" none */
void helper_room_refused(struct helper_room *r, const char *name,
                         const struct err *e);

#endif
