#ifndef AGENT_PROBES_PROBE_H
#define AGENT_PROBES_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/doer.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/proc.h"

/* Probes: one look at one target, answered once. Thresholds live in
 * agent/engine/health, never here. */

enum probe_kind {
    PROBE_TCP,
    PROBE_TLS,
    PROBE_HTTP,
    PROBE_HTTPS,
    PROBE_ICMP,
    PROBE_UDP,
    PROBE_DNS,
    PROBE_SMTP,
    PROBE_IMAP,
    PROBE_POP3,
    PROBE_FTP,
    PROBE_LDAP,
    PROBE_SMTPS,
    PROBE_IMAPS,
    PROBE_POP3S,
    PROBE_FTPS,
    PROBE_LDAPS,
    PROBE_GRPC,
    PROBE_COMMAND,
    PROBE_NKINDS
};

/* What a probe found. LOCAL: the agent itself could not make it; it counts
 * for neither side. */
enum probe_verdict { PROBE_OK, PROBE_FAIL, PROBE_LOCAL };

/* The layer that failed, for people and programs. */
enum probe_reason {
    PROBE_FINE,
    PROBE_ROUTE,   /* the network says: no way to that host */
    PROBE_CONNECT, /* refused or reset */
    PROBE_TIMEOUT, /* no answer, or no whole answer, in time */
    PROBE_NO_FD,   /* LOCAL: descriptors or memory ran out */
    PROBE_NO_NET,  /* LOCAL: we have no route for that family, no source
                      address, or no permission */
    PROBE_LATE,    /* LOCAL: our own loop was late, the timeout means nothing */
    PROBE_BAD_TLS, /* handshake or certificate */
    PROBE_PROTOCOL, /* not the protocol, or the answer was cut off */
    PROBE_STATUS,   /* the server's own word: a code outside the list, a
                       greeting that refuses, NXDOMAIN, NOT_SERVING */
    PROBE_CONTENT,  /* the answer does not hold what it must */
    PROBE_FAILED,   /* a check command says so */
    PROBE_NAME,     /* a redirect leads to a name that does not exist */
    PROBE_CLOCK,   /* LOCAL: a certificate's dates do not fit, but our own clock
                      is not synchronised */
    PROBE_REFUSED, /* LOCAL: our own limits: a redirect to an address that
                      may not be probed */
    PROBE_UNABLE,  /* LOCAL: cannot be asked or judged as specified; also a
                      check command that cannot be run or does not know */
    PROBE_NREASONS
};

struct probe_pair {
    const char *name, *value;
};
struct probe_range { /* inclusive */
    int64_t from, to;
};

/* What the kinds need beyond an address. Texts that do not apply are NULL,
 * lists empty; nothing is copied. Kinds in brackets. */
struct probe_params {
    /* [http https] the Host header, without port: the URL's, else the set's
     * name, no final dot. An IPv6 literal without brackets. */
    const char *host;
    /* [all over TLS] SNI, and the name that the certificate must have; NULL:
     * host. An address is compared as such and not sent as SNI. */
    const char *server_name;
    bool no_verify; /* [all over TLS] verify is false */
    uint32_t min_cert_days;
    const char *path;                 /* [http https] with query; NULL: "/" */
    const char *method;               /* [http https] NULL: GET */
    const struct probe_pair *headers; /* [http https] */
    size_t nheaders;
    const struct probe_range *status; /* [http https] none: 200-399 */
    size_t nstatus;
    const char *body;              /* [http https] substring */
    const char *body_match;        /* [http https] PCRE2 */
    const struct probe_pair *json; /* [http https] pointer, JSON text */
    size_t njson;
    uint32_t follow_redirects; /* [http https] at most so many; 0: none */
    const char *send;          /* [udp http https] payload or body */
    const char *expect;        /* [udp, greetings] substring of the answer */
    const char *dns_name, *dns_type; /* [dns] */
    const char *service;             /* [grpc] NULL, "": the server itself */
    bool tls;                        /* [grpc] over TLS */
    /* [command] its name, and its words with the placeholders filled in,
     * NULL-terminated (proc_split) */
    const char *command;
    char *const *argv;
    /* Whether an address that a redirect leads to may be probed; NULL: only
     * the target's own. */
    bool (*allowed)(void *arg, const struct addr *a);
    /* When such an address may be asked, in ms from now; that time is taken
     * then. NULL: at once. */
    int64_t (*turn_ms)(void *arg, const struct addr *a);
    void *allowed_arg; /* of both */
};

struct probe_spec {
    enum probe_kind kind;
    struct addr target;                /* with port, where the kind has one */
    int64_t timeout_ms;                /* 0: the kind's default */
    const struct probe_params *params; /* borrowed until cb has run; NULL: all
                                          empty */
};

#define PROBE_NOTE_SIZE 56
struct probe_result {
    enum probe_verdict verdict;
    enum probe_reason reason;
    int sys_errno;              /* of ROUTE, CONNECT, NO_FD, NO_NET; else 0 */
    int64_t elapsed_us;         /* from start to verdict */
    char note[PROBE_NOTE_SIZE]; /* what exactly: "status 503"; may be empty */
};
/* r is valid during the call. */
typedef void probe_cb(void *arg, const struct probe_result *r);

/* "tcp:443 refused", "https:443 status 503", … ; returns out. */
const char *probe_describe(const struct probe_spec *p,
                           const struct probe_result *r, char out[128]);
int64_t probe_timeout_ms(const struct probe_spec *p); /* default filled in */
const char *probe_kind_name(enum probe_kind k);       /* "tcp" */
/* returns false when there is no such kind. out: *k */
bool probe_kind_find(const char *name, enum probe_kind *k);
const char *probe_reason_name(enum probe_reason r); /* "connect", … */

/* The engine of all probes of a process: a descriptor set of its own inside
 * the loop, at most max_in_flight descriptors at once; the rest waits its
 * turn, and a probe's timeout runs from its own start. At most
 * PROBE_TLS_MAX of them speak TLS (40 kB each) and PROBE_CHILDREN_MAX are
 * commands; a full share does not hold up the others. ICMP needs no
 * descriptor of its own. The soft descriptor limit is raised to the hard one;
 * 256 descriptors (half of a small limit) are left to the rest of the
 * process. max_in_flight 0: as many as that leaves, at most 16384.
 * returns 0, or -1 with e set (ERR_LOCAL). */
#define PROBE_TLS_MAX 256
#define PROBE_CHILDREN_MAX 16
struct probes;
MUST_CHECK int probes_new(struct loop *l, size_t max_in_flight,
                          struct probes **out, struct err *e);
/* Open and waiting probes are dropped without cb; may be called from a cb. */
void probes_free(struct probes *p);

/* What the probes ask of others. A member that is NULL: see there. */
enum probe_lookup {
    PROBE_FOUND,
    PROBE_FOUND_SOME, /* one family could not be looked up */
    PROBE_NO_NAME,
    PROBE_LOOKUP_FAILED
};
typedef void probe_addrs_cb(void *arg, enum probe_lookup outcome,
                            const struct addr *addrs, size_t n);
struct probe_hooks {
    void *arg;
    /* The addresses of host (no final dot, never through a search list): cb
     * once, later, never from inside the call, and before the loop's end. NULL:
     * redirects lead only to the host that was asked for, and to addresses. */
    void (*resolve)(void *arg, const char *host, probe_addrs_cb *cb,
                    void *cb_arg);
    /* Runs check commands; NULL: this process. It outlives the probes. */
    const struct doer *doer;
    /* Whether this machine's wall clock is right; NULL: what the system says
     * (adjtimex). */
    bool (*clock_ok)(void *arg);
    /* Every n-th TLS handshake with a target is a full one, which shows
     * the certificate; the others resume a session. 0: 10; 1: all. */
    uint32_t tls_full_every;
    /* PEM file of the authorities to trust; NULL: the system's. */
    const char *ca_file;
};
/* Before the first start; copied. */
void probes_set_hooks(struct probes *p, const struct probe_hooks *h);
/* Opens now what needs permissions or files that the process gives up later:
 * the ICMP sockets and the certificates of the authorities. What fails here is
 * told by each probe that needs it. */
void probes_prepare(struct probes *p);

/* Starts a probe (copied, but for params); cb runs once, later, from the
 * loop. Quiet towards the target: a TCP probe ends by RST before the target's
 * accept() where the system can do that (TCP_QUICKACK off, SO_LINGER 0).
 * Before a probe is called timed out its descriptor is looked at once more,
 * and when the loop stood still during more than the larger of 100 ms and a
 * quarter of the timeout, the verdict is LOCAL (PROBE_LATE).
 * Commands: Nagios exit codes. 0 and 1 (a warning: it works) are OK, 3 (the
 * plugin does not know), a signal, and a command that cannot be run are LOCAL,
 * all else FAIL. source: Monitoring Plugins Development Guidelines,
 * "Plugin Return Codes" */
void probes_start(struct probes *p, const struct probe_spec *spec, probe_cb *cb,
                  void *arg);
size_t probes_in_flight(const struct probes *p); /* descriptors open now */
size_t probes_running(const struct probes *p);   /* all that were started */
size_t probes_waiting(const struct probes *p);   /* waiting for their turn */
/* Of these, those for which there is room: the loop has not come to them. */
size_t probes_backlog(const struct probes *p);

/* --- limits: what may be probed at all ----------------------------------- */

struct probe_limits {
    const struct cidr *allow; /* beyond public addresses */
    size_t nallow;
};
/* Whether target may be probed: public, or in a block of the list. A form
 * that carries an IPv4 address is allowed by the block of either.
 * in: where — "_failover.www.example.org /records/0/data"; may be ""
 * returns 0, or -1 with e set (ERR_LIMIT): `WHERE: 10.0.1.1 is private; to
 * allow it add "10.0.1.1/32" to allow-targets in agent`. */
MUST_CHECK int probe_allowed(const struct probe_limits *l,
                             const struct addr *target, const char *where,
                             struct err *e);

#endif
