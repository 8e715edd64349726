#include "providers/masterfile_impl.h"

#include <stdlib.h>
#include <string.h>

/* From changes of values to what becomes of each record. */

enum act { ACT_NONE, ACT_ON, ACT_OFF, ACT_FRESH };

struct value {
    size_t set;
    const char *data;
    size_t rows_on, rows_off;
    size_t foreign;   /* an enabled row outside the main file; SIZE_MAX: none */
    size_t generated; /* the $GENERATE line that makes it; SIZE_MAX: none */
    enum act act;
};
/* What is live at a name, by kind; for CNAME beside other data. */
struct name {
    const char *name;
    size_t set, nsets; /* its sets lie together */
    size_t addr, cname, other;
    struct err err; /* $GENERATE makes too much of it */
};
struct set {
    size_t name;
    const char *owner;
    enum rr_type type;
    size_t last;       /* its last record in the main file; SIZE_MAX: none */
    int64_t ttl_s;     /* to be given; -1: none */
    int64_t old_ttl_s; /* of its enabled rows, the smallest; -1: none */
    size_t fixed;      /* an enabled row whose TTL cannot be given */
};
struct match {
    size_t item, set, value; /* value SIZE_MAX: not one of the changes' */
};
struct work {
    const struct masterfile *m;
    struct arena *arena;
    const struct change *v;
    size_t n;
    struct change_result *results;
    size_t *value_of; /* of each change; SIZE_MAX: refused */
    struct name *names;
    size_t nnames;
    struct set *sets;
    size_t nsets;
    struct value *values;
    size_t nvalues;
    struct match *matches;
    size_t nmatches, matches_cap;
};

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

static int refuse(struct work *w, size_t i, enum err_code code)
{
    struct change_result *r = &w->results[i];
    const struct change *c = &w->v[i];

    r->state = CHANGE_FAILED;
    r->err.code = code;
    return err_wrap(&r->err, "%s %s %s", c->name, rr_type_name(c->type),
                    c->data);
}

/* returns 0, or -1: refused in its result */
static int make_key(struct work *w, size_t i, struct key *k)
{
    const struct change *c = &w->v[i];
    struct err *e = &w->results[i].err;
    char name[NAME_SIZE], *data;

    if (!masterfile_type_is_ours((uint16_t)c->type)) {
        (void)err_set(e, ERR_UNSUPPORTED,
                      "only A, AAAA and CNAME records are edited");
        return refuse(w, i, ERR_UNSUPPORTED);
    }
    if (name_canon(c->name, name, e) != 0)
        return refuse(w, i, ERR_INPUT);
    if (!name_within(name, w->m->zone)) {
        (void)err_set(e, ERR_INPUT, "not in the zone %s", w->m->zone);
        return refuse(w, i, ERR_INPUT);
    }
    if (c->op == CHANGE_PUBLISH && c->ttl_s > INT32_MAX) {
        (void)err_set(e, ERR_INPUT, "a TTL is at most 2147483647 s");
        return refuse(w, i, ERR_INPUT); /* RFC 2181 8 */
    }
    if (rr_data_canon(c->type, c->data, w->m->zone, &data, e) != 0)
        return refuse(w, i, ERR_INPUT);
    *k = (struct key){arena_strdup(w->arena, name),
                      arena_strdup(w->arena, data), c->type, i};
    free(data);
    return 0;
}

static void add_key(struct work *w, const struct key *k, bool new_name,
                    bool new_set, bool new_value)
{
    if (new_name)
        w->names[w->nnames++] =
            (struct name){.name = k->owner, .set = w->nsets};
    if (new_set) {
        w->names[w->nnames - 1].nsets++;
        w->sets[w->nsets++] = (struct set){.name = w->nnames - 1,
                                           .owner = k->owner,
                                           .type = k->type,
                                           .last = SIZE_MAX,
                                           .ttl_s = -1,
                                           .old_ttl_s = -1,
                                           .fixed = SIZE_MAX};
    }
    if (new_value)
        w->values[w->nvalues++] = (struct value){.set = w->nsets - 1,
                                                 .data = k->data,
                                                 .foreign = SIZE_MAX,
                                                 .generated = SIZE_MAX};
    w->value_of[k->change] = w->nvalues - 1;
}

static void collect(struct work *w)
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
    return strcmp(key, ((const struct name *)member)->name);
}

static struct set *find_set(struct work *w, const struct name *nm,
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
    const struct value *v = member;

    if (k->set != v->set)
        return k->set < v->set ? -1 : 1;
    return strcmp(k->data, v->data);
}

static struct value *find_value(struct work *w, const struct set *s,
                                const char *data)
{
    struct value_key k = {(size_t)(s - w->sets), data};

    return bsearch(&k, w->values, w->nvalues, sizeof *w->values, compare_value);
}

static void count_at_name(struct name *nm, uint16_t type)
{
    if (type == RR_A || type == RR_AAAA)
        nm->addr++;
    else if (type == RR_CNAME)
        nm->cname++;
    else if (type != MF_RRSIG && type != MF_NSEC)
        nm->other++;
}

static void add_match(struct work *w, size_t i, struct set *s)
{
    const struct masterfile_item *it = &w->m->items[i];
    char *data = masterfile_data(it);
    struct value *v = find_value(w, s, data);

    free(data);
    w->matches =
        mem_grow(w->matches, &w->matches_cap, w->nmatches, sizeof *w->matches);
    w->matches[w->nmatches++] =
        (struct match){i, (size_t)(s - w->sets),
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
    struct work *w;
    struct name *nm;
};

static void add_generated(void *arg, const struct masterfile_item *it,
                          char *data)
{
    struct generated *g = arg;
    struct set *s = find_set(g->w, g->nm, it->type);
    struct value *v = s != NULL ? find_value(g->w, s, data) : NULL;

    count_at_name(g->nm, it->type);
    if (s != NULL)
        s->fixed = (size_t)(it - g->w->m->items);
    if (v != NULL)
        v->generated = (size_t)(it - g->w->m->items);
    free(data);
}

static void match_items(struct work *w)
{
    for (size_t i = 0; i < w->m->n && w->nnames > 0; i++) {
        const struct masterfile_item *it = &w->m->items[i];
        struct name *nm;
        struct set *s;

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

/* Where an item stands, for messages. */
static const char *place(const struct work *w, size_t item)
{
    const struct masterfile_item *it = &w->m->items[item];

    return arena_printf(w->arena, "%s:%u", w->m->files[it->file].path,
                        it->line);
}

static int decide_withdraw(struct work *w, size_t i, struct value *v)
{
    struct err *e = &w->results[i].err;

    if (v->generated != SIZE_MAX)
        return err_set(e, ERR_UNSUPPORTED,
                       "made by $GENERATE at %s; write it as a line of its own "
                       "to have it managed",
                       place(w, v->generated));
    if (v->foreign != SIZE_MAX)
        return err_set(e, ERR_UNSUPPORTED,
                       "stands in the included file at %s; only the zone's "
                       "main file is edited: move the record there",
                       place(w, v->foreign));
    if (v->rows_on > 0)
        v->act = ACT_OFF;
    return 0;
}

static int decide_publish(struct work *w, size_t i, struct value *v)
{
    struct set *s = &w->sets[v->set];
    int64_t ttl_s = w->v[i].ttl_s;

    if (v->rows_on > 0 || v->generated != SIZE_MAX)
        return 0;
    if (s->type == RR_CNAME && strcmp(s->owner, w->m->zone) == 0)
        return err_set(&w->results[i].err, ERR_INPUT,
                       "a CNAME cannot stand at the zone's apex");
    v->act = v->rows_off > 0 ? ACT_ON : ACT_FRESH;
    if (ttl_s >= 0 && (s->ttl_s < 0 || ttl_s < s->ttl_s))
        s->ttl_s = ttl_s;
    return 0;
}

static void decide(struct work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct value *v;
        struct name *nm;
        int r;

        if (w->value_of[i] == SIZE_MAX)
            continue;
        v = &w->values[w->value_of[i]];
        nm = &w->names[w->sets[v->set].name];
        if (nm->err.code != ERR_NONE) {
            w->results[i].err = nm->err;
            r = -1;
        } else if (w->v[i].op == CHANGE_PUBLISH) {
            r = decide_publish(w, i, v);
        } else {
            r = decide_withdraw(w, i, v);
        }
        if (r != 0)
            (void)refuse(w, i, w->results[i].err.code);
    }
}

/* Fails the publishes of sets of a name (set SIZE_MAX) or of one set. */
static void fail_publishes(struct work *w, size_t name, size_t set,
                           const struct err *why)
{
    for (size_t i = 0; i < w->n; i++) {
        struct value *v =
            w->value_of[i] != SIZE_MAX ? &w->values[w->value_of[i]] : NULL;

        if (v == NULL || w->v[i].op != CHANGE_PUBLISH ||
            (v->act != ACT_ON && v->act != ACT_FRESH) ||
            w->sets[v->set].name != name || (set != SIZE_MAX && set != v->set))
            continue;
        w->results[i].err = *why;
        (void)refuse(w, i, why->code);
        v->act = ACT_NONE;
    }
}

/* A CNAME stands alone. source: RFC 1034 3.6.2, RFC 2181 10.1 */
static void check_cname(struct work *w)
{
    size_t *addr = arena_array(w->arena, w->nnames, sizeof *addr);
    size_t *cname = arena_array(w->arena, w->nnames, sizeof *cname);
    bool *publish = arena_array(w->arena, w->nnames, sizeof *publish);

    for (size_t i = 0; i < w->nnames; i++) {
        addr[i] = w->names[i].addr;
        cname[i] = w->names[i].cname;
    }
    for (size_t i = 0; i < w->nvalues; i++) {
        const struct value *v = &w->values[i];
        const struct set *s = &w->sets[v->set];
        size_t *count = s->type == RR_CNAME ? cname : addr;

        if (v->act == ACT_OFF)
            count[s->name] -= v->rows_on;
        if (v->act == ACT_ON || v->act == ACT_FRESH) {
            count[s->name]++;
            publish[s->name] = true;
        }
    }
    for (size_t i = 0; i < w->nnames; i++) {
        struct err e;

        if (!publish[i] || cname[i] == 0 ||
            (cname[i] == 1 && addr[i] == 0 && w->names[i].other == 0))
            continue;
        (void)err_set(&e, ERR_INPUT,
                      "a CNAME would stand beside other records of the name");
        fail_publishes(w, i, SIZE_MAX, &e);
    }
}

/* One set has one TTL (RFC 2181 5.2): what stands elsewhere cannot follow. */
static void check_ttl(struct work *w)
{
    for (size_t i = 0; i < w->nmatches; i++) {
        const struct masterfile_item *it = &w->m->items[w->matches[i].item];

        if (it->file != 0)
            w->sets[w->matches[i].set].fixed = w->matches[i].item;
    }
    for (size_t i = 0; i < w->nsets; i++) {
        const struct set *s = &w->sets[i];
        struct err e;

        if (s->ttl_s < 0 || s->fixed == SIZE_MAX ||
            w->m->items[s->fixed].ttl == s->ttl_s)
            continue;
        (void)err_set(&e, ERR_UNSUPPORTED,
                      "TTL %lld: %s has a record of the set with TTL %u, and "
                      "only lines of the zone's main file are edited",
                      (long long)s->ttl_s, place(w, s->fixed),
                      w->m->items[s->fixed].ttl);
        fail_publishes(w, s->name, i, &e);
    }
}

/* A publish failed: what was to make room for it stays. */
static void skip_withdrawals(struct work *w)
{
    for (size_t f = 0; f < w->n; f++) {
        if (w->v[f].op != CHANGE_PUBLISH ||
            w->results[f].state != CHANGE_FAILED)
            continue;
        for (size_t i = 0; i < w->n; i++) {
            if (w->v[i].op != CHANGE_WITHDRAW || w->v[i].set != w->v[f].set ||
                w->results[i].state != CHANGE_DONE)
                continue;
            w->results[i].state = CHANGE_SKIPPED;
            w->values[w->value_of[i]].act = ACT_NONE;
        }
    }
}

static int compare_fresh(const void *a, const void *b)
{
    const struct masterfile_fresh *x = a, *y = b;
    int c;

    if (x->after != y->after)
        return x->after < y->after ? -1 : 1;
    c = strcmp(x->name, y->name);
    if (c == 0)
        c = (int)x->type - (int)y->type;
    return c != 0 ? c : strcmp(x->data, y->data);
}

static void fill_fresh(const struct work *w, struct masterfile_plan *p)
{
    p->fresh = arena_array(p->arena, w->nvalues, sizeof *p->fresh);
    for (size_t i = 0; i < w->nvalues; i++) {
        const struct set *s = &w->sets[w->values[i].set];

        if (w->values[i].act != ACT_FRESH)
            continue;
        p->fresh[p->nfresh++] = (struct masterfile_fresh){
            .name = s->owner,
            .data = w->values[i].data,
            .type = s->type,
            .ttl_s = s->ttl_s >= 0 ? s->ttl_s : s->old_ttl_s,
            .after = s->last};
    }
    if (p->nfresh > 0)
        qsort(p->fresh, p->nfresh, sizeof *p->fresh, compare_fresh);
    p->changed |= p->nfresh > 0;
}

static void fill_plan(const struct work *w, struct masterfile_plan *p)
{
    bool *writes = arena_array(w->arena, w->nsets, sizeof *writes);

    p->steps = arena_array(p->arena, w->m->n, sizeof *p->steps);
    for (size_t i = 0; i < w->m->n; i++)
        p->steps[i] = (struct masterfile_step){w->m->items[i].kind == MF_RECORD,
                                               MASTERFILE_TTL_KEEP};
    for (size_t i = 0; i < w->nvalues; i++)
        writes[w->values[i].set] |=
            w->values[i].act == ACT_ON || w->values[i].act == ACT_FRESH;
    for (size_t i = 0; i < w->nmatches; i++) {
        const struct match *t = &w->matches[i];
        struct masterfile_step *step = &p->steps[t->item];
        const struct set *s = &w->sets[t->set];
        enum act act =
            t->value != SIZE_MAX ? w->values[t->value].act : ACT_NONE;

        if ((act == ACT_ON && !step->active) ||
            (act == ACT_OFF && step->active)) {
            step->active = !step->active;
            p->changed = true;
        }
        if (step->active && writes[t->set] && s->ttl_s >= 0)
            step->ttl_s = s->ttl_s;
    }
    fill_fresh(w, p);
}

void masterfile_plan_make(const struct masterfile *m, const struct change *v,
                          size_t n, struct change_result *results,
                          struct masterfile_plan *out)
{
    struct work w = {.m = m, .v = v, .n = n, .results = results};

    *out = (struct masterfile_plan){.arena = arena_new()};
    w.arena = out->arena;
    memset(results, 0, n * sizeof *results); /* CHANGE_DONE */
    collect(&w);
    match_items(&w);
    decide(&w);
    check_ttl(&w);
    check_cname(&w);
    skip_withdrawals(&w);
    check_cname(&w); /* a skipped withdrawal stays beside the others */
    skip_withdrawals(&w);
    fill_plan(&w, out);
    free(w.matches);
}

void masterfile_plan_fini(struct masterfile_plan *p)
{
    arena_free(p->arena);
    *p = (struct masterfile_plan){NULL, NULL, NULL, 0, false};
}
