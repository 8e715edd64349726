#ifndef AGENT_BASE_SANDBOX_H
#define AGENT_BASE_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/base/err.h"

/* Giving up rights for good: the user, capabilities, new privileges by
 * execve(2), and the system calls that a service in need of none of them can
 * do without. Linux; elsewhere only the user changes.
 * source: capabilities(7), prctl(2) PR_SET_NO_NEW_PRIVS, seccomp(2) */

#define SANDBOX_USER "dnsfailover" /* when no other is named */

struct sandbox_user {
    char name[64];
    uid_t uid;
    gid_t gid;
    bool becomes; /* it is not who we are */
    bool is_root; /* started as root, and stays it */
};

/* Who the process is to be.
 * name: of the configuration. NULL: as root SANDBOX_USER where there is one,
 *       else who we are
 * returns 0, or -1 with e set (ERR_INPUT: no such user; it is root; we are not
 * root and cannot become another) */
MUST_CHECK int sandbox_user_find(const char *name, struct sandbox_user *u,
                                 struct err *e);

/* Becomes u with u's groups; drops every capability, those of the bounding set
 * too; refuses new privileges; writes, makes and removes files below dir alone
 * (where the kernel has Landlock); and allows the system calls of a service
 * only: no program is started, no process made, traced or signalled, nothing
 * mounted, no socket but of IP, UNIX and NETLINK. What others find missing
 * fails with ENOSYS, which libraries know how to go without; starting
 * programs, making and tracing processes ends the process (SIGSYS; the
 * kernel's audit log names the call). Threads that are there take part, but for
 * the files.
 * A build for the address sanitizer leaves the system calls alone: it makes
 * processes itself.
 * returns 0, or -1 with e set (ERR_LOCAL): then the process has to end */
MUST_CHECK int sandbox_enter(const struct sandbox_user *u, const char *dir,
                             struct err *e);

/* What the system says that a process may do, in words: "user dnsfailover, no
 * capabilities, no new privileges, system calls filtered". returns out, or
 * NULL when it cannot be told. */
#define SANDBOX_TEXT_SIZE 256
const char *sandbox_describe(pid_t pid, char out[SANDBOX_TEXT_SIZE]);

/* What ps and top call this process; at most 15 characters. */
void sandbox_name_process(const char *name);

#endif
