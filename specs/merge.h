#ifndef SPECS_MERGE_H
#define SPECS_MERGE_H

#include "specs/object.h"

/* Joins all documents of one owner into one, whatever their order: equal
 * documents count once, lists are joined, a member that two of them give
 * must have the same value.
 * in:  docs — n ≥ 1, read; reordered, and those that count are emptied into
 *      out
 * out: *out — items by array, then by document; freed by spec_object_fini
 * returns 0, or -1 with r->e set (ERR_INPUT: given twice with different
 * values). source: spec-language 1 */
MUST_CHECK int spec_merge_docs(struct spec_reader *r, struct spec_doc *docs,
                               size_t n, struct spec_doc *out);

#endif
