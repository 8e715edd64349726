#ifndef AGENT_PROBES_MATCH_H
#define AGENT_PROBES_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/probes/kind.h"

/* Whether an answer is what a check asks for; pure. */

/* n ranges; none: 200-399. */
bool match_status(const struct probe_range *ranges, size_t n, int64_t status);

/* body, bodyMatch and json of p against a body. cut: there is more of it than
 * was looked at. returns 0, or -1 with r filled in: CONTENT, or LOCAL where
 * the expression cannot be compiled or ran into its limits.
 * source: pcre2api(3), RFC 6901 */
int match_body(const struct probe_params *p, const char *body, size_t len,
               bool cut, struct probe_result *r);
/* Whether p asks for anything in the body. */
bool match_wants_body(const struct probe_params *p);

/* Substring; needle is text. */
bool match_text(const char *haystack, size_t len, const char *needle);

struct cJSON;
/* The value at a JSON pointer, borrowed; NULL: none. source: RFC 6901 4 */
const struct cJSON *match_pointer(const struct cJSON *root,
                                  const char *pointer);

#endif
