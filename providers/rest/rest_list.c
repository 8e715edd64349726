#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_page.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_read.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_zone.h"

/* The three lists. Each lives in one struct listing, from the start of the
 * operation to the caller's callback. */
struct listing {
    struct rest *p;
    struct arena *a;
    struct rest_zone *z;
    struct rest_wanted wanted;
    const char **names; /* of zones; heap while it grows */
    size_t n, cap;
    union {
        provider_names_cb *zones;
        provider_specs_cb *specs;
        provider_records_cb *records;
    } cb;
    void *arg;
};

static struct listing *listing_new(struct provider *p, void *arg)
{
    struct listing *l = mem_alloc(sizeof *l);

    l->p = (struct rest *)p;
    l->a = arena_new();
    l->arg = arg;
    rest_begin(l->p);
    return l;
}

static void listing_free(struct listing *l)
{
    struct rest *p = l->p;

    arena_free(l->a);
    free(l->names);
    free(l);
    rest_end(p);
}

/* ---- zones --------------------------------------------------------------- */

static int on_zone_item(void *arg, const cJSON *item, struct err *e)
{
    struct listing *l = arg;
    const cJSON *name = rest_json_at(item, l->p->style->paths.zones_name);
    char canon[NAME_SIZE];

    if (!cJSON_IsString(name))
        return err_set(e, ERR_RETRY, "a zone without a name in the answer");
    if (name_canon(name->valuestring, canon, NULL) != 0)
        return 0;
    l->names = mem_grow(l->names, &l->cap, l->n, sizeof *l->names);
    l->names[l->n++] = arena_strdup(l->a, canon);
    return 0;
}

static void on_zones(void *arg, const struct rest_reply *r, size_t items)
{
    struct listing *l = arg;
    struct provider_names out = {.err = rest_as_read(&r->err)};

    if (out.err.code == ERR_NONE && items == 0)
        (void)err_set(&out.err, ERR_RETRY, "the list of zones came back empty");
    if (out.err.code == ERR_NONE) {
        out.names = l->names;
        out.n = l->n;
    }
    l->cb.zones(l->arg, &out);
    listing_free(l);
}

static void on_account(void *arg, struct rest_zone *z, const struct err *e)
{
    struct listing *l = arg;
    const struct rest_path_args args = {0};
    const struct rest_pages pages = {
        .each = on_zone_item, .done = on_zones, .arg = l};
    const struct rest_paths *paths = &l->p->style->paths;
    struct provider_names out = {.err = *e};

    (void)z;
    if (e->code != ERR_NONE) {
        l->cb.zones(l->arg, &out);
        listing_free(l);
        return;
    }
    rest_pages_get(l->p, rest_path(l->p, l->a, paths->zones, &args),
                   paths->zones_items, &pages);
}

void rest_list_zones(struct provider *p, provider_names_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, arg);

    l->cb.zones = cb;
    rest_account_get(l->p, on_account, l);
}

/* ---- specs --------------------------------------------------------------- */

static void specs_end(struct listing *l, const struct err *e,
                      const struct rest_records *r)
{
    struct provider_specs out = {.err = *e};
    struct provider_spec *specs;
    char owner[NAME_SIZE];

    if (e->code == ERR_NONE && r != NULL) {
        specs = arena_array(l->a, r->n + 1, sizeof *specs);
        for (size_t i = 0; i < r->n; i++) {
            if (!r->v[i].enabled || !rest_spec_owner(r->v[i].name, owner))
                continue;
            specs[out.n].owner = arena_strdup(l->a, owner);
            specs[out.n].text = r->v[i].data;
            specs[out.n++].len = r->v[i].len;
        }
        out.specs = specs;
    }
    l->cb.specs(l->arg, &out);
    listing_free(l);
}

static void on_specs(void *arg, const struct err *e,
                     const struct rest_records *r)
{
    specs_end(arg, e, r);
}

static void on_specs_zone(void *arg, struct rest_zone *z, const struct err *e)
{
    struct listing *l = arg;
    const struct rest_wanted wanted = {.specs = true};

    if (z == NULL)
        specs_end(l, e, NULL);
    else
        rest_read(l->p, l->a, z, &wanted, on_specs, l);
}

void rest_list_specs(struct provider *p, const char *zone,
                     provider_specs_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, arg);

    l->cb.specs = cb;
    rest_zone_get(l->p, zone, on_specs_zone, l);
}

/* ---- records ------------------------------------------------------------- */

static void records_end(struct listing *l, const struct err *e,
                        const struct rest_records *r)
{
    struct provider_records out = {.err = *e};
    struct rrset_list sets;

    rrset_list_init(&sets);
    for (size_t i = 0; e->code == ERR_NONE && r != NULL && i < r->n; i++) {
        /* Now, so that it is known however a run ends that takes it out. */
        if (r->v[i].kept != NULL)
            rest_keep(l->p, &r->v[i]);
        rrset_list_add(&sets, r->v[i].name, r->v[i].type, r->v[i].data,
                       r->v[i].ttl_s, r->v[i].enabled);
        if (r->v[i].proxied)
            rrset_find(&sets, r->v[i].name, r->v[i].type)->masked = true;
    }
    out.sets = &sets;
    if (l->z != NULL && e->code == ERR_NONE) {
        out.has_serial = l->z->has_serial;
        out.serial = l->z->serial;
    }
    l->cb.records(l->arg, &out);
    rrset_list_fini(&sets);
    listing_free(l);
}

static void on_records(void *arg, const struct err *e,
                       const struct rest_records *r)
{
    records_end(arg, e, r);
}

static void on_records_zone(void *arg, struct rest_zone *z, const struct err *e)
{
    struct listing *l = arg;

    l->z = z;
    if (z == NULL)
        records_end(l, e, NULL);
    else
        rest_read(l->p, l->a, z, &l->wanted, on_records, l);
}

void rest_list_records(struct provider *p, const char *zone,
                       const char *const *names, size_t n,
                       provider_records_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, arg);
    const char **copy = arena_array(l->a, n + 1, sizeof *copy);

    l->cb.records = cb;
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_strdup(l->a, names[i]);
    l->wanted.names = copy;
    l->wanted.n = n;
    rest_zone_get(l->p, zone, on_records_zone, l);
}
