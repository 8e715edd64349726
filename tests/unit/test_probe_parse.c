#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <cjson/cJSON.h>

#include "agent/probes/dns.h"
#include "agent/probes/greeting.h"
#include "agent/probes/grpc.h"
#include "agent/probes/icmp.h"
#include "agent/probes/match.h"

static const struct probe_result fine = {PROBE_OK, PROBE_FINE, 0, 0, ""};

/* --- greetings ---------------------------------------------------------------
 */

/* Byte by byte: no verdict of a beginning is taken back. */
static void greets(enum greeting_kind k, const char *text, int reason,
                   const char *note)
{
    struct probe_result r = fine;
    size_t n = 0, len = strlen(text);

    while (n <= len && !greeting_judge(k, text, n, &r))
        n++;
    if (reason < 0) {
        assert_int_equal(n, len + 1);
        return;
    }
    assert_true(n <= len);
    assert_int_equal(r.reason, reason);
    assert_int_equal(r.verdict, reason == PROBE_FINE ? PROBE_OK : PROBE_FAIL);
    assert_string_equal(r.note, note);
}

static void test_greetings(void **state)
{
    (void)state;
    greets(GREETING_SMTP, "220 x\r\n", PROBE_FINE, "");
    greets(GREETING_SMTP, "220\n", PROBE_FINE, "");
    greets(GREETING_SMTP, "220-a\r\n220-b\r\n220 c\r\n", PROBE_FINE, "");
    greets(GREETING_SMTP, "220-a\r\n221 c\r\n", PROBE_PROTOCOL,
           "not SMTP: 221 c");
    greets(GREETING_SMTP, "421 busy\r\n", PROBE_STATUS, "421 busy");
    greets(GREETING_SMTP, "554-a\r\n554 b\r\n", PROBE_STATUS, "554-a");
    greets(GREETING_SMTP, "2200\r\n", PROBE_PROTOCOL, "not SMTP: 2200");
    greets(GREETING_SMTP, "HTTP", PROBE_PROTOCOL, "not SMTP: H");
    greets(GREETING_SMTP, "220-a\r\n220", -1, "");
    greets(GREETING_FTP, "220-a\r\n220-b\r\nfree text\r\n 220 x\r\n220 c\r\n",
           PROBE_FINE, "");
    greets(GREETING_FTP, "220-a\r\n221 c\r\n", -1, "");
    greets(GREETING_FTP, "120 wait\r\n220 x\r\n", PROBE_FINE, "");
    greets(GREETING_FTP, "530 no\r\n", PROBE_STATUS, "530 no");
    greets(GREETING_POP3, "+OK\r\n", PROBE_FINE, "");
    greets(GREETING_POP3, "-ERR no\r\n", PROBE_STATUS, "-ERR no");
    greets(GREETING_POP3, "* OK\r\n", PROBE_PROTOCOL, "not POP3: *");
    greets(GREETING_IMAP, "* ok x\r\n", PROBE_FINE, "");
    greets(GREETING_IMAP, "* PREAUTH x\r\n", PROBE_FINE, "");
    greets(GREETING_IMAP, "* BYE x\r\n", PROBE_STATUS, "* BYE x");
    greets(GREETING_IMAP, "a OK\r\n", PROBE_PROTOCOL, "not IMAP: a");
}

static void test_ldap(void **state)
{
    static const char good[] = "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04"
                               "\x00\x04\x00";
    static const char lengthy[] = "\x30\x84\x00\x00\x00\x0c\x02\x01\x01\x61\x07"
                                  "\x0a\x01\x34\x04\x00\x04\x00";
    struct probe_result r = fine;

    (void)state;
    for (size_t n = 0; n < sizeof good - 1; n++)
        assert_false(greeting_judge(GREETING_LDAP, good, n, &r));
    assert_true(greeting_judge(GREETING_LDAP, good, sizeof good - 1, &r));
    assert_int_equal(r.verdict, PROBE_OK);
    assert_true(greeting_judge(GREETING_LDAP, lengthy, sizeof lengthy - 1, &r));
    assert_string_equal(r.note, "result code 52");
}

/* --- match
 * -------------------------------------------------------------------- */

static void test_status(void **state)
{
    const struct probe_range r[] = {{200, 204}, {404, 404}};

    (void)state;
    assert_true(match_status(NULL, 0, 200) && match_status(NULL, 0, 399));
    assert_false(match_status(NULL, 0, 199) || match_status(NULL, 0, 400));
    assert_true(match_status(r, 2, 204) && match_status(r, 2, 404));
    assert_false(match_status(r, 2, 205));
}

/* source: the examples of RFC 6901 5 */
static void test_pointer(void **state)
{
    static const char text[] =
        "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
        "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";
    static const struct {
        const char *pointer;
        int value;
    } numbers[] = {{"/", 0},     {"/a~1b", 1}, {"/c%d", 2},
                   {"/e^f", 3},  {"/g|h", 4},  {"/i\\j", 5},
                   {"/k\"l", 6}, {"/ ", 7},    {"/m~0n", 8}};
    static const char *const none[] = {
        "x",    "/foo/2", "/foo/-", "/foo/01",  "/foo/",
        "/Foo", "/a~2b",  "/a~",    "/foo/0/x", "/foo/99999999999"};
    cJSON *root = cJSON_Parse(text);

    (void)state;
    assert_non_null(root);
    assert_ptr_equal(match_pointer(root, ""), root);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_int_equal(match_pointer(root, numbers[i].pointer)->valueint,
                         numbers[i].value);
    assert_string_equal(match_pointer(root, "/foo/1")->valuestring, "baz");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_null(match_pointer(root, none[i]));
    cJSON_Delete(root);
}

static int body(const char *text, const struct probe_params *p,
                struct probe_result *r)
{
    *r = fine;
    return match_body(p, text, strlen(text), false, r);
}

static void test_body(void **state)
{
    const struct probe_pair ok = {"/s", "\"ok\""}, list = {"/l", "[1,2]"};
    struct probe_result r;

    (void)state;
    assert_int_equal(body("abc", &(struct probe_params){.body = "b"}, &r), 0);
    assert_int_equal(body("abc", &(struct probe_params){.body = "B"}, &r), -1);
    assert_int_equal(
        body("a\nbc", &(struct probe_params){.body_match = "(?m)^b.$"}, &r), 0);
    assert_int_equal(
        body("\xff\xfe x1", &(struct probe_params){.body_match = "x\\d"}, &r),
        0);
    assert_int_equal(body("a", &(struct probe_params){.body_match = "\\C"}, &r),
                     -1);
    assert_int_equal(r.verdict, PROBE_LOCAL);
    assert_int_equal(
        body("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
             &(struct probe_params){.body_match = "^(a|a)*(a|a)*b$|(a+)+$x"},
             &r),
        -1);
    assert_int_equal(body("{\"s\":\"ok\",\"l\":[1,2.0]}",
                          &(struct probe_params){.json = &ok, .njson = 1}, &r),
                     0);
    assert_int_equal(body("{\"l\":[1,2]}",
                          &(struct probe_params){.json = &list, .njson = 1},
                          &r),
                     0);
    assert_int_equal(
        body("{\"s\":ok}", &(struct probe_params){.json = &ok, .njson = 1}, &r),
        -1);
    assert_string_equal(r.note, "the body is not JSON");
}

/* --- icmp
 * --------------------------------------------------------------------- */

static void test_icmp(void **state)
{
    uint8_t p[20 + 8 + 20 + 24] = {0x45};
    struct icmp_news n;
    const uint8_t host[4] = {192, 0, 2, 7};

    (void)state;
    p[9] = 1;
    p[20 + 4] = 0x12; /* id 0x1234, seq 0x5678 */
    p[20 + 5] = 0x34;
    p[20 + 6] = 0x56;
    p[20 + 7] = 0x78;
    memset(p + 28, 1, 8);
    memset(p + 36, 2, 8);
    icmp_parse(p, 44, true, 4, &n);
    assert_int_equal(n.kind, ICMP_REPLY);
    assert_int_equal(n.id, 0x1234);
    assert_int_equal(n.seq, 0x5678);
    assert_true(n.tag == 0x0101010101010101 && n.token == 0x0202020202020202);
    for (size_t len = 0; len < 44; len++) {
        icmp_parse(p, len, true, 4, &n);
        assert_int_equal(n.kind, ICMP_OTHER);
    }
    icmp_parse(p + 20, 24, false, 4, &n);
    assert_int_equal(n.kind, ICMP_REPLY);
    p[20] = 8; /* a request, our own on loopback */
    icmp_parse(p, 44, true, 4, &n);
    assert_int_equal(n.kind, ICMP_OTHER);

    memmove(p + 48, p + 20, 24);
    memset(p + 20, 0, 28);
    p[20] = 3;
    p[28] = 0x45;
    p[28 + 9] = 1;
    memcpy(p + 28 + 16, host, 4);
    icmp_parse(p, sizeof p, true, 4, &n);
    assert_int_equal(n.kind, ICMP_UNREACHABLE);
    assert_memory_equal(n.about.bytes, host, 4);
    assert_int_equal(n.seq, 0x5678);
    for (size_t len = 0; len < sizeof p; len++) {
        icmp_parse(p, len, true, 4, &n);
        assert_int_equal(n.kind, ICMP_OTHER);
    }
}

/* --- gRPC
 * ---------------------------------------------------------------------- */

static void test_grpc(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int64_t status;
    } rows[] = {
        {"\0\0\0\0\2\x08\1", 7, 1},
        {"\0\0\0\0\0", 5, 0},
        {"\0\0\0\0\6\x12\2xy\x08\2", 11, 2},
        {"\0\0\0\0\2\x08\1", 6, -1},
        {"\1\0\0\0\2\x08\1", 7, -1},
        {"\0\0\0\0\1\x08", 6, -1},
        {"\0\0\0\0\2\x12\7", 7, -1},
        {"\0\0\0\0\2\x0b\1", 7, -1},
        {"", 0, -1},
    };
    char name[301] = "";
    struct buf b;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(grpc_status((const uint8_t *)rows[i].bytes, rows[i].n),
                         rows[i].status);
    buf_init(&b, 2000);
    grpc_request(NULL, &b);
    assert_int_equal(b.len, 5);
    buf_reset(&b);
    grpc_request("svc", &b);
    assert_memory_equal(b.data, "\0\0\0\0\5\x0a\3svc", 10);
    buf_reset(&b);
    memset(name, 'n', 300);
    grpc_request(name, &b);
    assert_int_equal(b.len, 5 + 3 + 300);
    assert_memory_equal(b.data, "\0\0\0\1\x2f\x0a\xac\2nn", 10);
    buf_fini(&b);
}

/* --- dns
 * ----------------------------------------------------------------------- */

static void test_dns(void **state)
{
    struct probe_result r = fine;
    uint8_t *q = NULL, a[512];
    size_t n = 0;

    (void)state;
    assert_int_equal(dns_question("www.example.org", "AAAA", &q, &n, &r), 0);
    assert_true(n > 12 && n < sizeof a);
    assert_int_equal(q[2], 1); /* RD */
    memcpy(a, q, n);
    assert_int_equal(dns_judge(q, n, a, n, false, &r), DNS_OTHER);
    a[2] |= 0x80;
    assert_int_equal(dns_judge(q, n, a, n, false, &r), DNS_JUDGED);
    assert_string_equal(r.note, "NOERROR without data");
    a[2] |= 2;
    assert_int_equal(dns_judge(q, n, a, n, false, &r), DNS_CUT);
    a[2] &= 0xfd;
    a[3] |= 3;
    r = fine;
    assert_int_equal(dns_judge(q, n, a, n, false, &r), DNS_JUDGED);
    assert_string_equal(r.note, "NXDOMAIN");
    a[0] ^= 1;
    assert_int_equal(dns_judge(q, n, a, n, false, &r), DNS_OTHER);
    assert_int_equal(dns_judge(q, n, a, n, true, &r), DNS_JUDGED);
    assert_int_equal(r.reason, PROBE_PROTOCOL);
    for (size_t len = 0; len < n; len++)
        (void)dns_judge(q, n, a, len, false, &r);
    free(q);
    assert_int_equal(dns_question("www", "NONE", &q, &n, &r), -1);
    assert_int_equal(dns_question(NULL, "A", &q, &n, &r), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greetings), cmocka_unit_test(test_ldap),
        cmocka_unit_test(test_status),    cmocka_unit_test(test_pointer),
        cmocka_unit_test(test_body),      cmocka_unit_test(test_icmp),
        cmocka_unit_test(test_grpc),      cmocka_unit_test(test_dns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
