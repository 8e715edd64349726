#ifndef PROVIDERS_ROUTE53_ROUTE53_H
#define PROVIDERS_ROUTE53_ROUTE53_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/mem.h"
#include "providers/provider.h"
#include "providers/route53/route53_answer.h"
#include "providers/shared/endpoint.h"

/* Amazon Route 53, in the files of this stem only.
 *
 *   route53.c         options, open, close
 *   route53_call.c    one signed call: budget, backoff, what an answer means
 *   route53_answer.c  XML to values, spelling
 *   route53_routing.c how a set is routed: read, and kept as XML
 *   route53_batch.c   a change batch as XML
 *   route53_zone.c    which hosted zone a zone is
 *   route53_walk.c    record sets page by page
 *   route53_list.c    the lists of the provider's contract
 *   route53_plan.c    what becomes of a record set (pure)
 *   route53_apply.c   a change set: read, plan, send, read again
 *   route53_send.c    one batch and its outcome
 *   route53_spec.c    a spec's TXT record
 *   route53_check.c   what doctor asks
 * source: Route 53 API Reference (2013-04-01) */

/* ---- one instance -------------------------------------------------------- */

struct route53_call;

/* A hosted zone that was found. */
struct route53_zone {
    char *name; /* canonical */
    char *id;
    uint64_t records; /* sets in it when it was found; 0: not known */
    struct route53_zone *next;
};

struct route53 {
    struct provider base; /* first */
    struct provider_env env;
    struct loop *loop;
    struct endpoint endpoint;
    char *title;
    char *base_url; /* of the endpoint, without a path */
    char *host;     /* as the Host header has it */
    char *region, *zone_id;
    char *set_id; /* the sets that it serves; NULL: simple ones */
    char *key_id, *secret, *token;
    bool wait_insync, may_not_get_change;

    int64_t skew_s;     /* our clock less Amazon's, of the last answer */
    int64_t budget_ms;  /* when the calls so far would be paid for */
    struct err refused; /* no call is sent until then */
    int64_t refused_until_ms;
    struct route53_call *calls;
    struct route53_zone *zones;

    size_t busy; /* calls and operations under way */
    bool closing;
    provider_close_cb *close_cb;
    void *close_arg;
};

/* Operations count themselves, so that a close waits for them. */
void route53_begin(struct route53 *p);
void route53_end(struct route53 *p); /* may free p */

/* ---- one call (route53_call.c) ------------------------------------------- */

/* Calls a second that are sent in the long run, and at once: a half of what
 * an account has, for it shares it with its people and other programs.
 * source: Route 53 Developer Guide, "Quotas" (10 a second, 50 at once) */
#define ROUTE53_RATE 5
#define ROUTE53_BURST 10

struct route53_ask {
    const char *action; /* the API's and IAM's name, for messages */
    const char *path;   /* behind /2013-04-01/ */
    const char *query;  /* encoded, without "?"; "" for none */
    const char *body;   /* NULL: GET */
    size_t body_len;
};

struct route53_reply {
    /* ERR_NONE: an answer of 200 in body. ERR_UNKNOWN: a POST that may have
     * been carried out. ERR_CONFLICT: InvalidChangeBatch. ERR_AUTH,
     * ERR_NOTFOUND, ERR_INPUT, ERR_LIMIT: refused. ERR_RETRY: not carried out,
     * and tried long enough */
    struct err err;
    char code[ROUTE53_CODE_SIZE]; /* Route 53's code; "" when none */
    const char *body;             /* borrowed during the callback */
    size_t len;
};
typedef void route53_reply_cb(void *arg, const struct route53_reply *r);

/* Signs and sends, within the budget; what was throttled, or certainly not
 * carried out, is sent again with growing pauses for a while. Copies ask; cb
 * once, later. */
void route53_call(struct route53 *p, const struct route53_ask *ask,
                  route53_reply_cb *cb, void *arg);
/* Those that wait for their turn fail now. */
void route53_calls_stop(struct route53 *p);
/* Adds "name=value" to a query, encoded, with "&" where one is before. */
void route53_query_add(struct buf *query, const char *name, const char *value);

/* ---- zones (route53_zone.c) ---------------------------------------------- */

/* The hosted zone of a canonical zone name: the configured one (whose name is
 * looked at), else the only public one of exactly that name; kept for the
 * life of p. z: borrowed until the next call of route53_zone_forget; NULL: err
 * says why. cb once, later or (when it is known) at once. */
typedef void route53_zone_cb(void *arg, const struct route53_zone *z,
                             const struct err *err);
void route53_zone_find(struct route53 *p, const char *zone, route53_zone_cb *cb,
                       void *arg);
/* It turned out not to be there. */
void route53_zone_forget(struct route53 *p, const char *id);
void route53_zones_free(struct route53 *p);
void route53_list_zones(struct provider *p, provider_names_cb *cb, void *arg);

/* ---- record sets (route53_walk.c) ---------------------------------------- */

struct route53_sets_found {
    struct err err;
    struct route53_set *v; /* in the arena */
    size_t n;
};
typedef void route53_sets_cb(void *arg, const struct route53_sets_found *found);

/* Every set of the names (canonical), in arena a; names is copied. A zone that
 * shows no set at all is an error (ERR_RETRY), not "no records". cb later. */
void route53_sets_of(struct route53 *p, struct arena *a,
                     const struct route53_zone *z, const char *const *names,
                     size_t n, route53_sets_cb *cb, void *arg);
/* The TXT sets at _failover names of the whole zone. */
void route53_failover_sets(struct route53 *p, struct arena *a,
                           const struct route53_zone *z, route53_sets_cb *cb,
                           void *arg);

/* ---- lists (route53_list.c) ---------------------------------------------- */

void route53_list_records(struct provider *p, const char *zone,
                          const char *const *names, size_t n,
                          provider_records_cb *cb, void *arg);
void route53_list_specs(struct provider *p, const char *zone,
                        provider_specs_cb *cb, void *arg);

/* ---- planning (route53_plan.c) ------------------------------------------- */

/* Limits of one request. source: Route 53 Developer Guide, "Quotas" */
#define ROUTE53_REQUEST_RECORDS 1000u
#define ROUTE53_REQUEST_CHARS 32000u
#define ROUTE53_VALUE_CHARS 4000u
#define ROUTE53_TTL_S 300u /* where neither spec nor set has one */

/* One record set that is to become another: deleted exactly as it was read,
 * and created anew in the same request, so that a change of somebody else in
 * between refuses the whole. */
struct route53_edit {
    const char *name; /* as it goes into requests */
    enum rr_type type;
    const struct route53_set *old; /* NULL: there is none */
    const char **values;           /* of the new set; all in the arena */
    size_t n;
    uint32_t ttl_s;
    bool ttl_given;   /* by the spec, or by the old set */
    const char *what; /* "www.example.org. A +192.0.2.2 -192.0.2.1" */
};

enum route53_verdict {
    ROUTE53_AS_WANTED, /* nothing to be written */
    ROUTE53_TO_WRITE,  /* edit holds what */
    ROUTE53_REFUSED,   /* e says why: managed routing, a second CNAME … */
};

/* The set is one that an instance with that set-identifier looks at; NULL:
 * all. */
bool route53_is_served(const struct route53_set *s, const char *set_id);
/* What the open changes of one set (same name and type; changes[i] is open
 * when open[i]) make of it. sets: all that the zone has at that name; set_id:
 * which of them is meant, NULL: the simple one. One that is meant by its
 * identifier keeps its routing; it is neither made nor emptied.
 * out: *edit, in arena a */
enum route53_verdict route53_plan_set(struct arena *a,
                                      const struct change_set *set,
                                      const bool *open, size_t first,
                                      const struct route53_set *sets, size_t n,
                                      const char *set_id,
                                      struct route53_edit *edit, struct err *e);
/* Elements and characters of values that an edit needs in a request. */
void route53_edit_size(const struct route53_edit *edit, size_t *records,
                       size_t *chars);
/* Sets a and b are the same for a DELETE: routing, TTL and values, these in
 * any order. */
bool route53_set_equal(const struct route53_set *a,
                       const struct route53_set *b);

/* ---- one batch (route53_send.c) ------------------------------------------ */

/* Sends the edits as one request; deletions first. err: as in a reply,
 * ERR_NONE: accepted (and, where the configuration wants that, on all of
 * Route 53's servers, or waited for long enough). */
typedef void route53_sent_cb(void *arg, const struct err *err);
void route53_send(struct route53 *p, const struct route53_zone *z,
                  const struct route53_edit *const *edits, size_t n,
                  const char *comment, route53_sent_cb *cb, void *arg);

/* ---- writing ------------------------------------------------------------- */

void route53_apply(struct provider *p, const struct change_set *set,
                   provider_apply_cb *cb, void *arg);
void route53_write_spec(struct provider *p, const struct spec_write *w,
                        provider_written_cb *cb, void *arg);
void route53_check(struct provider *p, const char *zone, provider_check_cb *cb,
                   void *arg);

#endif
