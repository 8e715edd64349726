#ifndef PROVIDERS_ZONEFILE_ZONEFILE_DESK_H
#define PROVIDERS_ZONEFILE_ZONEFILE_DESK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "agent/base/buf.h"
#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/helper_wire.h"

/* The helper's side of the zone file provider: the files of the zones that one
 * provider of ITS configuration serves, and of no other. Paths and words come
 * from that configuration and from the disk; what is asked for are names. */
struct zonefile_desk;

/* What the memory file of a text to be staged must be sealed with, so that it
 * cannot change, or hang, while it is read. */
#define ZONEFILE_DESK_SEALS                                                    \
    (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* cfg: whose zones are those of cfg whose provider is p; both are borrowed.
 * returns it, or NULL with e set (another type; as the provider's open) */
struct zonefile_desk *zonefile_desk_new(const struct config *cfg,
                                        const struct config_provider *p,
                                        struct err *e);
/* Removes what is staged. NULL is fine. */
void zonefile_desk_free(struct zonefile_desk *d);

bool zonefile_desk_serves(const struct zonefile_desk *d, const char *zone);

/* Each: zone — as asked for; one that the provider does not serve is refused.
 * returns 0, or -1 with e set: ERR_AUTH (not a zone of that provider), and as
 * the functions of zonefile_disk.h */

/* out: names — the file's path and the names of the files that it includes, as
 *      the provider asks for them, each with its NUL; *fds — as many, *n in all
 *      (at most HELPER_FILES_MAX), for the caller to close, also after an
 *      error */
MUST_CHECK int zonefile_desk_read(struct zonefile_desk *d, const char *zone,
                                  struct buf *names, int *fds, size_t *n,
                                  struct err *e);
MUST_CHECK int zonefile_desk_journal(struct zonefile_desk *d, const char *zone,
                                     struct err *e);
/* fd: a memory file, sealed. Refused when the text includes what the file as
 * last read does not, by any line.
 * out: *tmp — borrowed until it goes */
MUST_CHECK int zonefile_desk_stage(struct zonefile_desk *d, const char *zone,
                                   int fd, const char **tmp, struct err *e);
MUST_CHECK int zonefile_desk_unstage(struct zonefile_desk *d, const char *zone,
                                     struct err *e);
MUST_CHECK int zonefile_desk_unchanged(struct zonefile_desk *d,
                                       const char *zone,
                                       const struct helper_identity *id,
                                       struct err *e);
/* id: of the file that may be replaced; out: *now — of what stands there now */
MUST_CHECK int zonefile_desk_commit(struct zonefile_desk *d, const char *zone,
                                    const struct helper_identity *id,
                                    struct helper_identity *now, struct err *e);
/* The words of the check of what is staged, or of the reload.
 * out: *argv — freed by proc_argv_free; *dir — heap; *timeout_ms */
MUST_CHECK int zonefile_desk_command(struct zonefile_desk *d, const char *zone,
                                     bool check, char ***argv, char **dir,
                                     int64_t *timeout_ms, struct err *e);

struct helper_identity zonefile_desk_identity(const struct stat *st);
struct stat zonefile_desk_stat(const struct helper_identity *id);

#endif
