#ifndef PROVIDERS_ZONEFILE_ZONEFILE_DISK_H
#define PROVIDERS_ZONEFILE_ZONEFILE_DISK_H

#include <stddef.h>
#include <sys/stat.h>

#include "agent/base/err.h"

/* A zone file on disk: read whole, replaced whole. Files are small enough
 * (MASTERFILE_MAX) that the loop may wait for the disk. */

/* A file as it was read, or written. */
struct zonefile_copy {
    char *path; /* symbolic links followed: what a new file is put over */
    char *dir;  /* of path */
    char *text; /* NUL-terminated */
    size_t len;
    struct stat st;
};

/* out: *c — freed by zonefile_copy_fini, also after an error
 * returns 0, or -1 with e set: ERR_NOTFOUND, ERR_AUTH (permissions),
 * ERR_INPUT (not a regular file), ERR_LIMIT (size), ERR_LOCAL (I/O),
 * ERR_RETRY (it changed while it was read) */
MUST_CHECK int zonefile_read(const char *path, struct zonefile_copy *c,
                             struct err *e);
/* The same in two steps: opened (all of *c but the text), and read.
 * returns the descriptor (of a regular file), or -1; 0 or -1 */
MUST_CHECK int zonefile_file_open(const char *path, struct zonefile_copy *c,
                                  struct err *e);
MUST_CHECK int zonefile_read_open(int fd, struct zonefile_copy *c,
                                  struct err *e);
void zonefile_copy_fini(struct zonefile_copy *c);

/* A journal (FILE.jnl) means that the server itself writes the zone.
 * returns 0, or -1 with e set (ERR_UNSUPPORTED). source: BIND 9 ARM, "The
 * Journal File" */
MUST_CHECK int zonefile_journal_check(const char *path,
                                      const struct zonefile_copy *c,
                                      struct err *e);

/* Writes text to a new file beside c, with c's owner, mode, ACL and extended
 * attributes, and syncs it.
 * out: *tmp — its path (heap)
 * returns 0, or -1 with e set (ERR_AUTH, ERR_LOCAL) and nothing left */
MUST_CHECK int zonefile_stage(const struct zonefile_copy *c, const char *text,
                              size_t len, char **tmp, struct err *e);
/* Removes the staged file and frees its path; *tmp NULL is fine. */
void zonefile_unstage(char **tmp);

/* Whether the file is still the one that c describes.
 * returns 0, or -1 with e set (ERR_CONFLICT) */
MUST_CHECK int zonefile_unchanged(const struct zonefile_copy *c, struct err *e);

/* Puts the staged file over c->path, if that is still the one that c describes,
 * and syncs the directory; frees *tmp. Two that do so at once exclude each
 * other.
 * out: *now — what stands there now
 * returns 0, or -1 with e set (ERR_CONFLICT another file stands there, or is
 * being put there; ERR_AUTH, ERR_LOCAL): the staged one is gone */
MUST_CHECK int zonefile_commit(const struct zonefile_copy *c, char **tmp,
                               struct stat *now, struct err *e);

#endif
