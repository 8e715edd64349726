#ifndef SPECS_OBJECT_H
#define SPECS_OBJECT_H

#include "specs/item.h"
#include "specs/scope.h"

/* One document as written: a single TXT record's object or rows, or all of
 * an owner's merged. */

/* Members of the object; places in spec_object_members, and their order when
 * printed. */
enum spec_top {
    SPEC_TOP_DEFAULTS,
    SPEC_TOP_CHECKS,
    SPEC_TOP_DCS,
    SPEC_TOP_SCENARIOS,
    SPEC_TOP_ORDER,
    SPEC_TOP_TAKE,
    SPEC_TOP_ALL_DOWN,
    SPEC_TOP_DAMPING,
    SPEC_TOP_RECORDS,
    SPEC_TOP_ROWS,
    SPEC_TOP_FALLBACK,
    SPEC_TOP_SETS,
    SPEC_TOP_NAMES,
    SPEC_TOP_DEBOUNCE,
    SPEC_TOP_MAX_CHANGE,
    SPEC_TOP_VANTAGE,
    SPEC_NTOP
};

/* Members of one of `sets`; places in spec_object_sets. */
enum spec_own {
    SPEC_OWN_ORDER,
    SPEC_OWN_TAKE,
    SPEC_OWN_ALL_DOWN,
    SPEC_OWN_DAMPING,
    SPEC_OWN_FALLBACK,
    SPEC_NOWN
};
#define SPEC_NPOLICY SPEC_OWN_FALLBACK /* those before it are numbers */

extern const struct spec_table spec_object_members;
extern const struct spec_table spec_object_defaults;
extern const struct spec_table spec_object_sets;
extern const struct spec_table spec_object_vantage;

/* Limits that several tables share. */
#define SPEC_MINUTE_MS 60000LL
#define SPEC_TIMEOUT_LIMITS                                                    \
    .kind = SPEC_MEMBER_MS, .unit = "ms", .min = 1, .max = SPEC_MINUTE_MS
#define SPEC_ACCESS_LIMITS                                                     \
    .kind = SPEC_MEMBER_MS, .unit = "ms", .min = 1,                            \
    .max = 24 * 60 * SPEC_MINUTE_MS
#define SPEC_RETRY_LIMITS                                                      \
    .kind = SPEC_MEMBER_MS, .unit = "ms", .min = 1, .max = 60 * SPEC_MINUTE_MS
#define SPEC_COUNT_LIMITS .kind = SPEC_MEMBER_COUNT, .min = 1, .max = 1000
#define SPEC_TTL_LIMITS                                                        \
    .kind = SPEC_MEMBER_S, .unit = "s", .min = 0, .max = 31536000

/* A member that is one number; at NULL: not given. */
struct spec_scalar {
    const struct spec_value *at;
    int64_t value;
};

/* What `sets` says of one name and type. */
struct spec_override {
    struct spec_key key; /* view NULL: in every view */
    struct spec_scalar policy[SPEC_NPOLICY];
    const struct spec_value *fallback; /* NULL: none */
    const struct spec_value *at;
    size_t document;
};

struct spec_doc {
    const struct spec_value *root;
    size_t document; /* index of the TXT record */
    enum spec_spelling spelling;
    enum spec_form form;
    const struct spec_value *given[SPEC_NTOP]; /* of this document */
    struct spec_scalar top[SPEC_NTOP];         /* the numbers among them */
    struct spec_scalar defaults[SPEC_NDEFAULTS];
    struct spec_named *named; /* by name */
    size_t nnamed;
    struct spec_override *sets; /* by key */
    size_t nsets;
    struct spec_item *items; /* in reading order: records, rows, fallback */
    size_t nitems;
    const char **names; /* canonical */
    size_t nnames;
};

/* Reads d->root, rows or an object, into given, top, defaults, named (as
 * they are written, in any order), sets and names; not the items. All in the
 * arena.
 * returns 0, or -1 with r->e set. source: spec-language 2, 8 */
MUST_CHECK int spec_object_read(struct spec_reader *r, struct spec_doc *d);

/* `vantage`; v NULL: *need stays. returns 0, or -1 with r->e set */
MUST_CHECK int spec_object_read_vantage(struct spec_reader *r,
                                        const struct spec_value *v,
                                        uint32_t *need);

#endif
