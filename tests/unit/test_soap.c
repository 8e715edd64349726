#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/ispconfig/soap.h"
#include "tests/unit/soap_captures.h"

#define MAX ((size_t)16 * 1024 * 1024)
#define ENVELOPE(x)                                                            \
    "<e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/' "         \
    "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><e:Body>" x         \
    "</e:Body></e:Envelope>"
#define ANSWER(x) ENVELOPE("<m:r xmlns:m='urn:m'>" x "</m:r>")

static struct soap_answer parse(struct arena *a, const char *text)
{
    struct soap_answer out;
    struct err e = {0};

    if (soap_parse(a, text, strlen(text), MAX, &out, &e) != 0)
        fail_msg("%s", e.msg);
    return out;
}

static struct soap_answer parse_file(struct arena *a, const char *name)
{
    char *path = mem_printf("tests/fixtures/ispconfig/%s", name);
    size_t len = 0;
    char *text = captures_read(path, &len);
    struct soap_answer out;

    assert_non_null(text);
    out = parse(a, text);
    free(text);
    free(path);
    return out;
}

static void expect_error(const char *text, const char *part)
{
    struct arena *a = arena_new();
    struct soap_answer out;
    struct err e = {0};

    assert_int_equal(soap_parse(a, text, strlen(text), MAX, &out, &e), -1);
    if (strstr(e.msg, part) == NULL)
        fail_msg("\"%s\" does not hold \"%s\"", e.msg, part);
    arena_free(a);
}

static void test_values(void **state)
{
    struct arena *a = arena_new();
    struct soap_value v;

    (void)state;
    v = parse_file(a, "login.xml").value;
    assert_int_equal(v.kind, SOAP_STRING);
    assert_int_equal(strlen(v.text), 41);
    v = parse_file(a, "count.xml").value;
    assert_int_equal(v.kind, SOAP_INT);
    assert_int_equal(v.number, 1);
    v = parse_file(a, "logout.xml").value;
    assert_int_equal(v.kind, SOAP_BOOL);
    assert_int_equal(v.number, 1);
    assert_int_equal(parse_file(a, "missing.xml").value.kind, SOAP_NIL);
    v = parse_file(a, "empty-list.xml").value;
    assert_int_equal(v.kind, SOAP_LIST);
    assert_int_equal(v.n, 0);
    arena_free(a);
}

static void test_records(void **state)
{
    struct arena *a = arena_new();
    struct soap_value v = parse_file(a, "record.xml").value;

    (void)state;
    assert_int_equal(v.kind, SOAP_MAP);
    assert_int_equal(v.n, 16);
    assert_string_equal(v.keys[0], "id");
    assert_string_equal(soap_get_text(&v, "data"), "192.0.2.1");
    assert_string_equal(soap_get_text(&v, "sys_perm_other"), "");
    assert_null(soap_get(&v, "none"));
    v = parse_file(a, "records.xml").value;
    assert_int_equal(v.kind, SOAP_LIST);
    assert_int_equal(v.n, 3);
    assert_null(soap_get_text(&v.items[1], "stamp"));
    assert_int_equal(soap_get(&v.items[1], "stamp")->kind, SOAP_NIL);
    assert_string_equal(soap_get_text(&v.items[2], "data"), "a & b <c> ü");
    assert_null(soap_get(&v, "id"));
    arena_free(a);
}

/* Shapes that other servers and versions send. */
static void test_other_shapes(void **state)
{
    struct arena *a = arena_new();
    struct soap_value v;

    (void)state;
    v = parse(a, ANSWER("<return><id>5</id><name/></return>")).value;
    assert_int_equal(v.kind, SOAP_MAP);
    assert_string_equal(soap_get_text(&v, "id"), "5");
    assert_string_equal(soap_get_text(&v, "name"), "");
    v = parse(a, ANSWER("<return><item><key>k</key><value>v</value></item>"
                        "</return>"))
            .value;
    assert_string_equal(soap_get_text(&v, "k"), "v");
    v = parse(a, ANSWER("<return xsi:type='x:Map'/>")).value;
    assert_int_equal(v.kind, SOAP_MAP);
    assert_int_equal(v.n, 0);
    v = parse(a, ANSWER("<return xsi:type='x:boolean'>0</return>")).value;
    assert_int_equal(v.number, 0);
    assert_int_equal(parse(a, ANSWER("")).value.kind, SOAP_NIL);
    arena_free(a);
}

static void test_faults(void **state)
{
    struct arena *a = arena_new();
    struct soap_answer f = parse_file(a, "fault-validation.xml");

    (void)state;
    assert_true(f.is_fault);
    assert_string_equal(f.code, "data_processing_error");
    assert_string_equal(f.text, "ip_error_wrong ttl_range_error");
    f = parse(a, ENVELOPE("<e:Fault><e:Code><e:Value>c</e:Value></e:Code>"
                          "<e:Reason><e:Text>t</e:Text></e:Reason></e:Fault>"));
    assert_true(f.is_fault);
    assert_string_equal(f.code, "c");
    assert_string_equal(f.text, "t");
    arena_free(a);
}

static void test_not_soap(void **state)
{
    (void)state;
    expect_error("<html><body/></html>", "<html>");
    expect_error("<e:Envelope xmlns:e='x'/>", "empty body");
    expect_error(ANSWER("<return xsi:type='xsd:int'>12x</return>"), "\"12x\"");
    expect_error(ANSWER("<return xsi:type='x:Map'><item><key/></item>"
                        "</return>"),
                 "without key and value");
    expect_error(ANSWER("<return href='#1'/>"), "href");
    expect_error("<!DOCTYPE a><a/>", "DOCTYPE");
}

static void test_writing(void **state)
{
    struct soap_args args;
    struct buf body;
    struct err e;

    (void)state;
    buf_init(&body, MAX);
    soap_args_init(&args);
    soap_put_string(&args, "a<&>\"b\r\n");
    soap_put_bool(&args, true);
    soap_open_map(&args);
    soap_put_member(&args, "k", "v");
    soap_put_member(&args, "n", NULL);
    soap_close_map(&args);
    assert_int_equal(soap_envelope(&body, "dns_a_get", "SID", &args, &e), 0);
    assert_non_null(strstr(
        body.data, "<dns_a_get><p xsi:type=\"xsd:string\">SID</p>"
                   "<p xsi:type=\"xsd:string\">a&lt;&amp;&gt;\"b&#13;\n</p>"
                   "<p xsi:type=\"xsd:boolean\">true</p><p xsi:type=\"m:Map\">"
                   "<item><key xsi:type=\"xsd:string\">k</key>"
                   "<value xsi:type=\"xsd:string\">v</value></item>"
                   "<item><key xsi:type=\"xsd:string\">n</key>"
                   "<value xsi:nil=\"true\"/></item></p></dns_a_get>"));
    soap_args_fini(&args);
    buf_fini(&body);
}

static void test_what_cannot_be_written(void **state)
{
    static const char *const bad[] = {"a\x01",    "\xff",
                                      "\xc3",     "\xed\xa0\x80",
                                      "\xc0\x80", "\xf5\x80\x80\x80"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct soap_args args;
        struct buf body;
        struct err e = {0};

        buf_init(&body, MAX);
        soap_args_init(&args);
        soap_put_string(&args, bad[i]);
        assert_int_equal(soap_envelope(&body, "login", NULL, &args, &e), -1);
        assert_int_equal(e.code, ERR_INPUT);
        soap_args_fini(&args);
        buf_fini(&body);
    }
}

/* ---- recorded answers ------------------------------------------------------
 */

static void check_capture(const char *name, const char *text, size_t len)
{
    struct arena *a = arena_new();
    struct soap_answer out;
    struct err e = {0};
    bool is_page = strstr(name, "69-remote-api") == name ||
                   strstr(name, "26-fault") == name;
    int rc = soap_parse(a, text, len, MAX, &out, &e);

    if (is_page)
        assert_int_equal(rc, -1);
    else if (rc != 0)
        fail_msg("%s: %s", name, e.msg);
    else if (out.is_fault != (strstr(name, "fault") != NULL ||
                              strstr(name, "46-client-login") == name))
        fail_msg("%s: fault %s: %s", name, out.code, out.text);
    else if (out.is_fault && (out.code[0] == '\0' || out.text[0] == '\0'))
        fail_msg("%s: an empty fault", name);
    arena_free(a);
}

static void test_captures(void **state)
{
    (void)state;
    if (captures_each(check_capture) == 0) {
        print_message("no ../shared/ispconfig/captures\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_other_shapes),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_not_soap),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_what_cannot_be_written),
        cmocka_unit_test(test_captures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
