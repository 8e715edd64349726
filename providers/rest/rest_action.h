#ifndef PROVIDERS_REST_REST_ACTION_H
#define PROVIDERS_REST_REST_ACTION_H

#include "providers/rest/rest_call.h"

/* A write that goes on after its answer. */

/* A write, as rest_call; where its answer names an action, cb comes when that
 * has ended. One that fails is a refusal (ERR_INPUT, is_sure); one that does
 * not end within a minute, or is lost, is ERR_UNKNOWN. */
void rest_action_call(struct rest *p, const char *method, const char *path,
                      const char *body, rest_reply_cb *cb, void *arg);

#endif
