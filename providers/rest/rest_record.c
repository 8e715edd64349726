#include "providers/rest/rest_record.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_form.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_text.h"

#define SPEC_LABEL "_failover."
#define MAX_TTL INT64_C(2147483647)

bool rest_spec_owner(const char *name, char out[NAME_SIZE])
{
    size_t n = sizeof SPEC_LABEL - 1;

    if (strncmp(name, SPEC_LABEL, n) != 0 || name[n] == '\0')
        return false;
    memcpy(out, name + n, strlen(name) + 1 - n);
    return true;
}

static int by_name(const void *name, const void *other)
{
    return strcmp(name, *(const char *const *)other);
}

static bool is_wanted(const struct rest_wanted *w, const char *name,
                      enum rr_type t)
{
    char owner[NAME_SIZE];

    if ((t == RR_TXT) != (w->specs || w->txt))
        return false;
    if (w->specs)
        return rest_spec_owner(name, owner);
    return w->n > 0 &&
           bsearch(name, w->names, w->n, sizeof *w->names, by_name) != NULL;
}

/* The value in canonical form, in a; NULL: not one that can be read. */
static const char *data_in(const struct rest_style *style, enum rr_type t,
                           const char *text, const char *zone, struct arena *a,
                           size_t *len)
{
    char *canon = NULL;
    const char *out;
    struct buf b;

    if (t == RR_TXT) {
        buf_init(&b, strlen(text) + 1);
        if (style->txt_raw)
            buf_str(&b, text);
        else
            rest_txt_in(text, &b);
        *len = b.len;
        out = arena_text(a, buf_get(&b), b.len);
        buf_fini(&b);
        return out;
    }
    /* "@" is the apex wherever it may stand; else a target is absolute. */
    if (t == RR_CNAME && style->targets != REST_TARGET_RELATIVE &&
        strcmp(text, "@") != 0)
        zone = ".";
    if (rr_data_canon(t, text, zone, &canon, NULL) != 0)
        return NULL;
    out = arena_strdup(a, canon);
    *len = strlen(out);
    free(canon);
    return out;
}

/* Nothing that a new record would not be given by itself. */
static bool is_usual(const struct rest_members *m, const cJSON *v)
{
    char *text;
    bool yes;

    if (cJSON_IsNull(v) || cJSON_IsFalse(v) ||
        ((cJSON_IsArray(v) || cJSON_IsObject(v)) && v->child == NULL))
        return true;
    if (m->usual == NULL)
        return false;
    text = cJSON_PrintUnformatted(v);
    yes = text != NULL && strcmp(text, m->usual) == 0;
    cJSON_free(text);
    return yes;
}

/* The members to be kept, as one JSON object; NULL: none is set. */
static const char *kept_of(const struct rest_members *m, const cJSON *record,
                           struct arena *a)
{
    cJSON *o = cJSON_CreateObject();
    const char *out = NULL;
    char *text;

    for (size_t i = 0; m->kept[i] != NULL; i++) {
        cJSON *v = cJSON_GetObjectItemCaseSensitive(record, m->kept[i]);

        if (v != NULL && !is_usual(m, v))
            (void)cJSON_AddItemToObject(o, m->kept[i],
                                        cJSON_Duplicate(v, true));
    }
    if (o->child != NULL && (text = cJSON_PrintUnformatted(o)) != NULL) {
        out = arena_strdup(a, text);
        cJSON_free(text);
    }
    cJSON_Delete(o);
    return out;
}

static const cJSON *data_of(const struct rest_style *style,
                            const struct rest_members *m, const cJSON *record,
                            enum rr_type t)
{
    if (style->form != NULL)
        return rest_json_at(record, rest_form_type(style->form, t)->at);
    return cJSON_IsObject(record)
               ? cJSON_GetObjectItemCaseSensitive(record, m->data)
               : record;
}

static void add_record(const struct rest_style *style,
                       const struct rest_members *m, const cJSON *record,
                       const char *zone, const struct rest_record *as,
                       struct rest_records *out)
{
    const cJSON *data = data_of(style, m, record, as->type);
    struct rest_record *r;

    if (!cJSON_IsString(data))
        return;
    out->v = arena_grow(out->a, out->v, &out->cap, out->n, sizeof *out->v);
    r = &out->v[out->n];
    *r = *as;
    r->raw = arena_strdup(out->a, data->valuestring);
    r->data = data_in(style, r->type, r->raw, zone, out->a, &r->len);
    if (r->data == NULL) { /* nobody's to change, but a part of its set */
        r->data = r->raw;
        r->len = strlen(r->raw);
    }
    r->enabled =
        m->disabled == NULL ||
        !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(record, m->disabled));
    if (style->is_proxied != NULL && style->is_proxied(record))
        r->proxied = true;
    if (cJSON_IsObject(record))
        r->kept = kept_of(m, record, out->a);
    out->n++;
}

static int not_a_record(const char *member, struct err *e)
{
    return err_set(e, ERR_RETRY, "a record without \"%s\" in the answer",
                   member);
}

/* In another zone: returns false. */
static bool is_in_zone(const struct rest_members *m, const cJSON *item,
                       const char *zone)
{
    const cJSON *of;
    char name[NAME_SIZE];

    if (m->zone == NULL)
        return true;
    of = cJSON_GetObjectItemCaseSensitive(item, m->zone);
    return cJSON_IsString(of) && name_canon(of->valuestring, name, NULL) == 0 &&
           name_equal(name, zone);
}

int rest_record_read(const struct rest_style *style,
                     const struct rest_members *m, const cJSON *item,
                     const char *zone, const struct rest_wanted *wanted,
                     struct rest_records *out, struct err *e)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, m->name);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, m->type);
    const cJSON *ttl = cJSON_GetObjectItemCaseSensitive(item, m->ttl);
    const cJSON *values, *id = NULL;
    struct rest_record r = {0};
    char text[REST_ID_SIZE];
    int64_t ttl_s;

    if (!cJSON_IsString(name))
        return not_a_record(m->name, e);
    if (!cJSON_IsString(type))
        return not_a_record(m->type, e);
    if (rr_type_parse(type->valuestring, &r.type, NULL) != 0 ||
        rest_name_in(style, name->valuestring, zone, r.name) != 0 ||
        !name_within(r.name, zone) || !is_wanted(wanted, r.name, r.type) ||
        !is_in_zone(m, item, zone) ||
        (style->is_hidden != NULL && style->is_hidden(item)))
        return 0;
    if (m->id != NULL) {
        id = cJSON_GetObjectItemCaseSensitive(item, m->id);
        if (!rest_json_text(id, text, sizeof text) || text[0] == '\0')
            return not_a_record(m->id, e);
        r.id = arena_strdup(out->a, text);
    }
    /* null: the zone's own */
    r.ttl_s = style->null_ttl_s > 0 ? style->null_ttl_s : style->new_ttl_s;
    if (rest_json_uint(ttl, MAX_TTL, &ttl_s))
        r.ttl_s = ttl_s == 1 && style->auto_ttl_s > 0 ? style->auto_ttl_s
                                                      : (uint32_t)ttl_s;
    if (m->values == NULL) {
        add_record(style, m, item, zone, &r, out);
        return 0;
    }
    values = cJSON_GetObjectItemCaseSensitive(item, m->values);
    if (!cJSON_IsArray(values))
        return not_a_record(m->values, e);
    for (const cJSON *v = values->child; v != NULL; v = v->next)
        add_record(style, m, v, zone, &r, out);
    return 0;
}
