#ifndef AGENT_ENGINE_SERVICE_SERVICE_INTERNAL_H
#define AGENT_ENGINE_SERVICE_SERVICE_INTERNAL_H

#include "agent/base/sd_notify.h"
#include "agent/base/slab.h"
#include "agent/engine/checks/check_shot.h"
#include "agent/engine/decide/sched.h"
#include "agent/engine/round/round_internal.h"
#include "agent/engine/service/service.h"

/* What the parts of the service share.
 *
 *   generation   one reading of the configuration: providers, resolver
 *   zone         one zone; outlives generations
 *   epoch        the specs of a zone as one look found them, and their world
 *   entry        one check, whoever names it; outlives epochs
 *
 * All runs on one loop. Callbacks only note what came and set `woken`; the
 * turn (service_run) does what follows. Times are clock_mono_ms, but for
 * what engine rows hold (state_now_ms). */

#define SERVICE_NEVER INT64_MAX
#define SERVICE_GONE_MS 60000 /* source: spec-language 1, opt-out */

struct service;

struct service_gen {
    struct service *svc;
    struct config *cfg; /* owned */
    struct round round; /* its providers; zones as served_serial wants them */
    struct check_shots *shots;
    size_t refs; /* epochs, and being the current one */
    bool closing;
    size_t open; /* providers that are not closed yet */
    /* listing the zones */
    struct round lister;
    bool listing, listed;
    int64_t list_at_ms;
    struct service_gen *prev, *next;
};

struct service_epoch {
    struct service_gen *gen;
    struct service_zone *zone;
    struct round round; /* while it is read; holds the one zone */
    struct round_zone *rz;
    struct config_zone cfg;  /* a copy: what lists owners may be left out */
    unsigned char raw[32];   /* of all that was read */
    unsigned char print[32]; /* of all it is made of: equal prints, equal
                                worlds */
    bool clean;              /* nothing about what was read is to be told */
    int64_t ttl_ms;          /* the shortest of its texts */
    bool open;               /* some text could not be read, or is gone */
    int64_t debounce_ms;
    bool built;
    bool probed; /* its checks have entries */
    size_t refs; /* the zone's, and one for each probe that is out */
};

enum service_refresh {
    SERVICE_REST,
    SERVICE_SERVERS, /* the authoritative servers are looked up */
    SERVICE_LISTS,   /* owners are listed; those known are read */
    SERVICE_TEXTS,   /* the rest is read */
    SERVICE_READY,   /* waits for the zone's work to end */
};

enum service_work {
    SERVICE_IDLE,
    SERVICE_OBSERVE, /* the provider's records are read */
    SERVICE_APPLY,   /* changes are on their way */
};

#define SERVICE_SERVERS_MAX 64 /* whose serials are compared */

struct service_zone {
    struct service *svc;
    char name[NAME_SIZE];
    struct service_gen *gen; /* that it is to be read by */
    const struct config_zone *cfg;
    bool leaving;
    struct service_epoch *now; /* NULL: none yet */
    /* reading */
    struct service_epoch *next;
    enum service_refresh refresh;
    bool refresh_now, full; /* full: owners are listed anew, too */
    bool was_full;          /* the reading that is under way */
    int64_t refresh_at_ms, full_at_ms, failed_ms;
    /* serials */
    struct service_serials *asking;
    int64_t serial_at_ms, serial_every_ms;
    uint32_t serials[SERVICE_SERVERS_MAX];
    bool serial_known[SERVICE_SERVERS_MAX];
    /* writing */
    enum service_work work;
    struct round work_round;
    bool step_now, held, held_alone, learnt, write;
    bool unseen; /* planned without the provider's records: told, not done */
    int64_t step_at_ms, retry_at_ms, backoff_ms;
    int64_t pending_ms; /* changes wait since; 0: none do */
    int64_t observe_at_ms;
    size_t applied; /* how often something was written */
    /* verifying */
    struct round look_round;
    struct round_zone look_zone;
    struct round_looks *looks; /* NULL: not looking */
    size_t look_applied;
    int64_t look_at_ms, look_pause_ms;
    struct service_zone *prev, *next_zone;
};

struct service_user {
    struct service_epoch *epoch;
    struct check *check;
};

/* One check, whoever names it: row->entry, and the room of its entry in the
 * schedule. */
struct service_entry {
    union {
        struct service_user one; /* n is 1 */
        struct service_user *many;
    } users;
    uint32_t n;
    uint32_t locals; /* in a row */
};

struct service_anchors {
    bool asking, again, answered, blind, returning;
    size_t waiting;
    int64_t asked_ms; /* the start of the question that was answered last */
    int64_t started_ms, next_ms;
    int64_t back_ms;      /* an anchor answers again since (clock_mono_ms) */
    int64_t back_boot_ms; /* the same by state_now_ms */
    char note[PROBE_NOTE_SIZE]; /* why one could not be asked; "" */
    struct service_turn *turns; /* anchors that wait for their address */
};

struct service {
    const struct service_options *o;
    struct round_options ro;
    struct loop *loop;
    struct http *http;
    struct probes *probes;
    struct state *state;
    struct sd_notify *sd;
    struct service_gen *gens, *gen; /* the current one is in the list */
    struct service_zone *zones;
    /* probes */
    struct sched *sched;
    size_t nentries;
    struct slab *flight_room;
    struct service_flight *flights; /* probes that are out */
    struct service_serials *serials;
    size_t nup;
    bool alone, hurried;
    uv_timer_t *tick;
    int64_t tick_at_ms;
    struct service_anchors anchors;
    /* the turn */
    bool woken;
    int stop; /* how often a signal asked for it */
    bool reload;
    uv_signal_t *signals[3];
    bool frozen_by_file, swept;
    uv_pipe_t *control; /* NULL: none */
    struct client *clients;
    int64_t second_ms, save_at_ms, saved_ms, watchdog_at_ms;
    bool unsaved; /* more than times has changed since saved_ms */
};

/* --- service.c ----------------------------------------------------------- */

/* Something worth keeping has changed: saved within seconds. */
void service_changed(struct service *svc);
/* At once. Failure is told; e may be NULL.
 * returns 0, or -1 with e set (ERR_LOCAL) */
int service_save(struct service *svc, struct err *e);
/* A round of the service's own kind: what the stages stand on. */
void service_round_init(struct service_gen *gen, struct round *r);
void service_round_fini(struct round *r);
/* Its work is done: what that took is given back, the round stays. */
void service_round_clear(struct round *r);

/* --- service_gen.c: configuration, providers, list of zones -------------- */

/* returns the new generation, cfg taken; or NULL, cfg freed, with e set */
struct service_gen *service_gen_new(struct service *svc, struct config *cfg,
                                    struct err *e);
void service_gen_turn(struct service *svc, int64_t now_ms, int64_t *next_ms);
/* The zones of its current epochs, for the served serial. */
void service_gen_zones(struct service_gen *gen);
void service_gen_unref(struct service_gen *gen);
/* At the end: ends sessions and look-ups; frees. */
void service_gens_close(struct service *svc);
void service_gens_free(struct service *svc);

/* --- service_zone.c: reading specs --------------------------------------- */

struct service_zone *service_zone_get(struct service *svc, const char *name);
struct service_zone *service_zone_find(struct service *svc, const char *name);
void service_zone_turn(struct service_zone *z, int64_t now_ms,
                       int64_t *next_ms);
void service_zone_free(struct service_zone *z);
void service_epoch_unref(struct service_epoch *e);

/* --- service_serial.c: the serials that the servers serve ---------------- */

void service_serial_ask(struct service_zone *z);
void service_serial_drop(struct service_zone *z);
/* Those that are out never come: the resolvers are gone. */
void service_serials_end(struct service *svc);

/* --- service_work.c: deciding, writing, verifying ------------------------ */

/* A new epoch stands. */
void service_work_begin(struct service_zone *z);
void service_work_turn(struct service_zone *z, int64_t now_ms,
                       int64_t *next_ms);
bool service_work_rests(const struct service_zone *z);
/* What holds for all sets has changed: overrides, anchors. before is called
 * before it changes. */
void service_work_before(struct service *svc);
void service_work_after(struct service *svc);

/* --- service_probe.c: entries and their probes --------------------------- */

void service_probe_start(struct service *svc);
/* Those that are out never come: probes and look-ups are gone. */
void service_probe_drop(struct service *svc);
void service_probe_stop(struct service *svc);
void service_probe_add(struct service_epoch *e);
void service_probe_remove(struct service_epoch *e);
void service_probe_hurry(struct service *svc, bool down_only);

/* --- service_control.c: the operator's commands -------------------------- */

void service_control_open(struct service *svc);
void service_control_close(struct service *svc);

/* --- service_anchor.c: is the agent itself cut off? ---------------------- */

void service_anchor_turn(struct service *svc, int64_t now_ms, int64_t *next_ms);
/* An anchor answered to a question asked at since_ms or later; if not, it is
 * asked. Always true without anchors. */
bool service_anchor_sure(struct service *svc, int64_t since_ms);
/* None is asked from now on. */
void service_anchor_stop(struct service *svc);

/* --- service_problem.c: problems that come and go ------------------------ */

enum service_problem {
    SERVICE_PROBLEM_READ,    /* of reading a zone's specs */
    SERVICE_PROBLEM_BUILD,   /* of what is in them */
    SERVICE_PROBLEM_SETS,    /* of sets: held, others' hands */
    SERVICE_PROBLEM_OBSERVE, /* of what the provider shows */
    SERVICE_PROBLEM_WRITE,   /* of what is written there */
    SERVICE_PROBLEM_LOOK,    /* of what the servers show */
    SERVICE_PROBLEM_KINDS,
};
/* Problems of that kind count as over unless they are told again before end;
 * what is over then is told as resolved. set: of these sets only (SETS). */
void service_problem_begin(struct service_zone *z, enum service_problem kind);
void service_problem_end(struct service_zone *z, enum service_problem kind);
bool service_problem_stands(const struct service_zone *z,
                            enum service_problem kind);
/* That one is over; nothing when it does not stand. */
void service_problem_over(struct service *svc, const char *zone,
                          const char *key);
/* Once all has been looked at: what nobody told again is over. */
void service_problem_sweep(struct service *svc);
/* The zone is gone, and with it its problems. */
void service_problem_leave(struct service *svc, const char *zone);

#endif
