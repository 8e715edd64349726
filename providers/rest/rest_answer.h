#ifndef PROVIDERS_REST_REST_ANSWER_H
#define PROVIDERS_REST_REST_ANSWER_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* What an HTTP answer means. */

struct http_response;
struct rest_reply;
struct rest_style;

/* Reads an answer. root: *root — deleted by the caller, NULL when there is no
 * JSON. secret is blanked out of texts; NULL: none. */
void rest_answer_read(const struct rest_style *style,
                      const struct http_response *h, const char *what,
                      const char *secret, cJSON **root, struct rest_reply *r);
/* What an error body says, in one line: the JSON of any of the providers,
 * plain text, or a page in HTML. */
void rest_answer_text(const cJSON *root, const char *body, char *out,
                      size_t size);

#endif
