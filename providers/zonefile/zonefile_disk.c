#include "providers/zonefile/zonefile_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#include "agent/base/mem.h"
#include "providers/zonefile/masterfile.h"

static int fail(struct err *e, int error, const char *what, const char *path)
{
    enum err_code code = ERR_LOCAL;

    if (error == ENOENT || error == ENOTDIR)
        code = ERR_NOTFOUND;
    else if (error == EACCES || error == EPERM || error == EROFS)
        code = ERR_AUTH;
    return err_set(e, code, "%s: cannot %s: %s", path, what, strerror(error));
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_whole(int fd, struct zonefile_copy *c, struct err *e)
{
    size_t size = (size_t)c->st.st_size;
    struct stat after;

    c->text = mem_alloc(size + 1);
    while (c->len < size) {
        /* Another process may have read from the same open file. */
        ssize_t n = pread(fd, c->text + c->len, size - c->len, (off_t)c->len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(e, errno, "read", c->path);
        if (n == 0)
            break;
        c->len += (size_t)n;
    }
    if (c->len != size || fstat(fd, &after) != 0 || !same_file(&c->st, &after))
        return err_set(e, ERR_RETRY, "%s: it changed while it was read",
                       c->path);
    return 0;
}

int zonefile_file_open(const char *path, struct zonefile_copy *c, struct err *e)
{
    char resolved[PATH_MAX];
    int fd;

    memset(c, 0, sizeof *c);
    if (realpath(path, resolved) == NULL)
        return fail(e, errno, "open", path);
    c->path = mem_strdup(resolved);
    c->dir = mem_strndup(resolved, (size_t)(strrchr(resolved, '/') - resolved));
    /* O_NONBLOCK: a FIFO in its place must not hold the agent */
    fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(e, errno, "open", path);
    if (fstat(fd, &c->st) != 0)
        (void)fail(e, errno, "read", path);
    else if (!S_ISREG(c->st.st_mode))
        (void)err_set(e, ERR_INPUT, "%s: not a regular file", path);
    else if ((uintmax_t)c->st.st_size > MASTERFILE_MAX)
        (void)err_set(e, ERR_LIMIT, "%s: more than %zu bytes", path,
                      MASTERFILE_MAX);
    else
        return fd;
    (void)close(fd);
    return -1;
}

int zonefile_read_open(int fd, struct zonefile_copy *c, struct err *e)
{
    if (fstat(fd, &c->st) != 0)
        return fail(e, errno, "read", c->path);
    if ((uintmax_t)c->st.st_size > MASTERFILE_MAX)
        return err_set(e, ERR_LIMIT, "%s: more than %zu bytes", c->path,
                       MASTERFILE_MAX);
    return read_whole(fd, c, e);
}

int zonefile_read(const char *path, struct zonefile_copy *c, struct err *e)
{
    int fd = zonefile_file_open(path, c, e), r;

    if (fd < 0)
        return -1;
    r = zonefile_read_open(fd, c, e);
    (void)close(fd);
    return r;
}

void zonefile_copy_fini(struct zonefile_copy *c)
{
    free(c->path);
    free(c->dir);
    free(c->text);
    memset(c, 0, sizeof *c);
}

static int journal_at(const char *path, struct err *e)
{
    char *journal = mem_printf("%s.jnl", path);
    struct stat st;
    int r = 0;

    if (lstat(journal, &st) == 0)
        r = err_set(e, ERR_UNSUPPORTED,
                    "%s: the zone has a journal, so the server itself writes "
                    "the file (dynamic updates, ixfr-from-differences): edits "
                    "would be lost. Use the provider rfc2136, or end the "
                    "dynamic updates (rndc sync -clean)",
                    journal);
    free(journal);
    return r;
}

int zonefile_journal_check(const char *path, const struct zonefile_copy *c,
                           struct err *e)
{
    if (journal_at(path, e) != 0)
        return -1;
    return journal_at(c->path, e);
}

#ifdef __linux__
/* ACLs are extended attributes here. What cannot be kept (another file
 * system's, a security module's own) is left to the system's default. */
static void copy_attributes(int from, int to)
{
    char names[4096], value[65536];
    ssize_t n = flistxattr(from, names, sizeof names);

    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
        ssize_t len = fgetxattr(from, names + i, value, sizeof value);

        if (len >= 0)
            (void)fsetxattr(to, names + i, value, (size_t)len, 0);
    }
}
#else
static void copy_attributes(int from, int to)
{
    (void)from;
    (void)to;
}
#endif

static int keep_owner(const struct zonefile_copy *c, int fd, struct err *e)
{
    struct stat st;
    int from;

    if (fstat(fd, &st) != 0)
        return fail(e, errno, "read", c->path);
    if ((st.st_uid != c->st.st_uid || st.st_gid != c->st.st_gid) &&
        fchown(fd, c->st.st_uid, c->st.st_gid) != 0)
        return err_set(e, ERR_AUTH,
                       "%s: cannot keep its owner %ld and group %ld: %s; run "
                       "as root or as that user, who must be in the group",
                       c->path, (long)c->st.st_uid, (long)c->st.st_gid,
                       strerror(errno));
    from = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (from >= 0) {
        copy_attributes(from, fd);
        (void)close(from);
    }
    if (fchmod(fd, c->st.st_mode & 07777) != 0)
        return fail(e, errno, "keep the mode of", c->path);
    return 0;
}

static int write_whole(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text += n;
        len -= (size_t)n;
    }
    return fsync(fd);
}

int zonefile_stage(const struct zonefile_copy *c, const char *text, size_t len,
                   char **tmp, struct err *e)
{
    /* a dot in front: servers that read whole directories leave it alone */
    char *path = mem_printf("%s/.%s.dnsfailover.XXXXXX", c->dir,
                            strrchr(c->path, '/') + 1);
    int fd = mkostemp(path, O_CLOEXEC), r = -1;

    *tmp = NULL;
    if (fd < 0) {
        (void)fail(e, errno, "create a file in", c->dir[0] ? c->dir : "/");
        if (e->code == ERR_NOTFOUND)
            e->code = ERR_LOCAL;
        free(path);
        return -1;
    }
    if (write_whole(fd, text, len) != 0)
        (void)fail(e, errno, "write", path);
    else
        r = keep_owner(c, fd, e);
    if (close(fd) != 0 && r == 0)
        r = fail(e, errno, "write", path);
    *tmp = path;
    if (r != 0)
        zonefile_unstage(tmp);
    return r;
}

void zonefile_unstage(char **tmp)
{
    if (*tmp != NULL)
        (void)unlink(*tmp);
    free(*tmp);
    *tmp = NULL;
}

int zonefile_unchanged(const struct zonefile_copy *c, struct err *e)
{
    struct stat now;

    if (stat(c->path, &now) == 0 && same_file(&c->st, &now))
        return 0;
    return err_set(e, ERR_CONFLICT,
                   "%s: somebody else changed it at the same time", c->path);
}

static void sync_dir(const char *dir)
{
    int fd = open(dir[0] != '\0' ? dir : "/", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)fsync(fd); /* some file systems refuse it for directories */
    (void)close(fd);
}

/* Between the look at the old file and the rename nobody else who asks for its
 * lock replaces it. Where there are no locks, only the look remains.
 * returns 0 and the descriptor that holds it (-1: none), or -1 with e set */
static int lock_old(const struct zonefile_copy *c, int *fd, struct err *e)
{
    *fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return zonefile_unchanged(c, e);
    return err_set(e, ERR_CONFLICT,
                   "%s: somebody else replaces it at the same time", c->path);
}

int zonefile_commit(const struct zonefile_copy *c, char **tmp, struct stat *now,
                    struct err *e)
{
    int old, r = lock_old(c, &old, e);

    /* The staged file's own identity: after the rename it may be gone again
     * already. */
    if (r == 0 && stat(*tmp, now) != 0)
        r = fail(e, errno, "read", *tmp);
    else if (r == 0 && rename(*tmp, c->path) != 0)
        r = fail(e, errno, "replace", c->path);
    if (old >= 0)
        (void)close(old);
    if (r != 0) {
        zonefile_unstage(tmp);
        return -1;
    }
    sync_dir(c->dir);
    free(*tmp);
    *tmp = NULL;
    return 0;
}
