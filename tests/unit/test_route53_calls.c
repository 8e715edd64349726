#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "providers/route53/route53.h"
#include "tests/unit/http_server.h"

#define DEADLINE_MS 20000
#define XMLNS "xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\""

/* An instance and a server that knows every zone asked for, or throttles. */
struct world {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
    struct provider *p;
    atomic_bool throttle;
    bool closed, starting;
    size_t answers;
};

static char *zone_answer(const char *request)
{
    const char *at = strstr(request, "dnsname=");
    char name[64], *body, *out;

    assert_non_null(at);
    assert_int_equal(sscanf(at, "dnsname=%63[a-z.]", name), 1);
    body = mem_printf(
        "<ListHostedZonesByNameResponse " XMLNS "><HostedZones><HostedZone>"
        "<Id>/hostedzone/Z%c</Id><Name>%s</Name></HostedZone></HostedZones>"
        "<IsTruncated>false</IsTruncated></ListHostedZonesByNameResponse>",
        name[0], name);
    out = http_server_reply("200 OK", "Content-Type: text/xml\r\n", body);
    free(body);
    return out;
}

static char *sets_answer(const char *request)
{
    const char *at = strstr(request, "/hostedzone/Z");
    char zone = at[strlen("/hostedzone/Z")];
    char *body = mem_printf(
        "<ListResourceRecordSetsResponse " XMLNS "><ResourceRecordSets>"
        "<ResourceRecordSet><Name>www.%c.org.</Name><Type>A</Type><TTL>60"
        "</TTL><ResourceRecords><ResourceRecord><Value>192.0.2.%d</Value>"
        "</ResourceRecord></ResourceRecords></ResourceRecordSet>"
        "</ResourceRecordSets><IsTruncated>false</IsTruncated>"
        "</ListResourceRecordSetsResponse>",
        zone, zone - 'a');
    char *out = http_server_reply("200 OK", "", body);

    free(body);
    return out;
}

static char *on_request(struct http_server *s, const char *request)
{
    struct world *w = s->arg;

    if (strstr(request, "\r\nAuthorization: AWS4-HMAC-SHA256 ") == NULL)
        return http_server_reply("403 Forbidden", "", "");
    if (atomic_load(&w->throttle))
        return http_server_reply(
            "400 Bad Request", "",
            "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate "
            "exceeded</Message></Error></ErrorResponse>");
    return strstr(request, "hostedzonesbyname") != NULL ? zone_answer(request)
                                                        : sets_answer(request);
}

static void world_open(struct world *w)
{
    struct config_option options[] = {{"url", NULL},
                                      {"access-key-id", "id"},
                                      {"secret-access-key", "secret"}};
    struct config_provider cfg = {.name = "aws",
                                  .type = "route53",
                                  .options = options,
                                  .noptions = 3,
                                  .line = 1};
    struct provider_env env = {0};
    char *url;
    struct err e;

    memset(w, 0, sizeof *w);
    w->loop = env.loop = loop_new();
    w->http = env.http = http_new(w->loop);
    w->server = http_server_start(on_request, w, NULL);
    url = mem_printf("http://127.0.0.1:%d", w->server->port);
    options[0].value = url;
    if (provider_route53.open(&provider_route53, &env, &cfg, &w->p, &e) != 0)
        fail_msg("%s", e.msg);
    free(url);
}

static void on_closed(void *arg)
{
    struct world *w = arg;

    assert_false(w->starting);
    w->closed = true;
}

static void world_close(struct world *w)
{
    if (!w->closed) {
        w->starting = true;
        w->p->ops->close(w->p, on_closed, w);
        w->starting = false;
    }
    assert_true(loop_wait(w->loop, &w->closed, clock_mono_ms() + DEADLINE_MS));
    http_free(w->http);
    loop_free(w->loop);
    http_server_stop(w->server);
}

/* ---- a list and what came of it ------------------------------------------ */

struct listed {
    struct world *w;
    bool done;
    enum err_code code;
    char data[64];
};

static void on_records(void *arg, const struct provider_records *r)
{
    struct listed *l = arg;

    assert_false(l->w->starting); /* never from inside the call */
    assert_false(l->done);        /* once */
    l->done = true;
    l->code = r->err.code;
    if (r->err.code == ERR_NONE && r->sets->n == 1)
        (void)snprintf(l->data, sizeof l->data, "%s",
                       r->sets->sets[0].values[0].data);
}

static void start_list(struct world *w, struct listed *l, const char *zone,
                       const char *name)
{
    memset(l, 0, sizeof *l);
    l->w = w;
    w->starting = true;
    w->p->ops->list_records(w->p, zone, &name, 1, on_records, l);
    w->starting = false;
}

static void wait_for(struct world *w, const bool *done)
{
    assert_true(loop_wait(w->loop, done, clock_mono_ms() + DEADLINE_MS));
}

static void test_zones_at_the_same_time(void **state)
{
    struct listed a, b, again;
    struct world w;

    (void)state;
    world_open(&w);
    start_list(&w, &a, "a.org.", "www.a.org.");
    start_list(&w, &b, "b.org.", "www.b.org.");
    wait_for(&w, &a.done);
    wait_for(&w, &b.done);
    assert_string_equal(a.data, "192.0.2.0");
    assert_string_equal(b.data, "192.0.2.1");
    /* the zone is known by now: still later, never at once */
    start_list(&w, &again, "b.org.", "www.b.org.");
    wait_for(&w, &again.done);
    assert_string_equal(again.data, "192.0.2.1");
    assert_int_equal(w.server->requests, 5);
    world_close(&w);
}

/* What waits for its turn ends at once, with an error. */
static void test_close_while_throttled(void **state)
{
    struct listed l;
    struct world w;
    int64_t began;

    (void)state;
    world_open(&w);
    atomic_store(&w.throttle, true);
    start_list(&w, &l, "a.org.", "www.a.org.");
    while (w.server->requests < 3 && !l.done)
        (void)loop_wait(w.loop, &l.done, clock_mono_ms() + 20);
    assert_false(l.done);
    began = clock_mono_ms();
    world_close(&w);
    assert_true(l.done);
    assert_int_equal(l.code, ERR_RETRY);
    assert_true(clock_mono_ms() - began < 2000);
}

static void test_close_before_anything(void **state)
{
    struct listed l;
    struct world w;

    (void)state;
    world_open(&w);
    world_close(&w);
    world_open(&w);
    start_list(&w, &l, "a.org.", "www.a.org.");
    world_close(&w);
    assert_true(l.done);
    assert_int_equal(l.code, ERR_RETRY);
}

static void on_applied(void *arg, const struct provider_apply *r)
{
    struct listed *l = arg;

    assert_false(l->w->starting);
    assert_int_equal(r->n, 1);
    assert_int_equal(r->results[0].state, CHANGE_DONE);
    l->done = true;
}

/* A change that is so already, of a zone that is known. */
static void test_apply_is_never_at_once(void **state)
{
    const struct change c = {CHANGE_PUBLISH, 0,  "www.b.org.", RR_A,
                             "192.0.2.1",    -1, false};
    struct change_set set = {.zone = "b.org.", .v = &c, .n = 1};
    struct listed l;
    struct world w;

    (void)state;
    world_open(&w);
    for (int i = 0; i < 2; i++) {
        memset(&l, 0, sizeof l);
        l.w = &w;
        w.starting = true;
        w.p->ops->apply(w.p, &set, on_applied, &l);
        w.starting = false;
        wait_for(&w, &l.done);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zones_at_the_same_time),
        cmocka_unit_test(test_close_while_throttled),
        cmocka_unit_test(test_close_before_anything),
        cmocka_unit_test(test_apply_is_never_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
