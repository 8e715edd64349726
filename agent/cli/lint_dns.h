#ifndef AGENT_CLI_LINT_DNS_H
#define AGENT_CLI_LINT_DNS_H

#include "agent/cli/cli.h"
#include "specs/spec.h"

/* The spec that DNS has for name, judged with its zone's apex spec. Zone,
 * servers and limits come from the configuration where there is one and it
 * has the zone; else from the recursive servers.
 * out: *spec — freed by spec_free
 * returns 0, or -1 with e set: as spec_parse, and ERR_RETRY (lookup failed) */
MUST_CHECK int lint_dns(const struct cli_options *o, const char *name,
                        struct spec **spec, struct err *e);

#endif
