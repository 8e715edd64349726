#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/probes/probe.h"

static struct cidr block(const char *text)
{
    struct cidr c;
    struct err e;

    assert_int_equal(cidr_parse(text, &c, &e), 0);
    return c;
}

static int check(const char *target, const char *allow, struct err *e)
{
    struct probe_limits l = {NULL, 0};
    struct cidr c;
    struct addr a;

    memset(e, 0, sizeof *e);
    if (allow != NULL) {
        c = block(allow);
        l.allow = &c;
        l.nallow = 1;
    }
    assert_int_equal(addr_parse(target, &a), 0);
    return probe_allowed(&l, &a, "_failover.www.example.org /records/0/data",
                         e);
}

static void test_public(void **state)
{
    static const char *const ok[] = {
        "192.0.2.1", "198.51.100.1",    "203.0.113.1",    "2001:db8::1",
        "8.8.8.8",   "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808",
    };
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof ok / sizeof ok[0]; i++)
        assert_int_equal(check(ok[i], NULL, &e), 0);
}

static void test_wording(void **state)
{
    struct err e;

    (void)state;
    assert_int_equal(check("10.0.1.1", NULL, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.msg,
                        "_failover.www.example.org /records/0/data: 10.0.1.1 "
                        "is private; to allow it add \"10.0.1.1/32\" to "
                        "allow-targets in agent");
    assert_int_equal(check("fd00::1", NULL, &e), -1);
    assert_string_equal(e.msg,
                        "_failover.www.example.org /records/0/data: fd00::1 "
                        "is unique-local; to allow it add \"fd00::1/128\" to "
                        "allow-targets in agent");
    assert_int_equal(check("::ffff:10.0.1.1", NULL, &e), -1);
    assert_string_equal(e.msg, "_failover.www.example.org /records/0/data: "
                               "::ffff:10.0.1.1 is private; to allow it add "
                               "\"10.0.1.1/32\" to allow-targets in agent");
}

/* What the refusal says to add is enough. */
static void test_refused_then_allowed(void **state)
{
    static const struct {
        const char *target, *is, *suggests;
    } rows[] = {
        {"10.255.255.255", "is private", "10.255.255.255/32"},
        {"172.16.0.1", "is private", "172.16.0.1/32"},
        {"192.168.1.1", "is private", "192.168.1.1/32"},
        {"100.64.0.1", "is private", "100.64.0.1/32"},
        {"127.0.0.1", "is loopback", "127.0.0.1/32"},
        {"169.254.1.1", "is link-local", "169.254.1.1/32"},
        {"169.254.169.254", "is a metadata address", "169.254.169.254/32"},
        {"224.0.0.1", "is multicast", "224.0.0.1/32"},
        {"255.255.255.255", "is broadcast", "255.255.255.255/32"},
        {"0.0.0.0", "is unspecified", "0.0.0.0/32"},
        {"::1", "is loopback", "::1/128"},
        {"::", "is unspecified", "::/128"},
        {"fe80::1", "is link-local", "fe80::1/128"},
        {"fc00::1", "is unique-local", "fc00::1/128"},
        {"ff02::1", "is multicast", "ff02::1/128"},
        {"fd00:ec2::254", "is a metadata address", "fd00:ec2::254/128"},
        {"::ffff:127.0.0.1", "is loopback", "127.0.0.1/32"},
        {"::ffff:169.254.169.254", "is a metadata address",
         "169.254.169.254/32"},
        {"::127.0.0.1", "is loopback", "127.0.0.1/32"},
        {"2002:7f00:1::", "is loopback", "127.0.0.1/32"},
        {"64:ff9b::10.0.0.1", "is private", "10.0.0.1/32"},
        {"::ffff:0.0.0.0", "is unspecified", "0.0.0.0/32"},
    };
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(check(rows[i].target, NULL, &e), -1);
        assert_int_equal(e.code, ERR_LIMIT);
        assert_non_null(strstr(e.msg, rows[i].is));
        assert_non_null(strstr(e.msg, rows[i].suggests));
        assert_int_equal(check(rows[i].target, rows[i].suggests, &e), 0);
        assert_int_equal(check(rows[i].target, "203.0.113.0/24", &e), -1);
    }
}

static void test_blocks(void **state)
{
    struct err e;

    (void)state;
    assert_int_equal(check("10.1.2.3", "10.0.0.0/8", &e), 0);
    assert_int_equal(check("11.1.2.3", "10.0.0.0/8", &e), 0); /* public */
    assert_int_equal(check("192.168.0.1", "10.0.0.0/8", &e), -1);
    /* The form as given counts as well as the address inside. */
    assert_int_equal(check("::ffff:10.1.2.3", "10.0.0.0/8", &e), 0);
    assert_int_equal(check("::ffff:10.1.2.3", "::ffff:0:0/96", &e), 0);
    assert_int_equal(check("10.1.2.3", "::ffff:0:0/96", &e), -1);
    /* ::1 is not 0.0.0.1 in disguise. */
    assert_int_equal(check("::1", "0.0.0.0/0", &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public),
        cmocka_unit_test(test_wording),
        cmocka_unit_test(test_refused_then_allowed),
        cmocka_unit_test(test_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
