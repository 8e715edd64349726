#ifndef PROVIDERS_REST_REST_CALL_H
#define PROVIDERS_REST_REST_CALL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/base/err.h"

/* One call after the other: budget, waits, stops. */

struct http_response;
struct rest;
struct rest_style;

struct rest_reply {
    struct err err;    /* ERR_NONE: a good status */
    long status;       /* 0: none */
    bool is_sure;      /* with err: the server did not do it */
    const cJSON *json; /* NULL: none; borrowed during the callback */
    const struct http_response *http; /* borrowed */
};
typedef void rest_reply_cb(void *arg, const struct rest_reply *r);
/* Queues one call. path: behind the base URL, or a whole URL of the same
 * server (a link of an answer); body: JSON or NULL, copied. A GET is tried
 * again where that may help; what is refused for now (429) is sent later, once,
 * when the wait is short. cb once, later. */
void rest_call(struct rest *p, const char *method, const char *path,
               const char *body, rest_reply_cb *cb, void *arg);

/* The requests that an answer says are left; -1: no word of it. */
int64_t rest_budget_left(const struct rest_style *style,
                         const struct http_response *h);

#endif
