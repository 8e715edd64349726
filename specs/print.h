#ifndef SPECS_PRINT_H
#define SPECS_PRINT_H

#include "agent/base/buf.h"
#include "specs/member.h"

/* Canonical text, in JSON or bare. Each call writes one value or key, with a
 * comma before it where one belongs. */
struct spec_printer {
    struct buf b;
    struct err *e; /* NULL: JSON; else bare, for what bare cannot say */
    bool failed;
    bool more; /* a comma belongs before the next */
};

void spec_print_open(struct spec_printer *p, char bracket); /* [ or { */
void spec_print_close(struct spec_printer *p, char bracket);
/* v, here and below: the value it comes from, for messages; may be NULL. */
void spec_print_key(struct spec_printer *p, const struct spec_value *v,
                    const char *name);
void spec_print_string(struct spec_printer *p, const struct spec_value *v,
                       const char *text);
/* A number, true, false. */
void spec_print_raw(struct spec_printer *p, const char *text);
/* A value of a member, which must have been read without error. */
void spec_print_value(struct spec_printer *p, const struct spec_member *m,
                      const struct spec_value *v);
/* The members of v that the table knows, in its order. */
void spec_print_object(struct spec_printer *p, const struct spec_table *t,
                       const struct spec_value *v);

#endif
