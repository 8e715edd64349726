#ifndef SPECS_MERGE_H
#define SPECS_MERGE_H

#include "specs/object.h"

/* Joins all documents of one owner into one, whatever their order: equal
 * documents count once, lists are joined, what two of them give must be the
 * same.
 * in:  docs — n ≥ 1, read; reordered, and equal ones moved out
 * out: *out — without items; *used — the documents that count, in front
 * returns 0, or -1 with r->e set (ERR_INPUT: given twice with different
 * values, a name of two things). source: spec-language 1 */
MUST_CHECK int spec_merge_docs(struct spec_reader *r, struct spec_doc *docs,
                               size_t n, struct spec_doc *out, size_t *used);
/* Reads the items of the first n documents into out, in reading order:
 * records, rows, fallback records. The scope is open, the defaults are set.
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_merge_items(struct spec_reader *r,
                                const struct spec_doc *docs, size_t n,
                                struct spec_doc *out);

#endif
