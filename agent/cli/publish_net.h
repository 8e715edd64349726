#ifndef AGENT_CLI_PUBLISH_NET_H
#define AGENT_CLI_PUBLISH_NET_H

#include "agent/base/http.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "providers/provider.h"
#include "resolver/resolver.h"
#include "specs/spec.h"

/* What `publish` knows of the zone of one name: its section in the
 * configuration, its provider, its authoritative servers, the apex spec. */

struct publish_net {
    const struct config *cfg;          /* borrowed */
    const struct config_zone *section; /* NULL: none is meant */
    char owner[NAME_SIZE], zone[NAME_SIZE];
    struct arena *arena;
    struct loop *loop;
    struct http *http;
    struct resolver *resolver;
    struct provider *provider; /* NULL: not opened */
    struct addr *servers;
    size_t nservers;
    const char **ns_names;
    size_t nns_names;
    struct spec *apex; /* NULL: none, or owner is the apex */
};

/* One server's answer about _failover.<owner>. */
struct publish_look {
    struct publish_net *net;
    const struct addr *server;
    enum resolver_outcome outcome;
    struct spec_txt *txts; /* FOUND; in the arena */
    size_t ntxts;
    struct err err;
    bool done;
};

/* The section of the longest zone above owner that the configuration names;
 * NULL: none (sections of "*" do not count). */
const struct config_zone *publish_section(const struct config *cfg,
                                          const char *owner);

/* Starts loop, resolver and, for with_provider, the provider of the zone;
 * sections of "*" count then. owner: canonical
 * returns 0, or -1 with e set (ERR_NOTFOUND: no section is for it); close
 * after both */
MUST_CHECK int publish_open(const struct config *cfg, const char *owner,
                            bool with_provider, struct publish_net *n,
                            struct err *e);
void publish_close(struct publish_net *n);

/* The zone's servers and its NS names.
 * returns 0, or -1 with e set */
MUST_CHECK int publish_find_servers(struct publish_net *n, struct err *e);
/* The apex spec as served now, where owner is below the apex.
 * returns 0 (there may be none), or -1 with e set: it cannot be looked up, or
 * is not valid */
MUST_CHECK int publish_find_apex(struct publish_net *n, struct err *e);
/* What a text for owner is judged by. */
void publish_context(const struct publish_net *n, struct spec_context *ctx);

/* Asks every server for _failover.<owner>; looks: one per server. */
struct publish_look *publish_look_all(struct publish_net *n, const char *owner);

#endif
