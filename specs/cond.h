#ifndef SPECS_COND_H
#define SPECS_COND_H

#include "specs/member.h"

extern const struct spec_table spec_cond_need; /* need and of */

/* Reads a condition: a string, a list of lists (OR of ANDs), or
 * {"need":n,"of":[…]}.
 * out: *out — must live in the arena; ids in it are noted in the scope
 * returns 0, or -1 with r->e set. source: spec-language 6 */
MUST_CHECK int spec_cond_read(struct spec_reader *r, const struct spec_value *v,
                              struct spec_cond *out);

#endif
