#ifndef AGENT_CLI_EXPLAIN_H
#define AGENT_CLI_EXPLAIN_H

#include <cjson/cJSON.h>

#include "agent/cli/operator.h"
#include "agent/engine/world/when.h"

/* `explain` in parts: explain.c finds what was asked for, explain_record.c
 * and explain_cond.c say it as JSON, explain_text.c prints that JSON for
 * people: both forms say the same. Times are seconds from now. */

struct explain {
    const struct operator_env *env;
    struct recall_zone *zone;
    struct when_env when; /* .w, .spec of the set at hand */
    int64_t provider_ms;  /* until a change is published */
    int64_t debounce_ms;  /* of the zone */
};

/* A set with its records. */
cJSON *explain_set(struct explain *x, size_t set);
/* The truth table of a condition: {text, truth, of}. */
cJSON *explain_cond(struct explain *x, const struct spec_cond *c, long place);
/* A check with its counters, or what stands in its way. */
cJSON *explain_check(struct explain *x, size_t check, long place);
/* A data centre: state, dimensions with their checks. */
cJSON *explain_dc(struct explain *x, size_t dc);
/* Seconds from now (engine time), never below 0; null for WHEN_NEVER. */
void explain_add_time(cJSON *o, const char *key, const struct explain *x,
                      int64_t at_ms);
/* {change, earliest, missing, check, where}: the change that checks may
 * bring, or NULL: none. */
cJSON *explain_next(struct explain *x, const char *change, struct when t,
                    int64_t then_ms);

/* The whole document, for people. */
void explain_print(const cJSON *doc);

#endif
