#ifndef PROVIDERS_ZONEFILE_MASTERFILE_PLAN_IMPL_H
#define PROVIDERS_ZONEFILE_MASTERFILE_PLAN_IMPL_H

#include "providers/zonefile/masterfile_impl.h"

/* What masterfile_match.c and masterfile_plan.c share; nobody else includes
 * it. */

enum masterfile_act {
    MASTERFILE_ACT_NONE,
    MASTERFILE_ACT_ON,
    MASTERFILE_ACT_OFF,
    MASTERFILE_ACT_FRESH
};

struct masterfile_plan_value {
    size_t set;
    const char *data;
    size_t rows_on, rows_off;
    size_t foreign;   /* an enabled row outside the main file; SIZE_MAX: none */
    size_t generated; /* the $GENERATE line that makes it; SIZE_MAX: none */
    enum masterfile_act act;
};
/* What is live at a name, by kind; for CNAME beside other data. */
struct masterfile_plan_name {
    const char *name;
    size_t set, nsets; /* its sets lie together */
    size_t addr, cname, other;
    struct err err; /* $GENERATE makes too much of it */
};
struct masterfile_plan_set {
    size_t name;
    const char *owner;
    enum rr_type type;
    size_t last;       /* its last record in the main file; SIZE_MAX: none */
    int64_t ttl_s;     /* to be given; -1: none */
    int64_t old_ttl_s; /* of its enabled rows, the smallest; -1: none */
    size_t fixed;      /* an enabled row whose TTL cannot be given */
};
struct masterfile_plan_match {
    size_t item, set, value; /* value SIZE_MAX: not one of the changes' */
};
struct masterfile_plan_work {
    const struct masterfile *m;
    struct arena *arena;
    const struct change *v;
    size_t n;
    struct change_result *results;
    size_t *value_of; /* of each change; SIZE_MAX: refused */
    struct masterfile_plan_name *names;
    size_t nnames;
    struct masterfile_plan_set *sets;
    size_t nsets;
    struct masterfile_plan_value *values;
    size_t nvalues;
    struct masterfile_plan_match *matches;
    size_t nmatches, matches_cap;
};

/* --- masterfile_match.c --------------------------------------------------- */
/* Marks change i as refused: its result's text gets the record in front.
 * returns -1 */
int masterfile_refuse(struct masterfile_plan_work *w, size_t i,
                      enum err_code code);
/* Fills names, sets, values and value_of from the changes; what is no change
 * for this zone is refused. */
void masterfile_match_collect(struct masterfile_plan_work *w);
/* Finds the records that the changes are about, and counts them. */
void masterfile_match_items(struct masterfile_plan_work *w);

#endif
