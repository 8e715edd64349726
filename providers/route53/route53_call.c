#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/base/clock.h"
#include "providers/route53/route53.h"
#include "providers/route53/sigv4.h"

/* One call, in these steps: wait for the budget, sign with the time of now,
 * send, look at the answer; then either hand it over or wait and start again.
 * Sent again is what was throttled (Route 53 says so before it does anything),
 * a GET whatever became of it, and a POST that never left. */

#define API "/2013-04-01/"
#define SLOT_MS (1000 / ROUTE53_RATE)
#define PAUSE_MS 500      /* the first pause; doubles */
#define PAUSE_MAX_MS 8000 /* the longest */
#define PATIENCE_MS 25000 /* from the first sending to the last */
#define TRIES_MAX 3       /* of what failed, throttling aside */
#define STOP_MS 60000     /* after credentials were refused */
#define SKEW_MAX_S 300    /* what Amazon bears */

struct route53_call {
    struct route53 *p;
    char *action, *path, *query, *body;
    size_t body_len;
    int64_t start_ms;
    unsigned throttled, failed;
    struct loop_timer *timer; /* waits for its turn */
    struct err err;           /* for fail_now */
    route53_reply_cb *cb;
    void *arg;
    struct route53_call *next;
};

void route53_query_add(struct buf *query, const char *name, const char *value)
{
    buf_printf(query, "%s%s=", query->len > 0 ? "&" : "", name);
    sigv4_encode(query, value, strlen(value));
}

/* ---- end ----------------------------------------------------------------- */

static void call_end(struct route53_call *c, const struct route53_reply *r)
{
    struct route53 *p = c->p;
    struct route53_call **at = &p->calls;
    route53_reply_cb *cb = c->cb;
    void *arg = c->arg;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c->action);
    free(c->path);
    free(c->query);
    free(c->body);
    free(c);
    cb(arg, r);
    route53_end(p);
}

static void fail_now(void *arg)
{
    struct route53_call *c = arg;
    struct route53_reply r = {.err = c->err, .body = ""};

    c->timer = NULL;
    call_end(c, &r);
}

/* Later: never from inside the call that started it. */
static void fail(struct route53_call *c, const struct err *e)
{
    c->err = *e;
    c->timer = loop_timer_start(c->p->loop, 0, fail_now, c);
}

static void fail_closing(struct route53_call *c)
{
    struct err e;

    (void)err_set(&e, ERR_RETRY, "%s: the provider is being closed", c->action);
    fail(c, &e);
}

void route53_calls_stop(struct route53 *p)
{
    for (struct route53_call *c = p->calls; c != NULL; c = c->next) {
        if (c->timer == NULL)
            continue; /* sent: its answer is awaited */
        loop_timer_cancel(c->timer);
        fail_closing(c);
    }
}

/* ---- what an answer means ------------------------------------------------ */

static bool is_one_of(const char *code, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(code, *list) == 0)
            return true;
    return false;
}

/* Refused before anything was done, and welcome later. */
static bool is_throttled(const struct http_response *h, const char *code)
{
    static const char *const codes[] = {"Throttling",
                                        "ThrottlingException",
                                        "ThrottledException",
                                        "RequestThrottled",
                                        "RequestLimitExceeded",
                                        "TooManyRequestsException",
                                        "PriorRequestNotComplete",
                                        NULL};

    return h->status == 429 || is_one_of(code, codes);
}

/* No other call will fare better. */
static bool is_refused_key(const char *code)
{
    static const char *const codes[] = {"InvalidClientTokenId",
                                        "SignatureDoesNotMatch",
                                        "ExpiredToken",
                                        "ExpiredTokenException",
                                        "RequestExpired",
                                        "MissingAuthenticationToken",
                                        "IncompleteSignature",
                                        "UnrecognizedClientException",
                                        "InvalidSignatureException",
                                        "OptInRequired",
                                        NULL};

    return is_one_of(code, codes);
}

static int64_t clock_skew_s(const struct http_response *h)
{
    return h->date_s < 0 ? 0 : clock_wall_ms() / 1000 - h->date_s;
}

static void describe_refusal(const struct route53_call *c,
                             const struct http_response *h, const char *text,
                             struct route53_reply *r)
{
    int64_t skew_s = clock_skew_s(h);
    bool is_clock = skew_s > SKEW_MAX_S || skew_s < -SKEW_MAX_S;

    if (is_clock)
        (void)err_set(
            &r->err, ERR_AUTH,
            "%s: %s: the clock of this machine is %lld s %s Amazon's, "
            "and a signature holds for five minutes; set the clock "
            "right",
            c->action, r->code, (long long)(skew_s < 0 ? -skew_s : skew_s),
            skew_s < 0 ? "behind" : "ahead of");
    else if (strncmp(r->code, "ExpiredToken", strlen("ExpiredToken")) == 0)
        (void)err_set(&r->err, ERR_AUTH,
                      "%s: %s: the temporary credentials have ended; %.300s",
                      c->action, r->code, text);
    else if (r->code[0] != '\0')
        (void)err_set(&r->err, ERR_AUTH, "%s: %s: %.600s", c->action, r->code,
                      text);
    else
        (void)err_set(&r->err, ERR_AUTH,
                      "%s: HTTP %ld without a reason; the policy of the key "
                      "must allow route53:%s",
                      c->action, h->status, c->action);
}

static enum err_code code_of(const struct route53_call *c,
                             const struct http_response *h, const char *code)
{
    if (strncmp(code, "NoSuch", strlen("NoSuch")) == 0)
        return ERR_NOTFOUND;
    if (strcmp(code, "InvalidChangeBatch") == 0)
        return ERR_CONFLICT;
    if (h->status >= 500)
        return c->body != NULL ? ERR_UNKNOWN : ERR_RETRY;
    if (is_throttled(h, code))
        return ERR_RETRY;
    return ERR_INPUT;
}

/* An answer to a wrong signature may repeat what was signed, the session token
 * with it: the text ends before that. */
static const char *until_secret(struct arena *a, const char *text,
                                const char *secret)
{
    const char *at =
        secret != NULL && secret[0] != '\0' ? strstr(text, secret) : NULL;

    return at != NULL ? arena_strndup(a, text, (size_t)(at - text)) : text;
}

/* Fills r; the text of an error lives in a. */
static void read_answer(const struct route53_call *c,
                        const struct http_response *h, struct arena *a,
                        struct route53_reply *r)
{
    const char *text;

    r->body = h->body;
    r->len = h->body_len;
    r->err = h->err;
    if (h->status == 0) {
        if (r->err.code == ERR_UNKNOWN && c->body == NULL)
            r->err.code = ERR_RETRY; /* of a read nothing is in doubt */
        else if (r->err.code == ERR_LIMIT && c->body != NULL)
            r->err.code = ERR_UNKNOWN;
        (void)err_wrap(&r->err, "%s", c->action);
        return;
    }
    if (h->status == 200)
        return;
    (void)route53_read_error(a, h->body, h->body_len, r->code, &text);
    text = until_secret(a, text, c->p->token);
    text = until_secret(a, text, c->p->secret);
    if (h->status == 401 || h->status == 403 || is_refused_key(r->code))
        describe_refusal(c, h, text, r);
    else
        (void)err_set(&r->err, code_of(c, h, r->code), "%s: %s%s%.700s",
                      c->action, r->code, r->code[0] != '\0' ? ": " : "",
                      r->code[0] != '\0' ? text : "");
    if (r->code[0] == '\0' && r->err.code != ERR_AUTH)
        (void)err_set(&r->err, r->err.code, "%s: HTTP %ld", c->action,
                      h->status);
}

/* ---- again --------------------------------------------------------------- */

/* Between the half and the whole of what doubling gives: clients that were
 * throttled together do not come back together. tries: from 1 */
static int64_t pause_ms(unsigned tries)
{
    int64_t most = (int64_t)PAUSE_MS << (tries < 8 ? tries - 1 : 7);
    uint32_t r = 0;

    if (most > PAUSE_MAX_MS)
        most = PAUSE_MAX_MS;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r)
        r = UINT32_MAX / 2;
    return most / 2 + (int64_t)r * (most / 2) / UINT32_MAX;
}

static void wait_turn(struct route53_call *c, int64_t pause);

/* returns true when c was started again */
static bool again(struct route53_call *c, const struct http_response *h,
                  const struct route53_reply *r)
{
    bool throttled = h->status != 0 && is_throttled(h, r->code);
    int64_t pause;

    if (c->p->closing)
        return false;
    if (throttled)
        c->throttled++;
    else if (r->err.code == ERR_RETRY && ++c->failed < TRIES_MAX)
        ; /* nothing was sent, or only read */
    else
        return false;
    pause = h->retry_after_s > 0
                ? h->retry_after_s * 1000
                : pause_ms(throttled ? c->throttled : c->failed);
    if (clock_mono_ms() + pause - c->start_ms > PATIENCE_MS)
        return false;
    wait_turn(c, pause);
    return true;
}

static void on_answer(void *arg, const struct http_response *h)
{
    struct route53_call *c = arg;
    struct arena *a = arena_new();
    struct route53_reply r = {.body = ""};

    read_answer(c, h, a, &r);
    if (h->date_s >= 0)
        c->p->skew_s = clock_skew_s(h);
    if (is_refused_key(r.code)) {
        c->p->refused = r.err;
        c->p->refused_until_ms = clock_mono_ms() + STOP_MS;
    }
    if (!again(c, h, &r)) {
        if (c->throttled > 0 && r.err.code == ERR_RETRY)
            (void)err_wrap(&r.err, "tried %u times", c->throttled + c->failed);
        call_end(c, &r);
    }
    arena_free(a);
}

/* ---- sending ------------------------------------------------------------- */

/* The headers of the request, "Name: value", in a; ends with NULL. */
static char **sign(const struct route53_call *c, struct arena *a)
{
    struct route53 *p = c->p;
    struct sigv4_key key = {p->key_id, p->secret};
    struct sigv4_scope scope = {.region = p->region, .service = "route53"};
    struct sigv4_header h[4] = {{"Host", p->host}, {"X-Amz-Date", scope.time}};
    struct sigv4_request r = {.method = c->body != NULL ? "POST" : "GET",
                              .path = c->path,
                              .query = c->query,
                              .headers = h,
                              .n_headers = 2,
                              .body = c->body,
                              .body_len = c->body_len};
    char **out = arena_array(a, 6, sizeof *out);
    struct buf b;

    sigv4_time(clock_wall_ms(), scope.time);
    if (p->token != NULL) {
        h[r.n_headers].name = "X-Amz-Security-Token";
        h[r.n_headers++].value = p->token;
    }
    if (c->body != NULL) {
        h[r.n_headers].name = "Content-Type";
        h[r.n_headers++].value = "text/xml";
    }
    buf_init(&b, SIGV4_MAX);
    sigv4_authorization(&key, &scope, &r, &b);
    for (size_t i = 0; i < r.n_headers; i++)
        out[i] = arena_printf(a, "%s: %s", h[i].name, h[i].value);
    out[r.n_headers] = arena_printf(a, "Authorization: %s", buf_get(&b));
    buf_fini(&b);
    return out;
}

static void send_now(void *arg)
{
    struct route53_call *c = arg;
    struct route53 *p = c->p;
    struct http_request req = {.body = c->body, .body_len = c->body_len};
    struct arena *a;
    char **headers;

    c->timer = NULL;
    if (p->refused.code != ERR_NONE && clock_mono_ms() < p->refused_until_ms) {
        fail(c, &p->refused);
        return;
    }
    p->refused.code = ERR_NONE;
    a = arena_new();
    req.url = arena_printf(a, "%s%s%s%s", p->base_url, c->path,
                           c->query[0] != '\0' ? "?" : "", c->query);
    headers = sign(c, a);
    req.headers = (const char *const *)headers;
    req.max_body = ROUTE53_MAX_ANSWER;
    endpoint_request(&p->endpoint, &req);
    http_send(p->env.http, &req, on_answer, c);
    for (; *headers != NULL; headers++) /* one holds the session token */
        explicit_bzero(*headers, strlen(*headers));
    arena_free(a);
}

/* After the pause, and when the calls before it are paid for. */
static void wait_turn(struct route53_call *c, int64_t pause)
{
    struct route53 *p = c->p;
    int64_t now = clock_mono_ms(), wait;

    if (p->budget_ms < now)
        p->budget_ms = now;
    wait = p->budget_ms - now - (ROUTE53_BURST - 1) * SLOT_MS;
    p->budget_ms += SLOT_MS;
    c->timer =
        loop_timer_start(p->loop, wait > pause ? wait : pause, send_now, c);
}

void route53_call(struct route53 *p, const struct route53_ask *ask,
                  route53_reply_cb *cb, void *arg)
{
    struct route53_call *c = mem_alloc(sizeof *c);

    c->p = p;
    c->action = mem_strdup(ask->action);
    c->path = mem_printf(API "%s", ask->path);
    c->query = mem_strdup(ask->query);
    if (ask->body != NULL) {
        c->body = mem_strndup(ask->body, ask->body_len);
        c->body_len = ask->body_len;
    }
    c->start_ms = clock_mono_ms();
    c->cb = cb;
    c->arg = arg;
    c->next = p->calls;
    p->calls = c;
    route53_begin(p);
    if (p->closing)
        fail_closing(c);
    else
        wait_turn(c, 0);
}
