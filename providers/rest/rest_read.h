#ifndef PROVIDERS_REST_REST_READ_H
#define PROVIDERS_REST_REST_READ_H

#include "agent/base/err.h"

/* The records of some names. */

struct arena;
struct rest;
struct rest_records;
struct rest_wanted;
struct rest_zone;

/* What is wanted (names in any order), in an arena of the caller. An answer
 * without any record at all is an error (ERR_RETRY), not "no records". */
typedef void rest_records_cb(void *arg, const struct err *e,
                             const struct rest_records *r);
void rest_read(struct rest *p, struct arena *a, struct rest_zone *z,
               const struct rest_wanted *wanted, rest_records_cb *cb,
               void *arg);
/* A read whose answer was lost leaves nothing in doubt. */
struct err rest_as_read(const struct err *e);

#endif
