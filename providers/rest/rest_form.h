#ifndef PROVIDERS_REST_REST_FORM_H
#define PROVIDERS_REST_REST_FORM_H

#include "providers/rrset.h"

/* The body of a write that is no JSON, but a form: pure. */

struct rest_form;
struct rest_form_type;
struct rest_item;
struct rest_set;
struct rest_style;
struct rest_zone;

/* The row of a type; NULL: none. */
const struct rest_form_type *rest_form_type(const struct rest_form *form,
                                            enum rr_type t);
/* The body of one write. heap */
char *rest_form_body(const struct rest_style *style, const struct rest_zone *z,
                     const struct rest_set *s, const struct rest_item *it);

#endif
