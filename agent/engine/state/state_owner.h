#ifndef AGENT_ENGINE_STATE_STATE_OWNER_H
#define AGENT_ENGINE_STATE_STATE_OWNER_H

#include <sys/types.h>

#include "agent/base/err.h"

/* The state of a service that becomes another user. */

/* As root, before the change: makes the directory of the state at path where
 * it is missing, and gives it and the state's own files to uid and gid. A
 * directory that holds anything else (unless it is called dnsfailover), or
 * belongs to a third, stays as it is; nor is a file given away that has a
 * second name.
 * returns 0, or -1 with e set (ERR_INPUT: what to do about it; ERR_LOCAL) */
MUST_CHECK int state_owner_give(const char *path, uid_t uid, gid_t gid,
                                const char *user, struct err *e);
/* As the user: can it be written?
 * returns 0, or -1 with e set (ERR_INPUT: the directory that bars the way) */
MUST_CHECK int state_owner_check(const char *path, const char *user,
                                 struct err *e);
/* The directory of the state at path, made (0700) where only it is missing and
 * may be made. Heap. */
char *state_owner_directory(const char *path) __attribute__((returns_nonnull));

#endif
