#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/engine/world/txt.h"

/* The way of TXT records into the state and back. */

static void all_bytes_come_back(void **state)
{
    struct arena *a = arena_new();
    struct spec_string strings[3];
    struct spec_txt txts[2] = {{strings, 2}, {strings + 2, 1}}, *back;
    char bytes[256], *text;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(unsigned char)i;
    strings[0] = (struct spec_string){bytes, sizeof bytes};
    strings[1] = (struct spec_string){"", 0};
    strings[2] = (struct spec_string){"[{\"name\":\"a\\b\"}]", 16};
    text = txt_print(txts, 2);
    back = txt_parse(a, text, &n);
    assert_int_equal(n, 2);
    assert_int_equal(back[0].nstrings, 2);
    assert_int_equal(back[0].strings[0].len, sizeof bytes);
    assert_memory_equal(back[0].strings[0].data, bytes, sizeof bytes);
    assert_int_equal(back[0].strings[1].len, 0);
    assert_int_equal(back[1].nstrings, 1);
    assert_int_equal(back[1].strings[0].len, 16);
    assert_memory_equal(back[1].strings[0].data, strings[2].data, 16);
    free(text);
    arena_free(a);
}

static void is_one_line_a_record(void **state)
{
    struct spec_string s = {"a\nb\"", 4};
    struct spec_txt t = {&s, 1};
    char *text = txt_print(&t, 1);

    (void)state;
    assert_string_equal(text, "\"a\\010b\\\"\"\n");
    free(text);
}

static void damaged_text_is_read_to_its_end(void **state)
{
    static const char *const damaged[] = {
        "", "\"", "\"abc", "\"\\", "\"\\2", "x y z", "\n\n", "\"\\999\"\n"};
    struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        size_t n = 99;

        assert_non_null(txt_parse(a, damaged[i], &n));
        assert_true(n <= 2);
    }
    arena_free(a);
}

static void copies_what_was_lent(void **state)
{
    char data[] = "lent";
    struct message_string s = {data, 4};
    struct message_txt t = {&s, 1, 300};
    struct arena *a = arena_new();
    struct spec_txt *copy = txt_copy(a, &t, 1);

    (void)state;
    memset(data, 'x', 4);
    assert_int_equal(copy[0].strings[0].len, 4);
    assert_memory_equal(copy[0].strings[0].data, "lent", 4);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_come_back),
        cmocka_unit_test(is_one_line_a_record),
        cmocka_unit_test(damaged_text_is_read_to_its_end),
        cmocka_unit_test(copies_what_was_lent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
