#ifndef PROVIDERS_PROVIDER_H
#define PROVIDERS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/http.h"
#include "agent/base/loop.h"
#include "providers/rrset.h"

/* The contract that every provider fulfils. All calls are asynchronous: they
 * start something and call back exactly once, later, never from inside the
 * starting call. One call per instance and zone at a time.
 *
 *   A list that came back empty is not proof of absence.
 *   Only the exact (name, type, data) of a change is touched; everything
 *   else in the set, the row and the zone is written back as it was read.
 *   Equal rows of one value are switched together.
 *   A write whose answer was lost ends as CHANGE_UNKNOWN: the provider has
 *   read back before it says anything else.
 *   Its errors do not name it: who reports them says whose they are. What it
 *   logs itself does. */

struct rest_style;
struct tsig_key;
struct provider; /* an instance: one account or one set of files */

struct provider_caps {
    bool in_place_disable; /* a withdrawn value stays, switched off */
    bool atomic;           /* a change set is applied as a whole or not */
    bool per_set;      /* whole sets are written: without `conditional`, what
                          another writes at the same moment may be lost */
    bool conditional;  /* a write fails when what was read has changed */
    bool local;        /* reading costs nothing: read in every round */
    bool needs_reload; /* a served serial is awaited in apply */
    bool lists_zones, lists_specs;
    bool creates_missing; /* adds a value it does not hold without `create` */
    uint32_t min_ttl_s;
    size_t txt_max;     /* bytes of one TXT value; 0: no own limit */
    bool txt_unescaped; /* what it stores of a TXT gets into its zone files
                           between quotes and otherwise as it is */
    int64_t publish_ms; /* from an accepted write to DNS, at most */
};

/* One step for one value. */
enum change_op { CHANGE_PUBLISH, CHANGE_WITHDRAW };
struct change {
    enum change_op op;
    size_t set;       /* changes with the same number belong to one set: when a
                         publish of it fails, its withdrawals are skipped */
    const char *name; /* canonical */
    enum rr_type type;
    const char *data; /* canonical */
    int64_t ttl_s;    /* PUBLISH: the TTL to give it; -1: as it is, or the
                         zone's default. The values of the set that stay get
                         the same TTL (RFC 2181 5.2) */
    bool confirm;     /* a write of this value ended as unknown: what follows a
                         write (serial, reload) is made sure of even where the
                         value is as wanted already */
};

/* Ordered: publishes of a set before its withdrawals. */
struct change_set {
    const char *zone; /* canonical */
    const struct change *v;
    size_t n;
    bool create;         /* add values that the provider lacks, where that is
                            not its way (see creates_missing) */
    const char *comment; /* why, in one line, for providers that keep it */
};

enum change_state {
    CHANGE_DONE,    /* accepted (or found to be so already) */
    CHANGE_FAILED,  /* refused, nothing was changed by it */
    CHANGE_SKIPPED, /* not tried, because a publish of its set failed, or the
                       whole set was given up */
    CHANGE_UNKNOWN, /* may or may not have happened */
};
struct change_result {
    enum change_state state;
    struct err err; /* of FAILED and UNKNOWN */
};

struct provider_apply {
    struct err err; /* ERR_NONE, or why the whole was given up; beside DONE:
                       what follows a write failed (the serial stays), to be
                       asked for again by `confirm` */
    const struct change_result *results; /* one per change, same order */
    size_t n;
    bool has_serial;
    uint32_t serial; /* the zone's serial after the change */
};
struct provider_records {
    struct err err;
    const struct rrset_list *sets; /* of the names asked for; borrowed */
    bool has_serial;
    uint32_t serial;
};
struct provider_names {
    struct err err;
    const char *const *names; /* canonical; borrowed */
    size_t n;
};
/* A _failover TXT as the provider stores it. */
struct provider_spec {
    const char *owner; /* canonical, without _failover */
    const char *text;  /* as stored, NUL-terminated; NULL: not known */
    size_t len;
};
struct provider_specs {
    struct err err;
    const struct provider_spec *specs;
    size_t n;
};

/* A _failover TXT to be written. */
struct spec_write {
    const char *zone;  /* canonical */
    const char *owner; /* canonical, in zone, without _failover */
    const char *text;  /* as it is to be stored, with txt_unescaped; else the
                          bytes that DNS is to serve */
    size_t len;
    uint32_t ttl_s; /* of a new record; one that is there keeps its own */
};
struct provider_written {
    struct err err; /* ERR_NONE: it is stored; ERR_UNKNOWN: it may be; else it
                       is not, or (changed) not all that goes with it */
    bool changed;   /* something was written; else it was there already */
    bool has_serial;
    uint32_t serial; /* the zone's serial after it */
};

/* What `check` found out: what fails, or will fail, with the line to change;
 * and what was looked at and is in order, so that nobody wonders. */
enum provider_finding_level {
    PROVIDER_OK,       /* looked at, in order */
    PROVIDER_WARNING,  /* works now; will not always, or not as expected */
    PROVIDER_NO_SPECS, /* a warning where it is asked for the zone's specs */
    PROVIDER_ERROR,    /* fails, or will when it is needed */
};
struct provider_finding {
    enum provider_finding_level level;
    const char *option; /* of the provider's section that it is about: its
                           line is told; NULL: the section, or the zone */
    const char *text;   /* what is so, one line: "the login failed: …" */
    const char *remedy; /* the line to change, or what to do: "timeout = 60",
                           "chmod 600 /etc/x"; NULL: nothing, or not known */
};
struct provider_checked {
    const struct provider_finding *findings; /* borrowed */
    size_t n;
};

typedef void provider_check_cb(void *arg, const struct provider_checked *r);
typedef void provider_apply_cb(void *arg, const struct provider_apply *r);
typedef void provider_written_cb(void *arg, const struct provider_written *r);
typedef void provider_records_cb(void *arg, const struct provider_records *r);
typedef void provider_names_cb(void *arg, const struct provider_names *r);
typedef void provider_specs_cb(void *arg, const struct provider_specs *r);
typedef void provider_close_cb(void *arg);

/* What is handed in. */
struct provider_serial {
    bool known;      /* some authoritative server answered */
    uint32_t serial; /* the newest served, by RFC 1982 */
};
typedef void provider_serial_cb(void *arg, const struct provider_serial *s);
struct provider_env {
    struct loop *loop;
    struct http *http;
    /* The serial that the zone's authoritative servers serve now. */
    void (*served_serial)(void *arg, const char *zone, provider_serial_cb *cb,
                          void *cb_arg);
    /* A login that was refused is not tried again for a while, by later runs
     * neither: many servers lock an address out that keeps trying. May be
     * NULL. provider: its name in the configuration; print: of the login's
     * data, so that corrected data are tried at once; e: what was said
     * stopped: returns whether that time is not over, with e set as it was */
    void (*stop)(void *arg, const char *provider, uint32_t print, int64_t ms,
                 const struct err *e);
    bool (*stopped)(void *arg, const char *provider, uint32_t print,
                    struct err *e);
    /* What a provider must put back when it makes a record anew that it took
     * out: kept across runs. May be NULL. key: of the record; text: copied.
     * kept returns it, borrowed until the next call, or NULL. */
    void (*keep)(void *arg, const char *provider, const char *key,
                 const char *text);
    const char *(*kept)(void *arg, const char *provider, const char *key);
    void *arg;
};

struct provider_ops {
    const char *type;
    const struct config_field *fields; /* ends with name NULL */
    struct provider_caps caps;
    /* Reads the options, talks to nobody. ops: this table; env is copied.
     * returns 0, or -1 with e set (ERR_INPUT, ERR_AUTH). */
    int (*open)(const struct provider_ops *ops, const struct provider_env *env,
                const struct config_provider *cfg, struct provider **out,
                struct err *e);
    /* Ends sessions, frees the instance, then calls cb. */
    void (*close)(struct provider *p, provider_close_cb *cb, void *arg);
    /* NULL where caps say so. */
    void (*list_zones)(struct provider *p, provider_names_cb *cb, void *arg);
    void (*list_specs)(struct provider *p, const char *zone,
                       provider_specs_cb *cb, void *arg);
    /* A, AAAA and CNAME sets of names (canonical, in zone), switched-off
     * values included. */
    void (*list_records)(struct provider *p, const char *zone,
                         const char *const *names, size_t n,
                         provider_records_cb *cb, void *arg);
    void (*apply)(struct provider *p, const struct change_set *set,
                  provider_apply_cb *cb, void *arg);
    /* Makes the text the only one at _failover.<owner> that is not foreign
     * (provider_txt_is_foreign): those stay as they are. w is copied. NULL
     * where a provider cannot. */
    void (*write_spec)(struct provider *p, const struct spec_write *w,
                       provider_written_cb *cb, void *arg);
    /* The key that signs zone transfers, and what a view's servers are asked;
     * borrowed. NULL where it has none. */
    const struct tsig_key *(*transfer_key)(const struct provider *p);
    /* For `doctor`: what would fail, before it does: credentials, scopes and
     * permissions, how the serial moves, limits of rate and size, the clock.
     * Changes nothing, at the provider and on disk, sessions aside.
     * zone: canonical; NULL: what concerns the account as a whole, asked once
     * before the zones. All that was found comes in one answer, made with
     * shared/findings.h; n 0: nothing to say. NULL where a type has nothing
     * special: doctor then sees itself whether it opens, lists and reads. */
    void (*check)(struct provider *p, const char *zone, provider_check_cb *cb,
                  void *arg);
    const struct rest_style *rest; /* its row in the shared REST code; NULL: it
                                      is not made of that */
};

/* First member of every instance. */
struct provider {
    const struct provider_ops *ops;
};

/* One row for each type: STEM of `const struct provider_ops provider_STEM`. */
/* clang-format off */
#define PROVIDER_ROWS(row) \
    row(zonefile) \
    row(ispconfig) \
    row(rfc2136) \
    row(powerdns) \
    row(dnsimple) \
    row(cloudflare) \
    row(route53) \
    row(hetzner) \
    row(desec) \
    row(gandi) \
    row(digitalocean) \
    row(technitium) \
    row(hook)
/* clang-format on */

#define PROVIDER_DECLARED(stem)                                                \
    extern const struct provider_ops provider_##stem;
PROVIDER_ROWS(PROVIDER_DECLARED)

/* The table, ends with NULL, and a look-up in it (NULL: no such type). */
extern const struct provider_ops *const providers[];
const struct provider_ops *provider_find(const char *type);

/* What config_load wants to know of them; ends with type NULL. */
#define PROVIDER_SCHEMAS 32
void provider_schemas(struct config_schema out[PROVIDER_SCHEMAS]);

/* The key that signs transfers of its zones; borrowed; NULL: none. */
const struct tsig_key *provider_transfer_key(const struct provider *p);

/* A TXT record at a _failover name that is another tool's: its text begins,
 * after blanks and a byte order mark, with none of [ { ".
 * source: spec-language 1 */
bool provider_txt_is_foreign(const char *text, size_t len);

/* Shared by providers that apply one change after the other: marks what is
 * still open in the sets of failed publishes as SKIPPED. */
void provider_skip_after(const struct change_set *set, size_t failed,
                         struct change_result *results);

#endif
