#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/proc.h"
#include "agent/base/sandbox.h"
#include "agent/cli/doctor.h"
#include "agent/engine/world/override.h"
#include "agent/probes/net.h"

/* The machine that the agent runs on. */

#define SPACE_LOW 16e6 /* bytes */
#define SPACE_NONE 1e6
#define PROBES_FEW 1024
#define DESCRIPTORS_KEPT 256 /* probe.h: left to the rest of the process */
#define YEAR_2024_MS 1704067200000LL

static const char *user_of(struct doctor *d, uid_t uid)
{
    const struct passwd *pw = getpwuid(uid);

    return pw != NULL ? arena_strdup(d->arena, pw->pw_name)
                      : arena_printf(d->arena, "uid %lu", (unsigned long)uid);
}

/* --- the configuration's file -------------------------------------------- */

void doctor_file(struct doctor *d)
{
    const char *file = d->cfg->file;
    struct stat st;

    if (stat(file, &st) != 0)
        return; /* "command line" */
    if ((st.st_mode & S_IWOTH) != 0)
        doctor_tell(d, DOCTOR_ERROR, file,
                    arena_printf(d->arena, "chmod o-w %s", file),
                    "everybody can change it, and so what is run here");
    else if (st.st_uid != 0 && st.st_uid != geteuid())
        doctor_tell(
            d, DOCTOR_WARNING, file,
            arena_printf(d->arena, "chown %s %s", user_of(d, geteuid()), file),
            "belongs to %s, who can change what is run here as %s",
            user_of(d, st.st_uid), user_of(d, geteuid()));
    else
        doctor_tell(d, DOCTOR_OK, file, NULL,
                    "can be read, and changed by %s only",
                    user_of(d, st.st_uid));
}

/* --- the state ----------------------------------------------------------- */

static void look_at_space(struct doctor *d, const char *dir)
{
    struct statvfs fs;
    double left;

    if (statvfs(dir, &fs) != 0)
        return;
    left = (double)fs.f_bavail * (double)fs.f_frsize;
    if (left < SPACE_LOW)
        doctor_tell(d, left < SPACE_NONE ? DOCTOR_ERROR : DOCTOR_WARNING, dir,
                    NULL,
                    "%.1f MB left on the disk: without a state written, rounds "
                    "only learn and withdraw nothing",
                    left / 1e6);
}

static void look_at_directory(struct doctor *d, const char *dir)
{
    struct stat st;

    if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) != 0) {
        int why = errno;

        if (stat(dir, &st) != 0)
            st.st_uid = 0;
        doctor_tell(d, DOCTOR_ERROR, dir,
                    "run as its owner, or state = \"/…\" in agent",
                    "%s cannot write the state: %s; it belongs to %s",
                    user_of(d, geteuid()), strerror(why),
                    user_of(d, st.st_uid));
        return;
    }
    if (stat(dir, &st) == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        doctor_tell(d, DOCTOR_WARNING, dir,
                    arena_printf(d->arena, "chmod 700 %s", dir),
                    "others can write where the state is kept");
    else
        doctor_tell(d, DOCTOR_OK, dir, NULL, "the state can be written");
    look_at_space(d, dir);
}

static void look_at_database(struct doctor *d)
{
    struct err e;
    char *freeze = override_freeze_file(d->cfg->state);

    if (state_open(d->cfg->state, true, &d->state, &e) == 0)
        doctor_tell(d, DOCTOR_OK, d->cfg->state, NULL, "can be read");
    else if (e.code == ERR_NOTFOUND)
        doctor_tell(d, DOCTOR_OK, d->cfg->state, NULL,
                    "is not there yet: the first round writes it");
    else
        doctor_tell(d, DOCTOR_ERROR, d->cfg->state, NULL, "%s", e.msg);
    if (freeze != NULL)
        doctor_tell(d, DOCTOR_WARNING, freeze,
                    arena_printf(d->arena, "rm %s", freeze),
                    "nothing is written while this file is there");
    free(freeze);
}

void doctor_state(struct doctor *d)
{
    char *copy = arena_strdup(d->arena, d->cfg->state);
    const char *dir = dirname(copy), *parent;
    struct stat st;

    if (stat(dir, &st) == 0) {
        look_at_directory(d, dir);
        look_at_database(d);
        return;
    }
    parent = dirname(arena_strdup(d->arena, dir));
    if (faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) != 0)
        doctor_tell(d, DOCTOR_ERROR, dir,
                    arena_printf(d->arena, "install -d -m 700 %s", dir),
                    "is not there and cannot be made: %s: %s", parent,
                    strerror(errno));
    else
        doctor_tell(d, DOCTOR_OK, dir, NULL,
                    "is not there yet: the first round makes it");
}

/* --- limits, clock, rights ----------------------------------------------- */

void doctor_limits(struct doctor *d)
{
    struct rlimit rl;
    unsigned long long most;

    if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
        return;
    most = rl.rlim_max > 2 * DESCRIPTORS_KEPT ? rl.rlim_max - DESCRIPTORS_KEPT
                                              : rl.rlim_max / 2;
    if (most < PROBES_FEW)
        doctor_tell(d, DOCTOR_WARNING, "open files",
                    "LimitNOFILE=65536 in the unit, ulimit -n elsewhere",
                    "at most %llu: %llu probes at a time",
                    (unsigned long long)rl.rlim_max, most);
    else
        doctor_tell(d, DOCTOR_OK, "open files", NULL,
                    "at most %llu: %llu probes at a time",
                    (unsigned long long)rl.rlim_max, most);
}

void doctor_clock(struct doctor *d)
{
    char now[32];

    clock_format(clock_wall_ms(), now, sizeof now);
    if (clock_wall_ms() < YEAR_2024_MS)
        doctor_tell(d, DOCTOR_ERROR, "clock", "set it, or run an NTP client",
                    "%s: signatures and certificates will be refused", now);
    else if (!net_clock_ok())
        doctor_tell(d, DOCTOR_WARNING, "clock",
                    "an NTP client (systemd-timesyncd, chrony)",
                    "%s, and the system says that nothing keeps it right: "
                    "signed requests fail when it is minutes off, a "
                    "certificate that seems expired is no verdict",
                    now);
    else
        doctor_tell(d, DOCTOR_OK, "clock", NULL, "%s, kept by NTP", now);
}

/* Whom the service becomes. */
void doctor_user(struct doctor *d)
{
    const char *subject =
        arena_printf(d->arena, "%s agent: user", d->cfg->file);
    struct sandbox_user u;
    struct err e;

    if (sandbox_user_find(d->cfg->user, &u, &e) != 0)
        doctor_tell(d, DOCTOR_ERROR, subject, "user = a system user", "%s",
                    e.msg);
    else if (u.is_root)
        doctor_tell(d, DOCTOR_WARNING, subject,
                    "adduser --system " SANDBOX_USER,
                    "there is no user " SANDBOX_USER
                    " that the service could become: it stays root, without "
                    "its capabilities");
    else
        doctor_tell(d, DOCTOR_OK, subject, NULL, "the service runs as %s",
                    u.name);
}

static bool needs_ping(const struct config *cfg)
{
    for (size_t i = 0; i < cfg->nanchors; i++)
        if (cfg->anchors[i].port == 0)
            return true;
    return false;
}

void doctor_ping(struct doctor *d)
{
    bool raw, needed = needs_ping(d->cfg);
    int fd = net_icmp_open(4, &raw);

    if (fd >= 0) {
        (void)close(fd);
        doctor_tell(d, DOCTOR_OK, "ping", NULL, "echo requests can be sent");
        return;
    }
    doctor_tell(d, needed ? DOCTOR_ERROR : DOCTOR_WARNING, "ping",
                "AmbientCapabilities=CAP_NET_RAW in the unit, or "
                "net.ipv4.ping_group_range in sysctl.conf",
                "echo requests cannot be sent (%s): checks `icmp`%s have no "
                "verdict",
                strerror(errno), needed ? " and anchors without port" : "");
}

/* --- programs ------------------------------------------------------------ */

static void look_at_program(struct doctor *d, const char *command,
                            const char *subject, const char *option)
{
    static const char *const keys[] = {"target"}, *const values[] = {
                                                      "192.0.2.1"};
    struct err e;
    char **argv;

    if (proc_split(command, keys, values, 1, &argv, &e) != 0)
        return; /* refused when the file was read */
    if (proc_find(argv[0], &e) == 0)
        doctor_tell(d, DOCTOR_OK, subject, NULL, "%s can be run", argv[0]);
    else
        doctor_tell(d, DOCTOR_ERROR, subject,
                    arena_printf(d->arena,
                                 "%s = the full path of an installed program",
                                 option),
                    "%s", e.msg);
    proc_argv_free(argv);
}

void doctor_programs(struct doctor *d)
{
    const struct config *cfg = d->cfg;

    if (cfg->notify != NULL)
        look_at_program(d, cfg->notify,
                        arena_printf(d->arena, "%s agent: notify", cfg->file),
                        "notify");
    for (size_t i = 0; i < cfg->ncommands; i++)
        look_at_program(d, cfg->commands[i].exec,
                        doctor_at(d, cfg->commands[i].line,
                                  arena_printf(d->arena, "command %s",
                                               cfg->commands[i].name)),
                        "exec");
}
