#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/mem.h"
#include "agent/base/proc.h"

#define LIMIT_MS 20000
#define SHORT_MS 1000 /* enough for a shell to start on a busy machine */

struct call {
    unsigned calls;
    bool done;
    struct proc_result result;
    int64_t took_ms;
};

static void on_result(void *arg, const struct proc_result *r)
{
    struct call *c = arg;

    c->calls++;
    c->done = true;
    c->result = *r;
}

static size_t count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    assert_int_equal(closedir(d), 0);
    return n;
}

/* libuv takes a spare descriptor with the first stream of a loop. */
static void warm_up(struct loop *l)
{
    char yes[] = "true", *argv[] = {yes, NULL};
    struct call c = {0};

    proc_run(l, argv, NULL, NULL, 0, LIMIT_MS, on_result, &c);
    assert_true(loop_wait(l, &c.done, clock_mono_ms() + LIMIT_MS));
}

static void run_argv(struct call *c, char *const *argv, const char *dir,
                     const char *input, size_t input_len, int64_t timeout_ms)
{
    struct loop *l = loop_new();
    int64_t from;
    size_t fds;
    bool never = false;

    memset(c, 0, sizeof *c);
    warm_up(l);
    from = clock_mono_ms();
    fds = count_fds();
    proc_run(l, argv, dir, input, input_len, timeout_ms, on_result, c);
    assert_int_equal(c->calls, 0);
    assert_true(loop_wait(l, &c->done, from + LIMIT_MS));
    c->took_ms = clock_mono_ms() - from;
    /* Nothing comes a second time. */
    (void)loop_wait(l, &never, clock_mono_ms() + 5);
    assert_int_equal(c->calls, 1);
    assert_int_equal(count_fds(), fds);
    assert_int_equal(uv_loop_alive(loop_uv(l)), 0);
    loop_free(l);
}

static void run_shell(struct call *c, const char *script, int64_t timeout_ms)
{
    char *copy = mem_strdup(script);
    char sh[] = "/bin/sh", opt[] = "-c";
    char *argv[] = {sh, opt, copy, NULL};

    run_argv(c, argv, NULL, NULL, 0, timeout_ms);
    free(copy);
}

static void test_ok(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c, "echo one; echo two >&2; exit 0", LIMIT_MS);
    assert_true(c.result.started);
    assert_false(c.result.timed_out);
    assert_int_equal(c.result.exit_code, 0);
    assert_int_equal(c.result.signal, 0);
    assert_string_equal(c.result.output, "one\ntwo\n");
    assert_int_equal(c.result.err.code, ERR_NONE);
}

/* The environment of an agent holds the secrets of its providers. */
static void test_environment(void **state)
{
    struct call c;

    (void)state;
    assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "hush", 1), 0);
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    run_shell(&c,
              "echo \"${AWS_SECRET_ACCESS_KEY-none} $LC_ALL $TZ\"; "
              "test -n \"$PATH\"",
              LIMIT_MS);
    assert_int_equal(unsetenv("AWS_SECRET_ACCESS_KEY"), 0);
    assert_int_equal(c.result.exit_code, 0);
    assert_string_equal(c.result.output, "none C UTC\n");
}

static void test_exit_code(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c, "echo first; echo 'zone is bad' >&2; echo; exit 7", LIMIT_MS);
    assert_int_equal(c.result.exit_code, 7);
    assert_int_equal(c.result.err.code, ERR_RETRY);
    assert_string_equal(c.result.err.msg, "/bin/sh: exit code 7: zone is bad");
    run_shell(&c, "exit 3", LIMIT_MS);
    assert_string_equal(c.result.err.msg, "/bin/sh: exit code 3");
}

static void test_signal(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c, "kill -9 $$", LIMIT_MS);
    assert_int_equal(c.result.exit_code, -1);
    assert_int_equal(c.result.signal, SIGKILL);
    assert_int_equal(c.result.err.code, ERR_RETRY);
    assert_string_equal(c.result.err.msg,
                        "/bin/sh: ended by signal 9 (Killed)");
}

static void test_not_found(void **state)
{
    char no[] = "/nowhere/no-such-command", bare[] = "no-such-command-at-all";
    char dir[] = "/", *argv[] = {no, NULL};
    struct call c;

    (void)state;
    run_argv(&c, argv, NULL, NULL, 0, LIMIT_MS);
    assert_false(c.result.started);
    assert_int_equal(c.result.exit_code, -1);
    assert_int_equal(c.result.err.code, ERR_LOCAL);
    assert_string_equal(c.result.err.msg,
                        "/nowhere/no-such-command: not run: no such command");
    argv[0] = bare;
    run_argv(&c, argv, NULL, "input", 5, LIMIT_MS);
    assert_false(c.result.started);
    assert_string_equal(c.result.err.msg,
                        "no-such-command-at-all: not run: no such command");
    argv[0] = dir;
    run_argv(&c, argv, NULL, NULL, 0, LIMIT_MS);
    assert_string_equal(c.result.err.msg, "/: not run: permission denied");
}

static void test_directory(void **state)
{
    char pwd[] = "pwd", *argv[] = {pwd, NULL};
    struct call c;

    (void)state;
    run_argv(&c, argv, "/usr", NULL, 0, LIMIT_MS);
    assert_string_equal(c.result.output, "/usr\n");
    run_argv(&c, argv, "/nowhere", NULL, 0, LIMIT_MS);
    assert_false(c.result.started);
    assert_string_equal(c.result.err.msg, "pwd: not run: directory /nowhere: "
                                          "No such file or directory");
}

static void test_input(void **state)
{
    char cat[] = "cat", wc[] = "wc", opt[] = "-c", yes[] = "true";
    char *argv[] = {cat, NULL}, *count[] = {wc, opt, NULL},
         *deaf[] = {yes, NULL};
    const size_t big = 3 * 1024 * 1024;
    char *text = mem_alloc(big);
    struct call c;

    (void)state;
    run_argv(&c, argv, NULL, "a\nb\n", 4, LIMIT_MS);
    assert_string_equal(c.result.output, "a\nb\n");
    run_argv(&c, argv, NULL, "", 0, LIMIT_MS);
    assert_string_equal(c.result.output, "");
    assert_int_equal(c.result.exit_code, 0);
    run_argv(&c, argv, NULL, NULL, 0, LIMIT_MS);
    assert_string_equal(c.result.output, "");
    memset(text, 'x', big);
    run_argv(&c, count, NULL, text, big, LIMIT_MS);
    assert_string_equal(c.result.output, "3145728\n");
    /* Not reading it is no error, and does not hang. */
    run_argv(&c, deaf, NULL, text, big, LIMIT_MS);
    assert_int_equal(c.result.exit_code, 0);
    free(text);
}

static void test_output_limit(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c,
              "i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); "
              "done; exit 1",
              LIMIT_MS);
    assert_int_equal(strlen(c.result.output), PROC_OUTPUT_MAX);
    assert_int_equal(strncmp(c.result.output, "line-0\nline-1\n", 14), 0);
    assert_string_equal(c.result.err.msg, "/bin/sh: exit code 1: line-2999");
    /* Control characters do not reach the error. */
    run_shell(&c, "printf 'a\\033[31mb'; exit 1", LIMIT_MS);
    assert_string_equal(c.result.err.msg, "/bin/sh: exit code 1: a?[31mb");
}

static void test_endless_output(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c, "exec yes", SHORT_MS);
    assert_true(c.result.timed_out);
    assert_int_equal(strlen(c.result.output), PROC_OUTPUT_MAX);
}

static void test_timeout(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c, "echo begun; exec sleep 60", SHORT_MS);
    assert_true(c.result.started);
    assert_true(c.result.timed_out);
    assert_int_equal(c.result.exit_code, -1);
    assert_int_equal(c.result.signal, SIGTERM);
    assert_int_equal(c.result.err.code, ERR_RETRY);
    assert_string_equal(c.result.err.msg,
                        "/bin/sh: ended after its time limit of 1s: begun");
    assert_true(c.took_ms >= SHORT_MS - 5);
    /* Ending cleanly at SIGTERM is a time-out all the same. */
    run_shell(&c, "trap 'exit 0' TERM; sleep 60 & wait", SHORT_MS);
    assert_true(c.result.timed_out);
    assert_int_equal(c.result.exit_code, -1);
    assert_int_not_equal(c.result.err.code, ERR_NONE);
}

static pid_t pid_of(const char *text)
{
    long pid = strtol(text, NULL, 10);

    assert_true(pid > 1);
    return (pid_t)pid;
}

/* Whether a process lives; one that ended but was not waited for by whoever
 * inherited it counts as ended. */
static bool lives(const char *text)
{
    char path[64], stat[512], *paren;
    ssize_t n;
    int fd;

    assert_true(strspn(text, "0123456789") > 0);
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", strtol(text, NULL, 10));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, stat, sizeof stat - 1);
    assert_int_equal(close(fd), 0);
    if (n <= 0)
        return false;
    stat[n] = '\0';
    paren = strrchr(stat, ')');
    return paren != NULL && paren[2] != 'Z' && paren[2] != 'X';
}

static void wait_gone(const char *pid)
{
    int64_t until = clock_mono_ms() + LIMIT_MS;

    while (lives(pid)) {
        assert_true(clock_mono_ms() < until);
        (void)usleep(1000);
    }
}

static void end_process(const char *pid)
{
    if (lives(pid))
        assert_int_equal(kill(pid_of(pid), SIGKILL), 0);
    wait_gone(pid);
}

static void test_group_killed(void **state)
{
    struct call c;

    (void)state;
    /* Leader and child both ignore SIGTERM. */
    run_shell(&c, "trap '' TERM; sleep 60 & echo $!; wait; wait", SHORT_MS);
    assert_true(c.result.timed_out);
    assert_int_equal(c.result.signal, SIGKILL);
    assert_true(c.took_ms >= SHORT_MS + 990);
    wait_gone(c.result.output);
    /* The leader ends at SIGTERM, its child does not. */
    run_shell(&c, "trap '' TERM; sleep 60 & trap - TERM; echo $!; wait",
              SHORT_MS);
    assert_true(c.result.timed_out);
    assert_true(c.took_ms >= SHORT_MS + 990);
    wait_gone(c.result.output);
}

static void test_grandchild_keeps_pipe(void **state)
{
    struct call c;

    (void)state;
    run_shell(&c, "sleep 60 & echo $!; exit 0", LIMIT_MS);
    assert_int_equal(c.result.exit_code, 0);
    assert_int_equal(c.result.err.code, ERR_NONE);
    assert_true(c.took_ms < 10000);
    assert_true(lives(c.result.output));
    end_process(c.result.output);
    /* Out of the group, and the time limit has passed. */
    run_shell(&c, "setsid sleep 60 & echo $!; wait", SHORT_MS);
    assert_true(c.result.timed_out);
    assert_true(c.took_ms < 10000);
    end_process(c.result.output);
}

/* What the test program itself inherited is not the agent's. */
static void close_inherited_on_exec(void)
{
    DIR *d = opendir("/proc/self/fd");
    const struct dirent *entry;

    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);

        if (fd > 2)
            assert_int_equal(fcntl((int)fd, F_SETFD, FD_CLOEXEC), 0);
    }
    assert_int_equal(closedir(d), 0);
}

static void test_child_descriptors(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct call c;

    (void)state;
    assert_true(fd >= 0);
    close_inherited_on_exec();
    run_shell(&c, "for i in /proc/self/fd/*; do echo ${i##*/}; done", LIMIT_MS);
    /* The shell itself may hold the directory while it lists it. */
    assert_int_equal(strncmp(c.result.output, "0\n1\n2\n", 6), 0);
    assert_true(strlen(c.result.output) <= 10);
    assert_int_equal(close(fd), 0);
    /* A session of its own: no terminal to write to or be stopped by. */
    run_shell(&c, "set -- $(cat /proc/$$/stat); [ $5 = $$ ] && [ $6 = $$ ]",
              LIMIT_MS);
    assert_int_equal(c.result.exit_code, 0);
    /* SIGPIPE is ignored by us, but not by them. */
    run_shell(&c, "(yes; echo $? >&2) | head -n 1 >/dev/null", LIMIT_MS);
    assert_string_equal(c.result.output, "141\n");
}

static void test_no_descriptors_left(void **state)
{
    char yes[] = "true", *argv[] = {yes, NULL};
    struct rlimit old, low;
    struct loop *l = loop_new();
    struct call c;

    (void)state;
    memset(&c, 0, sizeof c);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    proc_run(l, argv, NULL, "x", 1, LIMIT_MS, on_result, &c);
    assert_int_equal(c.calls, 0);
    (void)loop_wait(l, &c.done, clock_mono_ms() + LIMIT_MS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(c.calls, 1);
    assert_false(c.result.started);
    assert_int_equal(c.result.err.code, ERR_LOCAL);
    assert_string_equal(c.result.err.msg, "true: not run: too many open files");
    loop_free(l);
}

static void test_many_at_once(void **state)
{
    enum { N = 40 };
    char sh[] = "/bin/sh", opt[] = "-c";
    char script[] = "read n; echo got $n; exit $n";
    char *argv[] = {sh, opt, script, NULL}, in[16], want[16];
    struct loop *l = loop_new();
    struct call c[N];
    size_t fds;

    (void)state;
    warm_up(l);
    fds = count_fds();
    memset(c, 0, sizeof c);
    for (int i = 0; i < N; i++) {
        int n = snprintf(in, sizeof in, "%d\n", i);

        proc_run(l, argv, NULL, in, (size_t)n, LIMIT_MS, on_result, &c[i]);
    }
    for (int i = 0; i < N; i++) {
        assert_true(loop_wait(l, &c[i].done, clock_mono_ms() + LIMIT_MS));
        (void)snprintf(want, sizeof want, "got %d\n", i);
        assert_string_equal(c[i].result.output, want);
        assert_int_equal(c[i].result.exit_code, i);
    }
    for (int i = 0; i < N; i++)
        assert_int_equal(c[i].calls, 1);
    assert_int_equal(count_fds(), fds);
    loop_free(l);
}

static const char *const keys[] = {"zone", "file"};
static const char *const values[] = {"example.org", "/tmp/a b'c\".zone"};

static void expect_words(const char *command, const char *const *want)
{
    struct err e = {0};
    char **argv;
    size_t n = 0;

    assert_int_equal(proc_split(command, keys, values, 2, &argv, &e), 0);
    for (; want[n] != NULL; n++) {
        assert_non_null(argv[n]);
        assert_string_equal(argv[n], want[n]);
    }
    assert_null(argv[n]);
    proc_argv_free(argv);
}

static void test_split(void **state)
{
    (void)state;
    expect_words(" a  b\tc\n", (const char *const[]){"a", "b", "c", NULL});
    expect_words("a 'b c' \"d 'e\"f '' g\"\"",
                 (const char *const[]){"a", "b c", "d 'ef", "", "g", NULL});
    expect_words("check {zone} x={file}.new",
                 (const char *const[]){"check", "example.org",
                                       "x=/tmp/a b'c\".zone.new", NULL});
    expect_words(
        "\"{file}\" '{zone}'",
        (const char *const[]){"/tmp/a b'c\".zone", "example.org", NULL});
    expect_words("awk '{print $1}' {} {a b} { }",
                 (const char *const[]){"awk", "{print $1}", "{}", "{a", "b}",
                                       "{", "}", NULL});
    expect_words("a;b | c $(d) \\e",
                 (const char *const[]){"a;b", "|", "c", "$(d)", "\\e", NULL});
}

static void test_split_many(void **state)
{
    char text[2 * 1025 + 1], **argv;
    struct err e = {0};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof text - 1; i += 2) {
        text[i] = 'w';
        text[i + 1] = ' ';
    }
    text[sizeof text - 1] = '\0';
    assert_int_equal(proc_split(text, NULL, NULL, 0, &argv, &e), -1);
    assert_non_null(strstr(e.msg, "more than 1024 words"));
    text[2 * 1024] = '\0';
    assert_int_equal(proc_split(text, NULL, NULL, 0, &argv, &e), 0);
    while (argv[n] != NULL)
        n++;
    assert_int_equal(n, 1024);
    proc_argv_free(argv);
}

static void expect_split_error(const char *command, size_t nvars,
                               const char *want)
{
    struct err e = {0};
    char **argv;

    assert_int_equal(proc_split(command, keys, values, nvars, &argv, &e), -1);
    assert_null(argv);
    assert_int_equal(e.code, ERR_INPUT);
    assert_string_equal(e.msg, want);
}

static void test_split_errors(void **state)
{
    (void)state;
    expect_split_error("", 2, "command \"\": no command");
    expect_split_error(" \t", 2, "command \" ?\": no command");
    expect_split_error("'' a", 2, "command \"'' a\": no command");
    expect_split_error("a 'b", 2,
                       "command \"a 'b\": the quote ' is not closed");
    expect_split_error("a \"b", 2,
                       "command \"a \"b\": the quote \" is not closed");
    expect_split_error(
        "a {Zone}", 2,
        "command \"a {Zone}\": unknown {Zone}; accepted: {zone}, {file}");
    expect_split_error("a {zone}", 0,
                       "command \"a {zone}\": unknown {zone}; accepted: none "
                       "here");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ok),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_exit_code),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_output_limit),
        cmocka_unit_test(test_endless_output),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_group_killed),
        cmocka_unit_test(test_grandchild_keeps_pipe),
        cmocka_unit_test(test_child_descriptors),
        cmocka_unit_test(test_no_descriptors_left),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_many),
        cmocka_unit_test(test_split_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
