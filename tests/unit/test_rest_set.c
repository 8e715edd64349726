#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_form.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_set.h"
#include "providers/rest/rest_text.h"
#include "providers/rest/rest_zone.h"

#define ZONE "example.org."

/* Which calls a set is due, their bodies, forms, and values as they go out. */

static const struct rest_record one = {.data = "192.0.2.1",
                                       .raw = "192.0.2.1",
                                       .len = 9,
                                       .ttl_s = 300,
                                       .enabled = true};

static struct rest_item item(enum rest_act act, const struct rest_record *r,
                             const char *data)
{
    return (struct rest_item){.act = act,
                              .record = r,
                              .data = r != NULL ? r->data : data,
                              .len = strlen(data),
                              .ttl_s = 300,
                              .enabled = act != REST_REMOVE};
}

static void expect_due(struct rest_item a, struct rest_item b, uint32_t ttl_s,
                       unsigned want)
{
    struct rest_item items[] = {a, b};
    const struct rest_set s = {.items = items, .n = 2, .ttl_s = ttl_s};

    assert_int_equal(rest_set_due(&s), want);
}

static void test_due(void **state)
{
    const struct rest_item kept = item(REST_KEEP, &one, "192.0.2.1");
    const struct rest_item gone = item(REST_REMOVE, &one, "192.0.2.1");
    const struct rest_item new = item(REST_ADD, NULL, "192.0.2.2");

    (void)state;
    expect_due(new, new, 300, REST_DUE_NEW);
    expect_due(kept, new, 300, REST_DUE_VALUES);
    expect_due(kept, kept, 300, 0);
    expect_due(kept, kept, 60, REST_DUE_TTL);
    expect_due(gone, new, 60, REST_DUE_TTL | REST_DUE_VALUES);
    expect_due(gone, gone, 300, REST_DUE_GONE);
}

static void expect_body(const struct provider_ops *ops, unsigned parts,
                        const char *want)
{
    struct rest_item items[] = {item(REST_REMOVE, &one, "192.0.2.1"),
                                item(REST_ADD, NULL, "192.0.2.2")};
    const struct rest_zone z = {.name = ZONE};
    const struct rest_set s = {
        .name = ZONE, .type = RR_A, .items = items, .n = 2, .ttl_s = 600};
    cJSON *o = rest_set_json(ops->rest, &z, &s, parts);
    char *text = cJSON_PrintUnformatted(o);

    assert_string_equal(text, want);
    cJSON_free(text);
    cJSON_Delete(o);
}

static void test_bodies(void **state)
{
    const unsigned all = REST_PART_NAME | REST_PART_TTL | REST_PART_VALUES;

    (void)state;
    expect_body(&provider_hetzner, all,
                "{\"name\":\"@\",\"type\":\"A\",\"ttl\":600,\"records\":"
                "[{\"value\":\"192.0.2.2\"}]}");
    expect_body(&provider_hetzner, REST_PART_TTL, "{\"ttl\":600}");
    expect_body(&provider_hetzner, REST_PART_VALUES,
                "{\"records\":[{\"value\":\"192.0.2.2\"}]}");
    expect_body(&provider_desec, all,
                "{\"subname\":\"\",\"type\":\"A\",\"ttl\":600,\"records\":"
                "[\"192.0.2.2\"]}");
    expect_body(&provider_gandi, REST_PART_TTL | REST_PART_VALUES,
                "{\"rrset_ttl\":600,\"rrset_values\":[\"192.0.2.2\"]}");
}

static void expect_form(enum rest_act act, enum rr_type t, const char *data,
                        bool enabled, const char *want)
{
    const struct rest_record r = {.data = "192.0.2.1",
                                  .raw = "192.0.2.1",
                                  .len = 9,
                                  .kept = "{\"comments\":\"a & b\"}"};
    const struct rest_zone z = {.name = ZONE};
    const struct rest_set s = {.name = "*." ZONE, .type = t};
    const struct rest_item it = {.act = act,
                                 .record = act == REST_ADD ? NULL : &r,
                                 .data = data != NULL ? data : r.data,
                                 .len = strlen(data != NULL ? data : r.data),
                                 .ttl_s = 60,
                                 .enabled = enabled};
    char *body = rest_form_body(provider_technitium.rest, &z, &s, &it);

    assert_string_equal(body, want);
    free(body);
}

#define HEAD "zone=example.org&domain=%2A.example.org&type="

static void test_forms(void **state)
{
    (void)state;
    expect_form(REST_ADD, RR_AAAA, "2001:db8::1", true,
                HEAD "AAAA&ttl=60&disable=false&ipAddress=2001%3Adb8%3A%3A1");
    expect_form(REST_UPDATE, RR_A, NULL, false,
                HEAD "A&ttl=60&disable=true&ipAddress=192.0.2.1"
                     "&comments=a%20%26%20b");
    expect_form(REST_UPDATE, RR_TXT, "\"[a]\"", true,
                HEAD "TXT&ttl=60&disable=false&text=192.0.2.1"
                     "&newText=%22%5Ba%5D%22&comments=a%20%26%20b");
    expect_form(REST_UPDATE, RR_CNAME, "b.example.", true,
                HEAD "CNAME&ttl=60&disable=false&cname=b.example"
                     "&comments=a%20%26%20b");
    expect_form(REST_REMOVE, RR_A, NULL, false, HEAD "A&ipAddress=192.0.2.1");
}

static void expect_txt(const struct provider_ops *ops, const char *data,
                       size_t len, const char *want)
{
    struct buf b, back;

    buf_init(&b, 1024);
    buf_init(&back, 1024);
    rest_data_out(ops->rest, RR_TXT, data, len, &b);
    assert_string_equal(buf_get(&b), want);
    rest_txt_in(buf_get(&b), &back);
    assert_int_equal(back.len, len);
    assert_memory_equal(back.data, data, len);
    buf_fini(&b);
    buf_fini(&back);
}

static void test_txt(void **state)
{
    (void)state;
    expect_txt(&provider_desec, "[a]", 3, "\"[a]\"");
    expect_txt(&provider_digitalocean, "[a]", 3, "[a]");
    expect_txt(&provider_digitalocean, "{\"a\":1}", 7, "{\"a\":1}");
    /* would be read as quotes around a text; cannot stand in JSON */
    expect_txt(&provider_digitalocean, "\"a\"", 3, "\"\\\"a\\\"\"");
    expect_txt(&provider_digitalocean, "a\0b", 3, "\"a\\000b\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_txt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
