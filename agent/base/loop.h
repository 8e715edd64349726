#ifndef AGENT_BASE_LOOP_H
#define AGENT_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The event loop: libuv, with one-shot timers that clean up after
 * themselves and a bounded wait. One thread; callbacks run from
 * loop_wait only, never from inside the call that started them. */
struct loop;
struct loop_timer;
typedef void loop_cb(void *arg);

struct loop *loop_new(void) __attribute__((returns_nonnull));
/* Closes what is still open on it and frees it. */
void loop_free(struct loop *l);
uv_loop_t *loop_uv(struct loop *l); /* borrowed */

/* Calls cb(arg) once, delay_ms (0: next turn) from now. The handle is valid
 * until cb starts or the timer is cancelled. */
struct loop_timer *loop_timer_start(struct loop *l, int64_t delay_ms,
                                    loop_cb *cb, void *arg);
void loop_timer_cancel(struct loop_timer *t); /* NULL is fine */

/* Runs callbacks until *done or until clock_mono_ms() reaches deadline_ms.
 * returns *done. */
bool loop_wait(struct loop *l, const bool *done, int64_t deadline_ms);

#endif
