#ifndef AGENT_ENGINE_DECIDE_MEMORY_H
#define AGENT_ENGINE_DECIDE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the agent remembers from round to round about the records it
 * manages: what it wrote, what it saw, how often it acted. Zeroed: nothing
 * known. Times are engine milliseconds (state.h). */

#define MEMORY_EVENTS 3 /* what limits look back at */
#define MEMORY_DAMP_MOST 32

/* Of a value that the agent has written: most never are. */
struct memory_writes {
    int64_t last_ms;                       /* 0: none */
    int64_t withdrawals_ms[MEMORY_EVENTS]; /* because of checks; newest first */
    int64_t reclaims_ms[MEMORY_EVENTS];    /* taken out again after others had
                                              put it in; newest first */
};

/* One for each target: bytes count. */
struct memory_value {
    bool seen : 1;     /* looked at before: no first contact any more */
    bool expected : 1; /* published as far as the agent knows (wrote or saw) */
    bool
        uncertain : 1; /* a write ended as unknown: believe what is read next */
    bool put_in : 1;   /* others switched it on, and it is still on */
    bool held_off : 1; /* healthy, and somebody else switched it off */
    bool returning : 1; /* was down since it was last published: returnAfter
                            applies */
    bool shut : 1;      /* return: manual, and withdrawn: readmit lets it in */
    bool created : 1;   /* the provider had no such value before the agent */
    bool withdrawn : 1; /* switched off by the agent, and not yet back */
    bool pending : 1;   /* written, not yet seen in DNS */
    uint8_t damp;       /* damping step, at most MEMORY_DAMP_MOST; 0: none */
    uint32_t brake_streak;    /* failures in a row when the brake took hold */
    int64_t healthy_since_ms; /* 0: not healthy */
    struct memory_writes *writes; /* heap; NULL: none, see memory_writes */
};

struct memory_set {
    int64_t brake_since_ms; /* 0: not held by the brake */
    int tier;               /* last decision, for status */
};

extern const struct memory_writes memory_no_writes;

/* Its writes, to be changed: made where there are none yet. Owned by m. */
struct memory_writes *memory_writes(struct memory_value *m)
    __attribute__((returns_nonnull));
/* The same to be read only: zeroes where there are none. Borrowed. */
static inline const struct memory_writes *
memory_written(const struct memory_value *m)
{
    return m->writes != NULL ? m->writes : &memory_no_writes;
}
/* Frees what m owns; m is zeroed. */
void memory_value_fini(struct memory_value *m);

#endif
