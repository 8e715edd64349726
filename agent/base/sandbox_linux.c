#ifdef __linux__

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/sandbox.h"
#include "agent/base/sandbox_files.h"
#include "agent/base/sandbox_filter.h"
#include "agent/base/sandbox_impl.h"

/* Capabilities, new privileges, and the words for both. */

static int fail(struct err *e, const char *what)
{
    return err_set(e, ERR_LOCAL, "sandbox: %s: %s", what, strerror(errno));
}

/* The bounding set can be left only while CAP_SETPCAP is there. It counts for
 * programs alone, and none will be started: it is the second lock. */
int sandbox_impl_before(struct err *e)
{
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap) != 0 && errno != EPERM)
            return fail(e, "capabilities");
    return 0;
}

static int drop_capabilities(struct err *e)
{
    struct __user_cap_header_struct head = {.version =
                                                _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

    memset(none, 0, sizeof none);
    if (syscall(SYS_capset, &head, none) != 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return fail(e, "capabilities");
    return 0;
}

int sandbox_impl_after(const char *dir, struct err *e)
{
    if (drop_capabilities(e) != 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail(e, "new privileges");
    if (sandbox_files_restrict(dir, e) != 0)
        return -1;
    return sandbox_filter_load(e);
}

void sandbox_name_process(const char *name)
{
    (void)prctl(PR_SET_NAME, name);
}

/* --- in words ------------------------------------------------------------- */

struct status {
    bool uid_known;
    unsigned long uid;
    unsigned long long caps;
    long new_privs, seccomp;
};

/* source: proc(5), /proc/PID/status */
static bool read_status(pid_t pid, struct status *s)
{
    char path[64], line[256];
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    memset(s, 0, sizeof *s);
    while (fgets(line, sizeof line, f) != NULL) {
        const char *value = line + strcspn(line, ":");

        if (value[0] != ':')
            continue;
        if (strncmp(line, "Uid:", 4) == 0) {
            s->uid = strtoul(value + 1, NULL, 10);
            s->uid_known = true;
        } else if (strncmp(line, "CapEff:", 7) == 0) {
            s->caps = strtoull(value + 1, NULL, 16);
        } else if (strncmp(line, "NoNewPrivs:", 11) == 0) {
            s->new_privs = strtol(value + 1, NULL, 10);
        } else if (strncmp(line, "Seccomp:", 8) == 0) {
            s->seccomp = strtol(value + 1, NULL, 10);
        }
    }
    (void)fclose(f);
    return s->uid_known;
}

static const char *caps_text(unsigned long long caps, char *out, size_t size)
{
    if (caps == 0)
        return "no capabilities";
    if (caps == 1ULL << CAP_NET_RAW)
        return "capability net_raw alone";
    (void)snprintf(out, size, "capabilities %llx", caps);
    return out;
}

const char *sandbox_describe(pid_t pid, char out[SANDBOX_TEXT_SIZE])
{
    const struct passwd *pw;
    struct status s;
    char caps[40], number[24];

    if (!read_status(pid, &s))
        return NULL;
    pw = getpwuid((uid_t)s.uid);
    (void)snprintf(number, sizeof number, "%lu", s.uid);
    (void)snprintf(out, SANDBOX_TEXT_SIZE,
                   "user %s, %s, %s new privileges, system calls %s",
                   pw != NULL ? pw->pw_name : number,
                   caps_text(s.caps, caps, sizeof caps),
                   s.new_privs == 1 ? "no" : "takes",
                   s.seccomp == 2 ? "filtered" : "not filtered");
    return out;
}

#else
typedef int sandbox_linux_is_empty;
#endif
