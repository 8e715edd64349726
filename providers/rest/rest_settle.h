#ifndef PROVIDERS_REST_REST_SETTLE_H
#define PROVIDERS_REST_REST_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/err.h"

/* What follows the writes. */

struct rest;
struct rest_zone;

/* After the writes of an operation: the provider's settle. */
struct rest_settled {
    struct err err;
    bool has_serial;
    uint32_t serial;
};
typedef void rest_settled_cb(void *arg, const struct rest_settled *s);
void rest_settle(struct rest *p, struct rest_zone *z, bool wrote,
                 rest_settled_cb *cb, void *arg);
void rest_settled(void *arg, const struct rest_settled *s);

#endif
