#ifndef AGENT_BASE_NAME_H
#define AGENT_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/err.h"

/* Domain names as text: RFC 1035 5.1 presentation form. A canonical name
 * is lower case, absolute, ends in a dot and is at most 255 bytes on the
 * wire; "." is the root. Escapes (\DDD, \X) are refused: no name that the
 * agent handles needs one. */
#define NAME_SIZE 256 /* 254 characters, NUL; the dot included */

/* in as an absolute name, final dot or not.
 * returns 0, or -1 with e set: ERR_INPUT (empty label, label over 63 bytes,
 * name too long, byte outside [A-Za-z0-9_-*]; "*" only as a whole label,
 * which need not be the first: _failover.*.example.org). source: RFC
 * 1035 2.3.4, RFC 4592 2.1.1 */
MUST_CHECK int name_canon(const char *in, char out[NAME_SIZE], struct err *e);

/* in relative to origin (canonical): "@" and "" are origin, a final dot
 * makes it absolute, all else has origin appended. Errors as above. */
MUST_CHECK int name_resolve(const char *in, const char *origin,
                            char out[NAME_SIZE], struct err *e);

/* The rest take canonical names. */
bool name_equal(const char *a, const char *b);
/* name is zone or below it, on label borders. */
bool name_within(const char *name, const char *zone);
/* name without the suffix zone, for messages and zone files: "www",
 * "@" for the zone itself; name itself when it is not within. */
const char *name_relative(const char *name, const char *zone,
                          char out[NAME_SIZE]);
/* The name one label up; "." for "." */
const char *name_parent(const char *name);
size_t name_labels(const char *name); /* "." has 0 */
/* Canonical order; <0, 0, >0. source: RFC 4034 6.1 */
int name_compare(const char *a, const char *b);
/* The longest of n zones that contains name, or -1: most labels win. */
long name_find_zone(const char *name, const char *const *zones, size_t n);

#endif
