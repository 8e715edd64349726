#include "tests/unit/state_room.h"
#include "tests/unit/state_count.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* Opening the state: lock, damage, sudden death. Full disks and readers are
 * in test_state_access.c. */

#define KILLS 200

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

/* --- making, locking -------------------------------------------------------
 */

static void test_made_private(void **state)
{
    struct room r, below;
    mode_t old;

    (void)state;
    room_open(&r);
    (void)snprintf(below.dir, sizeof below.dir, "%.50s/new", r.dir);
    (void)snprintf(below.path, sizeof below.path, "%s/state.db", below.dir);
    old = umask(0);
    room_save_mark(&below, 1);
    assert_int_equal(umask(old), 0);
    assert_int_equal(mode_of(below.dir), 0700);
    assert_int_equal(mode_of(below.path), 0600);
    assert_int_equal(room_load_mark(&below, false), 1);
    room_close(&below);
    room_close(&r);
}

static void expect_busy(const struct room *r)
{
    struct state *s = NULL;
    struct err e = {ERR_NONE, ""};

    assert_int_equal(state_open(r->path, false, &s, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    assert_null(s);
    assert_non_null(strstr(e.msg, "state.db.lock"));
}

static void test_lock(void **state)
{
    struct room r;
    struct state *s;
    char *pid_file;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    expect_busy(&r);
    expect_busy(&r);
    room_mark(s, 1);
    room_save(s);
    state_close(s);
    /* Neither a lock file without holder nor a pid file of a living process
     * keeps anybody out. */
    assert_int_equal(room_files(&r, "state.db.lock"), 1);
    pid_file = mem_printf("%s/state.db.pid", r.dir);
    room_write(pid_file, "1\n", 2);
    free(pid_file);
    assert_int_equal(room_load_mark(&r, false), 1);
    room_close(&r);
}

/* A holder that is killed leaves no lock behind. */
static void test_killed_holder(void **state)
{
    struct room r;
    int ready[2], status;
    char c = 0;
    pid_t pid;

    (void)state;
    room_open(&r);
    room_save_mark(&r, 3);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct state *s = NULL;
        struct err e;

        if (state_open(r.path, false, &s, &e) != 0 ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    expect_busy(&r);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(room_load_mark(&r, false), 3);
    (void)close(ready[0]);
    (void)close(ready[1]);
    room_close(&r);
}

/* --- damage ----------------------------------------------------------------
 */

/* With the file as it lies there: set aside, once, and never in the way. */
static void expect_set_aside(const struct room *r)
{
    struct state *s;
    struct stat before, after;
    char *aside = mem_printf("%s.damaged", r->path);

    assert_int_equal(stat(r->path, &before), 0);
    s = room_state(r);
    assert_true(state_is_lost(s));
    assert_int_equal(count_checks(s), 0);
    assert_int_equal(stat(aside, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    room_mark(s, 4);
    room_save(s);
    state_close(s);
    assert_int_equal(room_load_mark(r, false), 4);
    assert_int_equal(room_files(r, "state.db.damaged"), 1);
    free(aside);
}

static void test_damaged(void **state)
{
    static const char nuls[512] = {0};
    static const char page[] = "<html><body>502 Bad Gateway";
    static const char cut[] = "SQLite format 3\0\x10\0\x01\x01";
    struct room r;

    (void)state;
    room_open(&r);
    room_write(r.path, "", 0);
    expect_set_aside(&r);
    room_write(r.path, nuls, sizeof nuls);
    expect_set_aside(&r);
    room_write(r.path, page, strlen(page));
    expect_set_aside(&r);
    room_write(r.path, cut, sizeof cut);
    expect_set_aside(&r);
    room_close(&r);
}

/* Ours, with tables that this version cannot read. */
static void test_other_tables(void **state)
{
    struct room r;

    (void)state;
    room_open(&r);
    room_sql(&r, "PRAGMA application_id=1684956006;"
                 "CREATE TABLE checks(id INT); INSERT INTO checks VALUES(1)");
    expect_set_aside(&r);
    room_close(&r);
}

/* Another program's database is neither used nor moved. */
static void test_other_program(void **state)
{
    struct state *s = NULL;
    struct room r;
    struct err e;

    (void)state;
    room_open(&r);
    room_sql(&r, "CREATE TABLE checks(id INT); INSERT INTO checks VALUES(1)");
    assert_int_equal(state_open(r.path, false, &s, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_non_null(strstr(e.msg, "the database of another program"));
    assert_int_equal(room_files(&r, "state.db.damaged"), 0);
    room_close(&r);
}

/* A good database of several pages, with a long history. */
static void good_file(const struct room *r)
{
    const struct state_event ev = {INT64_MAX,   "z.",        "www.z.",  "A",
                                   "192.0.2.1", "withdrawn", "a reason"};
    struct state *s = room_state(r);

    room_fill(s, 1);
    for (int i = 0; i < 1000; i++)
        state_event_add(s, &ev);
    room_save(s);
    state_close(s);
    assert_int_equal(room_files(r, "state.db-wal"), 0);
}

static void test_cut_database(void **state)
{
    static const int eighths[] = {1, 2, 4, 6, 7};
    struct room r;
    struct stat st;

    (void)state;
    for (size_t i = 0; i < sizeof eighths / sizeof eighths[0]; i++) {
        room_open(&r);
        good_file(&r);
        assert_int_equal(stat(r.path, &st), 0);
        assert_int_equal(truncate(r.path, st.st_size * eighths[i] / 8), 0);
        expect_set_aside(&r);
        room_close(&r);
    }
}

/* A page of rubbish anywhere, also where only the history lies. */
static void test_rubbish_inside(void **state)
{
    struct room r;
    struct stat st;
    char rubbish[4096];

    (void)state;
    memset(rubbish, 0x5a, sizeof rubbish);
    for (off_t page = 1;; page += 5) {
        int fd;

        room_open(&r);
        good_file(&r);
        assert_int_equal(stat(r.path, &st), 0);
        if ((page + 1) * 4096 > st.st_size) {
            room_close(&r);
            break;
        }
        fd = open(r.path, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, rubbish, sizeof rubbish, page * 4096),
                         sizeof rubbish);
        (void)close(fd);
        expect_set_aside(&r);
        room_close(&r);
    }
}

static void test_shared_cases(void **state)
{
    static const char *const names[] = {"empty", "cut", "html", "nuls"};
    const char *base = getenv("DNSFAILOVER_SHARED");
    struct room r;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *from = mem_printf("%s/cases/files/state/s3-%s.state",
                                base != NULL ? base : "../shared", names[i]);
        FILE *f = fopen(from, "re");
        char data[4096];
        size_t n;

        free(from);
        if (f == NULL) {
            print_message("the shared cases are not here\n");
            skip();
        }
        n = fread(data, 1, sizeof data, f);
        (void)fclose(f);
        room_open(&r);
        room_write(r.path, data, n);
        expect_set_aside(&r);
        room_close(&r);
    }
}

/* --- kill -9 while saving ---------------------------------------------------
 */

static void save_for_ever(const struct room *r, uint32_t from, int ready)
{
    struct state *s = NULL;
    struct err e;

    if (state_open(r->path, false, &s, &e) != 0)
        _exit(1);
    for (uint32_t n = from;; n++) {
        room_fill(s, n);
        if (state_save(s, &e) != 0)
            _exit(2);
        if (n == from && write(ready, "x", 1) != 1)
            _exit(3);
    }
}

static uint32_t expect_whole(const struct room *r)
{
    struct state *s = room_state(r);
    uint32_t n = room_marked(s);
    const struct state_check *c;

    assert_false(state_is_lost(s));
    assert_int_equal(count_checks(s), ROOM_ROWS + 1);
    assert_int_equal(count_values(s), ROOM_ROWS);
    for (size_t at = 0; (c = state_checks(s, &at)) != NULL;)
        assert_int_equal(c->health.streak, n);
    for (const struct state_value *v = state_sets(s)->values; v != NULL;
         v = v->next)
        assert_int_equal(v->memory.brake_streak, n);
    state_close(s);
    return n;
}

static void test_kill_while_saving(void **state)
{
    struct room r;
    uint32_t n = 0;

    (void)state;
    room_open(&r);
    for (int i = 0; i < KILLS; i++) {
        struct timespec wait = {0, 37000L * (i % 100)};
        int ready[2], status;
        uint32_t now;
        char c = 0;
        pid_t pid;

        assert_int_equal(pipe(ready), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            save_for_ever(&r, n + 1, ready[1]);
        assert_int_equal(read(ready[0], &c, 1), 1);
        (void)nanosleep(&wait, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        (void)close(ready[0]);
        (void)close(ready[1]);
        now = expect_whole(&r);
        assert_true(now > n);
        n = now;
    }
    assert_int_equal(room_files(&r, "state.db.damaged"), 0);
    room_close(&r);
}

/* Keys as older versions wrote them: what is known of the check stays, and a
 * problem of it is no news. */
static void test_old_check_keys(void **state)
{
    struct room r;
    struct state *s;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    room_save(s);
    state_close(s);
    room_sql(&r, "INSERT INTO checks VALUES('tcp 192.0.2.1:443 unverified=1 "
                 "timeout=1000 "
                 "repeat success=1 failure=2',2,1,0,9,0,0,'refused');"
                 "INSERT INTO problems VALUES('|tcp 192.0.2.1:443 unverified=1 "
                 "timeout=1000 "
                 "repeat success=1 failure=2','text',5)");
    s = room_state(&r);
    assert_int_equal(
        state_check_get(s, "tcp 192.0.2.1:443 1s+ 1/2")->health.streak, 9);
    assert_int_equal(the_check(s)->health.state, HEALTH_DOWN);
    assert_string_equal(the_check(s)->note, "refused");
    assert_false(state_problem(s, "|tcp 192.0.2.1:443 1s+ 1/2", false, "text"));
    room_save(s);
    state_close(s);
    assert_int_equal(room_sql_int(&r, "SELECT streak FROM checks "
                                      "WHERE key='tcp 192.0.2.1:443 1s+ 1/2'"),
                     9);
    room_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_check_keys),
        cmocka_unit_test(test_made_private),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_killed_holder),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_other_tables),
        cmocka_unit_test(test_other_program),
        cmocka_unit_test(test_cut_database),
        cmocka_unit_test(test_rubbish_inside),
        cmocka_unit_test(test_shared_cases),
        cmocka_unit_test(test_kill_while_saving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
