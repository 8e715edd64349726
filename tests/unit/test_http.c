#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "agent/base/http.h"
#include "tests/unit/http_server.h"

#define DEADLINE_MS 20000

/* What came back, copied out of the callback. */
struct got {
    bool done;
    long status;
    char type[64], body[256], location[256], pin[64];
    size_t len;
    int64_t retry_after_s, date_s;
    int family;
    struct err err;
};

static void on_answer(void *arg, const struct http_response *r)
{
    struct got *g = arg;

    assert_false(g->done);
    g->done = true;
    g->status = r->status;
    (void)snprintf(g->type, sizeof g->type, "%s", r->content_type);
    (void)snprintf(g->body, sizeof g->body, "%s", r->body);
    (void)snprintf(g->location, sizeof g->location, "%s",
                   r->location != NULL ? r->location : "");
    (void)snprintf(g->pin, sizeof g->pin, "%s", r->pin_seen);
    g->len = r->body_len;
    g->retry_after_s = r->retry_after_s;
    g->date_s = r->date_s;
    g->family = r->ip_family;
    g->err = r->err;
}

struct world {
    struct loop *loop;
    struct http *http;
    struct http_server *server;
};

static void world_open(struct world *w, http_server_cb *answer, SSL_CTX *tls)
{
    w->loop = loop_new();
    w->http = http_new(w->loop);
    w->server = http_server_start(answer, w, tls);
}

static void world_close(struct world *w)
{
    http_free(w->http);
    loop_free(w->loop);
    http_server_stop(w->server);
}

static struct got send_to(struct world *w, struct http_request *req,
                          const char *path)
{
    struct got g = {0};
    char *url = mem_printf("%s://127.0.0.1:%d%s",
                           w->server->tls != NULL ? "https" : "http",
                           w->server->port, path);

    req->url = url;
    http_send(w->http, req, on_answer, &g);
    assert_false(g.done);
    free(url);
    assert_true(loop_wait(w->loop, &g.done, clock_mono_ms() + DEADLINE_MS));
    return g;
}

static char *answer_any(struct http_server *s, const char *request)
{
    (void)s;
    if (strstr(request, " /teapot ") != NULL)
        return http_server_reply("418 I'm a teapot", "", "short");
    if (strstr(request, " /moved ") != NULL)
        return http_server_reply("302 Found",
                                 "Location: http://192.0.2.1/x\r\n", "");
    if (strstr(request, " /busy ") != NULL)
        return http_server_reply("503 Busy",
                                 "Retry-After: 7\r\nDate: "
                                 "Sun, 30 Aug 2015 12:36:00 GMT\r\n",
                                 "");
    if (strstr(request, " /gone ") != NULL)
        return NULL;
    if (strstr(request, " /cut ") != NULL)
        return mem_strdup("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
                          "Connection: close\r\n\r\nab");
    if (strstr(request, " /big ") != NULL)
        return mem_strdup("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                          "\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n");
    if (strstr(request, " /echo ") != NULL)
        return http_server_reply("200 OK", "Content-Type: text/plain\r\n",
                                 strstr(request, "\r\n\r\n") + 4);
    return http_server_reply("200 OK", "Content-Type: text/x\r\n",
                             strstr(request, "X-Mine: yes") != NULL ? "mine"
                                                                    : "hello");
}

static void test_answers(void **state)
{
    static const char *const headers[] = {"X-Mine: yes", NULL};
    struct http_request get = {0}, mine = {.headers = headers};
    struct http_request post = {.body = "a\0b", .body_len = 3};
    struct world w;
    struct got g;

    (void)state;
    world_open(&w, answer_any, NULL);
    g = send_to(&w, &get, "/");
    assert_int_equal(g.status, 200);
    assert_string_equal(g.body, "hello");
    assert_string_equal(g.type, "text/x");
    assert_int_equal(g.family, 4);
    assert_int_equal(g.retry_after_s, -1);
    assert_int_equal(g.date_s, -1);
    assert_int_equal(g.err.code, ERR_NONE);
    assert_string_equal(send_to(&w, &mine, "/").body, "mine");
    assert_int_equal(send_to(&w, &get, "/teapot").status, 418);
    g = send_to(&w, &get, "/busy");
    assert_int_equal(g.status, 503);
    assert_int_equal(g.retry_after_s, 7);
    assert_int_equal(g.date_s, 1440938160);
    g = send_to(&w, &get, "/moved"); /* not followed */
    assert_int_equal(g.status, 302);
    assert_string_equal(g.location, "http://192.0.2.1/x");
    g = send_to(&w, &post, "/echo");
    assert_int_equal(g.status, 200);
    assert_string_equal(g.body, "a");
    world_close(&w);
}

static void test_limits(void **state)
{
    struct http_request get = {.max_body = 10};
    struct world w;
    struct got g;

    (void)state;
    world_open(&w, answer_any, NULL);
    g = send_to(&w, &get, "/big"); /* says no length */
    assert_int_equal(g.err.code, ERR_LIMIT);
    assert_int_equal(g.status, 0);
    get.max_body = 12;
    g = send_to(&w, &get, "/big");
    assert_int_equal(g.status, 200);
    assert_int_equal(g.len, 12);
    get.max_body = 4; /* says its length */
    assert_int_equal(send_to(&w, &get, "/teapot").err.code, ERR_LIMIT);
    world_close(&w);
}

static void test_lost_answers(void **state)
{
    struct http_request post = {.body = "x", .body_len = 1};
    struct world w;
    int before;

    (void)state;
    world_open(&w, answer_any, NULL);
    assert_int_equal(send_to(&w, &post, "/gone").err.code, ERR_UNKNOWN);
    assert_int_equal(w.server->requests, 1);
    assert_int_equal(send_to(&w, &post, "/cut").err.code, ERR_UNKNOWN);
    /* The kept connection is dead by then: a POST is sent once all the same,
     * on a new one. */
    assert_int_equal(send_to(&w, &post, "/").status, 200);
    before = w.server->requests;
    assert_int_equal(send_to(&w, &post, "/gone").err.code, ERR_UNKNOWN);
    assert_int_equal(w.server->requests, before + 1);
    world_close(&w);
}

static void test_kept_connections(void **state)
{
    struct http_request get = {0};
    struct http_request post = {.body = "x", .body_len = 1};
    struct world w;

    (void)state;
    world_open(&w, answer_any, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(send_to(&w, &get, "/").status, 200);
    assert_int_equal(w.server->connections, 1);
    assert_int_equal(send_to(&w, &post, "/").status, 200);
    assert_int_equal(w.server->connections, 2);
    post.repeatable = true;
    assert_int_equal(send_to(&w, &post, "/").status, 200);
    assert_int_equal(w.server->connections, 2);
    world_close(&w);
}

/* A port that nobody listens at; a server that says nothing. */
static void test_no_answer(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct http_request req = {.timeout_ms = 300};
    struct world w;
    struct got g = {0};
    char *url;

    (void)state;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    world_open(&w, answer_any, NULL);
    url = mem_printf("http://127.0.0.1:%d/", ntohs(a.sin_port));
    req.url = url;
    http_send(w.http, &req, on_answer, &g);
    assert_true(loop_wait(w.loop, &g.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(g.err.code, ERR_RETRY);
    assert_non_null(strstr(g.err.msg, "127.0.0.1:"));
    /* Now the kernel takes the connection, and nobody answers. */
    assert_int_equal(listen(fd, 1), 0);
    memset(&g, 0, sizeof g);
    http_send(w.http, &req, on_answer, &g);
    assert_true(loop_wait(w.loop, &g.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(g.err.code, ERR_UNKNOWN);
    /* Open calls are dropped without a word. */
    memset(&g, 0, sizeof g);
    http_send(w.http, &req, on_answer, &g);
    world_close(&w);
    assert_false(g.done);
    free(url);
    (void)close(fd);
}

static void test_pins(void **state)
{
    struct http_request req = {0};
    struct world w;
    struct got g;
    char pin[64], line[128];

    (void)state;
    world_open(&w, answer_any, http_server_tls("DNS:elsewhere.example", NULL));
    g = send_to(&w, &req, "/");
    assert_int_equal(g.err.code, ERR_INPUT);
    assert_true(http_pin_is_valid(g.pin));
    (void)snprintf(line, sizeof line, "pin-sha256 = \"%s\"", g.pin);
    assert_non_null(strstr(g.err.msg, line));
    assert_int_equal(w.server->requests, 0);
    memcpy(pin, g.pin, sizeof pin);
    req.pin_sha256 = pin; /* chain and name do not count now */
    g = send_to(&w, &req, "/");
    assert_int_equal(g.status, 200);
    assert_string_equal(g.pin, pin);
    pin[0] = pin[0] == 'A' ? 'B' : 'A';
    g = send_to(&w, &req, "/");
    assert_int_equal(g.err.code, ERR_INPUT);
    assert_non_null(strstr(g.err.msg, line));
    assert_non_null(strstr(g.err.msg, "not the pinned one"));
    /* The kept, trusted connection is not used for it. */
    req.pin_sha256 = NULL;
    assert_int_equal(send_to(&w, &req, "/").err.code, ERR_INPUT);
    assert_int_equal(w.server->requests, 1);
    req.pin_sha256 = "not a pin";
    assert_int_equal(send_to(&w, &req, "/").err.code, ERR_INPUT);
    world_close(&w);
}

/* The content of a file that is there, for the caller to free. */
static char *content(const char *path)
{
    char *text = mem_alloc(65536);
    FILE *f = fopen(path, "re");

    assert_non_null(f);
    assert_true(fread(text, 1, 65535, f) > 0);
    (void)fclose(f);
    return text;
}

static void test_ca_pem(void **state)
{
    char pem[] = "/tmp/dnsfailover-ca-XXXXXX";
    int fd = mkstemp(pem);
    struct http_request req = {.method = NULL};
    struct world w;
    char *text;

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    world_open(&w, answer_any, http_server_tls("IP:127.0.0.1", pem));
    req.ca_pem = text = content(pem);
    assert_int_equal(send_to(&w, &req, "/").status, 200);
    world_close(&w);
    free(text);
    world_open(&w, answer_any, http_server_tls("IP:127.0.0.9", pem));
    req.ca_pem = text = content(pem);
    assert_int_equal(send_to(&w, &req, "/").err.code, ERR_INPUT);
    req.ca_pem = "nonsense";
    assert_int_equal(send_to(&w, &req, "/").err.code, ERR_INPUT);
    world_close(&w);
    free(text);
    (void)unlink(pem);
}

static void test_urls(void **state)
{
    static const char *const bad[] = {
        "",        "panel",          "ftp://x/",     "file:///etc/passwd",
        "http://", "https://u:p@x/", "https://u@x/", "http://x:99999/",
    };
    struct http_url u;
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(http_url_parse(bad[i], &u, &e), -1);
        assert_int_equal(e.code, ERR_INPUT);
        assert_null(strstr(e.msg, "u:p"));
    }
    assert_int_equal(http_url_parse("https://panel.example.org/x", &u, &e), 0);
    assert_true(u.https);
    assert_false(u.loopback);
    assert_int_equal(u.port, 443);
    assert_string_equal(u.host, "panel.example.org");
    assert_int_equal(http_url_parse("http://[::1]:8080/", &u, &e), 0);
    assert_string_equal(u.host, "::1");
    assert_true(u.loopback);
    assert_int_equal(u.port, 8080);
    assert_int_equal(http_url_parse("http://127.3.2.1/", &u, &e), 0);
    assert_true(u.loopback);
    assert_int_equal(http_url_parse("http://localhost/", &u, &e), 0);
    assert_true(u.loopback);
    assert_int_equal(http_url_parse("http://127.0.0.1.example.org/", &u, &e),
                     0);
    assert_false(u.loopback);
}

static void test_bad_request(void **state)
{
    struct http_request req = {.url = "gopher://127.0.0.1/"};
    struct got g = {0};
    struct world w;

    (void)state;
    world_open(&w, answer_any, NULL);
    http_send(w.http, &req, on_answer, &g);
    assert_false(g.done);
    assert_true(loop_wait(w.loop, &g.done, clock_mono_ms() + DEADLINE_MS));
    assert_int_equal(g.err.code, ERR_INPUT);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_lost_answers),
        cmocka_unit_test(test_kept_connections),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_ca_pem),
        cmocka_unit_test(test_urls),
        cmocka_unit_test(test_bad_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
