#ifndef PROVIDERS_REST_REST_JSON_H
#define PROVIDERS_REST_REST_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"

/* JSON within limits. */

#define REST_MAX_ANSWER ((size_t)32 * 1024 * 1024)

/* At most REST_MAX_ANSWER bytes, 32 levels, 2,000,000 values, no NUL in
 * strings. returns the tree (cJSON_Delete), or NULL with e set (ERR_RETRY,
 * ERR_LIMIT) */
cJSON *rest_json_parse(const char *text, size_t len, struct err *e);
/* The member "a.b.c" of root ("": root itself); NULL when missing. */
const cJSON *rest_json_at(const cJSON *root, const char *path);
/* A string, or a whole number in decimal. returns false: neither, or longer */
bool rest_json_text(const cJSON *v, char *out, size_t size);
/* A whole number from 0 to max, as number or decimal string. */
bool rest_json_uint(const cJSON *v, int64_t max, int64_t *out);

#endif
