#ifndef PROVIDERS_REST_REST_H
#define PROVIDERS_REST_REST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/provider.h"
#include "providers/shared/endpoint.h"
#include "providers/shared/findings.h"

/* Providers with a REST API in JSON. All that they do is here, once; what
 * differs between them is a row of struct rest_style and, where a table does
 * not say it, a hook.
 *   rest.c         options, open, close
 *   rest_call.c    one call after the other: budget, waits, stops
 *   rest_answer.c  what an HTTP answer means
 *   rest_json.c    JSON within limits
 *   rest_path.c    paths made of templates
 *   rest_page.c    an answer in pages
 *   rest_text.c    names and values as an API writes them
 *   rest_record.c  records out of answers
 *   rest_zone.c    the account and the zone, found once
 *   rest_read.c    the records of some names
 *   rest_list.c    the three lists
 *   rest_plan.c    which records a change set writes
 *   rest_write.c   these writes, one after the other or in batches
 *   rest_set.c     a set's body, and the calls that write it singly
 *   rest_action.c  a write that goes on after its answer
 *   rest_form.c    the body of a write that is no JSON, but a form
 *   rest_settle.c  what follows them
 *   rest_apply.c   a change set
 *   rest_spec.c    a spec's TXT record
 *   rest_check.c   what doctor asks */

#define REST_MAX_ANSWER ((size_t)32 * 1024 * 1024)
#define REST_ID_SIZE 128

struct rest;
struct rest_zone;

/* ---- the table ----------------------------------------------------------- */

enum rest_names {
    REST_FQDN_DOT, /* "www.example.org." */
    REST_FQDN,     /* "www.example.org" */
    REST_RELATIVE, /* "www", the apex as `apex` says */
};
enum rest_targets {
    REST_TARGET_DOT,      /* a CNAME's target is absolute, with dot */
    REST_TARGET_NO_DOT,   /* absolute, without */
    REST_TARGET_RELATIVE, /* as in a master file: sent with dot */
};
enum rest_paging {
    REST_ONE_PAGE,
    REST_PAGE_NUMBERS, /* page=N, until page_total says so */
    REST_NEXT_LINK,    /* page_next holds the next page's URL */
    REST_LINK_HEADER,  /* Link: <URL>; rel="next" (RFC 8288) */
    REST_TOTAL_HEADER, /* page=N, until as many items came as page_total, a
                          header, says */
};
enum rest_reset {
    REST_RESET_EPOCH,  /* seconds since 1970 */
    REST_RESET_DELTA,  /* seconds from now */
    REST_RESET_PARAMS, /* one header: …;r=REMAINING;t=SECONDS */
};

/* Members of one record, or of one record set, in the API's JSON. */
struct rest_members {
    const char *id, *name, *type, *ttl;
    bool id_is_number;
    const char *data;     /* of a record; in a set NULL: values are strings */
    const char *values;   /* of a set: the list of its values */
    const char *disabled; /* NULL: cannot be switched off */
    const char *zone;     /* names the zone, where an answer holds several */
    const char *kept[6];  /* written back as they were when a record is made
                             anew */
    const char *usual;    /* JSON of a kept member that need not be kept */
    const char *shared;   /* the one of them in which the records of a set are
                             alike: a new one takes it from them */
};

/* Templates of paths, behind the base URL. {account}, {id} (of the zone),
 * {zone} (without dot), {zone.} (with it), {name} (as the API writes it),
 * {fqdn} (the name without dot), {type}, {record} (its id) are replaced,
 * percent-encoded. */
struct rest_paths {
    const char *zones; /* all zones, in pages; NULL: cannot be listed */
    const char *zones_items, *zones_name; /* where they stand; the name */
    const char *zone_find; /* the zone by its name, where an id is needed */
    const char *zone_id;   /* the member of it */
    const char *records;   /* all of a zone, in pages */
    const char *items;     /* where they stand: "a.b"; "": the whole */
    const char *by_name;   /* those of one name; NULL: only all */
    const char *specs;     /* those of all _failover names; NULL: only all */
    const char *specs_items;
    const char *add, *change, *remove; /* one record; POST, `change_method` */
    const char *batch;                 /* several; NULL: one at a time */
};

/* One of the calls that write one set, where a set has more than one or a path
 * of its own. Those that are due are made in their order. */
enum rest_due {
    REST_DUE_NEW = 1,    /* nothing of the set is there */
    REST_DUE_GONE = 2,   /* nothing of it stays */
    REST_DUE_TTL = 4,    /* else: its TTL changes */
    REST_DUE_VALUES = 8, /* else: its values do */
};
enum rest_part { REST_PART_NAME = 1, REST_PART_TTL = 2, REST_PART_VALUES = 4 };
struct rest_set_call {
    unsigned due; /* of enum rest_due: when one of these is so */
    const char *method, *path;
    unsigned parts; /* of enum rest_part, in the body; 0: no body */
};

/* Writes are forms; a record is named by its data. */
struct rest_form {
    const char *zone, *name, *type, *ttl, *disabled;
    /* Of each type: where an answer has the data ("rData.text"), the parameter
     * of the data, and that of the new data in a change (NULL: the first, and
     * the old data is not named). */
    struct rest_form_type {
        enum rr_type type;
        const char *at, *data, *new_data;
    } types[4];
};

/* What a write's answer starts and does not await. Members below `object`. */
struct rest_action {
    const char *object, *id, *status, *error;
    const char *running, *done; /* values of status */
    const char *path;           /* asks again; {record}: its id */
};

struct rest_style {
    const struct provider_ops *ops;
    const struct config_field *fields;
    const char *label;   /* "PowerDNS", for messages */
    const char *root;    /* of the base URL: "/v2"; added where the option url
                            lacks it */
    const char *secret;  /* name of the option */
    const char *header;  /* up to the secret: "Authorization: Bearer " */
    const char *account; /* option that gives {account}; NULL: none */
    const char *zone_id; /* option that gives {id}; NULL: none */

    enum rest_names names;
    const char *apex; /* of REST_RELATIVE, as written; all forms are read */
    enum rest_targets targets;
    bool txt_bare; /* TXT goes out as it is, else in quotes; both are read */
    bool txt_raw;  /* TXT is what DNS serves: quotes are a part of it */

    bool by_set; /* a record set is written as a whole */
    struct rest_members m, specs_m;
    struct rest_paths paths;
    const char *change_method, *batch_method;
    const char *deletes, *updates, *creates; /* members of a batch by id */
    const char *sets;        /* member of a batch by set; NULL: the body */
    const char *set_mark[3]; /* member of a written set: name, replace,
                                delete; NULL: none */
    struct rest_set_call set_calls[5]; /* by set: those of one; ends with
                                          method NULL. None: a batch of one */
    const struct rest_form *form;      /* NULL: writes are JSON */
    const struct rest_action *action;  /* NULL: writes are done when answered */
    size_t batch_max;                  /* records or sets in one batch */
    bool batch_splits;   /* removals go in a batch of their own, later */
    size_t specs_max;    /* so many found at `specs` may be cut short */
    size_t few;          /* up to so many names are asked for singly */
    uint32_t new_ttl_s;  /* of a record, where nothing gives one */
    uint32_t null_ttl_s; /* what no TTL at all stands for; 0: new_ttl_s */
    uint32_t auto_ttl_s; /* what a TTL of 1 stands for; 0: for itself */

    enum rest_paging paging;
    const char *page_size; /* "per_page=100"; NULL: none */
    const char *page_total, *page_now, *page_next;

    const char *left, *reset; /* headers of the budget; NULL: none */
    enum rest_reset reset_form;
    int64_t full_ms; /* how long a 429 without further word lasts */

    /* Hooks, each may be NULL. */
    /* Of the options: further checks, before anything is sent. */
    int (*check)(const struct rest *p, struct err *e);
    /* {account}, where no option gives it. Calls rest_account_is once. */
    void (*find_account)(struct rest *p);
    /* A good status may hide a refusal: sets e and returns -1. */
    int (*verdict)(const cJSON *root, struct err *e);
    bool verdict_is_sure; /* what it refuses was not done */
    /* The record is none of ours to see (a provider's own). */
    bool (*is_hidden)(const cJSON *record);
    /* The provider answers for the record itself: its TTL is not ours to
     * write, and DNS does not show its data. Of a record, or of kept members.
     */
    bool (*is_proxied)(const cJSON *record);
    /* With 409: refused for now, by what others do at this moment. */
    bool (*is_busy)(const cJSON *root);
    /* What the item of `zone_find` says of the zone. */
    void (*on_zone)(struct rest_zone *z, const cJSON *item);
    /* What a page of `records` says of the zone itself. */
    void (*on_page)(struct rest_zone *z, const cJSON *root);
    /* What follows the writes. Calls rest_settled(arg, …) once. */
    void (*settle)(struct rest *p, struct rest_zone *z, void *arg);
    /* What doctor is to be told of a zone that was read. */
    void (*examine)(const struct rest_zone *z, struct findings *f);
};

/* The rows; each in its provider's file. */
extern const struct rest_style powerdns_style, dnsimple_style, cloudflare_style;

/* ---- one instance -------------------------------------------------------- */

struct rest_call;
struct rest_getting;

struct rest {
    struct provider base; /* first */
    struct provider_env env;
    const struct rest_style *style;
    struct endpoint endpoint;
    char *title, *base_url, *secret, *account, *fixed_zone_id;
    struct rest_zone *zones;              /* found so far */
    struct rest_getting *account_waiting; /* see rest_zone.c */
    bool finding_account;

    struct rest_call *waiting; /* calls, in order */
    size_t in_flight;
    struct loop_timer *resume;
    int64_t pause_until_ms; /* clock_mono_ms; nothing is sent before */
    struct err paused;      /* why */
    bool no_batch;          /* found out: the plan has none */

    size_t busy;
    bool closing;
    provider_close_cb *close_cb;
    void *close_arg;
};

int rest_open(const struct provider_ops *ops, const struct provider_env *env,
              const struct config_provider *cfg, struct provider **out,
              struct err *e);
void rest_close(struct provider *p, provider_close_cb *cb, void *arg);
/* Operations count themselves, so that a close waits for them. */
void rest_begin(struct rest *p);
void rest_end(struct rest *p); /* may free p */

/* ---- calls (rest_call.c, rest_answer.c) ---------------------------------- */

struct rest_reply {
    struct err err;    /* ERR_NONE: a good status */
    long status;       /* 0: none */
    bool is_sure;      /* with err: the server did not do it */
    const cJSON *json; /* NULL: none; borrowed during the callback */
    const struct http_response *http; /* borrowed */
};
typedef void rest_reply_cb(void *arg, const struct rest_reply *r);
/* Queues one call. path: behind the base URL, or a whole URL of the same
 * server (a link of an answer); body: JSON or NULL, copied. A GET is tried
 * again where that may help; what is refused for now (429) is sent later, once,
 * when the wait is short. cb once, later. */
void rest_call(struct rest *p, const char *method, const char *path,
               const char *body, rest_reply_cb *cb, void *arg);

/* The requests that an answer says are left; -1: no word of it. */
int64_t rest_budget_left(const struct rest_style *style,
                         const struct http_response *h);

/* Reads an answer. root: *root — deleted by the caller, NULL when there is no
 * JSON. secret is blanked out of texts; NULL: none. */
void rest_answer_read(const struct rest_style *style,
                      const struct http_response *h, const char *what,
                      const char *secret, cJSON **root, struct rest_reply *r);
/* What an error body says, in one line: the JSON of any of the providers,
 * plain text, or a page in HTML. */
void rest_answer_text(const cJSON *root, const char *body, char *out,
                      size_t size);

/* ---- JSON (rest_json.c) -------------------------------------------------- */

/* At most REST_MAX_ANSWER bytes, 32 levels, 2,000,000 values, no NUL in
 * strings. returns the tree (cJSON_Delete), or NULL with e set (ERR_RETRY,
 * ERR_LIMIT) */
cJSON *rest_json_parse(const char *text, size_t len, struct err *e);
/* The member "a.b.c" of root ("": root itself); NULL when missing. */
const cJSON *rest_json_at(const cJSON *root, const char *path);
/* A string, or a whole number in decimal. returns false: neither, or longer */
bool rest_json_text(const cJSON *v, char *out, size_t size);
/* A whole number from 0 to max, as number or decimal string. */
bool rest_json_uint(const cJSON *v, int64_t max, int64_t *out);

/* ---- paths (rest_path.c) ------------------------------------------------- */

struct rest_path_args {
    const struct rest_zone *zone; /* NULL: none */
    const char *name;             /* canonical; NULL: none */
    const char *type, *record;
};
/* out: arena a */
const char *rest_path(const struct rest *p, struct arena *a,
                      const char *template, const struct rest_path_args *args);

/* Adds text, percent-encoded. source: RFC 3986 2.1, 2.3 */
void rest_path_encode(struct buf *b, const char *text);

/* ---- pages (rest_page.c) ------------------------------------------------- */

/* Each item of each page, then done once. A page that repeats itself, or the
 * 1000th, is an error. each: returns 0, or -1 with e set */
struct rest_pages {
    int (*each)(void *arg, const cJSON *item, struct err *e);
    void (*page)(void *arg, const cJSON *root); /* may be NULL */
    void (*done)(void *arg, const struct rest_reply *r, size_t items);
    void *arg;
};
void rest_pages_get(struct rest *p, const char *path, const char *items,
                    const struct rest_pages *pages);

/* ---- names and values (rest_text.c) -------------------------------------- */

/* returns 0, or -1: not a name that the agent handles */
MUST_CHECK int rest_name_in(const struct rest_style *style, const char *text,
                            const char *zone, char out[NAME_SIZE]);
const char *rest_name_out(const struct rest_style *style, const char *name,
                          const char *zone, char out[NAME_SIZE]);
/* The bytes of a TXT value: one or several strings in quotes, or bare. */
void rest_txt_in(const char *text, struct buf *out);
/* A canonical value (TXT: len bytes) as the API takes it. */
void rest_data_out(const struct rest_style *style, enum rr_type t,
                   const char *data, size_t len, struct buf *out);

/* ---- records (rest_record.c) --------------------------------------------- */

struct rest_record {
    const char *id; /* NULL: none */
    char name[NAME_SIZE];
    enum rr_type type;
    const char *data; /* canonical (as it is where it cannot be read as of its
                         type); TXT: bytes, NUL-terminated */
    const char *raw;  /* as the API has it, to be written back */
    size_t len;
    uint32_t ttl_s;
    bool enabled;
    bool proxied;
    const char *kept; /* JSON object of the members to keep; NULL: none */
};
struct rest_records {
    struct arena *a;
    struct rest_record *v;
    size_t n, cap;
};
/* Which ones are wanted. */
struct rest_wanted {
    const char *const *names; /* canonical, sorted by strcmp */
    size_t n;
    bool specs; /* TXT at every _failover name, instead of names */
    bool txt;   /* TXT only, else A, AAAA and CNAME only */
};
/* Adds what is wanted of one item of an answer (a record or a set, as m
 * says). returns 0, or -1 with e set (ERR_RETRY: not a record at all) */
MUST_CHECK int rest_record_read(const struct rest_style *style,
                                const struct rest_members *m, const cJSON *item,
                                const char *zone,
                                const struct rest_wanted *wanted,
                                struct rest_records *out, struct err *e);
/* The owner of a spec, or false: not a _failover name. name: canonical */
bool rest_spec_owner(const char *name, char out[NAME_SIZE]);

/* ---- the zone (rest_zone.c) ---------------------------------------------- */

struct rest_zone {
    char name[NAME_SIZE]; /* canonical */
    bool is_known;        /* id holds, as far as one is needed */
    char id[REST_ID_SIZE];
    bool has_min_ttl;
    uint32_t min_ttl_s; /* of the zone's own, instead of caps.min_ttl_s */
    bool has_serial;
    uint32_t serial;
    uint32_t serial_before; /* the last operation's writes */
    bool is_written;        /* by them: the serial has to differ */
    unsigned flags;         /* the provider's own */
    struct rest_zone *next;
};
/* The zone as the provider knows it; found out once, forgotten by
 * rest_zone_forget. z NULL: see e. cb later. */
typedef void rest_zone_cb(void *arg, struct rest_zone *z, const struct err *e);
void rest_zone_get(struct rest *p, const char *zone, rest_zone_cb *cb,
                   void *arg);
/* The account alone: z is NULL in any case. */
void rest_account_get(struct rest *p, rest_zone_cb *cb, void *arg);
void rest_zone_forget(struct rest_zone *z);
/* The lowest TTL that it takes. */
uint32_t rest_zone_min_ttl(const struct rest *p, const struct rest_zone *z);
/* What is known of it; made where nothing is. */
struct rest_zone *rest_zone_row(struct rest *p, const char *name);
void rest_zones_free(struct rest *p);
/* Of find_account; account NULL: see e. */
void rest_account_is(struct rest *p, const char *account, const struct err *e);

/* ---- reading (rest_read.c) ----------------------------------------------- */

/* What is wanted (names in any order), in an arena of the caller. An answer
 * without any record at all is an error (ERR_RETRY), not "no records". */
typedef void rest_records_cb(void *arg, const struct err *e,
                             const struct rest_records *r);
void rest_read(struct rest *p, struct arena *a, struct rest_zone *z,
               const struct rest_wanted *wanted, rest_records_cb *cb,
               void *arg);
/* A read whose answer was lost leaves nothing in doubt. */
struct err rest_as_read(const struct err *e);

/* ---- the plan (rest_plan.c), pure ---------------------------------------- */

enum rest_act { REST_KEEP, REST_ADD, REST_UPDATE, REST_REMOVE };
struct rest_item {
    enum rest_act act;
    const struct rest_record *record; /* NULL: to be added */
    const char *data;                 /* as it is to be, canonical */
    size_t len;
    uint32_t ttl_s;
    bool ttl_given; /* by the spec */
    bool enabled;
    const char *kept; /* JSON, of a record to be added; NULL: none */
};
struct rest_set {
    char name[NAME_SIZE];
    enum rr_type type;
    uint32_t ttl_s;
    struct rest_item *items;
    size_t n, cap;
    bool is_changed;
};
struct rest_plan {
    struct arena *a;
    uint32_t min_ttl_s; /* in: the lowest that the zone takes */
    struct rest_set *sets;
    size_t n, cap;
};
/* Lays down what the changes whose results are still open (state
 * CHANGE_UNKNOWN) write; those that need nothing become DONE, those that
 * cannot be FAILED. kept: what is remembered of a record that was removed
 * (kept JSON and TTL, see rest_keep), or NULL. */
typedef const char *rest_kept_fn(void *arg, const char *name, enum rr_type t,
                                 const char *data);
void rest_plan_make(const struct rest_style *style,
                    const struct change_set *set,
                    const struct rest_records *have, rest_kept_fn *kept,
                    void *kept_arg, struct change_result *results,
                    struct rest_plan *out);
/* A new item of a set, in a. */
struct rest_item *rest_plan_add(struct arena *a, struct rest_set *s);
/* Is the change as wanted in these records? */
bool rest_plan_is_so(const struct change *c, const struct rest_records *have);

/* ---- writing (rest_write.c) ---------------------------------------------- */

enum rest_outcome {
    REST_OPEN, /* not tried */
    REST_DONE,
    REST_REFUSED, /* see err; the server did not do it */
    REST_UNSURE,  /* see err */
};
struct rest_written {
    size_t set;
    const struct rest_item *item; /* NULL: the set as a whole */
    enum rest_outcome outcome;
    struct err err;
};
/* Writes the changed sets: what is added or changed first, what is removed
 * last and only where nothing before it failed in its set. It ends early when
 * nothing more can come of it (stop: why). */
struct rest_writing {
    struct err stop;
    const struct rest_written *v;
    size_t n;
    bool wrote; /* something may have been written */
};
typedef void rest_writing_cb(void *arg, const struct rest_writing *w);
void rest_write(struct rest *p, struct arena *a, struct rest_zone *z,
                const struct rest_set *sets, size_t n, rest_writing_cb *cb,
                void *arg);
/* The body of one write, or of several at once: for the tests too. heap */
char *rest_write_body(const struct rest *p, const struct rest_zone *z,
                      const struct rest_set *sets, const struct rest_written *v,
                      size_t n, bool batch);

/* ---- one set (rest_set.c), pure ------------------------------------------ */

/* Which calls a changed set is due (enum rest_due). */
unsigned rest_set_due(const struct rest_set *s);
/* parts: of enum rest_part. returns a tree (cJSON_Delete) */
cJSON *rest_set_json(const struct rest_style *style, const struct rest_zone *z,
                     const struct rest_set *s, unsigned parts);
/* A value as the API's JSON has it; name and type, as members of o. */
cJSON *rest_set_data(const struct rest_style *style, enum rr_type t,
                     const struct rest_item *it);
void rest_set_put_name(const struct rest_style *style,
                       const struct rest_zone *z, const struct rest_set *s,
                       cJSON *o);

/* ---- forms (rest_form.c), pure ------------------------------------------- */

/* The row of a type; NULL: none. */
const struct rest_form_type *rest_form_type(const struct rest_form *form,
                                            enum rr_type t);
/* The body of one write. heap */
char *rest_form_body(const struct rest_style *style, const struct rest_zone *z,
                     const struct rest_set *s, const struct rest_item *it);

/* ---- actions (rest_action.c) --------------------------------------------- */

/* A write, as rest_call; where its answer names an action, cb comes when that
 * has ended. One that fails is a refusal (ERR_INPUT, is_sure); one that does
 * not end within a minute, or is lost, is ERR_UNKNOWN. */
void rest_action_call(struct rest *p, const char *method, const char *path,
                      const char *body, rest_reply_cb *cb, void *arg);

/* After the writes of an operation: the provider's settle. */
struct rest_settled {
    struct err err;
    bool has_serial;
    uint32_t serial;
};
typedef void rest_settled_cb(void *arg, const struct rest_settled *s);
void rest_settle(struct rest *p, struct rest_zone *z, bool wrote,
                 rest_settled_cb *cb, void *arg);
void rest_settled(void *arg, const struct rest_settled *s);

/* What is remembered of a record that is to be removed, by the agent where it
 * can (provider_env.keep). */
void rest_keep(struct rest *p, const struct rest_record *r);
const char *rest_kept(void *p, const char *name, enum rr_type t,
                      const char *data);

/* ---- operations ---------------------------------------------------------- */

void rest_list_zones(struct provider *p, provider_names_cb *cb, void *arg);
void rest_list_specs(struct provider *p, const char *zone,
                     provider_specs_cb *cb, void *arg);
void rest_list_records(struct provider *p, const char *zone,
                       const char *const *names, size_t n,
                       provider_records_cb *cb, void *arg);
void rest_apply(struct provider *p, const struct change_set *set,
                provider_apply_cb *cb, void *arg);
void rest_write_spec(struct provider *p, const struct spec_write *w,
                     provider_written_cb *cb, void *arg);
void rest_check(struct provider *p, const char *zone, provider_check_cb *cb,
                void *arg);

/* For the provider's own table, beside type, fields, caps and rest. */
#define REST_OPERATIONS                                                        \
    .open = rest_open, .close = rest_close, .list_zones = rest_list_zones,     \
    .list_specs = rest_list_specs, .list_records = rest_list_records,          \
    .apply = rest_apply, .write_spec = rest_write_spec, .check = rest_check

#endif
