#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/helper.h"
#include "providers/zonefile/zonefile_desk.h"
#include "providers/zonefile/zonefile_impl.h"

/* Behind the helper of a service that gave its rights up: each function is one
 * question to it. The other side is zonefile_desk.c. */

static int ask(const struct zonefile *z, const char *zone, enum helper_op op,
               const struct helper_identity *identity, int fd,
               struct helper_found *f, struct err *e)
{
    struct helper_question q = {
        .op = op, .name = z->name, .what = zone, .fd = fd};

    if (identity != NULL)
        q.identity = *identity;
    return helper_ask(z->doer, &q, f, e);
}

/* For questions whose answer is yes or why not. */
static int ask_only(const struct zonefile *z, const char *zone,
                    enum helper_op op, const struct helper_identity *identity,
                    struct err *e)
{
    struct helper_found f;
    int r = ask(z, zone, op, identity, -1, &f, e);

    helper_found_fini(&f);
    return r;
}

/* The answer: the file's path and the names of its $INCLUDEs, each with its
 * NUL; and as many descriptors. */
static int take_files(struct helper_found *f, struct zonefile_copy *c,
                      struct zonefile_includes *inc, struct err *e)
{
    const char *p = f->text, *end = f->text + f->len;
    size_t n = f->nfds;

    if (n == 0 || p == end || p[0] != '/' || end[-1] != '\0')
        return err_set(e, ERR_BUG, "the helper sent no file");
    c->path = mem_strdup(p);
    c->dir = mem_strndup(p, (size_t)(strrchr(p, '/') - p));
    inc->v = mem_array(n, sizeof *inc->v);
    for (size_t i = 1; i < n; i++) {
        p += strlen(p) + 1;
        if (p >= end)
            return err_set(e, ERR_BUG, "the helper sent a file without name");
        inc->v[inc->n].path = mem_strdup(p);
        inc->v[inc->n++].fd = f->fds[i];
        f->fds[i] = -1;
    }
    return zonefile_read_open(f->fds[0], c, e);
}

static int far_read(const struct zonefile *z, const char *zone,
                    struct zonefile_copy *c, struct zonefile_includes *inc,
                    struct err *e)
{
    struct helper_found f;
    int r;

    memset(c, 0, sizeof *c);
    memset(inc, 0, sizeof *inc);
    r = ask(z, zone, HELPER_READ, NULL, -1, &f, e);
    if (r == 0)
        r = take_files(&f, c, inc, e);
    helper_found_fini(&f);
    return r;
}

static int far_include(const struct zonefile_includes *inc, const char *path,
                       struct zonefile_copy *c, struct err *e)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < inc->n; i++) {
        if (strcmp(inc->v[i].path, path) != 0)
            continue;
        c->path = mem_strdup(path);
        c->dir = mem_strdup("");
        return zonefile_read_open(inc->v[i].fd, c, e);
    }
    return err_set(e, ERR_RETRY, "%s: it came up while the zone was read",
                   path);
}

static int far_journal_check(const struct zonefile *z, const char *zone,
                             const struct zonefile_copy *c, struct err *e)
{
    (void)c;
    return ask_only(z, zone, HELPER_JOURNAL, NULL, e);
}

/* A file in memory that nobody can change any more.
 * returns its descriptor, or -1 with e set (ERR_LOCAL) */
static int memory_file(const char *text, size_t len, struct err *e)
{
    int fd = memfd_create("zone", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t done = 0;

    while (fd >= 0 && done < len) {
        ssize_t n = write(fd, text + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    if (fd >= 0 && done == len &&
        fcntl(fd, F_ADD_SEALS, ZONEFILE_DESK_SEALS) == 0)
        return fd;
    (void)err_set(e, ERR_LOCAL, "a text of %zu bytes for the helper: %s", len,
                  strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static int far_stage(const struct zonefile *z, const char *zone,
                     const struct zonefile_copy *c, const char *text,
                     size_t len, char **tmp, struct err *e)
{
    int fd = memory_file(text, len, e), r;
    struct helper_found f;

    (void)c;
    *tmp = NULL;
    if (fd < 0)
        return -1;
    r = ask(z, zone, HELPER_STAGE, NULL, fd, &f, e);
    if (r == 0)
        *tmp = mem_strdup(f.text);
    helper_found_fini(&f);
    (void)close(fd);
    return r;
}

static void far_unstage(const struct zonefile *z, const char *zone, char **tmp)
{
    struct err e;

    /* What fails here the helper removes at its own end. */
    if (*tmp != NULL)
        (void)ask_only(z, zone, HELPER_UNSTAGE, NULL, &e);
    free(*tmp);
    *tmp = NULL;
}

static int far_unchanged(const struct zonefile *z, const char *zone,
                         const struct zonefile_copy *c, struct err *e)
{
    struct helper_identity id = zonefile_desk_identity(&c->st);

    return ask_only(z, zone, HELPER_UNCHANGED, &id, e);
}

static int far_commit(const struct zonefile *z, const char *zone,
                      const struct zonefile_copy *c, char **tmp,
                      struct stat *now, struct err *e)
{
    struct helper_identity id = zonefile_desk_identity(&c->st);
    struct helper_found f;
    int r = ask(z, zone, HELPER_COMMIT, &id, -1, &f, e);

    if (r == 0)
        *now = zonefile_desk_stat(&f.identity);
    helper_found_fini(&f);
    free(*tmp);
    *tmp = NULL;
    return r;
}

const struct zonefile_store zonefile_store_helper = {
    .read = far_read,
    .include = far_include,
    .journal_check = far_journal_check,
    .stage = far_stage,
    .unstage = far_unstage,
    .unchanged = far_unchanged,
    .commit = far_commit,
};
