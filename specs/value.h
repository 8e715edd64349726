#ifndef SPECS_VALUE_H
#define SPECS_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/buf.h"
#include "agent/base/err.h"
#include "agent/base/mem.h"

/* The tree of values behind a spec, the same for JSON and for the bare
 * spelling. Everything lives in the arena that it was made in. */

#define SPEC_QUOTE_MAX 60u    /* bytes of input that one message quotes */
#define SPEC_QUOTE_SIZE 72u   /* with quotes, ellipsis and NUL */
#define SPEC_POINTER_SIZE 96u /* of a JSON pointer in a message */

enum spec_value_type {
    SPEC_VALUE_NULL,
    SPEC_VALUE_FALSE,
    SPEC_VALUE_TRUE,
    SPEC_VALUE_NUMBER,
    SPEC_VALUE_STRING,
    SPEC_VALUE_TOKEN, /* bare: the member that takes it decides its type */
    SPEC_VALUE_ARRAY,
    SPEC_VALUE_OBJECT,
};

struct spec_value {
    enum spec_value_type type;
    const char *name; /* of a member; NULL: an element or the root */
    const char *text; /* string: decoded; number, token: as written */
    const struct spec_value *parent;
    struct spec_value *child, *last, *next;
    size_t n;                               /* children */
    size_t index;                           /* place in the parent, from 0 */
    const struct spec_value *const *sorted; /* object: members by name */
};

/* A new value at the end of parent's children (NULL: a root). name and text
 * are borrowed and must live as long as the arena. */
struct spec_value *spec_value_add(struct arena *a, struct spec_value *parent,
                                  enum spec_value_type type, const char *name,
                                  const char *text);
/* Ends an object: its members can be looked up from now on.
 * returns a member whose name an earlier one has too, or NULL */
const struct spec_value *spec_value_close(struct arena *a,
                                          struct spec_value *object);
/* The member called name of a closed object, or NULL. Borrowed. */
const struct spec_value *spec_value_find(const struct spec_value *object,
                                         const char *name);

/* v and what is below it once more, in arena a, with its texts. Its parent is
 * v's own, so that messages name its place; it is nobody's child. */
struct spec_value *spec_value_copy(struct arena *a, const struct spec_value *v);

/* Strings, numbers and tokens: what a text can be read from. */
bool spec_value_is_scalar(const struct spec_value *v);

/* A total order of values that knows nothing of the order of members;
 * strings, numbers and tokens compare by their text. 0: equal. */
int spec_value_compare(const struct spec_value *a, const struct spec_value *b);

/* The JSON pointer of v, "" for the root, cut with an ellipsis where it is
 * longer than a message bears; returns out. source: RFC 6901 3 */
const char *spec_value_pointer(const struct spec_value *v,
                               char out[SPEC_POINTER_SIZE]);
/* v for a message: "text" or 443 or `a list`, at most SPEC_QUOTE_MAX bytes
 * of input; returns out. */
const char *spec_value_quote(const struct spec_value *v,
                             char out[SPEC_QUOTE_SIZE]);
/* n bytes for a message, between quotes, cut and freed of control
 * characters and bad UTF-8; returns out. */
const char *spec_value_quote_bytes(const char *p, size_t n,
                                   char out[SPEC_QUOTE_SIZE]);

/* text as a JSON string with its quotes. source: RFC 8259 7 */
void spec_value_quote_json(struct buf *b, const char *text);

/* Bytes of the UTF-8 character at p (n bytes left), 0: not valid.
 * source: RFC 3629 4 */
size_t spec_value_utf8(const char *p, size_t n);

#endif
