#include "agent/engine/state/state_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/mem.h"

#define OWN_NAME "dnsfailover"

struct owner {
    char *dir;
    const char *base; /* of the state, in its path */
    uid_t uid;
    gid_t gid;
    const char *user;
};

/* The database, its companions, and what the service keeps beside it. */
static bool is_ours(const struct owner *o, const char *name)
{
    static const char *const tails[] = {
        "",      "-wal",     "-shm",         "-journal",
        ".lock", ".damaged", ".damaged-wal", ".damaged-shm"};
    size_t n = strlen(o->base);

    if (strcmp(name, "control") == 0 || strcmp(name, "freeze") == 0)
        return true;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (strncmp(name, o->base, n) == 0 && strcmp(name + n, tails[i]) == 0)
            return true;
    return false;
}

static int fail(struct err *e, const char *dir, const char *name, int error)
{
    return err_set(e, ERR_LOCAL, "state: %s%s%s: %s", dir,
                   name[0] != '\0' ? "/" : "", name, strerror(error));
}

/* What the user put there itself may be a link to somebody else's file. */
static int give_file(const struct owner *o, int dir, const char *name,
                     struct err *e)
{
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? 0 : fail(e, o->dir, name, errno);
    if (fstat(fd, &st) != 0)
        rc = fail(e, o->dir, name, errno);
    else if (st.st_uid == o->uid && st.st_gid == o->gid)
        rc = 0;
    else if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        rc = S_ISSOCK(st.st_mode)
                 ? 0 /* an old one, made anew */
                 : err_set(e, ERR_INPUT,
                           "state: %s/%s is no file of its own (a link?): it "
                           "is not given to user %s; move it away",
                           o->dir, name, o->user);
    else if (fchownat(fd, "", o->uid, o->gid, AT_EMPTY_PATH) != 0)
        rc = fail(e, o->dir, name, errno);
    (void)close(fd);
    return rc;
}

static int refuse(const struct owner *o, const char *why, const char *what,
                  struct err *e)
{
    return err_set(e, ERR_INPUT,
                   "state: the directory %s %s%s, so it is not given to user "
                   "%s; set state in agent to a directory of its own, or "
                   "chown %s %s",
                   o->dir, why, what, o->user, o->user, o->dir);
}

/* Gives what is ours; alone: nothing else may lie there. */
static int give_entries(const struct owner *o, int dir, bool alone,
                        struct err *e)
{
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;

    if (d == NULL)
        return fail(e, o->dir, "", errno);
    while (rc == 0 && (entry = readdir(d)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (!is_ours(o, name))
            rc = alone ? refuse(o, "holds other files too: ", name, e) : 0;
    }
    rewinddir(d);
    while (rc == 0 && (entry = readdir(d)) != NULL)
        if (is_ours(o, entry->d_name))
            rc = give_file(o, dir, entry->d_name, e);
    (void)closedir(d);
    return rc;
}

static int give_directory(const struct owner *o, int dir, struct err *e)
{
    struct stat st;

    if (fstat(dir, &st) != 0)
        return fail(e, o->dir, "", errno);
    if (st.st_uid == o->uid)
        return give_entries(o, dir, false, e);
    if (st.st_uid != 0)
        return refuse(o, "belongs to another user", "", e);
    /* One that is called after the program is meant for it alone. */
    if (give_entries(o, dir, strcmp(strrchr(o->dir, '/') + 1, OWN_NAME) != 0,
                     e) != 0)
        return -1;
    if (fchown(dir, o->uid, o->gid) != 0)
        return fail(e, o->dir, "", errno);
    return 0;
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == path ? mem_strdup("/")
                         : mem_strndup(path, (size_t)(slash - path));
}

char *state_owner_directory(const char *path)
{
    char *dir = directory_of(path);

    (void)mkdir(dir, 0700); /* why not, opening the state tells */
    return dir;
}

int state_owner_give(const char *path, uid_t uid, gid_t gid, const char *user,
                     struct err *e)
{
    struct owner o = {.dir = directory_of(path),
                      .base = strrchr(path, '/') + 1,
                      .uid = uid,
                      .gid = gid,
                      .user = user};
    int dir, rc;

    if (mkdir(o.dir, 0700) != 0 && errno != EEXIST) {
        rc = fail(e, o.dir, "", errno);
        free(o.dir);
        return rc;
    }
    dir = open(o.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        rc = fail(e, o.dir, "", errno);
    } else {
        rc = give_directory(&o, dir, e);
        (void)close(dir);
    }
    free(o.dir);
    return rc;
}

/* out: cut — dir is cut after the first directory that cannot be passed */
static void cut_at_bar(char *dir)
{
    for (char *p = dir + 1; *p != '\0'; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (access(dir, X_OK) != 0)
            return;
        *p = '/';
    }
}

int state_owner_check(const char *path, const char *user, struct err *e)
{
    char *dir = directory_of(path);
    int rc = 0;

    if (access(dir, R_OK | W_OK | X_OK) != 0) {
        int error = errno;

        cut_at_bar(dir);
        rc = err_set(e, ERR_INPUT,
                     "state %s: %s: user %s cannot %s %s; give it the right, "
                     "or set state in agent",
                     path, strerror(error), user,
                     access(dir, X_OK) != 0 ? "enter" : "write to", dir);
    }
    free(dir);
    return rc;
}
