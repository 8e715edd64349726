#include "specs/sets.h"

#include <stdlib.h>
#include <string.h>

#include "specs/check.h"

/* source: spec-language 5 "Defaults" and 2 "Rows" */
static const int64_t built_in[SPEC_NDEFAULTS] = {
    [SPEC_DEFAULT_TTL] = -1,       [SPEC_DEFAULT_TIMEOUT] = 2000,
    [SPEC_DEFAULT_ACCESS] = 10000, [SPEC_DEFAULT_RETRY] = 1000,
    [SPEC_DEFAULT_SUCCESS] = 3,    [SPEC_DEFAULT_FAILURE] = 3,
};
static const int64_t built_in_rows[SPEC_NDEFAULTS] = {
    [SPEC_DEFAULT_TTL] = -1,       [SPEC_DEFAULT_TIMEOUT] = 1000,
    [SPEC_DEFAULT_ACCESS] = 10000, [SPEC_DEFAULT_RETRY] = 1000,
    [SPEC_DEFAULT_SUCCESS] = 1,    [SPEC_DEFAULT_FAILURE] = 1,
};

static int64_t or_else(bool given, int64_t value, int64_t below)
{
    return given ? value : below;
}

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

static void overlay(int64_t v[SPEC_NDEFAULTS], const struct spec_defaults *d)
{
    v[SPEC_DEFAULT_TTL] = or_else(d->ttl_s >= 0, d->ttl_s, v[SPEC_DEFAULT_TTL]);
    v[SPEC_DEFAULT_TIMEOUT] =
        or_else(d->timeout_ms > 0, d->timeout_ms, v[SPEC_DEFAULT_TIMEOUT]);
    v[SPEC_DEFAULT_ACCESS] = or_else(
        d->access_period_ms > 0, d->access_period_ms, v[SPEC_DEFAULT_ACCESS]);
    v[SPEC_DEFAULT_RETRY] = or_else(d->retry_period_ms > 0, d->retry_period_ms,
                                    v[SPEC_DEFAULT_RETRY]);
    v[SPEC_DEFAULT_SUCCESS] = or_else(
        d->required_success > 0, d->required_success, v[SPEC_DEFAULT_SUCCESS]);
    v[SPEC_DEFAULT_FAILURE] = or_else(
        d->required_failure > 0, d->required_failure, v[SPEC_DEFAULT_FAILURE]);
}

/* Built-in, then the apex spec's, then its own. */
static void resolve(const struct spec_reader *r, const struct spec *s,
                    bool rows, int64_t v[SPEC_NDEFAULTS])
{
    int64_t min = r->ctx->min_period_ms;

    memcpy(v, rows ? built_in_rows : built_in, sizeof built_in);
    if (!r->apex && r->ctx->apex != NULL)
        overlay(v, &r->ctx->apex->defaults);
    overlay(v, &s->defaults);
    /* Nobody wrote a period below the limit: it is the default's. */
    if (v[SPEC_DEFAULT_ACCESS] < min)
        v[SPEC_DEFAULT_ACCESS] = min;
    if (v[SPEC_DEFAULT_RETRY] < min)
        v[SPEC_DEFAULT_RETRY] = min;
}

static void complete(struct spec_item *item, const int64_t v[SPEC_NDEFAULTS])
{
    if (item->rec.ttl_s < 0)
        item->rec.ttl_s = v[SPEC_DEFAULT_TTL];
    for (size_t i = 0; i < item->rec.nchecks; i++) {
        struct spec_check *c = &item->checks[i];

        c->timeout_ms = v[SPEC_DEFAULT_TIMEOUT];
        c->access_period_ms = v[SPEC_DEFAULT_ACCESS];
        c->retry_period_ms = v[SPEC_DEFAULT_RETRY];
        c->required_success = (uint32_t)v[SPEC_DEFAULT_SUCCESS];
        c->required_failure = (uint32_t)v[SPEC_DEFAULT_FAILURE];
        c->repeat_timeout = item->array == SPEC_IN_ROWS;
    }
}

static int compare_set(const struct spec_item *a, const struct spec_item *b)
{
    int c = 0;

    if (!name_equal(a->rec.name, b->rec.name))
        c = name_compare(a->rec.name, b->rec.name);
    if (c == 0)
        c = (int)a->rec.type - (int)b->rec.type;
    return c;
}

/* One value of one tier of one set. */
static int compare_value(const struct spec_item *a, const struct spec_item *b)
{
    int c = compare_set(a, b);

    if (c == 0)
        c = (int)a->rec.fallback - (int)b->rec.fallback;
    return c != 0 ? c : strcmp(a->rec.data, b->rec.data);
}

static int compare_place(const struct spec_item *a, const struct spec_item *b)
{
    return a->rec.position < b->rec.position
               ? -1
               : a->rec.position > b->rec.position;
}

static int by_value(const void *a, const void *b)
{
    int c = compare_value(a, b);

    return c != 0 ? c : compare_place(a, b);
}

static int by_place(const void *a, const void *b)
{
    return compare_place(a, b);
}

static int by_chain(const void *a, const void *b)
{
    const struct spec_item *x = a, *y = b;
    int c = compare_set(x, y);

    if (c == 0)
        c = (int)x->rec.fallback - (int)y->rec.fallback;
    if (c == 0)
        c = x->rec.prio < y->rec.prio ? -1 : x->rec.prio > y->rec.prio;
    return c != 0 ? c : compare_place(x, y);
}

static bool same_members(const struct spec_item *a, const struct spec_item *b)
{
    /* Rows and records differ in their checks' thresholds. */
    if (a->array != b->array || a->rec.ttl_s != b->rec.ttl_s ||
        a->prio_given != b->prio_given || a->rec.prio != b->rec.prio ||
        a->rec.nchecks != b->rec.nchecks)
        return false;
    for (size_t i = 0; i < a->rec.nchecks; i++)
        if (spec_check_compare(&a->checks[i], &b->checks[i]) != 0)
            return false;
    return true;
}

/* Equal values once; then positions and places in the chain. */
static int drop_equal(struct spec_reader *r, struct spec_doc *d)
{
    size_t n = 0, places[3] = {0, 0, 0};

    qsort(d->items, d->nitems, sizeof *d->items, by_value);
    for (size_t i = 0; i < d->nitems; i++) {
        struct spec_item *item = &d->items[i];
        const struct spec_item *before = n > 0 ? &d->items[n - 1] : NULL;

        if (before == NULL || compare_value(before, item) != 0)
            d->items[n++] = *item;
        else if (!same_members(before, item))
            return spec_member_fail(
                r, item->at,
                "%s %s %s is given twice, with different members (the other "
                "is %s); accepted: each value once, or twice the same",
                item->rec.name, spec_type_name(item->rec.type), item->rec.data,
                before->rec.pointer);
    }
    d->nitems = n;
    qsort(d->items, n, sizeof *d->items, by_place);
    for (size_t i = 0; i < n; i++) {
        struct spec_item *item = &d->items[i];
        size_t place = ++places[item->array];

        item->rec.position = i;
        if (!item->prio_given)
            item->rec.prio = (int64_t)place;
    }
    return 0;
}

/* A chain is ordered by prio or by one list; DNS keeps no order between
 * documents, nor JSON between members. */
static int check_chain(struct spec_reader *r, const struct spec_item *items,
                       size_t n)
{
    const struct spec_item *without = NULL;
    bool spread = false;

    for (size_t i = 0; i < n; i++) {
        const struct spec_item *item = &items[i];

        if (item->rec.fallback)
            continue;
        if (!item->prio_given && without == NULL)
            without = item;
        spread |= item->rec.document != items[0].rec.document ||
                  item->array != items[0].array;
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

static int check_set(struct spec_reader *r, const struct spec_set *set,
                     const struct spec_item *items, size_t n,
                     const struct spec_set *before)
{
    if (set->nrecords == 0)
        return spec_member_fail(r, items[0].at,
                                "a fallback for %s %s, of which no record is "
                                "given; accepted: fallbacks behind records of "
                                "the same name and type",
                                set->name, spec_type_name(set->type));
    if (set->type == SPEC_CNAME) {
        if (before != NULL && name_equal(before->name, set->name))
            return spec_member_fail(r, items[0].at,
                                    "a CNAME beside other types at %s; "
                                    "accepted: a CNAME alone (RFC 1034 3.6.2)",
                                    set->name);
        spec_member_later(r, items[0].at, "type CNAME is");
    }
    if (set->order != SPEC_PRIORITY)
        return 0;
    return check_chain(r, items, n);
}

/* Makes the set of n items that belong together. */
static void fill_set(struct spec_reader *r, const struct spec_doc *d,
                     const struct spec_item *items, size_t n,
                     struct spec_set *set)
{
    struct spec_record *recs = arena_array(r->arena, n, sizeof *recs);

    set->name = items[0].rec.name;
    set->type = items[0].rec.type;
    set->order = (enum spec_order)d->top[SPEC_TOP_ORDER].value;
    set->take = (uint32_t)d->top[SPEC_TOP_TAKE].value;
    set->all_down = (enum spec_all_down)d->top[SPEC_TOP_ALL_DOWN].value;
    set->damping = true;
    set->ttl_s = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t ttl_s = items[i].rec.ttl_s;

        recs[i] = items[i].rec;
        set->nrecords += !recs[i].fallback;
        if (ttl_s >= 0 && (set->ttl_s < 0 || ttl_s < set->ttl_s))
            set->ttl_s = ttl_s;
    }
    set->records = recs;
    set->fallback = recs + set->nrecords;
    set->nfallback = n - set->nrecords;
}

static int group(struct spec_reader *r, struct spec_doc *d, struct spec *s)
{
    struct spec_set *sets = arena_array(r->arena, d->nitems + 1, sizeof *sets);
    size_t n = 0, end;

    qsort(d->items, d->nitems, sizeof *d->items, by_chain);
    for (size_t i = 0; i < d->nitems; i = end) {
        const struct spec_item *items = &d->items[i];

        for (end = i + 1; end < d->nitems; end++)
            if (compare_set(items, &d->items[end]) != 0)
                break;
        fill_set(r, d, items, end - i, &sets[n]);
        if (check_set(r, &sets[n], items, end - i,
                      n > 0 ? &sets[n - 1] : NULL) != 0)
            return -1;
        n++;
    }
    s->sets = sets;
    s->nsets = n;
    return 0;
}

/* Where a probe goes: the check's own target, else the record's address. */
static int by_target(const void *a, const void *b)
{
    return spec_check_compare(a, b);
}

static int check_targets(struct spec_reader *r, const struct spec_doc *d)
{
    struct spec_check *all = NULL;
    size_t n = 0, cap = 0, distinct = 0;

    if (r->ctx->max_targets == 0)
        return 0;
    for (size_t i = 0; i < d->nitems; i++) {
        for (size_t k = 0; k < d->items[i].rec.nchecks; k++) {
            all = mem_grow(all, &cap, n, sizeof *all);
            all[n] = d->items[i].checks[k];
            if (all[n].target.family == 0)
                all[n].target = d->items[i].rec.addr;
            n++;
        }
    }
    if (n > 0)
        qsort(all, n, sizeof *all, by_target);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || spec_check_compare(&all[i - 1], &all[i]) != 0;
    free(all);
    if (distinct <= r->ctx->max_targets)
        return 0;
    return err_set(r->e, ERR_LIMIT,
                   "%s: found %zu targets (address and port); accepted: at "
                   "most %zu (max-targets in the agent's file)",
                   r->where, distinct, r->ctx->max_targets);
}

int spec_sets_build(struct spec_reader *r, struct spec_doc *d, struct spec *s)
{
    int64_t own[SPEC_NDEFAULTS], rows[SPEC_NDEFAULTS];

    s->defaults = written(d->defaults);
    if (d->nitems == 0)
        return 0;
    resolve(r, s, false, own);
    resolve(r, s, true, rows);
    for (size_t i = 0; i < d->nitems; i++)
        complete(&d->items[i], d->items[i].array == SPEC_IN_ROWS ? rows : own);
    if (drop_equal(r, d) != 0 || group(r, d, s) != 0)
        return -1;
    return check_targets(r, d);
}
