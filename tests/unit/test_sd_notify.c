#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/base/mem.h"
#include "agent/base/sd_notify.h"

/* What the manager is told, over a socket of the test's own. */

static int manager(struct sockaddr_un *a, const char *dir, bool is_abstract)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t len;

    assert_true(fd >= 0);
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    (void)snprintf(a->sun_path, sizeof a->sun_path, "%s%s/%d.notify",
                   is_abstract ? "@" : "", dir, (int)getpid());
    len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                      strlen(a->sun_path) + !is_abstract);
    assert_int_equal(setenv("NOTIFY_SOCKET", a->sun_path, 1), 0);
    if (is_abstract)
        a->sun_path[0] = '\0';
    assert_int_equal(bind(fd, (struct sockaddr *)a, len), 0);
    return fd;
}

static void expect(int fd, const char *text)
{
    char got[1024];
    ssize_t n = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);

    assert_true(n >= 0);
    got[n] = '\0';
    assert_string_equal(got, text);
}

static void speaks(bool is_abstract)
{
    char dir[] = "/tmp/df-notify-XXXXXX", got[256];
    struct sockaddr_un a;
    struct sd_notify *n;
    ssize_t len;
    int fd;

    assert_non_null(mkdtemp(dir));
    fd = manager(&a, dir, is_abstract);
    n = sd_notify_new();
    assert_null(getenv("NOTIFY_SOCKET"));
    sd_notify_send(n, "READY=1\nSTATUS=%d zones", 3);
    expect(fd, "READY=1\nSTATUS=3 zones");
    sd_notify_reloading(n);
    len = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
    assert_true(len > 0);
    got[len] = '\0';
    assert_non_null(strstr(got, "RELOADING=1\nMONOTONIC_USEC="));
    sd_notify_free(n);
    (void)close(fd);
    if (!is_abstract)
        (void)unlink(a.sun_path);
    (void)rmdir(dir);
}

static void test_path(void **s)
{
    (void)s;
    speaks(false);
}

static void test_abstract(void **s)
{
    (void)s;
    speaks(true);
}

static void test_nobody(void **s)
{
    static const char *const bad[] = {"", "x", "relative", "/", NULL};
    char path[300];

    (void)s;
    for (size_t i = 0; bad[i] != NULL; i++) {
        struct sd_notify *n;

        assert_int_equal(setenv("NOTIFY_SOCKET", bad[i], 1), 0);
        n = sd_notify_new();
        sd_notify_send(n, "READY=1");
        sd_notify_free(n);
    }
    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
    sd_notify_free(sd_notify_new());
    sd_notify_free(NULL);
}

static int64_t watchdog(const char *usec, const char *pid)
{
    struct sd_notify *n;
    int64_t ms;

    if (usec != NULL)
        assert_int_equal(setenv("WATCHDOG_USEC", usec, 1), 0);
    if (pid != NULL)
        assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
    n = sd_notify_new();
    ms = sd_notify_watchdog_ms(n);
    sd_notify_free(n);
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    return ms;
}

static void test_watchdog(void **s)
{
    char *me = mem_printf("%d", (int)getpid());

    (void)s;
    assert_int_equal(watchdog(NULL, NULL), 0);
    assert_int_equal(watchdog("30000000", NULL), 15000);
    assert_int_equal(watchdog("30000000", me), 15000);
    assert_int_equal(watchdog("30000000", "1"), 0);
    assert_int_equal(watchdog("1", NULL), 1);
    assert_int_equal(watchdog("-5", NULL), 0);
    assert_int_equal(watchdog("nonsense", NULL), 0);
    free(me);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_abstract),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_watchdog),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
