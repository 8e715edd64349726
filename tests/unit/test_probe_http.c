#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/probes/http_reply.h"
#include "agent/probes/http_target.h"

/* --- replies ----------------------------------------------------------------
 */

struct outcome {
    enum http_reply_step step;
    int status;
    char error[64], location[64], body[64];
    size_t body_len;
    bool cut;
};

/* The reply in pieces of that size, then the end. */
static struct outcome feed(const char *data, size_t len, size_t piece,
                           bool head)
{
    struct http_reply h;
    struct outcome o = {.step = HTTP_REPLY_MORE};

    http_reply_init(&h, head, true);
    for (size_t at = 0; at < len && o.step == HTTP_REPLY_MORE; at += piece)
        o.step =
            http_reply_feed(&h, data + at, len - at < piece ? len - at : piece);
    if (o.step == HTTP_REPLY_MORE)
        o.step = http_reply_eof(&h);
    o.status = h.status;
    o.cut = h.cut;
    o.body_len = h.body.len;
    (void)snprintf(o.error, sizeof o.error, "%s",
                   h.error != NULL ? h.error : "");
    (void)snprintf(o.location, sizeof o.location, "%s",
                   h.location != NULL ? h.location : "");
    (void)snprintf(o.body, sizeof o.body, "%s", buf_get(&h.body));
    http_reply_fini(&h);
    return o;
}

/* Whatever the pieces are, the outcome is the same. */
static struct outcome reply(const char *text)
{
    struct outcome whole = feed(text, strlen(text), SIZE_MAX / 2, false);

    for (size_t piece = 1; piece < 40; piece++) {
        struct outcome o = feed(text, strlen(text), piece, false);

        assert_int_equal(o.step, whole.step);
        assert_int_equal(o.status, whole.status);
        assert_string_equal(o.error, whole.error);
        assert_string_equal(o.body, whole.body);
    }
    return whole;
}

static void test_bodies(void **state)
{
    static const struct {
        const char *text;
        int status;
        const char *body;
    } good[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokXX", 200, "ok"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
        {"HTTP/1.0 200\r\n\r\nto the end", 200, "to the end"},
        {"HTTP/1.1 204 x\r\nContent-Length: 7\r\n\r\n", 204, ""},
        {"HTTP/1.1 304 x\n\n", 304, ""},
        {"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING:chunked\r\n"
         "Content-Length: 99\r\n\r\n1\r\na\r\n0A "
         ";x=y\r\n0123456789\r\n0\r\n\r\n",
         200, "a0123456789"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         "2\nok\n000\nT: v\nU: w\n\n",
         200, "ok"},
        {"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\nX: y\r\n\r\n"
         "HTTP/1.1 201 OK\r\nContent-Length: 1\r\n\r\nx",
         201, "x"},
        {"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 1\r\n\r\nx",
         200, "x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct outcome o = reply(good[i].text);

        assert_int_equal(o.step, HTTP_REPLY_DONE);
        assert_int_equal(o.status, good[i].status);
        assert_string_equal(o.body, good[i].body);
    }
}

static void test_bad(void **state)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "closed early"},
        {"H", "closed early"},
        {"HTTP/1.1 20", "closed early"},
        {"HTTP/1.1 200", "closed early"},
        {"HTTP/1.1 200 OK\r\n", "closed early"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "closed early"},
        {"X", "not HTTP"},
        {"moom\n", "not HTTP"},
        {"http/1.1 200 OK\r\n\r\n", "not HTTP"},
        {"HTTP/1.1  200 OK\r\n\r\n", "not HTTP"},
        {"HTTP/1.1 2x0 OK\r\n\r\n", "not HTTP"},
        {"HTTP/1.1 2000\r\n\r\n", "not HTTP"},
        {"HTTP/1.10 200 OK\r\n\r\n", "not HTTP"},
        {"HTTP/1.1 042 OK\r\n\r\n", "not HTTP"},
        {"HTTP/1.1 101 Up\r\n\r\n", "101 without being asked"},
        {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "bad header line"},
        {"HTTP/1.1 200 OK\r\nna me: x\r\n\r\n", "bad header line"},
        {"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "bad Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
         "bad Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
         "two different Content-Length"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         "unknown Transfer-Encoding"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
         "bad chunk size"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
         "bad chunk size"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         "10000000000000000\r\n",
         "bad chunk size"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
         "bad end of a chunk"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
         "closed early"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct outcome o = reply(bad[i].text);

        assert_int_equal(o.step, HTTP_REPLY_BAD);
        assert_string_equal(o.error, bad[i].error);
    }
}

static void test_zero_byte(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n";
    struct outcome o = feed(text, sizeof text - 1, 100, false);

    (void)state;
    assert_string_equal(o.error, "zero byte in the header");
}

static void test_head_and_location(void **state)
{
    static const char text[] = "HTTP/1.1 302 x\r\nLocation:  /a b \r\n"
                               "location: /second\r\n"
                               "Content-Length: 50\r\n\r\n";
    struct outcome o = feed(text, sizeof text - 1, 1, true);

    (void)state;
    assert_int_equal(o.step, HTTP_REPLY_DONE);
    assert_string_equal(o.location, "/a b");
    assert_string_equal(
        reply("HTTP/1.1 200 x\r\nLocation: /a\r\n\r\n").location, "");
}

static void test_limits(void **state)
{
    static const char start[] = "HTTP/1.1 200 OK\r\n";
    static char big[2 * HTTP_REPLY_BODY_MAX];
    struct outcome o;

    (void)state;
    memset(big, 'a', sizeof big);
    memcpy(big, start, sizeof start - 1);
    o = feed(big, HTTP_REPLY_HEAD_MAX - 1, 1000, false);
    assert_string_equal(o.error, "closed early");
    o = feed(big, HTTP_REPLY_HEAD_MAX, 1000, false);
    assert_string_equal(o.error, "header longer than 16 KiB");
    memcpy(big + sizeof start - 1, "\r\n", 2);
    o = feed(big, HTTP_REPLY_BODY_MAX + sizeof start + 1, 777, false);
    assert_int_equal(o.step, HTTP_REPLY_DONE);
    assert_int_equal(o.body_len, HTTP_REPLY_BODY_MAX);
    assert_false(o.cut);
    o = feed(big, HTTP_REPLY_BODY_MAX + sizeof start + 2, 777, false);
    assert_int_equal(o.step, HTTP_REPLY_DONE);
    assert_true(o.cut);
}

/* --- targets ----------------------------------------------------------------
 */

static struct http_target base(bool https, const char *host, uint16_t port,
                               const char *path)
{
    struct probe_params p = {.host = host, .path = path};
    struct probe_spec s = {.kind = https ? PROBE_HTTPS : PROBE_HTTP,
                           .params = &p};
    struct http_target t;
    struct probe_result r;

    s.target.family = 4;
    s.target.port = port;
    assert_int_equal(http_target_of(&s, &t, &r), 0);
    return t;
}

static void test_follow(void **state)
{
    static const struct {
        const char *location, *host, *path;
        bool https;
        uint16_t port;
    } rows[] = {
        {"/x?y=1", "www.example.org", "/x?y=1", false, 8080},
        {"x", "www.example.org", "/a/x", false, 8080},
        {"?q", "www.example.org", "/a/b?q", false, 8080},
        {"https://WWW.Example.org./", "www.example.org", "/", true, 443},
        {"https://[2001:db8::1]:444/x#frag", "2001:db8::1", "/x", true, 444},
        {"//other.test", "other.test", "/", false, 80},
        {"http://1.2.3.4:81", "1.2.3.4", "/", false, 81},
    };
    static const char *const bad[] = {
        "ftp://x/",    "file:///x", "http://u:p@x/", "http://x:99999/",
        "javascript:", "http://",   "http://a b/",   "/a\rb",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_target t = base(false, "www.example.org", 8080, "/a/b"), n;
        struct probe_result r;

        assert_int_equal(http_target_follow(&t, rows[i].location, &n, &r), 0);
        assert_string_equal(n.host, rows[i].host);
        assert_string_equal(n.path, rows[i].path);
        assert_int_equal(n.https, rows[i].https);
        assert_int_equal(n.port, rows[i].port);
        http_target_fini(&t);
        http_target_fini(&n);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct http_target t = base(false, "www.example.org", 8080, "/a/b"), n;
        struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

        assert_int_equal(http_target_follow(&t, bad[i], &n, &r), -1);
        assert_int_equal(r.reason, PROBE_PROTOCOL);
        http_target_fini(&t);
    }
}

static void test_request(void **state)
{
    const struct probe_pair headers[] = {
        {"X-A", "1"}, {"Host", "evil"}, {"Cookie", "secret"}};
    struct probe_params p = {.headers = headers, .nheaders = 3, .send = "body"};
    struct http_target t = base(true, "2001:db8::1", 8443, NULL);
    struct probe_result r;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(http_target_request(&t, &p, "POST", false, &b, &r), 0);
    assert_string_equal(buf_get(&b), "POST / HTTP/1.1\r\n"
                                     "Host: [2001:db8::1]:8443\r\n"
                                     "Connection: close\r\n"
                                     "X-A: 1\r\nCookie: secret\r\n"
                                     "User-Agent: dnsfailover\r\n"
                                     "Content-Length: 4\r\n\r\nbody");
    buf_reset(&b);
    assert_int_equal(http_target_request(&t, &p, "GET", true, &b, &r), 0);
    assert_null(strstr(buf_get(&b), "secret"));
    assert_null(strstr(buf_get(&b), "body"));
    buf_reset(&b);
    assert_int_equal(http_target_request(&t, &p, "GE T", true, &b, &r), -1);
    assert_int_equal(r.verdict, PROBE_LOCAL);
    buf_fini(&b);
    http_target_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_head_and_location),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_follow),
        cmocka_unit_test(test_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
