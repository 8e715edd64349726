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

static int by_name(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

static int by_array(const void *a, const void *b)
{
    const struct spec_item *x = a, *y = b;

    if (x->array != y->array)
        return x->array < y->array ? -1 : 1;
    return x->rec.position < y->rec.position
               ? -1
               : x->rec.position > y->rec.position;
}

static int merge_scalars(struct spec_reader *r, const struct spec_scalar *from,
                         struct spec_scalar *into, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char first[SPEC_QUOTE_SIZE], second[SPEC_QUOTE_SIZE];

        if (from[i].at == NULL)
            continue;
        if (into[i].at == NULL) {
            into[i] = from[i];
            continue;
        }
        if (into[i].value != from[i].value)
            return spec_member_fail(
                r, from[i].at,
                "found %s in one TXT record and %s in another; accepted: one "
                "value (all TXT records of a name are one spec)",
                spec_value_quote(into[i].at, first),
                spec_value_quote(from[i].at, second));
    }
    return 0;
}

static void merge_lists(const struct spec_doc *from, struct spec_doc *into)
{
    for (size_t i = 0; i < from->nitems; i++) {
        into->items = mem_grow(into->items, &into->cap_items, into->nitems,
                               sizeof *into->items);
        into->items[into->nitems] = from->items[i];
        into->items[into->nitems].rec.position = into->nitems;
        into->nitems++;
    }
    for (size_t i = 0; i < from->nnames; i++) {
        into->names = mem_grow(into->names, &into->cap_names, into->nnames,
                               sizeof *into->names);
        into->names[into->nnames++] = from->names[i];
    }
}

static void sort_lists(struct spec_doc *d)
{
    size_t n = 0;

    if (d->nitems > 0)
        qsort(d->items, d->nitems, sizeof *d->items, by_array);
    if (d->nnames > 0)
        qsort(d->names, d->nnames, sizeof *d->names, by_name);
    for (size_t i = 0; i < d->nnames; i++)
        if (n == 0 || !name_equal(d->names[n - 1], d->names[i]))
            d->names[n++] = d->names[i];
    d->nnames = n;
}

int spec_merge_docs(struct spec_reader *r, struct spec_doc *docs, size_t n,
                    struct spec_doc *out)
{
    memset(out, 0, sizeof *out);
    qsort(docs, n, sizeof *docs, by_content);
    out->root = docs[0].root;
    out->document = docs[0].document;
    out->form = docs[0].form;
    out->spelling = docs[0].spelling;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && spec_value_compare(docs[i - 1].root, docs[i].root) == 0)
            continue;
        if (merge_scalars(r, docs[i].top, out->top, SPEC_NTOP) != 0 ||
            merge_scalars(r, docs[i].defaults, out->defaults, SPEC_NDEFAULTS) !=
                0)
            return -1;
        merge_lists(&docs[i], out);
    }
    sort_lists(out);
    return 0;
}
