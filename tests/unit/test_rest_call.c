#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_page.h"
#include "tests/unit/http_server.h"

#define DEADLINE_MS 10000

/* An instance of a made-up style, and the server that it talks to. */
struct world {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
    struct rest *p;
    struct rest_style style;
    struct provider_ops ops;
    const char *head; /* further header lines of each answer */
    int pages;        /* the last one has no next page */
    int status;
    /* of the calls */
    bool done;
    struct err err;
    size_t items;
    int stops;
    int64_t stop_ms;
};

static int page_of(const char *request)
{
    const char *at = strstr(request, "page=");

    return at != NULL ? (int)strtol(at + 5, NULL, 10) : 1;
}

static char *on_request(struct http_server *s, const char *request)
{
    struct world *w = s->arg;
    int page = page_of(request);
    char *next, *body, *head, *answer;

    next = page < w->pages
               ? mem_printf("http://127.0.0.1:%d/z?page=%d", s->port, page + 1)
               : mem_strdup("");
    if (w->style.paging == REST_NEXT_LINK)
        body = mem_printf(
            "{\"items\":[{\"n\":%d}],\"links\":{\"next\":%s%s%s}}", page,
            next[0] != '\0' ? "\"" : "null", next, next[0] != '\0' ? "\"" : "");
    else
        body = mem_printf("{\"items\":[{\"n\":%d}]}", page);
    head = w->style.paging == REST_LINK_HEADER && next[0] != '\0'
               ? mem_printf("Link: <http://127.0.0.1:%d/z>; rel=\"first\", "
                            "<%s>; rel=\"next\"\r\n",
                            s->port, next)
               : mem_strdup("");
    answer = mem_printf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                        "%s%sContent-Length: %zu\r\n\r\n%s",
                        w->status, head, w->head, strlen(body), body);
    free(next);
    free(body);
    free(head);
    return answer;
}

static void on_stop(void *arg, const char *provider, uint32_t print, int64_t ms,
                    const struct err *e)
{
    struct world *w = arg;

    assert_string_equal(provider, "p");
    assert_true(print <= 0xffff && e->code != ERR_NONE);
    w->stops++;
    w->stop_ms = ms;
}

static const struct config_field fields[] = {
    {"url", CONFIG_STR, true, false, NULL, "", NULL},
    {"token", CONFIG_STR, true, false, NULL, "", NULL},
    ENDPOINT_FIELDS("NOBODYS"),
    {0},
};

static void world_init(struct world *w, const struct rest_style *style)
{
    memset(w, 0, sizeof *w);
    w->style = *style;
    w->style.ops = &provider_cloudflare;
    w->style.fields = fields;
    w->style.label = "Somebody";
    w->style.root = "";
    w->style.secret = "token";
    w->style.header = "Authorization: Bearer ";
    w->head = "";
    w->pages = 1;
    w->status = 200;
    w->loop = loop_new();
    w->http = http_new(w->loop);
    w->server = http_server_start(on_request, w, NULL);
}

static void world_open(struct world *w)
{
    char *url = mem_printf("http://127.0.0.1:%d/", w->server->port);
    const struct config_option options[] = {{.name = "url", .value = url},
                                            {.name = "token", .value = "t"}};
    const struct config_provider cfg = {
        .name = "p", .type = "x", .options = options, .noptions = 2};
    const struct provider_env env = {
        .loop = w->loop, .http = w->http, .stop = on_stop, .arg = w};
    struct provider *base = NULL;
    struct err e = {0};

    w->ops = *w->style.ops;
    w->ops.rest = &w->style;
    if (rest_open(&w->ops, &env, &cfg, &base, &e) != 0)
        fail_msg("%s", e.msg);
    w->p = (struct rest *)base;
    free(url);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void world_fini(struct world *w)
{
    bool done = false;

    rest_close(&w->p->base, on_closed, &done);
    assert_true(loop_wait(w->loop, &done, clock_mono_ms() + DEADLINE_MS));
    http_free(w->http);
    loop_free(w->loop);
    http_server_stop(w->server);
}

static int on_item(void *arg, const cJSON *item, struct err *e)
{
    struct world *w = arg;
    int64_t n;

    (void)e;
    assert_true(rest_json_uint(rest_json_at(item, "n"), 1000, &n));
    assert_int_equal(n, ++w->items);
    return 0;
}

static void on_pages(void *arg, const struct rest_reply *r, size_t items)
{
    struct world *w = arg;

    w->done = true;
    w->err = r->err;
    assert_int_equal(items, w->items);
}

static void get(struct world *w)
{
    const struct rest_pages pages = {
        .each = on_item, .done = on_pages, .arg = w};

    w->done = false;
    w->items = 0;
    rest_pages_get(w->p, "/z", "items", &pages);
    assert_false(w->done);
    assert_true(loop_wait(w->loop, &w->done, clock_mono_ms() + DEADLINE_MS));
}

static void test_next_link(void **state)
{
    const struct rest_style style = {.paging = REST_NEXT_LINK,
                                     .page_next = "links.next"};
    struct world w;

    (void)state;
    world_init(&w, &style);
    w.pages = 3;
    world_open(&w);
    get(&w);
    assert_int_equal(w.err.code, ERR_NONE);
    assert_int_equal(w.items, 3);
    world_fini(&w);
}

static void test_link_header(void **state)
{
    const struct rest_style style = {.paging = REST_LINK_HEADER};
    struct world w;

    (void)state;
    world_init(&w, &style);
    w.pages = 3;
    world_open(&w);
    get(&w);
    assert_int_equal(w.err.code, ERR_NONE);
    assert_int_equal(w.items, 3);
    world_fini(&w);
}

/* The secret goes with each call: to nobody else. */
static void test_link_to_another_server(void **state)
{
    static const char *const heads[] = {
        "Link: <http://127.0.0.1:1/z?page=2>; rel=\"next\"\r\n",
        "Link: <http://example.net/z?page=2>; rel=\"next\"\r\n",
        "Link: <ftp://x>; rel=\"next\"\r\n"};
    const struct rest_style style = {.paging = REST_LINK_HEADER};

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct world w;

        world_init(&w, &style);
        w.head = heads[i];
        world_open(&w);
        get(&w);
        assert_int_equal(w.err.code, ERR_RETRY);
        assert_non_null(strstr(w.err.msg, "another server"));
        assert_int_equal(w.server->requests, 1);
        world_fini(&w);
    }
}

/* An hour without calls is told to the agent, and none is made. */
static void test_budget_in_seconds(void **state)
{
    const struct rest_style style = {.left = "RateLimit-Remaining",
                                     .reset = "RateLimit-Reset",
                                     .reset_form = REST_RESET_DELTA};
    struct world w;

    (void)state;
    world_init(&w, &style);
    w.head = "RateLimit-Remaining: 0\r\nRateLimit-Reset: 1800\r\n";
    world_open(&w);
    get(&w);
    assert_int_equal(w.err.code, ERR_NONE);
    assert_int_equal(w.stops, 1);
    assert_true(w.stop_ms > 1790000 && w.stop_ms <= 1800000);
    get(&w);
    assert_int_equal(w.err.code, ERR_RETRY);
    assert_int_equal(w.server->requests, 1);
    world_fini(&w);
}

/* Whatever a server says, nobody is locked out for longer than an hour. */
static void test_retry_after_is_capped(void **state)
{
    const struct rest_style style = {.full_ms = 1000};
    struct world w;

    (void)state;
    world_init(&w, &style);
    w.status = 429;
    w.head = "Retry-After: 86400\r\n";
    world_open(&w);
    get(&w);
    assert_int_equal(w.err.code, ERR_RETRY);
    assert_int_equal(w.stop_ms, 3600000);
    assert_int_equal(w.server->requests, 1);
    world_fini(&w);
}

/* Of a good answer it means nothing. */
static void test_retry_after_of_200(void **state)
{
    const struct rest_style style = {.full_ms = 1000};
    struct world w;

    (void)state;
    world_init(&w, &style);
    w.head = "Retry-After: 3600\r\n";
    world_open(&w);
    get(&w);
    get(&w);
    assert_int_equal(w.err.code, ERR_NONE);
    assert_int_equal(w.stops, 0);
    world_fini(&w);
}

static void on_reply(void *arg, const struct rest_reply *r)
{
    struct world *w = arg;

    w->done = true;
    w->err = r->err;
}

/* A write is not repeated on a status that says nothing of it. */
static void test_write_is_sent_once(void **state)
{
    const struct rest_style style = {.full_ms = 1000};
    struct world w;

    (void)state;
    world_init(&w, &style);
    w.status = 503;
    world_open(&w);
    rest_call(w.p, "POST", "/z", "{}", on_reply, &w);
    assert_true(loop_wait(w.loop, &w.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(w.err.code, ERR_RETRY);
    assert_int_equal(w.server->requests, 1);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_link),
        cmocka_unit_test(test_link_header),
        cmocka_unit_test(test_link_to_another_server),
        cmocka_unit_test(test_budget_in_seconds),
        cmocka_unit_test(test_retry_after_is_capped),
        cmocka_unit_test(test_retry_after_of_200),
        cmocka_unit_test(test_write_is_sent_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
