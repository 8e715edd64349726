#ifndef AGENT_ENGINE_ROUND_ROUND_INTERNAL_H
#define AGENT_ENGINE_ROUND_ROUND_INTERNAL_H

#include "agent/base/http.h"
#include "agent/base/mem.h"
#include "agent/engine/checks/check_run.h"
#include "agent/engine/world/live.h"
#include "agent/engine/decide/plan.h"
#include "agent/engine/round/round.h"
#include "agent/engine/state/state.h"
#include "agent/probes/probe.h"
#include "providers/provider.h"
#include "resolver/resolver.h"
#include "agent/engine/world/world.h"
#include "specs/spec.h"

/* What the stages of a round share. Each stage starts its work for all zones
 * and waits for it; `waiting` counts what is out. */

struct round_owner {
    const char *name; /* canonical */
    bool listed;      /* by configuration, apex spec, transfer or provider */
    bool sent;        /* its text is asked for in this round */
    bool asked;       /* and an answer came */
    enum resolver_outcome outcome;
    struct spec_txt *txts; /* FOUND; in the round's reading arena */
    size_t ntxts;
    uint32_t ttl_s;            /* of the texts */
    const char *why;           /* of GONE and FAILED; in that arena */
    const char *provider_text; /* as the provider stores it; NULL */
    size_t provider_len;
    struct spec *spec;      /* in force: new or last good; NULL: none, or
                               handed over to the zone */
    struct state_spec *row; /* NULL: never seen */
    struct round_zone *zone;
    struct round_owner *next_wanted;
};

/* Where sets of a zone are kept: those of one view, or everybody else's. */
struct round_audience {
    struct round_zone *zone;
    const struct config_view *view; /* NULL: everybody else */
    const struct config_provider *cfg;
    struct provider *provider; /* NULL: could not be opened */
    bool observed;             /* its records were read */
    struct change *changes;
    struct change_ref {
        size_t set, value;
    } * refs; /* where each change comes from */
    size_t nchanges;
};

struct round_zone {
    struct round *round;
    const struct config_zone *cfg;
    const char *name;          /* canonical */
    struct provider *provider; /* of everybody's audience, which is the first */
    struct round_audience *audiences; /* as plan_set.audience counts them */
    size_t naudiences;
    const char *const *commands; /* that its specs may name; NULL: not yet
                                    looked up */
    size_t ncommands;
    struct addr *servers;
    size_t nservers;
    const char **ns_names;
    size_t nns_names;
    bool asked;  /* for its servers; there are none */
    bool failed; /* cannot be worked on in this round */
    bool listed; /* discovery worked: owners is the whole list */
    struct round_owner **owners; /* by name; none once the world stands */
    size_t nowners, owners_cap;
    struct round_owner *apex; /* NULL: none, or the world stands */
    struct round_owner *wanted, *last_wanted; /* texts to be asked for */
    size_t asking;
    struct spec **specs; /* in force, when the world stands */
    size_t nspecs;
    struct world *world; /* an empty one where the zone has failed */
    struct state_zone *row;
    bool observed;     /* some audience was */
    struct live *live; /* the service: what is seen and written is counted
                          there; NULL in a round */
    size_t nchanges;   /* apply: of all audiences */
};

struct round_provider {
    struct round *round;
    const struct config_provider *cfg;
    struct provider *instance; /* NULL: could not be opened */
};

struct round {
    const struct config *cfg;
    const struct round_options *o;
    struct arena *arena;
    struct arena *reading; /* owners and their texts, until the worlds stand;
                              NULL: none are read */
    struct loop *loop;
    struct http *http;
    struct resolver *resolver;
    struct check_hooks *hooks; /* of the probes */
    struct probes *probes;
    struct state *state;
    struct checks *checks;
    struct check_run *run;
    struct probe_limits limits;
    const struct check_command *commands; /* of the agent's file */
    size_t ncommands;
    struct round_provider *providers;
    struct serial_job *serials; /* questions for the served serial */
    struct round_zone **zones;
    size_t nzones, zones_cap;
    int64_t start_ms, end_ms; /* clock_mono_ms */
    size_t waiting;
    bool idle;   /* waiting is 0 */
    bool *woken; /* set when idle; may be NULL */
    /* A spec is gone when two looks say so that are so far apart. */
    int64_t gone_apart_ms;
    struct round_result result;
};

/* --- round_tell.c: waiting and telling ----------------------------------- */

void round_begin(struct round *r); /* one more answer is awaited */
void round_end(struct round *r);   /* it came */
/* Waits for all answers, at most until until_ms. returns false when some are
 * still out. */
bool round_wait(struct round *r, int64_t until_ms);
/* The part of the deadline that a stage may use up to. */
int64_t round_share(const struct round *r, int percent);

void round_detail(struct round *r, const char *zone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void round_note(struct round *r, const char *zone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A problem: told when it is news, kept until a round goes without it.
 * key: what it is about, within the zone ("" for the agent) */
void round_problem(struct round *r, const char *zone, const char *key,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same for what people should look at although nothing failed. */
void round_warn(struct round *r, const char *zone, const char *key,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void round_tell(struct round *r, enum round_kind kind, const char *zone,
                const char *name, const char *type, const char *data,
                bool publish, const char *text);

/* Length of a name without its final dot, as "_failover.%.*s" is written. */
int round_plain_len(const char *name);

/* --- round_audience.c ----------------------------------------------------- */

/* Makes z->audiences of the section's provider and views. */
void round_add_audiences(struct round_zone *z);
struct round_audience *round_audience_of(const struct round_zone *z, size_t set)
    __attribute__((returns_nonnull));
/* The zone's section has no place for the set's view. */
void round_tell_view(struct round_zone *z, size_t set);
/* The records of all were read. */
bool round_observed_all(const struct round_zone *z);
/* The servers that show it to the agent; n 0: nobody can be asked. */
const struct addr *round_audience_servers(const struct round_audience *a,
                                          size_t *n);
/* Asks one of them, under the view's key where it has one. */
void round_audience_ask(const struct round_audience *a,
                        struct resolver *resolver, const struct addr *server,
                        const char *name, uint16_t type, resolver_cb *cb,
                        void *arg);
/* The key of a problem about a set: "WHAT NAME TYPE", with the view behind
 * the type where it has one. */
#define ROUND_KEY_SIZE (NAME_SIZE + 192)
void round_set_key(char out[ROUND_KEY_SIZE], const char *what,
                   const struct plan_set *ps);
/* The type in it, "A" or "A@eu". */
#define ROUND_TYPE_SIZE 80
void round_key_type(char out[ROUND_TYPE_SIZE], const struct plan_set *ps);
/* --- the stages ---------------------------------------------------------- */

void round_open_providers(struct round *r);  /* round_zones.c */
void round_find_zones(struct round *r);      /* round_zones.c */
void round_close_providers(struct round *r); /* round_zones.c */
/* The newest serial that the servers of the provider's audience serve; a
 * provider_env hook. arg: struct round_provider */
void round_served_serial(void *arg, const char *zone, provider_serial_cb *cb,
                         void *cb_arg); /* round_zones.c */
/* Questions that are out go, their callbacks never come; after the resolver. */
void round_serials_end(struct round *r);   /* round_zones.c */
void round_discover(struct round *r);      /* round_discover.c */
void round_read_specs(struct round *r);    /* round_specs.c */
void round_build(struct round *r);         /* round_world.c */
void round_take_commands(struct round *r); /* round_world.c */
void round_probe(struct round *r);         /* round_probe.c */
void round_overrides(struct round *r);     /* round_overrides.c */
void round_plan(struct round *r);          /* round_plan.c */
void round_apply(struct round *r);         /* round_apply.c */
void round_verify(struct round *r);        /* round_verify.c */

/* --- the same in halves, one zone at a time, for the service ------------- */

/* round_zones.c: the sections of the configuration, "*" listed by the
 * provider; the servers of r->zones; a zone without any has failed. */
void round_list_zones(struct round *r);
void round_find_servers(struct round *r);
void round_check_servers(struct round *r);
/* A zone, in r->zones; it has failed where its provider is not open. */
struct round_zone *round_add_zone(struct round *r,
                                  const struct config_zone *cfg,
                                  const char *name);
/* round.c: trust = ad with resolvers that are not on loopback is ERR_INPUT */
MUST_CHECK int round_check_trust(const struct round *r, struct err *e);
/* round_discover.c: lists, and what is known; then what was listed */
void round_discover_lists(struct round *r);
void round_discover_rest(struct round *r);
/* round_probe.c: a record's condition became true, or false */
void round_tell_value(struct round_zone *z, size_t set, size_t value);
/* round_overrides.c: those whose time is over are told, and go */
void round_end_overrides(struct round *r);
/* round_plan.c: asks the provider, and what was planned is told */
void round_observe(struct round_zone *z);
void round_report_set(struct round_zone *z, size_t set);
/* round_apply.c: only tells; or z->nchanges are made, then sent */
void round_would(struct round_zone *z);
void round_prepare(struct round_zone *z);
void round_send(struct round_zone *z);
/* round_verify.c: a look at every server for each set that is pending, at
 * most for patience_ms (0: once), in the round's arena; then what they saw */
struct round_looks;
struct round_looks *round_look(struct round_zone *z, int64_t patience_ms);
void round_looked(struct round_zone *z, struct round_looks *looks);

/* round_specs.c: the arena of owners and texts */
struct arena *round_reading(struct round *r) __attribute__((returns_nonnull));
/* Owners and texts go; specs and world of the zone, too. */
void round_forget_owners(struct round_zone *z);
void round_zone_fini(struct round_zone *z);

enum rr_type round_rr_type(enum spec_type t); /* round_plan.c */
struct round_owner *round_owner_get(struct round_zone *z, const char *name);
void round_fail_zone(struct round_zone *z, const char *key,
                     const struct err *e);

#endif
