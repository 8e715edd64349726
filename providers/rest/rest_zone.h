#ifndef PROVIDERS_REST_REST_ZONE_H
#define PROVIDERS_REST_REST_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/name.h"
#include "providers/rest/rest.h"

/* The account and the zone, found once. */

struct rest_zone {
    char name[NAME_SIZE]; /* canonical */
    bool is_known;        /* id holds, as far as one is needed */
    char id[REST_ID_SIZE];
    bool has_min_ttl;
    uint32_t min_ttl_s; /* of the zone's own, instead of caps.min_ttl_s */
    bool has_serial;
    uint32_t serial;
    uint32_t serial_before; /* the last operation's writes */
    bool is_written;        /* by them: the serial has to differ */
    unsigned flags;         /* the provider's own */
    struct rest_zone *next;
};
/* The zone as the provider knows it; found out once, forgotten by
 * rest_zone_forget. z NULL: see e. cb later. */
typedef void rest_zone_cb(void *arg, struct rest_zone *z, const struct err *e);
void rest_zone_get(struct rest *p, const char *zone, rest_zone_cb *cb,
                   void *arg);
/* The account alone: z is NULL in any case. */
void rest_account_get(struct rest *p, rest_zone_cb *cb, void *arg);
void rest_zone_forget(struct rest_zone *z);
/* The lowest TTL that it takes. */
uint32_t rest_zone_min_ttl(const struct rest *p, const struct rest_zone *z);
/* What is known of it; made where nothing is. */
struct rest_zone *rest_zone_row(struct rest *p, const char *name);
void rest_zones_free(struct rest *p);
/* Of find_account; account NULL: see e. */
void rest_account_is(struct rest *p, const char *account, const struct err *e);

#endif
