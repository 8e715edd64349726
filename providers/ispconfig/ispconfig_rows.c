#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "providers/ispconfig/ispconfig.h"

/* ---- maps ---------------------------------------------------------------- */

bool isp_records_of(const struct soap_value *v, const struct soap_value **items,
                    size_t *n)
{
    *items = v;
    *n = 1;
    if (v->kind == SOAP_MAP)
        return true;
    if (v->kind != SOAP_LIST)
        return false;
    *items = v->items;
    *n = v->n;
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].kind != SOAP_MAP)
            return false;
    return true;
}

/* Ids go back to the server as they came: only digits are taken for one. */
static bool is_id(const char *s)
{
    return s != NULL && s[0] >= '1' && s[0] <= '9' && strlen(s) < 20 &&
           strspn(s, "0123456789") == strlen(s);
}

/* Unsigned 32 bits; false: not such a number. */
static bool read_u32(const char *s, uint32_t *out)
{
    char *end;
    unsigned long long v;

    if (s == NULL || s[0] < '0' || s[0] > '9')
        return false;
    v = strtoull(s, &end, 10);
    if (*end != '\0' || v > UINT32_MAX)
        return false;
    *out = (uint32_t)v;
    return true;
}

/* ---- names --------------------------------------------------------------- */

int isp_name_of(const char *stored, const struct isp_zone *z,
                char out[NAME_SIZE])
{
    return name_resolve(stored, z->name, out, NULL);
}

size_t isp_name_variants(const char *name, const struct isp_zone *z,
                         char out[4][NAME_SIZE])
{
    size_t n = 0;

    memcpy(out[n++], name, strlen(name) + 1);
    if (!name_within(name, z->name))
        return n;
    if (name_equal(name, z->name)) {
        out[n++][0] = '\0';
        memcpy(out[n++], "@", 2);
    } else {
        (void)name_relative(name, z->name, out[n++]);
    }
    return n;
}

/* ---- records ------------------------------------------------------------- */

const char *isp_method(struct arena *a, enum rr_type t, const char *verb)
{
    const char *family = t == RR_AAAA    ? "aaaa"
                         : t == RR_CNAME ? "cname"
                         : t == RR_TXT   ? "txt"
                                         : "a";

    return arena_printf(a, "dns_%s_%s", family, verb);
}

const char *isp_row_get(const struct isp_row *r, const char *column)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->columns[i], column) == 0)
            return r->values[i];
    return NULL;
}

static void copy_columns(const struct soap_value *v, struct arena *a,
                         struct isp_row *out)
{
    out->n = v->n;
    out->columns = arena_array(a, v->n + 1, sizeof *out->columns);
    out->values = arena_array(a, v->n + 1, sizeof *out->values);
    for (size_t i = 0; i < v->n; i++) {
        const char *text = soap_get_text(v, v->keys[i]);

        out->columns[i] = arena_strdup(a, v->keys[i]);
        out->values[i] = text != NULL ? arena_strdup(a, text) : NULL;
    }
}

static bool read_type(const char *text, bool txt, enum rr_type *out)
{
    struct err e;

    return text != NULL && rr_type_parse(text, out, &e) == 0 &&
           (*out == RR_TXT) == txt;
}

static int row_read(const struct soap_value *v, const struct isp_zone *z,
                    bool txt, struct arena *a, struct isp_row *out,
                    struct err *e)
{
    const char *id, *name, *data, *zone, *active;
    struct err ignored;
    char *canon;

    memset(out, 0, sizeof *out);
    copy_columns(v, a, out);
    id = isp_row_get(out, "id");
    name = isp_row_get(out, "name");
    data = isp_row_get(out, "data");
    zone = isp_row_get(out, "zone");
    active = isp_row_get(out, "active");
    if (!is_id(id) || zone == NULL || isp_row_get(out, "type") == NULL)
        return err_set(e, ERR_RETRY,
                       "a record in the answer lacks its id, zone or type: "
                       "this is no list of DNS records");
    out->id = id;
    if (strcmp(zone, z->id) != 0 || name == NULL || data == NULL ||
        !read_type(isp_row_get(out, "type"), txt, &out->type) ||
        isp_name_of(name, z, out->name) != 0 ||
        rr_data_canon(out->type, data, z->name, &canon, &ignored) != 0)
        return 0;
    out->data = arena_strdup(a, canon);
    free(canon);
    (void)read_u32(isp_row_get(out, "ttl"), &out->ttl_s);
    out->active = active != NULL && strcasecmp(active, "Y") == 0;
    return 1;
}

int isp_row_read(const struct soap_value *v, const struct isp_zone *z,
                 struct arena *a, struct isp_row *out, struct err *e)
{
    return row_read(v, z, false, a, out, e);
}

int isp_txt_row_read(const struct soap_value *v, const struct isp_zone *z,
                     struct arena *a, struct isp_row *out, struct err *e)
{
    return row_read(v, z, true, a, out, e);
}

/* ---- the zone ------------------------------------------------------------ */

struct zone_find {
    struct ispconfig *p;
    struct arena *a;
    char name[NAME_SIZE];
    bool dotless; /* the second try */
    isp_zone_cb *cb;
    void *arg;
};

static void zone_ask(struct zone_find *f);

static void zone_end(struct zone_find *f, const struct isp_zone *z,
                     const struct err *e)
{
    isp_zone_cb *cb = f->cb;
    void *arg = f->arg;

    free(f);
    cb(arg, z, e);
}

static const char *copy_text(const struct soap_value *v, const char *key,
                             struct arena *a)
{
    const char *s = soap_get_text(v, key);

    return s != NULL ? arena_strdup(a, s) : NULL;
}

/* The one switched-on zone of that name. */
static const struct soap_value *zone_pick(const struct zone_find *f,
                                          const struct soap_value *items,
                                          size_t n, struct err *e)
{
    const struct soap_value *found = NULL;
    bool off = false;

    for (size_t i = 0; i < n; i++) {
        const char *origin = soap_get_text(&items[i], "origin");
        const char *active = soap_get_text(&items[i], "active");
        char name[NAME_SIZE];

        if (origin == NULL || name_canon(origin, name, NULL) != 0 ||
            !name_equal(name, f->name))
            continue;
        if (active != NULL && strcasecmp(active, "Y") != 0) {
            off = true;
            continue;
        }
        if (found != NULL) {
            (void)err_set(e, ERR_CONFLICT,
                          "the panel has the zone %s more than once", f->name);
            return NULL;
        }
        found = &items[i];
    }
    if (found == NULL && off)
        (void)err_set(e, ERR_INPUT, "the zone %s is switched off in the panel",
                      f->name);
    else if (found == NULL)
        (void)err_set(e, ERR_RETRY,
                      "the zone %s is not in the panel: the list came back "
                      "empty",
                      f->name);
    return found;
}

static int zone_read(const struct zone_find *f, const struct soap_value *v,
                     struct isp_zone *z, struct err *e)
{
    memcpy(z->name, f->name, sizeof z->name);
    z->id = copy_text(v, "id", f->a);
    z->server_id = copy_text(v, "server_id", f->a);
    z->origin = copy_text(v, "origin", f->a);
    if (!is_id(z->id) || !read_u32(soap_get_text(v, "serial"), &z->serial))
        return err_set(e, ERR_RETRY,
                       "the zone %s in the answer lacks its id or serial",
                       f->name);
    if (!read_u32(soap_get_text(v, "ttl"), &z->ttl_s))
        z->ttl_s = 3600;
    return 0;
}

static void on_zone(void *arg, const struct isp_reply *r)
{
    struct zone_find *f = arg;
    struct isp_zone *z = arena_alloc(f->a, sizeof *z);
    const struct soap_value *items, *v;
    struct err e = r->err;
    size_t n;

    if (e.code == ERR_UNKNOWN) /* of a read: nothing is in doubt */
        e.code = ERR_RETRY;
    if (e.code != ERR_NONE) {
        zone_end(f, NULL, &e);
    } else if (!isp_records_of(r->value, &items, &n)) {
        (void)err_set(&e, ERR_RETRY, "the answer to dns_zone_get is no list");
        zone_end(f, NULL, &e);
    } else if (n == 0 && !f->dotless) {
        f->dotless = true; /* the API accepts an origin without it */
        zone_ask(f);
    } else if ((v = zone_pick(f, items, n, &e)) == NULL ||
               zone_read(f, v, z, &e) != 0) {
        zone_end(f, NULL, &e);
    } else {
        zone_end(f, z, &e);
    }
}

static void zone_ask(struct zone_find *f)
{
    struct soap_args args;
    size_t n = strlen(f->name);

    soap_args_init(&args);
    soap_open_map(&args);
    soap_put_member(&args, "origin",
                    arena_strndup(f->a, f->name, f->dotless ? n - 1 : n));
    soap_close_map(&args);
    isp_call(f->p, "dns_zone_get", &args, false, on_zone, f);
}

void isp_zone_find(struct ispconfig *p, struct arena *a, const char *zone,
                   isp_zone_cb *cb, void *arg)
{
    struct zone_find *f = mem_alloc(sizeof *f);

    f->p = p;
    f->a = a;
    (void)snprintf(f->name, sizeof f->name, "%s", zone);
    f->cb = cb;
    f->arg = arg;
    zone_ask(f);
}
