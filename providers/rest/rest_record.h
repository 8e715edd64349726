#ifndef PROVIDERS_REST_REST_RECORD_H
#define PROVIDERS_REST_REST_RECORD_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/name.h"
#include "providers/rrset.h"

/* Records out of answers. */

struct arena;
struct rest_members;
struct rest_style;

struct rest_record {
    const char *id; /* NULL: none */
    char name[NAME_SIZE];
    enum rr_type type;
    const char *data; /* canonical (as it is where it cannot be read as of its
                         type); TXT: bytes, NUL-terminated */
    const char *raw;  /* as the API has it, to be written back */
    size_t len;
    uint32_t ttl_s;
    bool enabled;
    bool proxied;
    const char *kept; /* JSON object of the members to keep; NULL: none */
};
struct rest_records {
    struct arena *a;
    struct rest_record *v;
    size_t n, cap;
};
/* Which ones are wanted. */
struct rest_wanted {
    const char *const *names; /* canonical, sorted by strcmp */
    size_t n;
    bool specs; /* TXT at every _failover name, instead of names */
    bool txt;   /* TXT only, else A, AAAA and CNAME only */
};
/* Adds what is wanted of one item of an answer (a record or a set, as m
 * says). returns 0, or -1 with e set (ERR_RETRY: not a record at all) */
MUST_CHECK int rest_record_read(const struct rest_style *style,
                                const struct rest_members *m, const cJSON *item,
                                const char *zone,
                                const struct rest_wanted *wanted,
                                struct rest_records *out, struct err *e);
/* The owner of a spec, or false: not a _failover name. name: canonical */
bool rest_spec_owner(const char *name, char out[NAME_SIZE]);

#endif
