#ifndef PROVIDERS_RRSET_H
#define PROVIDERS_RRSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/name.h"

/* Resource record sets as providers hold them. Values are compared by
 * meaning: addresses in RFC 5952 form, names canonical. */

enum rr_type { RR_A = 1, RR_CNAME = 5, RR_TXT = 16, RR_AAAA = 28 };

struct rr_value {
    char *data;   /* canonical text */
    bool enabled; /* published; false: held by the provider, switched off */
    size_t rows;  /* how many equal rows the provider holds (1 normally) */
};

struct rrset {
    char *name; /* canonical */
    enum rr_type type;
    uint32_t ttl_s; /* the smallest of the enabled values; of all values while
                       none is enabled */
    bool masked;    /* the provider answers with addresses of its own (a proxy):
                       DNS does not show the values */
    struct rr_value *values;
    uint32_t n, cap;
};

struct rrset_list {
    struct rrset *sets;
    size_t n, cap;
    size_t *index; /* hash of (name, type) to place + 1; kept by
                      rrset_list_add, nobody else's business */
    size_t nindex;
};

const char *rr_type_name(enum rr_type t); /* "A", "AAAA", "CNAME", "TXT" */
/* returns 0, or -1 with e set (ERR_INPUT: not one of ours) */
MUST_CHECK int rr_type_parse(const char *text, enum rr_type *out,
                             struct err *e);
/* The canonical text of data of a type, origin for relative CNAME targets.
 * TXT is kept as it is. out: heap, caller frees. returns 0, or -1 with e set
 * (ERR_INPUT: not an address, not a name) */
MUST_CHECK int rr_data_canon(enum rr_type t, const char *data,
                             const char *origin, char **out, struct err *e);

void rrset_list_init(struct rrset_list *l);
void rrset_list_fini(struct rrset_list *l);
/* Borrowed; NULL when there is none. */
struct rrset *rrset_find(const struct rrset_list *l, const char *name,
                         enum rr_type t);
const struct rr_value *rrset_value_find(const struct rrset *s,
                                        const char *data);
/* Adds a value (canonical data, copied); an equal one is joined: rows + 1,
 * enabled if any is. The set's TTL becomes the smallest of enabled ones. */
void rrset_list_add(struct rrset_list *l, const char *name, enum rr_type t,
                    const char *data, uint32_t ttl_s, bool enabled);

#endif
