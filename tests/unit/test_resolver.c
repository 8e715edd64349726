/* The resolver's manners: callbacks come once, later, and never after
 * resolver_free. Nobody is there to answer: 127.0.0.1 at a closed port, or a
 * socket that stays silent. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "resolver/resolver.h"

enum { WAIT_MS = 20000 };

struct world {
    struct loop *loop;
    struct resolver *resolver;
    struct addr server; /* silent */
    int fd;
    unsigned calls;
    bool done;
    struct err err;
    enum resolver_outcome outcome;
};

static void open_world(struct world *w)
{
    struct resolver_options o = {.timeout_ms = 50, .tries = 1, .nservers = 1};
    struct sockaddr_in sa = {.sin_family = AF_INET};
    socklen_t len = sizeof sa;
    struct err e;

    memset(w, 0, sizeof *w);
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    w->fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(w->fd >= 0);
    assert_int_equal(bind(w->fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(getsockname(w->fd, (struct sockaddr *)&sa, &len), 0);
    assert_int_equal(
        addr_from_sockaddr((const struct sockaddr *)&sa, &w->server), 0);
    w->loop = loop_new();
    o.servers = &w->server;
    if (resolver_new(w->loop, &o, &w->resolver, &e) != 0)
        fail_msg("%s", e.msg);
}

static void close_world(struct world *w)
{
    resolver_free(w->resolver);
    loop_free(w->loop);
    (void)close(w->fd);
}

static void wait_done(struct world *w)
{
    assert_true(loop_wait(w->loop, &w->done, clock_mono_ms() + WAIT_MS));
}

static void on_answer(void *arg, const struct resolver_answer *a)
{
    struct world *w = arg;

    w->calls++;
    w->err = a->err;
    w->outcome = a->outcome;
    assert_null(a->message);
    w->done = true;
}

static void on_txt(void *arg, const struct resolver_txt *t)
{
    struct world *w = arg;

    w->calls++;
    w->err = t->err;
    w->outcome = t->outcome;
    w->done = true;
}

static void on_owners(void *arg, const struct resolver_owners *o)
{
    struct world *w = arg;

    w->calls++;
    w->err = o->err;
    w->done = true;
}

static void on_zone(void *arg, const struct resolver_zone *z)
{
    struct world *w = arg;

    w->calls++;
    w->err = z->err;
    w->done = true;
}

static void test_timeout(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    resolver_ask(w.resolver, &w.server, "e.test.", MESSAGE_TXT, on_answer, &w);
    assert_int_equal(w.calls, 0);
    wait_done(&w);
    assert_int_equal(w.calls, 1);
    assert_int_equal(w.outcome, RESOLVER_FAILED);
    assert_int_equal(w.err.code, ERR_RETRY);
    assert_non_null(strstr(w.err.msg, " timed out"));
    close_world(&w);
}

static void test_closed_port(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    (void)close(w.fd);
    w.fd = -1;
    resolver_lookup(w.resolver, "e.test.", MESSAGE_A, false, on_answer, &w);
    assert_int_equal(w.calls, 0);
    wait_done(&w);
    assert_non_null(strstr(w.err.msg, "refused the connection"));
    close_world(&w);
}

static void test_bad_names_fail_later(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    resolver_ask(w.resolver, &w.server, "a..b.", MESSAGE_A, on_answer, &w);
    assert_int_equal(w.calls, 0);
    wait_done(&w);
    assert_int_equal(w.err.code, ERR_INPUT);
    w.done = false;
    resolver_find_txt(w.resolver, &w.server, 1, "a b.", on_txt, &w);
    assert_int_equal(w.calls, 1);
    wait_done(&w);
    assert_int_equal(w.err.code, ERR_INPUT);
    assert_int_equal(w.outcome, RESOLVER_FAILED);
    w.done = false;
    resolver_axfr_owners(w.resolver, &w.server, 1, "", NULL, on_owners, &w);
    assert_int_equal(w.calls, 2);
    wait_done(&w);
    assert_int_equal(w.err.code, ERR_INPUT);
    w.done = false;
    resolver_find_servers(w.resolver, "a..b", false, on_zone, &w);
    assert_int_equal(w.calls, 3);
    wait_done(&w);
    assert_int_equal(w.err.code, ERR_INPUT);
    close_world(&w);
}

static void test_no_servers(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    resolver_find_txt(w.resolver, NULL, 0, "e.test.", on_txt, &w);
    assert_int_equal(w.calls, 0);
    wait_done(&w);
    assert_int_equal(w.err.code, ERR_RETRY);
    w.done = false;
    resolver_axfr_owners(w.resolver, NULL, 0, "e.test.", NULL, on_owners, &w);
    wait_done(&w);
    assert_int_equal(w.err.code, ERR_RETRY);
    assert_int_equal(w.calls, 2);
    close_world(&w);
}

static void start_everything(struct world *w)
{
    struct addr two[2] = {w->server, w->server};

    for (unsigned i = 0; i < 150; i++) /* some of them wait */
        resolver_ask(w->resolver, &w->server, "e.test.", MESSAGE_TXT, on_answer,
                     w);
    resolver_lookup(w->resolver, "e.test.", MESSAGE_A, true, on_answer, w);
    resolver_find_txt(w->resolver, two, 2, "e.test.", on_txt, w);
    resolver_find_txt(w->resolver, NULL, 0, "e.test.", on_txt, w);
    resolver_find_servers(w->resolver, "e.test.", false, on_zone, w);
    resolver_axfr_owners(w->resolver, two, 2, "e.test.", NULL, on_owners, w);
}

static void test_free_drops_silently(void **state)
{
    struct world w;

    (void)state;
    /* Before the loop has run once, and in the middle of it all. */
    for (int turns = 0; turns < 4; turns++) {
        open_world(&w);
        start_everything(&w);
        for (int i = 0; i < turns; i++)
            (void)uv_run(loop_uv(w.loop), UV_RUN_NOWAIT);
        w.calls = 0;
        resolver_free(w.resolver);
        w.resolver = NULL;
        (void)loop_wait(w.loop, &w.done, clock_mono_ms() + 20);
        assert_int_equal(w.calls, 0);
        close_world(&w);
    }
}

static void free_in_answer(void *arg, const struct resolver_answer *a)
{
    struct world *w = arg;

    (void)a;
    w->calls++;
    resolver_free(w->resolver);
    w->resolver = NULL;
    w->done = true;
}

static void free_in_txt(void *arg, const struct resolver_txt *t)
{
    struct world *w = arg;

    assert_string_equal(t->owner, "e.test.");
    resolver_free(w->resolver);
    assert_string_equal(t->owner, "e.test."); /* still borrowed */
    w->resolver = NULL;
    w->calls++;
    w->done = true;
}

static void free_in_owners(void *arg, const struct resolver_owners *o)
{
    struct world *w = arg;

    assert_int_not_equal(o->err.code, ERR_NONE);
    resolver_free(w->resolver);
    w->resolver = NULL;
    w->calls++;
    w->done = true;
}

static void test_free_inside_a_callback(void **state)
{
    struct world w;

    (void)state;
    open_world(&w);
    for (int i = 0; i < 3; i++)
        resolver_ask(w.resolver, &w.server, "e.test.", MESSAGE_TXT,
                     free_in_answer, &w);
    wait_done(&w);
    assert_int_equal(w.calls, 1);
    close_world(&w);

    open_world(&w);
    for (int i = 0; i < 3; i++)
        resolver_find_txt(w.resolver, &w.server, 1, "e.test.", free_in_txt, &w);
    wait_done(&w);
    assert_int_equal(w.calls, 1);
    close_world(&w);

    open_world(&w);
    for (int i = 0; i < 3; i++)
        resolver_axfr_owners(w.resolver, &w.server, 1, "e.test.", NULL,
                             free_in_owners, &w);
    wait_done(&w);
    assert_int_equal(w.calls, 1);
    close_world(&w);
}

static void test_resolv_conf(void **state)
{
    struct loop *l = loop_new();
    struct resolver *r;
    struct err e;

    (void)state;
    if (resolver_new(l, NULL, &r, &e) != 0)
        fail_msg("%s", e.msg);
    resolver_free(r);
    resolver_free(NULL);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_closed_port),
        cmocka_unit_test(test_bad_names_fail_later),
        cmocka_unit_test(test_no_servers),
        cmocka_unit_test(test_free_drops_silently),
        cmocka_unit_test(test_free_inside_a_callback),
        cmocka_unit_test(test_resolv_conf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
