#ifndef SPECS_JSON_H
#define SPECS_JSON_H

#include <stddef.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "specs/value.h"

/* Where the numbers of a scanned text stand: cJSON keeps only their value,
 * messages and exact reading need what was written. */
struct spec_json_number {
    size_t at, len;
};

/* Checks text strictly before any lenient parser sees it: UTF-8 without byte
 * order mark, one value, no duplicate-prone leniency (01, +1, NaN, comments,
 * trailing commas, raw control characters), no \u0000, no lone surrogates,
 * at most SPEC_DEPTH_MAX levels and SPEC_TEXT_MAX bytes.
 * in:  where — "_failover.www.example.org", begins every message
 * out: *numbers — heap, caller frees (also after an error), in text order
 * returns 0, or -1 with e set: ERR_INPUT ("WHERE POINTER (byte N): found …;
 * accepted: …"), ERR_LIMIT (too long, too deep). source: RFC 8259 */
MUST_CHECK int spec_json_scan(const char *where, const char *text, size_t len,
                              struct spec_json_number **numbers,
                              size_t *nnumbers, struct err *e);

/* Reads text strictly into a tree in arena a. Duplicate members are errors.
 * returns 0, or -1 with e set as above. source: RFC 8259 */
MUST_CHECK int spec_json_parse(struct arena *a, const char *where,
                               const char *text, size_t len,
                               struct spec_value **root, struct err *e);

#endif
