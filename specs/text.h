#ifndef SPECS_TEXT_H
#define SPECS_TEXT_H

#include <stddef.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "specs/spec.h"
#include "specs/value.h"

/* From character-strings to a tree: joins them, sees which of the three
 * spellings it is, undoes what panels did to the quotes, reads it.
 * in:  where — "_failover.www.example.org", begins every message
 *      txt — one TXT record that is not foreign
 * out: *root — in arena a; *spelling
 * returns 0, or -1 with e set (ERR_INPUT, ERR_LIMIT), as spec_json_parse and
 * spec_bare_parse do; quotes that were damaged on the way are named as such
 * source: spec-language 2 "Spellings" */
MUST_CHECK int spec_text_parse(struct arena *a, const char *where,
                               const struct spec_txt *txt,
                               struct spec_value **root,
                               enum spec_spelling *spelling, struct err *e);

/* The character-strings joined without separator; drop_blanks: without those
 * of exactly one blank. In the arena, ends with NUL beyond *len. */
const char *spec_text_join(struct arena *a, const struct spec_txt *txt,
                           bool drop_blanks, size_t *len);

/* Bytes of all character-strings together. */
size_t spec_text_len(const struct spec_txt *txt);

#endif
