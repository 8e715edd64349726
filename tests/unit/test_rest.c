#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/buf.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_answer.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_text.h"
#include "tests/unit/rest_style.h"

/* ---- JSON ---------------------------------------------------------------- */

static void expect_json(const char *text, size_t len, enum err_code code,
                        const char *part)
{
    struct err e = {0};
    cJSON *root = rest_json_parse(text, len, &e);

    if (code == ERR_NONE) {
        assert_non_null(root);
        cJSON_Delete(root);
        return;
    }
    assert_null(root);
    assert_int_equal(e.code, code);
    if (strstr(e.msg, part) == NULL)
        fail_msg("\"%s\" does not hold \"%s\"", e.msg, part);
}

static void test_json_limits(void **state)
{
    char deep[200];

    (void)state;
    expect_json("{\"a\":[1,{}]}\n", 13, ERR_NONE, "");
    expect_json("", 0, ERR_RETRY, "not JSON");
    expect_json("{} x", 4, ERR_RETRY, "not JSON");
    expect_json("<html>", 6, ERR_RETRY, "not JSON");
    expect_json("[\"a\\u0000b\"]", 12, ERR_RETRY, "NUL");
    expect_json("[\"a\0b\"]", 7, ERR_RETRY, "NUL");
    expect_json("[\"abc", 5, ERR_RETRY, "end in a string");
    memset(deep, '[', 33);
    expect_json(deep, 33, ERR_LIMIT, "32 levels");
    memset(deep, '[', 32);
    memset(deep + 32, ']', 32);
    expect_json(deep, 64, ERR_NONE, "");
    /* brackets in strings do not count */
    memset(deep, '[', 100);
    deep[0] = deep[99] = '"';
    expect_json(deep, 100, ERR_NONE, "");
}

static void test_json_values(void **state)
{
    static const char body[] =
        "{\"a\":{\"b\":7},\"s\":\"x\",\"n\":\"42\",\"half\":1.5,"
        "\"minus\":-1,\"id\":604989101982744}";
    char text[8], id[32];
    struct err e;
    cJSON *root = rest_json_parse(body, sizeof body - 1, &e);
    int64_t n;

    (void)state;
    assert_non_null(root);
    assert_true(rest_json_uint(rest_json_at(root, "a.b"), 10, &n) && n == 7);
    assert_false(rest_json_uint(rest_json_at(root, "a.b"), 6, &n));
    assert_true(rest_json_uint(rest_json_at(root, "n"), 100, &n) && n == 42);
    assert_false(rest_json_uint(rest_json_at(root, "s"), 100, &n));
    assert_false(rest_json_uint(rest_json_at(root, "half"), 100, &n));
    assert_false(rest_json_uint(rest_json_at(root, "minus"), 100, &n));
    assert_null(rest_json_at(root, "a.c.d"));
    assert_ptr_equal(rest_json_at(root, ""), root);
    assert_true(rest_json_text(rest_json_at(root, "id"), id, sizeof id));
    assert_string_equal(id, "604989101982744");
    assert_false(rest_json_text(rest_json_at(root, "id"), text, sizeof text));
    assert_false(rest_json_text(rest_json_at(root, "a"), text, sizeof text));
    cJSON_Delete(root);
}

/* ---- error bodies -------------------------------------------------------- */

static void expect_text(const char *body, const char *want)
{
    struct err e;
    cJSON *root = rest_json_parse(body, strlen(body), &e);
    char text[400];

    rest_answer_text(root, body, text, sizeof text);
    assert_string_equal(text, want);
    cJSON_Delete(root);
}

/* One shape for each API that is, or will be, spoken to. */
static void test_error_bodies(void **state)
{
    (void)state;
    expect_text("{\"error\": \"DNS Name 'www' is not canonical\"}",
                "DNS Name 'www' is not canonical");
    expect_text("Not Found", "Not Found");
    expect_text("{\"message\":\"Validation failed\",\"errors\":{\"content\":"
                "[\"can't be blank\"]}}",
                "Validation failed: content: can't be blank");
    expect_text("{\"success\":false,\"errors\":[{\"code\":81058,\"message\":"
                "\"An identical record already exists.\"}],\"result\":null}",
                "An identical record already exists.: 81058");
    expect_text("{\"error\":{\"code\":\"not_found\",\"message\":\"zone not "
                "found\",\"details\":null}}",
                "zone not found: not_found");
    expect_text("{\"detail\":\"Not found.\"}", "Not found.");
    expect_text("{\"status\":\"error\",\"errors\":[{\"location\":\"body\","
                "\"name\":\"rrset_ttl\",\"description\":\"60 is less than "
                "minimum value 300\"}]}",
                "60 is less than minimum value 300");
    expect_text("{\"ttl\":[\"Ensure this value is greater than or equal to "
                "3600.\"]}",
                "ttl: Ensure this value is greater than or equal to 3600.");
    expect_text("{\"status\":\"error\",\"errorMessage\":\"No such zone\"}",
                "No such zone");
    expect_text("<html><body><h1>502 Bad\nGateway</h1></body></html>",
                "502 Bad Gateway");
}

static void expect_answer(long status, const char *body, enum err_code code,
                          bool is_sure, const char *part)
{
    const struct http_response h = {.status = status,
                                    .body = body,
                                    .body_len = strlen(body),
                                    .content_type = "text/plain",
                                    .retry_after_s = -1};
    struct rest_reply r;
    cJSON *root;

    rest_answer_read(&cloudflare_style, &h, "GET /zones", "s3cret", &root, &r);
    assert_int_equal(r.err.code, code);
    assert_int_equal(r.is_sure, is_sure);
    if (strstr(r.err.msg, part) == NULL || strstr(r.err.msg, "s3cret") != NULL)
        fail_msg("\"%s\", wanted \"%s\"", r.err.msg, part);
    cJSON_Delete(root);
}

static void test_answers(void **state)
{
    (void)state;
    expect_answer(200, "{\"success\":true}", ERR_NONE, false, "");
    expect_answer(200, "{\"success\":false}", ERR_INPUT, false, "no success");
    expect_answer(200, "<html>", ERR_RETRY, false, "no JSON that is taken");
    expect_answer(204, "", ERR_NONE, false, "");
    expect_answer(401, "bad token s3cret s3cret", ERR_AUTH, true, "******");
    expect_answer(403, "{}", ERR_AUTH, true, "HTTP 403");
    expect_answer(404, "Not Found", ERR_NOTFOUND, true, "Not Found");
    expect_answer(412, "{\"message\":\"no plan\"}", ERR_UNSUPPORTED, true,
                  "no plan");
    expect_answer(418, "", ERR_INPUT, true, "HTTP 418");
    expect_answer(429, "", ERR_RETRY, true, "HTTP 429");
    expect_answer(502, "<h1>Bad Gateway</h1>", ERR_RETRY, false, "Bad Gateway");
    expect_answer(302, "", ERR_INPUT, true, "redirects are not followed");
}

/* ---- names and values ---------------------------------------------------- */

static void expect_name(const struct rest_style *style, const char *text,
                        const char *name)
{
    char in[NAME_SIZE], out[NAME_SIZE];

    if (name == NULL) {
        assert_int_equal(rest_name_in(style, text, ZONE, in), -1);
        return;
    }
    assert_int_equal(rest_name_in(style, text, ZONE, in), 0);
    assert_string_equal(in, name);
    (void)rest_name_out(style, in, ZONE, out);
    assert_int_equal(rest_name_in(style, out, ZONE, in), 0);
    assert_string_equal(in, name);
}

static void test_names(void **state)
{
    char out[NAME_SIZE];

    (void)state;
    expect_name(&powerdns_style, "WWW.example.org.", WWW);
    expect_name(&cloudflare_style, "www.Example.ORG", WWW);
    expect_name(&cloudflare_style, "g\xc3\xadthub.com", NULL);
    expect_name(&dnsimple_style, "", ZONE);
    expect_name(&dnsimple_style, "@", ZONE);
    expect_name(&dnsimple_style, "www", WWW);
    expect_name(&dnsimple_style, "*.Apps", "*.apps." ZONE);
    expect_name(&strings_style, "@", ZONE);
    expect_name(&dnsimple_style, "www.example.org", "www.example.org." ZONE);
    assert_string_equal(rest_name_out(&powerdns_style, WWW, ZONE, out), WWW);
    assert_string_equal(rest_name_out(&cloudflare_style, WWW, ZONE, out),
                        "www.example.org");
    assert_string_equal(rest_name_out(&dnsimple_style, WWW, ZONE, out), "www");
    assert_string_equal(rest_name_out(&dnsimple_style, ZONE, ZONE, out), "");
    assert_string_equal(rest_name_out(&strings_style, ZONE, ZONE, out), "@");
}

static void expect_txt(const char *text, const char *want, size_t len)
{
    struct buf b;

    buf_init(&b, 4096);
    rest_txt_in(text, &b);
    assert_int_equal(b.len, len);
    assert_memory_equal(buf_get(&b), want, len);
    buf_fini(&b);
}

static void test_txt(void **state)
{
    char text[600];
    struct buf b;

    (void)state;
    expect_txt("\"a b\"", "a b", 3);
    expect_txt("\"one\" \"two\"", "onetwo", 6);
    expect_txt(" \"one\"\t\"two\" ", "onetwo", 6);
    expect_txt("\"a\\\"b\\\\c\\195\\164\"", "a\"b\\c\xc3\xa4", 7);
    expect_txt("bare; text", "bare; text", 10);
    expect_txt("[{\"a\":\"b\"}]", "[{\"a\":\"b\"}]", 11);
    expect_txt("\"open", "\"open", 5);
    expect_txt("\"a\\", "\"a\\", 3);
    expect_txt("\"a\" b", "\"a\" b", 5);
    expect_txt("", "", 0);
    memset(text, 'x', sizeof text);
    buf_init(&b, 4096);
    rest_data_out(&powerdns_style, RR_TXT, text, sizeof text, &b);
    assert_int_equal(b.len, sizeof text + 3 * 2 + 2);
    expect_txt(buf_get(&b), text, sizeof text);
    buf_reset(&b);
    rest_data_out(&strings_style, RR_TXT, "a\"b", 3, &b);
    assert_string_equal(buf_get(&b), "a\"b");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_limits),  cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_error_bodies), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_names),        cmocka_unit_test(test_txt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
