#include "agent/base/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/sandbox_impl.h"

static void take_self(struct sandbox_user *u)
{
    const struct passwd *pw = getpwuid(geteuid());

    u->uid = geteuid();
    u->gid = getegid();
    u->is_root = u->uid == 0;
    if (pw != NULL)
        (void)snprintf(u->name, sizeof u->name, "%s", pw->pw_name);
    else
        (void)snprintf(u->name, sizeof u->name, "%lu", (unsigned long)u->uid);
}

int sandbox_user_find(const char *name, struct sandbox_user *u, struct err *e)
{
    const char *wanted = name != NULL ? name : SANDBOX_USER;
    const struct passwd *pw = getpwnam(wanted);

    memset(u, 0, sizeof *u);
    if (name == NULL && (geteuid() != 0 || pw == NULL || pw->pw_uid == 0)) {
        take_self(u);
        return 0;
    }
    if (pw == NULL)
        return err_set(e, ERR_INPUT,
                       "user: \"%s\": there is no such user on this system; to "
                       "make one: useradd --system --user-group --no-create-"
                       "home --shell /usr/sbin/nologin %s",
                       wanted, wanted);
    if (pw->pw_uid == 0)
        return err_set(e, ERR_INPUT,
                       "user: \"%s\" is root; accepted: a user without rights "
                       "of its own",
                       wanted);
    (void)snprintf(u->name, sizeof u->name, "%s", pw->pw_name);
    u->uid = pw->pw_uid;
    u->gid = pw->pw_gid;
    u->becomes = geteuid() != u->uid;
    if (u->becomes && geteuid() != 0)
        return err_set(e, ERR_INPUT,
                       "user: only root can become \"%s\"; start it as root "
                       "or as %s",
                       wanted, wanted);
    return 0;
}

/* Saved ids included; that there is no way back is tried. */
static int become(const struct sandbox_user *u, struct err *e)
{
    if (!u->becomes)
        return 0;
    if (initgroups(u->name, u->gid) != 0 ||
        setresgid(u->gid, u->gid, u->gid) != 0 ||
        setresuid(u->uid, u->uid, u->uid) != 0)
        return err_set(e, ERR_LOCAL, "cannot become user %s: %s", u->name,
                       strerror(errno));
    if (setuid(0) == 0)
        return err_set(e, ERR_LOCAL, "user %s can become root again", u->name);
    return 0;
}

int sandbox_enter(const struct sandbox_user *u, const char *dir, struct err *e)
{
    if (sandbox_impl_before(e) != 0 || become(u, e) != 0)
        return -1;
    return sandbox_impl_after(dir, e);
}
