#ifndef AGENT_BASE_HELPER_H
#define AGENT_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/base/doer.h"
#include "agent/base/err.h"
#include "agent/base/helper_wire.h"
#include "agent/base/loop.h"

/* The service's end of its helper: a process forked before the service gave
 * its rights up, which opens, writes and runs what the configuration names,
 * and nothing else (agent/engine/helper/helper_main.h). */

/* in:  files, runs — this end of the two pairs of sockets, taken */
struct helper *helper_new(int files, int runs, pid_t pid)
    __attribute__((returns_nonnull));
/* Commands run by that loop from now on. lost is called once when the helper
 * has ended by itself, after the results of all commands that were out (they
 * failed). */
void helper_attach(struct helper *h, struct loop *l, void (*lost)(void *arg),
                   void *arg);
/* Before loop_free: commands that are out are dropped. */
void helper_detach(struct helper *h);
/* Closes the sockets, upon which the helper ends, and waits for that. NULL is
 * fine. */
void helper_free(struct helper *h);
/* Why the helper is gone. returns false while it is there; e may be NULL */
bool helper_is_lost(const struct helper *h, struct err *e);

/* The doer of that reading of the configuration; lives as long as h. */
const struct doer *helper_doer(struct helper *h, uint32_t generation)
    __attribute__((returns_nonnull));
/* The helper reads the configuration file anew.
 * out: *fd — the file, to be closed by the caller; *d — goes with it
 * returns 0, or -1 with e set: as config_load where the file cannot be opened;
 * ERR_LOCAL: no helper */
MUST_CHECK int helper_config(struct helper *h, int *fd, const struct doer **d,
                             struct err *e);

struct helper_question {
    enum helper_op op;
    const char *name, *what;
    struct helper_identity identity;
    int fd; /* to go with it; -1: none */
};
struct helper_found {
    struct helper_identity identity;
    char *text; /* heap, NUL-terminated: the caller frees */
    size_t len;
    int fds[HELPER_FILES_MAX]; /* the caller closes */
    size_t nfds;
};
/* A question on `files`; waits for its answer, as one waits for the disk.
 * out: *f — freed by helper_found_fini, also after an error
 * returns 0, or -1 with e set: what the helper says; ERR_LOCAL: no helper */
MUST_CHECK int helper_ask(const struct doer *d, const struct helper_question *q,
                          struct helper_found *f, struct err *e);
void helper_found_fini(struct helper_found *f);

#endif
