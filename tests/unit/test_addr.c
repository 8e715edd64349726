#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"

static void test_parse_good(void **state)
{
    static const char *const t[][2] = {
        {"192.0.2.1", "192.0.2.1"},
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255", "255.255.255.255"},
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
        {"2001:0db8::0001", "2001:db8::1"},
        {"::", "::"},
        {"::1", "::1"},
        {"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
        {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
        {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
    };
    char out[ADDR_TEXT_SIZE];
    struct addr a;

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        assert_int_equal(addr_parse(t[i][0], &a), 0);
        assert_int_equal(a.port, 0);
        assert_string_equal(addr_format(&a, out), t[i][1]);
    }
    memset(&a, 0, sizeof a);
    assert_string_equal(addr_format(&a, out), "-");
}

static void test_parse_bad(void **state)
{
    static const char *const t[] = {
        "",
        " ",
        "192.0.2",
        "192.0.2.1.1",
        "192.0.2.256",
        "192.0.02.1",
        "0x7f.0.0.1",
        "127.1",
        "2130706433",
        " 192.0.2.1",
        "192.0.2.1 ",
        "192.0.2.1\n",
        "1::2::3",
        "12345::",
        "fe80::1%eth0",
        "[::1]",
        "::1/128",
        "localhost",
        ":::",
        "1:2:3:4:5:6:7:8:9",
    };
    struct addr a;

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        if (addr_parse(t[i], &a) == 0)
            fail_msg("\"%s\" was taken", t[i]);
        assert_int_equal(a.family, 0);
    }
}

static void test_port(void **state)
{
    static const char *const good[][2] = {
        {"192.0.2.1", "192.0.2.1:53"},
        {"192.0.2.1:5353", "192.0.2.1:5353"},
        {"192.0.2.1:65535", "192.0.2.1:65535"},
        {"2001:db8::1", "[2001:db8::1]:53"},
        {"[2001:db8::1]", "[2001:db8::1]:53"},
        {"[2001:db8::1]:1", "[2001:db8::1]:1"},
        {"::ffff:192.0.2.1", "[::ffff:192.0.2.1]:53"},
    };
    static const char *const bad[] = {
        "",
        "192.0.2.1:",
        "192.0.2.1:0",
        "192.0.2.1:65536",
        ":53",
        "192.0.2.1:+1",
        "192.0.2.1: 1",
        "192.0.2.1:1 ",
        "[::1",
        "[::1]53",
        "[::1]:",
        "[192.0.2.1]:53",
        "[]:53",
        "ns.example.org",
        "a:53",
        "192.0.2.1:000053",
        "[::1]]:53",
        "[[::1]]:53",
        "192.0.2.1:5a",
        "[::1]:53:53",
        "2001:db8::192.0.2.1:2001:db8:2001:db8:2001:db8:2001:db8:2001:db8:1",
    };
    char out[ADDR_TEXT_SIZE];
    struct addr a;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct err e = {0};

        if (addr_parse_port(good[i][0], 53, &a, &e) != 0)
            fail_msg("%s", e.msg);
        assert_string_equal(addr_format_port(&a, out), good[i][1]);
        /* What is printed can be read. */
        assert_int_equal(addr_parse_port(out, 1, &a, &e), 0);
        assert_string_equal(addr_format_port(&a, out), good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err e = {0};

        if (addr_parse_port(bad[i], 53, &a, &e) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(e.code, ERR_INPUT);
        assert_non_null(strstr(e.msg, "is not an address; accepted: "));
    }
    assert_int_equal(addr_parse_port("192.0.2.1", 0, &a, NULL), 0);
    assert_int_equal(a.port, 0);
}

static bool contains(const char *block, const char *address)
{
    struct err e = {0};
    struct cidr c;
    struct addr a;

    if (cidr_parse(block, &c, &e) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(addr_parse(address, &a), 0);
    return cidr_contains(&c, &a);
}

static void test_cidr(void **state)
{
    static const char *const bad[] = {
        "",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.1/8",
        "10.0.0.0/8 ",
        "10/8",
        "2001:db8::/129",
        "2001:db8::1/64",
        "10.0.0.0/8/8",
        "10.0.0.0/08888",
        "/8",
        "10.0.0.0/ 8",
        "128.0.0.0/0",
    };

    (void)state;
    assert_true(contains("10.0.0.0/8", "10.255.255.255"));
    assert_false(contains("10.0.0.0/8", "11.0.0.0"));
    assert_true(contains("192.0.2.4/30", "192.0.2.7"));
    assert_false(contains("192.0.2.4/30", "192.0.2.8"));
    assert_true(contains("192.0.2.5", "192.0.2.5"));
    assert_false(contains("192.0.2.5", "192.0.2.4"));
    assert_true(contains("0.0.0.0/0", "203.0.113.7"));
    assert_false(contains("0.0.0.0/0", "::"));
    assert_true(contains("::/0", "2001:db8::1"));
    assert_true(contains("2001:db8::/33", "2001:db8:7fff::"));
    assert_false(contains("2001:db8::/33", "2001:db8:8000::"));
    assert_true(contains("2001:db8::1", "2001:db8::1"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err e = {0};
        struct cidr c;

        if (cidr_parse(bad[i], &c, &e) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(e.code, ERR_INPUT);
    }
}

static void test_classify(void **state)
{
    static const char *const t[][2] = {
        {"192.0.2.1", "public"},
        {"198.51.100.1", "public"},
        {"8.8.8.8", "public"},
        {"2001:db8::1", "public"},
        {"9.255.255.255", "public"},
        {"10.0.0.0", "private"},
        {"10.255.255.255", "private"},
        {"11.0.0.0", "public"},
        {"172.15.255.255", "public"},
        {"172.16.0.0", "private"},
        {"172.31.255.255", "private"},
        {"172.32.0.0", "public"},
        {"192.168.1.1", "private"},
        {"100.64.0.1", "private"},
        {"100.128.0.0", "public"},
        {"127.0.0.1", "loopback"},
        {"127.255.255.254", "loopback"},
        {"169.254.1.1", "link-local"},
        {"169.254.169.254", "a metadata address"},
        {"0.0.0.0", "unspecified"},
        {"0.1.2.3", "unspecified"},
        {"224.0.0.1", "multicast"},
        {"239.255.255.255", "multicast"},
        {"255.255.255.255", "broadcast"},
        {"::", "unspecified"},
        {"::1", "loopback"},
        {"fe80::1", "link-local"},
        {"febf::1", "link-local"},
        {"fec0::1", "private"},
        {"fc00::1", "unique-local"},
        {"fdff::1", "unique-local"},
        {"fd00:ec2::254", "a metadata address"},
        {"ff02::1", "multicast"},
        /* IPv4 inside: mapped, compatible, SIIT, NAT64, 6to4 */
        {"::ffff:10.0.0.1", "private"},
        {"::ffff:192.0.2.1", "public"},
        {"::ffff:169.254.169.254", "a metadata address"},
        {"::127.0.0.1", "loopback"},
        {"::ffff:0:127.0.0.1", "loopback"},
        {"64:ff9b::10.0.0.1", "private"},
        {"64:ff9b::8.8.8.8", "public"},
        {"2002:7f00:1::", "loopback"},
        {"2002:c0a8:101::1", "private"},
        {"2002:808:808::1", "public"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct addr a;
        const char *got;

        assert_int_equal(addr_parse(t[i][0], &a), 0);
        got = addr_class_name(addr_classify(&a));
        if (strcmp(got, t[i][1]) != 0)
            fail_msg("%s: %s, not %s", t[i][0], got, t[i][1]);
    }
}

static void test_compare(void **state)
{
    struct addr a, b;

    (void)state;
    assert_int_equal(addr_parse("192.0.2.1", &a), 0);
    b = a;
    b.port = 7;
    assert_true(addr_equal(&a, &b)); /* the port does not count */
    b.bytes[3] = 2;
    assert_true(addr_compare(&a, &b) < 0);
    assert_true(addr_compare(&b, &a) > 0);
    assert_int_equal(addr_parse("::", &b), 0);
    assert_true(addr_compare(&a, &b) < 0);
    assert_false(addr_equal(&a, &b));
    /* Only the bytes of the family count. */
    b = a;
    b.bytes[4] = 1;
    assert_true(addr_equal(&a, &b));
}

static void test_sockaddr(void **state)
{
    static const char *const t[] = {"192.0.2.1:53", "[2001:db8::1]:65535"};
    char out[ADDR_TEXT_SIZE];
    struct sockaddr_storage ss;
    struct addr a, b;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        socklen_t n;

        assert_int_equal(addr_parse_port(t[i], 0, &a, NULL), 0);
        n = addr_to_sockaddr(&a, &ss);
        assert_int_equal(n, i == 0 ? sizeof(struct sockaddr_in)
                                   : sizeof(struct sockaddr_in6));
        assert_int_equal(addr_from_sockaddr((struct sockaddr *)&ss, &b), 0);
        assert_string_equal(addr_format_port(&b, out), t[i]);
    }
    ss.ss_family = AF_UNIX;
    assert_int_equal(addr_from_sockaddr((struct sockaddr *)&ss, &b), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_good), cmocka_unit_test(test_parse_bad),
        cmocka_unit_test(test_port),       cmocka_unit_test(test_cidr),
        cmocka_unit_test(test_classify),   cmocka_unit_test(test_compare),
        cmocka_unit_test(test_sockaddr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
