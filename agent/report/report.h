#ifndef AGENT_REPORT_REPORT_H
#define AGENT_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/engine/round/round.h"

/* What happened, for people and programs: one line an event, or one JSON
 * object a line; and the notify command. Reads only. */
struct report;

struct report_options {
    bool json;
    bool verbose;
    const char *notify;      /* command of the configuration; NULL: none */
    const struct doer *doer; /* who runs it; NULL: this process */
};

struct report *report_new(const struct report_options *o)
    __attribute__((returns_nonnull));
/* The notify command runs by that loop as events come; before loop_free,
 * report_finish waits for those that are out. */
void report_attach(struct report *r, struct loop *loop);
/* Runs the notify command for what was collected, once an event, four at a
 * time, 30 s in all; then frees. returns 0, or -1 with e set (ERR_RETRY: some
 * did not end well) */
MUST_CHECK int report_finish(struct report *r, struct err *e);

/* A round_sink; arg is the struct report. Lines go to standard output,
 * problems to standard error. */
void report_event(void *arg, const struct round_event *ev);
/* Progress on a terminal (standard error), from one second on. */
void report_progress(void *arg, const char *stage, size_t done, size_t all);

/* The event as JSON text (heap). */
char *report_event_json(const struct round_event *ev);
/* The event as the line people read (heap, no newline). */
char *report_event_line(const struct round_event *ev);

#endif
