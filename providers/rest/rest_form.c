#include "providers/rest/rest_form.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_text.h"
#include "providers/rest/rest_zone.h"

const struct rest_form_type *rest_form_type(const struct rest_form *form,
                                            enum rr_type t)
{
    const size_t n = sizeof form->types / sizeof form->types[0];

    for (size_t i = 0; i < n; i++)
        if (form->types[i].type == t)
            return &form->types[i];
    return NULL;
}

static void add(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "%s%s=", b->len > 0 ? "&" : "", name);
    rest_path_encode(b, value);
}

static void add_data(struct buf *b, const struct rest_style *style,
                     enum rr_type t, const char *name,
                     const struct rest_item *it)
{
    struct buf data;

    buf_init(&data, 6 * it->len + 64);
    rest_data_out(style, t, it->data, it->len, &data);
    add(b, name, buf_get(&data));
    buf_fini(&data);
}

static void add_name(struct buf *b, const char *name, const char *value)
{
    add(b, name, value);
    b->data[--b->len] = '\0'; /* the final dot */
}

/* A change writes all of a record: what a parameter does not say becomes what
 * the API thinks usual. */
static void add_kept(struct buf *b, const struct rest_item *it)
{
    const char *kept = it->record != NULL ? it->record->kept : it->kept;
    cJSON *o = kept != NULL ? cJSON_Parse(kept) : NULL;
    char text[1024];

    for (const cJSON *v = o != NULL ? o->child : NULL; v != NULL; v = v->next)
        if (rest_json_text(v, text, sizeof text))
            add(b, v->string, text);
    cJSON_Delete(o);
}

char *rest_form_body(const struct rest_style *style, const struct rest_zone *z,
                     const struct rest_set *s, const struct rest_item *it)
{
    const struct rest_form *form = style->form;
    const struct rest_form_type *t = rest_form_type(form, s->type);
    const char *old = it->record != NULL ? it->record->raw : NULL;
    char number[16];
    char *out;
    struct buf b;

    buf_init(&b, 3 * (it->len + (old != NULL ? strlen(old) : 0)) + 16384);
    add_name(&b, form->zone, z->name);
    add_name(&b, form->name, s->name);
    add(&b, form->type, rr_type_name(s->type));
    if (it->act == REST_REMOVE) {
        add(&b, t->data, old);
    } else {
        (void)snprintf(number, sizeof number, "%u", it->ttl_s);
        add(&b, form->ttl, number);
        add(&b, form->disabled, it->enabled ? "false" : "true");
        if (it->act == REST_UPDATE && t->new_data != NULL)
            add(&b, t->data, old);
        if (it->act == REST_ADD || t->new_data == NULL)
            add_data(&b, style, s->type, t->data, it);
        else if (it->data != it->record->data)
            add_data(&b, style, s->type, t->new_data, it);
        add_kept(&b, it);
    }
    out = mem_strdup(buf_get(&b));
    buf_fini(&b);
    return out;
}
