#ifndef SPECS_ITEM_H
#define SPECS_ITEM_H

#include "specs/member.h"

/* One record as written, before merge and sets. */

enum spec_array {
    SPEC_IN_RECORDS,
    SPEC_IN_ROWS,
    SPEC_IN_FALLBACK,
    SPEC_NARRAYS
};

/* Which set: what `sets` names, too. */
struct spec_key {
    const char *name; /* canonical */
    enum spec_type type;
    const char *view; /* NULL: none */
};

struct spec_item {
    struct spec_record rec; /* dc: an id of the scope */
    bool prio_given;
    bool dropped; /* an equal one stands before it */
    enum spec_array array;
    const struct spec_value *at;
};

extern const struct spec_table spec_item_records; /* a record */
extern const struct spec_table spec_item_rows;    /* a row */

/* Members of a record; places in spec_item_records. */
enum spec_item_member {
    SPEC_ITEM_NAME,
    SPEC_ITEM_TYPE,
    SPEC_ITEM_DATA,
    SPEC_ITEM_CHECK,
    SPEC_ITEM_IF,
    SPEC_ITEM_DC,
    SPEC_ITEM_TTL,
    SPEC_ITEM_PRIO,
    SPEC_ITEM_DR_IF_NO_RECORDS,
    SPEC_ITEM_DR_COND,
    SPEC_ITEM_DR,
    SPEC_ITEM_RETURN_AFTER,
    SPEC_ITEM_RETURN,
    SPEC_ITEM_VIEW,
    SPEC_NITEM
};

enum spec_row_member {
    SPEC_ROW_NAME,
    SPEC_ROW_DATA,
    SPEC_ROW_CHECK,
    SPEC_ROW_TTL,
    SPEC_NROW
};

#define SPEC_ITEM_NAME_ACCEPTED                                                \
    "a name: \"www.example.org.\" with the final dot, \"www\" within the "     \
    "zone, or \"@\" for the zone itself"
#define SPEC_ITEM_DATA_ACCEPTED                                                \
    "an IPv4 address (192.0.2.1), an IPv6 address (2001:db8::1), or the "      \
    "target's name for CNAME"

/* Reads a list of records, rows or fallback records.
 * in:  document — index of its TXT record
 *      home — the set that they all belong to; NULL: any
 *      items — room for list->n more behind *n
 * returns 0, or -1 with r->e set (ERR_INPUT: name outside the spec's
 * authority, not an address, …). source: spec-language 1, 3 */
MUST_CHECK int spec_item_read_list(struct spec_reader *r,
                                   const struct spec_value *list,
                                   enum spec_array array, size_t document,
                                   const struct spec_key *home,
                                   struct spec_item *items, size_t *n);

/* They say the same of one value, wherever they stand. */
bool spec_item_same(const struct spec_item *a, const struct spec_item *b);
/* Its checks in place are nobody's any more. */
void spec_item_forget(struct spec_reader *r, const struct spec_item *item);
/* A view's name is [A-Za-z0-9._:/-]{1,63}. */
bool spec_item_is_view(const char *text);
/* The name is one that this spec may speak for.
 * returns 0, or -1 with r->e set (ERR_INPUT). source: spec-language 1 */
MUST_CHECK int spec_item_authority(struct spec_reader *r,
                                   const struct spec_value *v,
                                   const char *name);
/* By canonical name, then type, then view (none first). */
int spec_item_compare_key(const struct spec_key *a, const struct spec_key *b);

#endif
