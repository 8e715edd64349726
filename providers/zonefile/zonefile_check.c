#include "providers/zonefile/zonefile_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/base/proc.h"
#include "providers/shared/findings.h"
#include "providers/shared/serial.h"

/* What doctor asks of zone files: is there all that a change will need? */

struct look {
    struct zonefile *z;
    char *zone;
    struct zonefile_zone file;
    struct findings found;
    provider_check_cb *cb;
    void *arg;
};

static void look_end(struct look *l)
{
    struct zonefile *z = l->z;
    struct provider_checked r = findings_get(&l->found);

    l->cb(l->arg, &r);
    findings_fini(&l->found);
    zonefile_zone_fini(&l->file);
    free(l->zone);
    free(l);
    zonefile_leave(z);
}

/* ---- the commands -------------------------------------------------------- */

static void look_at_command(struct look *l, const char *option,
                            const char *command, const char *advice)
{
    struct err e;
    char **argv;

    if (command == NULL) {
        findings_add(&l->found, PROVIDER_WARNING, option, advice,
                     "no %s command", option);
        return;
    }
    /* The template was tried when the provider was opened. */
    if (zonefile_argv(command, "example.", "/file", &argv, &e) != 0)
        return;
    if (proc_find(argv[0], &e) != 0)
        findings_add(&l->found, PROVIDER_ERROR, option,
                     "the full path of an installed program", "%s command: %s",
                     option, e.msg);
    else
        findings_add(&l->found, PROVIDER_OK, option, NULL,
                     "%s command: %s can be run", option, argv[0]);
    proc_argv_free(argv);
}

static void look_at_all(void *arg)
{
    struct look *l = arg;

    look_at_command(l, "check", l->z->check,
                    "check = \"named-checkzone -q {zone} {file}\"");
    look_at_command(l, "reload", l->z->reload,
                    "reload = \"rndc reload {zone}\", unless the server "
                    "watches the file itself");
    look_end(l);
}

/* ---- one zone ------------------------------------------------------------ */

static void on_served(void *arg, const struct provider_serial *s)
{
    struct look *l = arg;
    uint32_t own = masterfile_serial(l->file.m);

    if (!s->known)
        findings_add(&l->found, PROVIDER_ERROR, NULL,
                     "servers = {\"…\"} in the zone's section",
                     "%s: no authoritative server tells its serial, so a "
                     "change would be taken back",
                     l->zone);
    else if (serial_newer(s->serial, own))
        findings_add(&l->found, PROVIDER_ERROR, "file",
                     "the file that the server loads",
                     "%s has serial %u, and the server serves the newer %u: "
                     "such a file is not edited",
                     l->file.path, own, s->serial);
    else if (s->serial != own)
        findings_add(&l->found, PROVIDER_WARNING, NULL,
                     "reload the zone, and read the server's log",
                     "%s has serial %u, and the server still serves %u",
                     l->file.path, own, s->serial);
    else
        findings_add(&l->found, PROVIDER_OK, NULL, NULL,
                     "%s: the server serves serial %u of the file", l->zone,
                     own);
    look_end(l);
}

static void ask_serial(struct look *l)
{
    if (l->z->env.served_serial == NULL) {
        look_end(l);
        return;
    }
    l->z->env.served_serial(l->z->env.arg, l->zone, on_served, l);
}

static void on_checked(void *arg, const struct proc_result *r)
{
    struct look *l = arg;

    if (r->exit_code == 0)
        findings_add(&l->found, PROVIDER_OK, "check", NULL,
                     "%s passes the check command as it is", l->file.path);
    else
        findings_add(&l->found, PROVIDER_ERROR, "check",
                     "the command, or what it says of the file",
                     "%s does not pass the check command as it is, so no edit "
                     "of it will: %s",
                     l->file.path, r->err.msg);
    ask_serial(l);
}

static void run_check(struct look *l)
{
    struct err e;
    char **argv;

    if (l->z->check == NULL ||
        zonefile_argv(l->z->check, l->zone, l->file.path, &argv, &e) != 0) {
        ask_serial(l);
        return;
    }
    proc_run(l->z->env.loop, argv, zonefile_work_dir(l->z, &l->file.copy), NULL,
             0, l->z->timeout_ms, on_checked, l);
    proc_argv_free(argv);
}

/* A new file is put over the old one: what counts is its directory. */
static void look_at_place(struct look *l)
{
    const struct zonefile_copy *c = &l->file.copy;
    const char *dir = c->dir[0] != '\0' ? c->dir : "/";
    struct statvfs fs;
    char *advice = mem_printf("run as the owner of %s; in a systemd unit "
                              "ReadWritePaths=%s",
                              dir, dir);

    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) != 0)
        findings_add(&l->found, PROVIDER_ERROR, "file", advice,
                     "%s cannot be replaced: %s: %s", c->path, dir,
                     strerror(errno));
    else if (geteuid() != 0 && geteuid() != c->st.st_uid)
        findings_add(&l->found, PROVIDER_ERROR, "file", advice,
                     "%s belongs to another user, whose file a new one cannot "
                     "become",
                     c->path);
    else if (statvfs(dir, &fs) == 0 &&
             (double)fs.f_bavail * (double)fs.f_frsize <
                 2.0 * (double)c->len + 1e6)
        findings_add(&l->found, PROVIDER_ERROR, NULL, NULL,
                     "%s: the disk is full: a new file of %zu bytes would not "
                     "fit safely",
                     dir, c->len);
    else
        findings_add(&l->found, PROVIDER_OK, "file", NULL,
                     "%s can be read and replaced", c->path);
    free(advice);
}

static void look_at_zone(void *arg)
{
    struct look *l = arg;
    struct err e;

    if (zonefile_zone_load(l->z, l->zone, &l->file, &e) != 0) {
        findings_add(&l->found, PROVIDER_ERROR, "file",
                     e.code == ERR_NOTFOUND ? "file = \"/…/{zone}\"" : NULL,
                     "%s: %s", l->zone, e.msg);
        look_end(l);
        return;
    }
    look_at_place(l);
    if (zonefile_journal_check(l->file.path, &l->file.copy, &e) != 0) {
        findings_add(&l->found, PROVIDER_ERROR, "file",
                     "type = rfc2136, with the zone's update key", "%s: %s",
                     l->zone, e.msg);
        look_end(l);
        return;
    }
    run_check(l);
}

void zonefile_look(struct provider *p, const char *zone, provider_check_cb *cb,
                   void *arg)
{
    struct look *l = mem_alloc(sizeof *l);

    l->z = (struct zonefile *)p;
    l->cb = cb;
    l->arg = arg;
    findings_init(&l->found);
    zonefile_enter(l->z);
    if (zone != NULL)
        l->zone = mem_strdup(zone);
    (void)loop_timer_start(l->z->env.loop, 0,
                           zone != NULL ? look_at_zone : look_at_all, l);
}
