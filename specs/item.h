#ifndef SPECS_ITEM_H
#define SPECS_ITEM_H

#include "specs/member.h"

/* One record as written, before defaults, merge and sets. */

enum spec_array { SPEC_IN_RECORDS, SPEC_IN_ROWS, SPEC_IN_FALLBACK };

struct spec_item {
    struct spec_record rec;
    struct spec_check *checks; /* rec.checks, still to be completed */
    bool prio_given;
    enum spec_array array;
    const struct spec_value *at;
};

extern const struct spec_table spec_item_records; /* a record */
extern const struct spec_table spec_item_rows;    /* a row */

/* Reads one element of `records`, `fallbackRecords` or of the rows.
 * in:  document — index of its TXT record
 * returns 0, or -1 with r->e set (ERR_INPUT: name outside the spec's
 * authority, not an address, …). source: spec-language 1, 3 */
MUST_CHECK int spec_item_read(struct spec_reader *r, const struct spec_value *v,
                              enum spec_array array, size_t document,
                              struct spec_item *out);

/* Reads a list of them, appending to *items (heap; caller frees).
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_item_read_list(struct spec_reader *r,
                                   const struct spec_value *list,
                                   enum spec_array array, size_t document,
                                   struct spec_item **items, size_t *n,
                                   size_t *cap);

#endif
