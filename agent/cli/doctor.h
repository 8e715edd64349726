#ifndef AGENT_CLI_DOCTOR_H
#define AGENT_CLI_DOCTOR_H

#include "agent/base/http.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/engine/state/state.h"
#include "agent/probes/probe.h"
#include "providers/provider.h"
#include "resolver/resolver.h"

/* `doctor`: what would fail, before it does. A table of examinations, each of
 * which tells findings; none changes anything. */

#define DOCTOR_ANSWER_MS 15000 /* of name servers */
#define DOCTOR_LIST_MS 120000  /* of providers */

enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_ERROR, DOCTOR_NLEVELS };

struct doctor_zone {
    const struct config_zone *cfg;
    const char *name;           /* canonical */
    struct provider *provider;  /* NULL: not open */
    bool failed;                /* at the provider, and that was told */
    const struct addr *servers; /* none: not found */
    size_t nservers;
    const char *const *owners; /* with specs, as far as found */
    size_t nowners;
};

struct doctor {
    const struct cli_options *o;
    const struct config *cfg;
    char *const *names; /* the zones asked for; none: all */
    struct arena *arena;
    struct loop *loop;
    struct http *http;
    struct resolver *resolver;
    struct probes *probes;
    struct state *state;         /* read only; NULL: none */
    struct provider **providers; /* as cfg->providers; NULL: not open */
    bool *has_errors;            /* as providers: of the account */
    const char **told;           /* what providers said that is not in order */
    size_t ntold, told_cap;
    struct doctor_zone **zones;
    size_t nzones, cap;
    const char *exam; /* the id of the one that runs */
    size_t count[DOCTOR_NLEVELS];
};

struct doctor_exam {
    const char *id; /* for programs */
    void (*run)(struct doctor *d);
};

/* A finding. subject: the line of a file, a zone, a provider; change: the line
 * to change or what to do; NULL: nothing */
void doctor_tell(struct doctor *d, enum doctor_level level, const char *subject,
                 const char *change, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* "FILE:LINE WHAT"; line 0: "WHAT". In the arena. */
const char *doctor_at(struct doctor *d, int line, const char *what);
/* Waits until *done, which lies in the arena: an answer may come later. */
bool doctor_wait(struct doctor *d, const bool *done, int64_t patience_ms);

/* The examinations. */
void doctor_file(struct doctor *d);      /* doctor_host.c */
void doctor_state(struct doctor *d);     /* doctor_host.c */
void doctor_limits(struct doctor *d);    /* doctor_host.c */
void doctor_clock(struct doctor *d);     /* doctor_host.c */
void doctor_user(struct doctor *d);      /* doctor_host.c */
void doctor_sandbox(struct doctor *d);   /* doctor_sandbox.c */
void doctor_ping(struct doctor *d);      /* doctor_host.c */
void doctor_programs(struct doctor *d);  /* doctor_host.c */
void doctor_resolver(struct doctor *d);  /* doctor_net.c */
void doctor_anchors(struct doctor *d);   /* doctor_net.c */
void doctor_providers(struct doctor *d); /* doctor_providers.c; opens them */
void doctor_zones(struct doctor *d);     /* doctor_zones.c; finds them */
void doctor_servers(struct doctor *d);   /* doctor_zones.c; and their serials */
void doctor_records(struct doctor *d);   /* doctor_records.c */
void doctor_views(struct doctor *d);     /* doctor_views.c */
void doctor_discover(struct doctor *d);  /* doctor_records.c; the owners */
void doctor_specs(struct doctor *d);     /* doctor_records.c */

/* Asks the provider's own op `check`; zone NULL: of the account.
 * has_specs: it is asked for the zone's specs, in rounds */
void doctor_ask(struct doctor *d, struct provider *p,
                const struct config_provider *cfg, const char *zone,
                bool has_specs);
void doctor_close(struct doctor *d); /* doctor_providers.c */

#endif
