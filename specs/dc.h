#ifndef SPECS_DC_H
#define SPECS_DC_H

#include "specs/member.h"

extern const struct spec_table spec_dc_members;
extern const struct spec_table spec_dc_access; /* need and of */

/* Reads a data centre; name, pointer and from_apex are the caller's.
 * returns 0, or -1 with r->e set. source: spec-language 6 */
MUST_CHECK int spec_dc_read(struct spec_reader *r, const struct spec_value *v,
                            struct spec_dc *dc);

#endif
