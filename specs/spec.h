#ifndef SPECS_SPEC_H
#define SPECS_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/name.h"

/* The typed spec: what the text at _failover.<name> means, whatever form
 * and spelling it came in. Values only; everything lives in the arena of its
 * struct spec. source: spec-language (the manual of the language) */

#define SPEC_TEXT_MAX 65000u /* bytes of one owner's JSON text */
#define SPEC_DEPTH_MAX 32u

enum spec_spelling { SPEC_JSON, SPEC_ESCAPED, SPEC_BARE };
enum spec_form { SPEC_ROWS, SPEC_OBJECT };
enum spec_type { SPEC_A, SPEC_AAAA, SPEC_CNAME, SPEC_NTYPES };
enum spec_order { SPEC_ALL, SPEC_PRIORITY };
enum spec_all_down { SPEC_KEEP, SPEC_DOWN_ALL, SPEC_NONE };

/* --- checks ----------------------------------------------------------------
 */

enum spec_check_kind {
    SPEC_CHECK_TCP,
    SPEC_CHECK_TLS,
    SPEC_CHECK_HTTP,
    SPEC_CHECK_HTTPS,
    SPEC_CHECK_ICMP,
    SPEC_CHECK_UDP,
    SPEC_CHECK_DNS,
    SPEC_CHECK_SMTP,
    SPEC_CHECK_IMAP,
    SPEC_CHECK_POP3,
    SPEC_CHECK_FTP,
    SPEC_CHECK_LDAP,
    SPEC_CHECK_SMTPS,
    SPEC_CHECK_IMAPS,
    SPEC_CHECK_POP3S,
    SPEC_CHECK_FTPS,
    SPEC_CHECK_LDAPS,
    SPEC_CHECK_GRPC,
    SPEC_CHECK_COMMAND,
    SPEC_CHECK_NKINDS
};

struct spec_pair { /* a header; or a JSON pointer and, as JSON text ("\"ok\"",
                      "5", "true"), the value it must have */
    const char *name, *value;
};
struct spec_range { /* inclusive */
    int64_t from, to;
};

/* What is said once a check is connected, and what must come back. Texts that
 * do not apply are NULL, lists empty. host and server_name are NULL where the
 * set's name stands for them; a server_name that is NULL beside a host is that
 * host. */
struct spec_dialog {
    const char *path, *host, *server_name, *method;
    const struct spec_pair *headers;
    size_t nheaders;
    const struct spec_range *status;
    size_t nstatus;
    const char *body, *body_match, *send, *expect;
    const struct spec_pair *json;
    size_t njson;
    const char *dns_name, *dns_type; /* dns:PORT/NAME/TYPE */
    const char *service;             /* grpc:PORT/SERVICE */
    const char *command;             /* command:NAME */
    uint32_t min_cert_days, follow_redirects;
};

/* One check, complete: every default is filled in. Very many specs have one:
 * bytes count. */
struct spec_check {
    const char *name;           /* of `checks`; NULL: written in place */
    const char *pointer;        /* JSON pointer of where it is written */
    const struct addr *targets; /* `targets`, with port: instead of target */
    struct spec_dialog *dialog; /* read by spec_dialog_of; NULL: connecting is
                                   all */
    int64_t timeout_ms;
    int64_t access_period_ms;
    int64_t retry_period_ms;
    uint32_t required_success;
    uint32_t required_failure;
    uint32_t vantage_need; /* 0: majority */
    uint32_t ntargets;
    uint32_t need;      /* of targets; 0: no targets */
    struct addr target; /* family 0: the address of the record; else fixed;
                           its port is 0, see port */
    uint16_t port;      /* 0: the kind has none (icmp, command) */
    enum spec_check_kind kind : 8;
    bool verify;
    bool repeat_timeout; /* rows: a timeout of a check that is not down is
                            repeated once at once before it counts */
    bool from_apex;      /* written in the apex spec */
};

extern const struct spec_dialog spec_no_dialog;

static inline const struct spec_dialog *
spec_dialog_of(const struct spec_check *c)
{
    return c->dialog != NULL ? c->dialog : &spec_no_dialog;
}

/* --- conditions ------------------------------------------------------------
 */

enum spec_dimension {
    SPEC_WAN,
    SPEC_LAN,
    SPEC_ACCESS,
    SPEC_INTERNET,
    SPEC_NDIMENSIONS
};
enum spec_dc_state {
    SPEC_DC_OK,
    SPEC_DC_NO_LAN,
    SPEC_DC_NO_WAN,
    SPEC_DC_NO_ACCESS,
    SPEC_DC_NO_INTERNET,
    SPEC_NDC_STATES
};

enum spec_cond_kind {
    SPEC_COND_CHECK,       /* checks[ref] is up */
    SPEC_COND_DC,          /* dcs[ref] is in service */
    SPEC_COND_DC_STATE,    /* dcs[ref] is in that very state */
    SPEC_COND_DIMENSION,   /* auto|dc|dimension */
    SPEC_COND_MAINTENANCE, /* auto|dc|maintenanceMode */
    SPEC_COND_SCENARIO,    /* scenarios[ref] is true */
    SPEC_COND_ALL,         /* AND of its parts */
    SPEC_COND_ANY,         /* OR of its parts */
    SPEC_COND_NEED,        /* at least `need` of its parts */
};

/* A condition as a tree. */
struct spec_cond {
    enum spec_cond_kind kind;
    bool negate;
    bool local; /* depends on a check without a target, or without a host that
                   it needs, in it or in what it names: its truth belongs to a
                   record's address */
    size_t ref;
    enum spec_dc_state state;
    enum spec_dimension dimension;
    uint32_t need;
    const struct spec_cond *of; /* parts */
    size_t n;
    const char *text; /* as written, for people: "!dc2", "[[a,b],[c]]" */
};

struct spec_scenario {
    const char *name;
    struct spec_cond cond;
    const char *pointer;
    bool from_apex;
};

struct spec_dc {
    const char *name;
    struct {
        const size_t *checks; /* indices into spec.checks */
        size_t n;
        uint32_t need;
        bool given;
    } dims[SPEC_NDIMENSIONS];
    bool maintenance;
    bool no_response;             /* passive: tier 2 */
    bool needs[SPEC_NDIMENSIONS]; /* for service; never a dimension that is
                                     not given */
    bool from_apex;
    int64_t only_new_ms;           /* -1: not asked for */
    const struct spec_cond *fresh; /* NULL: none */
    const char *pointer;
};

/* --- records and sets ------------------------------------------------------
 */

/* What few records say. */
struct spec_rare {
    const struct spec_cond *when;    /* `if`; NULL: none */
    const struct spec_cond *dr_cond; /* NULL: none */
    const char *view;                /* NULL: in every view */
};

/* One for each target: bytes count. */
struct spec_record {
    const char *name;       /* canonical */
    const char *data;       /* canonical: RFC 5952 address or canonical name */
    const size_t *checks;   /* of `check`: indices into spec.checks, ANDed */
    struct spec_rare *rare; /* read by spec_rare_of; NULL: nothing of it */
    const char *pointer;    /* "/records/0" of its document */
    struct addr addr;       /* A, AAAA */
    uint32_t return_after_ms; /* 0: at once; a week at most */
    int32_t prio;      /* place in the chain: `prio`, else the position in its
                          array counted from 1; smaller comes first */
    uint32_t position; /* in reading order, breaks ties */
    uint32_t document; /* index of the TXT record it came from */
    int32_t dc;        /* index into spec.dcs; -1: none */
    int32_t ttl_s;     /* -1: none given */
    uint16_t nchecks;
    enum spec_type type : 8;
    bool fallback : 1; /* of fallbackRecords */
    bool dr : 1;       /* disaster recovery: drIfNoRecords, drCond or dr */
    bool dr_if_no_records : 1;
    bool return_manual : 1;
};

extern const struct spec_rare spec_no_rare;

static inline const struct spec_rare *spec_rare_of(const struct spec_record *r)
{
    return r->rare != NULL ? r->rare : &spec_no_rare;
}

/* The records of one (name, type, view). Where a name and type has records
 * with views, those without one stand in the set of every view, and in one
 * without a view for the audiences that the spec does not name. */
struct spec_set {
    const char *name;
    const char *view;                  /* NULL: none */
    const struct spec_record *records; /* by prio, then position; equal
                                          values once */
    const struct spec_record *fallback;
    uint32_t nrecords, nfallback;
    uint32_t take; /* 0: no limit */
    int32_t ttl_s; /* the smallest given by its records; -1: none */
    enum spec_type type : 8;
    enum spec_order order : 8;
    enum spec_all_down all_down : 8;
    bool damping;
};

/* A remark: an error or an advice with its place. */
struct spec_note {
    enum { SPEC_NOTE_ERROR, SPEC_NOTE_WARNING } level;
    const char *text; /* "_failover.www.example.org /records/1/ttl: found "x";
                         accepted: …" */
};

struct spec_defaults { /* -1 / 0 where not given */
    int64_t ttl_s, timeout_ms, access_period_ms, retry_period_ms;
    uint32_t required_success, required_failure;
};

/* What an apex spec says of its zone; elsewhere they are errors, but for the
 * defaults, and those are filled in. */
struct spec_apex {
    struct spec_defaults defaults; /* as written in this spec */
    uint32_t vantage_need;         /* 0: majority */
    const char *const *names;      /* canonical owners for discover = names */
    size_t nnames;
    int64_t debounce_ms;    /* -1: not given */
    int32_t max_change_pct; /* 0…100, "50%"; -1: not given */
};

struct spec {
    const char *owner;           /* canonical */
    const char *zone;            /* canonical; the end of owner */
    const struct spec_apex *top; /* always there in an apex spec; elsewhere of
                                    no matter, or NULL */
    /* Everything that its records can name: its own, and of the apex spec
     * what it uses; named things first, by name. */
    const struct spec_check *checks;
    const struct spec_dc *dcs;
    const struct spec_scenario *scenarios; /* no cycles; each after those it
                                              names */
    const struct spec_set *sets; /* by canonical name, then type, then view */
    const struct spec_note *warnings;
    uint32_t nchecks, ndcs, nscenarios, nsets, nwarnings;
    enum spec_form form : 8;         /* of the first document */
    enum spec_spelling spelling : 8; /* of the first document */
    uint64_t hash; /* of its texts, and of the apex spec's where it inherits:
                      as long as it stays, all indices mean the same */
    const struct spec_doc *doc; /* the merged document as written: what a
                                   child reads named things from, and what is
                                   printed; NULL: not kept */
    struct arena *arena; /* of all of it; NULL: it is one piece of memory that
                            begins here */
    struct arena *notes; /* of the warnings; NULL: they lie in arena */
};

/* One character-string of a TXT record (RFC 1035 3.3), any bytes. */
struct spec_string {
    const char *data;
    size_t len;
};
/* One TXT record. */
struct spec_txt {
    const struct spec_string *strings;
    size_t nstrings;
};

struct spec_context {
    const char *owner, *zone;    /* canonical; zone contains owner */
    const struct spec *apex;     /* NULL: none, or owner is the apex */
    const char *const *ns_names; /* the zone's own NS targets: never managed */
    size_t nns_names;
    bool cross_names;      /* may act within the whole zone */
    int64_t min_period_ms; /* agent's limit; 0: none */
    size_t max_targets;    /* agent's limit; 0: none */
    bool allow_active;     /* may send payloads, use methods beyond GET and
                              HEAD, and credential headers */
    const char *const *commands; /* that the agent's file allows for the zone;
                                    NULL: not checked */
    size_t ncommands;
    bool to_run;   /* nobody is told of its checks one by one: equal ones that
                      are written in place are one, with the pointer of the
                      first */
    bool keep_doc; /* the spec is going to be printed; an apex spec keeps its
                      document anyway */
};

/* The text begins with none of [ { " (after joining; blanks and a byte order
 * mark before them do not count, so that their author hears of them): it is
 * another tool's TXT record and no business of ours. */
bool spec_is_foreign(const struct spec_txt *txt);

/* Reads all TXT records of one owner as one spec: foreign ones are skipped,
 * the order of the records does not matter, equal documents count once.
 * in:  txts — as DNS or a provider gave them; n may be 0
 * out: *spec — freed by spec_free
 * returns 0, or -1 with e set:
 *   ERR_NOTFOUND     only foreign records, or none
 *   ERR_INPUT        not valid; the text names owner, JSON pointer, what was
 *                    found and what is accepted
 *   ERR_LIMIT        too long, too deep, too many targets
 * source: spec-language 1–9 */
MUST_CHECK int spec_parse(const struct spec_txt *txts, size_t n,
                          const struct spec_context *ctx, struct spec **spec,
                          struct err *e);
void spec_free(struct spec *s);
/* They have been told, and s is going to stay: gives back what they took. */
void spec_forget_warnings(struct spec *s);

/* The same for a text from a file or standard input (lint). The owner's
 * text as one document; JSON, escaped or bare. A text that would be foreign
 * in DNS is ERR_INPUT here. */
MUST_CHECK int spec_parse_text(const char *text, size_t len,
                               const struct spec_context *ctx,
                               struct spec **spec, struct err *e);

/* Canonical JSON of the spec (object form, members in table order):
 * parse(print(s)) equals s. s must have been read with keep_doc, or be an
 * apex spec. Heap, caller frees. */
char *spec_print(const struct spec *s);
/* The same in the bare spelling. returns the text (heap, caller frees), or
 * NULL with e set (ERR_INPUT: names what bare cannot say) */
char *spec_print_bare(const struct spec *s, struct err *e);

const char *spec_type_name(enum spec_type t);             /* "A" … */
const char *spec_check_kind_name(enum spec_check_kind k); /* "tcp" … */
const char *spec_dimension_name(enum spec_dimension d);   /* "wanAccess" … */
const char *spec_dc_state_name(enum spec_dc_state s);     /* "noWan" … */
/* The check as its shortest spelling, for people: "tcp:443@192.0.2.1",
 * "https://www.example.org/healthz"; returns out. */
const char *spec_check_text(const struct spec_check *c, char *out, size_t size);
const char *spec_spelling_name(enum spec_spelling s); /* "JSON", "JSON with
                                                          escaped quotes",
                                                          "bare" */

/* --- authority: which owner speaks for which set ------------------------- */

struct spec_claim {
    const struct spec *spec;
    const struct spec_set *set;
};

/* Gives every (name, type) of a zone to one owner: its own _failover.<name>,
 * else the nearest name above, else the first in canonical order.
 * out: *claims — by canonical name, then type; heap, caller frees
 *      *notes  — one error per other claim: "… is claimed by … too; …"; heap
 *                (texts in arena a)
 * source: spec-language 1 "Authority" */
void spec_authority(const struct spec *const *specs, size_t n, struct arena *a,
                    struct spec_claim **claims, size_t *nclaims,
                    struct spec_note **notes, size_t *nnotes);

#endif
