#ifndef PROVIDERS_REST_REST_PAGE_H
#define PROVIDERS_REST_REST_PAGE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* An answer in pages. */

struct err;
struct rest;
struct rest_reply;

/* Each item of each page, then done once. A page that repeats itself, or the
 * 1000th, is an error. each: returns 0, or -1 with e set */
struct rest_pages {
    int (*each)(void *arg, const cJSON *item, struct err *e);
    void (*page)(void *arg, const cJSON *root); /* may be NULL */
    void (*done)(void *arg, const struct rest_reply *r, size_t items);
    void *arg;
};
void rest_pages_get(struct rest *p, const char *path, const char *items,
                    const struct rest_pages *pages);

#endif
