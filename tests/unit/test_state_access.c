#include "tests/unit/state_room.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The state on a full disk, and its readers. */

#define NOBODY 65534

/* Runs fn in a child; what it returns is its exit status. */
typedef int child_fn(const struct room *r);
static int in_child(child_fn *fn, const struct room *r)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fn(r));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* --- a full disk ------------------------------------------------------------
 */

static void fill_disk(const struct room *r, const char *name)
{
    char *path = mem_printf("%s/%s", r->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char block[512];
    ssize_t n;

    memset(block, 1, sizeof block);
    do
        n = write(fd, block, sizeof block);
    while (n > 0);
    (void)close(fd);
    free(path);
}

/* A tmpfs of its own that only this process sees. */
static int own_disk(const struct room *r)
{
    return unshare(CLONE_NEWNS) != 0 ||
                   mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                   mount("none", r->dir, "tmpfs", 0, "size=512k") != 0
               ? -1
               : 0;
}

/* returns 0, 77 where it cannot be tried, or the line that failed */
#define NEED(what)                                                             \
    do {                                                                       \
        if (!(what)) {                                                         \
            (void)fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what);   \
            return 1;                                                          \
        }                                                                      \
    } while (0)

static int full_while_open(const struct room *r)
{
    struct state *s;
    struct err e = {ERR_NONE, ""};

    if (own_disk(r) != 0)
        return 77;
    room_save_mark(r, 1);
    s = room_state(r);
    fill_disk(r, "filler");
    room_fill(s, 2);
    NEED(state_save(s, &e) == -1);
    NEED(e.code != ERR_NONE && e.msg[0] != '\0');
    state_close(s);
    NEED(unlink(mem_printf("%s/filler", r->dir)) == 0);
    NEED(room_load_mark(r, false) == 1);
    return 0;
}

static int full_at_open(const struct room *r)
{
    struct state *s = NULL;
    struct err e = {ERR_NONE, ""};

    if (own_disk(r) != 0)
        return 77;
    room_save_mark(r, 1);
    fill_disk(r, "filler");
    NEED(state_open(r->path, false, &s, &e) == 0);
    room_fill(s, 2);
    NEED(state_save(s, &e) == -1 || state_is_lost(s));
    state_close(s);
    NEED(room_files(r, "state.db.damaged") == 0);
    NEED(unlink(mem_printf("%s/filler", r->dir)) == 0);
    NEED(room_load_mark(r, false) == 1);
    return 0;
}

static int full_at_first(const struct room *r)
{
    struct state *s = NULL;
    struct err e = {ERR_NONE, ""};

    if (own_disk(r) != 0)
        return 77;
    fill_disk(r, "filler");
    NEED(state_open(r->path, false, &s, &e) == 0);
    NEED(state_is_lost(s));
    room_fill(s, 2);
    NEED(state_save(s, &e) == 0);
    state_close(s);
    return 0;
}

static void test_full_disk(void **state)
{
    static child_fn *const cases[] = {full_while_open, full_at_open,
                                      full_at_first};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct room r;
        int rc;

        room_open(&r);
        rc = in_child(cases[i], &r);
        room_close(&r);
        if (rc == 77) {
            print_message("no mount namespace of our own here\n");
            skip();
        }
        assert_int_equal(rc, 0);
    }
}

/* --- readers ----------------------------------------------------------------
 */

static int open_reader(const struct room *r, struct state **s, struct err *e)
{
    e->code = ERR_NONE;
    return state_open(r->path, true, s, e);
}

static void test_reader_of_nothing(void **state)
{
    struct room r;
    struct state *s;
    struct err e;

    (void)state;
    room_open(&r);
    assert_int_equal(open_reader(&r, &s, &e), -1);
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_int_equal(room_files(&r, "state"), 0);
    room_write(r.path, "<html>", 6);
    assert_int_equal(open_reader(&r, &s, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
    assert_int_equal(room_files(&r, "state"), 1); /* a reader moves nothing */
    room_close(&r);
}

static void test_reader_beside_writer(void **state)
{
    struct room r;
    struct state *w, *s;
    struct err e;

    (void)state;
    room_open(&r);
    w = room_state(&r);
    room_mark(w, 5);
    room_save(w);
    assert_int_equal(open_reader(&r, &s, &e), 0);
    assert_int_equal(room_marked(s), 5);
    room_mark(w, 6);
    room_save(w);
    state_close(s);
    assert_int_equal(open_reader(&r, &s, &e), 0);
    assert_int_equal(room_marked(s), 6);
    state_close(w);
    state_close(s);
    room_close(&r);
}

static int read_as_nobody(const struct room *r)
{
    struct state *s = NULL;
    struct err e = {ERR_NONE, ""};

    NEED(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    if (open_reader(r, &s, &e) != 0) {
        (void)fprintf(stderr, "%s\n", e.msg);
        return e.code == ERR_INPUT && strstr(e.msg, "root") != NULL ? 2 : 3;
    }
    NEED(room_marked(s) == 7);
    state_close(s);
    return 0;
}

static int write_as_nobody(const struct room *r)
{
    struct state *s = NULL;
    struct err e = {ERR_NONE, ""};

    NEED(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    NEED(state_open(r->path, false, &s, &e) == -1);
    NEED(e.code == ERR_INPUT && strstr(e.msg, "belongs to root") != NULL);
    return 0;
}

static void test_nobody(void **state)
{
    struct room r;

    (void)state;
    if (geteuid() != 0) {
        print_message("needs root\n");
        skip();
    }
    room_open(&r);
    room_save_mark(&r, 7);
    assert_int_equal(chmod(r.dir, 0755), 0);
    assert_int_equal(in_child(read_as_nobody, &r), 2);
    assert_int_equal(in_child(write_as_nobody, &r), 0);
    assert_int_equal(chmod(r.path, 0644), 0);
    assert_int_equal(in_child(read_as_nobody, &r), 0);
    assert_int_equal(room_files(&r, "state.db-"), 0);
    room_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_reader_of_nothing),
        cmocka_unit_test(test_reader_beside_writer),
        cmocka_unit_test(test_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
