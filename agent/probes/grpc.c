#include "agent/probes/grpc.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/probes/net.h"
#include "agent/probes/stream.h"

enum {
    SERVICE_MAX = 1024,
    REPLY_MAX = 4096,
    OUT_MAX = 65536,
    SERVING = 1,
    NOT_FOUND = 5,
    UNIMPLEMENTED = 12
};

/* --- messages ------------------------------------------------------------- */

void grpc_request(const char *service, struct buf *out)
{
    size_t n = service != NULL ? strlen(service) : 0;
    size_t field = n == 0 ? 0 : n + (n < 128 ? 2 : 3);
    const char prefix[5] = {0, 0, 0, (char)(field >> 8), (char)field};

    if (n > SERVICE_MAX) {
        out->over = true;
        return;
    }
    buf_add(out, prefix, sizeof prefix);
    if (n == 0)
        return;
    buf_char(out, 0x0a); /* field 1, a string */
    if (n < 128) {
        buf_char(out, (char)n);
    } else {
        buf_char(out, (char)((n & 127) | 128));
        buf_char(out, (char)(n >> 7));
    }
    buf_add(out, service, n);
}

/* returns the bytes used, 0: bad */
static size_t varint(const uint8_t *p, size_t n, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < n && i < 10; i++) {
        *v |= (uint64_t)(p[i] & 127) << (7 * i);
        if (p[i] < 128)
            return i + 1;
    }
    return 0;
}

/* returns the bytes of a field's value that is skipped, 0: bad */
static size_t skip_field(unsigned wire_type, const uint8_t *p, size_t n)
{
    uint64_t len = 0;
    size_t used;

    switch (wire_type) {
    case 0:
        return varint(p, n, &len);
    case 1:
        return n >= 8 ? 8 : 0;
    case 2:
        used = varint(p, n, &len);
        return used > 0 && len <= n - used ? used + (size_t)len : 0;
    case 5:
        return n >= 4 ? 4 : 0;
    default:
        return 0;
    }
}

int64_t grpc_status(const uint8_t *p, size_t n)
{
    int64_t status = 0; /* proto3 leaves a zero out */

    if (n < 5 || p[0] != 0 ||
        ((uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 |
         p[4]) != n - 5)
        return -1;
    p += 5;
    n -= 5;
    while (n > 0) {
        uint64_t key = 0, v = 0;
        size_t used = varint(p, n, &key), len;

        if (used == 0 || key >> 3 == 0)
            return -1;
        len = skip_field((unsigned)(key & 7), p + used, n - used);
        if (len == 0)
            return -1;
        if (key == 8 && varint(p + used, n - used, &v) > 0)
            status = v <= INT32_MAX ? (int64_t)v : INT32_MAX;
        p += used + len;
        n -= used + len;
    }
    return status;
}

/* --- the call ------------------------------------------------------------- */

struct grpc {
    struct stream stream;
    nghttp2_session *session;
    struct buf request, reply, out;
    size_t request_sent;
    bool opened, closed;
    uint32_t h2_error;
    int http_status; /* 0: none yet */
    int grpc_code;   /* -1: none yet */
    char message[40];
};

static ssize_t on_send(nghttp2_session *s, const uint8_t *p, size_t n,
                       int flags, void *arg)
{
    struct grpc *g = arg;

    (void)s;
    (void)flags;
    if (n > OUT_MAX - g->out.len)
        return NGHTTP2_ERR_WOULDBLOCK;
    buf_add(&g->out, p, n);
    return (ssize_t)n;
}

static int number(const uint8_t *p, size_t n)
{
    int v = 0;

    for (size_t i = 0; i < n && i < 6; i++) {
        if (p[i] < '0' || p[i] > '9')
            return 0;
        v = v * 10 + (p[i] - '0');
    }
    return v;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_len, const uint8_t *value,
                     size_t len, uint8_t flags, void *arg)
{
    struct grpc *g = arg;

    (void)s;
    (void)frame;
    (void)flags;
    if (name_len == 7 && memcmp(name, ":status", 7) == 0) {
        g->http_status = number(value, len);
    } else if (name_len == 11 && memcmp(name, "grpc-status", 11) == 0) {
        g->grpc_code = number(value, len);
    } else if (name_len == 12 && memcmp(name, "grpc-message", 12) == 0) {
        size_t n = len < sizeof g->message ? len : sizeof g->message - 1;

        memcpy(g->message, value, n);
        g->message[n] = '\0';
    }
    return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t stream_id,
                   const uint8_t *p, size_t n, void *arg)
{
    struct grpc *g = arg;

    (void)s;
    (void)flags;
    (void)stream_id;
    buf_add(&g->reply, p, n);
    return 0;
}

static int on_stream_close(nghttp2_session *s, int32_t stream_id,
                           uint32_t error, void *arg)
{
    struct grpc *g = arg;

    (void)s;
    (void)stream_id;
    g->closed = true;
    g->h2_error = error;
    return 0;
}

static ssize_t on_body(nghttp2_session *s, int32_t stream_id, uint8_t *p,
                       size_t size, uint32_t *flags, nghttp2_data_source *src,
                       void *arg)
{
    struct grpc *g = arg;
    size_t n = g->request.len - g->request_sent;

    (void)s;
    (void)stream_id;
    (void)src;
    if (n > size)
        n = size;
    memcpy(p, g->request.data + g->request_sent, n);
    g->request_sent += n;
    if (g->request_sent == g->request.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name,
                        (uint8_t *)(uintptr_t)value, /* only read */
                        strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int submit(struct probe_run *run, struct grpc *g)
{
    const struct probe_params *p = probe_run_params(run);
    nghttp2_data_provider body = {{0}, on_body};
    char text[ADDR_TEXT_SIZE], authority[320];
    const char *host =
        p->host != NULL ? p->host : addr_format(&run->spec.target, text);
    const char *bracket = strchr(host, ':') != NULL ? "[" : "";
    nghttp2_nv fields[8];
    size_t n = 0;

    (void)snprintf(authority, sizeof authority, "%s%.255s%s:%u", bracket, host,
                   *bracket != '\0' ? "]" : "", run->spec.target.port);
    fields[n++] = field(":method", "POST");
    fields[n++] = field(":scheme", g->stream.to.tls ? "https" : "http");
    fields[n++] = field(":path", "/grpc.health.v1.Health/Check");
    fields[n++] = field(":authority", authority);
    fields[n++] = field("te", "trailers");
    fields[n++] = field("content-type", "application/grpc");
    fields[n++] = field("user-agent", "dnsfailover");
    return nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, NULL, 0) ==
                       0 &&
                   nghttp2_submit_request(g->session, NULL, fields, n, &body,
                                          NULL) >= 0
               ? 0
               : -1;
}

static int open_session(struct probe_run *run, struct grpc *g)
{
    nghttp2_session_callbacks *c = NULL;
    int rc;

    if (nghttp2_session_callbacks_new(&c) != 0)
        return -1;
    nghttp2_session_callbacks_set_send_callback(c, on_send);
    nghttp2_session_callbacks_set_on_header_callback(c, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
    rc = nghttp2_session_client_new(&g->session, c, g);
    nghttp2_session_callbacks_del(c);
    return rc == 0 ? submit(run, g) : -1;
}

static int grpc_start(struct probe_run *run, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct grpc *g = mem_alloc(sizeof *g);
    struct stream_to to = {.addr = run->spec.target,
                           .tls = p->tls,
                           .verify = !p->no_verify,
                           .min_cert_days = p->min_cert_days,
                           .name = p->server_name != NULL ? p->server_name
                                                          : p->host,
                           .alpn = "\x02h2",
                           .talks_first = true};

    run->u.state = g;
    g->grpc_code = -1;
    buf_init(&g->request, SERVICE_MAX + 16);
    buf_init(&g->reply, REPLY_MAX);
    buf_init(&g->out, OUT_MAX);
    grpc_request(p->service, &g->request);
    if (g->request.over) {
        (void)probe_local(r, PROBE_UNABLE, "the service's name is too long");
        return -1;
    }
    return stream_connect(run, &g->stream, &to, r);
}

/* returns true when r holds the verdict */
static bool pump_out(struct probe_run *run, struct grpc *g,
                     struct probe_result *r)
{
    while (g->stream.out_len > 0 || nghttp2_session_want_write(g->session)) {
        enum stream_step step;

        if (g->stream.out_len > 0) {
            step = stream_send(run, &g->stream, NULL, 0, r);
        } else {
            buf_reset(&g->out);
            if (nghttp2_session_send(g->session) != 0)
                return probe_fail(r, PROBE_PROTOCOL, "not HTTP/2");
            if (g->out.len == 0)
                return false;
            step =
                stream_send(run, &g->stream, buf_get(&g->out), g->out.len, r);
        }
        if (step != STREAM_READY)
            return step == STREAM_BAD;
    }
    return false;
}

static bool judge(struct grpc *g, struct probe_result *r)
{
    static const char *const names[] = {"UNKNOWN", "SERVING", "NOT_SERVING",
                                        "SERVICE_UNKNOWN"};
    int64_t status;

    if (g->http_status == 0)
        return probe_fail(r, PROBE_PROTOCOL, "stream closed (%u)",
                          (unsigned)g->h2_error);
    if (g->http_status != 200)
        return probe_fail(r, PROBE_STATUS, "HTTP status %d", g->http_status);
    if (g->grpc_code < 0)
        return probe_fail(r, PROBE_PROTOCOL, "no grpc-status");
    if (g->grpc_code == NOT_FOUND)
        return probe_fail(r, PROBE_STATUS, "service not known");
    if (g->grpc_code == UNIMPLEMENTED)
        return probe_fail(r, PROBE_STATUS, "no grpc.health.v1 here");
    if (g->grpc_code != 0)
        return probe_fail(r, PROBE_STATUS, "grpc-status %d %s", g->grpc_code,
                          g->message);
    status = g->reply.over ? -1
                           : grpc_status((const uint8_t *)buf_get(&g->reply),
                                         g->reply.len);
    if (status < 0)
        return probe_fail(r, PROBE_PROTOCOL, "no HealthCheckResponse");
    if (status != SERVING)
        return probe_fail(r, PROBE_STATUS, "%s",
                          status < 4 ? names[status] : "status not known");
    return true;
}

static bool grpc_ready(struct probe_run *run, uint32_t events,
                       struct probe_result *r)
{
    struct grpc *g = run->u.state;
    enum stream_step step = stream_step(run, &g->stream, events, r);
    uint8_t chunk[4096];

    if (step != STREAM_READY)
        return step == STREAM_BAD;
    if (!g->opened) {
        g->opened = true;
        if (open_session(run, g) != 0)
            return probe_local(r, PROBE_UNABLE, "no HTTP/2 session");
    }
    for (;;) {
        ssize_t n;

        if (pump_out(run, g, r))
            return true;
        /* Our own GOAWAY has gone out: what came was not HTTP/2. */
        if (g->stream.out_len == 0 && !nghttp2_session_want_read(g->session) &&
            !nghttp2_session_want_write(g->session))
            return probe_fail(r, PROBE_PROTOCOL, "not HTTP/2");
        n = stream_recv(run, &g->stream, chunk, sizeof chunk, r);
        if (n == -1)
            return false;
        if (n == -2)
            return true;
        if (n == 0)
            return probe_fail(r, PROBE_PROTOCOL, "closed early");
        if (nghttp2_session_mem_recv(g->session, chunk, (size_t)n) < 0)
            return probe_fail(r, PROBE_PROTOCOL, "not HTTP/2");
        if (g->closed)
            return judge(g, r);
        if (!nghttp2_session_want_read(g->session) &&
            !nghttp2_session_want_write(g->session))
            return probe_fail(r, PROBE_PROTOCOL, "ended by the server");
    }
}

static const char *grpc_awaits(const struct probe_run *run)
{
    const struct grpc *g = run->u.state;
    const char *stage = stream_awaits(&g->stream);

    return stage != NULL ? stage : "no answer to the call";
}

static void grpc_end(struct probe_run *run)
{
    struct grpc *g = run->u.state;

    if (g == NULL)
        return;
    stream_end(&g->stream);
    nghttp2_session_del(g->session);
    buf_fini(&g->request);
    buf_fini(&g->reply);
    buf_fini(&g->out);
    free(g);
}

const struct probe_ops probe_grpc = {
    .name = "grpc",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_FD,
    .start = grpc_start,
    .ready = grpc_ready,
    .awaits = grpc_awaits,
    .end = grpc_end,
};
