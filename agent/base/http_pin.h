#ifndef AGENT_BASE_HTTP_PIN_H
#define AGENT_BASE_HTTP_PIN_H

#include <stdbool.h>

#include "agent/base/http.h"

/* Which server key a TLS connection of the HTTP client trusts: the chain, or
 * one key. Used by http.c only. */

#define HTTP_PIN_SIZE 64

struct http_pin {
    const char *want;         /* NULL: the chain decides; borrowed */
    char seen[HTTP_PIN_SIZE]; /* of the server's key; "" before */
    bool refused;             /* a pin was wanted, and it is another one */
};

/* Puts our own check in the place of OpenSSL's chain check.
 * ssl_ctx: SSL_CTX of one connection; pin must outlive it.
 * source: SSL_CTX_set_cert_verify_callback(3), RFC 7469 2.4 */
void http_pin_install(void *ssl_ctx, struct http_pin *pin);

#endif
