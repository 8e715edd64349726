#include "providers/rest/rest_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/http.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_answer.h"
#include "providers/rest/rest_json.h"
#include "providers/shared/endpoint.h"

/* Calls of an instance wait in one queue; two at a time are sent. Everything
 * that says "not now" is one pause of the instance: a short one is waited for,
 * a long one ends the calls at once (and is remembered for later runs). */

#define IN_FLIGHT_MAX 2
#define WAIT_MS 10000                     /* a longer pause ends the calls */
#define LONGEST_MS ((int64_t)3600 * 1000) /* whatever a server says */
#define STOP_MS ((int64_t)300 * 1000)     /* after 401, 403 */
#define TRIES_MAX 3
#define BACKOFF_MS 300

struct rest_call {
    struct rest *p;
    char *method, *url, *body;
    char *what; /* "GET /zones", for messages */
    int tries;
    struct err err; /* for fail_now */
    rest_reply_cb *cb;
    void *arg;
    struct rest_call *next;
};

static void pump(struct rest *p);

static bool is_read(const struct rest_call *c)
{
    return strcmp(c->method, "GET") == 0;
}

/* ---- the end of a call --------------------------------------------------- */

static void call_end(struct rest_call *c, const struct rest_reply *r)
{
    struct rest *p = c->p;
    rest_reply_cb *cb = c->cb;
    void *arg = c->arg;

    free(c->method);
    free(c->url);
    free(c->body);
    free(c->what);
    free(c);
    cb(arg, r);
    rest_end(p);
}

static void fail_now(void *arg)
{
    struct rest_call *c = arg;
    struct rest_reply r = {.err = c->err, .is_sure = true};

    call_end(c, &r);
}

/* Later: never from inside the call that started it. */
static void fail(struct rest_call *c, const struct err *e)
{
    c->err = *e;
    if (strncmp(e->msg, c->what, strlen(c->what)) != 0)
        (void)err_wrap(&c->err, "%s", c->what);
    (void)loop_timer_start(c->p->env.loop, 0, fail_now, c);
}

/* ---- pauses -------------------------------------------------------------- */

static uint32_t login_print(const struct rest *p)
{
    const char *const parts[] = {p->base_url, p->secret};

    return endpoint_print(parts, 2);
}

static void pause_for(struct rest *p, int64_t ms, const struct err *e)
{
    int64_t until_ms;

    if (ms > LONGEST_MS)
        ms = LONGEST_MS;
    until_ms = clock_mono_ms() + ms;
    if (until_ms <= p->pause_until_ms)
        return;
    p->pause_until_ms = until_ms;
    p->paused = *e;
    if (ms > WAIT_MS && p->env.stop != NULL)
        p->env.stop(p->env.arg, p->title, login_print(p), ms, e);
}

/* Seconds until the budget is full again; -1: no word of it. */
static int64_t reset_s(const struct rest_style *style, const char *text)
{
    const char *t = text;
    char *end;
    long long n;

    if (style->reset_form == REST_RESET_PARAMS &&
        (t = strstr(text, ";t=")) != NULL)
        t += 3;
    if (t == NULL)
        return -1;
    n = strtoll(t, &end, 10);
    if (end == t || n < 0)
        return -1;
    if (style->reset_form == REST_RESET_EPOCH)
        n -= clock_wall_ms() / 1000;
    return n > 0 ? n : 0;
}

/* Requests left; -1: no word of it. */
static int64_t left_of(const struct rest_style *style, const char *text)
{
    const char *t = text;
    char *end;
    long long n;

    if (style->reset_form == REST_RESET_PARAMS) {
        t = strstr(text, ";r=");
        if (t == NULL)
            return -1;
        t += 3;
    }
    n = strtoll(t, &end, 10);
    return end == t ? -1 : n;
}

int64_t rest_budget_left(const struct rest_style *style,
                         const struct http_response *h)
{
    const char *left = style->left != NULL ? http_header(h, style->left) : NULL;

    return left != NULL ? left_of(style, left) : -1;
}

/* Looks at the budget's headers. returns the seconds until its reset, or -1 */
static int64_t read_budget(struct rest *p, const struct http_response *h)
{
    const struct rest_style *style = p->style;
    const char *reset =
        style->reset != NULL ? http_header(h, style->reset) : NULL;
    int64_t s = reset != NULL ? reset_s(style, reset) : -1;
    struct err e;

    if (s > 0 && rest_budget_left(style, h) == 0) {
        (void)err_set(&e, ERR_RETRY,
                      "the account's requests are used up; %s gives new ones "
                      "in %lld s",
                      style->label, (long long)s);
        pause_for(p, s * 1000, &e);
    }
    return s;
}

/* What an answer says about the next calls. */
static void heed(struct rest *p, const struct rest_reply *r)
{
    const struct http_response *h = r->http;
    int64_t s = h->status != 0 ? read_budget(p, h) : -1;

    if (r->err.code == ERR_AUTH) {
        pause_for(p, STOP_MS, &r->err);
    } else if (h->retry_after_s > 0) { /* of 429 and 503 only */
        pause_for(p, h->retry_after_s * 1000, &r->err);
    } else if (h->status == 429) {
        pause_for(p, s > 0 ? s * 1000 : p->style->full_ms, &r->err);
    }
}

/* ---- sending ------------------------------------------------------------- */

/* May the call be made again? A write only when it was not done. */
static bool may_repeat(const struct rest_call *c, const struct rest_reply *r)
{
    if (r->err.code == ERR_NONE || c->p->closing || c->tries >= TRIES_MAX)
        return false;
    if (r->status == 429 || r->status == 423)
        return true;
    if (r->status == 409 && c->p->style->is_busy != NULL)
        return c->p->style->is_busy(r->json);
    if (r->status == 0) /* once: a dead server costs time each time */
        return c->tries < 2 && (r->err.code == ERR_RETRY ||
                                (r->err.code == ERR_UNKNOWN && is_read(c)));
    return r->status >= 500 && is_read(c);
}

static void on_answer(void *arg, const struct http_response *h)
{
    struct rest_call *c = arg;
    struct rest *p = c->p;
    struct rest_reply r;
    cJSON *root;
    int64_t wait_ms = (int64_t)BACKOFF_MS << (2 * (c->tries - 1));

    rest_answer_read(p->style, h, c->what, p->secret, &root, &r);
    p->in_flight--;
    rest_begin(p); /* c may be the last that holds p */
    heed(p, &r);
    if (may_repeat(c, &r)) {
        if (r.status != 429)
            pause_for(p, wait_ms + clock_mono_ns() / 1000 % BACKOFF_MS, &r.err);
        c->next = p->waiting;
        p->waiting = c;
    } else {
        call_end(c, &r);
    }
    cJSON_Delete(root);
    pump(p);
    rest_end(p);
}

static void send_call(struct rest_call *c)
{
    struct rest *p = c->p;
    char *auth = mem_printf("%s%s", p->style->header, p->secret);
    const char *const headers[] = {
        auth, "Accept: application/json",
        c->body == NULL ? NULL
        : p->style->form != NULL
            ? "Content-Type: application/x-www-form-urlencoded"
            : "Content-Type: application/json",
        NULL};
    struct http_request req = {.method = c->method,
                               .url = c->url,
                               .headers = headers,
                               .body = c->body,
                               .body_len =
                                   c->body != NULL ? strlen(c->body) : 0,
                               .max_body = REST_MAX_ANSWER};

    endpoint_request(&p->endpoint, &req);
    c->tries++;
    p->in_flight++;
    http_send(p->env.http, &req, on_answer, c);
    config_secret_free(auth);
}

/* Nothing is to be sent: e says why. */
static bool is_stopped(struct rest *p, struct err *e)
{
    if (p->closing)
        return err_set(e, ERR_RETRY, "the provider is being closed") != 0;
    if (clock_mono_ms() + WAIT_MS < p->pause_until_ms) {
        *e = p->paused;
        return true;
    }
    return p->env.stopped != NULL &&
           p->env.stopped(p->env.arg, p->title, login_print(p), e);
}

static void on_resume(void *arg)
{
    struct rest *p = arg;

    p->resume = NULL;
    pump(p);
}

static void pump(struct rest *p)
{
    int64_t wait_ms = p->pause_until_ms - clock_mono_ms();
    struct err e = {0};

    while (p->waiting != NULL && is_stopped(p, &e)) {
        struct rest_call *c = p->waiting;

        p->waiting = c->next;
        fail(c, &e);
    }
    if (p->waiting != NULL && wait_ms > 0) {
        if (p->resume == NULL)
            p->resume = loop_timer_start(p->env.loop, wait_ms, on_resume, p);
        return;
    }
    while (p->waiting != NULL && p->in_flight < IN_FLIGHT_MAX) {
        struct rest_call *c = p->waiting;

        p->waiting = c->next;
        send_call(c);
    }
}

/* ---- the queue ----------------------------------------------------------- */

/* A link of an answer leads to the same server, or nowhere: the secret goes
 * with it. returns the URL (heap), or NULL with e set */
static char *url_of(const struct rest *p, const char *path, struct err *e)
{
    const char *host = strstr(p->base_url, "://") + 3;
    size_t n = (size_t)(host - p->base_url) + strcspn(host, "/");

    if (path[0] == '/')
        return mem_printf("%s%s", p->base_url, path);
    if (strncmp(path, p->base_url, n) == 0 && path[n] == '/')
        return mem_strdup(path);
    (void)err_set(e, ERR_RETRY,
                  "the answer's next page is at another server (\"%.200s\"): "
                  "not followed",
                  path);
    return NULL;
}

void rest_call(struct rest *p, const char *method, const char *path,
               const char *body, rest_reply_cb *cb, void *arg)
{
    struct rest_call *c = mem_alloc(sizeof *c), **at = &p->waiting;
    struct err e = {0};

    c->p = p;
    c->method = mem_strdup(method);
    c->body = body != NULL ? mem_strdup(body) : NULL;
    c->cb = cb;
    c->arg = arg;
    c->url = url_of(p, path, &e);
    c->what = mem_printf("%s %.*s", method, (int)strcspn(path, "?"), path);
    rest_begin(p);
    if (c->url == NULL) {
        fail(c, &e);
        return;
    }
    while (*at != NULL)
        at = &(*at)->next;
    *at = c;
    pump(p);
}
