#include "specs/object.h"

int spec_rows_read(struct spec_reader *r, struct spec_doc *d)
{
    d->form = SPEC_ROWS;
    /* A list that lost its rows must not read as an opt-out of them all. */
    if (d->root->n == 0)
        return spec_member_fail(r, d->root,
                                "found an empty list; accepted: at least one "
                                "row (to opt out remove the TXT record)");
    return spec_item_read_list(r, d->root, SPEC_IN_ROWS, d->document, &d->items,
                               &d->nitems, &d->cap_items);
}
