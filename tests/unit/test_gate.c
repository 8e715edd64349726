#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/engine/checks/gate.h"

/* The pace per target address. */

static struct addr addr(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse(text, &a), 0);
    return a;
}

static void test_pace(void **s)
{
    struct gates *g = gates_new();
    struct addr a = addr("192.0.2.1"), b = addr("192.0.2.2"),
                c = addr("2001:db8::1");

    (void)s;
    assert_int_equal(gates_take(g, &a, 1000, 100), 1000);
    assert_int_equal(gates_take(g, &a, 1000, 100), 1100);
    assert_int_equal(gates_take(g, &a, 1050, 100), 1200);
    assert_int_equal(gates_take(g, &b, 1050, 100), 1050);
    assert_int_equal(gates_take(g, &c, 1050, 100), 1050);
    assert_int_equal(gates_take(g, &c, 1149, 100), 1150);
    a.port = 443;
    assert_int_equal(gates_take(g, &a, 5000, 100), 5000);
    assert_int_equal(gates_take(g, &a, 5000, 100), 5100);
    assert_int_equal(gates_count(g), 3);
    gates_free(g);
    gates_free(NULL);
}

static void take_many(struct gates *g, int64_t now_ms, int64_t want_ms)
{
    for (int i = 0; i < 20000; i++) {
        char text[32];
        struct addr a;

        (void)snprintf(text, sizeof text, "10.%d.%d.%d", i >> 16,
                       (i >> 8) & 255, i & 255);
        a = addr(text);
        assert_int_equal(gates_take(g, &a, now_ms, 100), want_ms);
    }
}

static void test_many(void **s)
{
    struct gates *g = gates_new();

    (void)s;
    take_many(g, 0, 0);
    take_many(g, 0, 100);
    take_many(g, 250, 250);
    assert_int_equal(gates_count(g), 20000);
    gates_free(g);
}

/* Names whose addresses change leave nothing for ever. */
static void test_forgets(void **s)
{
    struct gates *g = gates_new();

    (void)s;
    for (int i = 0; i < 1000000; i++) {
        struct addr a = addr("2001:db8::");

        a.bytes[12] = (uint8_t)(i >> 24);
        a.bytes[13] = (uint8_t)(i >> 16);
        a.bytes[14] = (uint8_t)(i >> 8);
        a.bytes[15] = (uint8_t)i;
        (void)gates_take(g, &a, i, 100);
    }
    assert_true(gates_count(g) < 1000);
    gates_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
