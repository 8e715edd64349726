#ifndef AGENT_ENGINE_DECIDE_DECIDE_H
#define AGENT_ENGINE_DECIDE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "specs/spec.h"

/* What a set publishes, from what is known about its records. Pure.
 * source: spec-language 4 */

/* Three-valued truth of a record's condition. */
enum tri { TRI_UNKNOWN, TRI_FALSE, TRI_TRUE };
enum tri tri_and(enum tri a, enum tri b);

enum decide_class {
    DECIDE_NORMAL,
    DECIDE_PASSIVE, /* of a noResponse data centre: tier 2 */
    DECIDE_DR,      /* disaster recovery: dr_cond, dr_if_no_records */
};

struct decide_value {
    enum decide_class class;
    enum tri dr_cond;      /* DR: TRUE puts it into tier 1; FALSE: no drCond */
    bool dr_if_no_records; /* DR: tier 3 */
    enum tri healthy;
    bool never_up;  /* FALSE, and only checks that have never been up say so */
    bool waiting;   /* healthy, but only waits (returnAfter, damping) */
    bool barred;    /* healthy, but not let in (onlyNew, return: manual) */
    bool held_off;  /* healthy, but somebody else switched it off */
    bool published; /* now */
};

struct decide_set {
    enum spec_order order;
    uint32_t take; /* 0: no limit */
    bool single;   /* a CNAME set: one value at most */
    enum spec_all_down all_down;
    const struct decide_value *values; /* in chain order */
    size_t nvalues;
    const struct decide_value *fallback; /* in chain order */
    size_t nfallback;
};

/* The rule that gave the decision; its text is the reason people read. */
enum decide_rule {
    DECIDE_HEALTHY,       /* tier 1 */
    DECIDE_RESERVE,       /* tier 2 */
    DECIDE_RECOVERY,      /* tier 3 */
    DECIDE_WAITING,       /* tier 4 */
    DECIDE_FALLBACK,      /* tier 5 */
    DECIDE_ALL_DOWN_KEEP, /* tier 6 … */
    DECIDE_ALL_DOWN_ALL,
    DECIDE_ALL_DOWN_NONE,
    DECIDE_HOLD_UNKNOWN,  /* a record of a higher tier has no verdict yet */
    DECIDE_HOLD_NEVER_UP, /* only checks that have never been up say down */
    DECIDE_HOLD_HANDS,    /* what is healthy was switched off by others */
    DECIDE_HOLD_EMPTY,    /* the spec names no record for this set */
    DECIDE_HOLD_NOBODY,   /* allDown: all, and no record of tiers 1 and 2: only
                             allDown: none empties a set. Tier 6 */
};

struct decision {
    int tier; /* 1…6; 0 while the set is held as it is */
    enum decide_rule rule : 8;
};

/* out: publish[nvalues + nfallback] — what the set should publish, values
 * first; where the rule holds or keeps, what is published now. */
struct decision decide_set(const struct decide_set *set, bool *publish);

const char *decide_rule_text(enum decide_rule r);
bool decide_rule_holds(enum decide_rule r); /* leaves the set as it is */

#endif
