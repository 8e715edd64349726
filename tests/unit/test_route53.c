#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/route53/route53.h"

#define XMLNS "xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\""

/* ---- spelling ------------------------------------------------------------ */

static void test_names(void **state)
{
    static const struct {
        const char *answered, *want; /* want NULL: none of ours */
    } cases[] = {
        {"www.example.org.", "www.example.org."},
        {"WWW.Example.org", "www.example.org."},
        {"\\052.example.org.", "*.example.org."}, /* octal, not decimal 52 */
        {"4.example.org.", "4.example.org."},
        {"_failover.\\052.example.org.", "_failover.*.example.org."},
        {"\\137failover.example.org.", "_failover.example.org."},
        {"a\\056b.example.org.", NULL}, /* a dot inside a label */
        {"a\\100b.example.org.", NULL}, /* "@" */
        {"a\\000.example.org.", NULL},
        {"a\\400.example.org.", NULL},
        {"a\\05", NULL},
        {"a\\", NULL},
        {"a\\*b.example.org.", NULL},
        {"a\\058.example.org.", NULL},
        {"", NULL},
        {"a..b.", NULL},
    };
    char out[NAME_SIZE];
    char *label = mem_alloc(2000);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = route53_name(cases[i].answered, out);

        if ((rc == 0) != (cases[i].want != NULL))
            fail_msg("%s: %d", cases[i].answered, rc);
        if (rc == 0)
            assert_string_equal(out, cases[i].want);
    }
    memset(label, 'a', 1999);
    assert_int_equal(route53_name(label, out), -1);
    free(label);
}

static void test_txt(void **state)
{
    static const struct {
        const char *value, *want; /* want NULL: not of that form */
    } cases[] = {
        {"\"one\"", "one"},
        {"\"one\" \"two\"  \"\"", "onetwo"},
        {" \"a\\\"b\\\\c\" ", "a\"b\\c"},
        {"\"\\052\\303\\244\"", "*\xc3\xa4"},
        {"\"\"", ""},
        {"bare", NULL},
        {"\"one\"\"two\"", NULL},
        {"\"one\" two", NULL},
        {"\"one", NULL},
        {"\"one\\\"", NULL},
        {"\"\\08\"", NULL},
        {"", NULL},
        {"\"a\" \\", NULL},
    };
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool good;

        buf_reset(&b);
        good = route53_txt_decode(cases[i].value, &b);
        if (good != (cases[i].want != NULL))
            fail_msg("%s", cases[i].value);
        if (good)
            assert_string_equal(buf_get(&b), cases[i].want);
    }
    buf_fini(&b);
}

/* ---- answers ------------------------------------------------------------- */

#define LIST(sets, end)                                                        \
    "<?xml version=\"1.0\"?>\n<ListResourceRecordSetsResponse " XMLNS          \
    "><ResourceRecordSets>" sets "</ResourceRecordSets>" end                   \
    "</ListResourceRecordSetsResponse>"
#define SET(name, type, more)                                                  \
    "<ResourceRecordSet><Name>" name "</Name><Type>" type "</Type>" more       \
    "</ResourceRecordSet>"
#define RECORD(value)                                                          \
    "<ResourceRecord><Value>" value "</Value></ResourceRecord>"
#define PLAIN(values)                                                          \
    "<TTL>60</TTL><ResourceRecords>" values "</ResourceRecords>"
#define WHOLE "<IsTruncated>false</IsTruncated>"

static void test_sets(void **state)
{
    static const char text[] = LIST(
        SET("\\052.example.org.", "A",
            PLAIN(RECORD("192.0.2.1") RECORD("192.0.2.2")))
            SET("a\\100.example.org.", "TXT", PLAIN(RECORD("&quot;x&quot;"))),
        "<IsTruncated>true</IsTruncated><NextRecordName>b.example.org."
        "</NextRecordName><NextRecordType>A</NextRecordType>"
        "<NextRecordIdentifier>eu</NextRecordIdentifier>");
    struct arena *a = arena_new();
    struct route53_sets s;
    struct err e = {0};

    (void)state;
    assert_int_equal(route53_read_sets(a, text, strlen(text), &s, &e), 0);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.v[0].name, "*.example.org.");
    assert_string_equal(s.v[0].as_named, "\\052.example.org.");
    assert_int_equal(s.v[0].ttl_s, 60);
    assert_int_equal(s.v[0].n, 2);
    assert_string_equal(s.v[0].values[1], "192.0.2.2");
    assert_null(s.v[0].managed);
    assert_string_equal(s.v[1].name, "");
    assert_string_equal(s.v[1].values[0], "\"x\"");
    assert_true(s.truncated);
    assert_string_equal(s.next.name, "b.example.org.");
    assert_string_equal(s.next.type, "A");
    assert_string_equal(s.next.id, "eu");
    arena_free(a);
}

/* Whatever is more than name, type, TTL and records stays as it is. */
static void test_managed(void **state)
{
    static const struct {
        const char *more, *part;
    } cases[] = {
        {"<AliasTarget><HostedZoneId>Z</HostedZoneId></AliasTarget>", "alias"},
        {"<SetIdentifier>eu</SetIdentifier><Weight>1</Weight>", "weighted"},
        {"<SetIdentifier>eu</SetIdentifier>", "set identifier \"eu\""},
        {"<HealthCheckId>1</HealthCheckId>", "health check"},
        {"<TrafficPolicyInstanceId>1</TrafficPolicyInstanceId>", "traffic"},
        {"<Region>eu-west-1</Region>", "latency"},
        {"<Failover>PRIMARY</Failover>", "failover"},
        {"<MultiValueAnswer>true</MultiValueAnswer>", "multivalue"},
        {"<GeoLocation/>", "geolocation"},
        {"<OfALaterVersion>1</OfALaterVersion>", "OfALaterVersion"},
    };
    struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = mem_printf(LIST(SET("w.example.org.", "A", "%s"), WHOLE),
                                cases[i].more);
        struct route53_sets s;
        struct err e = {0};

        assert_int_equal(route53_read_sets(a, text, strlen(text), &s, &e), 0);
        assert_non_null(s.v[0].managed);
        if (strstr(s.v[0].managed, cases[i].part) == NULL)
            fail_msg("%s: %s", cases[i].more, s.v[0].managed);
        free(text);
    }
    arena_free(a);
}

/* The routing as it goes back: in the model's order, nothing lost; what a copy
 * would lose is left alone. */
static void test_routing(void **state)
{
    static const struct {
        const char *more, *before, *after, *fixed;
    } cases[] = {
        {"<HealthCheckId>1</HealthCheckId><GeoLocation><CountryCode>US"
         "</CountryCode><SubdivisionCode>WA</SubdivisionCode></GeoLocation>"
         "<SetIdentifier>a&amp;&#9;b</SetIdentifier>" PLAIN(RECORD("1")),
         "<SetIdentifier>a&amp;&#9;b</SetIdentifier><GeoLocation><CountryCode>"
         "US</CountryCode><SubdivisionCode>WA</SubdivisionCode></GeoLocation>",
         "<HealthCheckId>1</HealthCheckId>", NULL},
        {"<New><A>1</A><B/></New><SetIdentifier>eu</SetIdentifier>"
         "<HealthCheckId>1</HealthCheckId>" PLAIN(RECORD("1")),
         "<SetIdentifier>eu</SetIdentifier>",
         "<HealthCheckId>1</HealthCheckId><New><A>1</A><B></B></New>", NULL},
        {"<SetIdentifier>eu</SetIdentifier><New a=\"1\"/>" PLAIN(RECORD("1")),
         "<SetIdentifier>eu</SetIdentifier>", "<New></New>", "New"},
        {"<SetIdentifier>eu</SetIdentifier>",
         "<SetIdentifier>eu</SetIdentifier>", "", "set identifier \"eu\""},
        {"<AliasTarget/><SetIdentifier>eu</SetIdentifier><Weight>1</Weight>",
         "<SetIdentifier>eu</SetIdentifier><Weight>1</Weight>",
         "<AliasTarget></AliasTarget>", "an alias"},
    };
    struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = mem_printf(LIST(SET("w.example.org.", "A", "%s"), WHOLE),
                                cases[i].more);
        struct route53_sets s;
        struct err e = {0};

        assert_int_equal(route53_read_sets(a, text, strlen(text), &s, &e), 0);
        assert_non_null(s.v[0].set_id);
        assert_string_equal(s.v[0].before, cases[i].before);
        assert_string_equal(s.v[0].after, cases[i].after);
        if (cases[i].fixed == NULL)
            assert_null(s.v[0].fixed);
        else
            assert_string_equal(s.v[0].fixed, cases[i].fixed);
        free(text);
    }
    arena_free(a);
}

static void test_refused_answers(void **state)
{
    static const char *const bad[] = {
        "",
        "<html/>",
        "not XML",
        LIST("", ""), /* does not say whether it goes on */
        LIST("", "<IsTruncated>perhaps</IsTruncated>"),
        LIST("", "<IsTruncated>true</IsTruncated>"), /* and not where */
        LIST(SET("a.", "A", ""), WHOLE),
        LIST(SET("a.", "A",
                 "<TTL>x</TTL><ResourceRecords>" RECORD(
                     "1") "</ResourceRecords>"),
             WHOLE),
        LIST(SET("a.", "A", PLAIN("")), WHOLE),
        LIST(SET("a.", "A", PLAIN("<ResourceRecord/>")), WHOLE),
        LIST("<ResourceRecordSet><Name>a.</Name></ResourceRecordSet>", WHOLE),
        "<!DOCTYPE x [<!ENTITY e \"v\">]>" LIST("", WHOLE),
        "<ListResourceRecordSetsResponse " XMLNS ">" WHOLE
        "</ListResourceRecordSetsResponse>",
    };
    struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct route53_sets s;
        struct err e = {0};

        if (route53_read_sets(a, bad[i], strlen(bad[i]), &s, &e) != -1)
            fail_msg("%s", bad[i]);
        assert_int_not_equal(e.code, ERR_NONE);
        assert_true(e.msg[0] != '\0');
    }
    arena_free(a);
}

static void test_zones(void **state)
{
    static const char text[] =
        "<ListHostedZonesByNameResponse " XMLNS "><HostedZones><HostedZone>"
        "<Id>/hostedzone/Z1</Id><Name>example.org.</Name><Config><PrivateZone>"
        "true</PrivateZone></Config><ResourceRecordSetCount>13"
        "</ResourceRecordSetCount></HostedZone><HostedZone><Id>Z2</Id><Name>"
        "2\\057.example.org.</Name></HostedZone></HostedZones><IsTruncated>"
        "true</IsTruncated><NextDNSName>example.org.</NextDNSName>"
        "<NextHostedZoneId>/hostedzone/Z3</NextHostedZoneId>"
        "</ListHostedZonesByNameResponse>";
    struct arena *a = arena_new();
    struct route53_zones z;
    struct err e = {0};

    (void)state;
    assert_int_equal(route53_read_zones(a, text, strlen(text), &z, &e), 0);
    assert_int_equal(z.n, 2);
    assert_string_equal(z.v[0].id, "Z1");
    assert_string_equal(z.v[0].name, "example.org.");
    assert_true(z.v[0].is_private);
    assert_int_equal(z.v[0].records, 13);
    assert_string_equal(z.v[1].id, "Z2");
    assert_string_equal(z.v[1].name, "");
    assert_false(z.v[1].is_private);
    assert_true(z.truncated);
    assert_string_equal(z.next_id, "Z3");
    arena_free(a);
}

static void test_errors_and_changes(void **state)
{
    static const char one[] =
        "<ErrorResponse " XMLNS "><Error><Type>Sender</Type><Code>Throttling"
        "</Code><Message>Rate exceeded</Message></Error><RequestId>1"
        "</RequestId></ErrorResponse>";
    static const char two[] =
        "<InvalidChangeBatch " XMLNS "><Messages><Message>first</Message>"
        "<Message>second</Message></Messages></InvalidChangeBatch>";
    static const char change[] =
        "<ChangeResourceRecordSetsResponse " XMLNS "><ChangeInfo><Id>"
        "/change/C1</Id><Status>PENDING</Status></ChangeInfo>"
        "</ChangeResourceRecordSetsResponse>";
    char code[ROUTE53_CODE_SIZE];
    struct arena *a = arena_new();
    struct route53_change c;
    const char *text;
    struct err e = {0};

    (void)state;
    assert_true(route53_read_error(a, one, strlen(one), code, &text));
    assert_string_equal(code, "Throttling");
    assert_string_equal(text, "Rate exceeded");
    assert_true(route53_read_error(a, two, strlen(two), code, &text));
    assert_string_equal(code, "InvalidChangeBatch");
    assert_string_equal(text, "first; second");
    assert_false(route53_read_error(a, "<html/>", 7, code, &text));
    assert_string_equal(code, "");
    assert_int_equal(route53_read_change(a, change, strlen(change), &c, &e), 0);
    assert_string_equal(c.id, "C1");
    assert_false(c.in_sync);
    assert_int_equal(route53_read_change(a, one, strlen(one), &c, &e), -1);
    arena_free(a);
}

static void test_batch(void **state)
{
    static const char *const values[] = {"\"a<&>\"", "192.0.2.1"};
    struct route53_records r = {"\\052.example.org.", "TXT", 60, values, 2};
    char comment[300];
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    route53_batch_open(&b, "why & what");
    route53_batch_change(&b, "DELETE", &r);
    route53_batch_close(&b);
    assert_string_equal(
        buf_get(&b),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<ChangeResourceRecordSetsRequest " XMLNS "><ChangeBatch><Comment>"
        "why &amp; what</Comment><Changes><Change><Action>DELETE</Action>"
        "<ResourceRecordSet><Name>\\052.example.org.</Name><Type>TXT</Type>"
        "<TTL>60</TTL><ResourceRecords><ResourceRecord><Value>"
        "\"a&lt;&amp;&gt;\"</Value></ResourceRecord><ResourceRecord><Value>"
        "192.0.2.1</Value></ResourceRecord></ResourceRecords>"
        "</ResourceRecordSet></Change></Changes></ChangeBatch>"
        "</ChangeResourceRecordSetsRequest>");
    buf_reset(&b);
    memset(comment, 'c', sizeof comment);
    comment[252] = '\xc3';
    comment[253] = '\xa4';
    comment[299] = '\0';
    route53_batch_open(&b, comment);
    assert_non_null(strstr(buf_get(&b), "ccc...</Comment>"));
    assert_null(strchr(buf_get(&b), '\xc3')); /* not half a character */
    buf_fini(&b);
}

/* ---- planning ------------------------------------------------------------ */

struct planned {
    struct arena *a;
    struct route53_edit edit;
    struct err e;
    bool open[4];
};

static enum route53_verdict plan(struct planned *p, const struct change *v,
                                 size_t n, const struct route53_set *sets,
                                 size_t n_sets)
{
    struct change_set set = {.zone = "example.org.", .v = v, .n = n};

    memset(p, 0, sizeof *p);
    p->a = arena_new();
    for (size_t i = 0; i < n; i++)
        p->open[i] = true;
    return route53_plan_set(p->a, &set, p->open, 0, sets, n_sets, NULL,
                            &p->edit, &p->e);
}

#define WWW "www.example.org."

static void test_plan(void **state)
{
    static const char *values[] = {"2001:DB8:0::1", "2001:db8::2"};
    struct route53_set set = {.name = WWW,
                              .as_named = WWW,
                              .type = "AAAA",
                              .ttl_s = 60,
                              .values = values,
                              .n = 2};
    const struct change swap[] = {
        {CHANGE_PUBLISH, 0, WWW, RR_AAAA, "2001:db8::3", -1, false},
        {CHANGE_WITHDRAW, 0, WWW, RR_AAAA, "2001:db8::2", -1, false}};
    const struct change rest[] = {
        {CHANGE_PUBLISH, 0, WWW, RR_AAAA, "2001:db8::1", 60, false},
        {CHANGE_WITHDRAW, 0, WWW, RR_AAAA, "2001:db8::9", -1, true}};
    struct change fresh = {CHANGE_PUBLISH, 0,  WWW,  RR_AAAA,
                           "2001:db8::3",  -1, false};
    struct planned p;
    size_t records, chars;

    (void)state;
    assert_int_equal(plan(&p, swap, 2, &set, 1), ROUTE53_TO_WRITE);
    assert_ptr_equal(p.edit.old, &set);
    assert_int_equal(p.edit.n, 2);
    /* what stays, stays letter for letter */
    assert_string_equal(p.edit.values[0], "2001:DB8:0::1");
    assert_string_equal(p.edit.values[1], "2001:db8::3");
    assert_int_equal(p.edit.ttl_s, 60);
    assert_string_equal(p.edit.what, WWW " AAAA +2001:db8::3 -2001:db8::2");
    route53_edit_size(&p.edit, &records, &chars);
    assert_int_equal(records, 4);
    assert_int_equal(chars, 13 + 11 + 13 + 11);
    arena_free(p.a);
    assert_int_equal(plan(&p, rest, 2, &set, 1), ROUTE53_AS_WANTED);
    arena_free(p.a);
    assert_int_equal(plan(&p, &fresh, 1, NULL, 0), ROUTE53_TO_WRITE);
    assert_null(p.edit.old);
    assert_int_equal(p.edit.ttl_s, ROUTE53_TTL_S);
    arena_free(p.a);
    fresh.ttl_s = 5;
    assert_int_equal(plan(&p, &fresh, 1, &set, 1), ROUTE53_TO_WRITE);
    assert_int_equal(p.edit.n, 3);
    assert_int_equal(p.edit.ttl_s, 5);
    arena_free(p.a);
    /* managed: as wanted is fine, a change is not */
    set.managed = "weighted routing";
    assert_int_equal(plan(&p, rest, 2, &set, 1), ROUTE53_AS_WANTED);
    arena_free(p.a);
    assert_int_equal(plan(&p, swap, 2, &set, 1), ROUTE53_REFUSED);
    assert_int_equal(p.e.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(p.e.msg, "managed routing, not touched"));
    arena_free(p.a);
}

static void test_plan_cname(void **state)
{
    static const char *values[] = {"Old.example.net"};
    const struct route53_set set = {.name = WWW,
                                    .as_named = WWW,
                                    .type = "CNAME",
                                    .ttl_s = 60,
                                    .values = values,
                                    .n = 1};
    const struct change both[] = {
        {CHANGE_PUBLISH, 0, WWW, RR_CNAME, "new.example.net.", -1, false},
        {CHANGE_WITHDRAW, 0, WWW, RR_CNAME, "old.example.net.", -1, false}};
    struct planned p;

    (void)state;
    assert_int_equal(plan(&p, both, 2, &set, 1), ROUTE53_TO_WRITE);
    assert_int_equal(p.edit.n, 1);
    assert_string_equal(p.edit.values[0], "new.example.net.");
    arena_free(p.a);
    assert_int_equal(plan(&p, both, 1, &set, 1), ROUTE53_REFUSED);
    assert_int_equal(p.e.code, ERR_CONFLICT);
    arena_free(p.a);
    /* the last value goes: the set goes */
    assert_int_equal(plan(&p, both + 1, 1, &set, 1), ROUTE53_TO_WRITE);
    assert_int_equal(p.edit.n, 0);
    arena_free(p.a);
}

static void test_set_equal(void **state)
{
    static const char *one[] = {"a", "b"}, *two[] = {"b", "a"},
                      *three[] = {"a", "c"};
    struct route53_set a = {.values = one, .n = 2, .ttl_s = 60};
    struct route53_set b = {.values = two, .n = 2, .ttl_s = 60};

    (void)state;
    assert_true(route53_set_equal(&a, &b));
    assert_true(route53_set_equal(NULL, NULL));
    assert_false(route53_set_equal(&a, NULL));
    b.ttl_s = 61;
    assert_false(route53_set_equal(&a, &b));
    b.ttl_s = 60;
    b.values = three;
    assert_false(route53_set_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_txt),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_managed),
        cmocka_unit_test(test_routing),
        cmocka_unit_test(test_refused_answers),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_errors_and_changes),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_plan_cname),
        cmocka_unit_test(test_set_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
