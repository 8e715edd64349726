#ifndef TESTS_UNIT_MASTERFILE_EDITS_H
#define TESTS_UNIT_MASTERFILE_EDITS_H

/* Shared by the tests of master files: one edit in one call. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/zonefile/masterfile.h"

#define ZONE "example.test."

/* $INCLUDE reads these. */
struct memory_file {
    const char *path, *text;
};

static int memory_read(void *arg, const char *path, char **data, size_t *len,
                       struct err *e)
{
    const struct memory_file *f = arg;

    for (; f != NULL && f->path != NULL; f++) {
        if (strcmp(f->path, path) != 0)
            continue;
        *len = strlen(f->text);
        *data = mem_strdup(f->text);
        return 0;
    }
    return err_set(e, ERR_NOTFOUND, "%s: no such file", path);
}

/* Applies v to text; *out is NULL when nothing was written. */
static inline int edit_all(const char *text, const struct memory_file *files,
                           const struct change *v, size_t n, uint32_t serial,
                           struct change_result *results, char **out,
                           struct err *e)
{
    struct masterfile_source src = {memory_read, (void *)(uintptr_t)files};
    struct masterfile *m;
    bool changed = false;
    struct buf b;
    int r;

    *out = NULL;
    if (masterfile_parse(ZONE, "db", text, strlen(text), &src, &m, e) != 0)
        return -1;
    if (serial == 0)
        serial = masterfile_serial(m) + 1;
    buf_init(&b, MASTERFILE_MAX);
    r = masterfile_edit(m, v, n, serial, results, &b, &changed, e);
    if (r == 0 && changed)
        *out = buf_take(&b);
    buf_fini(&b);
    masterfile_free(m);
    return r;
}

#endif
