#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/addr.h"
#include "agent/base/curl_lib.h"
#include "agent/base/http.h"

struct parts {
    struct curl_lib lib;
    CURLU *u;
};

/* Puts a part of p into out; false when it is missing or too long. */
static bool get_part(const struct parts *p, CURLUPart what, unsigned flags,
                     char *out, size_t size)
{
    char *s = NULL;
    bool ok = false;

    if (p->lib.url_get(p->u, what, &s, flags) == CURLUE_OK && s != NULL &&
        strlen(s) < size) {
        memcpy(out, s, strlen(s) + 1);
        ok = true;
    }
    p->lib.free(s);
    return ok;
}

static bool has_part(const struct parts *p, CURLUPart what)
{
    char *s = NULL;
    bool has = p->lib.url_get(p->u, what, &s, 0) == CURLUE_OK;

    p->lib.free(s);
    return has;
}

static void strip_brackets(char *host)
{
    size_t n = strlen(host);

    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        memmove(host, host + 1, n - 2);
        host[n - 2] = '\0';
    }
}

static bool is_loopback(const char *host)
{
    struct addr a;

    /* libcurl takes this name to the loopback addresses by itself. */
    if (strcasecmp(host, "localhost") == 0)
        return true;
    return addr_parse(host, &a) == 0 && addr_classify(&a) == ADDR_LOOPBACK;
}

static int read_parts(const struct parts *p, const char *url,
                      struct http_url *out, struct err *e)
{
    char scheme[16], port[16];

    if (!get_part(p, CURLUPART_SCHEME, 0, scheme, sizeof scheme) ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return err_set(e, ERR_INPUT,
                       "\"%.200s\" is not an http:// or https:// URL", url);
    if (has_part(p, CURLUPART_USER) || has_part(p, CURLUPART_PASSWORD))
        return err_set(e, ERR_INPUT,
                       "the URL holds a user or password; they have options "
                       "of their own");
    if (!get_part(p, CURLUPART_HOST, 0, out->host, sizeof out->host) ||
        out->host[0] == '\0' ||
        !get_part(p, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof port))
        return err_set(e, ERR_INPUT, "\"%.200s\" has no host", url);
    strip_brackets(out->host);
    out->https = strcmp(scheme, "https") == 0;
    out->port = (int)strtol(port, NULL, 10);
    out->loopback = is_loopback(out->host);
    return 0;
}

int http_url_parse(const char *url, struct http_url *out, struct err *e)
{
    struct parts p;
    int rc;

    memset(out, 0, sizeof *out);
    if (curl_lib_load(&p.lib, e) != 0)
        return -1;
    p.u = p.lib.url();
    if (p.u == NULL || p.lib.url_set(p.u, CURLUPART_URL, url,
                                     CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        rc = err_set(e, ERR_INPUT,
                     "\"%.200s\" is not a URL; write "
                     "https://HOST:PORT/PATH",
                     url);
    else
        rc = read_parts(&p, url, out, e);
    p.lib.url_cleanup(p.u);
    return rc;
}
