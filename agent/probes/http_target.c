#include "agent/probes/http_target.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/curl_lib.h"
#include "agent/base/mem.h"

#define URL_MAX 32768

void http_target_fini(struct http_target *t)
{
    free(t->host);
    free(t->path);
    memset(t, 0, sizeof *t);
}

/* No control characters and no blanks: nothing that ends a line or a word. */
static bool is_clean(const char *s, bool blanks)
{
    for (; *s != '\0'; s++)
        if ((unsigned char)*s < ' ' || *s == 127 || (!blanks && *s == ' '))
            return false;
    return true;
}

static void set_host(struct http_target *t, const char *host)
{
    size_t n = strlen(host);

    if (n > 1 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (n > 1 && host[n - 1] == '.')
        n--;
    t->host = mem_strndup(host, n);
    for (char *c = t->host; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    t->is_address = addr_parse(t->host, &t->literal) == 0;
    t->literal.port = t->port;
}

int http_target_of(const struct probe_spec *spec, struct http_target *out,
                   struct probe_result *r)
{
    static const struct probe_params none;
    const struct probe_params *p = spec->params != NULL ? spec->params : &none;
    char text[ADDR_TEXT_SIZE];

    memset(out, 0, sizeof *out);
    out->https = spec->kind == PROBE_HTTPS;
    out->port = spec->target.port;
    out->path = mem_strdup(p->path != NULL && *p->path != '\0' ? p->path : "/");
    set_host(out, p->host != NULL && *p->host != '\0'
                      ? p->host
                      : addr_format(&spec->target, text));
    if (out->path[0] == '/' && is_clean(out->path, false) &&
        is_clean(out->host, false))
        return 0;
    http_target_fini(out);
    (void)probe_local(r, PROBE_UNABLE, "path or host is no text for a request");
    return -1;
}

/* --- redirects ------------------------------------------------------------ */

static void base_url(const struct http_target *t, struct buf *out)
{
    bool v6 = strchr(t->host, ':') != NULL;

    buf_printf(out, "%s://%s%s%s:%u%s", t->https ? "https" : "http",
               v6 ? "[" : "", t->host, v6 ? "]" : "", t->port, t->path);
}

static char *part(const struct curl_lib *lib, CURLU *u, CURLUPart what,
                  unsigned flags)
{
    char *text = NULL, *own;

    if (lib->url_get(u, what, &text, flags) != CURLUE_OK)
        return NULL;
    own = mem_strdup(text);
    lib->free(text);
    return own;
}

static int take_parts(const struct curl_lib *lib, CURLU *u,
                      struct http_target *out)
{
    char *scheme = part(lib, u, CURLUPART_SCHEME, 0);
    char *host = part(lib, u, CURLUPART_HOST, 0);
    char *port = part(lib, u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    char *path = part(lib, u, CURLUPART_PATH, 0);
    char *query = part(lib, u, CURLUPART_QUERY, 0);
    char *user = part(lib, u, CURLUPART_USER, 0);
    int rc = -1;

    if (scheme != NULL && host != NULL && port != NULL && path != NULL &&
        user == NULL &&
        (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0)) {
        out->https = strcmp(scheme, "https") == 0;
        out->port = (uint16_t)strtoul(port, NULL, 10);
        out->path = mem_printf("%s%s%s", path, query != NULL ? "?" : "",
                               query != NULL ? query : "");
        set_host(out, host);
        rc = is_clean(out->path, false) && is_clean(out->host, false) &&
                     out->host[0] != '\0'
                 ? 0
                 : -1;
    }
    free(scheme);
    free(host);
    free(port);
    free(path);
    free(query);
    free(user);
    return rc;
}

int http_target_follow(const struct http_target *t, const char *location,
                       struct http_target *out, struct probe_result *r)
{
    struct curl_lib lib;
    struct buf base;
    struct err e;
    CURLU *u;
    int rc = -1;

    memset(out, 0, sizeof *out);
    if (curl_lib_load(&lib, &e) != 0) {
        (void)probe_local(r, PROBE_UNABLE, "redirect: %s", e.msg);
        return -1;
    }
    u = lib.url();
    buf_init(&base, URL_MAX);
    base_url(t, &base);
    if (u != NULL && !base.over && is_clean(location, false) &&
        lib.url_set(u, CURLUPART_URL, buf_get(&base), 0) == CURLUE_OK &&
        lib.url_set(u, CURLUPART_URL, location, CURLU_NON_SUPPORT_SCHEME) ==
            CURLUE_OK)
        rc = take_parts(&lib, u, out);
    if (rc != 0) {
        http_target_fini(out);
        (void)probe_fail(r, PROBE_PROTOCOL, "redirect to %.40s", location);
    }
    buf_fini(&base);
    lib.url_cleanup(u);
    return rc;
}

bool http_target_same(const struct http_target *a, const struct http_target *b)
{
    return a->https == b->https && a->port == b->port &&
           strcmp(a->host, b->host) == 0;
}

/* --- the request ---------------------------------------------------------- */

static bool is_secret(const char *name)
{
    return strcasecmp(name, "authorization") == 0 ||
           strcasecmp(name, "proxy-authorization") == 0 ||
           strcasecmp(name, "cookie") == 0;
}

/* Set by us, and wrong otherwise. */
static bool is_ours(const char *name)
{
    return strcasecmp(name, "host") == 0 ||
           strcasecmp(name, "connection") == 0 ||
           strcasecmp(name, "content-length") == 0 ||
           strcasecmp(name, "transfer-encoding") == 0;
}

static int add_headers(const struct probe_params *p, bool plain,
                       struct buf *out)
{
    bool agent = false;

    for (size_t i = 0; i < p->nheaders; i++) {
        const struct probe_pair *h = &p->headers[i];

        if (!is_clean(h->name, false) || !is_clean(h->value, true) ||
            strchr(h->name, ':') != NULL || h->name[0] == '\0')
            return -1;
        if (is_ours(h->name) || (plain && is_secret(h->name)))
            continue;
        agent = agent || strcasecmp(h->name, "user-agent") == 0;
        buf_printf(out, "%s: %s\r\n", h->name, h->value);
    }
    if (!agent)
        buf_str(out, "User-Agent: dnsfailover\r\n");
    return 0;
}

int http_target_request(const struct http_target *t,
                        const struct probe_params *p, const char *method,
                        bool plain, struct buf *out, struct probe_result *r)
{
    bool v6 = strchr(t->host, ':') != NULL;
    const char *body = plain ? NULL : p->send;
    int bad = !is_clean(method, false) || *method == '\0';

    buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s%s%s", method, t->path,
               v6 ? "[" : "", t->host, v6 ? "]" : "");
    if (t->port != (t->https ? 443 : 80))
        buf_printf(out, ":%u", t->port);
    buf_str(out, "\r\nConnection: close\r\n");
    bad |= add_headers(p, plain, out) != 0;
    if (body != NULL)
        buf_printf(out, "Content-Length: %zu\r\n", strlen(body));
    buf_str(out, "\r\n");
    if (body != NULL)
        buf_str(out, body);
    if (!bad && !out->over)
        return 0;
    (void)probe_local(r, PROBE_UNABLE, "%s",
                      out->over ? "the request is too long"
                                : "method or headers are no text for a "
                                  "request");
    return -1;
}
