#ifndef PROVIDERS_REST_REST_PLAN_H
#define PROVIDERS_REST_REST_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/name.h"
#include "providers/rrset.h"

/* Which records a change set writes: pure. */

struct arena;
struct change;
struct change_result;
struct change_set;
struct rest_record;
struct rest_records;
struct rest_style;

enum rest_act { REST_KEEP, REST_ADD, REST_UPDATE, REST_REMOVE };
struct rest_item {
    enum rest_act act;
    const struct rest_record *record; /* NULL: to be added */
    const char *data;                 /* as it is to be, canonical */
    size_t len;
    uint32_t ttl_s;
    bool ttl_given; /* by the spec */
    bool enabled;
    const char *kept; /* JSON, of a record to be added; NULL: none */
};
struct rest_set {
    char name[NAME_SIZE];
    enum rr_type type;
    uint32_t ttl_s;
    struct rest_item *items;
    size_t n, cap;
    bool is_changed;
};
struct rest_plan {
    struct arena *a;
    uint32_t min_ttl_s; /* in: the lowest that the zone takes */
    struct rest_set *sets;
    size_t n, cap;
};
/* Lays down what the changes whose results are still open (state
 * CHANGE_UNKNOWN) write; those that need nothing become DONE, those that
 * cannot be FAILED. kept: what is remembered of a record that was removed
 * (kept JSON and TTL, see rest_keep), or NULL. */
typedef const char *rest_kept_fn(void *arg, const char *name, enum rr_type t,
                                 const char *data);
void rest_plan_make(const struct rest_style *style,
                    const struct change_set *set,
                    const struct rest_records *have, rest_kept_fn *kept,
                    void *kept_arg, struct change_result *results,
                    struct rest_plan *out);
/* A new item of a set, in a. */
struct rest_item *rest_plan_add(struct arena *a, struct rest_set *s);
/* Is the change as wanted in these records? */
bool rest_plan_is_so(const struct change *c, const struct rest_records *have);

#endif
