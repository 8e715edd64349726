#include "providers/zonefile/zonefile_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "providers/zonefile/zonefile_impl.h"

/* On the disk that this process reaches itself. */

void zonefile_includes_fini(struct zonefile_includes *inc)
{
    for (size_t i = 0; i < inc->n; i++) {
        free(inc->v[i].path);
        (void)close(inc->v[i].fd);
    }
    free(inc->v);
    memset(inc, 0, sizeof *inc);
}

static int disk_read(const struct zonefile *z, const char *zone,
                     struct zonefile_copy *c, struct zonefile_includes *inc,
                     struct err *e)
{
    char *path = zonefile_path(z, zone);
    int r = zonefile_read(path, c, e);

    (void)inc;
    free(path);
    return r;
}

static int disk_include(const struct zonefile_includes *inc, const char *path,
                        struct zonefile_copy *c, struct err *e)
{
    (void)inc;
    return zonefile_read(path, c, e);
}

static int disk_journal_check(const struct zonefile *z, const char *zone,
                              const struct zonefile_copy *c, struct err *e)
{
    char *path = zonefile_path(z, zone);
    int r = zonefile_journal_check(path, c, e);

    free(path);
    return r;
}

static int disk_stage(const struct zonefile *z, const char *zone,
                      const struct zonefile_copy *c, const char *text,
                      size_t len, char **tmp, struct err *e)
{
    (void)z;
    (void)zone;
    return zonefile_stage(c, text, len, tmp, e);
}

static void disk_unstage(const struct zonefile *z, const char *zone, char **tmp)
{
    (void)z;
    (void)zone;
    zonefile_unstage(tmp);
}

static int disk_unchanged(const struct zonefile *z, const char *zone,
                          const struct zonefile_copy *c, struct err *e)
{
    (void)z;
    (void)zone;
    return zonefile_unchanged(c, e);
}

static int disk_commit(const struct zonefile *z, const char *zone,
                       const struct zonefile_copy *c, char **tmp,
                       struct stat *now, struct err *e)
{
    (void)z;
    (void)zone;
    return zonefile_commit(c, tmp, now, e);
}

const struct zonefile_store zonefile_store_disk = {
    .read = disk_read,
    .include = disk_include,
    .journal_check = disk_journal_check,
    .stage = disk_stage,
    .unstage = disk_unstage,
    .unchanged = disk_unchanged,
    .commit = disk_commit,
};
