#ifndef AGENT_PROBES_PROBE_H
#define AGENT_PROBES_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"

/* Probes: one look at one target, answered once. Thresholds live in
 * agent/engine/health, never here. */

enum probe_kind { PROBE_TCP, PROBE_NKINDS };

/* What a probe found. LOCAL: the agent itself could not make it; it counts
 * for neither side. */
enum probe_verdict { PROBE_OK, PROBE_FAIL, PROBE_LOCAL };

/* The layer that failed, for people and programs. */
enum probe_reason {
    PROBE_FINE,
    PROBE_ROUTE,   /* the network says: no way to that host */
    PROBE_CONNECT, /* refused or reset */
    PROBE_TIMEOUT, /* no answer in time */
    PROBE_NO_FD,   /* LOCAL: descriptors or memory ran out */
    PROBE_NO_NET,  /* LOCAL: we have no route for that family, or no source
                      address */
    PROBE_LATE,    /* LOCAL: our own loop was late, the timeout means nothing */
};

struct probe_spec {
    enum probe_kind kind;
    struct addr target; /* with port */
    int64_t timeout_ms; /* 0: the kind's default */
};

struct probe_result {
    enum probe_verdict verdict;
    enum probe_reason reason;
    int sys_errno;      /* of ROUTE, CONNECT, NO_FD, NO_NET; else 0 */
    int64_t elapsed_us; /* from start to verdict */
};
typedef void probe_cb(void *arg, const struct probe_result *r);

/* "tcp:443 refused", "tcp:443 timeout after 1s", … ; returns out. */
const char *probe_describe(const struct probe_spec *p,
                           const struct probe_result *r, char out[128]);
int64_t probe_timeout_ms(const struct probe_spec *p); /* default filled in */
const char *probe_kind_name(enum probe_kind k);       /* "tcp" */
const char *probe_reason_name(enum probe_reason r);   /* "connect", … */

/* The engine of all probes of a process: a descriptor set of its own inside
 * the loop, at most max_in_flight descriptors at once; the rest waits its
 * turn, and a probe's timeout runs from its own start. The soft descriptor
 * limit is raised to the hard one; 256 descriptors (half of a small limit)
 * are left to the rest of the process. max_in_flight 0: as many as that
 * leaves, at most 16384.
 * returns 0, or -1 with e set (ERR_LOCAL). */
struct probes;
MUST_CHECK int probes_new(struct loop *l, size_t max_in_flight,
                          struct probes **out, struct err *e);
/* Open and waiting probes are dropped without cb; may be called from a cb. */
void probes_free(struct probes *p);

/* Starts a probe (copied); cb runs once, later, from the loop. Quiet towards
 * the target: a TCP probe ends by RST before the target's accept() where the
 * system can do that (TCP_QUICKACK off, SO_LINGER 0).
 * Before a probe is called timed out its descriptor is looked at once more,
 * and when the loop stood still during more than the larger of 100 ms and a
 * quarter of the timeout, the verdict is LOCAL (PROBE_LATE). */
void probes_start(struct probes *p, const struct probe_spec *spec, probe_cb *cb,
                  void *arg);
size_t probes_in_flight(const struct probes *p); /* descriptors open now */
size_t probes_waiting(const struct probes *p);   /* waiting for their turn */

/* One kind of probe. Table-driven: a new kind is a file and a row. */
struct probe_ops {
    const char *name;
    int64_t default_timeout_ms;
    /* Opens a non-blocking descriptor and starts; *events: NET_IN|NET_OUT to
     * wait for. returns the descriptor, or -1 with r filled in. */
    int (*start)(const struct probe_spec *spec, uint32_t *events,
                 struct probe_result *r);
    /* The descriptor is ready (NET_… bits). returns true when r holds the
     * verdict; the engine closes the descriptor. */
    bool (*ready)(const struct probe_spec *spec, int fd, uint32_t events,
                  struct probe_result *r);
};
extern const struct probe_ops probe_tcp;
extern const struct probe_ops *const probe_kinds[PROBE_NKINDS];

/* --- limits: what may be probed at all ----------------------------------- */

struct probe_limits {
    const struct cidr *allow; /* beyond public addresses */
    size_t nallow;
};
/* Whether target may be probed: public, or in a block of the list. A form
 * that carries an IPv4 address is allowed by the block of either.
 * in: where — "_failover.www.example.org /records/0/data"
 * returns 0, or -1 with e set (ERR_LIMIT): `WHERE: 10.0.1.1 is private; to
 * allow it add "10.0.1.1/32" to allow-targets in agent`. */
MUST_CHECK int probe_allowed(const struct probe_limits *l,
                             const struct addr *target, const char *where,
                             struct err *e);

#endif
