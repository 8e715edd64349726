/* Answers of the REST providers. The first byte says whose: p PowerDNS's
 * zone, s its search, d DNSimple, c Cloudflare, h Hetzner, e deSEC, g Gandi,
 * o DigitalOcean, t Technitium; the rest is the body. What is
 * read as a record can be written, and is read back as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_answer.h"
#include "providers/rest/rest_form.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_write.h"
#include "providers/rest/rest_zone.h"

#define ZONE "example.org."

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mode {
    char letter;
    const struct provider_ops *ops;
    bool search;
} modes[] = {
    {'p', &provider_powerdns, false},   {'s', &provider_powerdns, true},
    {'d', &provider_dnsimple, false},   {'c', &provider_cloudflare, false},
    {'h', &provider_hetzner, false},    {'e', &provider_desec, false},
    {'g', &provider_gandi, false},      {'o', &provider_digitalocean, false},
    {'t', &provider_technitium, false},
};

static void must(bool so)
{
    if (!so)
        abort();
}

static void read_items(const struct mode *m, const cJSON *root,
                       const struct rest_wanted *wanted,
                       struct rest_records *out)
{
    const struct rest_members *members =
        m->search ? &m->ops->rest->specs_m : &m->ops->rest->m;
    const char *path =
        m->search ? m->ops->rest->paths.specs_items : m->ops->rest->paths.items;
    const cJSON *list = rest_json_at(root, path);
    struct err e;

    if (!cJSON_IsArray(list))
        return;
    for (const cJSON *i = list->child; i != NULL; i = i->next)
        if (rest_record_read(m->ops->rest, members, i, ZONE, wanted, out, &e) !=
            0)
            return;
}

/* A record as it would be made anew, read again. */
static void write_and_read(const struct mode *m, struct arena *a,
                           const struct rest_record *r)
{
    const char *const names[] = {r->name};
    const struct rest_wanted wanted = {
        .names = names, .n = 1, .txt = r->type == RR_TXT};
    struct rest_item it = {.act = REST_ADD,
                           .data = r->data,
                           .len = r->len,
                           .ttl_s = 60,
                           .ttl_given = true,
                           .enabled = true,
                           .kept = r->kept};
    struct rest_set set = {.type = r->type, .ttl_s = 60, .items = &it, .n = 1};
    struct rest_written one = {.item = m->ops->rest->by_set ? NULL : &it};
    struct rest_records again = {.a = a};
    struct rest_zone z = {.name = ZONE};
    struct rest p = {.style = m->ops->rest};
    struct err e = {0};
    cJSON *root;
    char *body;

    memcpy(set.name, r->name, sizeof set.name);
    if (m->ops->rest->form != NULL) { /* a form: nothing to read again */
        free(rest_form_body(m->ops->rest, &z, &set, &it));
        return;
    }
    body = rest_write_body(&p, &z, &set, &one, 1, false);
    root = rest_json_parse(body, strlen(body), &e);
    must(root != NULL);
    if (m->ops->rest->m.id != NULL)
        (void)cJSON_AddStringToObject(root, m->ops->rest->m.id, "1");
    must(rest_record_read(m->ops->rest, &m->ops->rest->m, root, ZONE, &wanted,
                          &again, &e) == 0);
    must(again.n == 1 && again.v[0].len == r->len &&
         memcmp(again.v[0].data, r->data, r->len) == 0);
    cJSON_Delete(root);
    free(body);
}

static void look(const struct mode *m, const char *text, size_t len)
{
    static const char *const names[] = {"*." ZONE, ZONE, "www." ZONE};
    static const struct rest_wanted wants[] = {{.names = names, .n = 3},
                                               {.specs = true}};
    struct arena *a = arena_new();
    struct err e;
    char said[200];
    cJSON *root = rest_json_parse(text, len, &e);

    rest_answer_text(root, text, said, sizeof said);
    for (size_t w = 0; root != NULL && w < 2; w++) {
        struct rest_records got = {.a = a};

        read_items(m, root, &wants[w], &got);
        for (size_t i = 0; i < got.n && i < 50; i++)
            write_and_read(m, a, &got.v[i]);
    }
    cJSON_Delete(root);
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;

    if (size == 0)
        return 0;
    text = mem_alloc(size);
    memcpy(text, data + 1, size - 1);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (modes[i].letter == (char)data[0])
            look(&modes[i], text, size - 1);
    free(text);
    return 0;
}

#include "tests/fuzz/fuzz_main.h"
