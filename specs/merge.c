#include "specs/merge.h"

#include <stdlib.h>
#include <string.h>

/* Any order will do as long as it depends on content alone. */
static int by_content(const void *a, const void *b)
{
    const struct spec_doc *x = a, *y = b;
    int c = spec_value_compare(x->root, y->root);

    if (c != 0)
        return c;
    if (x->spelling != y->spelling)
        return x->spelling < y->spelling ? -1 : 1;
    return x->document < y->document ? -1 : x->document > y->document;
}

static int twice(struct spec_reader *r, const struct spec_value *first,
                 const struct spec_value *second)
{
    char a[SPEC_QUOTE_SIZE], b[SPEC_QUOTE_SIZE];

    return spec_member_fail(r, second,
                            "found %s in one TXT record and %s in another; "
                            "accepted: one value (all TXT records of a name "
                            "are one spec)",
                            spec_value_quote(first, a),
                            spec_value_quote(second, b));
}

static int merge_scalars(struct spec_reader *r, const struct spec_scalar *from,
                         struct spec_scalar *into, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i].at == NULL)
            continue;
        if (into[i].at != NULL && into[i].value != from[i].value)
            return twice(r, into[i].at, from[i].at);
        if (into[i].at == NULL)
            into[i] = from[i];
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct spec_named *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    if (c == 0)
        c = (int)x->kind - (int)y->kind;
    if (c != 0)
        return c;
    return x->document < y->document ? -1 : x->document > y->document;
}

/* Sorted; equal ones of two documents once. */
static int sort_named(struct spec_reader *r, struct spec_doc *d)
{
    size_t n = 0;

    if (d->nnamed > 1)
        qsort(d->named, d->nnamed, sizeof *d->named, by_name);
    for (size_t i = 0; i < d->nnamed; i++) {
        const struct spec_named *now = &d->named[i];
        const struct spec_named *before = n > 0 ? &d->named[n - 1] : NULL;
        char ptr[SPEC_POINTER_SIZE];

        if (before == NULL || strcmp(before->name, now->name) != 0) {
            d->named[n++] = *now;
            continue;
        }
        if (before->kind == now->kind &&
            spec_value_compare(before->at, now->at) == 0)
            continue;
        return spec_member_fail(
            r, now->at,
            "\"%s\" is given twice, with different content (the other is %s); "
            "accepted: each name once over checks, dcs and scenarios",
            now->name, spec_value_pointer(before->at, ptr));
    }
    d->nnamed = n;
    return 0;
}

static int by_key(const void *a, const void *b)
{
    const struct spec_override *x = a, *y = b;
    int c = spec_item_compare_key(&x->key, &y->key);

    if (c != 0)
        return c;
    return x->document < y->document ? -1 : x->document > y->document;
}

static int sort_sets(struct spec_reader *r, struct spec_doc *d)
{
    size_t n = 0;

    if (d->nsets > 1)
        qsort(d->sets, d->nsets, sizeof *d->sets, by_key);
    for (size_t i = 0; i < d->nsets; i++) {
        char ptr[SPEC_POINTER_SIZE];

        if (n == 0 ||
            spec_item_compare_key(&d->sets[n - 1].key, &d->sets[i].key) != 0) {
            d->sets[n++] = d->sets[i];
            continue;
        }
        if (spec_value_compare(d->sets[n - 1].at, d->sets[i].at) != 0)
            return spec_member_fail(r, d->sets[i].at,
                                    "this set is given twice, with different "
                                    "members (the other is %s); accepted: "
                                    "once",
                                    spec_value_pointer(d->sets[n - 1].at, ptr));
    }
    d->nsets = n;
    return 0;
}

static int by_canon(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(struct spec_doc *d)
{
    size_t n = 0;

    if (d->nnames > 1)
        qsort(d->names, d->nnames, sizeof *d->names, by_canon);
    for (size_t i = 0; i < d->nnames; i++)
        if (n == 0 || !name_equal(d->names[n - 1], d->names[i]))
            d->names[n++] = d->names[i];
    d->nnames = n;
}

static void append(void *list, size_t *n, const void *more, size_t nmore,
                   size_t size)
{
    if (nmore > 0)
        memcpy((char *)list + *n * size, more, nmore * size);
    *n += nmore;
}

/* Lists of all documents behind each other; out is the first document. */
static void merge_lists(struct spec_reader *r, const struct spec_doc *docs,
                        size_t n, struct spec_doc *out)
{
    size_t named = 0, sets = 0, names = 0;

    for (size_t i = 0; i < n; i++) {
        named += docs[i].nnamed;
        sets += docs[i].nsets;
        names += docs[i].nnames;
    }
    out->named = arena_array(r->arena, named, sizeof *out->named);
    out->sets = arena_array(r->arena, sets, sizeof *out->sets);
    out->names = arena_array(r->arena, names, sizeof *out->names);
    out->nnamed = out->nsets = out->nnames = 0;
    for (size_t i = 0; i < n; i++) {
        append(out->named, &out->nnamed, docs[i].named, docs[i].nnamed,
               sizeof *out->named);
        append(out->sets, &out->nsets, docs[i].sets, docs[i].nsets,
               sizeof *out->sets);
        append(out->names, &out->nnames, docs[i].names, docs[i].nnames,
               sizeof *out->names);
    }
}

int spec_merge_docs(struct spec_reader *r, struct spec_doc *docs, size_t n,
                    struct spec_doc *out, size_t *used)
{
    size_t kept = 0;

    if (n > 1)
        qsort(docs, n, sizeof *docs, by_content);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 ||
            spec_value_compare(docs[kept - 1].root, docs[i].root) != 0)
            docs[kept++] = docs[i];
    *used = kept;
    *out = docs[0];
    for (size_t i = 1; i < kept; i++)
        if (merge_scalars(r, docs[i].top, out->top, SPEC_NTOP) != 0 ||
            merge_scalars(r, docs[i].defaults, out->defaults, SPEC_NDEFAULTS) !=
                0)
            return -1;
    if (kept > 1)
        merge_lists(r, docs, kept, out);
    sort_names(out);
    if (sort_named(r, out) != 0)
        return -1;
    return sort_sets(r, out);
}

int spec_merge_items(struct spec_reader *r, const struct spec_doc *docs,
                     size_t n, struct spec_doc *out)
{
    static const enum spec_top tops[SPEC_NARRAYS] = {
        [SPEC_IN_RECORDS] = SPEC_TOP_RECORDS,
        [SPEC_IN_ROWS] = SPEC_TOP_ROWS,
        [SPEC_IN_FALLBACK] = SPEC_TOP_FALLBACK};
    size_t room = 0;

    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < SPEC_NARRAYS; a++)
            if (docs[i].given[tops[a]] != NULL)
                room += docs[i].given[tops[a]]->n;
    for (size_t i = 0; i < out->nsets; i++)
        if (out->sets[i].fallback != NULL)
            room += out->sets[i].fallback->n;
    out->items = arena_array(r->arena, room + 1, sizeof *out->items);
    for (int a = 0; a < SPEC_NARRAYS; a++) {
        for (size_t i = 0; i < n; i++) {
            const struct spec_value *list = docs[i].given[tops[a]];

            if (list != NULL &&
                spec_item_read_list(r, list, (enum spec_array)a,
                                    docs[i].document, NULL, out->items,
                                    &out->nitems) != 0)
                return -1;
        }
    }
    for (size_t i = 0; i < out->nsets; i++) {
        const struct spec_override *o = &out->sets[i];

        if (o->fallback != NULL &&
            spec_item_read_list(r, o->fallback, SPEC_IN_FALLBACK, o->document,
                                &o->key, out->items, &out->nitems) != 0)
            return -1;
    }
    return 0;
}
