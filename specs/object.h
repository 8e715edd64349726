#ifndef SPECS_OBJECT_H
#define SPECS_OBJECT_H

#include "specs/item.h"

/* One document as written: a single TXT record's object or rows. */

/* Members of `defaults`; places in spec_object_defaults. */
enum spec_default {
    SPEC_DEFAULT_TTL,
    SPEC_DEFAULT_TIMEOUT,
    SPEC_DEFAULT_ACCESS,
    SPEC_DEFAULT_RETRY,
    SPEC_DEFAULT_SUCCESS,
    SPEC_DEFAULT_FAILURE,
    SPEC_NDEFAULTS
};

/* Members of the object; places in spec_object_members. */
enum spec_top {
    SPEC_TOP_DEFAULTS,
    SPEC_TOP_RECORDS,
    SPEC_TOP_ROWS,
    SPEC_TOP_FALLBACK,
    SPEC_TOP_ORDER,
    SPEC_TOP_TAKE,
    SPEC_TOP_ALL_DOWN,
    SPEC_TOP_NAMES,
    SPEC_TOP_DEBOUNCE,
    SPEC_TOP_MAX_CHANGE,
    SPEC_NTOP /* those after it are for later */
};

extern const struct spec_table spec_object_members;
extern const struct spec_table spec_object_defaults;

/* A member that is one number; at NULL: not given. */
struct spec_scalar {
    const struct spec_value *at;
    int64_t value;
};

struct spec_doc {
    const struct spec_value *root;
    size_t document; /* index of the TXT record */
    enum spec_spelling spelling;
    enum spec_form form;
    struct spec_scalar top[SPEC_NTOP]; /* the numbers among them */
    struct spec_scalar defaults[SPEC_NDEFAULTS];
    struct spec_item *items; /* in array order: records, rows, fallback;
                                heap */
    size_t nitems, cap_items;
    const char **names; /* canonical; heap, texts in the arena */
    size_t nnames, cap_names;
};

/* Reads d->root, an object, into the rest of d.
 * returns 0, or -1 with r->e set; d is freed by spec_object_fini either way.
 * source: spec-language 2, 8 */
MUST_CHECK int spec_object_read(struct spec_reader *r, struct spec_doc *d);
/* The same for the rows form, a list of rows. */
MUST_CHECK int spec_rows_read(struct spec_reader *r, struct spec_doc *d);
void spec_object_fini(struct spec_doc *d);

#endif
