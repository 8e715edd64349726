#ifndef AGENT_ENGINE_SIM_TRACE_H
#define AGENT_ENGINE_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"

/* What happens in a simulated world: JSON Lines, one fact a line, each
 * holding from its time on. Pure. source: design "Simulation" */

#define TRACE_MAX (64u << 20) /* bytes of a trace */

enum trace_kind {
    TRACE_RESULT,      /* what probes of a target meet */
    TRACE_MAINTENANCE, /* of a data centre, by the operator */
    TRACE_FREEZE,      /* of a name, the zone or all */
    TRACE_READMIT,     /* of a data centre, a name or a value */
    TRACE_PUBLISHED,   /* what the provider shows, whoever did it */
    TRACE_RESTART,     /* the agent ends and starts anew from its state */
    TRACE_END,
};

enum trace_result { TRACE_OK, TRACE_FAIL, TRACE_LOCAL };

struct trace_fact {
    int64_t t_ms;
    size_t line; /* from 1 */
    enum trace_kind kind;
    const char *target; /* RESULT; as written; NULL: every target */
    const char *check;  /* RESULT; as written; NULL: every check */
    enum trace_result result;
    const char *what; /* a data centre; "NAME", "ZONE", "all"; "NAME TYPE" */
    bool on;          /* MAINTENANCE, FREEZE */
    int64_t for_ms;   /* the same; 0: until taken back */
    const char *const *data; /* PUBLISHED, and at most one of READMIT */
    size_t ndata;
    const char *view; /* PUBLISHED; NULL: every view */
};

/* Reads a trace. Empty lines are skipped, and lines that only hold a
 * `comment`; `comment` and `x-…` are accepted in every line.
 * out: *facts — by time, those of one time as written; in arena a
 * returns 0, or -1 with e set (ERR_INPUT: "line 3: …"; ERR_LIMIT) */
MUST_CHECK int trace_read(struct arena *a, const char *text, size_t len,
                          struct trace_fact **facts, size_t *n, struct err *e);

/* The facts, for --help. */
#define TRACE_HELP                                                             \
    "  "                                                                       \
    "{\"t\":\"12s\",\"target\":\"192.0.2.1\",\"check\":\"tcp:443\",\"ok\":"    \
    "false}\n"                                                                 \
    "                      from then on probes of that target fail; a target " \
    "is an\n"                                                                  \
    "                      address or the name of a CNAME record, a check "    \
    "its name or\n"                                                            \
    "                      a shorthand; one of both may be left out: every "   \
    "one\n"                                                                    \
    "  {... \"error\":\"local\"}   the agent itself cannot probe: counts for " \
    "neither side\n"                                                           \
    "  {\"t\":60,\"maintenance\":\"dc1\",\"on\":true,\"for\":\"2h\"}   for "   \
    "may be left out\n"                                                        \
    "  {\"t\":60,\"freeze\":\"www\",\"for\":\"2h\"}, "                         \
    "{\"t\":90,\"thaw\":\"www\"}   a name, the zone, all\n"                    \
    "  {\"t\":90,\"readmit\":\"dc1\"}, "                                       \
    "{\"t\":90,\"readmit\":\"www\",\"data\":\"192.0.2.1\"}\n"                  \
    "  {\"t\":0,\"published\":\"www A\",\"data\":[\"192.0.2.1\"]}   what the " \
    "provider shows:\n"                                                        \
    "                      at the start (nothing where it is not given), or "  \
    "later,\n"                                                                 \
    "                      by somebody else's hand\n"                          \
    "  {\"t\":300,\"restart\":true}    the agent starts anew from its saved "  \
    "state\n"                                                                  \
    "  {\"t\":\"10m\",\"end\":true}      without it: an hour after the last "  \
    "fact\n"                                                                   \
    "  {\"comment\":\"...\"}           a remark; also beside any fact\n"

#endif
