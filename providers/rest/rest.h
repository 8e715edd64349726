#ifndef PROVIDERS_REST_REST_H
#define PROVIDERS_REST_REST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/provider.h"
#include "providers/shared/endpoint.h"

/* Providers with a REST API in JSON. All that they do is here, once; what
 * differs between them is a row of struct rest_style and, where a table does
 * not say it, a hook. Here are the table, one instance and the operations; what
 * the files share among themselves is in the header of the file that does it.
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

#define REST_ID_SIZE 128

struct findings;
struct rest;
struct rest_record;
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
