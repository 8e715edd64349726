#ifndef AGENT_PROBES_HTTP_TARGET_H
#define AGENT_PROBES_HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/probes/kind.h"

/* Where an HTTP probe sends its request, and what; pure. */

struct http_target {
    bool https, is_address;
    uint16_t port;
    char *host;          /* no brackets, no final dot, lower case; "" */
    char *path;          /* with query, begins with '/' */
    struct addr literal; /* where host is an address; with port */
};
void http_target_fini(struct http_target *t);

/* The first one, from a spec. returns 0, or -1 with r filled in (LOCAL). */
int http_target_of(const struct probe_spec *spec, struct http_target *out,
                   struct probe_result *r);
/* Where location, as it came from t, leads: http and https only, without user
 * or password. returns 0, or -1 with r filled in (PROTOCOL).
 * source: RFC 9110 10.2.2, RFC 3986 5, curl_url_set(3) */
int http_target_follow(const struct http_target *t, const char *location,
                       struct http_target *out, struct probe_result *r);
/* Whether credentials and bodies may go there: same scheme, host and port. */
bool http_target_same(const struct http_target *a, const struct http_target *b);

/* The request; plain: without body and credential headers (another host).
 * returns 0, or -1 with r filled in (LOCAL: a control character somewhere).
 * source: RFC 9112 3 */
int http_target_request(const struct http_target *t,
                        const struct probe_params *p, const char *method,
                        bool plain, struct buf *out, struct probe_result *r);

#endif
