#include "agent/report/notify.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/mem.h"
#include "agent/base/proc.h"

#define NOTIFY_AT_ONCE 4
#define NOTIFY_LIMIT_MS 30000
#define NOTIFY_QUEUE_MAX 1000

struct notify {
    char *command;
    const struct doer *doer;
    char **events;
    size_t n, cap, next, running, failed, lost;
    struct loop *loop;
    bool attached; /* to a loop that is not ours */
    char **argv;
    bool done;
    struct err first;
};

struct notify *notify_new(const char *command, const struct doer *doer)
{
    struct notify *n = mem_alloc(sizeof *n);

    n->command = mem_strdup(command);
    n->doer = doer;
    return n;
}

static void start_more(struct notify *n);

/* Those that were told go; what is left moves to the front. */
static void forget_told(struct notify *n)
{
    for (size_t i = 0; i < n->next; i++)
        free(n->events[i]);
    memmove(n->events, n->events + n->next,
            (n->n - n->next) * sizeof *n->events);
    n->n -= n->next;
    n->next = 0;
}

void notify_attach(struct notify *n, struct loop *loop)
{
    struct err e;

    n->loop = loop;
    n->attached = true;
    if (proc_split(n->command, NULL, NULL, 0, &n->argv, &e) != 0)
        log_line(LOG_ERROR, "notify: %s", e.msg);
}

/* A command that hangs must not make a queue without end. */
static bool is_full(struct notify *n)
{
    return n->attached && n->n - n->next >= NOTIFY_QUEUE_MAX;
}

void notify_add(struct notify *n, const char *json)
{
    if (is_full(n) || (n->attached && n->argv == NULL)) {
        n->lost++;
        return;
    }
    n->events = mem_grow(n->events, &n->cap, n->n, sizeof *n->events);
    n->events[n->n++] = mem_strdup(json);
    if (n->attached)
        start_more(n);
}

static void on_done(void *arg, const struct proc_result *r)
{
    struct notify *n = arg;

    n->running--;
    if (r->err.code != ERR_NONE && n->attached)
        log_line(LOG_WARN, "notify: %s", r->err.msg);
    else if (r->err.code != ERR_NONE && n->failed++ == 0)
        n->first = r->err;
    if (n->attached)
        forget_told(n);
    start_more(n);
}

static void start_more(struct notify *n)
{
    while (n->next < n->n && n->running < NOTIFY_AT_ONCE) {
        const char *event = n->events[n->next++];
        const struct doer_command what = {.kind = DOER_NOTIFY,
                                          .input = event,
                                          .input_len = strlen(event),
                                          .timeout_ms = DOER_NOTIFY_MS,
                                          .argv = n->argv};

        n->running++;
        (void)doer_run(n->doer, n->loop, &what, on_done, n);
    }
    n->done = n->running == 0 && n->next == n->n;
}

static void notify_free(struct notify *n)
{
    for (size_t i = 0; i < n->n; i++)
        free(n->events[i]);
    free(n->events);
    proc_argv_free(n->argv);
    free(n->command);
    free(n);
}

int notify_run(struct notify *n, struct err *e)
{
    int rc = 0;

    if (n->n > 0 && !n->attached)
        rc = proc_split(n->command, NULL, NULL, 0, &n->argv, e);
    if (n->n > 0 && rc == 0) {
        size_t left;

        if (!n->attached)
            n->loop = loop_new();
        start_more(n);
        (void)loop_wait(n->loop, &n->done, clock_mono_ms() + NOTIFY_LIMIT_MS);
        left = n->n - n->next;
        n->next = n->n;
        /* Those that run end by their own time limit. */
        (void)loop_wait(n->loop, &n->done,
                        clock_mono_ms() + DOER_NOTIFY_MS + 3000);
        if (!n->attached)
            loop_free(n->loop);
        if (n->failed + left > 0)
            rc = err_set(e, ERR_RETRY, "notify: %zu of %zu events not told: %s",
                         n->failed + left, n->n,
                         n->failed > 0 ? n->first.msg : "out of time");
    }
    notify_free(n);
    return rc;
}
