#include "agent/base/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "agent/base/duration.h"
#include "agent/base/mem.h"

#define TERM_MS                                                                \
    1000              /* from SIGTERM to SIGKILL, and from there to giving up  \
                       */
#define DRAIN_MS 200  /* for output that comes after the command's own end */
#define LINE_SIZE 240 /* of the last line that goes into the error */
#define CHUNK 4096

enum stage { RUNNING, TERMINATING, KILLED, DRAINING, CLOSING };

struct proc {
    struct loop *loop;
    uv_process_t process;
    uv_pipe_t in, out;
    uv_write_t write;
    struct loop_timer *timer;
    enum stage stage;
    unsigned handles; /* still to be closed */
    bool exited, eof;
    pid_t pid; /* of the group too */
    int64_t timeout_ms;
    char *name, *input;
    size_t output_len, line_len;
    char line[LINE_SIZE], last[LINE_SIZE];
    char chunk[CHUNK];
    struct proc_result result;
    proc_cb *cb;
    void *arg;
};

static void take_line(struct proc *r)
{
    if (r->line_len == 0)
        return;
    memcpy(r->last, r->line, r->line_len);
    r->last[r->line_len] = '\0';
    r->line_len = 0;
}

static void take_output(struct proc *r, const char *p, size_t n)
{
    size_t room = PROC_OUTPUT_MAX - r->output_len;

    memcpy(r->result.output + r->output_len, p, n < room ? n : room);
    r->output_len += n < room ? n : room;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n')
            take_line(r);
        else if (p[i] != '\r' && r->line_len < sizeof r->line - 1)
            r->line[r->line_len++] = p[i];
    }
}

static void explain(struct proc *r)
{
    struct proc_result *p = &r->result;
    const char *sep = r->last[0] != '\0' ? ": " : "";
    char text[32];

    if (p->timed_out)
        (void)err_set(&p->err, ERR_RETRY,
                      "%s: ended after its time limit of %s%s%s", r->name,
                      duration_format(r->timeout_ms, text), sep, r->last);
    else if (p->signal != 0)
        (void)err_set(&p->err, ERR_RETRY, "%s: ended by signal %d (%s)%s%s",
                      r->name, p->signal, strsignal(p->signal), sep, r->last);
    else if (p->exit_code != 0)
        (void)err_set(&p->err, ERR_RETRY, "%s: exit code %d%s%s", r->name,
                      p->exit_code, sep, r->last);
}

static void deliver(struct proc *r)
{
    if (r->result.started) {
        take_line(r);
        explain(r);
    }
    if (r->cb != NULL) /* NULL: dropped */
        r->cb(r->arg, &r->result);
    free(r->name);
    free(r->input);
    free(r);
}

static void on_closed(uv_handle_t *h)
{
    struct proc *r = h->data;

    r->handles--;
    if (r->handles == 0 && r->stage == CLOSING)
        deliver(r);
}

/* data is set while the handle is open, NULL when it was never opened. */
static void close_handle(uv_handle_t *h)
{
    if (h->data != NULL && !uv_is_closing(h))
        uv_close(h, on_closed);
}

/* The process handle stays open until here, so that a close callback always
 * follows, and with the last one the result. Only a command for which no pipe
 * could be had has no handle at all. */
static void finish(struct proc *r)
{
    loop_timer_cancel(r->timer);
    r->timer = NULL;
    r->stage = CLOSING;
    close_handle((uv_handle_t *)&r->in);
    close_handle((uv_handle_t *)&r->out);
    close_handle((uv_handle_t *)&r->process);
    if (r->handles == 0)
        deliver(r);
}

static bool group_alive(const struct proc *r)
{
    return kill(-r->pid, 0) == 0;
}

static void on_timer(void *arg);

static void enter(struct proc *r, enum stage stage, int64_t wait_ms)
{
    loop_timer_cancel(r->timer);
    r->stage = stage;
    r->timer = loop_timer_start(r->loop, wait_ms, on_timer, r);
}

/* Called on each news: the command's end, its output's end, SIGKILL sent. */
static void settle(struct proc *r)
{
    if (r->stage == CLOSING || !r->exited)
        return;
    /* The rest of the group has its second to end in good order too. */
    if (r->stage == TERMINATING && group_alive(r))
        return;
    if (r->eof)
        finish(r);
    else if (r->stage != DRAINING)
        /* Somebody else holds the pipe: a service that a reload started. */
        enter(r, DRAINING, DRAIN_MS);
}

static void on_timer(void *arg)
{
    struct proc *r = arg;

    r->timer = NULL;
    switch (r->stage) {
    case RUNNING:
        r->result.timed_out = true;
        (void)kill(-r->pid, SIGTERM);
        enter(r, TERMINATING, TERM_MS);
        break;
    case TERMINATING:
        (void)kill(-r->pid, SIGKILL);
        enter(r, KILLED, TERM_MS);
        settle(r);
        break;
    case KILLED: /* in an uninterruptible system call */
        r->result.signal = SIGKILL;
        finish(r);
        break;
    case DRAINING:
        finish(r);
        break;
    case CLOSING:
        break;
    }
}

static void on_exit_status(uv_process_t *h, int64_t status, int term_signal)
{
    struct proc *r = h->data;

    r->exited = true;
    r->result.signal = term_signal;
    if (term_signal == 0 && !r->result.timed_out)
        r->result.exit_code = (int)status;
    settle(r);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *b)
{
    struct proc *r = h->data;

    (void)hint;
    *b = uv_buf_init(r->chunk, sizeof r->chunk);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b)
{
    struct proc *r = s->data;

    if (n > 0)
        take_output(r, b->base, (size_t)n);
    if (n >= 0)
        return;
    r->eof = true;
    close_handle((uv_handle_t *)&r->out);
    settle(r);
}

static void on_written(uv_write_t *w, int status)
{
    struct proc *r = w->data;

    /* A command that does not read its input is no error: its exit code
     * speaks for it. */
    (void)status;
    close_handle((uv_handle_t *)&r->in);
}

static void init_pipe(struct proc *r, uv_pipe_t *p, uv_file fd)
{
    (void)uv_pipe_init(loop_uv(r->loop), p, 0);
    p->data = r;
    r->handles++;
    (void)uv_pipe_open(p, fd);
}

static int spawn(struct proc *r, char *const *argv,
                 const struct proc_setting *s, uv_file in_fd, uv_file out_fd)
{
    uv_stdio_container_t io[3];
    uv_process_options_t o;
    char **env = proc_env_new();
    int rc;

    memset(io, 0, sizeof io);
    memset(&o, 0, sizeof o);
    io[0].flags = in_fd >= 0 ? UV_INHERIT_FD : UV_IGNORE; /* /dev/null */
    io[0].data.fd = in_fd;
    io[1].flags = io[2].flags = UV_INHERIT_FD;
    io[1].data.fd = io[2].data.fd = out_fd;
    if (s->stdio != NULL) {
        io[0].flags = UV_INHERIT_FD;
        io[0].data.fd = s->stdio[0];
        io[1].data.fd = s->stdio[1];
    }
    o.stdio = io;
    o.stdio_count = 3;
    o.file = argv[0];
    o.args = (char **)(uintptr_t)argv; /* libuv only reads it */
    o.cwd = s->dir;
    o.env = s->env != NULL ? (char **)(uintptr_t)s->env : env;
    o.flags = UV_PROCESS_DETACHED;
    o.exit_cb = on_exit_status;
    rc = uv_spawn(loop_uv(r->loop), &r->process, &o);
    free(env);
    r->process.data = r;
    r->handles++;
    return rc;
}

static void on_not_started(void *arg)
{
    struct proc *r = arg;

    r->timer = NULL;
    finish(r);
}

static int not_started(struct proc *r, const char *dir, int rc)
{
    if (dir != NULL && access(dir, X_OK) != 0)
        return err_set(&r->result.err, ERR_LOCAL,
                       "%s: not run: directory %s: %s", r->name, dir,
                       strerror(errno));
    return err_set(&r->result.err, ERR_LOCAL, "%s: not run: %s", r->name,
                   rc == UV_ENOENT ? "no such command" : uv_strerror(rc));
}

static void close_fd(uv_file fd)
{
    if (fd >= 0)
        (void)close(fd);
}

/* returns 0, or -1 with the result's err set */
static int start(struct proc *r, char *const *argv,
                 const struct proc_setting *s, size_t input_len)
{
    uv_file in[2] = {-1, -1}, out[2] = {-1, -1};
    uv_buf_t b;
    int rc = uv_pipe(out, UV_NONBLOCK_PIPE, 0);

    if (rc == 0 && r->input != NULL)
        rc = uv_pipe(in, 0, UV_NONBLOCK_PIPE);
    if (rc == 0)
        rc = spawn(r, argv, s, in[0], out[1]);
    close_fd(in[0]);
    close_fd(out[1]);
    if (rc != 0) {
        close_fd(in[1]);
        close_fd(out[0]);
        return not_started(r, s->dir, rc);
    }
    r->pid = (pid_t)r->process.pid;
    init_pipe(r, &r->out, out[0]);
    (void)uv_read_start((uv_stream_t *)&r->out, on_alloc, on_read);
    if (r->input == NULL)
        return 0;
    init_pipe(r, &r->in, in[1]);
    r->write.data = r;
    b = uv_buf_init(r->input, (unsigned)input_len);
    (void)uv_write(&r->write, (uv_stream_t *)&r->in, &b, 1, on_written);
    return 0;
}

struct proc *proc_run_in(struct loop *l, char *const *argv,
                         const struct proc_setting *s, const char *input,
                         size_t input_len, int64_t timeout_ms, proc_cb *cb,
                         void *arg)
{
    struct proc *r = mem_alloc(sizeof *r);

    r->loop = l;
    r->cb = cb;
    r->arg = arg;
    r->timeout_ms = timeout_ms;
    r->name = mem_strdup(argv[0]);
    r->result.exit_code = -1;
    if (input != NULL) {
        r->input = mem_alloc(input_len);
        memcpy(r->input, input, input_len);
    }
    if (start(r, argv, s, input_len) == 0) {
        r->result.started = true;
        enter(r, RUNNING, timeout_ms);
    } else {
        r->timer = loop_timer_start(l, 0, on_not_started, r);
    }
    return r;
}

struct proc *proc_run(struct loop *l, char *const *argv, const char *dir,
                      const char *input, size_t input_len, int64_t timeout_ms,
                      proc_cb *cb, void *arg)
{
    const struct proc_setting s = {.dir = dir};

    return proc_run_in(l, argv, &s, input, input_len, timeout_ms, cb, arg);
}

void proc_drop(struct proc *r)
{
    r->cb = NULL;
    if (r->result.started && !r->exited)
        (void)kill(-r->pid, SIGKILL);
    if (r->stage != CLOSING)
        finish(r);
}
