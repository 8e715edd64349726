#include "providers/rest/rest_set.h"

#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_text.h"
#include "providers/rest/rest_zone.h"

/* ---- what is due --------------------------------------------------------- */

unsigned rest_set_due(const struct rest_set *s)
{
    bool was = false, stays = false;
    unsigned due = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct rest_item *it = &s->items[i];
        const struct rest_record *r = it->record;

        was = was || r != NULL;
        stays = stays || it->act != REST_REMOVE;
        if (r == NULL || it->act == REST_REMOVE || it->len != r->len ||
            memcmp(it->data, r->data, r->len) != 0 || it->enabled != r->enabled)
            due |= REST_DUE_VALUES;
        if (r != NULL && r->ttl_s != s->ttl_s)
            due |= REST_DUE_TTL;
    }
    if (!stays)
        return was ? REST_DUE_GONE : 0;
    return was ? due : REST_DUE_NEW;
}

/* ---- bodies -------------------------------------------------------------- */

static void put_string(cJSON *o, const char *name, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(o, name);
    (void)cJSON_AddStringToObject(o, name, value);
}

cJSON *rest_set_data(const struct rest_style *style, enum rr_type t,
                     const struct rest_item *it)
{
    struct buf b;
    cJSON *v;

    if (it->record != NULL && it->data == it->record->data)
        return cJSON_CreateString(it->record->raw);
    buf_init(&b, 6 * it->len + 64);
    rest_data_out(style, t, it->data, it->len, &b);
    v = cJSON_CreateString(buf_get(&b));
    buf_fini(&b);
    return v;
}

void rest_set_put_name(const struct rest_style *style,
                       const struct rest_zone *z, const struct rest_set *s,
                       cJSON *o)
{
    char name[NAME_SIZE];

    put_string(o, style->m.name, rest_name_out(style, s->name, z->name, name));
    put_string(o, style->m.type, rr_type_name(s->type));
}

static cJSON *value_json(const struct rest_style *style,
                         const struct rest_set *s, const struct rest_item *it)
{
    const char *kept = it->record != NULL ? it->record->kept : it->kept;
    cJSON *o;

    if (style->m.data == NULL)
        return rest_set_data(style, s->type, it);
    o = kept != NULL ? cJSON_Parse(kept) : NULL;
    if (!cJSON_IsObject(o)) {
        cJSON_Delete(o);
        o = cJSON_CreateObject();
    }
    cJSON_DeleteItemFromObjectCaseSensitive(o, style->m.data);
    (void)cJSON_AddItemToObject(o, style->m.data,
                                rest_set_data(style, s->type, it));
    if (style->m.disabled != NULL)
        (void)cJSON_AddBoolToObject(o, style->m.disabled, !it->enabled);
    return o;
}

cJSON *rest_set_json(const struct rest_style *style, const struct rest_zone *z,
                     const struct rest_set *s, unsigned parts)
{
    cJSON *o = cJSON_CreateObject(), *values = cJSON_CreateArray();

    if ((parts & REST_PART_NAME) != 0)
        rest_set_put_name(style, z, s, o);
    if ((parts & REST_PART_TTL) != 0)
        (void)cJSON_AddNumberToObject(o, style->m.ttl, s->ttl_s);
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].act != REST_REMOVE)
            (void)cJSON_AddItemToArray(values,
                                       value_json(style, s, &s->items[i]));
    if (style->set_mark[0] != NULL)
        (void)cJSON_AddStringToObject(
            o, style->set_mark[0],
            style->set_mark[values->child != NULL ? 1 : 2]);
    if ((parts & REST_PART_VALUES) != 0)
        (void)cJSON_AddItemToObject(o, style->m.values, values);
    else
        cJSON_Delete(values);
    return o;
}
