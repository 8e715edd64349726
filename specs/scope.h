#ifndef SPECS_SCOPE_H
#define SPECS_SCOPE_H

#include "specs/member.h"

/* The names that a spec can use: its own checks, dcs and scenarios, and below
 * them those of the apex spec. What is named is read when it is first used,
 * so the order of definition does not matter; the apex spec's names are read
 * anew in the spec that uses them. source: spec-language 2, 6, 8 */

enum spec_named_kind {
    SPEC_NAMED_CHECK,
    SPEC_NAMED_DC,
    SPEC_NAMED_SCENARIO,
    SPEC_NNAMED
};

/* A definition as written. */
struct spec_named {
    const char *name;
    enum spec_named_kind kind;
    const struct spec_value *at;
    size_t document;
};

/* Levels of scenarios and dcs that name each other. */
#define SPEC_NAMED_DEPTH_MAX 64u

/* [A-Za-z_][A-Za-z0-9_-]{0,62} */
bool spec_scope_is_name(const char *text);

/* Opens the scope of a reader over n definitions of its own, sorted by name,
 * each name once; they must outlive it. */
void spec_scope_open(struct spec_reader *r, const struct spec_named *own,
                     size_t n);
/* Reads all of its own definitions.
 * returns 0, or -1 with r->e set (ERR_INPUT; ERR_LIMIT: nested too deep) */
MUST_CHECK int spec_scope_read(struct spec_reader *r);
/* Makes the arrays of s; every index that was noted is final afterwards. */
void spec_scope_close(struct spec_reader *r, struct spec *s);

/* What name means in v.
 * in:  kinds — bits (1u << SPEC_NAMED_…) of those that are accepted here
 * out: *kind, *id — to be noted where it is kept
 * returns 0, or -1 with r->e set (ERR_INPUT: not known, of another kind, a
 * cycle; ERR_LIMIT: nested too deep) */
MUST_CHECK int spec_scope_find(struct spec_reader *r,
                               const struct spec_value *v, const char *name,
                               unsigned kinds, enum spec_named_kind *kind,
                               size_t *id);

/* A check written in place; returns its id. */
size_t spec_scope_add_check(struct spec_reader *r, const struct spec_check *c);
/* A check in place that is not used after all; one with a name stays. */
void spec_scope_forget(struct spec_reader *r, size_t check);
/* *at, which lives in the arena, holds an id: it is made final on closing. */
void spec_scope_note(struct spec_reader *r, enum spec_named_kind kind,
                     size_t *at);
/* The final index of an id, after closing. */
size_t spec_scope_index(const struct spec_reader *r, enum spec_named_kind kind,
                        size_t id);
/* By id, while reading. Borrowed until the next check is added. */
const struct spec_check *spec_scope_check(const struct spec_reader *r,
                                          size_t id);
const struct spec_cond *spec_scope_cond(const struct spec_reader *r,
                                        size_t scenario);
/* A dc's `given` of a dimension. */
bool spec_scope_has_dim(const struct spec_reader *r, size_t dc,
                        enum spec_dimension d);

#endif
