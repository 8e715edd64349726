#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "providers/shared/serial.h"

#define NOV_30_2026_MS INT64_C(1796040000000) /* 2026-11-30 12:00 UTC */

static void orders_by_rfc1982(void **state)
{
    (void)state;
    assert_true(serial_newer(2, 1));
    assert_false(serial_newer(1, 2));
    assert_false(serial_newer(7, 7));
    assert_true(serial_newer(1, 4294967295u));
    assert_true(serial_newer(0x7fffffffu, 0));
    assert_false(serial_newer(0x80000000u, 0)); /* no order */
    assert_false(serial_newer(0, 0x80000000u));
}

static void keeps_the_style(void **state)
{
    static const struct {
        uint32_t old, want;
    } rows[] = {
        {1, 2},
        {0, 1},
        {42, 43},
        {4294967295u, 1},
        {2026112901, 2026113001}, /* a date of yesterday */
        {2025010177, 2026113001},
        {2026113000, 2026113001},
        {2026113001, 2026113002},
        {2026113098, 2026113099},
        {2026113099, 2026113100}, /* Z7: ten digits */
        {2026113100, 2026113101},
        {2026120105, 2026120106},   /* ahead of today */
        {2099123199, 2099123200},   /* far ahead */
        {1796040000, 1796040001},   /* seconds: now */
        {1796039000, 1796040000},   /* seconds: earlier today */
        {1796040100, 1796040101},   /* seconds: ahead */
        {1700000000, 1700000001},   /* a counter by then */
        {4026113001u, 4026113002u}, /* no date */
        {2026133001, 2026133002},   /* month 13 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t got = serial_next(rows[i].old, NOV_30_2026_MS);

        assert_int_equal(got, rows[i].want);
        assert_true(serial_newer(got, rows[i].old));
    }
}

static void is_always_newer(void **state)
{
    uint32_t s = 12345;

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        s = s * 1664525u + 1013904223u;
        if (!serial_newer(serial_next(s, NOV_30_2026_MS), s) ||
            serial_next(s, NOV_30_2026_MS) == 0)
            fail_msg("serial %u", s);
    }
}

/* After an overflow of nn the date comes back the day it is newer. */
static void overflow_comes_back(void **state)
{
    uint32_t s = 2026123199;

    (void)state;
    s = serial_next(s, NOV_30_2026_MS);
    assert_int_equal(s, 2026123200);
    s = serial_next(s, NOV_30_2026_MS + INT64_C(32) * 86400000);
    assert_int_equal(s, 2027010101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_by_rfc1982),
        cmocka_unit_test(keeps_the_style),
        cmocka_unit_test(is_always_newer),
        cmocka_unit_test(overflow_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
