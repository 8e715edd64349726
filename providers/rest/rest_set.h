#ifndef PROVIDERS_REST_REST_SET_H
#define PROVIDERS_REST_REST_SET_H

#include <cjson/cJSON.h>

#include "providers/rrset.h"

/* A set's body, and the calls that write it singly: pure. */

struct rest_item;
struct rest_set;
struct rest_style;
struct rest_zone;

/* Which calls a changed set is due (enum rest_due). */
unsigned rest_set_due(const struct rest_set *s);
/* parts: of enum rest_part. returns a tree (cJSON_Delete) */
cJSON *rest_set_json(const struct rest_style *style, const struct rest_zone *z,
                     const struct rest_set *s, unsigned parts);
/* A value as the API's JSON has it; name and type, as members of o. */
cJSON *rest_set_data(const struct rest_style *style, enum rr_type t,
                     const struct rest_item *it);
void rest_set_put_name(const struct rest_style *style,
                       const struct rest_zone *z, const struct rest_set *s,
                       cJSON *o);

#endif
