#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "agent/base/err.h"
#include "agent/base/name.h"

/* n labels of 63 bytes and one of rest. */
static void long_name(char *out, size_t n, size_t rest)
{
    for (size_t i = 0; i < n; i++) {
        memset(out, 'a', 63);
        out[63] = '.';
        out += 64;
    }
    memset(out, 'b', rest);
    out[rest] = '\0';
}

static void test_canon_good(void **state)
{
    static const char *const t[][2] = {
        {"example.org", "example.org."},
        {"Example.ORG.", "example.org."},
        {".", "."},
        {"a", "a."},
        {"_failover.www.Example.org", "_failover.www.example.org."},
        {"*.example.org", "*.example.org."},
        {"*", "*."},
        {"_failover.*.wild.example.org", "_failover.*.wild.example.org."},
        {"xn--bcher-kva.example", "xn--bcher-kva.example."},
        {"1.2.3.4", "1.2.3.4."},
        {"-a-.b_", "-a-.b_."},
    };
    char out[NAME_SIZE], in[400];
    struct err e = {0};

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        if (name_canon(t[i][0], out, &e) != 0)
            fail_msg("%s", e.msg);
        assert_string_equal(out, t[i][1]);
        /* Canonical stays canonical. */
        assert_int_equal(name_canon(t[i][1], out, &e), 0);
        assert_string_equal(out, t[i][1]);
    }
    /* The longest: 253 characters without the dot, 255 bytes on the wire. */
    long_name(in, 3, 61);
    assert_int_equal(strlen(in), 253);
    assert_int_equal(name_canon(in, out, &e), 0);
    assert_int_equal(strlen(out), 254);
    in[253] = '.';
    in[254] = '\0';
    assert_int_equal(name_canon(in, out, &e), 0);
}

static void test_canon_bad(void **state)
{
    static const char *const t[][2] = {
        {"", "an empty name"},
        {"..", "empty label"},
        {".a", "empty label"},
        {"a..b", "empty label"},
        {"a b", "is not a domain name"},
        {"a\\.b", "is not a domain name"},
        {"b\xc3\xbc"
         "cher.example",
         "is not a domain name"},
        {"a\nb", "is not a domain name"},
        {"a/b", "is not a domain name"},
        {"a*.b", "'*' may only be a whole label"},
        {"**.b", "'*' may only be a whole label"},
    };
    char out[NAME_SIZE], in[400];

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct err e = {0};

        if (name_canon(t[i][0], out, &e) == 0)
            fail_msg("\"%s\" was taken", t[i][0]);
        assert_int_equal(e.code, ERR_INPUT);
        if (strstr(e.msg, t[i][1]) == NULL)
            fail_msg("\"%s\": %s", t[i][0], e.msg);
    }
    long_name(in, 3, 62);
    assert_int_equal(name_canon(in, out, NULL), -1);
    long_name(in, 0, 64);
    assert_int_equal(name_canon(in, out, NULL), -1);
    long_name(in, 0, 63);
    assert_int_equal(name_canon(in, out, NULL), 0);
    long_name(in, 6, 10);
    assert_int_equal(name_canon(in, out, NULL), -1);
}

static void expect_resolved(const char *in, const char *origin,
                            const char *want)
{
    char out[NAME_SIZE];
    struct err e = {0};

    if (name_resolve(in, origin, out, &e) != 0)
        fail_msg("%s", e.msg);
    assert_string_equal(out, want);
}

static void test_resolve(void **state)
{
    char out[NAME_SIZE], in[1200];

    (void)state;
    expect_resolved("www", "example.org.", "www.example.org.");
    expect_resolved("WWW", "example.org.", "www.example.org.");
    expect_resolved("@", "example.org.", "example.org.");
    expect_resolved("", "example.org.", "example.org.");
    expect_resolved("www.example.net.", "example.org.", "www.example.net.");
    expect_resolved("example.org", "example.org.", "example.org.example.org.");
    expect_resolved("*", "example.org.", "*.example.org.");
    expect_resolved(".", "example.org.", ".");
    expect_resolved("www", ".", "www.");
    expect_resolved("@", ".", ".");
    long_name(in, 3, 60);
    assert_int_equal(name_resolve(in, "example.org.", out, NULL), -1);
    memset(in, 'a', 1100);
    in[1100] = '\0';
    assert_int_equal(name_resolve(in, "example.org.", out, NULL), -1);
    assert_int_equal(name_resolve("a..b", "example.org.", out, NULL), -1);
    assert_int_equal(name_resolve("..", "example.org.", out, NULL), -1);
}

static void test_within(void **state)
{
    char out[NAME_SIZE];

    (void)state;
    assert_true(name_within("www.example.org.", "example.org."));
    assert_true(name_within("example.org.", "example.org."));
    assert_true(name_within("a.b.example.org.", "example.org."));
    assert_false(name_within("wwwexample.org.", "example.org."));
    assert_false(name_within("org.", "example.org."));
    assert_false(name_within("example.org.", "www.example.org."));
    assert_false(name_within("example.org.evil.", "example.org."));
    assert_true(name_within("x.", "."));
    assert_true(name_within(".", "."));
    assert_false(name_within(".", "org."));
    assert_string_equal(name_relative("example.org.", "example.org.", out),
                        "@");
    assert_string_equal(name_relative("a.b.example.org.", "example.org.", out),
                        "a.b");
    assert_string_equal(name_relative("a.example.net.", "example.org.", out),
                        "a.example.net.");
    assert_string_equal(name_relative("www.", ".", out), "www.");
    assert_string_equal(name_relative(".", ".", out), "@");
}

static void test_labels(void **state)
{
    (void)state;
    assert_int_equal(name_labels("."), 0);
    assert_int_equal(name_labels("org."), 1);
    assert_int_equal(name_labels("www.example.org."), 3);
    assert_string_equal(name_parent("www.example.org."), "example.org.");
    assert_string_equal(name_parent("org."), ".");
    assert_string_equal(name_parent("."), ".");
    assert_true(name_equal("a.", "a."));
    assert_false(name_equal("a.", "b."));
}

/* RFC 4034 6.1's own order, as far as its names need no escapes. */
static void test_compare(void **state)
{
    static const char *const order[] = {
        ".",
        "example.",
        "*.example.",
        "a.example.",
        "yljkjljk.a.example.",
        "z.a.example.",
        "zabc.a.example.",
        "z.example.",
        "*.z.example.",
        "a.z.example.",
        "examplea.",
        "org.",
    };
    const size_t n = sizeof order / sizeof order[0];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            int c = name_compare(order[i], order[j]);

            if ((c < 0) != (i < j) || (c == 0) != (i == j))
                fail_msg("%s and %s: %d", order[i], order[j], c);
        }
    }
}

static void test_find_zone(void **state)
{
    static const char *const zones[] = {"example.org.", "sub.example.org.",
                                        "example.net.", "org."};

    (void)state;
    assert_int_equal(name_find_zone("www.example.org.", zones, 4), 0);
    assert_int_equal(name_find_zone("a.sub.example.org.", zones, 4), 1);
    assert_int_equal(name_find_zone("sub.example.org.", zones, 4), 1);
    assert_int_equal(name_find_zone("notsub.example.org.", zones, 4), 0);
    assert_int_equal(name_find_zone("other.org.", zones, 4), 3);
    assert_int_equal(name_find_zone("example.com.", zones, 4), -1);
    assert_int_equal(name_find_zone("example.com.", zones, 0), -1);
    assert_int_equal(name_find_zone("a.", (const char *const[]){"."}, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canon_good), cmocka_unit_test(test_canon_bad),
        cmocka_unit_test(test_resolve),    cmocka_unit_test(test_within),
        cmocka_unit_test(test_labels),     cmocka_unit_test(test_compare),
        cmocka_unit_test(test_find_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
