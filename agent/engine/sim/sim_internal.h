#ifndef AGENT_ENGINE_SIM_SIM_INTERNAL_H
#define AGENT_ENGINE_SIM_SIM_INTERNAL_H

#include "agent/engine/decide/sched.h"
#include "agent/engine/sim/sim.h"
#include "agent/engine/world/live.h"

/* Shared by sim.c (the clock), sim_agent.c (the agent and its provider) and
 * sim_facts.c and
 * sim_apply.c (what the trace says). */

/* What probes of one target of a check meet. */
enum sim_met { SIM_NOTHING, SIM_OK, SIM_FAIL, SIM_LOCAL };

struct sim_aim { /* a target of a check */
    size_t check, target;
};
/* A fact, and what it is about. */
struct sim_bound {
    struct sim_aim *aims; /* of results */
    size_t n, cap;
    bool is_dc;
    const char *zone, *name; /* canonical, or "*"; a data centre's as it is */
    enum spec_type type;
    const char **data; /* canonical */
    size_t ndata;
};

/* What the provider holds of a set, by whoever's hand. */
struct sim_shown {
    char **data;
    size_t n, cap;
};

struct sim {
    const struct sim_options *o;
    /* the agent: gone and made anew at a restart */
    struct state *state;
    struct checks *checks;
    struct arena *arena;
    struct world *w;
    struct live *live;
    struct sched *sched;
    struct sched_entry **entries; /* by check id */
    size_t nup;                   /* checks that are up */
    bool hurried;                 /* no check is up: failures are asked for */
    enum plan_hold *told;         /* by set: what holds it, as told */
    /* the world: stays */
    size_t nchecks, nsets;
    enum sim_met **met;       /* by check id and target */
    struct sim_shown *shown;  /* by set */
    struct sim_bound *bounds; /* as facts */
    struct arena *facts;      /* texts of bounds */
    int64_t now_ms;
};

/* Engine time to the trace's. */
int64_t sim_t(const struct sim *s);
void sim_tell(struct sim *s, struct sim_event *ev);

/* --- sim_agent.c */

MUST_CHECK int sim_agent_start(struct sim *s, struct err *e);
void sim_agent_stop(struct sim *s);
/* The agent ends, and starts anew from its saved state. */
MUST_CHECK int sim_agent_restart(struct sim *s, struct err *e);
/* Writes what is planned, and tells it. */
void sim_agent_write(struct sim *s);
size_t sim_targets(const struct check *c); /* a host counts as one */
/* Somebody else switches a value of a set on or off; the agent sees it. */
void sim_shown_put(struct sim *s, size_t set, const char *data, bool on);

/* --- sim_facts.c */

/* Finds what the facts are about.
 * returns 0, or -1 with e set (ERR_INPUT: "line 3: …") */
MUST_CHECK int sim_facts_bind(struct sim *s, struct err *e);

/* --- sim_apply.c */

/* A fact begins to hold; a restart and the end are the clock's business. */
void sim_facts_apply(struct sim *s, size_t fact);
/* The set is one that a fact about what is published means. */
bool sim_is_shown(const struct sim *s, const struct trace_fact *f,
                  const struct sim_bound *b, size_t set);

#endif
