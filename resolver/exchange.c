#include "resolver/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/base/buf.h"
#include "agent/base/clock.h"
#include "agent/base/mem.h"

#define MESSAGE_MAX 65535
#define BUFFER_SIZE (2 + MESSAGE_MAX + 16384)
#define OUT_MAX ((size_t)64 * 1024 * 1024)

struct exchange {
    uv_tcp_t tcp;
    uv_timer_t timer; /* the nearer of idle and total */
    uv_connect_t connect;
    bool connected, reading, closing;
    unsigned open_handles;
    struct loop *loop;
    struct addr server;
    struct exchange_limits limits;
    int64_t end_ms; /* clock_mono_ms */
    uint64_t bytes;
    struct buf out; /* queries with their lengths, not yet written */
    uint8_t *in;    /* BUFFER_SIZE */
    size_t in_len;
    int start_error; /* of libuv */
    exchange_message_cb *on_message;
    exchange_fail_cb *on_fail;
    void *arg;
};

static void on_closed(uv_handle_t *h)
{
    struct exchange *x = h->data;

    if (--x->open_handles > 0)
        return;
    buf_fini(&x->out);
    free(x->in);
    free(x);
}

void exchange_free(struct exchange *x)
{
    if (x == NULL)
        return;
    x->closing = true;
    uv_close((uv_handle_t *)&x->tcp, on_closed);
    uv_close((uv_handle_t *)&x->timer, on_closed);
}

static void fail(struct exchange *x, const struct err *e)
{
    exchange_fail_cb *on_fail = x->on_fail;
    void *arg = x->arg;

    exchange_free(x);
    on_fail(arg, e);
}

/* "192.0.2.53:53 refused the connection over TCP" */
static void fail_uv(struct exchange *x, int status)
{
    char who[ADDR_TEXT_SIZE];
    struct err e = {0};

    addr_format_port(&x->server, who);
    if (status == UV_ECONNREFUSED)
        (void)err_set(&e, ERR_RETRY, "%s refused the connection over TCP", who);
    else if (status == UV_EOF)
        (void)err_set(&e, ERR_RETRY,
                      "%s closed the connection before the end of its answer",
                      who);
    else if (status == UV_ETIMEDOUT)
        (void)err_set(&e, ERR_RETRY, "%s timed out over TCP", who);
    else
        (void)err_set(&e,
                      status == UV_EMFILE || status == UV_ENFILE ? ERR_LOCAL
                                                                 : ERR_RETRY,
                      "%s: %s", who, uv_strerror(status));
    fail(x, &e);
}

static void on_timer(uv_timer_t *t)
{
    struct exchange *x = t->data;
    char who[ADDR_TEXT_SIZE];
    struct err e = {0};

    if (x->start_error != 0) {
        fail_uv(x, x->start_error);
    } else if (clock_mono_ms() >= x->end_ms) {
        (void)err_set(&e, ERR_LIMIT,
                      "%s did not end its answer within %lld seconds",
                      addr_format_port(&x->server, who),
                      (long long)(x->limits.total_ms / 1000));
        fail(x, &e);
    } else {
        fail_uv(x, UV_ETIMEDOUT);
    }
}

static void arm(struct exchange *x)
{
    int64_t left = x->end_ms - clock_mono_ms();

    if (left > x->limits.idle_ms)
        left = x->limits.idle_ms;
    uv_update_time(loop_uv(x->loop));
    (void)uv_timer_start(&x->timer, on_timer, left > 0 ? (uint64_t)left : 0, 0);
}

static void on_room(uv_handle_t *h, size_t hint, uv_buf_t *out)
{
    struct exchange *x = h->data;

    (void)hint;
    *out = uv_buf_init((char *)x->in + x->in_len,
                       (unsigned)(BUFFER_SIZE - x->in_len));
}

static bool too_much(struct exchange *x)
{
    char who[ADDR_TEXT_SIZE];
    struct err e = {0};

    if (x->bytes <= x->limits.bytes)
        return false;
    (void)err_set(&e, ERR_LIMIT, "%s sent more than %llu bytes",
                  addr_format_port(&x->server, who),
                  (unsigned long long)x->limits.bytes);
    fail(x, &e);
    return true;
}

/* Queries on their way. */
struct sending {
    uv_write_t write;
    char *bytes;
};

static void on_written(uv_write_t *w, int status)
{
    struct exchange *x = w->handle->data;
    struct sending *s = w->data;

    free(s->bytes);
    free(s);
    if (status == 0 || status == UV_ECANCELED || x->closing)
        return;
    fail_uv(x, status);
}

/* One write for all that waits. returns 0 or an error of libuv */
static int flush(struct exchange *x)
{
    struct sending *s;
    uv_buf_t out;
    int status;

    if (x->out.over)
        return UV_ENOBUFS;
    if (x->out.len == 0)
        return 0;
    s = mem_alloc(sizeof *s);
    out.len = x->out.len;
    out.base = s->bytes = buf_take(&x->out);
    s->write.data = s;
    status = uv_write(&s->write, (uv_stream_t *)&x->tcp, &out, 1, on_written);
    if (status != 0) {
        free(s->bytes);
        free(s);
    }
    return status;
}

void exchange_send(struct exchange *x, const uint8_t *query, size_t len)
{
    buf_char(&x->out, (char)(len >> 8));
    buf_char(&x->out, (char)len);
    buf_add(&x->out, query, len);
    if (!x->connected || x->reading)
        return;
    arm(x);
    x->start_error = flush(x);
    if (x->start_error != 0) /* said later, like everything else */
        (void)uv_timer_start(&x->timer, on_timer, 0, 0);
}

bool exchange_is_connected(const struct exchange *x)
{
    return x->connected;
}

/* Hands on what is complete, keeps the rest. returns how many bytes, or
 * SIZE_MAX when no more is expected */
static size_t hand_on(struct exchange *x)
{
    size_t at = 0;

    while (x->in_len - at >= 2) {
        size_t len = (size_t)x->in[at] << 8 | x->in[at + 1];

        if (x->in_len - at < 2 + len)
            break;
        if (!x->on_message(x->arg, x->in + at + 2, len))
            return SIZE_MAX;
        at += 2 + len;
    }
    return at;
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct exchange *x = s->data;
    size_t done;
    int status;

    (void)buf;
    if (n < 0) {
        fail_uv(x, (int)n);
        return;
    }
    x->in_len += (size_t)n;
    x->bytes += (uint64_t)n;
    if (too_much(x))
        return;
    x->reading = true;
    done = hand_on(x);
    x->reading = false;
    if (done == SIZE_MAX) {
        exchange_free(x);
        return;
    }
    memmove(x->in, x->in + done, x->in_len - done);
    x->in_len -= done;
    status = flush(x);
    if (status != 0)
        fail_uv(x, status);
    else if (done > 0)
        arm(x);
}

static void on_connected(uv_connect_t *c, int status)
{
    struct exchange *x = c->data;

    if (status == UV_ECANCELED)
        return; /* freed: its close callback comes next */
    if (status == 0) {
        x->connected = true;
        (void)uv_tcp_nodelay(&x->tcp, 1);
        status = flush(x);
    }
    if (status == 0)
        status = uv_read_start((uv_stream_t *)&x->tcp, on_room, on_read);
    if (status != 0)
        fail_uv(x, status);
    else
        arm(x);
}

struct exchange *exchange_start(struct loop *l, const struct addr *server,
                                const uint8_t *query, size_t len,
                                const struct exchange_limits *limits,
                                exchange_message_cb *on_message,
                                exchange_fail_cb *on_fail, void *arg)
{
    struct exchange *x = mem_alloc(sizeof *x);
    struct sockaddr_storage to;

    x->loop = l;
    x->server = *server;
    x->limits = *limits;
    x->end_ms = clock_mono_ms() + limits->total_ms;
    x->on_message = on_message;
    x->on_fail = on_fail;
    x->arg = arg;
    buf_init(&x->out, OUT_MAX);
    exchange_send(x, query, len);
    x->in = mem_alloc(BUFFER_SIZE);
    (void)uv_tcp_init(loop_uv(l), &x->tcp);
    (void)uv_timer_init(loop_uv(l), &x->timer);
    x->open_handles = 2;
    x->tcp.data = x->timer.data = x->connect.data = x;
    (void)addr_to_sockaddr(server, &to);
    arm(x);
    x->start_error = uv_tcp_connect(&x->connect, &x->tcp,
                                    (const struct sockaddr *)&to, on_connected);
    if (x->start_error != 0) /* said later, like everything else */
        (void)uv_timer_start(&x->timer, on_timer, 0, 0);
    return x;
}
