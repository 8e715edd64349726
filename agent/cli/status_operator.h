#ifndef AGENT_CLI_STATUS_OPERATOR_H
#define AGENT_CLI_STATUS_OPERATOR_H

#include <cjson/cJSON.h>

#include "agent/cli/cli.h"
#include "agent/engine/world/override.h"

/* The part of `status` that is about data centres and the operator's
 * overrides. want: canonical name, "" for everything: only zones that hold
 * it. */

void status_operator_print(const struct config *cfg, struct state *s,
                           const char *want);
/* Adds "dcs", "overrides" and, where it is there, "freezeFile" to o. */
void status_operator_json(const struct config *cfg, struct state *s,
                          const char *want, cJSON *o);

#endif
