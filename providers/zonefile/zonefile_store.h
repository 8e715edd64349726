#ifndef PROVIDERS_ZONEFILE_ZONEFILE_STORE_H
#define PROVIDERS_ZONEFILE_ZONEFILE_STORE_H

#include <stddef.h>
#include <sys/stat.h>

#include "agent/base/err.h"
#include "providers/zonefile/zonefile_disk.h"

/* Where zone files are kept, as the provider sees it: on the disk that it
 * reaches itself, or behind the helper of a service that gave its rights up.
 * Inside providers/zonefile/ only. */

struct zonefile;

/* Files that $INCLUDE lines name and that the helper sent along with a zone
 * file. */
struct zonefile_included {
    char *path; /* as it is asked for */
    int fd;
};
struct zonefile_includes {
    struct zonefile_included *v;
    size_t n;
};
void zonefile_includes_fini(struct zonefile_includes *inc);

/* The functions are those of zonefile_disk.h, for the file of one zone
 * (canonical) of z. */
struct zonefile_store {
    int (*read)(const struct zonefile *z, const char *zone,
                struct zonefile_copy *c, struct zonefile_includes *inc,
                struct err *e);
    /* path: absolute, or relative to the working directory of commands */
    int (*include)(const struct zonefile_includes *inc, const char *path,
                   struct zonefile_copy *c, struct err *e);
    int (*journal_check)(const struct zonefile *z, const char *zone,
                         const struct zonefile_copy *c, struct err *e);
    int (*stage)(const struct zonefile *z, const char *zone,
                 const struct zonefile_copy *c, const char *text, size_t len,
                 char **tmp, struct err *e);
    void (*unstage)(const struct zonefile *z, const char *zone, char **tmp);
    int (*unchanged)(const struct zonefile *z, const char *zone,
                     const struct zonefile_copy *c, struct err *e);
    int (*commit)(const struct zonefile *z, const char *zone,
                  const struct zonefile_copy *c, char **tmp, struct stat *now,
                  struct err *e);
};
extern const struct zonefile_store zonefile_store_disk, zonefile_store_helper;

#endif
