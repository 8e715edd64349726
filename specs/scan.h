#ifndef SPECS_SCAN_H
#define SPECS_SCAN_H

#include "specs/json.h"
#include "specs/spec.h"

/* A JSON text being read: where it stands, what is open, its strings. */

/* A level of the text that is open: for the pointer of a message. */
struct scan_frame {
    const char *name; /* of the member being read, as written; NULL: array */
    size_t len;
    size_t index;
};

struct scan {
    struct arena *arena;
    const char *where, *text;
    size_t len, at, depth;
    struct scan_frame frames[SPEC_DEPTH_MAX];
    struct err *e;
};

/* The JSON pointer of what is being read. */
void spec_scan_pointer(const struct scan *s, char out[SPEC_POINTER_SIZE]);
/* Sets "WHERE POINTER (byte N): found …; accepted: ACCEPTED"; returns -1. */
int spec_scan_bad(const struct scan *s, const char *accepted);
/* A string, at its opening quote; ends behind the closing one.
 * out: *out — decoded, in the arena
 * returns 0, or -1 with s->e set. source: RFC 8259 7 */
MUST_CHECK int spec_scan_string(struct scan *s, const char **out);

#endif
