#ifndef AGENT_ENGINE_DECIDE_CALENDAR_H
#define AGENT_ENGINE_DECIDE_CALENDAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is due when, earliest first: a calendar queue. Its days are 16 ms, its
 * year has 1024 of them; what is due in another year waits in its day's list.
 * To add costs the end of one list, to take the first nothing but the sorting
 * of a day that has come: with a heap each step would touch places all over,
 * which are cold in the caches when a few of many thousands are due at a time.
 * source: R. Brown, Calendar Queues, CACM 31(10), 1988 */
struct calendar;

struct calendar *calendar_new(void) __attribute__((returns_nonnull));
void calendar_free(struct calendar *c); /* NULL is fine */
/* due_ms: 0 or later; tie: what comes first of those due at the same time; id:
 * the caller's. */
void calendar_add(struct calendar *c, int64_t due_ms, uint32_t tie,
                  uint32_t id);
/* It must be there, with that due_ms. */
void calendar_remove(struct calendar *c, int64_t due_ms, uint32_t id);
/* returns false when there is none. out: *id, *due_ms — of the first */
bool calendar_first(struct calendar *c, int64_t *due_ms, uint32_t *id);

#endif
