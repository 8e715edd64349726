#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "providers/shared/markup.h"

static void test_strip(void **state)
{
    char out[32];

    (void)state;
    assert_string_equal(markup_strip("a<br />\r\n b", out, sizeof out), "a b");
    assert_string_equal(markup_strip("  <b>x</b>\x01y ", out, sizeof out),
                        "x y");
    assert_string_equal(markup_strip("1 < 2 and 3 > 2", out, sizeof out),
                        "1 < 2 and 3 > 2");
    assert_string_equal(markup_strip("0123456789012345678901234567890123456789",
                                     out, sizeof out),
                        "012345678901234567890123456…");
    /* cut before the character, not in it */
    assert_string_equal(
        markup_strip("01234567890123456789012345ü67890", out, sizeof out),
        "01234567890123456789012345…");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
