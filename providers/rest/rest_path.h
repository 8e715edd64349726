#ifndef PROVIDERS_REST_REST_PATH_H
#define PROVIDERS_REST_REST_PATH_H

/* Paths made of templates. */

struct arena;
struct buf;
struct rest;
struct rest_zone;

struct rest_path_args {
    const struct rest_zone *zone; /* NULL: none */
    const char *name;             /* canonical; NULL: none */
    const char *type, *record;
};
/* out: arena a */
const char *rest_path(const struct rest *p, struct arena *a,
                      const char *template, const struct rest_path_args *args);

/* Adds text, percent-encoded. source: RFC 3986 2.1, 2.3 */
void rest_path_encode(struct buf *b, const char *text);

#endif
