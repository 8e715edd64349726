#ifndef SPECS_CHECK_H
#define SPECS_CHECK_H

#include "specs/member.h"

/* Checks as they are written: a port, a shorthand, a URL, an object, a name.
 * source: spec-language 5 */

enum spec_check_rest { /* what a shorthand says behind the port */
                       SPEC_REST_NONE,
                       SPEC_REST_PATH,
                       SPEC_REST_QUERY,   /* /name/TYPE */
                       SPEC_REST_SERVICE, /* /service, may be left out */
                       SPEC_REST_COMMAND, /* the command's name, in the port's
                                             place */
};

struct spec_check_form {
    const char *name;
    const char *example; /* the shorthand */
    uint16_t port;       /* default of a check object; 0: none */
    bool ported;         /* has a port at all */
    bool tls;            /* from the first byte on */
    enum spec_check_rest rest;
    int64_t timeout_ms; /* built in */
};
extern const struct spec_check_form spec_check_forms[SPEC_CHECK_NKINDS];
extern const struct spec_table spec_check_members; /* of a check object */

/* Bits of spec_member.kinds. */
#define SPEC_CHECK_BIT(k) (1u << (k))

/* text is a kind of check ("tcp"), all of it or up to a colon.
 * returns the kind, or -1 */
int spec_check_kind_of(const char *text);

/* Reads `check`: a check, or a list of checks that must all pass.
 * in:  b — defaults of those that are written in place
 * out: *ids — of the scope, in the arena; equal ones once
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_check_read(struct spec_reader *r,
                               const struct spec_value *v,
                               const struct spec_basis *b, const size_t **ids,
                               size_t *n);
/* One check: in place, or by the name of one.
 * in:  text — what to read instead of v's own; NULL: that
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_check_read_one(struct spec_reader *r,
                                   const struct spec_value *v, const char *text,
                                   const struct spec_basis *b, size_t *id);
/* The same, never a name. out: *c — complete */
MUST_CHECK int spec_check_define(struct spec_reader *r,
                                 const struct spec_value *v, const char *text,
                                 const struct spec_basis *b,
                                 struct spec_check *c);

/* A shorthand or URL into *c: kind, port, rest, host, target; else untouched.
 * returns 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_check_shorthand(struct spec_reader *r,
                                    const struct spec_value *v,
                                    const char *text, struct spec_check *c);
/* What follows the port of a kind that takes it: path, query, service.
 * returns 0, or -1 (nothing set) */
MUST_CHECK int spec_check_rest(struct spec_reader *r, const char *text,
                               struct spec_check *c);
/* The dialog of a check that is being read, to be written: made where there is
 * none yet. */
struct spec_dialog *spec_check_dialog(struct spec_reader *r,
                                      struct spec_check *c)
    __attribute__((returns_nonnull));
/* A host name for Host or SNI: canonical without the final dot.
 * returns 0, or -1 (nothing set) */
MUST_CHECK int spec_check_host(struct spec_reader *r, const char *text,
                               const char **out);
/* What c, whose kind is known, takes from the defaults of its place. */
void spec_check_fill(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_basis *b, struct spec_check *c);
/* A check object into *c, complete. */
MUST_CHECK int spec_check_object(struct spec_reader *r,
                                 const struct spec_value *v,
                                 const struct spec_basis *b,
                                 struct spec_check *c);

/* The members of a check object that only HTTP has; v NULL: not given.
 * return 0, or -1 with r->e set (ERR_INPUT) */
MUST_CHECK int spec_check_status(struct spec_reader *r,
                                 const struct spec_value *v,
                                 struct spec_check *c);
MUST_CHECK int spec_check_headers(struct spec_reader *r,
                                  const struct spec_value *v,
                                  struct spec_check *c);
MUST_CHECK int spec_check_json(struct spec_reader *r,
                               const struct spec_value *v,
                               struct spec_check *c);
/* Sets the error that what is not allowed; returns -1. */
int spec_check_active(struct spec_reader *r, const struct spec_value *v,
                      const char *what);

/* All that is asked and how; names and places do not count. */
bool spec_check_equal(const struct spec_check *a, const struct spec_check *b);
/* It has no target of its own, or needs the set's name for Host or SNI. */
bool spec_check_is_local(const struct spec_check *c);
/* Host or SNI that it needs comes from the set's name. */
bool spec_check_wants_host(const struct spec_check *c);

#endif
