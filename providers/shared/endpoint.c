#include "providers/shared/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define LONGEST_CONNECT_MS 10000
#define CA_MAX ((size_t)1 << 20)

static int check_url(const char *url, const char *what, struct err *e)
{
    struct http_url u;

    if (http_url_parse(url, &u, e) != 0)
        return err_wrap(e, "url");
    if (!u.https && !u.loopback)
        return err_set(e, ERR_INPUT,
                       "url = \"%.200s\" would send the %s in the clear; "
                       "change that line to https://… (http is allowed only "
                       "to a loopback address such as 127.0.0.1)",
                       url, what);
    return 0;
}

static int check_timeout(const char *text, int64_t *ms, struct err *e)
{
    char *end;
    long s = strtol(text, &end, 10);

    if (end == text || *end != '\0' || s < 1 || s > 600)
        return err_set(e, ERR_INPUT,
                       "timeout = %.40s: seconds from 1 to 600 are accepted",
                       text);
    *ms = (int64_t)s * 1000;
    return 0;
}

static char *dup_or_null(const char *s)
{
    return s != NULL && s[0] != '\0' ? mem_strdup(s) : NULL;
}

int endpoint_read(const struct config_provider *cfg,
                  const struct config_field *fields, const char *what,
                  struct endpoint *ep, struct err *e)
{
    const char *url = config_option_get(cfg, fields, "url");
    const char *timeout = config_option_get(cfg, fields, "timeout");

    memset(ep, 0, sizeof *ep);
    if (url == NULL || url[0] == '\0')
        return err_set(e, ERR_INPUT, "the option url is required");
    if (check_url(url, what, e) != 0 ||
        check_timeout(timeout, &ep->timeout_ms, e) != 0)
        return -1;
    ep->url = mem_strdup(url);
    ep->pin = dup_or_null(config_option_get(cfg, fields, "pin-sha256"));
    if (ep->pin != NULL && !http_pin_is_valid(ep->pin))
        return err_set(e, ERR_INPUT,
                       "pin-sha256 = \"%.80s\" is not the base64 of a SHA-256 "
                       "(44 characters, the last one '=')",
                       ep->pin);
    return config_file_get(cfg, "ca-file", CA_MAX, &ep->ca_pem, e);
}

void endpoint_fini(struct endpoint *ep)
{
    free(ep->url);
    free(ep->ca_pem);
    free(ep->pin);
    memset(ep, 0, sizeof *ep);
}

void endpoint_request(const struct endpoint *ep, struct http_request *req)
{
    req->timeout_ms = ep->timeout_ms;
    req->connect_timeout_ms =
        ep->timeout_ms < LONGEST_CONNECT_MS ? ep->timeout_ms : 0;
    req->ca_pem = ep->ca_pem;
    req->pin_sha256 = ep->pin;
}

uint32_t endpoint_hash(const char *const *parts, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++) {
        const char *c = parts[i];

        do
            h = (h ^ (unsigned char)*c) * 16777619u;
        while (*c++ != '\0');
    }
    return h;
}

uint32_t endpoint_print(const char *const *parts, size_t n)
{
    uint32_t h = endpoint_hash(parts, n);

    return (h >> 16) ^ (h & 0xffff);
}
