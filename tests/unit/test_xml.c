#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/buf.h"
#include "providers/shared/xml.h"

#define MAX ((size_t)1024 * 1024)

static void expect_error(const char *text, enum err_code code, const char *part)
{
    struct xml *x = NULL;
    struct err e;

    assert_int_equal(xml_parse(text, strlen(text), MAX, &x, &e), -1);
    assert_null(x);
    assert_int_equal(e.code, code);
    if (strstr(e.msg, part) == NULL)
        fail_msg("\"%s\" does not hold \"%s\"", e.msg, part);
}

static void test_walk(void **state)
{
    const char *text = "<a:r xmlns:a='urn:x' k='1' a:k='2'>"
                       "<!-- c --><s>one<![CDATA[<two>]]></s><t/> <s/></a:r>";
    struct arena *a = arena_new();
    const xmlNode *root, *s;
    struct xml *x;
    struct err e;

    (void)state;
    assert_int_equal(xml_parse(text, strlen(text), MAX, &x, &e), 0);
    root = xml_root(x);
    assert_true(xml_is(root, "r"));
    assert_string_equal(xml_attr(root, "k", "urn:x", a), "2");
    assert_string_equal(xml_attr(root, "k", NULL, a), "1");
    assert_null(xml_attr(root, "none", NULL, a));
    s = xml_child(root, "s");
    assert_string_equal(xml_text(s, a), "one<two>");
    assert_true(xml_is(xml_next(s, NULL), "t"));
    s = xml_next(s, "s");
    assert_string_equal(xml_text(s, a), "");
    assert_null(xml_next(s, NULL));
    assert_null(xml_child(NULL, "s"));
    xml_free(x);
    arena_free(a);
}

static void test_refused(void **state)
{
    (void)state;
    expect_error("", ERR_RETRY, "");
    expect_error("<a><b></a>", ERR_RETRY, "line 1");
    expect_error("<a>\n\x01</a>", ERR_RETRY, "0x01 in line 2");
    expect_error("<a>&unknown;</a>", ERR_RETRY, "not well-formed");
    expect_error("<!DOCTYPE a><a/>", ERR_INPUT, "DOCTYPE");
    expect_error("<!DOCTYPE a [<!ENTITY b \"cc\"><!ENTITY d \"&b;&b;\">]>"
                 "<a>&d;</a>",
                 ERR_INPUT, "DOCTYPE");
    expect_error("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", ERR_INPUT,
                 "DOCTYPE");
    expect_error("<html><br></html>", ERR_RETRY, "");
}

static void test_limits(void **state)
{
    struct buf b;
    struct xml *x;
    struct err e;

    (void)state;
    buf_init(&b, 64 * MAX);
    for (int i = 0; i < XML_MAX_DEPTH; i++)
        buf_str(&b, "<a>");
    for (int i = 0; i < XML_MAX_DEPTH; i++)
        buf_str(&b, "</a>");
    assert_int_equal(xml_parse(b.data, b.len, MAX, &x, &e), 0);
    xml_free(x);
    buf_reset(&b);
    for (int i = 0; i <= XML_MAX_DEPTH; i++)
        buf_str(&b, "<a>");
    expect_error(buf_get(&b), ERR_LIMIT, "deeper than");
    assert_int_equal(xml_parse(b.data, b.len, b.len - 1, &x, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    buf_reset(&b);
    buf_str(&b, "<r>");
    for (int i = 0; i < XML_MAX_ELEMENTS; i++)
        buf_str(&b, "<a/>");
    buf_str(&b, "</r>");
    assert_int_equal(xml_parse(b.data, b.len, 64 * MAX, &x, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
