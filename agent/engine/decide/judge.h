#ifndef AGENT_ENGINE_DECIDE_JUDGE_H
#define AGENT_ENGINE_DECIDE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/decide/decide.h"
#include "specs/spec.h"

/* From the states of checks to the truth of every condition of one spec:
 * dimensions, states of data centres, scenarios, records. Pure; the memory
 * that is handed in is the only thing written. Costs what the spec holds,
 * whatever else the zone has. source: spec-language 4–6
 *
 * Truth is three-valued (Kleene). A check that has never been up knows
 * nothing: it counts as unknown in every condition, so that a typo causes no
 * DR and no negation. Only for the question whether a record of its own is
 * to be taken out it counts as down (judge_record.never_up). */

/* A check at an address, as the health machine knows it. */
struct judge_leaf {
    enum tri up;           /* UNKNOWN, FALSE, TRUE by its confirmed state */
    bool never_up;         /* FALSE, and has never been TRUE */
    int64_t decided_ms;    /* when that state was confirmed */
    uint32_t fail_streak;  /* failures in a row */
    uint32_t need_failure; /* requiredFailure */
    int64_t access_period_ms;
};

struct judge_env {
    /* Check number `check` of the spec; where it has no target of its own, at
     * the address of the record at `place` in judge order (-1: none, for those
     * of dimensions). */
    struct judge_leaf (*leaf)(void *arg, size_t check, long place);
    /* The operator has put that data centre into maintenance; may be NULL. */
    bool (*maintenance)(void *arg, const char *dc);
    void *arg;
    const char *agent_dc; /* where this agent stands; NULL: nowhere */
    int64_t now_ms;
};

/* Kept from round to round, zeroed: nothing known. */
struct judge_dc_memory {
    int64_t out_since_ms; /* out of service, maintenance not counted; 0 */
    int64_t last_ms;      /* last look, to leave maintenance time out */
    bool maintained;      /* it was in maintenance then */
    bool other_published; /* another DC was published meanwhile */
    bool barred;          /* onlyNew: back, and not yet let in */
};
struct judge_memory {
    /* Last known truth, for an unknown result: scenarios × places (place 0:
     * not local; else 1 + the record's place in judge order), then the
     * records' own `if`, then their drCond. NULL: the spec has no condition. */
    enum tri *truth;
    struct judge_dc_memory *dcs; /* as spec.dcs; NULL: none */
    uint32_t ntruth, ndcs;
};

struct judge_dc {
    enum tri dims[SPEC_NDIMENSIONS];  /* of those given; else TRUE */
    enum tri states[SPEC_NDC_STATES]; /* is it in that very state */
    enum tri in_service; /* needs met, ok or noLan, no maintenance */
    bool maintenance;
    bool barred;
};

struct judge_record {
    enum tri healthy; /* check AND if AND dc */
    bool never_up;    /* FALSE only because of checks that were never up */
    bool maintenance; /* its DC is out on purpose */
    bool barred;      /* its DC was away too long (onlyNew) */
    bool passive;     /* of a noResponse DC */
    enum tri dr_cond; /* TRUE where the DR record has no drCond: see spec */
    int64_t decided_ms;
    uint32_t fail_streak, need_failure;
    int64_t access_period_ms;
};

/* Numbers of a spec, for sizing: all records of all sets, in set order,
 * the fallback of each set after its records. */
size_t judge_nrecords(const struct spec *s);
size_t judge_ntruth(const struct spec *s);

/* published: of each record, in that order: on at the provider now.
 * out: dcs[s->ndcs], records[judge_nrecords(s)]
 * memory: made by judge_memory_init for this very spec */
void judge_spec(const struct spec *s, const struct judge_env *env,
                struct judge_memory *memory, const bool *published,
                struct judge_dc *dcs, struct judge_record *records);

/* The truth of one condition, as last judged: for explain.
 * place: of the record whose condition it is, in judge order; -1: none */
enum tri judge_cond(const struct spec *s, const struct judge_env *env,
                    const struct judge_memory *memory,
                    const struct judge_dc *dcs, const struct spec_cond *cond,
                    long place);

void judge_memory_init(struct judge_memory *m, const struct spec *s);
void judge_memory_fini(struct judge_memory *m);
/* There is nothing in it that would have to be kept. */
bool judge_memory_is_empty(const struct judge_memory *m);
/* The operator lets a data centre in again. */
void judge_readmit(struct judge_memory *m, size_t dc);

enum tri tri_not(enum tri a);
enum tri tri_or(enum tri a, enum tri b);
/* At least need of n parts, t of them TRUE and u UNKNOWN. */
enum tri tri_need(size_t need, size_t t, size_t u);

#endif
