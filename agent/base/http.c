#include "agent/base/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/curl_lib.h"
#include "agent/base/http_pin.h"
#include "agent/base/mem.h"

/* libcurl asks for sockets and one timer; libuv watches them; every event
 * goes into curl_multi_socket_action. What has ended is delivered by a timer
 * of its own: never from inside libcurl, never from inside http_send. */

#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_CONNECT_MS 10000
#define DEFAULT_MAX_BODY ((size_t)16 * 1024 * 1024)

struct watch {    /* one socket of libcurl */
    uv_poll_t uv; /* first: freed through its handle */
    struct http *h;
    curl_socket_t fd;
    struct watch *next;
};

struct call {
    struct http *h;
    const struct curl_lib *lib;
    CURL *easy;
    struct curl_slist *headers;
    char *body, *pin_text;
    size_t body_len;
    struct http_pin pin;
    char where[300]; /* host:port, for messages */
    char detail[CURL_ERROR_SIZE];
    struct buf answer;
    bool too_big;
    struct err broken; /* could not even be set up */
    CURLcode code;
    struct loop_timer *deliver; /* set once it has ended */
    http_cb *cb;
    void *arg;
    struct call *next;
};

struct http {
    struct loop *loop;
    struct curl_lib lib;
    CURLM *multi;      /* NULL: nothing was sent yet, lib is not loaded */
    uv_timer_t *timer; /* heap: outlives http_free until it is closed */
    struct watch *watches;
    struct call *calls;
};

/* ---- libuv below libcurl ---------------------------------------------- */

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void call_ended(struct call *c, CURLcode code);

static void collect_ended(struct http *h)
{
    CURLMsg *m;
    int left;

    while ((m = h->lib.multi_info_read(h->multi, &left)) != NULL) {
        struct call *c = NULL;

        if (m->msg != CURLMSG_DONE)
            continue;
        (void)h->lib.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
        call_ended(c, m->data.result);
    }
}

static void on_socket(uv_poll_t *uv, int status, int events)
{
    struct watch *w = (struct watch *)uv;
    struct http *h = w->h;
    int flags = 0, running;

    if (status < 0)
        flags |= CURL_CSELECT_ERR;
    if ((events & UV_READABLE) != 0)
        flags |= CURL_CSELECT_IN;
    if ((events & UV_WRITABLE) != 0)
        flags |= CURL_CSELECT_OUT;
    (void)h->lib.multi_socket_action(h->multi, w->fd, flags, &running);
    collect_ended(h);
}

static void watch_close(struct watch *w)
{
    struct watch **at = &w->h->watches;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    /* Stopped at once: libcurl may reuse the number for a new socket. */
    (void)uv_poll_stop(&w->uv);
    uv_close((uv_handle_t *)&w->uv, free_handle);
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
                       void *socket_arg)
{
    struct http *h = arg;
    struct watch *w = socket_arg;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL) {
            watch_close(w);
            (void)h->lib.multi_assign(h->multi, fd, NULL);
        }
        return 0;
    }
    if (w == NULL) {
        w = mem_alloc(sizeof *w);
        w->h = h;
        w->fd = fd;
        if (uv_poll_init_socket(loop_uv(h->loop), &w->uv, fd) != 0) {
            free(w);
            return -1;
        }
        w->next = h->watches;
        h->watches = w;
        (void)h->lib.multi_assign(h->multi, fd, w);
    }
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= UV_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&w->uv, events, on_socket) == 0 ? 0 : -1;
}

static void on_timer(uv_timer_t *t)
{
    struct http *h = t->data;
    int running;

    (void)h->lib.multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0,
                                     &running);
    collect_ended(h);
}

/* Only arms the timer, for 0 ms too: called from inside libcurl. */
static int want_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct http *h = arg;

    (void)multi;
    if (timeout_ms < 0)
        return uv_timer_stop(h->timer);
    uv_update_time(loop_uv(h->loop));
    return uv_timer_start(h->timer, on_timer, (uint64_t)timeout_ms, 0);
}

struct http *http_new(struct loop *l)
{
    struct http *h = mem_alloc(sizeof *h);

    h->loop = l;
    h->timer = mem_alloc(sizeof *h->timer);
    (void)uv_timer_init(loop_uv(l), h->timer);
    h->timer->data = h;
    return h;
}

static int load_curl(struct http *h, struct err *e)
{
    if (h->multi != NULL)
        return 0;
    if (curl_lib_load(&h->lib, e) != 0)
        return -1;
    if (h->lib.global_init(CURL_GLOBAL_DEFAULT) != 0 ||
        (h->multi = h->lib.multi_init()) == NULL)
        abort();
    (void)h->lib.multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    (void)h->lib.multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
    (void)h->lib.multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    (void)h->lib.multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
    return 0;
}

/* ---- one call ---------------------------------------------------------- */

static void call_free(struct call *c)
{
    struct call **at = &c->h->calls;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    loop_timer_cancel(c->deliver);
    if (c->easy != NULL) {
        (void)c->lib->multi_remove_handle(c->h->multi, c->easy);
        c->lib->easy_cleanup(c->easy);
    }
    /* Bodies and headers carry passwords and session ids. */
    for (struct curl_slist *l = c->headers; l != NULL; l = l->next)
        explicit_bzero(l->data, strlen(l->data));
    if (c->headers != NULL)
        c->lib->slist_free_all(c->headers);
    if (c->body != NULL)
        explicit_bzero(c->body, c->body_len);
    free(c->body);
    free(c->pin_text);
    buf_fini(&c->answer);
    free(c);
}

void http_free(struct http *h)
{
    if (h == NULL)
        return;
    while (h->calls != NULL)
        call_free(h->calls);
    if (h->multi != NULL) {
        (void)h->lib.multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, NULL);
        (void)h->lib.multi_cleanup(h->multi);
        h->lib.global_cleanup();
    }
    while (h->watches != NULL)
        watch_close(h->watches);
    uv_close((uv_handle_t *)h->timer, free_handle);
    free(h);
}

static int describe_tls(const struct call *c, struct err *e)
{
    if (c->pin.refused)
        return err_set(e, ERR_INPUT,
                       "%s: the server's key is not the pinned one; if the "
                       "server has a new key and you trust it, write "
                       "pin-sha256 = \"%s\"",
                       c->where, c->pin.seen);
    if (c->pin.seen[0] != '\0')
        return err_set(e, ERR_INPUT,
                       "%s: the server's certificate is refused (%.200s); to "
                       "trust its key, write pin-sha256 = \"%s\"; to trust "
                       "its issuer, give ca-file",
                       c->where, c->detail, c->pin.seen);
    return err_set(e, ERR_INPUT, "%s: %.300s", c->where, c->detail);
}

static void describe(struct call *c, struct err *e)
{
    long sent = 0;

    /* One text for one fault: which of the two it is, is chance. */
    if (c->code == CURLE_SSL_CONNECT_ERROR &&
        (strstr(c->detail, "SYSCALL") != NULL ||
         strstr(c->detail, "reset by peer") != NULL))
        (void)snprintf(c->detail, sizeof c->detail,
                       "the connection was closed during the TLS handshake");
    if (c->detail[0] == '\0')
        (void)snprintf(c->detail, sizeof c->detail, "%s",
                       c->lib->easy_strerror(c->code));
    (void)c->lib->easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &sent);
    if (c->too_big || c->code == CURLE_FILESIZE_EXCEEDED)
        (void)err_set(e, ERR_LIMIT, "%s: the answer is larger than %zu bytes",
                      c->where, c->answer.max);
    else if (c->pin.refused || c->code == CURLE_PEER_FAILED_VERIFICATION ||
             c->code == CURLE_SSL_PINNEDPUBKEYNOTMATCH ||
             c->code == CURLE_SSL_CACERT_BADFILE)
        (void)describe_tls(c, e);
    else if (c->code == CURLE_URL_MALFORMAT ||
             c->code == CURLE_UNSUPPORTED_PROTOCOL)
        (void)err_set(e, ERR_INPUT, "%s: %s", c->where, c->detail);
    else if (sent == 0)
        (void)err_set(e, ERR_RETRY, "%s: %s", c->where, c->detail);
    else
        (void)err_set(e, ERR_UNKNOWN, "%s: the answer was lost: %s", c->where,
                      c->detail);
}

const char *http_header(const struct http_response *r, const char *name)
{
    const struct call *c = r->call;
    struct curl_header *h;
    size_t last;

    if (c == NULL || c->lib->easy_header(c->easy, name, 0, CURLH_HEADER, -1,
                                         &h) != CURLHE_OK)
        return NULL;
    last = h->amount - 1;
    if (last > 0 && c->lib->easy_header(c->easy, name, last, CURLH_HEADER, -1,
                                        &h) != CURLHE_OK)
        return NULL;
    return h->value;
}

static void read_status(struct call *c, struct http_response *r)
{
    curl_off_t after = 0;
    const char *date;
    char *s = NULL;

    r->call = c;
    (void)c->lib->easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &r->status);
    (void)c->lib->easy_getinfo(c->easy, CURLINFO_REDIRECT_URL, &r->location);
    if (c->lib->easy_getinfo(c->easy, CURLINFO_CONTENT_TYPE, &s) == CURLE_OK &&
        s != NULL)
        r->content_type = s;
    if ((r->status == 429 || r->status == 503) &&
        c->lib->easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &after) ==
            CURLE_OK &&
        after > 0)
        r->retry_after_s = after;
    date = http_header(r, "Date");
    if (date != NULL)
        r->date_s = c->lib->getdate(date, NULL);
    r->body = buf_get(&c->answer);
    r->body_len = c->answer.len;
}

static void deliver(void *arg)
{
    struct call *c = arg;
    struct http_response r = {
        .content_type = "", .body = "", .retry_after_s = -1, .date_s = -1};
    char *ip = NULL;

    c->deliver = NULL;
    memcpy(r.pin_seen, c->pin.seen, sizeof r.pin_seen);
    if (c->broken.code != ERR_NONE) {
        r.err = c->broken;
    } else {
        if (c->lib->easy_getinfo(c->easy, CURLINFO_PRIMARY_IP, &ip) ==
                CURLE_OK &&
            ip != NULL && ip[0] != '\0')
            r.ip_family = strchr(ip, ':') != NULL ? 6 : 4;
        if (c->code == CURLE_OK)
            read_status(c, &r);
        else
            describe(c, &r.err);
    }
    c->cb(c->arg, &r);
    call_free(c);
}

static void call_ended(struct call *c, CURLcode code)
{
    c->code = code;
    c->deliver = loop_timer_start(c->h->loop, 0, deliver, c);
}

void http_give_up(struct http *h)
{
    for (struct call *c = h->calls; c != NULL; c = c->next) {
        if (c->deliver != NULL)
            continue;
        (void)h->lib.multi_remove_handle(h->multi, c->easy);
        (void)snprintf(c->detail, sizeof c->detail, "no answer in time");
        call_ended(c, CURLE_ABORTED_BY_CALLBACK);
    }
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct call *c = arg;

    buf_add(&c->answer, data, size * n);
    c->too_big = c->answer.over;
    return c->too_big ? 0 : size * n;
}

static CURLcode on_ssl_ctx(CURL *easy, void *ssl_ctx, void *arg)
{
    (void)easy;
    http_pin_install(ssl_ctx, arg);
    return CURLE_OK;
}

/* ---- setting a call up ------------------------------------------------- */

#define SET(c, option, value)                                                  \
    do {                                                                       \
        CURLcode set_rc = (c)->lib->easy_setopt((c)->easy, option, value);     \
        if (set_rc != CURLE_OK)                                                \
            return err_set(&(c)->broken, ERR_LOCAL, "%s: libcurl: %s",         \
                           (c)->where, (c)->lib->easy_strerror(set_rc));       \
    } while (0)

static int set_limits(struct call *c, const struct http_request *req)
{
    int64_t all = req->timeout_ms > 0 ? req->timeout_ms : DEFAULT_TIMEOUT_MS;
    int64_t con = req->connect_timeout_ms > 0 ? req->connect_timeout_ms
                                              : DEFAULT_CONNECT_MS;

    SET(c, CURLOPT_NOSIGNAL, 1L);
    SET(c, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(c, CURLOPT_FOLLOWLOCATION, 0L);
    SET(c, CURLOPT_PROXY, "");
    SET(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(c, CURLOPT_TIMEOUT_MS, (long)all);
    SET(c, CURLOPT_CONNECTTIMEOUT_MS, (long)con);
    SET(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)c->answer.max);
    if (req->ip_family != 0)
        SET(c, CURLOPT_IPRESOLVE,
            req->ip_family == 6 ? (long)CURL_IPRESOLVE_V6
                                : (long)CURL_IPRESOLVE_V4);
    return 0;
}

/* Taken over by libcurl. */
static int set_ca(struct call *c, const char *pem)
{
    struct curl_blob blob = {.len = strlen(pem), .flags = CURL_BLOB_COPY};

    blob.data = (void *)(uintptr_t)pem;
    SET(c, CURLOPT_CAINFO_BLOB, &blob);
    return 0;
}

static int set_tls(struct call *c, const struct http_request *req)
{
    char pin[HTTP_PIN_SIZE + 16] = "sha256//";

    SET(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* A resumed session would not show the key. */
    SET(c, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    SET(c, CURLOPT_SSL_VERIFYPEER, 1L);
    if (req->ca_pem != NULL && set_ca(c, req->ca_pem) != 0)
        return -1;
    if (req->ca_pem != NULL || req->pin_sha256 != NULL) {
        /* Nobody else is trusted; and reading the system's hundred issuers
         * is most of a handshake's cost. */
        SET(c, CURLOPT_CAINFO, NULL);
        SET(c, CURLOPT_CAPATH, NULL);
    }
    SET(c, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
    SET(c, CURLOPT_SSL_CTX_DATA, &c->pin);
    if (req->pin_sha256 == NULL)
        return 0;
    if (!http_pin_is_valid(req->pin_sha256))
        return err_set(&c->broken, ERR_INPUT,
                       "pin-sha256: \"%.80s\" is not the base64 of a SHA-256 "
                       "(44 characters, the last one '=')",
                       req->pin_sha256);
    c->pin_text = mem_strdup(req->pin_sha256);
    c->pin.want = c->pin_text;
    /* libcurl is told too: it shares kept connections by its own options. */
    memcpy(pin + 8, c->pin_text, strlen(c->pin_text) + 1);
    SET(c, CURLOPT_PINNEDPUBLICKEY, pin);
    SET(c, CURLOPT_SSL_VERIFYHOST, 0L);
    return 0;
}

static int set_content(struct call *c, const struct http_request *req)
{
    const char *method = req->method;
    bool safe;

    if (method == NULL)
        method = req->body != NULL ? "POST" : "GET";
    safe = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (req->body != NULL) {
        c->body_len = req->body_len;
        c->body = mem_alloc(req->body_len + 1);
        memcpy(c->body, req->body, req->body_len);
        SET(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
        SET(c, CURLOPT_POSTFIELDS, c->body);
        c->headers = c->lib->slist_append(c->headers, "Expect:");
    }
    SET(c, CURLOPT_CUSTOMREQUEST, method);
    SET(c, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
    if (!safe && !req->repeatable)
        SET(c, CURLOPT_FRESH_CONNECT, 1L);
    for (size_t i = 0; req->headers != NULL && req->headers[i] != NULL; i++) {
        struct curl_slist *l =
            c->lib->slist_append(c->headers, req->headers[i]);

        if (l == NULL)
            abort();
        c->headers = l;
    }
    SET(c, CURLOPT_HTTPHEADER, c->headers);
    return 0;
}

static int set_up(struct call *c, const struct http_request *req)
{
    struct http_url u;

    if (load_curl(c->h, &c->broken) != 0 ||
        http_url_parse(req->url, &u, &c->broken) != 0)
        return -1;
    (void)snprintf(c->where, sizeof c->where, "%s:%d", u.host, u.port);
    c->easy = c->lib->easy_init();
    if (c->easy == NULL)
        abort();
    SET(c, CURLOPT_URL, req->url);
    SET(c, CURLOPT_PRIVATE, c);
    SET(c, CURLOPT_ERRORBUFFER, c->detail);
    SET(c, CURLOPT_WRITEFUNCTION, on_body);
    SET(c, CURLOPT_WRITEDATA, c);
    if (set_limits(c, req) != 0 || set_content(c, req) != 0 ||
        (u.https && set_tls(c, req) != 0))
        return -1;
    if (c->lib->multi_add_handle(c->h->multi, c->easy) != CURLM_OK)
        return err_set(&c->broken, ERR_LOCAL, "%s: libcurl takes no more calls",
                       c->where);
    return 0;
}

void http_send(struct http *h, const struct http_request *req, http_cb *cb,
               void *arg)
{
    struct call *c = mem_alloc(sizeof *c);

    c->h = h;
    c->lib = &h->lib;
    c->cb = cb;
    c->arg = arg;
    c->next = h->calls;
    h->calls = c;
    buf_init(&c->answer, req->max_body > 0 ? req->max_body : DEFAULT_MAX_BODY);
    if (set_up(c, req) != 0)
        c->deliver = loop_timer_start(h->loop, 0, deliver, c);
}
