#ifndef PROVIDERS_SHARED_ENDPOINT_H
#define PROVIDERS_SHARED_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/http.h"

/* The HTTP(S) server that a provider talks to: the options that all of them
 * share. */
struct endpoint {
    char *url;
    char *ca_pem; /* NULL: the system's issuers */
    char *pin;    /* NULL: none */
    int64_t timeout_ms;
};

/* The rows for a provider's table of options, with the environment's variables
 * PREFIX_CA_FILE and so on; url is the provider's own. */
#define ENDPOINT_FIELDS(prefix)                                                \
    {"ca-file",                                                                \
     CONFIG_STR,                                                               \
     false,                                                                    \
     false,                                                                    \
     NULL,                                                                     \
     "A PEM file with the issuer of the server's certificate, instead of the " \
     "system's.",                                                              \
     prefix "_CA_FILE"},                                                       \
        {"pin-sha256",                                                         \
         CONFIG_STR,                                                           \
         false,                                                                \
         false,                                                                \
         NULL,                                                                 \
         "Trust exactly this key of the server: the base64 of its SHA-256. "   \
         "Leave it out once: the error about the unknown certificate prints "  \
         "the line to paste. A new certificate with the same key keeps its "   \
         "pin.",                                                               \
         prefix "_PIN_SHA256"},                                                \
    {                                                                          \
        "timeout", CONFIG_INT, false, false, "30",                             \
            "Whole seconds for one call, from 1 to 600.", prefix "_TIMEOUT"    \
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
