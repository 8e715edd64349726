#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/helper/helper_main.h"
#include "providers/provider.h"
#include "providers/zonefile/zonefile_desk.h"
#include "tests/unit/helper_room_help.h"

/* The helper, asked by somebody it must not trust: over its sockets, in its
 * own process. */

/* --- what the configuration names ----------------------------------------- */

static void test_reads_its_zones(void **state)
{
    struct room *r = *state;
    struct said s = ask(r, HELPER_READ, "files", "example.org.");

    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_int_equal(s.a.nfds, 2);
    assert_int_equal(s.nfds, 2);
    assert_string_equal(base(s.text), "example.org.zone");
    assert_string_equal(base(s.text + strlen(s.text) + 1), "more");
    assert_content(s.fds[0], ZONE);
    assert_content(s.fds[1], "other IN A 192.0.2.9\n");
    said_fini(&s);
}

static void test_zones_it_does_not_have(void **state)
{
    static const struct {
        const char *provider, *zone;
    } bad[] = {
        {"files", "example.net."}, /* another provider's */
        {"files", "example.com."}, /* nobody's */
        {"files", "*"},
        {"files", "../secret"},
        {"files", "../../etc/passwd"},
        {"files", "/etc/passwd"},
        {"files", "example.org"}, /* not canonical */
        {"files", "EXAMPLE.ORG."},
        {"files", "example.org.;id"},
        {"panel", "example.org."}, /* has no files */
        {"nobody", "example.org."},
        {"files/../files", "example.org."},
    };
    static const enum helper_op ops[] = {HELPER_READ, HELPER_JOURNAL,
                                         HELPER_STAGE, HELPER_UNSTAGE,
                                         HELPER_COMMIT};
    struct room *r = *state;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
            assert_refused(r, ops[k], bad[i].provider, bad[i].zone);
    assert_alive(r);
}

static void test_generations(void **state)
{
    struct room *r = *state;
    struct said s = ask(r, HELPER_CONFIG, "", "");

    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_int_equal(s.a.generation, 2);
    assert_int_equal(s.nfds, 1);
    said_fini(&s);
    r->generation = 2;
    assert_alive(r);
    r->generation = 3;
    assert_refused(r, HELPER_READ, "files", "example.org.");
    r->generation = 0;
    assert_refused(r, HELPER_READ, "files", "example.org.");
    r->generation = 1;
    assert_alive(r);
}

/* The newest reading alone knows what is new; the old one goes on as it was. */
static void test_a_zone_that_comes(void **state)
{
    struct room *r = *state;
    struct said s;

    write_file(r, "conf", CONFIG "zone \"example.com\" { provider = files }\n",
               0600);
    write_file(r, "example.com.zone", ZONE_OF("example.com"), 0600);
    s = ask(r, HELPER_CONFIG, "", "");
    said_fini(&s);
    assert_refused(r, HELPER_READ, "files", "example.com.");
    r->generation = 2;
    s = ask(r, HELPER_READ, "files", "example.com.");
    assert_int_equal(s.a.err.code, ERR_NONE);
    said_fini(&s);
}

static void test_a_configuration_that_is_broken(void **state)
{
    struct room *r = *state;
    struct said s;

    write_file(r, "conf", "nonsense", 0600);
    s = ask(r, HELPER_CONFIG, "", "");
    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_int_equal(s.a.generation, 0); /* none that could be used */
    assert_content(s.fds[0], "nonsense");
    said_fini(&s);
    assert_alive(r);
}

static void test_options(void **state)
{
    struct room *r = *state;
    struct said s = ask(r, HELPER_OPTION, "panel", "password-file");

    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_content(s.fds[0], "hush\n");
    said_fini(&s);
    assert_refused(r, HELPER_OPTION, "panel", "url");
    assert_refused(r, HELPER_OPTION, "panel", "ca-file"); /* not given */
    assert_refused(r, HELPER_OPTION, "panel", "/etc/shadow-file");
    assert_refused(r, HELPER_OPTION, "panel", "-file");
    assert_refused(r, HELPER_OPTION, "files", "file");
    assert_refused(r, HELPER_OPTION, "files", "password-file");
}

/* --- writing ---------------------------------------------------------------
 */

#define NEW ZONE "new IN A 192.0.2.77\n"

static void said_of(struct said s, enum err_code code)
{
    assert_int_equal(s.a.err.code, code);
    said_fini(&s);
}

/* Asks for what is staged in place of the file that stands at dir/name. */
static struct said commit_over(struct room *r, const char *dir,
                               const char *name)
{
    struct helper_request q = {.op = HELPER_COMMIT,
                               .generation = r->generation};
    char *path = mem_printf("%s/%s", dir, name);
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    free(path);
    q.identity = zonefile_desk_identity(&st);
    assert_int_equal(helper_request_names(&q, "files", "example.org.", NULL),
                     0);
    return ask_request(r, &q, NULL, 0);
}

static void test_writes_a_zone(void **state)
{
    struct room *r = *state;
    struct said s;
    int fd = memory(NEW, true);

    assert_alive(r); /* reads it */
    s = ask_fd(r, HELPER_STAGE, "files", "example.org.", fd);
    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_file(r, base(s.text), NEW);
    said_fini(&s);
    assert_file(r, "example.org.zone", ZONE);
    s = commit_over(r, r->dir, "example.org.zone");
    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_file(r, "example.org.zone", NEW);
    said_fini(&s);
    assert_refused(r, HELPER_COMMIT, "files", "example.org."); /* again */
    (void)close(fd);
}

/* Another file than the one that was read stands there. */
static void test_no_commit_over_a_change(void **state)
{
    struct room *r = *state;
    struct said s;
    int fd = memory(NEW, true);

    assert_alive(r);
    said_of(ask_fd(r, HELPER_STAGE, "files", "example.org.", fd), ERR_NONE);
    s = commit_over(r, r->dir, "more"); /* is not it */
    assert_int_equal(s.a.err.code, ERR_CONFLICT);
    said_fini(&s);
    assert_file(r, "example.org.zone", ZONE);
    assert_refused(r, HELPER_COMMIT, "files", "example.org."); /* it is gone */
    (void)close(fd);
}

static void refuse_text(struct room *r, const char *text, bool sealed)
{
    int fd = memory(text, sealed);
    struct said s = ask_fd(r, HELPER_STAGE, "files", "example.org.", fd);

    assert_int_not_equal(s.a.err.code, ERR_NONE);
    said_fini(&s);
    (void)close(fd);
    assert_refused(r, HELPER_COMMIT, "files", "example.org.");
    assert_file(r, "example.org.zone", ZONE);
}

static void test_texts_it_does_not_write(void **state)
{
    struct room *r = *state;
    int fd;
    struct said s;

    refuse_text(r, NEW, true); /* before it was read */
    assert_alive(r);
    refuse_text(r, NEW, false);
    refuse_text(r, NEW "$INCLUDE /etc/shadow\n", true);
    refuse_text(r, NEW " $include /etc/shadow\n", true);
    refuse_text(r, NEW "x\r$InClUdE /etc/shadow\n", true);
    refuse_text(r, "$INCLUDE /etc/shadow\n", true);
    assert_refused(r, HELPER_STAGE, "files", "example.org."); /* no text */
    fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    s = ask_fd(r, HELPER_STAGE, "files", "example.org.", fd);
    assert_int_equal(s.a.err.code, ERR_INPUT);
    said_fini(&s);
    (void)close(fd);
    assert_alive(r);
}

static void test_a_file_that_changed(void **state)
{
    struct room *r = *state;
    struct helper_request q = {
        .op = HELPER_UNCHANGED, .generation = 1, .identity = {1, 2, 3, 4, 5}};
    struct said s;

    assert_int_equal(helper_request_names(&q, "files", "example.org.", NULL),
                     0);
    s = ask_request(r, &q, NULL, 0);
    assert_int_equal(s.a.err.code, ERR_CONFLICT);
    said_fini(&s);
}

static void test_staged_files_go_with_it(void **state)
{
    struct room *r = *state;
    int fd = memory(NEW, true);
    struct said s;

    assert_alive(r);
    s = ask_fd(r, HELPER_STAGE, "files", "example.org.", fd);
    assert_int_equal(s.a.err.code, ERR_NONE);
    assert_int_equal(access(s.text, F_OK), 0);
    hang_up(r);
    assert_int_equal(access(s.text, F_OK), -1);
    said_fini(&s);
    (void)close(fd);
}

/* --- commands --------------------------------------------------------------
 */

static void test_runs_its_commands(void **state)
{
    struct room *r = *state;
    struct helper_result out;

    out = run(r, DOER_RELOAD, "files", "example.org.", NULL, NULL);
    assert_int_equal(out.result.exit_code, 0);
    assert_string_equal(out.result.output, "reload example.org\n");
    out = run(r, DOER_NOTIFY, "", "", NULL, "{\"event\":\"x\"}");
    assert_string_equal(out.result.output, "{\"event\":\"x\"}");
    out = run(r, DOER_COMMAND, "probe", "", "192.0.2.7", NULL);
    assert_string_equal(out.result.output, "target 192.0.2.7\n");
    out = run(r, DOER_COMMAND, "probe", "", "2001:db8::7", NULL);
    assert_string_equal(out.result.output, "target 2001:db8::7\n");
}

static void test_commands_it_does_not_run(void **state)
{
    struct room *r = *state;

    /* nothing is staged */
    refuse_run(r, DOER_CHECK, "files", "example.org.", NULL);
    refuse_run(r, DOER_CHECK, "files", "example.net.", NULL);
    refuse_run(r, DOER_RELOAD, "files", "../example.org.", NULL);
    refuse_run(r, DOER_RELOAD, "files", "example.org.;id", NULL);
    refuse_run(r, DOER_RELOAD, "panel", "example.org.", NULL);
    refuse_run(r, DOER_COMMAND, "other", "", "192.0.2.7");
    refuse_run(r, DOER_COMMAND, "/bin/sh", "", "192.0.2.7");
    refuse_run(r, DOER_COMMAND, "probe", "", "10.0.0.1"); /* not allowed */
    refuse_run(r, DOER_COMMAND, "probe", "", "127.0.0.1");
    assert_alive(r);
}

/* A hook gets the two files that come with the request. */
static void test_a_hook(void **state)
{
    struct room *r = *state;
    struct helper_request q = {
        .op = HELPER_RUN, .generation = 1, .kind = DOER_HOOK};
    int fds[] = {memory("a request", false), memory("", false)};
    struct helper_result out;

    assert_int_equal(lseek(fds[0], 0, SEEK_SET), 0);
    assert_int_equal(helper_request_names(&q, "own", "", NULL), 0);
    q.id = 70; /* without files, or with one: not a request at all */
    send_run(r, &q);
    send_run_fds(r, &q, fds, 1);
    q.id = 71;
    send_run_fds(r, &q, fds, 2);
    out = take_result(r);
    assert_int_equal(out.id, 71);
    assert_int_equal(out.result.exit_code, 0);
    assert_string_equal(out.result.output, "");
    assert_content(fds[1], "a request");
    /* its file of another kind of provider, and files for another command */
    assert_int_equal(helper_request_names(&q, "files", "", NULL), 0);
    send_run_fds(r, &q, fds, 2);
    out = take_result(r);
    assert_false(out.result.started);
    assert_int_equal(out.result.err.code, ERR_AUTH);
    q.kind = DOER_RELOAD;
    assert_int_equal(helper_request_names(&q, "files", "example.org.", NULL),
                     0);
    q.id = 72;
    send_run_fds(r, &q, fds, 2);
    (void)close(fds[0]);
    (void)close(fds[1]);
    out = run(r, DOER_COMMAND, "probe", "", "192.0.2.7", NULL);
    assert_int_equal(out.result.exit_code, 0);
    assert_alive(r);
}

static void test_a_command_that_is_dropped(void **state)
{
    struct room *r = *state;
    struct helper_request q = {.op = HELPER_DROP, .generation = 1, .id = 7};
    struct helper_result out;

    start_run(r, 7, DOER_COMMAND, "slow", "", "192.0.2.7", NULL);
    send_run(r, &q);
    q.id = 99; /* there is none */
    send_run(r, &q);
    out = run(r, DOER_COMMAND, "probe", "", "192.0.2.7", NULL);
    assert_int_equal(out.result.exit_code, 0);
}

/* --- the service's own end -------------------------------------------------
 */

struct many {
    size_t n, failed;
    bool done, lost;
    size_t wanted;
};

static void on_one(void *arg, const struct proc_result *p)
{
    struct many *m = arg;

    m->n++;
    m->failed += p->exit_code != 0;
    m->done = m->n == m->wanted;
}

static void on_lost(void *arg)
{
    struct many *m = arg;

    m->lost = true;
}

static struct helper *take_client(struct room *r, struct loop *l,
                                  struct many *m)
{
    struct helper *h = helper_new(r->files, r->runs, r->pid);

    helper_attach(h, l, on_lost, m);
    r->pid = 0; /* it is the client's now */
    return h;
}

static void run_many(struct helper *h, struct loop *l, struct many *m,
                     const char *name)
{
    const struct doer *d = helper_doer(h, HELPER_FIRST);
    struct addr target;
    struct doer_command c = {.kind = DOER_COMMAND,
                             .name = name,
                             .target = &target,
                             .timeout_ms = 60000};

    assert_int_equal(addr_parse("192.0.2.7", &target), 0);
    for (size_t i = 0; i < m->wanted; i++)
        (void)doer_run(d, l, &c, on_one, m);
}

/* More than the helper runs at once, and than the socket holds. */
static void test_many_commands(void **state)
{
    struct many m = {.wanted = 600};
    struct loop *l = loop_new();
    struct helper *h = take_client(*state, l, &m);

    run_many(h, l, &m, "probe");
    assert_true(loop_wait(l, &m.done, clock_mono_ms() + WAIT_MS));
    assert_int_equal(m.failed, 0);
    assert_false(m.lost);
    helper_detach(h);
    loop_free(l);
    helper_free(h);
}

static void test_a_helper_that_dies(void **state)
{
    struct room *r = *state;
    struct many m = {.wanted = 5};
    struct loop *l = loop_new();
    pid_t pid = r->pid;
    struct helper *h = take_client(r, l, &m);
    struct helper_question q = {
        .op = HELPER_READ, .name = "files", .what = "example.org.", .fd = -1};
    struct helper_found f;
    struct err e;

    run_many(h, l, &m, "slow");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_true(loop_wait(l, &m.done, clock_mono_ms() + WAIT_MS));
    assert_int_equal(m.failed, 5);
    assert_true(loop_wait(l, &m.lost, clock_mono_ms() + WAIT_MS));
    assert_true(helper_is_lost(h, &e));
    assert_non_null(strstr(e.msg, "signal 9"));
    assert_int_equal(helper_ask(helper_doer(h, 1), &q, &f, &e), -1);
    assert_int_equal(e.code, ERR_LOCAL);
    helper_found_fini(&f);
    /* later ones too, and later */
    m = (struct many){.wanted = 1};
    run_many(h, l, &m, "probe");
    assert_int_equal(m.n, 0);
    assert_true(loop_wait(l, &m.done, clock_mono_ms() + WAIT_MS));
    assert_int_equal(m.failed, 1);
    helper_detach(h);
    loop_free(l);
    helper_free(h);
}

/* --- noise -----------------------------------------------------------------
 */

static void test_requests_that_are_none(void **state)
{
    struct room *r = *state;
    struct helper_request q = {.op = HELPER_READ, .generation = 1};
    static char big[400000];
    struct buf b;
    int before;

    assert_alive(r);
    before = descriptors(r);
    assert_int_equal(helper_request_names(&q, "files", "example.org.", NULL),
                     0);
    buf_init(&b, 1 << 20);
    assert_int_equal(helper_request_encode(&q, &b, NULL), 0);
    for (size_t n = 1; n < b.len; n += n < 64 ? 1 : 37)
        refuse_bytes(r, b.data, n);
    buf_char(&b, 'x'); /* too long by one */
    refuse_bytes(r, b.data, b.len);
    memset(big, 'A', sizeof big);
    refuse_bytes(r, big, 100000);
    buf_fini(&b);
    /* on the wrong socket */
    q.op = HELPER_RUN;
    q.id = 1;
    q.kind = DOER_RELOAD;
    buf_init(&b, 1 << 20);
    assert_int_equal(helper_request_encode(&q, &b, NULL), 0);
    refuse_bytes(r, b.data, b.len);
    buf_fini(&b);
    assert_alive(r);
    assert_int_equal(descriptors(r), before);
}

static void test_garbage(void **state)
{
    struct room *r = *state;
    struct helper_request q = {.op = HELPER_READ, .generation = 1};
    unsigned seed = 1;
    struct buf b;
    char bytes[4096];

    assert_int_equal(helper_request_names(&q, "files", "example.org.", NULL),
                     0);
    buf_init(&b, 1 << 20);
    assert_int_equal(helper_request_encode(&q, &b, NULL), 0);
    for (int i = 0; i < 3000; i++) {
        struct said s;
        size_t n = i % 3 == 0 ? 1 + next(&seed) % sizeof bytes : b.len;

        memcpy(bytes, b.data, b.len);
        for (size_t k = 0; k < (i % 3 == 0 ? n : 1 + next(&seed) % 6); k++)
            bytes[next(&seed) % n] = (char)next(&seed);
        s = ask_bytes(r, bytes, n, NULL, 0);
        said_fini(&s);
        assert_int_not_equal(send(r->runs, bytes, n, MSG_NOSIGNAL), -1);
    }
    buf_fini(&b);
    assert_alive(r);
    assert_file(r, "example.org.zone", ZONE);
}

static void test_descriptors_too_many(void **state)
{
    struct room *r = *state;
    int before, fds[50];
    struct helper_request q = {.op = HELPER_READ, .generation = 1};
    struct said s;

    assert_alive(r);
    before = descriptors(r);
    assert_int_equal(helper_request_names(&q, "files", "example.org.", NULL),
                     0);
    for (size_t i = 0; i < 50; i++)
        fds[i] = r->files;
    s = ask_request(r, &q, fds, 50);
    said_fini(&s);
    assert_alive(r);
    assert_int_equal(descriptors(r), before);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, room_setup, room_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_reads_its_zones),
        TEST(test_zones_it_does_not_have),
        TEST(test_generations),
        TEST(test_a_zone_that_comes),
        TEST(test_a_configuration_that_is_broken),
        TEST(test_options),
        TEST(test_writes_a_zone),
        TEST(test_no_commit_over_a_change),
        TEST(test_texts_it_does_not_write),
        TEST(test_a_file_that_changed),
        TEST(test_staged_files_go_with_it),
        TEST(test_runs_its_commands),
        TEST(test_commands_it_does_not_run),
        TEST(test_a_hook),
        TEST(test_a_command_that_is_dropped),
        TEST(test_many_commands),
        TEST(test_a_helper_that_dies),
        TEST(test_requests_that_are_none),
        TEST(test_garbage),
        TEST(test_descriptors_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
