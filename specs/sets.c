#include "specs/sets.h"

#include <stdlib.h>
#include <string.h>

#define VIEWS_MAX 64u /* of one name and type */

/* source: spec-language 5 "Defaults" and 2 "Rows" */
static const int64_t built_in[SPEC_NDEFAULTS] = {
    [SPEC_DEFAULT_TTL] = -1,       [SPEC_DEFAULT_TIMEOUT] = -1,
    [SPEC_DEFAULT_ACCESS] = 10000, [SPEC_DEFAULT_RETRY] = 1000,
    [SPEC_DEFAULT_SUCCESS] = 3,    [SPEC_DEFAULT_FAILURE] = 3,
};
static const int64_t built_in_rows[SPEC_NDEFAULTS] = {
    [SPEC_DEFAULT_TTL] = -1,       [SPEC_DEFAULT_TIMEOUT] = 1000,
    [SPEC_DEFAULT_ACCESS] = 10000, [SPEC_DEFAULT_RETRY] = 1000,
    [SPEC_DEFAULT_SUCCESS] = 1,    [SPEC_DEFAULT_FAILURE] = 1,
};

/* Defaults as a spec wrote them, -1 and 0 for what it did not. */
static struct spec_defaults written(const struct spec_scalar *d)
{
    struct spec_defaults w = {.ttl_s = -1,
                              .timeout_ms = -1,
                              .access_period_ms = -1,
                              .retry_period_ms = -1};

    if (d[SPEC_DEFAULT_TTL].at != NULL)
        w.ttl_s = d[SPEC_DEFAULT_TTL].value;
    if (d[SPEC_DEFAULT_TIMEOUT].at != NULL)
        w.timeout_ms = d[SPEC_DEFAULT_TIMEOUT].value;
    if (d[SPEC_DEFAULT_ACCESS].at != NULL)
        w.access_period_ms = d[SPEC_DEFAULT_ACCESS].value;
    if (d[SPEC_DEFAULT_RETRY].at != NULL)
        w.retry_period_ms = d[SPEC_DEFAULT_RETRY].value;
    w.required_success = (uint32_t)d[SPEC_DEFAULT_SUCCESS].value;
    w.required_failure = (uint32_t)d[SPEC_DEFAULT_FAILURE].value;
    return w;
}

static void put(int64_t *v, bool given, int64_t value)
{
    if (given)
        *v = value;
}

static void overlay(int64_t v[SPEC_NDEFAULTS], const struct spec_defaults *d)
{
    put(&v[SPEC_DEFAULT_TTL], d->ttl_s >= 0, d->ttl_s);
    put(&v[SPEC_DEFAULT_TIMEOUT], d->timeout_ms > 0, d->timeout_ms);
    put(&v[SPEC_DEFAULT_ACCESS], d->access_period_ms > 0, d->access_period_ms);
    put(&v[SPEC_DEFAULT_RETRY], d->retry_period_ms > 0, d->retry_period_ms);
    put(&v[SPEC_DEFAULT_SUCCESS], d->required_success > 0, d->required_success);
    put(&v[SPEC_DEFAULT_FAILURE], d->required_failure > 0, d->required_failure);
}

static void resolve(const struct spec_reader *r, const struct spec_apex *top,
                    const int64_t *base, struct spec_basis *b)
{
    int64_t min = r->ctx->min_period_ms;

    memcpy(b->v, base, sizeof b->v);
    if (!r->apex && r->ctx->apex != NULL)
        overlay(b->v, &r->ctx->apex->top->defaults);
    overlay(b->v, &top->defaults);
    /* Nobody wrote a period below the limit: it is the default's. */
    if (b->v[SPEC_DEFAULT_ACCESS] < min)
        b->v[SPEC_DEFAULT_ACCESS] = min;
    if (b->v[SPEC_DEFAULT_RETRY] < min)
        b->v[SPEC_DEFAULT_RETRY] = min;
}

void spec_sets_defaults(struct spec_reader *r, const struct spec_doc *d,
                        struct spec_apex *top)
{
    top->defaults = written(d->defaults);
    resolve(r, top, built_in, &r->own);
    resolve(r, top, built_in_rows, &r->rows);
    r->rows.rows = true;
}

typedef struct spec_item *item_ptr;

static int compare_type(const struct spec_item *a, const struct spec_item *b)
{
    int c = 0;

    if (a->rec.name != b->rec.name && !name_equal(a->rec.name, b->rec.name))
        c = name_compare(a->rec.name, b->rec.name);
    return c != 0 ? c : (int)a->rec.type - (int)b->rec.type;
}

static int compare_view(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* One tier of one set. */
static int compare_tier(const struct spec_item *a, const struct spec_item *b)
{
    int c = compare_type(a, b);

    if (c == 0)
        c = compare_view(spec_rare_of(&a->rec)->view,
                         spec_rare_of(&b->rec)->view);
    return c != 0 ? c : (int)a->rec.fallback - (int)b->rec.fallback;
}

/* Items lie in reading order. */
static int compare_place(const struct spec_item *a, const struct spec_item *b)
{
    return a < b ? -1 : a > b;
}

static int by_value(const void *a, const void *b)
{
    const struct spec_item *x = *(const item_ptr *)a, *y = *(const item_ptr *)b;
    int c = compare_tier(x, y);

    if (c == 0)
        c = strcmp(x->rec.data, y->rec.data);
    return c != 0 ? c : compare_place(x, y);
}

static int by_chain(const void *a, const void *b)
{
    const struct spec_item *x = *(const item_ptr *)a, *y = *(const item_ptr *)b;
    int c = compare_tier(x, y);

    if (c == 0)
        c = x->rec.prio < y->rec.prio ? -1 : x->rec.prio > y->rec.prio;
    return c != 0 ? c : compare_place(x, y);
}

/* The order within a set of one view, whatever views its items name. */
static int by_rank(const void *a, const void *b)
{
    const struct spec_item *x = *(const item_ptr *)a, *y = *(const item_ptr *)b;
    int c = (int)x->rec.fallback - (int)y->rec.fallback;

    if (c == 0)
        c = x->rec.prio < y->rec.prio ? -1 : x->rec.prio > y->rec.prio;
    return c != 0 ? c : compare_place(x, y);
}

/* Positions and places in the chain, equal ones left out. */
static void number_items(struct spec_doc *d)
{
    size_t places[SPEC_NARRAYS] = {0, 0, 0}, n = 0;

    for (size_t i = 0; i < d->nitems; i++) {
        struct spec_item *item = &d->items[i];

        if (item->dropped)
            continue;
        item->rec.position = (uint32_t)n++;
        places[item->array]++;
        if (!item->prio_given)
            item->rec.prio = (int32_t)places[item->array];
    }
}

/* in: list — room for d->nitems */
static int drop_equal(struct spec_reader *r, struct spec_doc *d, item_ptr *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->nitems; i++)
        list[i] = &d->items[i];
    qsort(list, d->nitems, sizeof *list, by_value);
    for (size_t i = 0; i < d->nitems; i++) {
        struct spec_item *item = list[i];
        const struct spec_item *before = kept > 0 ? list[kept - 1] : NULL;

        if (before == NULL || compare_tier(before, item) != 0 ||
            strcmp(before->rec.data, item->rec.data) != 0) {
            list[kept++] = item;
            continue;
        }
        if (!spec_item_same(before, item))
            return spec_member_fail(
                r, item->at,
                "%s %s %s is given twice, with different members (the other "
                "is %s); accepted: each value once, or twice the same",
                item->rec.name, spec_type_name(item->rec.type), item->rec.data,
                before->rec.pointer);
        item->dropped = true;
        spec_item_forget(r, item);
    }
    number_items(d);
    return 0;
}

int spec_sets_drop_equal(struct spec_reader *r, struct spec_doc *d)
{
    item_ptr *list;
    int rc;

    if (d->nitems == 0)
        return 0;
    list = mem_array(d->nitems, sizeof(item_ptr));
    rc = drop_equal(r, d, list);
    free(list);
    return rc;
}

/* A chain is ordered by prio or by one list; DNS keeps no order between
 * documents, nor JSON between members. */
static int check_chain(struct spec_reader *r, const item_ptr *items, size_t n)
{
    const struct spec_item *without = NULL;
    bool spread = false;

    for (size_t i = 0; i < n; i++) {
        const struct spec_item *item = items[i];

        if (item->rec.fallback)
            continue;
        if (!item->prio_given && without == NULL)
            without = item;
        spread |= item->rec.document != items[0]->rec.document ||
                  item->array != items[0]->array;
    }
    if (!spread || without == NULL)
        return 0;
    return spec_member_fail(r, without->at,
                            "the chain of %s %s is spread over several lists "
                            "or TXT records, and this record has no \"prio\"; "
                            "accepted: one list, or \"prio\" on each record",
                            without->rec.name,
                            spec_type_name(without->rec.type));
}

/* The value of a policy member: of the set in its view, of the set, of all. */
static int64_t policy(const struct spec_doc *d, const struct spec_set *set,
                      enum spec_own own, int64_t dflt)
{
    static const enum spec_top tops[SPEC_NPOLICY] = {
        [SPEC_OWN_ORDER] = SPEC_TOP_ORDER,
        [SPEC_OWN_TAKE] = SPEC_TOP_TAKE,
        [SPEC_OWN_ALL_DOWN] = SPEC_TOP_ALL_DOWN,
        [SPEC_OWN_DAMPING] = SPEC_TOP_DAMPING};
    const struct spec_scalar *best = &d->top[tops[own]];

    for (size_t i = 0; i < d->nsets; i++) {
        const struct spec_override *o = &d->sets[i];

        if (o->key.type == set->type && name_equal(o->key.name, set->name) &&
            (o->key.view == NULL ||
             compare_view(o->key.view, set->view) == 0) &&
            o->policy[own].at != NULL)
            best = &o->policy[own]; /* those with a view come last */
    }
    return best->at != NULL ? best->value : dflt;
}

/* Makes the set of n items that belong together, in their order. */
static int fill_set(struct spec_reader *r, const struct spec_doc *d,
                    const item_ptr *items, size_t n, const char *view,
                    struct spec_set *set)
{
    struct spec_record *recs = arena_array(r->arena, n, sizeof *recs);

    set->name = items[0]->rec.name;
    set->type = items[0]->rec.type;
    set->view = view;
    set->order = (enum spec_order)policy(d, set, SPEC_OWN_ORDER, SPEC_ALL);
    set->take = (uint32_t)policy(d, set, SPEC_OWN_TAKE, 0);
    set->all_down =
        (enum spec_all_down)policy(d, set, SPEC_OWN_ALL_DOWN, SPEC_KEEP);
    set->damping = policy(d, set, SPEC_OWN_DAMPING, 1) != 0;
    set->ttl_s = -1;
    for (size_t i = 0; i < n; i++) {
        int32_t ttl_s = items[i]->rec.ttl_s;

        recs[i] = items[i]->rec;
        if (recs[i].dc >= 0)
            recs[i].dc =
                (int32_t)spec_scope_index(r, SPEC_NAMED_DC, (size_t)recs[i].dc);
        set->nrecords += !recs[i].fallback;
        if (ttl_s >= 0 && (set->ttl_s < 0 || ttl_s < set->ttl_s))
            set->ttl_s = ttl_s;
    }
    set->records = recs;
    set->fallback = recs + set->nrecords;
    set->nfallback = (uint32_t)n - set->nrecords;
    if (set->nrecords == 0)
        return spec_member_fail(r, items[0]->at,
                                "a fallback for %s %s, of which no record is "
                                "given; accepted: fallbacks behind records of "
                                "the same name and type",
                                set->name, spec_type_name(set->type));
    return set->order == SPEC_PRIORITY ? check_chain(r, items, n) : 0;
}

struct builder {
    struct spec_set *sets;
    size_t n;
    item_ptr *gather; /* room for all items */
};

/* The set of a view: its own items, and those that name none. An own one
 * stands before an equal one of every view. */
static int view_set(struct spec_reader *r, const struct spec_doc *d,
                    struct builder *b, const item_ptr *common, size_t ncommon,
                    const item_ptr *own, size_t nown)
{
    size_t n = nown;

    memcpy(b->gather, own, nown * sizeof *own);
    for (size_t i = 0; i < ncommon; i++) {
        bool there = false;

        for (size_t k = 0; k < nown && !there; k++)
            there = own[k]->rec.fallback == common[i]->rec.fallback &&
                    strcmp(own[k]->rec.data, common[i]->rec.data) == 0;
        if (!there)
            b->gather[n++] = common[i];
    }
    qsort(b->gather, n, sizeof *b->gather, by_rank);
    return fill_set(r, d, b->gather, n, spec_rare_of(&own[0]->rec)->view,
                    &b->sets[b->n++]);
}

/* The sets of one name and type. */
static int type_sets(struct spec_reader *r, const struct spec_doc *d,
                     struct builder *b, const item_ptr *items, size_t n)
{
    size_t common = 0, end, views = 0;
    bool records = false;

    for (; common < n && spec_rare_of(&items[common]->rec)->view == NULL;
         common++)
        records |= !items[common]->rec.fallback;
    if (records || common == n)
        if (fill_set(r, d, items, common, NULL, &b->sets[b->n++]) != 0)
            return -1;
    for (size_t i = common; i < n; i = end) {
        for (end = i; end < n &&
                      compare_view(spec_rare_of(&items[i]->rec)->view,
                                   spec_rare_of(&items[end]->rec)->view) == 0;)
            end++;
        if (++views > VIEWS_MAX)
            return spec_member_fail(r, items[i]->at,
                                    "more than %u views of one name and type; "
                                    "accepted: at most %u",
                                    VIEWS_MAX, VIEWS_MAX);
        if (view_set(r, d, b, items, common, &items[i], end - i) != 0)
            return -1;
    }
    return 0;
}

static int check_cname(struct spec_reader *r, const struct spec *s,
                       const struct spec_doc *d)
{
    for (size_t i = 0; i < s->nsets; i++) {
        for (size_t k = i + 1;
             k < s->nsets && name_equal(s->sets[k].name, s->sets[i].name);
             k++) {
            const struct spec_set *a = &s->sets[i], *b = &s->sets[k];

            if (a->type == b->type || b->type != SPEC_CNAME ||
                (a->view != NULL && b->view != NULL &&
                 strcmp(a->view, b->view) != 0))
                continue;
            for (size_t x = 0; x < d->nitems; x++)
                if (d->items[x].rec.pointer == b->records[0].pointer)
                    return spec_member_fail(
                        r, d->items[x].at,
                        "a CNAME beside other types at %s; accepted: a CNAME "
                        "alone (RFC 1034 3.6.2)",
                        b->name);
        }
    }
    return 0;
}

/* Every set that `sets` names must be there. */
static int check_overrides(struct spec_reader *r, const struct spec *s,
                           const struct spec_doc *d)
{
    for (size_t i = 0; i < d->nsets; i++) {
        const struct spec_key *key = &d->sets[i].key;
        bool found = false;

        for (size_t k = 0; k < s->nsets && !found; k++)
            found = s->sets[k].type == key->type &&
                    name_equal(s->sets[k].name, key->name) &&
                    (key->view == NULL ||
                     compare_view(key->view, s->sets[k].view) == 0);
        if (!found)
            return spec_member_fail(r, d->sets[i].at,
                                    "there is no record for %s %s%s%s; "
                                    "accepted: sets that have records",
                                    key->name, spec_type_name(key->type),
                                    key->view != NULL ? " in view " : "",
                                    key->view != NULL ? key->view : "");
    }
    return 0;
}

static int build(struct spec_reader *r, struct spec_doc *d, struct spec *s,
                 item_ptr *list)
{
    struct builder b = {.gather = list + d->nitems};
    size_t n = 0, end;

    for (size_t i = 0; i < d->nitems; i++)
        if (!d->items[i].dropped)
            list[n++] = &d->items[i];
    qsort(list, n, sizeof *list, by_chain);
    b.sets = arena_array(r->arena, n, sizeof *b.sets);
    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && compare_type(list[i], list[end]) == 0;)
            end++;
        if (type_sets(r, d, &b, &list[i], end - i) != 0)
            return -1;
    }
    s->sets = b.sets;
    s->nsets = (uint32_t)b.n;
    return check_cname(r, s, d);
}

int spec_sets_build(struct spec_reader *r, struct spec_doc *d, struct spec *s)
{
    item_ptr *list;
    int rc = 0;

    if (d->nitems > 0) {
        list = mem_array(d->nitems * 2, sizeof(item_ptr));
        rc = build(r, d, s, list);
        free(list);
    }
    if (rc != 0 || check_overrides(r, s, d) != 0)
        return -1;
    return spec_sets_check_uses(r, s);
}
