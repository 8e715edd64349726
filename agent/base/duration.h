#ifndef AGENT_BASE_DURATION_H
#define AGENT_BASE_DURATION_H

#include <stdint.h>

#include "agent/base/err.h"

/* "500ms", "10s", "2m", "1h", or a plain number of seconds ("1.5" too, to
 * the millisecond); at most 366 days.
 * out: *ms
 * returns 0, or -1 with e set (ERR_INPUT). source: spec-language 2 */
MUST_CHECK int duration_parse(const char *text, int64_t *ms, struct err *e);
/* The shortest of the forms above; returns out. */
const char *duration_format(int64_t ms, char out[32]);

#endif
