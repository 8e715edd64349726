#ifndef AGENT_REPORT_NOTIFY_H
#define AGENT_REPORT_NOTIFY_H

#include "agent/base/doer.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

/* The notify command of the configuration: run once for each event, with
 * the event as JSON on standard input. Events are collected during a round
 * and told at its end, so that a slow command delays no change. */
struct notify;

/* doer: who runs it (NULL: this process); borrowed */
struct notify *notify_new(const char *command, const struct doer *doer)
    __attribute__((returns_nonnull));
void notify_add(struct notify *n, const char *json); /* copied */
/* From now on events are told as they come, by that loop. */
void notify_attach(struct notify *n, struct loop *loop);
/* Runs what was collected, four at a time, 30 s in all, then frees.
 * returns 0, or -1 with e set (ERR_RETRY: how many of how many did not end
 * well, and the first reason; ERR_INPUT: no such command) */
MUST_CHECK int notify_run(struct notify *n, struct err *e);

#endif
