#ifndef PROVIDERS_ROUTE53_ROUTE53_ANSWER_H
#define PROVIDERS_ROUTE53_ROUTE53_ANSWER_H

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rrset.h"

/* What Route 53 says, from XML to values, and its spelling of names and texts.
 * Pure. source: Route 53 API Reference (2013-04-01), the service model */

#define ROUTE53_MAX_ANSWER ((size_t)4 * 1024 * 1024)
#define ROUTE53_CODE_SIZE 64

/* ---- spelling ------------------------------------------------------------ */

/* Canonical name of one as answered: final dot or not, every byte but letters,
 * digits, "-", "_" and "." as \ooo (octal: "\052" is "*", where master files
 * would read 52). returns 0, or -1 when it is no name that the agent handles
 * (an escaped dot, for one, is part of a label) */
MUST_CHECK int route53_name(const char *answered, char out[NAME_SIZE]);

/* The bytes of a TXT value: strings in quotes, blanks between them, joined.
 * returns false when it is not of that form */
bool route53_txt_decode(const char *value, struct buf *out);

/* ---- record sets --------------------------------------------------------- */

/* One ResourceRecordSet. Everything lives in the arena. */
struct route53_set {
    char name[NAME_SIZE]; /* canonical; "" when it is none of ours */
    const char *as_named; /* the name as answered */
    const char *type;     /* "A", "NS" … */
    uint32_t ttl_s;
    const char **values; /* as answered */
    size_t n;
    const char *managed; /* NULL: plain records; else what decides: "an alias",
                            "a health check", "set identifier \"eu\"" … Such a
                            set is touched only under its identifier */
    const char *set_id;  /* NULL: it has none */
    const char *fixed;   /* NULL, or why not even then: "an alias" … */
    /* Its other members as XML, for the places before TTL and behind
     * ResourceRecords; NULL: none */
    const char *before, *after;
};

/* Where a list goes on. */
struct route53_place {
    const char *name, *type, *id; /* as answered; NULL: not given */
};

struct route53_sets {
    struct route53_set *v;
    size_t n;
    bool truncated;
    struct route53_place next;
};

struct route53_zone_row {
    const char *id;       /* without /hostedzone/ */
    char name[NAME_SIZE]; /* canonical; "" when it is none of ours */
    bool is_private;
    uint64_t records; /* sets in it; 0: not said */
};

struct route53_zones {
    struct route53_zone_row *v;
    size_t n;
    bool truncated;
    const char *next_name, *next_id; /* hostedzonesbyname; NULL: not given */
    const char *next_marker;         /* hostedzone */
};

struct route53_change {
    const char *id; /* without /change/ */
    bool in_sync;
};

/* The members of one ResourceRecordSet element that say how it is routed, to
 * managed, set_id, fixed, before and after of out. */
void route53_read_routing(const xmlNode *set, struct arena *a,
                          struct route53_set *out);

/* Each reads one answer's body (len bytes) into arena a. returns 0, or -1
 * with e set (ERR_RETRY: not that answer, or cut; ERR_LIMIT; ERR_INPUT: see
 * xml_parse) */
MUST_CHECK int route53_read_sets(struct arena *a, const char *body, size_t len,
                                 struct route53_sets *out, struct err *e);
MUST_CHECK int route53_read_zones(struct arena *a, const char *body, size_t len,
                                  struct route53_zones *out, struct err *e);
MUST_CHECK int route53_read_change(struct arena *a, const char *body,
                                   size_t len, struct route53_change *out,
                                   struct err *e);

/* The code and the messages of an error's body, both forms: ErrorResponse,
 * and InvalidChangeBatch with its Messages.
 * returns false when the body is none of them; code and text are "" then */
bool route53_read_error(struct arena *a, const char *body, size_t len,
                        char code[ROUTE53_CODE_SIZE], const char **text);

/* ---- requests ------------------------------------------------------------ */

/* A set as it is to be after (or, for a DELETE, as it was before) a change. */
struct route53_records {
    const char *name; /* as it goes into the request */
    const char *type;
    uint32_t ttl_s;
    const char *const *values; /* as they go into the request */
    size_t n;
    const char *before, *after; /* of the set (struct route53_set) */
};

/* The parts of a ChangeResourceRecordSets request, added to body in this
 * order; deletions go before creations. comment: cut at 256 characters.
 * Elements stand in the order of the service model. */
void route53_batch_open(struct buf *body, const char *comment);
void route53_batch_change(struct buf *body, const char *action,
                          const struct route53_records *r);
void route53_batch_close(struct buf *body);

#endif
