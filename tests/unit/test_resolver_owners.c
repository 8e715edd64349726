/* The owners of _failover records out of the messages of a zone transfer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ldns/ldns.h>

#include "agent/base/mem.h"
#include "resolver/owners.h"

#define SOA_1 "e.test. 60 IN SOA ns. ops. 1 1 1 1 1"
#define SOA_2 "e.test. 60 IN SOA ns. ops. 2 1 1 1 1"

/* A response to the AXFR of e.test with the records given as text. */
static struct message *make(const char *const *records, int rcode)
{
    ldns_pkt *pkt = ldns_pkt_query_new(ldns_dname_new_frm_str("e.test."),
                                       LDNS_RR_TYPE_AXFR, LDNS_RR_CLASS_IN, 0);
    struct message *m;
    struct err e;
    uint8_t *wire;
    size_t len;

    ldns_pkt_set_qr(pkt, true);
    ldns_pkt_set_rcode(pkt, (uint8_t)rcode);
    for (; records != NULL && *records != NULL; records++) {
        ldns_rr *rr;

        assert_int_equal(ldns_rr_new_frm_str(&rr, *records, 0, NULL, NULL),
                         LDNS_STATUS_OK);
        assert_true(ldns_pkt_push_rr(pkt, LDNS_SECTION_ANSWER, rr));
    }
    assert_int_equal(ldns_pkt2wire(&wire, pkt, &len), LDNS_STATUS_OK);
    ldns_pkt_free(pkt);
    if (message_decode(wire, len, &m, &e) != 0)
        fail_msg("%s", e.msg);
    free(wire);
    return m;
}

static int take(struct owners *o, const char *const *records, int rcode,
                bool *done, struct err *e)
{
    struct message *m = make(records, rcode);
    int status;

    memset(e, 0, sizeof *e);
    *done = false;
    status = owners_take(o, m, "192.0.2.53:53", done, e);
    message_free(m);
    return status;
}

#define RECORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_names(void **state)
{
    static const char *const want[] = {"e.test.", "b.e.test.", "a.b.e.test.",
                                       "www.e.test."};
    struct owners *o = owners_new("e.test.");
    const struct resolver_owner *names;
    bool done;
    struct err e;
    size_t n;
    uint32_t serial;

    (void)state;
    assert_int_equal(take(o,
                          RECORDS(SOA_1, "e.test. 60 IN NS ns.",
                                  "_failover.www.e.test. 60 IN TXT a",
                                  "_failover.www.e.test. 60 IN TXT b",
                                  "_failover.child.e.test. 60 IN TXT childs",
                                  "_failover.x.child.e.test. 60 IN TXT below",
                                  "_failover.e.test. 60 IN TXT apex"),
                          0, &done, &e),
                     0);
    assert_false(done);
    assert_int_equal(take(o,
                          RECORDS("_Failover.B.e.test. 60 IN TXT x",
                                  "_failover.a.b.e.test. 60 IN TXT x",
                                  "_failover.addr.e.test. 60 IN A 192.0.2.1",
                                  "x_failover.no.e.test. 60 IN TXT x",
                                  "_failover.a\\.c.e.test. 60 IN TXT x",
                                  "_failover.out.test. 60 IN TXT x",
                                  "child.e.test. 60 IN NS ns.",
                                  "_failover.child.e.test. 60 IN NS ns.",
                                  "_failover.www.e.test. 60 IN TXT again"),
                          0, &done, &e),
                     0);
    assert_false(done);
    assert_int_equal(take(o, RECORDS(SOA_1), 0, &done, &e), 0);
    assert_true(done);
    names = owners_get(o, &n, &serial);
    assert_int_equal(serial, 1);
    assert_int_equal(n, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(names[i].name, want[i]);
    owners_free(o);
    owners_free(NULL);
}

/* "a+b/60 c/5" for the texts of one owner. */
static const char *texts(const struct resolver_owner *r, char out[64])
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < r->ntxts; i++) {
        for (size_t k = 0; k < r->txts[i].nstrings; k++)
            at += (size_t)snprintf(out + at, 64 - at, "%s%.*s",
                                   k > 0   ? "+"
                                   : i > 0 ? " "
                                           : "",
                                   (int)r->txts[i].strings[k].len,
                                   r->txts[i].strings[k].data);
        at += (size_t)snprintf(out + at, 64 - at, "/%u", r->txts[i].ttl_s);
    }
    return out;
}

static void test_texts(void **state)
{
    struct owners *o = owners_new("e.test.");
    const struct resolver_owner *r;
    char out[64];
    bool done;
    struct err e;
    size_t n;
    uint32_t serial;

    (void)state;
    assert_int_equal(take(o,
                          RECORDS(SOA_1, "_failover.b.e.test. 60 IN TXT a b",
                                  "_failover.b.e.test. 5 IN TXT c",
                                  "_failover.a.e.test. 7 IN TXT \"\""),
                          0, &done, &e),
                     0);
    assert_int_equal(take(o,
                          RECORDS("www.e.test. 60 IN TXT other",
                                  "_failover.b.e.test. 9 IN TXT late", SOA_1),
                          0, &done, &e),
                     0);
    assert_true(done);
    r = owners_get(o, &n, &serial);
    assert_int_equal(n, 2);
    assert_string_equal(r[0].name, "a.e.test.");
    assert_string_equal(texts(&r[0], out), "/7");
    assert_string_equal(r[1].name, "b.e.test.");
    assert_string_equal(texts(&r[1], out), "a+b/60 c/5 late/9");
    owners_free(o);
}

/* 17,000 texts of 2,000 bytes are more than is kept. */
static void test_too_many_texts(void **state)
{
    struct owners *o = owners_new("e.test.");
    const struct resolver_owner *r;
    char string[256], *record;
    bool done;
    struct err e;
    size_t n;
    uint32_t serial;

    (void)state;
    memset(string, 'x', 250);
    string[250] = '\0';
    assert_int_equal(take(o, RECORDS(SOA_1), 0, &done, &e), 0);
    for (int i = 0; i < 17000; i++) {
        record = mem_printf("_failover.h%05d.e.test. 60 IN TXT %s %s %s %s %s "
                            "%s %s %s",
                            i, string, string, string, string, string, string,
                            string, string);
        assert_int_equal(take(o, RECORDS(record), 0, &done, &e), 0);
        free(record);
    }
    assert_int_equal(take(o, RECORDS(SOA_1), 0, &done, &e), 0);
    assert_true(done);
    r = owners_get(o, &n, &serial);
    assert_int_equal(n, 17000);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(r[i].ntxts, 0);
        assert_null(r[i].txts);
    }
    owners_free(o);
}

static void test_empty_zone(void **state)
{
    struct owners *o = owners_new("e.test.");
    bool done;
    struct err e;
    size_t n;
    uint32_t serial;

    (void)state;
    assert_int_equal(take(o, RECORDS(SOA_2, SOA_2), 0, &done, &e), 0);
    assert_true(done);
    (void)owners_get(o, &n, &serial);
    assert_int_equal(n, 0);
    assert_int_equal(serial, 2);
    owners_free(o);
}

struct bad {
    const char *const *first, *const *second;
    int rcode; /* of the last message */
    enum err_code code;
    const char *text;
};

static void test_bad(void **state)
{
    const struct bad rows[] = {
        {NULL, NULL, 5, ERR_AUTH,
         "192.0.2.53:53 does not grant the zone transfer of e.test.: it says "
         "REFUSED"},
        {NULL, NULL, 9, ERR_AUTH, "NOTAUTH"},
        {NULL, NULL, 2, ERR_RETRY, "says SERVFAIL"},
        {NULL, NULL, 0, ERR_RETRY, "empty transfer"},
        {RECORDS("a.e.test. 60 IN A 192.0.2.1"), NULL, 0, ERR_RETRY,
         "does not begin with its SOA"},
        {RECORDS("o.test. 60 IN SOA ns. ops. 1 1 1 1 1"), NULL, 0, ERR_RETRY,
         "does not begin with its SOA"},
        {RECORDS(SOA_1), RECORDS(SOA_2), 0, ERR_RETRY, "serial 1, then 2"},
        {RECORDS(SOA_1), RECORDS(SOA_1, "a.e.test. 60 IN A 192.0.2.1"), 0,
         ERR_RETRY, "after the last SOA"},
        {RECORDS(SOA_1), RECORDS(SOA_1), 2, ERR_RETRY, "says SERVFAIL"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct bad *b = &rows[i];
        struct owners *o = owners_new("e.test.");
        bool done, two = b->second != NULL;
        struct err e;
        int status = take(o, b->first, two ? 0 : b->rcode, &done, &e);

        if (two) {
            assert_int_equal(status, 0);
            status = take(o, b->second, b->rcode, &done, &e);
        }
        if (status != -1 || e.code != b->code || strstr(e.msg, b->text) == NULL)
            fail_msg("row %zu: %d, \"%s\"", i, status, e.msg);
        owners_free(o);
    }
}

enum { BATCH = 500 };

static void test_limit(void **state)
{
    struct owners *o = owners_new("e.test.");
    char(*text)[64] = mem_array(BATCH, sizeof *text);
    const char *batch[BATCH + 1] = {SOA_1};
    bool done;
    struct err e;
    int status = take(o, RECORDS(SOA_1), 0, &done, &e);

    (void)state;
    for (size_t at = 0; status == 0 && at <= OWNERS_MAX; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            (void)snprintf(text[i], sizeof *text,
                           "_failover.n%zu.e.test. 60 IN TXT x", at + i);
            batch[i] = text[i];
        }
        status = take(o, batch, 0, &done, &e);
    }
    assert_int_equal(status, -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.msg, "192.0.2.53:53 has more than 100000 _failover "
                               "names in e.test.");
    free(text);
    owners_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_too_many_texts),
        cmocka_unit_test(test_empty_zone),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
