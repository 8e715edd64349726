#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "providers/ispconfig/ispconfig.h"

/* States: no session → logging in → logged in. Events: a call (logs in when
 * there is no session, or an old one), the login's answer, a fault that says
 * the session is gone (one new login per session's life), a fault that says
 * to stop (nothing is sent for five minutes: ten failures lock the address
 * out, the panel's own users behind it included). */

#define SESSION_MS ((int64_t)1500 * 1000) /* they live 1800 s from login */
#define STOP_MS ((int64_t)300 * 1000)
#define REST_MS 30000 /* after a login that was answered, but not so */
#define LOGOUT_MS 5000

struct isp_call {
    struct ispconfig *p;
    char *method;
    struct soap_args args;
    bool is_write, repeated;
    char sid[ISPCONFIG_SESSION_SIZE]; /* the session it was sent in */
    struct err err;                   /* for call_fail */
    isp_reply_cb *cb;
    void *arg;
    struct isp_call *next;
};

static void call_start(struct isp_call *c);

void isp_begin(struct ispconfig *p)
{
    p->busy++;
}

static void call_end(struct isp_call *c, const struct isp_reply *r)
{
    struct ispconfig *p = c->p;
    isp_reply_cb *cb = c->cb;
    void *arg = c->arg;

    free(c->method);
    soap_args_fini(&c->args);
    free(c);
    cb(arg, r);
    isp_end(p);
}

static void call_fail_now(void *arg)
{
    struct isp_call *c = arg;
    struct isp_reply r = {.err = c->err};

    call_end(c, &r);
}

/* Later: never from inside the call that started it. */
static void call_fail(struct isp_call *c, const struct err *e)
{
    c->err = *e;
    (void)loop_timer_start(c->p->loop, 0, call_fail_now, c);
}

/* ---- HTTP ---------------------------------------------------------------- */

struct post {
    const char *method, *sid;
    const struct soap_args *args;
    bool repeatable;
    int64_t timeout_ms; /* 0: the endpoint's */
};

/* returns 0, or -1 with e set: nothing was sent, cb is not called */
static int post(struct ispconfig *p, const struct post *what, http_cb *cb,
                void *arg, struct err *e)
{
    static const char *const headers[] = {
        "Content-Type: text/xml; charset=utf-8", "SOAPAction: \"\"", NULL};
    struct http_request req = {.method = "POST", .url = p->endpoint.url};
    struct buf body;
    int rc;

    buf_init(&body, ISPCONFIG_MAX_ANSWER);
    rc = soap_envelope(&body, what->method, what->sid, what->args, e);
    if (rc == 0) {
        req.headers = headers;
        req.body = buf_get(&body);
        req.body_len = body.len;
        endpoint_request(&p->endpoint, &req);
        if (what->timeout_ms > 0)
            req.timeout_ms = req.connect_timeout_ms = what->timeout_ms;
        req.max_body = ISPCONFIG_MAX_ANSWER;
        req.ip_family = p->ip_family;
        req.repeatable = what->repeatable;
        http_send(p->http, &req, cb, arg);
    }
    if (body.data != NULL)
        explicit_bzero(body.data, body.len);
    buf_fini(&body);
    return rc;
}

/* ---- login --------------------------------------------------------------- */

static uint32_t login_print(const struct ispconfig *p)
{
    const char *const parts[] = {p->endpoint.url, p->user, p->password};

    return endpoint_print(parts, sizeof parts / sizeof parts[0]);
}

/* An earlier run was refused. */
static bool is_stopped(const struct ispconfig *p, struct err *e)
{
    return p->env.stopped != NULL &&
           p->env.stopped(p->env.arg, p->title, login_print(p), e);
}

static void stop_for(struct ispconfig *p, int64_t ms, const struct err *e)
{
    p->refused = *e;
    p->refused_until_ms = clock_mono_ms() + ms;
}

static void release_waiting(struct ispconfig *p, const struct err *e)
{
    struct isp_call *c = p->waiting;

    p->waiting = NULL;
    while (c != NULL) {
        struct isp_call *next = c->next;

        c->next = NULL;
        if (e != NULL)
            call_fail(c, e);
        else
            call_start(c);
        c = next;
    }
}

static int take_session(struct ispconfig *p, struct isp_reply *r)
{
    const char *sid = r->value->text;

    if (r->value->kind != SOAP_STRING || sid[0] == '\0' ||
        strlen(sid) >= sizeof p->sid)
        return err_set(&r->err, ERR_RETRY,
                       "login: the answer holds no session id");
    memcpy(p->sid, sid, strlen(sid) + 1);
    return 0;
}

/* A panel in trouble may send back what it was sent. */
static void read_answer(const struct ispconfig *p, const char *sid,
                        const struct http_response *h, const char *method,
                        struct arena *a, struct isp_reply *r)
{
    isp_answer_read(h, method, a, r);
    config_secret_blank(r->err.msg, p->password);
    config_secret_blank(r->err.msg, sid);
}

static void on_login(void *arg, const struct http_response *h)
{
    struct ispconfig *p = arg;
    struct arena *a = arena_new();
    struct isp_reply r;

    p->session = ISP_NO_SESSION;
    read_answer(p, NULL, h, "login", a, &r);
    if (r.err.code == ERR_NONE && take_session(p, &r) == 0) {
        p->session = ISP_LOGGED_IN;
        p->ip_family = h->ip_family;
        release_waiting(p, NULL);
    } else {
        if (isp_fault_stops(r.fault))
            stop_for(p, STOP_MS, &r.err);
        else if (r.was_sent)
            stop_for(p, REST_MS, &r.err);
        /* The one refusal that counts towards the lock-out. */
        if (strcmp(r.fault, "login_failed") == 0 && p->env.stop != NULL)
            p->env.stop(p->env.arg, p->title, login_print(p), STOP_MS, &r.err);
        /* The next login may try the other family. */
        p->ip_family = 0;
        /* A login whose answer was lost changed nothing that matters. */
        if (r.err.code == ERR_UNKNOWN)
            r.err.code = p->refused.code = ERR_RETRY;
        release_waiting(p, &r.err);
    }
    arena_free(a);
    isp_end(p);
}

static void login(struct ispconfig *p)
{
    struct soap_args args;
    struct post what = {.method = "login", .args = &args};
    struct err e = {0};

    soap_args_init(&args);
    soap_put_string(&args, p->user);
    soap_put_string(&args, p->password);
    p->session = ISP_LOGGING_IN;
    p->login_at_ms = clock_mono_ms();
    isp_begin(p);
    if (post(p, &what, on_login, p, &e) != 0) {
        p->session = ISP_NO_SESSION;
        release_waiting(p, &e);
        p->busy--;
    }
    soap_args_fini(&args);
}

/* ---- calls --------------------------------------------------------------- */

static void wait_for_login(struct isp_call *c)
{
    struct isp_call **at = &c->p->waiting;

    while (*at != NULL)
        at = &(*at)->next;
    *at = c;
    if (c->p->session != ISP_LOGGING_IN)
        login(c->p);
}

/* The session is gone. returns true when c was started again. */
static bool repeat(struct isp_call *c, const struct isp_reply *r)
{
    struct ispconfig *p = c->p;
    bool is_current = strcmp(c->sid, p->sid) == 0;

    if (strcmp(r->fault, "session_does_not_exist") != 0)
        return false;
    if (c->repeated || (is_current && p->relogged)) {
        /* Each such call counts as a failed login of our address. */
        stop_for(p, STOP_MS, &r->err);
        return false;
    }
    c->repeated = true;
    if (is_current && p->session == ISP_LOGGED_IN) {
        p->relogged = true;
        p->session = ISP_NO_SESSION;
        p->sid[0] = '\0';
    }
    call_start(c);
    return true;
}

static void on_answer(void *arg, const struct http_response *h)
{
    struct isp_call *c = arg;
    struct arena *a = arena_new();
    struct isp_reply r;

    read_answer(c->p, c->sid, h, c->method, a, &r);
    if (!repeat(c, &r)) {
        if (isp_fault_stops(r.fault))
            stop_for(c->p, STOP_MS, &r.err);
        call_end(c, &r);
    }
    arena_free(a);
}

static void call_start(struct isp_call *c)
{
    struct ispconfig *p = c->p;
    struct post what = {.method = c->method, .sid = p->sid, .args = &c->args};
    struct err e = {0};

    if (p->refused.code != ERR_NONE && clock_mono_ms() < p->refused_until_ms) {
        call_fail(c, &p->refused);
        return;
    }
    p->refused.code = ERR_NONE;
    if (p->session == ISP_NO_SESSION && is_stopped(p, &e)) {
        call_fail(c, &e);
        return;
    }
    if (p->session == ISP_LOGGED_IN &&
        clock_mono_ms() - p->login_at_ms >= SESSION_MS) {
        p->session = ISP_NO_SESSION;
        p->relogged = false;
    }
    if (p->session != ISP_LOGGED_IN) {
        wait_for_login(c);
        return;
    }
    memcpy(c->sid, p->sid, sizeof c->sid);
    what.repeatable = !c->is_write;
    if (post(p, &what, on_answer, c, &e) != 0)
        call_fail(c, &e);
}

void isp_call(struct ispconfig *p, const char *method, struct soap_args *args,
              bool is_write, isp_reply_cb *cb, void *arg)
{
    struct isp_call *c = mem_alloc(sizeof *c);
    struct err e;

    c->p = p;
    c->method = mem_strdup(method);
    c->args = *args;
    soap_args_init(args);
    c->is_write = is_write;
    c->cb = cb;
    c->arg = arg;
    isp_begin(p);
    if (p->closing) {
        (void)err_set(&e, ERR_RETRY, "%s: the provider is being closed",
                      method);
        call_fail(c, &e);
        return;
    }
    call_start(c);
}

/* ---- logout -------------------------------------------------------------- */

struct logout {
    loop_cb *cb;
    void *arg;
};

static void logout_done(void *arg)
{
    struct logout l = *(struct logout *)arg;

    free(arg);
    l.cb(l.arg);
}

static void on_logout(void *arg, const struct http_response *h)
{
    (void)h; /* polite, not needed: sessions end by themselves */
    logout_done(arg);
}

void isp_logout(struct ispconfig *p, loop_cb *cb, void *arg)
{
    struct logout *l = mem_alloc(sizeof *l);
    struct soap_args args;
    struct post what = {.method = "logout", .sid = p->sid, .args = &args};
    struct err e;

    l->cb = cb;
    l->arg = arg;
    soap_args_init(&args);
    what.repeatable = true;
    what.timeout_ms =
        p->endpoint.timeout_ms < LOGOUT_MS ? p->endpoint.timeout_ms : LOGOUT_MS;
    if (p->sid[0] == '\0' || post(p, &what, on_logout, l, &e) != 0)
        (void)loop_timer_start(p->loop, 0, logout_done, l);
    soap_args_fini(&args);
}
