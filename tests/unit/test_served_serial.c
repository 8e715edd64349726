#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Questions for the served serial leave nothing behind: a service asks one
 * for each write, for years. */

struct room {
    struct round r;
    struct round_zone zone, *zones[1];
    struct round_audience audience;
    struct round_provider provider;
    struct provider instance;
    struct addr server;
    int fd; /* a port where nobody answers */
    size_t answers, known;
    bool done;
};

static void room_open(struct room *w, bool asks)
{
    struct resolver_options o = {NULL, 1, 50, 1};
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;
    struct err e;

    memset(w, 0, sizeof *w);
    assert_int_equal(addr_parse("127.0.0.1", &w->server), 0);
    w->fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(
        bind(w->fd, (struct sockaddr *)&sa, addr_to_sockaddr(&w->server, &sa)),
        0);
    assert_int_equal(getsockname(w->fd, (struct sockaddr *)&sa, &len), 0);
    assert_int_equal(
        addr_from_sockaddr((const struct sockaddr *)&sa, &w->server), 0);
    w->r.loop = loop_new();
    w->r.arena = arena_new();
    w->r.zones = w->zones;
    w->zones[0] = &w->zone;
    w->r.nzones = 1;
    w->zone.name = "example.org.";
    w->zone.servers = &w->server;
    w->zone.nservers = asks;
    w->zone.audiences = &w->audience;
    w->zone.naudiences = 1;
    w->audience.zone = &w->zone;
    w->audience.provider = w->provider.instance = &w->instance;
    w->provider.round = &w->r;
    o.servers = &w->server;
    if (resolver_new(w->r.loop, &o, &w->r.resolver, &e) != 0)
        fail_msg("%s", e.msg);
}

static void room_close(struct room *w)
{
    resolver_free(w->r.resolver);
    round_serials_end(&w->r);
    arena_free(w->r.arena);
    loop_free(w->r.loop);
    (void)close(w->fd);
}

static void on_serial(void *arg, const struct provider_serial *s)
{
    struct room *w = arg;

    w->answers++;
    w->known += s->known;
    w->done = true;
}

static void ask(struct room *w)
{
    w->done = false;
    round_served_serial(&w->provider, "example.org.", on_serial, w);
    assert_true(loop_wait(w->r.loop, &w->done, clock_mono_ms() + 10000));
}

static size_t in_use(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void test_bounded(void **state)
{
    struct room w;
    size_t before;

    (void)state;
    room_open(&w, false);
    for (int i = 0; i < 100; i++)
        ask(&w);
    before = in_use();
    for (int i = 0; i < 10000; i++)
        ask(&w);
    assert_true(in_use() < before + 4096);
    assert_int_equal(w.answers, 10100);
    assert_null(w.r.serials);
    room_close(&w);
}

/* A server that is silent: not known, told once, and gone. */
static void test_silent(void **state)
{
    struct room w;

    (void)state;
    room_open(&w, true);
    ask(&w);
    assert_int_equal(w.answers, 1);
    assert_int_equal(w.known, 0);
    assert_null(w.r.serials);
    /* The end comes while one is out. */
    round_served_serial(&w.provider, "example.org.", on_serial, &w);
    assert_non_null(w.r.serials);
    room_close(&w);
    assert_int_equal(w.answers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
