/* Dynamic updates without a server: record data, what is remembered, and what
 * an answer means. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/rfc2136/rfc2136.h"

#define ZONE "example.org."

static struct message_rdata make(struct arena *a, enum rr_type type,
                                 const char *text)
{
    struct message_rdata r;
    struct err e = {0};

    if (rfc2136_rdata_make(a, type, text, &r, &e) != 0)
        fail_msg("%s", e.msg);
    return r;
}

/* ---- record data --------------------------------------------------------- */

static void test_data_there_and_back(void **state)
{
    static const struct {
        enum rr_type type;
        const char *text;
        size_t len;
    } all[] = {{RR_A, "192.0.2.1", 4},
               {RR_AAAA, "2001:db8::1", 16},
               {RR_CNAME, "www.example.org.", 17},
               {RR_CNAME, ".", 1}};
    struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct message_rdata r = make(a, all[i].type, all[i].text);

        assert_int_equal(r.len, all[i].len);
        assert_string_equal(rfc2136_rdata_text(a, all[i].type, &r),
                            all[i].text);
    }
    arena_free(a);
}

static void test_bad_data(void **state)
{
    struct arena *a = arena_new();
    struct message_rdata r;
    struct err e = {0};

    (void)state;
    assert_int_equal(rfc2136_rdata_make(a, RR_A, "2001:db8::1", &r, &e), -1);
    assert_int_equal(rfc2136_rdata_make(a, RR_AAAA, "192.0.2.1", &r, &e), -1);
    assert_int_equal(rfc2136_rdata_make(a, RR_TXT, "x", &r, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
    arena_free(a);
}

/* Names compare without case, addresses and texts byte by byte. */
static void test_equal(void **state)
{
    static const uint8_t upper[] = "\3WwW\7Example\3ORG";
    static const uint8_t odd[] = "\3a.b\1 ";
    struct arena *a = arena_new();
    struct message_rdata lower = make(a, RR_CNAME, "www.example.org.");
    struct message_rdata other = {upper, sizeof upper, 0};
    struct message_rdata strange = {odd, sizeof odd, 0};

    (void)state;
    assert_true(rfc2136_rdata_equal(RR_CNAME, &lower, &other));
    assert_false(rfc2136_rdata_equal(RR_TXT, &lower, &other));
    assert_string_equal(rfc2136_rdata_text(a, RR_CNAME, &other),
                        "www.example.org.");
    assert_string_equal(rfc2136_rdata_text(a, RR_CNAME, &strange),
                        "a\\046b.\\032.");
    arena_free(a);
}

static void test_txt(void **state)
{
    struct arena *a = arena_new();
    struct message_rdata r;
    char text[600];
    size_t len;

    (void)state;
    memset(text, 'x', sizeof text);
    for (size_t n = 0; n <= sizeof text; n += 100) {
        rfc2136_rdata_txt(a, text, n, &r);
        assert_int_equal(r.len, n + (n == 0 ? 1 : (n + 254) / 255));
        assert_memory_equal(rfc2136_rdata_txt_text(a, &r, &len), text, n);
        assert_int_equal(len, n);
    }
    arena_free(a);
}

/* ---- what is remembered -------------------------------------------------- */

static void fill(struct rfc2136_set three[3], const char *name,
                 const struct message_rdata *v, size_t n)
{
    static const enum rr_type types[] = {RR_A, RR_AAAA, RR_CNAME};

    for (size_t k = 0; k < 3; k++)
        three[k] = (struct rfc2136_set){.name = name, .type = types[k]};
    three[0].v = v;
    three[0].n = n;
    three[0].ttl_s = 60;
}

static void test_memory(void **state)
{
    struct rfc2136_memory *m = rfc2136_memory_new();
    struct arena *a = arena_new();
    struct message_rdata v[2] = {make(a, RR_A, "192.0.2.1"),
                                 make(a, RR_A, "192.0.2.2")};
    struct rfc2136_soa soa = {7, 300}, got_soa;
    struct rfc2136_set sets[6], got = {.name = "b.example.org.", .type = RR_A};
    struct rfc2136_set none = {.name = "b.example.org.", .type = RR_AAAA};
    struct rfc2136_set far = {.name = "c.example.org.", .type = RR_A};

    (void)state;
    fill(sets, "b.example.org.", v, 2);
    fill(sets + 3, "a.example.org.", v, 1);
    sets[4].err.code = ERR_NOTFOUND; /* a's AAAA is not known */
    assert_false(rfc2136_memory_get(m, ZONE, a, &got, &got_soa));
    rfc2136_memory_replace(m, ZONE, &soa, sets, 2);
    assert_true(rfc2136_memory_get(m, ZONE, a, &got, &got_soa));
    assert_int_equal(got.n, 2);
    assert_int_equal(got.ttl_s, 60);
    assert_int_equal(got_soa.serial, 7);
    assert_true(rfc2136_set_equal(&got, &sets[0]));
    assert_true(rfc2136_memory_get(m, ZONE, a, &none, &got_soa));
    assert_int_equal(none.n, 0); /* known: there is none */
    assert_false(rfc2136_memory_get(m, ZONE, a, &far, &got_soa));
    assert_false(rfc2136_memory_get(m, "example.net.", a, &got, &got_soa));
    none.name = "a.example.org.";
    assert_false(rfc2136_memory_get(m, ZONE, a, &none, &got_soa));

    sets[0].n = 1;
    rfc2136_memory_set(m, ZONE, got.name, RR_A, &sets[0]);
    assert_true(rfc2136_memory_get(m, ZONE, a, &got, &got_soa));
    assert_int_equal(got.n, 1);
    rfc2136_memory_set(m, ZONE, got.name, RR_A, NULL);
    assert_false(rfc2136_memory_get(m, ZONE, a, &got, &got_soa));
    rfc2136_memory_set(m, ZONE, "c.example.org.", RR_A, &sets[0]);
    assert_false(rfc2136_memory_get(m, ZONE, a, &far, &got_soa));
    arena_free(a);
    rfc2136_memory_free(m);
}

/* ---- messages ------------------------------------------------------------ */

/* What is said of a size is at least what it takes. */
static void test_step_size(void **state)
{
    struct arena *a = arena_new();
    struct message_rdata v[2] = {make(a, RR_A, "192.0.2.1"),
                                 make(a, RR_A, "192.0.2.2")};
    struct rfc2136_set now = {.name = "www.example.org.", .type = RR_A};
    struct rfc2136_set want = now;
    struct rfc2136_step step = {&now, &want};
    struct err e = {0};
    uint8_t *wire;
    size_t len, last = 0;

    (void)state;
    now.v = want.v = v;
    want.ttl_s = 60;
    for (now.n = 0; now.n <= 2; now.n++) {
        for (want.n = 0; want.n <= 2; want.n++) {
            assert_int_equal(
                rfc2136_update_build(ZONE, &step, 1, &wire, &len, &e), 0);
            assert_in_range(len, 12 + 17 + 20,
                            12 + 17 + rfc2136_step_size(&step));
            assert_int_equal(wire[2] >> 3, 5); /* UPDATE, and no RD */
            assert_int_equal(wire[2] & 1, 0);
            /* prerequisites: each old value, or "there is none" */
            assert_int_equal(wire[7], now.n > 0 ? now.n : 1);
            assert_int_equal(wire[9], 1 + want.n); /* delete, add all */
            last = len;
            free(wire);
        }
    }
    assert_true(last > 0);
    arena_free(a);
}

/* An answer of this header to an update of ZONE, and what the signature is. */
static enum rfc2136_verdict judge(unsigned flags, enum tsig_verdict tsig,
                                  uint16_t error, struct err *e)
{
    uint8_t wire[] = "\0\0\0\0\0\1\0\0\0\0\0\0\7example\3org\0\0\6\0\1";
    struct rfc2136 p = {.who = "192.0.2.53:53"};
    struct rfc2136_answer a = {.is_signed = true};
    enum rfc2136_verdict v;

    wire[2] = (uint8_t)(flags >> 8);
    wire[3] = (uint8_t)flags;
    a.tsig.verdict = tsig;
    a.tsig.error = error;
    assert_int_equal(message_decode(wire, sizeof wire - 1, &a.m, e), 0);
    v = rfc2136_update_judge(&p, ZONE, &a, e);
    message_free(a.m);
    return v;
}

static void test_judge(void **state)
{
    static const struct {
        unsigned flags;
        enum tsig_verdict tsig;
        uint16_t error;
        enum rfc2136_verdict want;
        enum err_code code;
    } all[] = {
        {0xa800, TSIG_GOOD, 0, RFC2136_DONE, ERR_NONE},
        {0xa800, TSIG_UNSIGNED, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN},
        {0xa800, TSIG_BAD_MAC, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN},
        {0xa800, TSIG_BAD_TIME, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN},
        {0xa800, TSIG_OTHER_KEY, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN},
        {0xa805, TSIG_BAD_MAC, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN},
        {0x2800, TSIG_GOOD, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN}, /* no QR */
        {0x8000, TSIG_GOOD, 0, RFC2136_DISBELIEVED, ERR_UNKNOWN}, /* a query */
        {0xa808, TSIG_GOOD, 0, RFC2136_STALE, ERR_CONFLICT},
        {0xa807, TSIG_GOOD, 0, RFC2136_STALE, ERR_CONFLICT},
        {0xa805, TSIG_GOOD, 0, RFC2136_REFUSED, ERR_AUTH},
        {0xa805, TSIG_UNSIGNED, 0, RFC2136_REFUSED, ERR_AUTH},
        {0xa809, TSIG_UNSIGNED, 17, RFC2136_REFUSED, ERR_AUTH},
        {0xa809, TSIG_UNSIGNED, 16, RFC2136_STOP, ERR_AUTH},
        {0xa809, TSIG_GOOD, 18, RFC2136_STOP, ERR_AUTH},
        {0xa804, TSIG_UNSIGNED, 0, RFC2136_STOP, ERR_AUTH},
        {0xa80a, TSIG_GOOD, 0, RFC2136_REFUSED, ERR_INPUT},
        {0xa802, TSIG_UNSIGNED, 0, RFC2136_FAILED, ERR_RETRY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct err e = {0};
        enum rfc2136_verdict v =
            judge(all[i].flags, all[i].tsig, all[i].error, &e);

        if (v != all[i].want || e.code != all[i].code)
            fail_msg("case %zu: %d %s", i, (int)v, e.msg);
        if (v != RFC2136_DONE)
            assert_non_null(strstr(e.msg, "192.0.2.53:53"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_there_and_back),
        cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_txt),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_step_size),
        cmocka_unit_test(test_judge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
