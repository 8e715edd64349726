#include "agent/engine/service/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/base/mem.h"

#define WAIT_S 20

char *control_path(const char *state_path)
{
    const char *slash = strrchr(state_path, '/');
    int dir = slash != NULL ? (int)(slash - state_path) + 1 : 0;
    char *path = mem_printf("%.*scontrol", dir, state_path);
    struct sockaddr_un a;

    if (strlen(path) < sizeof a.sun_path)
        return path;
    free(path);
    return NULL;
}

static int connect_to(const char *state_path, struct err *e)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const struct timeval wait = {WAIT_S, 0};
    char *path = control_path(state_path);
    int fd;

    if (path == NULL)
        return err_set(e, ERR_NOTFOUND,
                       "the state's path is too long for a "
                       "control socket");
    memcpy(a.sun_path, path, strlen(path) + 1);
    free(path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(e, ERR_RETRY, "control: %s", strerror(errno));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)err_set(e, ERR_NOTFOUND, "control: %s", strerror(errno));
    (void)close(fd);
    return -1;
}

pid_t control_pid(const char *state_path)
{
    struct ucred who = {.pid = 0};
    socklen_t size = sizeof who;
    struct err e;
    int fd = connect_to(state_path, &e);

    if (fd < 0)
        return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        who.pid = 0;
    (void)close(fd);
    return who.pid;
}

static int send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* One line; what does not fit is cut. */
static void receive(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;

    while (len + 1 < size && (n = recv(fd, out + len, size - 1 - len, 0)) > 0)
        len += (size_t)n;
    out[len] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

int control_ask(const char *state_path, const char *request, struct err *e)
{
    static const char failed[] = "error ";
    char answer[ERR_MSG_SIZE];
    int fd = connect_to(state_path, e), rc = 0;

    if (fd < 0)
        return -1;
    if (send_all(fd, request, strlen(request)) != 0 ||
        send_all(fd, "\n", 1) != 0) {
        rc = err_set(e, ERR_RETRY, "the service does not take the request: %s",
                     strerror(errno));
    } else {
        receive(fd, answer, sizeof answer);
        if (strncmp(answer, failed, sizeof failed - 1) == 0)
            rc = err_set(e, ERR_RETRY, "the service says: %s",
                         answer + sizeof failed - 1);
        else if (strcmp(answer, "ok") != 0)
            rc = err_set(e, ERR_RETRY, "the service does not answer");
    }
    (void)close(fd);
    return rc;
}
