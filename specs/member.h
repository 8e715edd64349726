#ifndef SPECS_MEMBER_H
#define SPECS_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "specs/spec.h"
#include "specs/value.h"

/* Members as const tables: the parser, the messages, the JSON Schema and
 * the manual all come from them. */

enum spec_member_kind {
    SPEC_MEMBER_COUNT,   /* whole number */
    SPEC_MEMBER_MS,      /* duration, kept in milliseconds */
    SPEC_MEMBER_S,       /* duration, kept in whole seconds */
    SPEC_MEMBER_PERCENT, /* "50%" */
    SPEC_MEMBER_CHOICE,  /* one of `choices`; the value is its place */
    SPEC_MEMBER_BOOL,
    SPEC_MEMBER_BOOL_MS, /* true (min), false (-1), or a duration */
    SPEC_MEMBER_STRING,
    SPEC_MEMBER_NAME,    /* a domain name */
    SPEC_MEMBER_ADDRESS, /* a literal address */
    SPEC_MEMBER_CHECK,   /* a check, or a list of checks */
    SPEC_MEMBER_KIND,    /* a kind of check, or a shorthand */
    SPEC_MEMBER_COND,    /* a scenario */
    SPEC_MEMBER_CONDS,   /* a list of conditions */
    SPEC_MEMBER_ACCESS,  /* checks with a target, or need and of */
    SPEC_MEMBER_TARGETS, /* a list of addresses, with or without port */
    SPEC_MEMBER_STATUS,  /* HTTP status codes and ranges */
    SPEC_MEMBER_PAIRS,   /* an object of scalars */
    SPEC_MEMBER_NAMES,   /* a list of domain names */
    SPEC_MEMBER_CHOICES, /* a list of `choices` */
    SPEC_MEMBER_LIST,    /* a list of objects of `table` */
    SPEC_MEMBER_OBJECT,  /* an object of `table` */
    SPEC_MEMBER_MAP,     /* named things: by `table`, else as `of` says */
};

struct spec_table;

struct spec_member {
    const char *name;
    enum spec_member_kind kind;
    bool required;
    bool apex_only;
    bool quoted;      /* free text: the bare spelling cannot say it */
    uint32_t kinds;   /* of checks that take it, a bit each; 0: all */
    const char *unit; /* of min and max: "ms", "s", "%"; NULL: none */
    int64_t min, max;
    const char *const *choices;     /* NULL-terminated */
    const struct spec_table *table; /* of an object, list or map */
    enum spec_member_kind of;       /* of a map without a table */
    const char *dflt;               /* as text; NULL: none */
    const char *help;               /* one line */
};

struct spec_table {
    const char *what; /* "a record", for messages */
    const struct spec_member *members;
    size_t n;
    bool unknown_warns; /* rows: an unknown member is a warning */
};

/* Members of `defaults`; places in spec_object_defaults. */
enum spec_default {
    SPEC_DEFAULT_TTL,
    SPEC_DEFAULT_TIMEOUT,
    SPEC_DEFAULT_ACCESS,
    SPEC_DEFAULT_RETRY,
    SPEC_DEFAULT_SUCCESS,
    SPEC_DEFAULT_FAILURE,
    SPEC_NDEFAULTS
};

#define SPEC_LIST_MAX 64u /* checks of a record, targets, parts of a need */

/* What a check or record takes that does not say it itself. */
struct spec_basis {
    int64_t v[SPEC_NDEFAULTS]; /* a timeout of -1: by the kind of check */
    bool rows;                 /* repeat a timeout */
};

struct spec_scope;

/* What one call of spec_parse reads with. */
struct spec_reader {
    struct arena *arena;
    const struct spec_context *ctx;
    const char *where; /* "_failover.www.example.org" */
    bool apex;         /* this is the zone's apex spec */
    bool keeps_doc;    /* what is read refers to its tree for good */
    struct err *e;
    struct spec_scope *scope;    /* of names */
    struct spec_basis own, rows; /* set before records are read */
    uint32_t vantage_need;       /* for checks that give none */
    struct spec_note *warnings;
    size_t nwarnings, cap_warnings; /* heap until spec_parse ends */
};

/* Sets the error "WHERE POINTER: found FOUND; accepted: ACCEPTED"; returns
 * -1. accepted is a format. */
int spec_member_error(struct spec_reader *r, const struct spec_value *v,
                      const char *accepted, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a text of its own behind "WHERE POINTER: "; returns -1. */
int spec_member_fail(struct spec_reader *r, const struct spec_value *v,
                     const char *text, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a warning "WHERE POINTER: text". v NULL: no pointer. */
void spec_member_warn(struct spec_reader *r, const struct spec_value *v,
                      const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* Sorts the members of v, an object, by the table.
 * out: given — table->n pointers, NULL where a member is absent
 * returns 0, or -1 with r->e set (ERR_INPUT: not an object, unknown member,
 * required one missing, apex member elsewhere). `comment` and x-… are
 * skipped. */
MUST_CHECK int spec_member_collect(struct spec_reader *r,
                                   const struct spec_value *v,
                                   const struct spec_table *t,
                                   const struct spec_value **given);

/* A count, duration, percentage or choice; the member says which, its
 * limits and unit. Numbers may be JSON numbers or strings of digits.
 * out: *out — in the member's unit
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_member_number(struct spec_reader *r,
                                  const struct spec_value *v,
                                  const struct spec_member *m, int64_t *out);
/* The agent's own limit, on top of the language's: v, a period of ms.
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_member_period(struct spec_reader *r,
                                  const struct spec_value *v, int64_t ms);
/* true or false; a bare token may say so too. */
MUST_CHECK int spec_member_bool(struct spec_reader *r,
                                const struct spec_value *v, bool *out);
/* A string that is not empty; bare tokens are strings. Borrowed. */
MUST_CHECK int spec_member_string(struct spec_reader *r,
                                  const struct spec_value *v,
                                  const char *accepted, const char **out);
/* Digits as a whole number from min to max: no sign, fraction, exponent or
 * leading blank. returns 0, or -1 (nothing set). */
MUST_CHECK int spec_member_digits(const char *text, int64_t min, int64_t max,
                                  int64_t *out);
/* A name as spec-language 3 writes it: absolute with a final dot, relative
 * to the zone, or "@".
 * in:  accepted — for the message
 * out: name — canonical; not necessarily within the zone
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_member_name(struct spec_reader *r,
                                const struct spec_value *v,
                                const char *accepted, char name[NAME_SIZE]);

/* What a member takes, for messages and the manual; returns out. */
const char *spec_member_accepts(const struct spec_member *m, char *out,
                                size_t size);
/* A value of a member in its unit as its canonical text: "10s", "50%",
 * "priority"; returns out. */
const char *spec_member_format(const struct spec_member *m, int64_t value,
                               char *out, size_t size);

#endif
