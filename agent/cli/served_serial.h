#ifndef AGENT_CLI_SERVED_SERIAL_H
#define AGENT_CLI_SERVED_SERIAL_H

#include "agent/base/mem.h"
#include "providers/provider.h"
#include "resolver/resolver.h"

/* The newest SOA serial that servers (n of them, with port) serve for zone now,
 * for the provider_env of a command that makes no round. cb runs once, later,
 * also where n is 0; known is false where none of them answers. memory outlives
 * l and r, which may end before cb.
 * key: that signs the questions, where it chooses the view; NULL: plain
 * source: RFC 1982 */
void served_serial_ask(struct arena *memory, struct loop *l, struct resolver *r,
                       const struct addr *servers, size_t n,
                       const struct tsig_key *key, const char *zone,
                       provider_serial_cb *cb, void *arg);

#endif
