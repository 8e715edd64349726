#include "agent/base/sd_notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"

struct sd_notify {
    int fd; /* -1: nobody listens */
    struct sockaddr_un to;
    socklen_t len;
    int64_t watchdog_ms;
};

/* An absolute path, or "@name": Linux' abstract names. */
static bool take_address(struct sd_notify *n, const char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;

    if (len < 2 || len >= sizeof n->to.sun_path ||
        (path[0] != '/' && path[0] != '@'))
        return false;
    n->to.sun_family = AF_UNIX;
    memcpy(n->to.sun_path, path, len);
    if (path[0] == '@')
        n->to.sun_path[0] = '\0';
    n->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
                         (path[0] == '/'));
    return true;
}

static int64_t watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    long long us = usec != NULL ? strtoll(usec, NULL, 10) : 0;

    if (us <= 0 ||
        (pid != NULL && strtoll(pid, NULL, 10) != (long long)getpid()))
        return 0;
    return us / 2000 > 0 ? us / 2000 : 1;
}

struct sd_notify *sd_notify_new(void)
{
    struct sd_notify *n = mem_alloc(sizeof *n);

    n->fd = -1;
    n->watchdog_ms = watchdog_ms();
    if (take_address(n, getenv("NOTIFY_SOCKET")))
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    return n;
}

void sd_notify_free(struct sd_notify *n)
{
    if (n == NULL)
        return;
    if (n->fd >= 0)
        (void)close(n->fd);
    free(n);
}

void sd_notify_send(const struct sd_notify *n, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int len;

    if (n->fd < 0)
        return;
    va_start(ap, fmt);
    len = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (len <= 0)
        return;
    if ((size_t)len >= sizeof text)
        len = (int)sizeof text - 1;
    (void)sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL,
                 (const struct sockaddr *)&n->to, n->len);
}

void sd_notify_reloading(const struct sd_notify *n)
{
    sd_notify_send(n, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   clock_mono_ns() / 1000);
}

int64_t sd_notify_watchdog_ms(const struct sd_notify *n)
{
    return n->watchdog_ms;
}
