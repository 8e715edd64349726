#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "providers/ispconfig/ispconfig.h"
#include "tests/unit/http_server.h"

#define DEADLINE_MS 20000

/* What the server is to do, and what it saw; the calls come one after the
 * other, so plain atomics do. */
struct panel {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
    struct ispconfig *p;
    atomic_int logins, logouts, calls;
    atomic_int lose;      /* so many calls find their session gone */
    atomic_int dead;      /* the session of that login is gone */
    atomic_bool no_login; /* a page in place of a session */
};

static char *value(const char *xml)
{
    char *body =
        mem_printf("<?xml version=\"1.0\"?><S:Envelope xmlns:S=\"http://"
                   "schemas.xmlsoap.org/soap/envelope/\" xmlns:xsi=\"http://"
                   "www.w3.org/2001/XMLSchema-instance\"><S:Body>%s</S:Body>"
                   "</S:Envelope>",
                   xml);
    bool is_fault = strstr(xml, "Fault") != NULL;
    char *out = http_server_reply(is_fault ? "500 Error" : "200 OK",
                                  "Content-Type: text/xml\r\n", body);

    free(body);
    return out;
}

static char *on_request(struct http_server *s, const char *request)
{
    struct panel *w = s->arg;
    char text[200];

    if (strstr(request, "<login>") != NULL) {
        if (atomic_load(&w->no_login))
            return http_server_reply("200 OK", "Content-Type: text/html\r\n",
                                     "<html>maintenance</html>");
        (void)snprintf(text, sizeof text,
                       "<r><return xsi:type=\"x:string\">sid%d</return></r>",
                       atomic_fetch_add(&w->logins, 1) + 1);
        return value(text);
    }
    if (strstr(request, "<logout>") != NULL) {
        atomic_fetch_add(&w->logouts, 1);
        return value("<r><return xsi:type=\"x:boolean\">true</return></r>");
    }
    atomic_fetch_add(&w->calls, 1);
    (void)snprintf(text, sizeof text, ">sid%d<", atomic_load(&w->dead));
    if (atomic_load(&w->lose) > 0 || strstr(request, text) != NULL) {
        atomic_fetch_sub(&w->lose, 1);
        return value("<S:Fault><faultcode>session_does_not_exist</faultcode>"
                     "<faultstring>gone</faultstring></S:Fault>");
    }
    return value("<r><return xsi:type=\"x:string\">ok</return></r>");
}

static void panel_open(struct panel *w)
{
    struct provider_env env;
    struct config_option options[2] = {{"user", "u"}, {"url", NULL}};
    struct config_provider cfg = {.name = "panel",
                                  .type = "ispconfig",
                                  .options = options,
                                  .noptions = 2,
                                  .line = 1};
    struct provider *base = NULL;
    struct err e = {0};
    char *url;

    memset(w, 0, sizeof *w);
    w->loop = loop_new();
    w->http = http_new(w->loop);
    w->server = http_server_start(on_request, w, NULL);
    url = mem_printf("http://127.0.0.1:%d/remote/index.php", w->server->port);
    options[1].value = url;
    memset(&env, 0, sizeof env);
    env.loop = w->loop;
    env.http = w->http;
    (void)setenv("ISPCONFIG_PASSWORD", "made-up", 1);
    if (provider_ispconfig.open(&provider_ispconfig, &env, &cfg, &base, &e) !=
        0)
        fail_msg("%s", e.msg);
    w->p = (struct ispconfig *)base;
    free(url);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void panel_close(struct panel *w)
{
    bool done = false;

    provider_ispconfig.close(&w->p->base, on_closed, &done);
    assert_false(done);
    assert_true(loop_wait(w->loop, &done, clock_mono_ms() + DEADLINE_MS));
    http_free(w->http);
    loop_free(w->loop);
    http_server_stop(w->server);
}

struct got {
    bool done;
    struct err err;
};

static void on_reply(void *arg, const struct isp_reply *r)
{
    struct got *g = arg;

    assert_false(g->done);
    g->done = true;
    g->err = r->err;
}

static void start(struct panel *w, struct got *g)
{
    struct soap_args args;

    memset(g, 0, sizeof *g);
    soap_args_init(&args);
    isp_call(w->p, "dns_zone_get", &args, false, on_reply, g);
    assert_false(g->done);
}

static void finish(struct panel *w, struct got *g)
{
    assert_true(loop_wait(w->loop, &g->done, clock_mono_ms() + DEADLINE_MS));
}

static enum err_code call(struct panel *w)
{
    struct got g;

    start(w, &g);
    finish(w, &g);
    return g.err.code;
}

static void test_lazy_login_and_logout(void **state)
{
    struct panel w;

    (void)state;
    panel_open(&w);
    panel_close(&w);
    assert_int_equal(w.logins + w.logouts, 0);
    panel_open(&w);
    assert_int_equal(call(&w), ERR_NONE);
    assert_int_equal(call(&w), ERR_NONE);
    assert_int_equal(w.p->ip_family, 4);
    panel_close(&w);
    assert_int_equal(w.logins, 1);
    assert_int_equal(w.logouts, 1);
}

static void test_an_old_session_is_renewed(void **state)
{
    struct panel w;

    (void)state;
    panel_open(&w);
    assert_int_equal(call(&w), ERR_NONE);
    w.p->login_at_ms -= 1499 * 1000;
    assert_int_equal(call(&w), ERR_NONE);
    assert_int_equal(w.logins, 1);
    w.p->login_at_ms -= 1000;
    assert_int_equal(call(&w), ERR_NONE);
    assert_int_equal(w.logins, 2);
    /* a session that gets lost costs one login of its own */
    w.lose = 1;
    assert_int_equal(call(&w), ERR_NONE);
    assert_int_equal(w.logins, 3);
    w.lose = 1;
    assert_int_equal(call(&w), ERR_RETRY);
    assert_int_equal(w.logins, 3);
    panel_close(&w);
    assert_int_equal(w.logouts, 1);
}

static void test_calls_share_a_login(void **state)
{
    struct got g[3];
    struct panel w;

    (void)state;
    panel_open(&w);
    for (size_t i = 0; i < 3; i++)
        start(&w, &g[i]);
    for (size_t i = 0; i < 3; i++) {
        finish(&w, &g[i]);
        assert_int_equal(g[i].err.code, ERR_NONE);
    }
    assert_int_equal(w.logins, 1);
    w.dead = 1; /* all of them find the same session gone */
    for (size_t i = 0; i < 3; i++)
        start(&w, &g[i]);
    for (size_t i = 0; i < 3; i++) {
        finish(&w, &g[i]);
        assert_int_equal(g[i].err.code, ERR_NONE);
    }
    assert_int_equal(w.logins, 2);
    panel_close(&w);
}

static void test_a_lost_session_stops_the_run(void **state)
{
    struct panel w;
    int before;

    (void)state;
    panel_open(&w);
    w.lose = 1000;
    assert_int_equal(call(&w), ERR_RETRY);
    assert_int_equal(w.logins, 2);
    before = w.calls;
    assert_int_equal(call(&w), ERR_RETRY);
    assert_int_equal(w.calls, before); /* nothing was sent */
    /* five minutes later */
    w.lose = 0;
    w.p->refused_until_ms -= 300 * 1000;
    assert_int_equal(call(&w), ERR_NONE);
    panel_close(&w);
    assert_int_equal(w.logouts, 1);
}

static void test_a_login_that_fails_rests(void **state)
{
    struct panel w;

    (void)state;
    panel_open(&w);
    w.no_login = true;
    assert_int_equal(call(&w), ERR_RETRY);
    w.no_login = false;
    assert_int_equal(call(&w), ERR_RETRY);
    assert_int_equal(w.logins, 0);
    w.p->refused_until_ms -= 30 * 1000;
    assert_int_equal(call(&w), ERR_NONE);
    panel_close(&w);
}

static void test_close_waits_for_what_is_under_way(void **state)
{
    struct got g;
    struct panel w;

    (void)state;
    panel_open(&w);
    start(&w, &g);
    panel_close(&w);
    assert_true(g.done);
    assert_int_equal(w.logouts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lazy_login_and_logout),
        cmocka_unit_test(test_an_old_session_is_renewed),
        cmocka_unit_test(test_calls_share_a_login),
        cmocka_unit_test(test_a_lost_session_stops_the_run),
        cmocka_unit_test(test_a_login_that_fails_rests),
        cmocka_unit_test(test_close_waits_for_what_is_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
