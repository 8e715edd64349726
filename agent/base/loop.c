#include "agent/base/loop.h"

#include <signal.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"

struct loop {
    uv_loop_t uv;
};

struct loop_timer {
    uv_timer_t uv; /* first: freed through its handle */
    loop_cb *cb;
    void *arg;
};

struct loop *loop_new(void)
{
    struct loop *l = mem_alloc(sizeof *l);

    /* A peer that closes before our write must not end the process. */
    (void)signal(SIGPIPE, SIG_IGN);
    if (uv_loop_init(&l->uv) != 0)
        abort();
    return l;
}

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void close_timers(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h))
        uv_close(h, h->type == UV_TIMER ? free_handle : NULL);
}

void loop_free(struct loop *l)
{
    if (l == NULL)
        return;
    if (uv_loop_close(&l->uv) != 0) {
        /* Only one-shot timers may be left: every module closes its own
         * handles in its _free. */
        uv_walk(&l->uv, close_timers, NULL);
        (void)uv_run(&l->uv, UV_RUN_DEFAULT);
        (void)uv_loop_close(&l->uv);
    }
    free(l);
}

uv_loop_t *loop_uv(struct loop *l)
{
    return &l->uv;
}

static void on_timer(uv_timer_t *h)
{
    struct loop_timer *t = (struct loop_timer *)h;
    loop_cb *cb = t->cb;
    void *arg = t->arg;

    uv_close((uv_handle_t *)h, free_handle);
    cb(arg);
}

struct loop_timer *loop_timer_start(struct loop *l, int64_t delay_ms,
                                    loop_cb *cb, void *arg)
{
    struct loop_timer *t = mem_alloc(sizeof *t);

    t->cb = cb;
    t->arg = arg;
    (void)uv_timer_init(&l->uv, &t->uv);
    /* The loop's clock stands still during long callbacks. */
    uv_update_time(&l->uv);
    (void)uv_timer_start(&t->uv, on_timer,
                         delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
    return t;
}

void loop_timer_cancel(struct loop_timer *t)
{
    if (t != NULL && !uv_is_closing((uv_handle_t *)&t->uv))
        uv_close((uv_handle_t *)&t->uv, free_handle);
}

/* What a loop_wait waits for. */
struct waiter {
    uv_prepare_t uv; /* first: freed through its handle */
    const bool *done;
};

/* What ran since the last look may have been what is waited for: the loop
 * would sleep on it. */
static void on_sleep(uv_prepare_t *h)
{
    const struct waiter *w = (const struct waiter *)h;

    if (*w->done)
        uv_stop(h->loop);
}

static void on_deadline(uv_timer_t *h)
{
    uv_stop(h->loop);
}

bool loop_wait(struct loop *l, const bool *done, int64_t deadline_ms)
{
    uv_timer_t *t = mem_alloc(sizeof *t);
    struct waiter *w = mem_alloc(sizeof *w);

    w->done = done;
    (void)uv_prepare_init(&l->uv, &w->uv);
    (void)uv_prepare_start(&w->uv, on_sleep);
    (void)uv_timer_init(&l->uv, t);
    while (!*done) {
        int64_t left = deadline_ms - clock_mono_ms();

        if (left <= 0)
            break;
        uv_update_time(&l->uv);
        (void)uv_timer_start(t, on_deadline, (uint64_t)left, 0);
        (void)uv_run(&l->uv, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)t, free_handle);
    uv_close((uv_handle_t *)&w->uv, free_handle);
    (void)uv_run(&l->uv, UV_RUN_NOWAIT);
    return *done;
}
