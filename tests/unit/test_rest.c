#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/rest.h"

#define ZONE "example.org."
#define WWW "www." ZONE

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
    expect_name(&dnsimple_style, "www.example.org", "www.example.org." ZONE);
    assert_string_equal(rest_name_out(&powerdns_style, WWW, ZONE, out), WWW);
    assert_string_equal(rest_name_out(&cloudflare_style, WWW, ZONE, out),
                        "www.example.org");
    assert_string_equal(rest_name_out(&dnsimple_style, WWW, ZONE, out), "www");
    assert_string_equal(rest_name_out(&dnsimple_style, ZONE, ZONE, out), "");
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
    buf_fini(&b);
}

/* ---- records ------------------------------------------------------------- */

/* The records of body as a provider's answer. */
static struct rest_records read_all(const struct rest_style *style,
                                    struct arena *a, const char *name,
                                    const char *body)
{
    const char **names = arena_array(a, 1, sizeof *names);
    const struct rest_wanted wanted = {.names = names, .n = 1};
    struct rest_records out = {.a = a};
    struct err e = {0};
    cJSON *root = rest_json_parse(body, strlen(body), &e);

    names[0] = name;
    if (root == NULL)
        fail_msg("%s: %s", body, e.msg);
    for (const cJSON *i = rest_json_at(root, style->paths.items)->child;
         i != NULL; i = i->next)
        if (rest_record_read(style, &style->m, i, ZONE, &wanted, &out, &e) != 0)
            fail_msg("%s", e.msg);
    cJSON_Delete(root);
    return out;
}

static void test_records(void **state)
{
    struct arena *a = arena_new();
    struct rest_records r = read_all(
        &cloudflare_style, a, WWW,
        "{\"result\":[{\"id\":\"x\",\"name\":\"www.example.org\",\"type\":"
        "\"AAAA\",\"content\":\"2001:DB8:0::1\",\"ttl\":1,\"proxied\":true,"
        "\"comment\":null,\"tags\":[],\"settings\":{}},"
        "{\"id\":\"y\",\"name\":\"www.example.org\",\"type\":\"CNAME\","
        "\"content\":\"A.example.net\",\"ttl\":\"60\"},"
        "{\"id\":\"z\",\"name\":\"www.example.org\",\"type\":\"A\","
        "\"content\":\"not an address\",\"ttl\":60},"
        "{\"id\":\"n\",\"name\":\"mail.example.org\",\"type\":\"A\","
        "\"content\":\"192.0.2.1\",\"ttl\":60}]}");

    (void)state;
    assert_int_equal(r.n, 2);
    assert_string_equal(r.v[0].data, "2001:db8::1");
    assert_true(r.v[0].proxied && r.v[0].ttl_s == 300);
    assert_string_equal(r.v[0].kept, "{\"proxied\":true,\"ttl\":1}");
    assert_string_equal(r.v[1].data, "a.example.net.");
    assert_int_equal(r.v[1].ttl_s, 60);
    arena_free(a);
}

static void test_record_without_id(void **state)
{
    const char *const names[] = {WWW};
    const struct rest_wanted wanted = {.names = names, .n = 1};
    struct arena *a = arena_new();
    struct rest_records out = {.a = a};
    cJSON *o = cJSON_Parse("{\"name\":\"www\",\"type\":\"A\",\"content\":"
                           "\"192.0.2.1\",\"ttl\":60}");
    struct err e;

    (void)state;
    assert_int_equal(rest_record_read(&dnsimple_style, &dnsimple_style.m, o,
                                      ZONE, &wanted, &out, &e),
                     -1);
    assert_int_equal(e.code, ERR_RETRY);
    cJSON_Delete(o);
    arena_free(a);
}

/* ---- plans and bodies ---------------------------------------------------- */

struct scene {
    struct arena *a;
    struct rest_records have;
    struct change changes[4];
    struct change_result results[4];
    struct change_set set;
    struct rest_plan plan;
};

static void scene_init(struct scene *s, const struct rest_style *style,
                       const char *body)
{
    memset(s, 0, sizeof *s);
    s->a = arena_new();
    s->have = read_all(style, s->a, WWW, body);
    s->set.zone = ZONE;
    s->set.v = s->changes;
    s->plan.a = s->a;
}

static void change(struct scene *s, enum change_op op, enum rr_type t,
                   const char *data, int64_t ttl_s)
{
    s->results[s->set.n].state = CHANGE_UNKNOWN;
    s->changes[s->set.n++] = (struct change){
        .op = op, .name = WWW, .type = t, .data = data, .ttl_s = ttl_s};
}

static const char *kept_text(void *arg, const char *name, enum rr_type t,
                             const char *data)
{
    (void)name;
    (void)t;
    (void)data;
    return arg;
}

/* The bodies of all writes, one a line, in order. */
static void expect_bodies(struct scene *s, const struct rest_style *style,
                          const char *kept, const char *want)
{
    struct rest_zone z = {.name = ZONE};
    struct rest p = {.style = style};
    struct buf b;

    rest_plan_make(style, &s->set, &s->have, kept_text, (void *)(uintptr_t)kept,
                   s->results, &s->plan);
    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < s->plan.n; i++)
        for (size_t k = 0; k < s->plan.sets[i].n; k++) {
            const struct rest_item *it = &s->plan.sets[i].items[k];
            struct rest_written w = {.set = i,
                                     .item = style->by_set ? NULL : it};
            char *body;

            if (style->by_set ? k > 0 || !s->plan.sets[i].is_changed
                              : it->act == REST_KEEP)
                continue;
            body = rest_write_body(&p, &z, s->plan.sets, &w, 1, style->by_set);
            buf_printf(&b, "%s\n", body != NULL ? body : it->record->id);
            free(body);
        }
    assert_string_equal(buf_get(&b), want);
    buf_fini(&b);
    arena_free(s->a);
}

#define PDNS(records)                                                          \
    "{\"rrsets\":[{\"name\":\"" WWW "\",\"type\":\"A\",\"ttl\":60,"            \
    "\"records\":[" records "]}]}"
#define PDNS_ON(data) "{\"content\":\"" data "\",\"disabled\":false}"
#define PDNS_OFF(data) "{\"content\":\"" data "\",\"disabled\":true}"
#define PDNS_BODY(ttl, records)                                                \
    "{\"rrsets\":[{\"name\":\"" WWW "\",\"type\":\"A\",\"ttl\":" ttl           \
    ",\"changetype\":\"REPLACE\",\"records\":[" records "]}]}\n"

static void test_set_is_written_whole(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &powerdns_style,
               PDNS(PDNS_ON("192.0.2.1") "," PDNS_OFF("192.0.2.2")));
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.2", 30);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.1", -1);
    expect_bodies(
        &s, &powerdns_style, NULL,
        PDNS_BODY("30", PDNS_OFF("192.0.2.1") "," PDNS_ON("192.0.2.2")));
    assert_int_equal(s.results[0].state, CHANGE_UNKNOWN);
}

static void test_nothing_to_write(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &powerdns_style,
               PDNS(PDNS_ON("192.0.2.1") "," PDNS_OFF("192.0.2.2")));
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.1", 60);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.2", -1);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.9", -1);
    expect_bodies(&s, &powerdns_style, NULL, "");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(s.results[i].state, CHANGE_DONE);
}

static void test_missing_and_create(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &powerdns_style, PDNS(PDNS_ON("192.0.2.1")));
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.2", -1);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.1", -1);
    expect_bodies(&s, &powerdns_style, NULL, "");
    assert_int_equal(s.results[0].state, CHANGE_FAILED);
    assert_int_equal(s.results[1].state, CHANGE_SKIPPED);
    assert_non_null(strstr(s.results[0].err.msg, "zone \"example.org\""));

    scene_init(&s, &powerdns_style, PDNS(PDNS_ON("192.0.2.1")));
    s.set.create = true;
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.2", -1);
    expect_bodies(
        &s, &powerdns_style, NULL,
        PDNS_BODY("60", PDNS_ON("192.0.2.1") "," PDNS_ON("192.0.2.2")));
}

#define CF_RECORD(id, data, more)                                              \
    "{\"id\":\"" id "\",\"name\":\"www.example.org\",\"type\":\"A\","          \
    "\"content\":\"" data "\"," more "}"

static void test_record_comes_back_as_it_was(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &cloudflare_style,
               "{\"result\":[" CF_RECORD("b", "192.0.2.2",
                                         "\"ttl\":1,\"proxied\":true") "]}");
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.1", 60);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.2", -1);
    expect_bodies(&s, &cloudflare_style,
                  "300 {\"proxied\":true,\"comment\":\"rack 7\",\"ttl\":1}",
                  "b\n{\"proxied\":true,\"comment\":\"rack 7\",\"name\":"
                  "\"www.example.org\",\"type\":\"A\",\"ttl\":1,\"content\":"
                  "\"192.0.2.1\"}\n");
}

static void test_new_record_beside_proxied_ones(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &cloudflare_style,
               "{\"result\":[" CF_RECORD("b", "192.0.2.2",
                                         "\"ttl\":1,\"proxied\":true,"
                                         "\"comment\":\"rack 9\"") "]}");
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.1", 120);
    expect_bodies(&s, &cloudflare_style, NULL,
                  "{\"proxied\":true,\"name\":\"www.example.org\",\"type\":"
                  "\"A\",\"ttl\":1,\"content\":\"192.0.2.1\"}\n");
}

/* What stays gets the set's TTL; not less than the provider takes. */
static void test_ttl_of_what_stays(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &cloudflare_style,
               "{\"result\":[" CF_RECORD("b", "192.0.2.2", "\"ttl\":300") "]}");
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.1", 10);
    expect_bodies(&s, &cloudflare_style, NULL,
                  "{\"ttl\":60}\n{\"name\":\"www.example.org\",\"type\":\"A\","
                  "\"ttl\":60,\"content\":\"192.0.2.1\"}\n");
}

static void test_cname_is_changed_in_place(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &dnsimple_style,
               "{\"data\":[{\"id\":7,\"name\":\"www\",\"type\":\"CNAME\","
               "\"content\":\"a.example.net\",\"ttl\":60}]}");
    change(&s, CHANGE_PUBLISH, RR_CNAME, "b.example.net.", -1);
    change(&s, CHANGE_WITHDRAW, RR_CNAME, "a.example.net.", -1);
    expect_bodies(&s, &dnsimple_style, NULL,
                  "{\"content\":\"b.example.net\"}\n");
}

static void test_is_so(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &powerdns_style,
               PDNS(PDNS_ON("192.0.2.1") "," PDNS_OFF("192.0.2.2")));
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.1", -1);
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.2", -1);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.2", -1);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.1", -1);
    assert_true(rest_plan_is_so(&s.changes[0], &s.have));
    assert_false(rest_plan_is_so(&s.changes[1], &s.have));
    assert_true(rest_plan_is_so(&s.changes[2], &s.have));
    assert_false(rest_plan_is_so(&s.changes[3], &s.have));
    arena_free(s.a);
}

static void test_paths(void **state)
{
    struct arena *a = arena_new();
    char account[] = "1/0";
    struct rest p = {.style = &dnsimple_style, .account = account};
    struct rest_zone z = {.name = ZONE, .id = "abc"};
    const struct rest_path_args args = {
        .zone = &z, .name = "*." ZONE, .record = "7"};

    (void)state;
    assert_string_equal(
        rest_path(&p, a, "/{account}/{zone}/{zone.}/{id}?n={name}&r={record}",
                  &args),
        "/1%2F0/example.org/example.org./abc?n=%2A&r=7");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_limits),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_error_bodies),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_txt),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_record_without_id),
        cmocka_unit_test(test_set_is_written_whole),
        cmocka_unit_test(test_nothing_to_write),
        cmocka_unit_test(test_missing_and_create),
        cmocka_unit_test(test_record_comes_back_as_it_was),
        cmocka_unit_test(test_new_record_beside_proxied_ones),
        cmocka_unit_test(test_ttl_of_what_stays),
        cmocka_unit_test(test_cname_is_changed_in_place),
        cmocka_unit_test(test_is_so),
        cmocka_unit_test(test_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
