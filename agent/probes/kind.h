#ifndef AGENT_PROBES_KIND_H
#define AGENT_PROBES_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/probes/probe.h"

/* What the kinds of probe and their engine know of each other. A new kind is
 * a file, a row in probe_kinds and a value of enum probe_kind. */

/* What a probe takes up while it runs; each has its own line to wait in. */
enum probe_lane {
    PROBE_LANE_FD,
    PROBE_LANE_TLS,
    PROBE_LANE_NONE, /* no descriptor of its own */
    PROBE_LANE_CHILD,
    PROBE_NLANES
};

struct tls;
struct icmp;
struct probe_ticket;

/* What all probes of an engine share. */
struct probe_env {
    struct probes *probes;
    struct loop *loop;
    int set; /* net_set */
    bool freed;
    struct tls *tls;      /* NULL until needed */
    struct icmp *icmp[2]; /* IPv4, IPv6; NULL until needed */
    struct probe_hooks hooks;
    struct probe_ticket *tickets;
};

/* One running probe. */
struct probe_run {
    struct probe_spec spec;
    struct probe_env *env;
    uint64_t tag; /* for the descriptor set; unique among running probes */
    int fd;       /* -1: none. Closed by the engine at the end */
    uint32_t events;
    bool partly; /* an address that it may have to try is not known: what cannot
                    be reached is no verdict then */
    union {
        void *state;    /* the kind's own, freed by its end() */
        uint64_t token; /* icmp */
    } u;
};

struct probe_ops {
    const char *name;
    int64_t default_timeout_ms;
    enum probe_lane lane;
    bool no_port;
    int64_t grace_ms; /* the kind itself ends at its timeout, and gets so much
                         more for that */
    /* Starts: opens run->fd (non-blocking) and says in run->events which
     * NET_… bits to wait for (NET_EDGE: told of changes only); or leaves fd -1
     * and answers by probe_run_finish. returns 0, or -1 with r filled in
     * (end() is called then, too). */
    int (*start)(struct probe_run *run, struct probe_result *r);
    /* The descriptor is ready (NET_… bits), or has to be looked at once more.
     * returns true when r holds the verdict (r is PROBE_OK before). NULL: the
     * kind never has one. */
    bool (*ready)(struct probe_run *run, uint32_t events,
                  struct probe_result *r);
    /* What is waited for, for the note of a timeout; NULL: nothing to say. */
    const char *(*awaits)(const struct probe_run *run);
    /* Frees u.state (may be NULL) and closes nothing. NULL: nothing to do. */
    void (*end)(struct probe_run *run);
};

extern const struct probe_ops probe_tcp, probe_tls, probe_http, probe_https,
    probe_icmp, probe_udp, probe_dns, probe_smtp, probe_imap, probe_pop3,
    probe_ftp, probe_ldap, probe_smtps, probe_imaps, probe_pop3s, probe_ftps,
    probe_ldaps, probe_grpc, probe_command;
extern const struct probe_ops *const probe_kinds[PROBE_NKINDS];

/* spec.params, all empty where it is NULL. */
const struct probe_params *probe_run_params(const struct probe_run *run)
    __attribute__((returns_nonnull));
/* The running probe of that tag, NULL when it has ended. Borrowed, valid
 * until a callback of the user runs or a probe is started. */
struct probe_run *probe_run_find(struct probe_env *env, uint64_t tag);
/* Ends it with that verdict and runs the user's callback, after which
 * env->freed may be set. Unknown tags are ignored. Not from inside start() or
 * ready(). */
void probe_run_finish(struct probe_env *env, uint64_t tag,
                      struct probe_result *r);
/* Waits for other events, or for another descriptor put into run->fd.
 * returns 0, or -1 with r filled in (LOCAL). */
int probe_run_watch(struct probe_run *run, struct probe_result *r);

/* A claim on a probe that may end, or be dropped with its engine, before the
 * answer comes. Every ticket taken is given back once. */
struct probe_ticket {
    struct probe_env *env; /* NULL: the engine is gone */
    uint64_t tag;
    struct probe_ticket *prev, *next;
};
struct probe_ticket *probe_ticket_new(struct probe_run *run)
    __attribute__((returns_nonnull));
/* Frees the ticket. returns the engine's env and *tag, or NULL. */
struct probe_env *probe_ticket_take(struct probe_ticket *t, uint64_t *tag);
void probe_tickets_void(struct probe_env *env); /* the engine ends */

/* Fill r and return true, so that `return probe_fail(r, …)` reads well. The
 * note is cut to its size, control characters and bytes beyond ASCII become
 * '?'. */
bool probe_fail(struct probe_result *r, enum probe_reason reason,
                const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool probe_local(struct probe_result *r, enum probe_reason reason,
                 const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* An errno of socket() or connect(): nothing was sent yet. */
void probe_not_started(struct probe_result *r, int error);
/* An errno that came back from the network; 0: PROBE_OK. */
void probe_answered(struct probe_result *r, int error);

#endif
