#ifndef SPECS_CHECK_H
#define SPECS_CHECK_H

#include "specs/member.h"

/* Reads `check`: a port, a shorthand, or a list of them (all must pass).
 * Kinds, objects and names that this version does not read are noted in
 * r->later and left out.
 * out: *checks — in the arena, by target and port, equal ones once; periods
 *      and thresholds are 0: spec_sets_build fills them in
 * returns 0, or -1 with r->e set (ERR_INPUT). source: spec-language 5 */
MUST_CHECK int spec_check_read(struct spec_reader *r,
                               const struct spec_value *v,
                               struct spec_check **checks, size_t *n);

/* Order by target, then port; 0: the same place is asked. */
int spec_check_compare(const struct spec_check *a, const struct spec_check *b);

#endif
