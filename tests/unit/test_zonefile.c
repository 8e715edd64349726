#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>

#include <cmocka.h>

#include "tests/unit/compilezone.h"
#include "tests/unit/zonefile_room.h"

#define TEXT                                                                   \
    "$TTL 60\n@ SOA ns1 host 2026113001 7200 1800 1209600 300\n"               \
    "  NS ns1\nns1 A 192.0.2.53\n"                                             \
    "www A 192.0.2.10\n    A 192.0.2.20 ; two\n_failover.www TXT \"[]\"\n"
#define COPY "cp {file} %D/served"

static struct room *open_room(const char *text, const char *check,
                              const char *reload)
{
    struct room *r = room_new(text);
    struct err e = {0};

    if (check != NULL)
        room_option(r, "check", check);
    if (reload != NULL)
        room_option(r, "reload", reload);
    room_option(r, "timeout", "500ms");
    room_option(r, "serial-timeout", "500ms");
    if (room_open(r, &e) != 0)
        fail_msg("%s", e.msg);
    return r;
}

static void assert_file(const struct room *r, const char *want)
{
    char *got = room_read(r, "db.example.test");

    assert_string_equal(got, want);
    assert_int_equal(room_leftovers(r), 0);
    free(got);
}

/* text with its serial, the first number after a SOA, written as SERIAL. */
static char *mask_serial(const char *text)
{
    const char *p = strstr(text, "SOA "), *end;

    p = strchr(strchr(p + 4, ' ') + 1, ' ') + 1;
    end = p + strspn(p, "0123456789");
    return mem_printf("%.*sSERIAL%s", (int)(p - text), text, end);
}

static void out_and_back_five_times(void **state)
{
    struct room *r = open_room(TEXT, "test -s {file}", COPY);
    char *want = mask_serial(TEXT), *text, *got;
    uint32_t last = 2026113001;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_true(
            room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.10"));
        assert_true(r->has_serial);
        assert_true((int32_t)(r->serial - last) > 0);
        last = r->serial;
        assert_true(
            room_one(r, CHANGE_PUBLISH, "www.example.test.", "192.0.2.10"));
        assert_true((int32_t)(r->serial - last) > 0);
        last = r->serial;
        text = room_read(r, "db.example.test");
        got = mask_serial(text);
        assert_string_equal(got, want);
        free(got);
        free(text);
    }
    assert_int_equal(room_leftovers(r), 0);
    free(want);
    room_free(r);
}

static char *slurp(const char *dir, const char *name)
{
    struct room here;

    (void)snprintf(here.dir, sizeof here.dir, "%s", dir);
    return room_read(&here, name);
}

static void assert_same_but_digits(const char *a, const char *b)
{
    assert_int_equal(strlen(a), strlen(b));
    for (; *a != '\0'; a++, b++)
        if (*a != *b)
            assert_true(*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9');
}

/* A zone of the fixtures, one value taken out, against its .want. */
static void check_case(const char *dir, const char *zone, const char *want,
                       const char *name, const char *data, int times, bool back)
{
    char *text = slurp(dir, zone), *wanted = slurp(dir, want);
    char *got, *masked, *path;
    bool odd;
    struct room *r;

    if (text == NULL || wanted == NULL) {
        print_message("%s/%s is not there: skipped\n", dir, zone);
        free(text);
        free(wanted);
        return;
    }
    r = open_room(text, NULL, COPY);
    for (int i = 0; i < times; i++) {
        if (i > 0)
            assert_true(room_one(r, CHANGE_PUBLISH, name, data));
        assert_true(room_one(r, CHANGE_WITHDRAW, name, data));
    }
    path = room_path(r, "db.example.test");
    if (compilezone_is_here()) {
        got = compilezone(path, &odd);
        assert_non_null(got);
        masked = mask_serial(got);
        assert_string_equal(masked, wanted);
        free(masked);
        free(got);
    }
    free(path);
    if (back) {
        assert_true(room_one(r, CHANGE_PUBLISH, name, data));
        got = room_read(r, "db.example.test");
        assert_same_but_digits(got, text);
        free(got);
    }
    free(text);
    free(wanted);
    room_free(r);
}

static void zones_of_our_own(void **state)
{
    (void)state;
    check_case("tests/fixtures/zones", "quoted.zone", "quoted.want",
               "app.example.test.", "192.0.2.1", 1, true);
    check_case("tests/fixtures/zones", "order.zone", "order.want",
               "app.sub.example.test.", "192.0.2.1", 2, true);
}

/* Z3, Z5, Z7 of the acceptance cases. */
static void acceptance_cases(void **state)
{
    const char *shared = getenv("DNSFAILOVER_SHARED");
    char dir[64];

    (void)state;
    (void)snprintf(dir, sizeof dir, "%.40s/cases/files/zone",
                   shared != NULL ? shared : "../shared");
    if (access(dir, X_OK) != 0) {
        print_message("%s is not there: skipped\n", dir);
        skip();
    }
    check_case(dir, "z3-quoted.zone", "z3-quoted.want", "www.example.test.",
               "192.0.2.20", 1, true);
    check_case(dir, "z5-order.zone", "z5-order.want", "www.example.test.",
               "192.0.2.20", 1, true);
    check_case(dir, "z7-day99.zone", "z7-day99.want", "www.example.test.",
               "192.0.2.20", 5, true);
    /* its serial gets shorter */
    check_case(dir, "z7b-wrap.zone", "z7b-wrap.want", "www.example.test.",
               "192.0.2.20", 1, false);
}

/* The hundredth change of the day, and the last serial there is. */
static void serials_at_their_ends(void **state)
{
    static const struct {
        const char *old;
        uint32_t want;
    } rows[] = {{"2099113099", 2099113100u}, {"4294967295", 1}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = mem_printf("$TTL 60\n@ SOA ns1 host %s 1 2 3 4\n"
                                "www A 192.0.2.1\n",
                                rows[i].old);
        struct room *r = open_room(text, NULL, COPY);

        assert_true(
            room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.1"));
        assert_int_equal(r->serial, rows[i].want);
        free(text);
        room_free(r);
    }
}

/* R12 */
static void link_mode_and_group_stay(void **state)
{
    struct room *r = open_room(TEXT, NULL, COPY);
    char *file = room_path(r, "db.example.test"), *real = room_path(r, "real");
    gid_t group = getuid() == 0 ? 4242 : getgid();
    struct stat st;

    (void)state;
    assert_int_equal(rename(file, real), 0);
    assert_int_equal(symlink("real", file), 0);
    assert_int_equal(chown(real, (uid_t)-1, group), 0);
    assert_int_equal(chmod(real, 0640), 0);
    assert_true(
        room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.10"));
    assert_int_equal(lstat(file, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat(real, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(st.st_gid, group);
    free(file);
    free(real);
    room_free(r);
}

static void nothing_to_do_writes_nothing(void **state)
{
    struct room *r = open_room(TEXT, "false", "false");
    struct change v[] = {
        {CHANGE_PUBLISH, 1, "www.example.test.", RR_A, "192.0.2.10", 30},
        {CHANGE_WITHDRAW, 1, "www.example.test.", RR_A, "192.0.2.77", -1}};

    (void)state;
    room_apply(r, v, 2);
    assert_int_equal(r->err.code, ERR_NONE);
    assert_int_equal(r->results[0].state, CHANGE_DONE);
    assert_int_equal(r->results[1].state, CHANGE_DONE);
    assert_int_equal(r->serial, 2026113001);
    assert_int_equal(r->asked, 0);
    assert_file(r, TEXT);
    room_free(r);
}

static void expect_refusal(struct room *r, enum err_code code,
                           const char *words)
{
    assert_false(
        room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.10"));
    assert_int_equal(r->results[0].state, CHANGE_FAILED);
    if (r->err.code != code || strstr(r->err.msg, words) == NULL)
        fail_msg("%s: %s", err_code_name(r->err.code), r->err.msg);
}

static void a_failed_check_changes_nothing(void **state)
{
    struct room *r = open_room(
        TEXT, "sh -c 'echo checking; echo line 5: bad; exit 1'", COPY);

    (void)state;
    expect_refusal(r, ERR_INPUT, "line 5: bad");
    assert_file(r, TEXT);
    room_free(r);
    r = open_room(TEXT, "no-such-command-here {file}", COPY);
    expect_refusal(r, ERR_INPUT, "no such command");
    assert_file(r, TEXT);
    room_free(r);
    r = open_room(TEXT, "sleep 60", COPY);
    expect_refusal(r, ERR_RETRY, "time limit");
    assert_file(r, TEXT);
    room_free(r);
}

/* R20: the old file comes back, and is reloaded. */
static void a_failed_reload_is_taken_back(void **state)
{
    static const struct {
        const char *reload, *words;
    } rows[] = {
        {"sh -c 'echo r >>%D/log; echo rndc: refused >&2; exit 3'",
         "rndc: refused"},
        {"sh -c 'echo r >>%D/log; exec sleep 60'", "time limit"},
        {"sh -c 'echo r >>%D/log'", "still serves serial 2026113001"},
        {"sh -c 'echo r >>%D/log; echo >%D/served'", "no authoritative server"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct room *r = open_room(TEXT, NULL, rows[i].reload);
        int64_t start_ms = clock_mono_ms();
        char *log;

        expect_refusal(r, ERR_RETRY, rows[i].words);
        assert_non_null(strstr(r->err.msg, "old file was put back"));
        assert_true(clock_mono_ms() - start_ms < 5000);
        assert_int_equal(r->serial, 2026113001);
        assert_file(r, TEXT);
        log = room_read(r, "log");
        assert_string_equal(log, "r\nr\n");
        free(log);
        room_free(r);
    }
}

static void without_reload_the_file_stays(void **state)
{
    struct room *r = open_room(TEXT, NULL, NULL);

    (void)state;
    assert_true(
        room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.10"));
    assert_true((int32_t)(r->serial - 2026113001) > 0);
    assert_true(r->asked > 2);
    room_free(r);
}

static void a_served_newer_serial_is_refused(void **state)
{
    struct room *r = open_room(TEXT, NULL, COPY);

    (void)state;
    r->force_served = true;
    r->served = 2026113002;
    expect_refusal(r, ERR_INPUT, "does not serve this file");
    assert_file(r, TEXT);
    room_free(r);
}

static void a_journal_is_refused(void **state)
{
    struct room *r = open_room(TEXT, NULL, COPY);

    (void)state;
    room_write(r, "db.example.test.jnl", "");
    expect_refusal(r, ERR_UNSUPPORTED, "journal");
    assert_file(r, TEXT);
    room_free(r);
}

/* A person saves the file while the check runs. */
static void a_concurrent_edit_is_kept(void **state)
{
    struct room *r =
        open_room(TEXT,
                  "sh -c 'test -e %D/once || { echo \"new A 192.0.2.9\" "
                  ">>%D/db.example.test; touch %D/once; }'",
                  COPY);
    char *text;

    (void)state;
    assert_true(
        room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.10"));
    text = room_read(r, "db.example.test");
    assert_non_null(strstr(text, "\nnew A 192.0.2.9\n"));
    assert_non_null(strstr(text, "lent-owner; www A 192.0.2.10\n"));
    free(text);
    room_free(r);

    r = open_room(TEXT, "sh -c 'echo \"; x\" >>%D/db.example.test'", COPY);
    expect_refusal(r, ERR_CONFLICT, "somebody else");
    assert_file(r, TEXT "; x\n; x\n");
    room_free(r);
}

/* Another agent is between its look at the file and its new one. */
static void who_replaces_it_excludes_others(void **state)
{
    struct room *r = open_room(TEXT, "true", COPY);
    char *path = room_path(r, "db.example.test");
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    expect_refusal(r, ERR_CONFLICT, "somebody else replaces it");
    assert_file(r, TEXT);
    assert_int_equal(room_leftovers(r), 0);
    (void)close(fd);
    assert_true(
        room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.10"));
    free(path);
    room_free(r);
}

static void bad_files_are_named(void **state)
{
    struct room *r = open_room(NULL, NULL, COPY);
    char *path = room_path(r, "db.example.test");

    (void)state;
    expect_refusal(r, ERR_NOTFOUND, "db.example.test: cannot open");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refusal(r, ERR_INPUT, "not a regular file");
    assert_int_equal(unlink(path), 0);
    room_write(r, "db.example.test", "www A 192.0.2.10\n");
    expect_refusal(r, ERR_INPUT, "db.example.test: no SOA");
    room_write(r, "db.example.test", TEXT "$INCLUDE nowhere\n");
    expect_refusal(r, ERR_NOTFOUND, "db.example.test:8: ");
    if (getuid() != 0) {
        room_write(r, "db.example.test", TEXT);
        assert_int_equal(chmod(path, 0), 0);
        expect_refusal(r, ERR_AUTH, "Permission denied");
    }
    free(path);
    room_free(r);
}

struct answer {
    bool done;
    struct err err;
    size_t n;
    char first[NAME_SIZE];
    size_t enabled, disabled;
};

static void on_records(void *arg, const struct provider_records *p)
{
    struct answer *a = arg;
    const struct rrset *s = rrset_find(p->sets, "www.example.test.", RR_A);

    a->err = p->err;
    a->n = p->sets->n;
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        a->enabled += s->values[i].enabled;
        a->disabled += !s->values[i].enabled;
    }
    a->done = true;
}

static void on_specs(void *arg, const struct provider_specs *p)
{
    struct answer *a = arg;

    a->err = p->err;
    a->n = p->n;
    if (p->n > 0)
        (void)snprintf(a->first, sizeof a->first, "%s", p->specs[0].owner);
    a->done = true;
}

static void lists(void **state)
{
    struct room *r = open_room(TEXT, NULL, COPY);
    const char *names[] = {"www.example.test.", "gone.example.test."};
    struct answer a = {0};

    (void)state;
    assert_true(
        room_one(r, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.20"));
    provider_zonefile.list_records(r->p, "example.test.", names, 2, on_records,
                                   &a);
    assert_false(a.done);
    assert_true(loop_wait(r->loop, &a.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(a.err.code, ERR_NONE);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.enabled, 1);
    assert_int_equal(a.disabled, 1);
    a = (struct answer){0};
    provider_zonefile.list_specs(r->p, "example.test.", on_specs, &a);
    assert_true(loop_wait(r->loop, &a.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(a.n, 1);
    assert_string_equal(a.first, "www.example.test.");
    a = (struct answer){0};
    provider_zonefile.list_records(r->p, "example.org.", names, 2, on_records,
                                   &a);
    assert_true(loop_wait(r->loop, &a.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(a.err.code, ERR_NOTFOUND);
    room_free(r);
}

/* Closing waits for what is under way. */
static void close_waits(void **state)
{
    struct room *r = open_room(TEXT, "sleep 0.2", COPY);
    struct change c = {CHANGE_WITHDRAW, 0, "www.example.test.", RR_A,
                       "192.0.2.10",    -1};
    struct change_set set = {.zone = "example.test.", .v = &c, .n = 1};
    bool closed = false;
    struct room late = {0};

    (void)state;
    provider_zonefile.apply(r->p, &set, room_applied, &late);
    r->done = false;
    provider_zonefile.close(r->p, room_closed, r);
    r->p = NULL;
    closed = loop_wait(r->loop, &r->done, clock_mono_ms() + DEADLINE_MS);
    assert_true(closed);
    assert_true(late.done);
    assert_int_equal(late.results[0].state, CHANGE_DONE);
    room_free(r);
}

static void bad_options_are_named(void **state)
{
    static const struct {
        const char *name, *value, *words;
    } rows[] = {
        {"file", "db.{zone}", "an absolute path"},
        {"file", "/etc/{name}", "an absolute path"},
        {"include-dir", "x", "include-dir: \"x\""},
        {"check", "named-checkzone {nothing}", "{nothing}"},
        {"reload", "rndc 'reload", "reload: "},
        {"timeout", "fast", "timeout: \"fast\""},
        {"timeout", "0", "100ms to 1h"},
        {"serial-timeout", "2h", "0 to 1h"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct room *r = room_new(NULL);
        struct err e = {0};

        if (strcmp(rows[i].name, "file") == 0) {
            free((char *)(uintptr_t)r->options[0].value);
            r->noptions = 0;
        }
        room_option(r, rows[i].name, rows[i].value);
        assert_int_equal(room_open(r, &e), -1);
        if (e.code != ERR_INPUT || strstr(e.msg, rows[i].words) == NULL)
            fail_msg("%s", e.msg);
        room_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_and_back_five_times),
        cmocka_unit_test(zones_of_our_own),
        cmocka_unit_test(acceptance_cases),
        cmocka_unit_test(serials_at_their_ends),
        cmocka_unit_test(link_mode_and_group_stay),
        cmocka_unit_test(nothing_to_do_writes_nothing),
        cmocka_unit_test(a_failed_check_changes_nothing),
        cmocka_unit_test(a_failed_reload_is_taken_back),
        cmocka_unit_test(without_reload_the_file_stays),
        cmocka_unit_test(a_served_newer_serial_is_refused),
        cmocka_unit_test(a_journal_is_refused),
        cmocka_unit_test(a_concurrent_edit_is_kept),
        cmocka_unit_test(who_replaces_it_excludes_others),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(lists),
        cmocka_unit_test(close_waits),
        cmocka_unit_test(bad_options_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
