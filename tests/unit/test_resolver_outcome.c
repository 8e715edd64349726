/* Found, gone, failed: what an answer says of the records. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resolver/outcome.h"

enum { QR = 0x8000, AA = 0x0400, AD = 0x0020 };
enum section { NOTHING, WANTED, ALIAS, OTHER_NAME, ALIAS_AND_WANTED };
enum authority { NONE, SOA, NS };

static const uint8_t name_n[] = "\1n\4test";
static const uint8_t txt[] = "\0\x10\0\1\0\0\0\x3c\0\2\1x";
static const uint8_t cname[] = "\0\5\0\1\0\0\0\x3c\0\2\1x";
static const uint8_t soa[] = "\0\6\0\1\0\0\0\x3c\0\x16\0\0\0\0\0\1\0\0\0\1\0\0"
                             "\0\1\0\0\0\1\0\0\0\1";
static const uint8_t ns[] = "\0\2\0\1\0\0\0\x3c\0\3\1n";

struct build {
    uint8_t bytes[512];
    size_t len;
};

static void put(struct build *b, const void *p, size_t n)
{
    assert_true(n <= sizeof b->bytes - b->len);
    memcpy(b->bytes + b->len, p, n);
    b->len += n;
}

/* owner's first label and then "test"; data with its final NUL byte, which
 * each of the above uses as root label or drops. */
static void put_record(struct build *b, char label, const uint8_t *data,
                       size_t n)
{
    uint8_t owner[] = "\1n\4test";

    owner[1] = (uint8_t)label;
    put(b, owner, sizeof owner);
    put(b, data, n);
}

static struct message *answer(unsigned flags, int rcode, enum section s,
                              enum authority a)
{
    struct build b = {0};
    struct message *m;
    struct err e;
    unsigned an = s == NOTHING ? 0 : s == ALIAS_AND_WANTED ? 2 : 1;
    uint8_t head[12] = {[2] = (uint8_t)((flags | QR) >> 8),
                        [3] = (uint8_t)(flags | (unsigned)rcode),
                        [5] = 1,
                        [7] = (uint8_t)an,
                        [9] = a == NONE ? 0 : 1};

    put(&b, head, sizeof head);
    put(&b, name_n, sizeof name_n);
    put(&b, "\0\x10\0\1", 4);
    if (s == ALIAS || s == ALIAS_AND_WANTED) {
        uint8_t alias[sizeof cname];

        memcpy(alias, cname, sizeof cname);
        alias[9] = 3; /* "x" and the root */
        put_record(&b, 'n', alias, sizeof alias);
    }
    if (s == WANTED)
        put_record(&b, 'n', txt, sizeof txt - 1);
    if (s == OTHER_NAME || s == ALIAS_AND_WANTED)
        put_record(&b, 'x', txt, sizeof txt - 1);
    if (a == SOA)
        put_record(&b, 'z', soa, sizeof soa - 1);
    if (a == NS)
        put_record(&b, 'z', ns, sizeof ns);
    if (message_decode(b.bytes, b.len, &m, &e) != 0)
        fail_msg("%s", e.msg);
    return m;
}

struct row {
    bool authoritative, want_ad;
    unsigned flags;
    int rcode;
    enum section section;
    enum authority authority;
    enum resolver_outcome want;
    const char *text; /* a part of the error */
};

static const struct row rows[] = {
    /* an authoritative server */
    {true, false, AA, 0, WANTED, NONE, RESOLVER_FOUND, ""},
    {true, false, AA, 0, WANTED, NS, RESOLVER_FOUND, ""},
    {true, false, 0, 0, WANTED, NONE, RESOLVER_FAILED,
     "192.0.2.53:53 is not authoritative for n.test."},
    {true, false, 0, 0, NOTHING, NS, RESOLVER_FAILED,
     "it refers to other name servers"},
    {true, false, AA, 0, NOTHING, SOA, RESOLVER_GONE,
     "no TXT at n.test., says 192.0.2.53:53"},
    {true, false, AA, 0, NOTHING, NONE, RESOLVER_FAILED,
     "empty answer without SOA"},
    {true, false, AA, 3, NOTHING, SOA, RESOLVER_GONE,
     "NXDOMAIN for n.test., says 192.0.2.53:53"},
    {true, false, AA, 3, NOTHING, NONE, RESOLVER_GONE, "NXDOMAIN"},
    {true, false, 0, 3, NOTHING, SOA, RESOLVER_FAILED, "not authoritative"},
    {true, false, AA, 3, WANTED, NONE, RESOLVER_FAILED, "beside records"},
    {true, false, AA, 0, ALIAS, NONE, RESOLVER_GONE, "CNAME at n.test."},
    {true, false, AA, 3, ALIAS, SOA, RESOLVER_GONE, "CNAME at n.test."},
    {true, false, AA, 0, ALIAS_AND_WANTED, NONE, RESOLVER_GONE, "CNAME"},
    {true, false, AA, 0, OTHER_NAME, SOA, RESOLVER_GONE, "no TXT"},
    {true, false, AA, 2, NOTHING, NONE, RESOLVER_FAILED,
     "192.0.2.53:53 says SERVFAIL for n.test."},
    {true, false, AA, 5, NOTHING, NONE, RESOLVER_FAILED, "says REFUSED"},
    {true, false, AA, 2, WANTED, NONE, RESOLVER_FAILED, "says SERVFAIL"},
    {true, false, 0, 1, NOTHING, NONE, RESOLVER_FAILED, "says FORMERR"},
    {true, false, 0, 12, NOTHING, NONE, RESOLVER_FAILED, "unassigned RCODE"},
    /* a recursive one */
    {false, false, 0, 0, WANTED, NONE, RESOLVER_FOUND, ""},
    {false, false, 0, 0, ALIAS_AND_WANTED, NONE, RESOLVER_FOUND, ""},
    {false, false, 0, 0, ALIAS, SOA, RESOLVER_GONE, "no TXT"},
    {false, false, 0, 0, ALIAS, NONE, RESOLVER_FAILED, "without SOA"},
    {false, false, 0, 3, ALIAS, SOA, RESOLVER_GONE, "NXDOMAIN"},
    {false, false, 0, 0, NOTHING, NS, RESOLVER_FAILED, "without SOA"},
    {false, false, 0, 2, NOTHING, NONE, RESOLVER_FAILED, "says SERVFAIL"},
    {false, true, AD, 0, WANTED, NONE, RESOLVER_FOUND, ""},
    {false, true, 0, 0, WANTED, NONE, RESOLVER_FAILED, "no AD bit"},
    {false, true, 0, 3, NOTHING, SOA, RESOLVER_FAILED, "no AD bit"},
    {false, true, AD, 3, NOTHING, SOA, RESOLVER_GONE, "NXDOMAIN"},
};

static void test_table(void **state)
{
    struct addr server;
    struct err e;

    (void)state;
    assert_int_equal(addr_parse_port("192.0.2.53", 53, &server, &e), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        struct outcome_question q = {"n.test.", MESSAGE_TXT, r->authoritative,
                                     r->want_ad};
        struct message *m =
            answer(r->flags, r->rcode, r->section, r->authority);
        enum resolver_outcome got;
        enum err_code code = r->want == RESOLVER_FOUND  ? ERR_NONE
                             : r->want == RESOLVER_GONE ? ERR_NOTFOUND
                                                        : ERR_RETRY;

        memset(&e, 0, sizeof e);
        got = outcome_judge(m, &q, &server, &e);
        if (got != r->want || e.code != code || strstr(e.msg, r->text) == NULL)
            fail_msg("row %zu: outcome %d, \"%s\"", i, (int)got, e.msg);
        message_free(m);
    }
}

static void test_unknown_type(void **state)
{
    struct outcome_question q = {"n.test.", 64000, true, false};
    struct message *m = answer(AA, 0, NOTHING, SOA);
    struct addr server = {.family = 4, .port = 53};
    struct err e;

    (void)state;
    assert_int_equal(outcome_judge(m, &q, &server, &e), RESOLVER_GONE);
    assert_string_equal(e.msg, "no TYPE64000 at n.test., says 0.0.0.0:53");
    message_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_unknown_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
