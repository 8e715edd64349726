#ifndef SPECS_JSON_H
#define SPECS_JSON_H

#include <stddef.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "specs/value.h"

/* Reads text strictly into a tree in arena a: UTF-8 without byte order mark,
 * one value, nothing that is JSON only to lenient readers (01, +1, NaN,
 * comments, trailing commas, raw control characters, duplicate members), no
 * \u0000, no lone surrogates, at most SPEC_DEPTH_MAX levels and
 * SPEC_TEXT_MAX bytes. Numbers keep their text.
 * returns 0, or -1 with e set: ERR_INPUT ("WHERE POINTER (byte N): found …;
 * accepted: …"), ERR_LIMIT (too long, too deep). source: RFC 8259 */
MUST_CHECK int spec_json_parse(struct arena *a, const char *where,
                               const char *text, size_t len,
                               struct spec_value **root, struct err *e);

#endif
