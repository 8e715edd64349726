#ifndef AGENT_ENGINE_DECIDE_PLAN_H
#define AGENT_ENGINE_DECIDE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/decide/decide.h"
#include "agent/engine/decide/memory.h"

/* From decisions to changes, one zone at a time: others' hands, damping,
 * blind agent, brake. Pure: no I/O, no clock; the memory that is handed in
 * is the only thing that is written. source: spec-language 4 and 7 */

#define PLAN_DAMP_FIRST_MS (30 * 1000LL)
#define PLAN_DAMP_MOST_MS (3600 * 1000LL)
#define PLAN_BRAKE_WINDOW_MS (60 * 1000LL)
#define PLAN_BRAKE_LEAST 3
#define PLAN_NEED_MASK 0x3ffu /* what plan_value.need_failure can hold */

/* One for each target: bytes count. */
struct plan_value {
    const char *data; /* canonical */
    struct memory_value *memory;
    int64_t decided_ms;         /* when the check that decides was confirmed */
    uint32_t access_period_ms;  /* the longest of its down checks; a day at
                                   most */
    uint32_t return_after_ms;   /* 0: at once; a week at most */
    int32_t ttl_s;              /* the spec's; -1 none */
    uint32_t fail_streak;       /* the fewest failures in a row of them */
    uint32_t twin;              /* 1 + the place of an earlier value with equal
                                   data (records and fallbackRecords may share
                                   one); 0: none. Twins are published together
                                   and change once */
    uint32_t need_failure : 10; /* the largest requiredFailure of them; 1000 at
                                   most: PLAN_NEED_MASK */
    enum decide_class class : 2;
    enum tri dr_cond : 2;
    enum tri healthy : 2;
    bool fallback : 1; /* of fallbackRecords */
    bool dropped : 1;  /* no longer in the spec, still remembered */
    bool dr_if_no_records : 1;
    bool return_manual : 1;
    bool never_up : 1;
    bool maintenance : 1; /* its data centre is out on purpose: healthy is FALSE
                           */
    bool away : 1;        /* its data centre is not let in yet (onlyNew) */
    bool present : 1;     /* the provider holds it, switched on or off */
    bool published : 1;   /* the provider has it switched on */
    /* out */
    bool confirm : 1; /* its last write ended as unknown: what follows a write
                     (serial, reload) is to be made sure of, although the
                     value itself is as wanted */
    bool publish : 1; /* wanted */
    bool waiting : 1; /* healthy, waits (damping) */
    bool reclaim_held : 1; /* dead, but put in by others once too often */
};

enum plan_hold {
    PLAN_FREE,
    PLAN_VIEW,     /* no audience in the agent's file for its view */
    PLAN_FOREIGN,  /* a CNAME of somebody else stands at the name */
    PLAN_FROZEN,   /* by the operator */
    PLAN_BLIND,    /* no anchor answers */
    PLAN_ALONE,    /* no check at all is up: more failures are awaited */
    PLAN_BRAKE,    /* maxChange */
    PLAN_LEARNING, /* the state was lost: this round only learns */
    PLAN_UNSEEN,   /* the provider's records could not be read */
};

/* One for each name: bytes count. */
struct plan_set {
    const char *name;          /* canonical */
    const char *view;          /* NULL: none */
    struct plan_value *values; /* chain order; the fallback, then dropped
                                  ones, after the records */
    struct memory_set *memory;
    uint32_t nvalues;
    uint32_t take;
    uint32_t audience; /* 0: everybody's; else 1 + the place of its view in the
                          zone's section */
    enum spec_type type : 8;
    enum spec_order order : 8;
    enum spec_all_down all_down : 8;
    bool damping : 1;
    bool unmapped : 1; /* its view means nothing to the agent */
    bool foreign : 1;  /* CNAME: a value that is not in the spec is published */
    bool frozen : 1;   /* the operator wants no writes */
    bool observed : 1; /* the provider's records were read */
    bool masked : 1;   /* DNS answers with something else: see struct rrset */
    /* out */
    enum plan_hold hold : 8;
    uint32_t nchanges; /* values whose publish differs from published */
    struct decision decision;
    int64_t again_ms; /* when time alone may change the plan; 0: never */
};

/* Withdrawals because of checks of the last minute, newest first. */
struct plan_zone {
    int64_t now_ms;
    int max_change_pct; /* 0…100 */
    bool blind;         /* anchors are given and none answers */
    bool learning;      /* the state was lost before this round */
    bool alone;         /* no anchors, and no check of the agent is up */
    struct plan_set *sets;
    size_t nsets;
    /* NULL: all sets are looked at. Else the numbers of those for which
     * something has changed since they were last planned, and of all with
     * changes that are not carried out, or held; the rest are as they were. */
    const size_t *some;
    size_t nsome;
    bool counted; /* the caller kept count: */
    size_t stood; /* of the values for which plan_stood is true */
    const int64_t *withdrawn_ms; /* times of withdrawals because of checks */
    size_t nwithdrawn;
    /* out */
    size_t published; /* values, as of a minute ago */
    size_t allowed;   /* withdrawals that the brake allows in a minute */
};

/* Looks at what the provider shows, compares it with what is remembered,
 * decides every set (or some) and holds what must be held. Afterwards
 * values[].publish is what is to be done: a change for each value for which
 * plan_is_change is true. */
void plan_make(struct plan_zone *zone);

/* v is to be written: switched on or off, or confirmed. */
bool plan_is_change(const struct plan_value *v);

/* v is published and counts for the brake: the agent itself did not publish
 * it within the last minute. */
bool plan_stood(const struct plan_value *v, int64_t now_ms);

/* A change was carried out (or ended as unknown): remembers it. */
void plan_done(struct plan_set *set, struct plan_value *v, int64_t now_ms,
               bool unknown);

/* The withdrawal of v is because of checks: it counts for brake and damping.
 */
bool plan_is_check_withdrawal(const struct plan_value *v);

/* The operator lets a value in again: whatever kept it out but its checks. */
void plan_readmit(struct memory_value *m);

/* How long a value of that damping step waits. */
int64_t plan_damp_wait_ms(uint32_t damp);

/* One line for people: why the set is as it is. Borrowed, constant. */
const char *plan_reason(const struct plan_set *set);

#endif
