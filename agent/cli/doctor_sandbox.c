#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/sandbox.h"
#include "agent/cli/doctor.h"

/* Whether the service can give its rights up on this kernel: a process of ours
 * does it. */

#define TRIAL_MS 5000

/* In the process that gives up its rights: 'y' and what it may do then, or 'n'
 * and why not, to out. */
static void try_it(const struct sandbox_user *u, int out)
{
    char text[SANDBOX_TEXT_SIZE] = "";
    struct err e;
    bool fine = sandbox_enter(u, "/", &e) == 0;
    const char *why = fine ? sandbox_describe(getpid(), text) : e.msg;

    (void)!write(out, fine ? "y" : "n", 1);
    if (why != NULL)
        (void)!write(out, why, strlen(why));
    _exit(0);
}

/* Reads what it said until its end; ends it when it says nothing more.
 * out: text — NUL-terminated, "" where it said nothing */
static void hear(int fd, pid_t pid, char *text, size_t size)
{
    struct pollfd in = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    ssize_t n = 1;

    while (n > 0 && len < size - 1 && poll(&in, 1, TRIAL_MS) == 1) {
        n = read(fd, text + len, size - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    text[len] = '\0';
    if (n > 0)
        (void)kill(pid, SIGKILL);
}

static void tell(struct doctor *d, const char *said, int status)
{
    if (said[0] == 'y')
        doctor_tell(d, DOCTOR_OK, "sandbox", NULL, "the service: %s", said + 1);
    else if (said[0] == 'n')
        doctor_tell(d, DOCTOR_ERROR, "sandbox", NULL,
                    "the service cannot give its rights up, and would not "
                    "start: %s",
                    said + 1);
    else
        doctor_tell(d, DOCTOR_ERROR, "sandbox", NULL,
                    "the service cannot give its rights up, and would not "
                    "start: the trial ended with %s %d",
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status)
                                        : WEXITSTATUS(status));
}

void doctor_sandbox(struct doctor *d)
{
    char said[ERR_MSG_SIZE + SANDBOX_TEXT_SIZE];
    struct sandbox_user u;
    int ends[2], status = 0;
    pid_t pid;

    if (sandbox_user_find(d->cfg->user, &u, NULL) == 0 && pipe(ends) == 0) {
        pid = fork();
        if (pid == 0)
            try_it(&u, ends[1]);
        (void)close(ends[1]);
        said[0] = '\0';
        if (pid > 0) {
            hear(ends[0], pid, said, sizeof said);
            (void)waitpid(pid, &status, 0);
            tell(d, said, status);
        }
        (void)close(ends[0]);
    }
}
