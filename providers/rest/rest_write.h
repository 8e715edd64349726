#ifndef PROVIDERS_REST_REST_WRITE_H
#define PROVIDERS_REST_REST_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/err.h"

/* The writes of a plan, one after the other or in batches. */

struct arena;
struct rest;
struct rest_item;
struct rest_set;
struct rest_zone;

enum rest_outcome {
    REST_OPEN, /* not tried */
    REST_DONE,
    REST_REFUSED, /* see err; the server did not do it */
    REST_UNSURE,  /* see err */
};
struct rest_written {
    size_t set;
    const struct rest_item *item; /* NULL: the set as a whole */
    enum rest_outcome outcome;
    struct err err;
};
/* Writes the changed sets: what is added or changed first, what is removed
 * last and only where nothing before it failed in its set. It ends early when
 * nothing more can come of it (stop: why). */
struct rest_writing {
    struct err stop;
    const struct rest_written *v;
    size_t n;
    bool wrote; /* something may have been written */
};
typedef void rest_writing_cb(void *arg, const struct rest_writing *w);
void rest_write(struct rest *p, struct arena *a, struct rest_zone *z,
                const struct rest_set *sets, size_t n, rest_writing_cb *cb,
                void *arg);
/* The body of one write, or of several at once: for the tests too. heap */
char *rest_write_body(const struct rest *p, const struct rest_zone *z,
                      const struct rest_set *sets, const struct rest_written *v,
                      size_t n, bool batch);

#endif
