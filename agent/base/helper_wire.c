#include "agent/base/helper_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As it lies on the wire: this, and the input. */
struct head {
    uint32_t op, generation, id, kind;
    int64_t timeout_ms;
    struct helper_identity identity;
    uint64_t input_len;
    uint16_t port;
    uint8_t family;
    uint8_t bytes[16];
    char name[HELPER_NAME_MAX + 1];
    char what[HELPER_NAME_MAX + 1];
};

static int put_name(char out[HELPER_NAME_MAX + 1], const char *name,
                    struct err *e)
{
    size_t n = name != NULL ? strlen(name) : 0;

    if (n > HELPER_NAME_MAX)
        return err_set(e, ERR_LIMIT, "\"%.40s…\" is longer than %d bytes", name,
                       HELPER_NAME_MAX);
    memset(out, 0, HELPER_NAME_MAX + 1);
    if (n > 0)
        memcpy(out, name, n);
    return 0;
}

int helper_request_names(struct helper_request *r, const char *name,
                         const char *what, struct err *e)
{
    if (put_name(r->name, name, e) != 0)
        return -1;
    return put_name(r->what, what, e);
}

int helper_request_encode(const struct helper_request *r, struct buf *out,
                          struct err *e)
{
    struct head h;

    memset(&h, 0, sizeof h);
    h.op = r->op;
    h.generation = r->generation;
    h.id = r->id;
    h.kind = r->kind;
    h.timeout_ms = r->timeout_ms;
    h.identity = r->identity;
    h.port = r->target.port;
    h.family = r->target.family;
    memcpy(h.bytes, r->target.bytes, sizeof h.bytes);
    memcpy(h.name, r->name, sizeof h.name);
    memcpy(h.what, r->what, sizeof h.what);
    if (r->input_len > HELPER_INPUT_MAX)
        return err_set(e, ERR_LIMIT, "input of more than %zu bytes",
                       HELPER_INPUT_MAX);
    h.input_len = r->input_len;
    buf_add(out, &h, sizeof h);
    if (r->input_len > 0)
        buf_add(out, r->input, r->input_len);
    return 0;
}

/* Text of printable characters, and nothing but NULs behind it. */
static bool take_name(const char in[HELPER_NAME_MAX + 1],
                      char out[HELPER_NAME_MAX + 1])
{
    size_t n = 0;

    while (n <= HELPER_NAME_MAX && in[n] != '\0') {
        if ((unsigned char)in[n] <= ' ' || (unsigned char)in[n] >= 0x7f)
            return false;
        n++;
    }
    if (n > HELPER_NAME_MAX)
        return false;
    for (size_t i = n; i <= HELPER_NAME_MAX; i++)
        if (in[i] != '\0')
            return false;
    memcpy(out, in, HELPER_NAME_MAX + 1);
    return true;
}

static bool is_zero(const void *p, size_t n)
{
    const unsigned char *b = p;

    while (n > 0 && b[n - 1] == 0)
        n--;
    return n == 0;
}

static bool take_target(const struct head *h, struct addr *out)
{
    static const size_t used[] = {[4] = 4, [6] = 16};

    if (h->family != 4 && h->family != 6)
        return false;
    if (!is_zero(h->bytes + used[h->family], sizeof h->bytes - used[h->family]))
        return false;
    out->family = h->family;
    out->port = h->port;
    memcpy(out->bytes, h->bytes, sizeof out->bytes);
    return true;
}

/* What the operation needs; anything beside it is a fault. */
struct needs {
    bool name, what, identity, target, input, id;
};

static const struct needs *needs_of(const struct head *h)
{
    static const struct needs none = {false}, option = {true, true},
                              unchanged = {true, true, true},
                              drop = {.id = true};
    static const struct needs run[] = {
        [DOER_CHECK] = {true, true, .id = true},
        [DOER_RELOAD] = {true, true, .id = true},
        [DOER_NOTIFY] = {.input = true, .id = true},
        [DOER_COMMAND] = {true, .target = true, .id = true},
        [DOER_HOOK] = {true, .id = true},
    };

    if (h->op == HELPER_RUN)
        return h->kind < sizeof run / sizeof run[0] ? &run[h->kind] : NULL;
    if (h->kind != 0)
        return NULL;
    switch (h->op) {
    case HELPER_CONFIG:
        return &none;
    case HELPER_OPTION:
    case HELPER_READ:
    case HELPER_JOURNAL:
    case HELPER_STAGE:
    case HELPER_UNSTAGE:
        return &option;
    case HELPER_UNCHANGED:
    case HELPER_COMMIT:
        return &unchanged;
    case HELPER_DROP:
        return &drop;
    default:
        return NULL;
    }
}

static bool members_fit(const struct head *h, const struct needs *n,
                        struct helper_request *r)
{
    if (n->name != (r->name[0] != '\0') || n->what != (r->what[0] != '\0') ||
        n->input != (h->input_len > 0) || n->id != (h->id != 0))
        return false;
    if (n->target) {
        if (h->timeout_ms < 1 || h->timeout_ms > HELPER_TIMEOUT_MAX_MS ||
            !take_target(h, &r->target))
            return false;
    } else if (h->timeout_ms != 0 || h->family != 0 || h->port != 0 ||
               !is_zero(h->bytes, sizeof h->bytes)) {
        return false;
    }
    return n->identity || is_zero(&h->identity, sizeof h->identity);
}

int helper_request_decode(const char *p, size_t n, bool runs,
                          struct helper_request *r, struct err *e)
{
    const struct needs *needs;
    struct head h;

    memset(r, 0, sizeof *r);
    if (n < sizeof h)
        return err_set(e, ERR_INPUT, "a request of %zu bytes", n);
    memcpy(&h, p, sizeof h);
    needs = needs_of(&h);
    if (needs == NULL)
        return err_set(e, ERR_INPUT, "no such request: %u", h.op);
    if (runs != (h.op >= HELPER_RUN))
        return err_set(e, ERR_INPUT, "request %u on the other's socket", h.op);
    if (h.input_len > HELPER_INPUT_MAX || h.input_len != n - sizeof h)
        return err_set(e, ERR_INPUT, "request %u: %zu bytes", h.op, n);
    if (!take_name(h.name, r->name) || !take_name(h.what, r->what))
        return err_set(e, ERR_INPUT, "request %u: a name that is none", h.op);
    if (!members_fit(&h, needs, r))
        return err_set(e, ERR_INPUT, "request %u: too much or too little in it",
                       h.op);
    r->op = (enum helper_op)h.op;
    r->generation = h.generation;
    r->id = h.id;
    r->kind = (enum doer_kind)h.kind;
    r->timeout_ms = h.timeout_ms;
    r->identity = h.identity;
    r->input = h.input_len > 0 ? p + sizeof h : NULL;
    r->input_len = (size_t)h.input_len;
    return 0;
}

/* --- sockets -------------------------------------------------------------- */

union control {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int) * HELPER_FILES_MAX)];
};

int helper_send(int fd, int flags, const void *head, size_t head_len,
                const void *rest, size_t rest_len, const int *fds, size_t n)
{
    struct iovec iov[2] = {{.iov_len = head_len}, {.iov_len = rest_len}};
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = rest_len > 0 ? 2 : 1};
    union control c;
    ssize_t sent;

    /* sendmsg only reads what it is given */
    iov[0].iov_base = (void *)(uintptr_t)head;
    iov[1].iov_base = (void *)(uintptr_t)rest;
    if (n > 0) {
        memset(&c, 0, sizeof c);
        m.msg_control = c.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
        c.head.cmsg_level = SOL_SOCKET;
        c.head.cmsg_type = SCM_RIGHTS;
        c.head.cmsg_len = CMSG_LEN(sizeof(int) * n);
        memcpy(CMSG_DATA(&c.head), fds, sizeof(int) * n);
    }
    do {
        sent = sendmsg(fd, &m, flags | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

/* Those beyond max are closed. returns how many are kept. */
static size_t take_fds(struct msghdr *m, int *fds, size_t max)
{
    size_t kept = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
         c = CMSG_NXTHDR(m, c)) {
        size_t n = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
                       ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                       : 0;

        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (kept < max)
                fds[kept++] = fd;
            else
                (void)close(fd);
        }
    }
    return kept;
}

int64_t helper_receive(int fd, int flags, void *p, size_t size, int *fds,
                       size_t *n)
{
    struct iovec iov = {p, size};
    union control c;
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = c.bytes,
                       .msg_controllen = sizeof c.bytes};
    size_t max = *n;
    ssize_t got;

    *n = 0;
    do {
        got = recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got;
    *n = take_fds(&m, fds, max);
    if ((m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
        return got;
    while (*n > 0)
        (void)close(fds[--*n]);
    errno = EMSGSIZE;
    return -1;
}
