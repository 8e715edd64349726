#ifndef AGENT_ENGINE_ROUND_ROUND_H
#define AGENT_ENGINE_ROUND_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

/* One complete round over all zones:
 * discover → parse → probe → decide → plan → apply → verify → save.
 * What happens is told to a sink; the engine prints nothing itself. */

enum round_kind {
    ROUND_AVAILABLE,   /* a record's condition became true */
    ROUND_UNAVAILABLE, /* … became false */
    ROUND_PUBLISHED,   /* a value was switched on at the provider */
    ROUND_WITHDRAWN,   /* a value was switched off */
    ROUND_WOULD,       /* plan, observe: what would be done */
    ROUND_VISIBLE,     /* every authoritative server shows the change */
    ROUND_PROBLEM,     /* something failed or is held; news since last round */
    ROUND_RESOLVED,    /* a problem of the last round is gone */
    ROUND_NOTE,        /* worth a line, nothing wrong (opt-out …) */
    ROUND_DETAIL,      /* for -v only */
};

struct round_event {
    enum round_kind kind;
    const char *zone; /* canonical; "" where it does not apply */
    const char *name; /* canonical; "" */
    const char *type; /* "A", "A view eu"; "" */
    const char *data; /* the value; "" */
    bool publish;     /* WOULD: on, else off */
    const char *text; /* the reason or the whole message; one line */
};
/* Of a type as above: the view, NULL: none; and how long what stands before
 * it is. History keeps it the same way. */
const char *round_type_view(const char *type, size_t *len);
typedef void round_sink(void *arg, const struct round_event *ev);

/* A spec that the caller brings. Its author looks at the outcome: its checks
 * count as if they had been up before, and maxChange does not hold it. */
struct round_given {
    const char *owner; /* canonical; in the only zone of the configuration */
    const char *text;  /* valid */
};

struct round_options {
    /* These are the specs, and DNS is not looked at for others; what is
     * remembered of other owners is forgotten. A zone without authoritative
     * servers is changed all the same, where its provider can do without. */
    const struct round_given *given;
    size_t ngiven;
    bool plan_only;      /* change nothing, save nothing */
    bool detail;         /* ROUND_DETAIL events are wanted */
    int64_t deadline_ms; /* for the whole round, from its start */
    round_sink *sink;
    void *sink_arg;
    /* progress on a terminal; may be NULL. stage: "probing" … */
    void (*progress)(void *arg, const char *stage, size_t done, size_t all);
    void *progress_arg;
};

struct round_result {
    size_t changes;  /* carried out, or pending in plan */
    size_t problems; /* standing at the end of the round */
};

/* returns 0 when the round ran (problems are counted in result), or -1 with
 * e set: ERR_BUSY (another run holds the lock), ERR_INPUT, ERR_LOCAL */
MUST_CHECK int round_run(const struct config *cfg,
                         const struct round_options *o,
                         struct round_result *result, struct err *e);

#endif
