#include "providers/zonefile/masterfile_plan_impl.h"

#include <stdlib.h>
#include <string.h>

/* Which records the changes are about. */

int masterfile_refuse(struct masterfile_plan_work *w, size_t i,
                      enum err_code code)
{
    struct change_result *r = &w->results[i];
    const struct change *c = &w->v[i];

    r->state = CHANGE_FAILED;
    r->err.code = code;
    return err_wrap(&r->err, "%s %s %s", c->name, rr_type_name(c->type),
                    c->data);
}

/* A change in canonical text, on its way to set and value. */
struct key {
    const char *owner, *data;
    enum rr_type type;
    size_t change;
};

static int compare_sets(const struct key *x, const struct key *y)
{
    int c = strcmp(x->owner, y->owner);

    return c != 0 ? c : (int)x->type - (int)y->type;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int c = compare_sets(x, y);

    return c != 0 ? c : strcmp(x->data, y->data);
}

/* returns 0, or -1: refused in its result */
static int make_key(struct masterfile_plan_work *w, size_t i, struct key *k)
{
    const struct change *c = &w->v[i];
    struct err *e = &w->results[i].err;
    char name[NAME_SIZE], *data;

    if (!masterfile_type_is_ours((uint16_t)c->type)) {
        (void)err_set(e, ERR_UNSUPPORTED,
                      "only A, AAAA and CNAME records are edited");
        return masterfile_refuse(w, i, ERR_UNSUPPORTED);
    }
    if (name_canon(c->name, name, e) != 0)
        return masterfile_refuse(w, i, ERR_INPUT);
    if (!name_within(name, w->m->zone)) {
        (void)err_set(e, ERR_INPUT, "not in the zone %s", w->m->zone);
        return masterfile_refuse(w, i, ERR_INPUT);
    }
    if (c->op == CHANGE_PUBLISH && c->ttl_s > INT32_MAX) {
        (void)err_set(e, ERR_INPUT, "a TTL is at most 2147483647 s");
        return masterfile_refuse(w, i, ERR_INPUT); /* RFC 2181 8 */
    }
    if (rr_data_canon(c->type, c->data, w->m->zone, &data, e) != 0)
        return masterfile_refuse(w, i, ERR_INPUT);
    *k = (struct key){arena_strdup(w->arena, name),
                      arena_strdup(w->arena, data), c->type, i};
    free(data);
    return 0;
}

static void add_key(struct masterfile_plan_work *w, const struct key *k,
                    bool new_name, bool new_set, bool new_value)
{
    if (new_name)
        w->names[w->nnames++] =
            (struct masterfile_plan_name){.name = k->owner, .set = w->nsets};
    if (new_set) {
        w->names[w->nnames - 1].nsets++;
        w->sets[w->nsets++] =
            (struct masterfile_plan_set){.name = w->nnames - 1,
                                         .owner = k->owner,
                                         .type = k->type,
                                         .last = SIZE_MAX,
                                         .ttl_s = -1,
                                         .old_ttl_s = -1,
                                         .fixed = SIZE_MAX};
    }
    if (new_value)
        w->values[w->nvalues++] =
            (struct masterfile_plan_value){.set = w->nsets - 1,
                                           .data = k->data,
                                           .foreign = SIZE_MAX,
                                           .generated = SIZE_MAX};
    w->value_of[k->change] = w->nvalues - 1;
}

void masterfile_match_collect(struct masterfile_plan_work *w)
{
    struct key *keys = arena_array(w->arena, w->n, sizeof *keys);
    size_t n = 0;

    w->value_of = arena_array(w->arena, w->n, sizeof *w->value_of);
    w->names = arena_array(w->arena, w->n, sizeof *w->names);
    w->sets = arena_array(w->arena, w->n, sizeof *w->sets);
    w->values = arena_array(w->arena, w->n, sizeof *w->values);
    for (size_t i = 0; i < w->n; i++) {
        w->value_of[i] = SIZE_MAX;
        if (make_key(w, i, &keys[n]) == 0)
            n++;
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++) {
        bool name = i == 0 || strcmp(keys[i].owner, keys[i - 1].owner) != 0;
        bool set = i == 0 || compare_sets(&keys[i], &keys[i - 1]) != 0;
        bool value = i == 0 || compare_keys(&keys[i], &keys[i - 1]) != 0;

        add_key(w, &keys[i], name, set, value);
    }
}

static int compare_name(const void *key, const void *member)
{
    return strcmp(key, ((const struct masterfile_plan_name *)member)->name);
}

static struct masterfile_plan_set *
find_set(struct masterfile_plan_work *w, const struct masterfile_plan_name *nm,
         uint16_t type)
{
    for (size_t i = nm->set; i < nm->set + nm->nsets; i++)
        if (w->sets[i].type == (enum rr_type)type)
            return &w->sets[i];
    return NULL;
}

struct value_key {
    size_t set;
    const char *data;
};

static int compare_value(const void *key, const void *member)
{
    const struct value_key *k = key;
    const struct masterfile_plan_value *v = member;

    if (k->set != v->set)
        return k->set < v->set ? -1 : 1;
    return strcmp(k->data, v->data);
}

static struct masterfile_plan_value *
find_value(struct masterfile_plan_work *w, const struct masterfile_plan_set *s,
           const char *data)
{
    struct value_key k = {(size_t)(s - w->sets), data};

    return bsearch(&k, w->values, w->nvalues, sizeof *w->values, compare_value);
}

static void count_at_name(struct masterfile_plan_name *nm, uint16_t type)
{
    if (type == RR_A || type == RR_AAAA)
        nm->addr++;
    else if (type == RR_CNAME)
        nm->cname++;
    else if (type != MF_RRSIG && type != MF_NSEC)
        nm->other++;
}

static void add_match(struct masterfile_plan_work *w, size_t i,
                      struct masterfile_plan_set *s)
{
    const struct masterfile_item *it = &w->m->items[i];
    char *data = masterfile_data(it);
    struct masterfile_plan_value *v = find_value(w, s, data);

    free(data);
    w->matches =
        mem_grow(w->matches, &w->matches_cap, w->nmatches, sizeof *w->matches);
    w->matches[w->nmatches++] = (struct masterfile_plan_match){
        i, (size_t)(s - w->sets),
        v != NULL ? (size_t)(v - w->values) : SIZE_MAX};
    if (it->file == 0)
        s->last = i;
    if (it->kind == MF_RECORD && (s->old_ttl_s < 0 || it->ttl < s->old_ttl_s))
        s->old_ttl_s = it->ttl;
    if (v == NULL)
        return;
    if (it->kind == MF_OFF)
        v->rows_off++;
    else
        v->rows_on++;
    if (it->file != 0)
        v->foreign = i;
}

struct generated {
    struct masterfile_plan_work *w;
    struct masterfile_plan_name *nm;
};

static void add_generated(void *arg, const struct masterfile_item *it,
                          char *data)
{
    struct generated *g = arg;
    struct masterfile_plan_set *s = find_set(g->w, g->nm, it->type);
    struct masterfile_plan_value *v =
        s != NULL ? find_value(g->w, s, data) : NULL;

    count_at_name(g->nm, it->type);
    if (s != NULL)
        s->fixed = (size_t)(it - g->w->m->items);
    if (v != NULL)
        v->generated = (size_t)(it - g->w->m->items);
    free(data);
}

void masterfile_match_items(struct masterfile_plan_work *w)
{
    for (size_t i = 0; i < w->m->n && w->nnames > 0; i++) {
        const struct masterfile_item *it = &w->m->items[i];
        struct masterfile_plan_name *nm;
        struct masterfile_plan_set *s;

        if (it->kind == MF_GENERATE)
            continue;
        nm = bsearch(it->owner, w->names, w->nnames, sizeof *w->names,
                     compare_name);
        if (nm == NULL)
            continue;
        if (it->kind == MF_RECORD)
            count_at_name(nm, it->type);
        s = find_set(w, nm, it->type);
        if (s != NULL)
            add_match(w, i, s);
    }
    for (size_t i = 0; i < w->nnames; i++) {
        struct generated g = {w, &w->names[i]};

        if (masterfile_generate_each(w->m, w->names[i].name, add_generated, &g,
                                     &w->names[i].err) != 0)
            continue; /* decide refuses what has the error */
    }
}
