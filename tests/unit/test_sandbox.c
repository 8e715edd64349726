#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/base/http.h"
#include "agent/base/loop.h"
#include "agent/base/sandbox.h"

/* What a process can still do in the sandbox; each trial is a process. */

#define CANNOT_ENTER 97

typedef int trial(void); /* returns its exit code */

/* returns what waitpid says of it */
static int in_sandbox_of(const char *name, const char *dir, trial *t)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct sandbox_user u;
        struct err e;

        if (sandbox_user_find(name, &u, &e) != 0 || chdir(dir) != 0 ||
            sandbox_enter(&u, dir, &e) != 0)
            _exit(CANNOT_ENTER);
        _exit(t());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int in_sandbox(trial *t)
{
    return in_sandbox_of(geteuid() == 0 ? "nobody" : NULL, "/", t);
}

static void works(trial *t)
{
    int status = in_sandbox(t);

    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#ifdef __SANITIZE_ADDRESS__
#define NEEDS_FILTER() skip() /* the sanitizer's build has none */
#else
#define NEEDS_FILTER() (void)0
#endif

static void kills(trial *t)
{
    int status = in_sandbox(t);

    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* --- what ends it ----------------------------------------------------------
 */

static int starts_a_program(void)
{
    char *const argv[] = {(char *)(uintptr_t) "true", NULL};

    (void)execv("/bin/true", argv);
    return 1;
}

static int makes_a_process(void)
{
    return fork() == 0 ? 0 : 1;
}

static int makes_a_process_its_own_way(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0 ? 0 : 1;
}

static int traces(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1;
}

static void test_what_ends_it(void **state)
{
    (void)state;
    NEEDS_FILTER();
    kills(starts_a_program);
    kills(makes_a_process);
    kills(makes_a_process_its_own_way);
    kills(traces);
}

/* --- what fails -------------------------------------------------------------
 */

#define FAILS_WITH(call, error) ((call) == -1 && errno == (error))

static int refused(void)
{
    int pair[2];

    if (!FAILS_WITH(socket(AF_PACKET, SOCK_RAW, 0), ENOSYS) ||
        !FAILS_WITH(socket(AF_VSOCK, SOCK_STREAM, 0), ENOSYS) ||
        !FAILS_WITH(kill(getppid(), 0), ENOSYS) ||
        !FAILS_WITH(setuid(0), ENOSYS) ||
        !FAILS_WITH(syscall(SYS_io_uring_setup, 8, NULL), ENOSYS) ||
        !FAILS_WITH(syscall(SYS_clone3, NULL, 0), ENOSYS) ||
        !FAILS_WITH(chown("/tmp", 0, 0), ENOSYS) ||
        !FAILS_WITH(symlink("/tmp", "/tmp/df-none"), ENOSYS) ||
        !FAILS_WITH(link("/etc/passwd", "/tmp/df-none"), ENOSYS))
        return 1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
        !FAILS_WITH(ioctl(pair[0], TIOCSTI, "x"), ENOSYS))
        return 2;
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        return 3;
    return 0;
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    NEEDS_FILTER();
    works(refused);
}

static int rights(void)
{
    if (open("/etc/passwd", O_WRONLY | O_CLOEXEC) != -1)
        return 1;
    if (open("/etc/shadow", O_RDONLY | O_CLOEXEC) != -1)
        return 2;
    if (socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) != -1)
        return 3;
    return geteuid() == 0;
}

static void test_what_the_user_may_not(void **state)
{
    (void)state;
    works(rights);
}

/* --- files ------------------------------------------------------------------
 */

/* In the directory that it may write to. */
static int writes(void)
{
    static const char elsewhere[] = "/tmp/df-sandbox-elsewhere";
    int fd = open("here", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, "x", 1) != 1 || rename("here", "there") != 0 ||
        open("there", O_WRONLY | O_TRUNC | O_CLOEXEC) < 0 ||
        unlink("there") != 0)
        return 1;
    /* Whoever the user is, and whatever the modes there say. */
    if (open(elsewhere, O_CREAT | O_RDWR | O_CLOEXEC, 0600) >= 0)
        return 2;
    if (mkdir(elsewhere, 0700) == 0)
        return 3;
    if (open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0)
        return 4;
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? 5 : 0;
}

/* Debian's kernels have it; others may not. */
static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
}

static void test_files(void **state)
{
    char dir[] = "/tmp/df-sandbox-XXXXXX";
    int as_user, as_self;

    (void)state;
    if (!has_landlock())
        skip();
    assert_non_null(mkdtemp(dir));
    as_self = in_sandbox_of(NULL, dir, writes);
    if (geteuid() == 0)
        assert_int_equal(chown(dir, 65534, 65534), 0);
    as_user = in_sandbox_of(geteuid() == 0 ? "nobody" : NULL, dir, writes);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(WEXITSTATUS(as_self), 0);
    assert_true(WIFEXITED(as_self));
    assert_int_equal(WEXITSTATUS(as_user), 0);
    assert_true(WIFEXITED(as_user));
}

/* --- what works -------------------------------------------------------------
 */

static void *thread(void *arg)
{
    return arg;
}

static int threads(void)
{
    pthread_t t;
    int x;
    void *got = NULL;

    if (pthread_create(&t, NULL, thread, &x) != 0 || pthread_join(t, &got) != 0)
        return 1;
    return got != &x;
}

static int names(void)
{
    struct addrinfo *list = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

    if (getaddrinfo("localhost", "80", &hints, &list) != 0)
        return 1;
    freeaddrinfo(list);
    return 0;
}

static int aborts(void)
{
    (void)raise(SIGUSR1); /* to ourselves: not refused */
    return 1;
}

struct answer {
    bool done;
    enum err_code code;
};

static void on_answer(void *arg, const struct http_response *r)
{
    struct answer *a = arg;

    a->done = true;
    a->code = r->err.code;
}

/* libcurl looks a name up in a thread of its own. */
static int calls(void)
{
    struct loop *l = loop_new();
    struct http *h = http_new(l);
    struct http_request req = {.url = "https://localhost:1/",
                               .timeout_ms = 20000};
    struct answer a = {false, ERR_NONE};

    http_send(h, &req, on_answer, &a);
    (void)loop_wait(l, &a.done, INT64_MAX / 2);
    http_free(h);
    loop_free(l);
    return a.code != ERR_RETRY; /* refused, and not something else */
}

static void test_what_works(void **state)
{
    int status;

    (void)state;
    works(threads);
    works(names);
    works(calls);
    status = in_sandbox(aborts);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGUSR1);
}

/* --- users ------------------------------------------------------------------
 */

static void test_users(void **state)
{
    struct sandbox_user u;
    struct err e;

    (void)state;
    assert_int_equal(sandbox_user_find("no-such-user", &u, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
    assert_non_null(strstr(e.msg, "useradd --system"));
    assert_int_equal(sandbox_user_find("root", &u, &e), -1);
    assert_non_null(strstr(e.msg, "is root"));
    if (geteuid() == 0) {
        assert_int_equal(sandbox_user_find("nobody", &u, &e), 0);
        assert_true(u.becomes);
        assert_false(u.is_root);
    } else {
        assert_int_equal(sandbox_user_find(NULL, &u, &e), 0);
        assert_false(u.becomes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_ends_it),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_what_the_user_may_not),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_what_works),
        cmocka_unit_test(test_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
