/* The DNS message code on messages written down by hand. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/mem.h"
#include "resolver/message.h"

/* A message is put together from raw parts. */
struct wire {
    uint8_t bytes[65535];
    size_t len;
};

static void put(struct wire *w, const void *p, size_t n)
{
    assert_true(n <= sizeof w->bytes - w->len);
    memcpy(w->bytes + w->len, p, n);
    w->len += n;
}

static void put16(struct wire *w, unsigned v)
{
    uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};

    put(w, b, 2);
}

static void put_name(struct wire *w, const char *name)
{
    uint8_t zero = 0;

    while (*name != '\0' && strcmp(name, ".") != 0) {
        uint8_t n = (uint8_t)strcspn(name, ".");

        put(w, &n, 1);
        put(w, name, n);
        name += n;
        name += *name == '.';
    }
    put(w, &zero, 1);
}

static void head(struct wire *w, unsigned flags, unsigned an, unsigned ns,
                 unsigned ar)
{
    w->len = 0;
    put16(w, 0x1234);
    put16(w, flags);
    put16(w, 1);
    put16(w, an);
    put16(w, ns);
    put16(w, ar);
}

static void question(struct wire *w, const char *name, unsigned type)
{
    put_name(w, name);
    put16(w, type);
    put16(w, 1);
}

static void record(struct wire *w, const char *name, unsigned type,
                   uint32_t ttl_s, const void *data, size_t len)
{
    put_name(w, name);
    put16(w, type);
    put16(w, 1);
    put16(w, ttl_s >> 16);
    put16(w, ttl_s & 0xffff);
    put16(w, (unsigned)len);
    put(w, data, len);
}

static struct message *decode(const struct wire *w)
{
    struct message *m;
    struct err e = {0};

    if (message_decode(w->bytes, w->len, &m, &e) != 0)
        fail_msg("%s", e.msg);
    return m;
}

enum { QR = 0x8000, AA = 0x0400, TC = 0x0200, AD = 0x0020 };

/* --- queries -------------------------------------------------------------- */

static void test_query(void **state)
{
    static const uint8_t want[] =
        "\0\0\1\x20\0\1\0\0\0\0\0\1"                   /* RD, AD; 1 OPT */
        "\x09_failover\3www\7example\3org\0\0\x10\0\1" /* TXT IN */
        "\0\0\x29\x04\xd0\0\0\0\0\0\0";                /* 1232 */
    uint8_t *wire;
    size_t len;
    struct err e;

    (void)state;
    assert_int_equal(message_query("_failover.www.example.org.", MESSAGE_TXT,
                                   true, true, &wire, &len, &e),
                     0);
    assert_int_equal(len, sizeof want - 1);
    assert_memory_equal(wire, want, len);
    message_set_id(wire, 0xabcd);
    assert_int_equal(wire[0], 0xab);
    assert_int_equal(wire[1], 0xcd);
    free(wire);
}

static void test_query_plain(void **state)
{
    static const uint8_t want[] = "\0\0\0\0\0\1\0\0\0\0\0\0"
                                  "\7example\3org\0\0\xfc\0\1";
    uint8_t *wire;
    size_t len;
    struct err e;

    (void)state;
    assert_int_equal(message_query_plain("example.org.", MESSAGE_AXFR, false,
                                         false, &wire, &len, &e),
                     0);
    assert_int_equal(len, sizeof want - 1);
    assert_memory_equal(wire, want, len);
    free(wire);
    assert_int_equal(
        message_query_plain("a..b.", MESSAGE_A, false, false, &wire, &len, &e),
        -1);
    assert_int_equal(e.code, ERR_INPUT);
}

/* --- headers -------------------------------------------------------------- */

static void test_header(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;

    (void)state;
    head(w, QR | AA | AD | TC | 2, 0, 0, 0);
    question(w, "wWw.example.org", MESSAGE_A);
    m = decode(w);
    assert_int_equal(message_id(m), 0x1234);
    assert_int_equal(message_rcode(m), 2);
    assert_true(message_is_aa(m) && message_is_ad(m) && message_is_tc(m));
    assert_false(message_has_edns(m) || message_has_soa(m));
    assert_true(message_answers(m, "www.example.org.", MESSAGE_A));
    assert_false(message_answers(m, "www.example.org.", MESSAGE_TXT));
    assert_false(message_answers(m, "example.org.", MESSAGE_A));
    message_free(m);

    head(w, 0, 0, 0, 0); /* a query is no answer */
    question(w, "www.example.org", MESSAGE_A);
    m = decode(w);
    assert_false(message_answers(m, "www.example.org.", MESSAGE_A));
    assert_false(message_is_aa(m) || message_is_ad(m) || message_is_tc(m));
    message_free(m);
    message_free(NULL);
    free(w);
}

static void test_extended_rcode(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;

    (void)state;
    head(w, QR, 0, 0, 1);
    question(w, ".", MESSAGE_NS);
    put(w, "\0\0\x29\x04\xd0\1\0\0\0\0\0", 11); /* RCODE 16 */
    m = decode(w);
    assert_int_equal(message_rcode(m), 16);
    assert_true(message_has_edns(m));
    assert_true(message_answers(m, ".", MESSAGE_NS));
    message_free(m);
    free(w);
}

static void test_names_of_codes(void **state)
{
    (void)state;
    assert_string_equal(message_rcode_name(0), "NOERROR");
    assert_string_equal(message_rcode_name(2), "SERVFAIL");
    assert_string_equal(message_rcode_name(3), "NXDOMAIN");
    assert_string_equal(message_rcode_name(5), "REFUSED");
    assert_string_equal(message_rcode_name(9), "NOTAUTH");
    assert_string_equal(message_rcode_name(16), "BADVERS");
    assert_string_equal(message_rcode_name(13), "an unassigned RCODE");
    assert_string_equal(message_rcode_name(-1), "an unassigned RCODE");
    assert_string_equal(message_rcode_name(4095), "an unassigned RCODE");
    assert_string_equal(message_type_name(MESSAGE_AAAA), "AAAA");
    assert_null(message_type_name(64000));
}

static void test_authority(void **state)
{
    static const uint8_t soa[] = "\0\0\0\0\0\5\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1";
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    uint32_t serial;

    (void)state;
    head(w, QR, 0, 1, 0);
    question(w, "x.example.org", MESSAGE_TXT);
    record(w, "example.org", MESSAGE_NS, 60, "\2ns\0", 4);
    m = decode(w);
    assert_true(message_is_referral(m));
    assert_false(message_has_soa(m));
    message_free(m);

    head(w, QR, 0, 2, 0);
    question(w, "x.example.org", MESSAGE_TXT);
    record(w, "example.org", MESSAGE_NS, 60, "\2ns\0", 4);
    record(w, "example.org", MESSAGE_SOA, 60, soa, sizeof soa - 1);
    m = decode(w);
    assert_false(message_is_referral(m));
    assert_true(message_has_soa(m));
    assert_int_equal(message_serial(m, &serial), -1); /* not in the answer */
    message_free(m);

    head(w, QR, 1, 0, 0);
    question(w, "example.org", MESSAGE_SOA);
    record(w, "example.org", MESSAGE_SOA, 60, soa, sizeof soa - 1);
    m = decode(w);
    assert_int_equal(message_serial(m, &serial), 0);
    assert_int_equal(serial, 5);
    message_free(m);
    free(w);
}

/* --- records -------------------------------------------------------------- */

static void test_txt(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    const struct message_txt *t;
    size_t n;

    (void)state;
    head(w, QR | AA, 4, 0, 0);
    question(w, "_failover.www.example.org", MESSAGE_TXT);
    record(w, "_failover.www.example.org", MESSAGE_TXT, 300, "\3a\0\xff\0\1b",
           7);
    record(w, "_FAILOVER.www.Example.org", MESSAGE_TXT, 60, "\0", 1);
    record(w, "_failover.www.example.org", MESSAGE_A, 60, "\xc0\0\2\1", 4);
    record(w, "other.example.org", MESSAGE_TXT, 0x80000001, "\1x", 2);
    m = decode(w);
    assert_int_equal(
        message_count(m, "_failover.www.example.org.", MESSAGE_TXT), 2);
    assert_int_equal(message_count(m, NULL, MESSAGE_TXT), 3);
    t = message_txts(m, "_failover.www.example.org.", &n);
    assert_int_equal(n, 2);
    assert_int_equal(t[0].ttl_s, 300);
    assert_int_equal(t[0].nstrings, 3);
    assert_int_equal(t[0].strings[0].len, 3);
    assert_memory_equal(t[0].strings[0].data, "a\0\xff", 3);
    assert_int_equal(t[0].strings[1].len, 0);
    assert_memory_equal(t[0].strings[2].data, "b", 1);
    assert_int_equal(t[1].nstrings, 1);
    assert_int_equal(t[1].strings[0].len, 0);
    t = message_txts(m, "other.example.org.", &n);
    assert_int_equal(n, 1);
    assert_int_equal(t[0].ttl_s, 0); /* RFC 2181 8: the top bit is set */
    (void)message_txts(m, "none.example.org.", &n);
    assert_int_equal(n, 0);
    message_free(m);
    free(w);
}

static void test_long_txt(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    uint8_t data[254 * 256];
    struct message *m;
    const struct message_txt *t;
    size_t n;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = i % 256 == 0 ? 255 : (uint8_t)i;
    head(w, QR | AA, 1, 0, 0);
    question(w, "a", MESSAGE_TXT);
    record(w, "a", MESSAGE_TXT, 1, data, sizeof data);
    m = decode(w);
    t = message_txts(m, "a.", &n);
    assert_int_equal(n, 1);
    assert_int_equal(t->nstrings, 254);
    for (size_t i = 0; i < t->nstrings; i++) {
        assert_int_equal(t->strings[i].len, 255);
        assert_memory_equal(t->strings[i].data, data + 256 * i + 1, 255);
    }
    message_free(m);
    free(w);
}

static void test_addrs(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    struct addr a[2];
    uint32_t ttl_s;
    char text[ADDR_TEXT_SIZE];

    (void)state;
    head(w, QR, 5, 0, 0);
    question(w, "www.example.org", MESSAGE_A);
    record(w, "www.example.org", MESSAGE_CNAME, 9, "\1x\7example\3org\0", 15);
    record(w, "x.example.org", MESSAGE_A, 300, "\xc0\0\2\1", 4);
    record(w, "x.example.org", MESSAGE_A, 60, "\xc0\0\2\2", 4);
    record(w, "x.example.org", MESSAGE_A, 400, "\xc0\0\2\3", 4);
    record(w, "x.example.org", MESSAGE_AAAA, 30,
           "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16);
    m = decode(w);
    assert_int_equal(message_addrs(m, NULL, MESSAGE_A, a, 2, &ttl_s), 3);
    assert_int_equal(ttl_s, 60);
    assert_string_equal(addr_format_port(&a[1], text), "192.0.2.2:0");
    assert_int_equal(
        message_addrs(m, "www.example.org.", MESSAGE_A, a, 2, &ttl_s), 0);
    assert_int_equal(
        message_addrs(m, "x.example.org.", MESSAGE_AAAA, a, 2, &ttl_s), 1);
    assert_int_equal(ttl_s, 30);
    assert_string_equal(addr_format(&a[0], text), "2001:db8::1");
    message_free(m);
    free(w);
}

static void test_targets(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    const char *const *t;
    struct message *m;
    size_t n;

    (void)state;
    head(w, QR, 3, 0, 0);
    question(w, "example.org", MESSAGE_NS);
    record(w, "example.org", MESSAGE_NS, 9, "\3NS1\xc0\x0c", 6); /* pointer */
    record(w, "example.org", MESSAGE_NS, 9, "\3a.b\4test\0", 10);
    record(w, "example.org", MESSAGE_NS, 9, "\2ns\4test\0", 9);
    m = decode(w);
    t = message_targets(m, "example.org.", MESSAGE_NS, &n);
    assert_int_equal(n, 2); /* "a\.b" is no name to us */
    assert_string_equal(t[0], "ns1.example.org.");
    assert_string_equal(t[1], "ns.test.");
    message_free(m);
    free(w);
}

/* --- bad input ------------------------------------------------------------ */

static void test_every_cut_is_refused(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    struct err e;

    (void)state;
    head(w, QR | AA, 1, 0, 0);
    question(w, "example.org", MESSAGE_TXT);
    record(w, "example.org", MESSAGE_TXT, 60, "\3abc\2de", 7);
    for (size_t n = 0; n < w->len; n++) {
        /* A copy of that size: the sanitizer sees a read beyond it. */
        uint8_t *cut = malloc(n > 0 ? n : 1);

        assert_non_null(cut);
        memcpy(cut, w->bytes, n);
        memset(&e, 0, sizeof e);
        assert_int_equal(message_decode(cut, n, &m, &e), -1);
        assert_int_equal(e.code, ERR_RETRY);
        assert_non_null(strstr(e.msg, "cannot be decoded"));
        assert_null(m);
        free(cut);
    }
    free(w);
}

static void test_string_beyond_the_record(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    struct err e;

    (void)state;
    head(w, QR | AA, 1, 0, 0);
    question(w, "example.org", MESSAGE_TXT);
    record(w, "example.org", MESSAGE_TXT, 60,
           "\x09"
           "abc",
           4);
    assert_int_equal(message_decode(w->bytes, w->len, &m, &e), -1);
    free(w);
}

static void test_compression_loop(void **state)
{
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    struct err e;

    (void)state;
    head(w, QR, 0, 0, 0);
    put(w, "\xc0\x0c\0\x10\0\1", 6); /* a pointer to itself */
    assert_int_equal(message_decode(w->bytes, w->len, &m, &e), -1);
    free(w);
}

static bool count_records(void *arg, const struct message_record *r)
{
    size_t *n = arg;

    if (*n == 0) {
        assert_string_equal(r->owner, "example.org.");
        assert_int_equal(r->serial, 0xfffffffe);
    }
    return ++*n < 2;
}

static void test_each(void **state)
{
    static const uint8_t soa[] =
        "\0\0\xff\xff\xff\xfe\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1";
    struct wire *w = mem_alloc(sizeof *w);
    struct message *m;
    size_t n = 0;

    (void)state;
    head(w, QR, 3, 0, 0);
    question(w, "example.org", MESSAGE_AXFR);
    record(w, "Example.org", MESSAGE_SOA, 60, soa, sizeof soa - 1);
    record(w, "a.example.org", MESSAGE_A, 60, "\xc0\0\2\1", 4);
    record(w, "b.example.org", MESSAGE_A, 60, "\xc0\0\2\1", 4);
    m = decode(w);
    message_each(m, count_records, &n);
    assert_int_equal(n, 2); /* it stopped when told so */
    message_free(m);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_query_plain),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_extended_rcode),
        cmocka_unit_test(test_names_of_codes),
        cmocka_unit_test(test_authority),
        cmocka_unit_test(test_txt),
        cmocka_unit_test(test_long_txt),
        cmocka_unit_test(test_addrs),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_string_beyond_the_record),
        cmocka_unit_test(test_compression_loop),
        cmocka_unit_test(test_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
