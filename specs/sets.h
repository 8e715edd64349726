#ifndef SPECS_SETS_H
#define SPECS_SETS_H

#include "specs/object.h"

/* Turns a merged document into the sets of s: fills every default in, counts
 * equal values once, orders the chains, applies the rules of sets.
 * in:  d — merged; its items are reordered and completed
 * out: s->sets, s->defaults
 * returns 0, or -1 with r->e set: ERR_INPUT (equal values with different
 * members, a chain whose order is not known, a fallback without records,
 * CNAME beside other types), ERR_LIMIT (more targets than the agent takes).
 * source: spec-language 3, 4, 5 "Defaults", 8 */
MUST_CHECK int spec_sets_build(struct spec_reader *r, struct spec_doc *d,
                               struct spec *s);

#endif
