#ifndef PROVIDERS_ISPCONFIG_ISPCONFIG_H
#define PROVIDERS_ISPCONFIG_ISPCONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/ispconfig/soap.h"
#include "providers/provider.h"
#include "providers/shared/endpoint.h"

/* The ISPConfig provider, shared by its own files only:
 *   ispconfig.c          options, open, close
 *   ispconfig_session.c  login, one call, another login, logout
 *   ispconfig_answer.c   what an HTTP answer means
 *   ispconfig_rows.c     zones and records as rows
 *   ispconfig_list.c     the rows of some names
 *   ispconfig_read.c     the three lists
 *   ispconfig_apply.c    a change set, step by step
 *   ispconfig_write.c    one write and its read-back
 *   ispconfig_serial.c   permissions before, the serial after
 *   ispconfig_spec.c     a spec's TXT record
 *   ispconfig_check.c    what doctor asks
 * source: ISPConfig's remote API, remoting_client/API-docs */

#define ISPCONFIG_MAX_ANSWER ((size_t)16 * 1024 * 1024)
#define ISPCONFIG_SESSION_SIZE 128
#define ISPCONFIG_NO_ID "primary_id_missing" /* our name for a page in HTML */

/* ---- one instance -------------------------------------------------------- */

enum isp_session {
    ISP_NO_SESSION,
    ISP_LOGGING_IN,
    ISP_LOGGED_IN,
};

struct isp_call;

struct ispconfig {
    struct provider base; /* first */
    struct provider_env env;
    struct loop *loop;
    struct http *http;
    struct endpoint endpoint;
    char *title, *user, *password;

    enum isp_session session;
    char sid[ISPCONFIG_SESSION_SIZE];
    int64_t login_at_ms; /* clock_mono_ms of the login's sending */
    bool relogged;       /* the one login that a lost session may cost */
    int ip_family;       /* of the login: the session is bound to it */
    struct err refused;  /* no call is sent until then */
    int64_t refused_until_ms;
    struct isp_call *waiting; /* for the login, in order */

    bool may_change_zone; /* tried once, see isp_permissions */
    bool may_change[4];   /* A, AAAA, CNAME, TXT */

    size_t busy; /* calls and operations under way */
    bool closing;
    provider_close_cb *close_cb;
    void *close_arg;
};

/* Operations count themselves, so that a close waits for them. */
void isp_begin(struct ispconfig *p);
void isp_end(struct ispconfig *p); /* may free p */

/* ---- one call (ispconfig_session.c) -------------------------------------- */

struct isp_reply {
    struct err err;                   /* ERR_NONE: value holds the answer */
    char fault[SOAP_FAULT_CODE_SIZE]; /* the fault's code, "" when none */
    bool was_sent;                    /* the server may have executed it */
    const struct soap_value *value;   /* borrowed during the callback */
};
typedef void isp_reply_cb(void *arg, const struct isp_reply *r);

/* Calls method(session, args…), logging in before where that is due. A
 * session that is gone costs one new login and one repetition.
 * args: taken; wiped and freed
 * is_write: libcurl must not send it twice */
void isp_call(struct ispconfig *p, const char *method, struct soap_args *args,
              bool is_write, isp_reply_cb *cb, void *arg);
/* Ends the session, if there is one; cb once. */
void isp_logout(struct ispconfig *p, loop_cb *cb, void *arg);

/* ---- answers (ispconfig_answer.c) ---------------------------------------- */

/* Fills r of an HTTP answer to method; values live in a. */
void isp_answer_read(const struct http_response *h, const char *method,
                     struct arena *a, struct isp_reply *r);
/* The fault says that nothing more may be sent for now: lock-out, wrong
 * password. */
bool isp_fault_stops(const char *fault);
/* The fault is raised before anything is changed, whatever the call was. */
bool isp_fault_is_early(const char *fault);
/* The check box of the remote user that allows method. */
const char *isp_checkbox(const char *method);

/* ---- rows (ispconfig_rows.c) --------------------------------------------- */

/* A row as read: all its columns, for writing it back. */
struct isp_row {
    const char **columns, **values; /* value NULL: SQL NULL */
    size_t n;
    const char *id;       /* digits */
    char name[NAME_SIZE]; /* canonical */
    enum rr_type type;
    const char *data; /* canonical */
    uint32_t ttl_s;
    bool active;
};

struct isp_zone {
    const char *id, *server_id, *origin; /* as stored */
    char name[NAME_SIZE];                /* canonical */
    uint32_t serial, ttl_s;
};

/* The list or single record in v as n maps: a list of one is as good as one.
 * false: neither (nil, false, text). */
bool isp_records_of(const struct soap_value *v, const struct soap_value **items,
                    size_t *n);
/* Copies one record into a. returns 1: a row of A, AAAA, CNAME in zone; 0:
 * another, or one that cannot be read as such; -1 with e set (ERR_RETRY): not
 * a record at all */
MUST_CHECK int isp_row_read(const struct soap_value *v,
                            const struct isp_zone *z, struct arena *a,
                            struct isp_row *out, struct err *e);
/* The same for TXT records; their data is what is stored. */
MUST_CHECK int isp_txt_row_read(const struct soap_value *v,
                                const struct isp_zone *z, struct arena *a,
                                struct isp_row *out, struct err *e);
/* The column's text; NULL when missing or SQL NULL. */
const char *isp_row_get(const struct isp_row *r, const char *column);
/* "dns_a_get", "dns_cname_update" …: verb of the type's family. In a. */
const char *isp_method(struct arena *a, enum rr_type t, const char *verb);
/* Canonical name of a stored one: FQDN, relative, "", "@", "*" …
 * returns 0, or -1 (not a name) */
MUST_CHECK int isp_name_of(const char *stored, const struct isp_zone *z,
                           char out[NAME_SIZE]);
/* The ways in which name may be stored in the zone; returns how many. */
size_t isp_name_variants(const char *name, const struct isp_zone *z,
                         char out[4][NAME_SIZE]);

/* The zone's row, read now. zone: canonical. What z points to lives in a.
 * z NULL: err says why (ERR_RETRY: the list came back empty) */
typedef void isp_zone_cb(void *arg, const struct isp_zone *z,
                         const struct err *err);
void isp_zone_find(struct ispconfig *p, struct arena *a, const char *zone,
                   isp_zone_cb *cb, void *arg);

/* ---- the rows of some names (ispconfig_list.c) --------------------------- */

/* All rows (A, AAAA, CNAME) of the names, in a. names: copied. A zone that
 * shows no record at all is an error (ERR_RETRY), not "no records". */
struct isp_rows {
    struct err err;
    struct isp_row *v;
    size_t n;
};
typedef void isp_rows_cb(void *arg, const struct isp_rows *rows);
void isp_rows_list(struct ispconfig *p, struct arena *a,
                   const struct isp_zone *z, const char *const *names, size_t n,
                   isp_rows_cb *cb, void *arg);

/* ---- permissions and serial (ispconfig_serial.c) ------------------------- */

/* Tries what a change of zone z and of records of these types needs.
 * types: ends with 0; e: ERR_NONE when all is allowed */
typedef void isp_done_cb(void *arg, const struct err *e);
void isp_permissions(struct ispconfig *p, const enum rr_type *types,
                     isp_done_cb *cb, void *arg);

/* Reads the zone's serial after writes, and raises it where the server did
 * not. z: as read before them, with the serial of then. */
struct isp_serial {
    struct err err;
    bool known;
    uint32_t serial;
};
typedef void isp_serial_cb(void *arg, const struct isp_serial *s);
void isp_serial_settle(struct ispconfig *p, const struct isp_zone *z,
                       isp_serial_cb *cb, void *arg);
/* ---- one write (ispconfig_write.c) --------------------------------------- */

/* What a row is to become. */
struct isp_write {
    const struct isp_zone *zone;
    const struct isp_row *row; /* as listed */
    bool active;
    int64_t ttl_s;   /* -1: as it is */
    bool new_serial; /* the zone's last write of this round */
    bool anyway;     /* write it although it is so: for the serial */
};
enum isp_outcome {
    ISP_WRITTEN,   /* is so now */
    ISP_IS_SO,     /* was so already, nothing was written */
    ISP_GONE,      /* no such record any more, nothing was written */
    ISP_REFUSED,   /* nothing was changed, see err */
    ISP_UNKNOWN,   /* see err */
    ISP_UNREACHED, /* refused, and further writes are pointless */
};
typedef void isp_write_cb(void *arg, enum isp_outcome outcome,
                          const struct err *err);
/* Reads the row again, writes it back with active and TTL changed, and reads
 * it back where the answer leaves a doubt. */
void isp_write(struct ispconfig *p, const struct isp_write *w, isp_write_cb *cb,
               void *arg);
/* Adds a row. new_serial as above; ttl_s -1: the zone's. */
void isp_add(struct ispconfig *p, const struct isp_zone *z,
             const struct change *c, bool new_serial, isp_write_cb *cb,
             void *arg);
/* The columns of a new row, as a map. */
void isp_put_new_row(struct soap_args *args, const struct isp_zone *z,
                     const struct change *c);

/* ---- operations ---------------------------------------------------------- */

void isp_list_zones(struct provider *p, provider_names_cb *cb, void *arg);
void isp_list_specs(struct provider *p, const char *zone, provider_specs_cb *cb,
                    void *arg);
void isp_list_records(struct provider *p, const char *zone,
                      const char *const *names, size_t n,
                      provider_records_cb *cb, void *arg);
void isp_apply(struct provider *p, const struct change_set *set,
               provider_apply_cb *cb, void *arg);
void isp_check(struct provider *p, const char *zone, provider_check_cb *cb,
               void *arg);
void isp_write_spec(struct provider *p, const struct spec_write *w,
                    provider_written_cb *cb, void *arg);

#endif
