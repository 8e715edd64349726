#ifndef PROVIDERS_ENDPOINT_H
#define PROVIDERS_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/http.h"

/* The HTTP(S) server that a provider talks to: the options that all of them
 * share. */
struct endpoint {
    char *url;
    char *ca_file; /* NULL: the system's issuers */
    char *pin;     /* NULL: none */
    int64_t timeout_ms;
};

/* The rows for a provider's table of options; url is the provider's own. */
#define ENDPOINT_FIELDS                                                        \
    {"ca-file", CONFIG_STR,                                                    \
     false,     false,                                                         \
     NULL,      "PEM file with the issuer of the server's certificate"},       \
        {"pin-sha256",                                                         \
         CONFIG_STR,                                                           \
         false,                                                                \
         false,                                                                \
         NULL,                                                                 \
         "trust exactly this server key (base64 of its SHA-256); the error "   \
         "about an unknown certificate prints it"},                            \
    {                                                                          \
        "timeout", CONFIG_INT, false, false, "30", "seconds for one call"      \
    }

/* Reads url, ca-file, pin-sha256 and timeout. what: the secret that plain
 * http would show ("password"). out: *ep — ended by endpoint_fini, also after
 * a failure. returns 0, or -1 with e set (ERR_INPUT: no url, not a URL, http
 * to another host, not a pin, not 1 to 600 seconds) */
MUST_CHECK int endpoint_read(const struct config_provider *cfg,
                             const struct config_field *fields,
                             const char *what, struct endpoint *ep,
                             struct err *e);
void endpoint_fini(struct endpoint *ep);

/* The limits and the trust of a request to it. */
void endpoint_request(const struct endpoint *ep, struct http_request *req);

/* Of n texts, their borders included. source: FNV-1a */
uint32_t endpoint_hash(const char *const *parts, size_t n);
/* Tells other login data from these: the hash folded to 16 bits, too short to
 * be of use to anybody who reads it. */
uint32_t endpoint_print(const char *const *parts, size_t n);

#endif
