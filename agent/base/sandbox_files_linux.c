#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/sandbox_files.h"

/* glibc has no functions for these calls. */

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define WRITES                                                                 \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |           \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |           \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |               \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |             \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* What the kernel's version of it knows of that; 0: it has none. */
static uint64_t writes(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                       LANDLOCK_CREATE_RULESET_VERSION);

    if (abi < 1)
        return 0;
    return WRITES | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
           (abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0);
}

static int restrict_to(int rules, const char *dir, uint64_t allowed)
{
    struct landlock_path_beneath_attr below = {.allowed_access = allowed};
    int rc = 0;

    /* One that cannot be reached is of no use to us either. */
    below.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (below.parent_fd >= 0) {
        rc = (int)syscall(SYS_landlock_add_rule, rules,
                          LANDLOCK_RULE_PATH_BENEATH, &below, 0);
        (void)close(below.parent_fd);
    }
    return rc != 0 ? -1 : (int)syscall(SYS_landlock_restrict_self, rules, 0);
}

int sandbox_files_restrict(const char *dir, struct err *e)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = writes()};
    int rules, rc;

    if (attr.handled_access_fs == 0)
        return 0;
    rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (rules < 0)
        return err_set(e, ERR_LOCAL, "sandbox: files: %s", strerror(errno));
    rc = restrict_to(rules, dir, attr.handled_access_fs);
    if (rc != 0)
        (void)err_set(e, ERR_LOCAL, "sandbox: files below %s: %s", dir,
                      strerror(errno));
    (void)close(rules);
    return rc;
}

#else
typedef int sandbox_files_is_empty;
#endif
