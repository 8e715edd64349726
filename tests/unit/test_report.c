#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
#include <setjmp.h>
#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <cjson/cJSON.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/report/notify.h"
#include "agent/report/report.h"
#include "agent/report/table.h"

/* What people and programs read: lines, JSON, tables, the notify command. */

static const struct round_event events[] = {
    {ROUND_AVAILABLE, "example.org.", "www.example.org.", "A", "192.0.2.1",
     false, "tcp:443 connected"},
    {ROUND_UNAVAILABLE, "example.org.", "www.example.org.", "A", "192.0.2.1",
     false, "tcp:443 timeout after 1s"},
    {ROUND_PUBLISHED, "example.org.", "www.example.org.", "AAAA", "2001:db8::1",
     true, "healthy records"},
    {ROUND_WITHDRAWN, "example.org.", "www.example.org.", "A", "192.0.2.1",
     false, "its checks fail"},
    {ROUND_WOULD, "example.org.", "www.example.org.", "A", "192.0.2.1", true,
     "healthy records"},
    {ROUND_WOULD, "example.org.", "www.example.org.", "A", "192.0.2.1", false,
     "its checks fail"},
    {ROUND_VISIBLE, "example.org.", "www.example.org.", "A", "", false,
     "is served by all 2 servers"},
    {ROUND_UNAVAILABLE, "example.org.", "www.example.org.", "A view eu",
     "192.0.2.1", false, "refused"},
    {ROUND_PUBLISHED, "example.org.", "www.example.org.", "A view eu",
     "192.0.2.1", true, "healthy records"},
    {ROUND_PROBLEM, "example.org.", "", "", "", false, "nothing \"works\"\\"},
    {ROUND_RESOLVED, "example.org.", "", "", "", false, "it works again"},
    {ROUND_NOTE, "", "", "", "", false, "Grüße"},
    {ROUND_DETAIL, "", "", "", "", false, "a detail"},
};
#define NEVENTS (sizeof events / sizeof events[0])

/* --- forms -----------------------------------------------------------------
 */

static const char *const lines[NEVENTS] = {
    "www.example.org. (192.0.2.1) becomes available: tcp:443 connected",
    "www.example.org. (192.0.2.1) becomes unavailable: tcp:443 timeout after "
    "1s",
    "www.example.org. AAAA 2001:db8::1 published: healthy records",
    "www.example.org. A 192.0.2.1 withdrawn: its checks fail",
    "www.example.org. A 192.0.2.1 would be published: healthy records",
    "www.example.org. A 192.0.2.1 would be withdrawn: its checks fail",
    "www.example.org. A is served by all 2 servers",
    "www.example.org. (192.0.2.1, view eu) becomes unavailable: refused",
    "www.example.org. A view eu 192.0.2.1 published: healthy records",
    "nothing \"works\"\\",
    "resolved: it works again",
    "Grüße",
    "  a detail",
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < NEVENTS; i++) {
        char *line = report_event_line(&events[i]);

        assert_string_equal(line, lines[i]);
        free(line);
    }
}

/* The member has that text, or is left out where there is none. */
static void expect_member(const cJSON *o, const char *key, const char *want)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(o, key);

    if (*want == '\0') {
        assert_null(m);
        return;
    }
    assert_true(cJSON_IsString(m));
    assert_string_equal(m->valuestring, want);
}

static void expect_json(const char *text, const struct round_event *ev)
{
    static const char *const kinds[] = {
        "available", "unavailable", "published", "withdrawn", "would",
        "visible",   "problem",     "resolved",  "note",      "detail"};
    cJSON *o = cJSON_Parse(text);
    const cJSON *time, *publish;
    int y, mo, d, h, mi, s;
    char z;

    assert_non_null(o);
    assert_null(strchr(text, '\n'));
    expect_member(o, "event", kinds[ev->kind]);
    expect_member(o, "zone", ev->zone);
    expect_member(o, "name", ev->name);
    expect_member(o, "type",
                  strcmp(ev->type, "A view eu") == 0 ? "A" : ev->type);
    expect_member(o, "view", strcmp(ev->type, "A view eu") == 0 ? "eu" : "");
    expect_member(o, "data", ev->data);
    expect_member(o, "text", ev->text);
    publish = cJSON_GetObjectItemCaseSensitive(o, "publish");
    if (ev->kind == ROUND_WOULD)
        assert_true(cJSON_IsBool(publish) &&
                    (cJSON_IsTrue(publish) != 0) == ev->publish);
    else
        assert_null(publish);
    time = cJSON_GetObjectItemCaseSensitive(o, "time");
    assert_true(cJSON_IsString(time));
    assert_int_equal(strlen(time->valuestring), 20);
    assert_int_equal(sscanf(time->valuestring, "%4d-%2d-%2dT%2d:%2d:%2d%c", &y,
                            &mo, &d, &h, &mi, &s, &z),
                     7);
    assert_int_equal(z, 'Z');
    assert_true(y >= 2024);
    cJSON_Delete(o);
}

static void test_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < NEVENTS; i++) {
        char *json = report_event_json(&events[i]);

        expect_json(json, &events[i]);
        free(json);
    }
}

/* --- output ----------------------------------------------------------------
 */

struct printed {
    char out[8192], err[8192];
};

static void take(FILE *f, char *text, size_t size)
{
    rewind(f);
    text[fread(text, 1, size - 1, f)] = '\0';
    (void)fclose(f);
}

/* All events through a report with these options; what it printed. */
static void print_all(const struct report_options *o, struct printed *p)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int old_out, old_err;
    struct report *r;
    struct err e;

    assert_true(out != NULL && err != NULL);
    (void)fflush(stdout);
    (void)fflush(stderr);
    old_out = dup(STDOUT_FILENO);
    old_err = dup(STDERR_FILENO);
    (void)dup2(fileno(out), STDOUT_FILENO);
    (void)dup2(fileno(err), STDERR_FILENO);
    r = report_new(o);
    for (size_t i = 0; i < NEVENTS; i++) {
        report_progress(r, "probing", i, NEVENTS);
        report_event(r, &events[i]);
    }
    (void)fflush(stdout);
    (void)fflush(stderr);
    (void)dup2(old_out, STDOUT_FILENO);
    (void)dup2(old_err, STDERR_FILENO);
    (void)close(old_out);
    (void)close(old_err);
    assert_int_equal(report_finish(r, &e), 0);
    take(out, p->out, sizeof p->out);
    take(err, p->err, sizeof p->err);
}

/* Problems on standard error; details only when asked for; no colour and no
 * progress in a file. */
static void test_people(void **state)
{
    (void)state;
    for (int verbose = 0; verbose < 2; verbose++) {
        const struct report_options o = {false, verbose == 1, NULL};
        struct printed p;
        char want[8192] = "";

        for (size_t i = 0; i < NEVENTS; i++) {
            size_t n = strlen(want);

            if (events[i].kind != ROUND_PROBLEM &&
                (events[i].kind != ROUND_DETAIL || verbose == 1))
                (void)snprintf(want + n, sizeof want - n, "%s\n", lines[i]);
        }
        print_all(&o, &p);
        assert_string_equal(p.out, want);
        assert_string_equal(p.err, "dnsfailover: nothing \"works\"\\\n");
    }
}

static void test_programs(void **state)
{
    const struct report_options o = {true, false, NULL};
    struct printed p;
    char *line, *next;
    size_t n = 0;

    (void)state;
    print_all(&o, &p);
    assert_string_equal(p.err, "");
    for (line = p.out; *line != '\0'; line = next) {
        next = strchr(line, '\n');
        assert_non_null(next);
        *next++ = '\0';
        expect_json(line, &events[n++]);
    }
    assert_int_equal(n, NEVENTS - 1); /* without the detail */
}

/* --- tables ----------------------------------------------------------------
 */

static const char *const heads[] = {"NAME", "STATE", "WHY", NULL};

static struct table *small_table(void)
{
    static const char *const rows[][3] = {
        {"www.example.org.", "up", ""},
        {"a.", "down", "a reason that is longer than a narrow terminal"},
    };
    struct table *t = table_new(heads);

    for (size_t i = 0; i < 2; i++)
        table_row(t, rows[i]);
    assert_int_equal(table_rows(t), 2);
    return t;
}

static void test_table(void **state)
{
    FILE *f = tmpfile();
    char text[1024];

    (void)state;
    assert_non_null(f);
    table_print(small_table(), f);
    take(f, text, sizeof text);
    assert_string_equal(
        text, "NAME              STATE  WHY\n"
              "www.example.org.  up     \n"
              "a.                down   a reason that is longer than a narrow "
              "terminal\n");
}

static void test_empty_table(void **state)
{
    FILE *f = tmpfile();
    char text[16];

    (void)state;
    assert_non_null(f);
    table_print(table_new(heads), f);
    take(f, text, sizeof text);
    assert_string_equal(text, "");
}

/* A terminal hands over what it has so far, often no more than one line:
 * reads until want bytes are there. */
static void take_terminal(int master, char *text, size_t want)
{
    struct pollfd ready = {.fd = master, .events = POLLIN};
    size_t got = 0;
    ssize_t n;

    while (got < want) {
        assert_int_equal(poll(&ready, 1, 5000), 1);
        n = read(master, text + got, want - got);
        assert_true(n > 0);
        got += (size_t)n;
    }
    text[got] = '\0';
    assert_int_equal(poll(&ready, 1, 0), 0);
}

/* On a terminal the last column is cut, not wrapped. */
static void test_table_on_a_terminal(void **state)
{
    static const char want[] =
        "NAME              STATE  WHY\r\n"
        "www.example.org.  up     \r\n"
        "a.                down   a reason that is longer t\r\n";
    struct winsize ws = {.ws_row = 24, .ws_col = 50};
    int master, slave;
    char text[sizeof want];
    FILE *f;

    (void)state;
    if (openpty(&master, &slave, NULL, NULL, &ws) != 0) {
        print_message("no terminal to be had\n");
        skip();
    }
    f = fdopen(slave, "w");
    assert_non_null(f);
    table_print(small_table(), f);
    (void)fflush(f);
    take_terminal(master, text, sizeof want - 1);
    assert_string_equal(text, want);
    (void)fclose(f);
    (void)close(master);
}

/* --- notify ----------------------------------------------------------------
 */

struct room {
    char dir[64], *log, *command;
};

/* A command that adds its standard input as a line to a file, and fails where
 * the event says `withdrawn`. */
static void room_open(struct room *r)
{
    static const char script[] = "#!/bin/sh\n"
                                 "event=$(cat)\n"
                                 "printf '%s\\n' \"$event\" >>\"$1\"\n"
                                 "case $event in *'\"withdrawn\"'*)\n"
                                 "    echo no thanks >&2; exit 3;;\n"
                                 "esac\n";
    const char *base = getenv("TMPDIR");
    char *path;
    FILE *f;

    (void)snprintf(r->dir, sizeof r->dir, "%.40s/report.XXXXXX",
                   base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    path = mem_printf("%s/tell", r->dir);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(script, f) >= 0);
    assert_int_equal(fclose(f), 0);
    r->log = mem_printf("%s/log", r->dir);
    r->command = mem_printf("sh '%s' '%s'", path, r->log);
    free(path);
}

static void room_close(struct room *r)
{
    char *path = mem_printf("%s/tell", r->dir);

    (void)unlink(path);
    (void)unlink(r->log);
    assert_int_equal(rmdir(r->dir), 0);
    free(path);
    free(r->log);
    free(r->command);
}

static size_t lines_of(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "re");
    size_t n = 0;

    text[0] = '\0';
    if (f == NULL)
        return 0;
    take(f, text, size);
    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    return n;
}

static struct report *quiet_report(const char *command)
{
    const struct report_options o = {true, false, command};

    return report_new(&o);
}

/* Events through a report that prints nowhere. */
static void tell(struct report *r, size_t from, size_t to)
{
    FILE *out = tmpfile();
    int old = dup(STDOUT_FILENO);

    assert_non_null(out);
    (void)fflush(stdout);
    (void)dup2(fileno(out), STDOUT_FILENO);
    for (size_t i = from; i < to; i++)
        report_event(r, &events[i]);
    (void)fflush(stdout);
    (void)dup2(old, STDOUT_FILENO);
    (void)close(old);
    (void)fclose(out);
}

static void test_notify(void **state)
{
    struct room room;
    struct report *r;
    struct err e = {ERR_NONE, ""};
    char text[8192], *line, *next;
    size_t n = 0;

    (void)state;
    room_open(&room);
    r = quiet_report(room.command);
    tell(r, 0, 3);
    tell(r, 4, NEVENTS);
    assert_int_equal(report_finish(r, &e), 0);
    /* Neither what would be done nor details. */
    assert_int_equal(lines_of(room.log, text, sizeof text), 9);
    for (line = text; *line != '\0'; line = next) {
        cJSON *o;

        next = strchr(line, '\n');
        assert_non_null(next);
        *next++ = '\0';
        o = cJSON_Parse(line);
        assert_non_null(o);
        assert_null(cJSON_GetObjectItemCaseSensitive(o, "publish"));
        cJSON_Delete(o);
        n++;
    }
    assert_int_equal(n, 9);
    room_close(&room);
}

static void test_notify_many(void **state)
{
    struct room room;
    struct report *r;
    struct err e = {ERR_NONE, ""};
    char *text = mem_alloc(1 << 16);

    (void)state;
    room_open(&room);
    r = quiet_report(room.command);
    for (int i = 0; i < 50; i++)
        tell(r, 0, 1);
    assert_int_equal(report_finish(r, &e), 0);
    assert_int_equal(lines_of(room.log, text, 1 << 16), 50);
    free(text);
    room_close(&room);
}

/* Some fail: how many, and why; the others are told all the same. */
static void test_notify_fails(void **state)
{
    struct room room;
    struct report *r;
    struct err e = {ERR_NONE, ""};
    char text[8192];

    (void)state;
    room_open(&room);
    r = quiet_report(room.command);
    tell(r, 0, 4);
    assert_int_equal(report_finish(r, &e), -1);
    assert_int_equal(e.code, ERR_RETRY);
    assert_non_null(strstr(e.msg, "notify: 1 of 4 events not told: "));
    assert_non_null(strstr(e.msg, "no thanks"));
    assert_int_equal(lines_of(room.log, text, sizeof text), 4);
    room_close(&room);
}

static void test_notify_cannot_run(void **state)
{
    struct report *r;
    struct err e = {ERR_NONE, ""};

    (void)state;
    r = quiet_report("/nowhere/at-all --now");
    tell(r, 0, 2);
    assert_int_equal(report_finish(r, &e), -1);
    assert_non_null(strstr(e.msg, "2 of 2 events not told"));
    assert_non_null(strstr(e.msg, "/nowhere/at-all"));
    r = quiet_report("tell 'me");
    tell(r, 0, 2);
    assert_int_equal(report_finish(r, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
}

/* Nothing happened: nothing is run, not even a command that is not there. */
static void test_notify_nothing(void **state)
{
    struct report *r = quiet_report("/nowhere/at-all");
    struct err e = {ERR_NONE, ""};

    (void)state;
    assert_int_equal(report_finish(r, &e), 0);
}

static void test_notify_hangs(void **state)
{
    struct report *r = quiet_report("sleep 600");
    struct err e = {ERR_NONE, ""};
    int64_t start_ms = clock_mono_ms();

    (void)state;
    tell(r, 0, 3);
    assert_int_equal(report_finish(r, &e), -1);
    assert_in_range(clock_mono_ms() - start_ms, 9900, 16000);
    assert_non_null(strstr(e.msg, "3 of 3 events not told"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_people),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_empty_table),
        cmocka_unit_test(test_table_on_a_terminal),
        cmocka_unit_test(test_notify),
        cmocka_unit_test(test_notify_many),
        cmocka_unit_test(test_notify_fails),
        cmocka_unit_test(test_notify_cannot_run),
        cmocka_unit_test(test_notify_nothing),
        cmocka_unit_test(test_notify_hangs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
