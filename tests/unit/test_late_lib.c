#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/curl_lib.h"
#include "agent/base/late_lib.h"

/* libcurl is there, and what it says is what its functions say. */
static void test_loads(void **state)
{
    struct curl_lib lib;
    struct err e;
    char *host = NULL;
    CURLU *u;

    (void)state;
    assert_int_equal(curl_lib_load(&lib, &e), 0);
    u = lib.url();
    assert_non_null(u);
    assert_int_equal(lib.url_set(u, CURLUPART_URL, "https://a.example/", 0),
                     CURLUE_OK);
    assert_int_equal(lib.url_get(u, CURLUPART_HOST, &host, 0), CURLUE_OK);
    assert_string_equal(host, "a.example");
    lib.free(host);
    lib.url_cleanup(u);
}

struct table {
    double (*cos)(double);
    double (*no_such)(double);
};

static void test_says_what_is_missing(void **state)
{
    static const struct late_function functions[] = {
        {"cos", offsetof(struct table, cos)},
        {"no_such_function", offsetof(struct table, no_such)}};
    struct table t = {NULL, NULL};
    struct err e;

    (void)state;
    assert_int_equal(late_lib_load("libm.so.6", functions, 1, &t, &e), 0);
    assert_true(t.cos(0) > 0.99);
    assert_int_equal(late_lib_load("libm.so.6", functions, 2, &t, &e), -1);
    assert_int_equal(e.code, ERR_LOCAL);
    assert_string_equal(e.msg, "libm.so.6 has no no_such_function");
    assert_int_equal(late_lib_load("libnone.so.0", functions, 2, &t, &e), -1);
    assert_int_equal(e.code, ERR_LOCAL);
    assert_non_null(strstr(e.msg, "libnone.so.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_says_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
