#ifndef SPECS_SCOPE_NAMES_H
#define SPECS_SCOPE_NAMES_H

#include "specs/scope.h"

/* Names of checks, dcs and scenarios: how they are looked up, and what is
 * said of one that is not there. */

struct spec_doc;

/* By name among n that are sorted; NULL: none. */
const struct spec_named *spec_named_find(const struct spec_named *list,
                                         size_t n, const char *name);
/* Sets the error of a name that is not known: what exists, and the nearest;
 * returns -1. apex may be NULL. */
int spec_named_unknown(struct spec_reader *r, const struct spec_value *v,
                       const char *name, unsigned kinds,
                       const struct spec_named *own, size_t nown,
                       const struct spec_doc *apex);
/* Sets the error of a name of another kind; returns -1. */
int spec_named_other(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_named *n, unsigned kinds);
const char *spec_named_kind_name(enum spec_named_kind k); /* "check" … */

#endif
