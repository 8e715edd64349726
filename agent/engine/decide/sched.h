#ifndef AGENT_ENGINE_DECIDE_SCHED_H
#define AGENT_ENGINE_DECIDE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/decide/health.h"

/* When which probe starts. Pure: no clock, no I/O; times are milliseconds of
 * any clock that does not go back, chance comes from a seed. The simulator
 * and the service use the same.
 *
 * An entry is a check; entries with the same probe key are one group, which
 * has one stream of probes: the earliest entry that is due starts the probe,
 * and every entry that is due itself takes the result. An entry that agrees
 * with its confirmed state is due a period after the start of the last probe
 * whose result it took, less up to a tenth (jitter: never later than
 * promised); one in transition is due retry_ms after that start, exactly.
 *
 * First starts are spread over the period, at most SCHED_FIRST_MS: nobody
 * waits an hour for a first verdict. Where the period is longer, the first
 * pause is any part of it, so that those that began together part.
 * source: spec-language 5
 *
 * An entry and what its user keeps of the check, its room, are one piece of
 * memory: with thousands of checks each is cold in the caches when it is due,
 * and each piece costs its way there. */

#define SCHED_FIRST_MS 10000

struct sched;
struct sched_entry;

struct sched_pace {
    int64_t period_ms; /* accessPeriod, ≥ 1 */
    int64_t retry_ms;  /* retryPeriod, ≥ 1 */
};

/* seed: the same seed and keys give the same times, in whatever order
 * entries are added. room: bytes of each entry that are its user's. */
struct sched *sched_new(uint64_t seed, size_t room)
    __attribute__((returns_nonnull));
void sched_free(struct sched *s); /* with all rooms */

/* probe_key: len bytes, not kept. Periods beyond 49 days count as that.
 * returns an entry that is valid until sched_remove, its room zeroed. Takes
 * 75 bytes and the room. */
struct sched_entry *sched_add(struct sched *s, const char *probe_key,
                              size_t len, const struct sched_pace *pace,
                              int64_t now_ms) __attribute__((returns_nonnull));
/* An entry's room, aligned for pointers, and the entry that has it. */
void *sched_room(struct sched_entry *e) __attribute__((returns_nonnull));
struct sched_entry *sched_of(void *room) __attribute__((returns_nonnull));
struct sched_pace sched_pace_of(const struct sched_entry *e);
/* A result of a probe that is out is dropped when nobody waits for it. */
void sched_remove(struct sched *s, struct sched_entry *e);
size_t sched_groups(const struct sched *s);

/* The group that is due first, of those whose probe is not out, by its first
 * entry: that stands for the group until the probe's result, also when it is
 * removed meanwhile.
 * returns NULL when there is none */
struct sched_entry *sched_next_due(struct sched *s, int64_t *at_ms);
/* The room of one entry of the group, for what to probe; NULL: all of them
 * were removed. */
void *sched_any_room(struct sched *s, struct sched_entry *group);

/* Its probe starts now: the group is not due again before its result. */
void sched_started(struct sched *s, struct sched_entry *group, int64_t now_ms);

/* Its result is there: take is called once for the room of each entry that is
 * due, and returns whether its pace is now the calm one (sched_is_calm). What
 * stood for the group does so no longer. */
typedef bool sched_take(void *taker, void *room);
void sched_result(struct sched *s, struct sched_entry *group, sched_take *take,
                  void *taker);

/* More results are wanted soon: due at retry_ms after its last start. */
void sched_hurry(struct sched *s, struct sched_entry *e);

/* The check is probed at its accessPeriod, not at its retryPeriod: it agrees
 * with its confirmed state, or the agent itself cannot probe and nothing is
 * in transition. */
bool sched_is_calm(const struct health *h, enum health_result last);

#endif
