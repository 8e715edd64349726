#ifndef SPECS_BARE_H
#define SPECS_BARE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "specs/value.h"

/* Reads the bare spelling, JSON whose double quotes are gone, into a tree of
 * tokens: [{name:cache.example.org.,data:192.0.2.1,check:443}].
 * in:  where — "_failover.www.example.org", begins every message
 *      text — the character-strings joined, those of exactly one blank left
 *      out
 * returns 0, or -1 with e set: ERR_INPUT ("WHERE POINTER (byte N): found …;
 * accepted: …", and "quotes lost: what was meant cannot be known" where a
 * text is one that bare cannot say), ERR_LIMIT (too long, too deep).
 * source: spec-language 2 "Bare" */
MUST_CHECK int spec_bare_parse(struct arena *a, const char *where,
                               const char *text, size_t len,
                               struct spec_value **root, struct err *e);

/* Whether bare can say text as a member's name, as a value. */
bool spec_bare_is_name(const char *text);
bool spec_bare_is_value(const char *text);

#endif
