#include "agent/report/notify.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/base/mem.h"
#include "agent/base/proc.h"

#define NOTIFY_AT_ONCE 4
#define NOTIFY_LIMIT_MS 30000
#define NOTIFY_ONE_MS 10000

struct notify {
    char *command;
    char **events;
    size_t n, cap, next, running, failed;
    struct loop *loop;
    char **argv;
    bool done;
    struct err first;
};

struct notify *notify_new(const char *command)
{
    struct notify *n = mem_alloc(sizeof *n);

    n->command = mem_strdup(command);
    return n;
}

void notify_add(struct notify *n, const char *json)
{
    n->events = mem_grow(n->events, &n->cap, n->n, sizeof *n->events);
    n->events[n->n++] = mem_strdup(json);
}

static void start_more(struct notify *n);

static void on_done(void *arg, const struct proc_result *r)
{
    struct notify *n = arg;

    n->running--;
    if (r->err.code != ERR_NONE && n->failed++ == 0)
        n->first = r->err;
    start_more(n);
}

static void start_more(struct notify *n)
{
    while (n->next < n->n && n->running < NOTIFY_AT_ONCE) {
        const char *event = n->events[n->next++];

        n->running++;
        proc_run(n->loop, n->argv, NULL, event, strlen(event), NOTIFY_ONE_MS,
                 on_done, n);
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

    if (n->n > 0)
        rc = proc_split(n->command, NULL, NULL, 0, &n->argv, e);
    if (n->n > 0 && rc == 0) {
        size_t left;

        n->loop = loop_new();
        start_more(n);
        (void)loop_wait(n->loop, &n->done, clock_mono_ms() + NOTIFY_LIMIT_MS);
        left = n->n - n->next;
        n->next = n->n;
        /* Those that run end by their own time limit. */
        (void)loop_wait(n->loop, &n->done,
                        clock_mono_ms() + NOTIFY_ONE_MS + 3000);
        loop_free(n->loop);
        if (n->failed + left > 0)
            rc = err_set(e, ERR_RETRY, "notify: %zu of %zu events not told: %s",
                         n->failed + left, n->n,
                         n->failed > 0 ? n->first.msg : "out of time");
    }
    notify_free(n);
    return rc;
}
