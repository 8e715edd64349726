#ifndef SPECS_SETS_H
#define SPECS_SETS_H

#include "specs/object.h"

/* The defaults of this reader's checks and records: built-in, then the apex
 * spec's, then d's own.
 * out: r->own, r->rows, top->defaults. source: spec-language 5, 8 */
void spec_sets_defaults(struct spec_reader *r, const struct spec_doc *d,
                        struct spec_apex *top);

/* Equal values of d once: the others are marked as dropped; positions and
 * places in the chain. The scope is still open.
 * returns 0, or -1 with r->e set (ERR_INPUT: equal values with different
 * members). source: spec-language 3 */
MUST_CHECK int spec_sets_drop_equal(struct spec_reader *r, struct spec_doc *d);

/* Turns a merged document into the sets of s: orders the chains, applies the
 * rules of sets. The scope is closed.
 * in:  d — merged, its items read, equal ones dropped
 * out: s->sets
 * returns 0, or -1 with r->e set: ERR_INPUT (a chain whose order is not known,
 * a fallback without records, CNAME beside other types, a host that a wildcard
 * cannot give), ERR_LIMIT (more targets than the agent takes). source:
 * spec-language 3, 4, 9 */
MUST_CHECK int spec_sets_build(struct spec_reader *r, struct spec_doc *d,
                               struct spec *s);

/* What is left to check when sets and names are known (uses.c): wildcard
 * sets, targets. returns 0, or -1 with r->e set */
MUST_CHECK int spec_sets_check_uses(struct spec_reader *r,
                                    const struct spec *s);

#endif
