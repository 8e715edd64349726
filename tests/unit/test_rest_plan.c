#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_write.h"
#include "providers/rest/rest_zone.h"
#include "tests/unit/rest_style.h"

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
    assert_int_equal(r.n, 3);
    assert_string_equal(r.v[2].data, "not an address");
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

    s->plan.min_ttl_s = style->ops->caps.min_ttl_s;
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

static void test_sets_of_strings(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &strings_style,
               "[{\"subname\":\"www\",\"type\":\"A\",\"ttl\":300,\"records\":"
               "[\"192.0.2.1\",\"192.0.2.9\"]},"
               "{\"subname\":\"www\",\"type\":\"AAAA\",\"ttl\":300,"
               "\"records\":[\"2001:db8::1\"]}]");
    assert_int_equal(s.have.n, 3);
    change(&s, CHANGE_PUBLISH, RR_A, "192.0.2.2", 60);
    change(&s, CHANGE_WITHDRAW, RR_A, "192.0.2.1", -1);
    change(&s, CHANGE_WITHDRAW, RR_AAAA, "2001:db8::1", -1);
    expect_bodies(&s, &strings_style, NULL,
                  "[{\"subname\":\"www\",\"type\":\"A\",\"ttl\":60,"
                  "\"records\":[\"192.0.2.9\",\"192.0.2.2\"]}]\n"
                  "[{\"subname\":\"www\",\"type\":\"AAAA\",\"ttl\":300,"
                  "\"records\":[]}]\n");
}

static void test_relative_target(void **state)
{
    struct scene s;

    (void)state;
    scene_init(&s, &strings_style,
               "[{\"subname\":\"www\",\"type\":\"CNAME\",\"ttl\":300,"
               "\"records\":[\"mail\"]}]");
    assert_string_equal(s.have.v[0].data, "mail." ZONE);
    change(&s, CHANGE_PUBLISH, RR_CNAME, "ftp." ZONE, -1);
    change(&s, CHANGE_WITHDRAW, RR_CNAME, "mail." ZONE, -1);
    expect_bodies(&s, &strings_style, NULL,
                  "[{\"subname\":\"www\",\"type\":\"CNAME\",\"ttl\":300,"
                  "\"records\":[\"ftp." ZONE "\"]}]\n");
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
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_record_without_id),
        cmocka_unit_test(test_set_is_written_whole),
        cmocka_unit_test(test_nothing_to_write),
        cmocka_unit_test(test_missing_and_create),
        cmocka_unit_test(test_record_comes_back_as_it_was),
        cmocka_unit_test(test_new_record_beside_proxied_ones),
        cmocka_unit_test(test_ttl_of_what_stays),
        cmocka_unit_test(test_cname_is_changed_in_place),
        cmocka_unit_test(test_sets_of_strings),
        cmocka_unit_test(test_relative_target),
        cmocka_unit_test(test_is_so),
        cmocka_unit_test(test_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
