#include <stdlib.h>
#include <string.h>

#include "providers/route53/route53.h"

struct listing {
    struct route53 *p;
    struct arena *a;
    const char *zone;   /* canonical */
    const char **names; /* of list_records; NULL: list_specs */
    size_t n_names;
    provider_records_cb *records_cb;
    provider_specs_cb *specs_cb;
    void *arg;
};

static struct listing *listing_new(struct provider *p, const char *zone,
                                   void *arg)
{
    struct listing *l = mem_alloc(sizeof *l);

    l->p = (struct route53 *)p;
    l->a = arena_new();
    l->zone = arena_strdup(l->a, zone);
    l->arg = arg;
    route53_begin(l->p);
    return l;
}

static void listing_free(struct listing *l)
{
    struct route53 *p = l->p;

    arena_free(l->a);
    free(l);
    route53_end(p);
}

/* ---- records ------------------------------------------------------------- */

static void records_end(struct listing *l, const struct rrset_list *sets,
                        const struct err *e)
{
    struct provider_records out = {.err = *e, .sets = sets};

    l->records_cb(l->arg, &out);
    listing_free(l);
}

/* Sets of managed routing are shown by what they hold: that is what DNS gives
 * now and then. An alias holds nothing. With an identifier those of others are
 * no business of this instance. */
static void add_set(struct rrset_list *list, const struct route53_set *s)
{
    enum rr_type type;

    if (rr_type_parse(s->type, &type, NULL) != 0 || type == RR_TXT)
        return;
    for (size_t i = 0; i < s->n; i++) {
        char *data;

        if (rr_data_canon(type, s->values[i], ".", &data, NULL) != 0)
            continue;
        rrset_list_add(list, s->name, type, data, s->ttl_s, true);
        free(data);
    }
}

static void on_sets(void *arg, const struct route53_sets_found *found)
{
    struct listing *l = arg;
    struct rrset_list list;

    rrset_list_init(&list);
    for (size_t i = 0; i < found->n; i++)
        if (route53_is_served(&found->v[i], l->p->set_id))
            add_set(&list, &found->v[i]);
    records_end(l, found->err.code == ERR_NONE ? &list : NULL, &found->err);
    rrset_list_fini(&list);
}

static void on_records_zone(void *arg, const struct route53_zone *z,
                            const struct err *e)
{
    struct listing *l = arg;

    if (z == NULL)
        records_end(l, NULL, e);
    else
        route53_sets_of(l->p, l->a, z, l->names, l->n_names, on_sets, l);
}

void route53_list_records(struct provider *p, const char *zone,
                          const char *const *names, size_t n,
                          provider_records_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, zone, arg);

    l->records_cb = cb;
    l->names = arena_array(l->a, n + 1, sizeof *l->names);
    for (size_t i = 0; i < n; i++)
        l->names[i] = arena_strdup(l->a, names[i]);
    l->n_names = n;
    route53_zone_find(l->p, zone, on_records_zone, l);
}

/* ---- specs --------------------------------------------------------------- */

static void specs_end(struct listing *l, const struct provider_spec *v,
                      size_t n, const struct err *e)
{
    struct provider_specs out = {.err = *e, .specs = v, .n = n};

    l->specs_cb(l->arg, &out);
    listing_free(l);
}

/* returns false for another tool's text */
static bool read_spec(struct listing *l, const struct route53_set *s,
                      const char *value, struct provider_spec *out)
{
    struct buf text;
    bool ours = true;

    out->owner = strchr(s->name, '.') + 1;
    buf_init(&text, ROUTE53_MAX_ANSWER);
    if (value != NULL && route53_txt_decode(value, &text)) {
        ours = !provider_txt_is_foreign(buf_get(&text), text.len);
        out->text = arena_text(l->a, buf_get(&text), text.len);
        out->len = text.len;
    }
    buf_fini(&text);
    return ours;
}

static void on_specs(void *arg, const struct route53_sets_found *found)
{
    struct listing *l = arg;
    struct provider_spec *v;
    size_t n = 0, most = 1;

    for (size_t i = 0; i < found->n; i++)
        most += found->v[i].n + 1;
    v = arena_array(l->a, most, sizeof *v);
    for (size_t i = 0; i < found->n; i++) {
        const struct route53_set *s = &found->v[i];

        if (!name_within(strchr(s->name, '.') + 1, l->zone))
            continue;
        for (size_t k = 0; k < s->n; k++)
            n += read_spec(l, s, s->values[k], &v[n]);
        if (s->n == 0)
            n += read_spec(l, s, NULL, &v[n]);
    }
    specs_end(l, v, n, &found->err);
}

static void on_specs_zone(void *arg, const struct route53_zone *z,
                          const struct err *e)
{
    struct listing *l = arg;

    if (z == NULL)
        specs_end(l, NULL, 0, e);
    else
        route53_failover_sets(l->p, l->a, z, on_specs, l);
}

void route53_list_specs(struct provider *p, const char *zone,
                        provider_specs_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, zone, arg);

    l->specs_cb = cb;
    route53_zone_find(l->p, zone, on_specs_zone, l);
}
