#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/base/helper.h"
#include "agent/base/mem.h"

/* A helper that does not answer for so long has a disk that does not either. */
#define ANSWER_S 60

struct doer_task {
    struct helper *helper;
    uint32_t id;
    proc_cb *cb;
    void *arg;
    char *message; /* not sent yet; NULL: it is */
    size_t len;
    const int *stdio;           /* to go with it; NULL: none */
    struct loop_timer *refused; /* it cannot be sent */
    struct err why;
    struct doer_task *prev, *next;
};

struct doers {
    struct doer doer;
    struct doers *next;
};

struct helper {
    int files, runs;
    pid_t pid;
    struct loop *loop;
    uv_poll_t *poll;
    uint32_t next_id;
    struct doer_task *tasks; /* in order of their start */
    struct doers *doers;
    void (*lost)(void *arg);
    void *lost_arg;
    struct err why; /* that it is gone */
    struct loop_timer *telling;
};

struct helper *helper_new(int files, int runs, pid_t pid)
{
    const struct timeval wait = {ANSWER_S, 0};
    struct helper *h = mem_alloc(sizeof *h);

    h->files = files;
    h->runs = runs;
    h->pid = pid;
    (void)setsockopt(files, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(files, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    return h;
}

bool helper_is_lost(const struct helper *h, struct err *e)
{
    if (h->why.code == ERR_NONE)
        return false;
    if (e != NULL)
        *e = h->why;
    return true;
}

/* --- its end -------------------------------------------------------------- */

static void close_sockets(struct helper *h)
{
    if (h->files >= 0)
        (void)close(h->files);
    if (h->runs >= 0)
        (void)close(h->runs);
    h->files = h->runs = -1;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void close_poll(struct helper *h)
{
    if (h->poll == NULL)
        return;
    (void)uv_poll_stop(h->poll);
    uv_close((uv_handle_t *)h->poll, free_handle);
    h->poll = NULL;
}

static int wait_for_end(struct helper *h)
{
    int status = 0;

    while (h->pid > 0 && waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    h->pid = 0;
    return status;
}

static void task_free(struct doer_task *t)
{
    DL_DELETE(t->helper->tasks, t);
    loop_timer_cancel(t->refused);
    free(t->message);
    free(t);
}

static void task_end(struct doer_task *t, const struct proc_result *r)
{
    proc_cb *cb = t->cb;
    void *arg = t->arg;

    task_free(t);
    cb(arg, r);
}

static void on_lost(void *arg)
{
    struct helper *h = arg;
    struct proc_result r = {.exit_code = -1, .err = h->why};

    h->telling = NULL;
    while (h->tasks != NULL)
        task_end(h->tasks, &r);
    if (h->lost != NULL)
        h->lost(h->lost_arg);
}

/* what: seen of it; "" when it just went away */
static void set_lost(struct helper *h, const char *what)
{
    int status;

    if (h->why.code != ERR_NONE)
        return;
    close_poll(h);
    close_sockets(h);
    status = wait_for_end(h);
    if (what[0] != '\0')
        (void)err_set(&h->why, ERR_LOCAL, "the helper process: %s", what);
    else if (WIFSIGNALED(status))
        (void)err_set(&h->why, ERR_LOCAL,
                      "the helper process was ended by signal %d (%s)",
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)err_set(&h->why, ERR_LOCAL,
                      "the helper process ended with exit code %d",
                      WEXITSTATUS(status));
    if (h->loop != NULL)
        h->telling = loop_timer_start(h->loop, 0, on_lost, h);
}

/* What the sockets say, for set_lost; n: as recv(2) returned. */
static const char *failure(int64_t n)
{
    if (n == 0 || errno == EPIPE || errno == ECONNRESET)
        return "";
    return errno == EAGAIN || errno == EWOULDBLOCK ? "it does not answer"
                                                   : strerror(errno);
}

/* --- commands ------------------------------------------------------------- */

static void on_refused(void *arg)
{
    struct doer_task *t = arg;
    struct proc_result r = {.exit_code = -1, .err = t->why};

    t->refused = NULL;
    task_end(t, &r);
}

/* returns false when the socket is full, or gone. */
static bool send_one(struct helper *h, const void *p, size_t len,
                     const int *stdio)
{
    return helper_send(h->runs, MSG_DONTWAIT, p, len, NULL, 0, stdio,
                       stdio != NULL ? HELPER_STDIO : 0) == 0;
}

static void on_ready(uv_poll_t *p, int status, int events);

static void send_waiting(struct helper *h)
{
    struct doer_task *t;
    bool full = false;

    if (h->poll == NULL)
        return;
    DL_FOREACH(h->tasks, t)
    {
        if (t->message == NULL)
            continue;
        if (!send_one(h, t->message, t->len, t->stdio)) {
            full = true; /* its end is seen by reading */
            break;
        }
        free(t->message);
        t->message = NULL;
    }
    (void)uv_poll_start(h->poll, full ? UV_READABLE | UV_WRITABLE : UV_READABLE,
                        on_ready);
}

static void take_result(struct helper *h, const struct helper_result *r)
{
    struct doer_task *t;

    DL_FOREACH(h->tasks, t)
    {
        if (t->id == r->id)
            break;
    }
    if (t != NULL) /* NULL: dropped */
        task_end(t, &r->result);
}

/* returns false when nothing is there now. */
static bool take_one(struct helper *h)
{
    struct helper_result r;
    size_t none = 0;
    int64_t n =
        helper_receive(h->runs, MSG_DONTWAIT, &r, sizeof r, NULL, &none);

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (n == (int64_t)sizeof r) {
        take_result(h, &r);
        return h->poll != NULL;
    }
    set_lost(h, n > 0 ? "its answer has a wrong length" : failure(n));
    return false;
}

static void on_ready(uv_poll_t *p, int status, int events)
{
    struct helper *h = p->data;

    (void)status;
    (void)events;
    while (h->poll == p && take_one(h))
        continue;
    if (h->poll == p)
        send_waiting(h);
}

static int encode(const struct doer *d, const struct doer_command *c,
                  struct doer_task *t, struct err *e)
{
    struct helper_request r = {.op = HELPER_RUN,
                               .generation = d->generation,
                               .id = t->id,
                               .kind = c->kind,
                               .input = c->input,
                               .input_len = c->input_len};
    struct buf b;
    int rc;

    if (c->kind == DOER_COMMAND) {
        r.timeout_ms = c->timeout_ms;
        r.target = *c->target;
    }
    buf_init(&b, sizeof r + HELPER_INPUT_MAX + 4096);
    rc = helper_request_names(&r, c->name, c->zone, e);
    if (rc == 0)
        rc = helper_request_encode(&r, &b, e);
    t->len = b.len;
    t->message = buf_take(&b);
    return rc;
}

static struct doer_task *helper_run(const struct doer *d, struct loop *l,
                                    const struct doer_command *c, proc_cb *cb,
                                    void *arg)
{
    struct helper *h = d->helper;
    struct doer_task *t = mem_alloc(sizeof *t);

    t->helper = h;
    t->id = ++h->next_id;
    if (t->id == 0)
        t->id = ++h->next_id;
    t->cb = cb;
    t->arg = arg;
    t->stdio = c->stdio;
    DL_APPEND(h->tasks, t);
    t->why = h->why;
    if (t->why.code == ERR_NONE && h->poll == NULL)
        (void)err_set(&t->why, ERR_BUG, "the helper is not attached");
    if (t->why.code != ERR_NONE || encode(d, c, t, &t->why) != 0) {
        free(t->message);
        t->message = NULL;
        t->refused = loop_timer_start(l, 0, on_refused, t);
        return t;
    }
    send_waiting(h);
    return t;
}

static void helper_drop(struct doer_task *t)
{
    struct helper *h = t->helper;
    struct helper_request r = {.op = HELPER_DROP, .id = t->id};
    struct buf b;

    buf_init(&b, sizeof r + 4096);
    /* When the socket is full the command ends by its own time limit. */
    if (t->message == NULL && t->refused == NULL && h->poll != NULL &&
        helper_request_encode(&r, &b, NULL) == 0)
        (void)send_one(h, buf_get(&b), b.len, NULL);
    buf_fini(&b);
    task_free(t);
}

void helper_attach(struct helper *h, struct loop *l, void (*lost)(void *arg),
                   void *arg)
{
    h->loop = l;
    h->lost = lost;
    h->lost_arg = arg;
    h->poll = mem_alloc(sizeof *h->poll);
    (void)uv_poll_init(loop_uv(l), h->poll, h->runs);
    h->poll->data = h;
    (void)uv_poll_start(h->poll, UV_READABLE, on_ready);
}

void helper_detach(struct helper *h)
{
    while (h->tasks != NULL)
        task_free(h->tasks);
    loop_timer_cancel(h->telling);
    h->telling = NULL;
    h->lost = NULL;
    h->loop = NULL;
    close_poll(h);
}

/* --- files ---------------------------------------------------------------- */

void helper_found_fini(struct helper_found *f)
{
    free(f->text);
    while (f->nfds > 0)
        (void)close(f->fds[--f->nfds]);
    memset(f, 0, sizeof *f);
}

static int receive_answer(struct helper *h, struct helper_answer *a,
                          struct helper_found *f)
{
    size_t room = sizeof *a + HELPER_ANSWER_MAX;
    char *bytes = mem_alloc(room + 1);
    int64_t n;

    f->nfds = HELPER_FILES_MAX;
    n = helper_receive(h->files, 0, bytes, room, f->fds, &f->nfds);
    if (n >= (int64_t)sizeof *a) {
        memcpy(a, bytes, sizeof *a);
        f->len = (size_t)n - sizeof *a;
        memmove(bytes, bytes + sizeof *a, f->len);
        bytes[f->len] = '\0';
        f->text = bytes;
        return 0;
    }
    free(bytes);
    set_lost(h, n > 0 ? "its answer is too short" : failure(n));
    return -1;
}

static int ask(struct helper *h, const struct helper_request *r, int fd,
               struct helper_answer *a, struct helper_found *f, struct err *e)
{
    struct buf b;
    int rc = -1;

    if (helper_is_lost(h, e))
        return -1;
    buf_init(&b, sizeof *r + 4096);
    if (helper_request_encode(r, &b, e) != 0)
        goto out;
    if (helper_send(h->files, 0, buf_get(&b), b.len, NULL, 0, &fd, fd >= 0) !=
        0) {
        set_lost(h, failure(-1));
        (void)helper_is_lost(h, e);
        goto out;
    }
    if (receive_answer(h, a, f) != 0) {
        (void)helper_is_lost(h, e);
        goto out;
    }
    if (a->err.code != ERR_NONE)
        *e = a->err;
    else
        rc = 0;
out:
    buf_fini(&b);
    return rc;
}

int helper_ask(const struct doer *d, const struct helper_question *q,
               struct helper_found *f, struct err *e)
{
    struct helper_request r = {
        .op = q->op, .generation = d->generation, .identity = q->identity};
    struct helper_answer a;

    memset(f, 0, sizeof *f);
    if (helper_request_names(&r, q->name, q->what, e) != 0 ||
        ask(d->helper, &r, q->fd, &a, f, e) != 0)
        return -1;
    f->identity = a.identity;
    return 0;
}

static int helper_open(const struct doer *d, const char *provider,
                       const char *option, const char *path, struct err *e)
{
    const struct helper_question q = {
        .op = HELPER_OPTION, .name = provider, .what = option, .fd = -1};
    struct helper_found f;
    int fd = -1;

    if (helper_ask(d, &q, &f, e) == 0 && f.nfds == 1) {
        fd = f.fds[0];
        f.nfds = 0;
    } else if (f.text != NULL && e->code == ERR_NONE) {
        (void)err_set(e, ERR_BUG, "%s: the helper sent no file", path);
    }
    helper_found_fini(&f);
    return fd;
}

/* --- doers ---------------------------------------------------------------- */

static const struct doer_ops ops = {helper_open, helper_run, helper_drop};

const struct doer *helper_doer(struct helper *h, uint32_t generation)
{
    struct doers *d = mem_alloc(sizeof *d);

    d->doer.ops = &ops;
    d->doer.helper = h;
    d->doer.generation = generation;
    LL_PREPEND(h->doers, d);
    return &d->doer;
}

int helper_config(struct helper *h, int *fd, const struct doer **d,
                  struct err *e)
{
    const struct helper_request r = {.op = HELPER_CONFIG};
    struct helper_answer a;
    struct helper_found f;
    int rc = -1;

    memset(&f, 0, sizeof f);
    if (ask(h, &r, -1, &a, &f, e) == 0) {
        if (f.nfds == 1) {
            *fd = f.fds[0];
            f.nfds = 0;
            *d = helper_doer(h, a.generation);
            rc = 0;
        } else {
            (void)err_set(e, ERR_BUG, "the helper sent no file");
        }
    }
    helper_found_fini(&f);
    return rc;
}

void helper_free(struct helper *h)
{
    struct doers *d, *next;

    if (h == NULL)
        return;
    helper_detach(h);
    close_sockets(h);
    (void)wait_for_end(h);
    LL_FOREACH_SAFE(h->doers, d, next)
    {
        free(d);
    }
    free(h);
}
