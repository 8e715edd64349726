#include "agent/engine/helper/helper_main.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/base/sandbox.h"
#include "agent/base/sd_notify.h"
#include "agent/engine/helper/helper_room.h"

/* The helper's process. */

#define RUNNING_MAX 128 /* commands, and results that wait to be taken */
#define SECOND_MS 1000

struct running {
    struct serving *s;
    uint32_t id;
    struct proc *proc; /* NULL: it has ended, the result waits */
    struct helper_result result;
    struct running *prev, *next;
};

struct serving {
    struct helper_room *room;
    struct loop *loop;
    int files, runs;
    uv_poll_t files_poll, runs_poll;
    struct running *running;
    size_t n;
    bool over;
    char *message; /* HELPER_MESSAGE_MAX */
};

#define MESSAGE_MAX (sizeof(struct helper_request) + HELPER_INPUT_MAX + 4096)

/* A fault of the system, or of whoever asks? */
static bool is_refusal(const struct err *e)
{
    return e->code == ERR_AUTH || e->code == ERR_INPUT;
}

/* --- files ---------------------------------------------------------------- */

static void answer_files(struct serving *s, size_t len, int fd)
{
    struct helper_answer a;
    struct helper_request q;
    int fds[HELPER_FILES_MAX];
    struct buf text;
    bool ours;

    memset(&a, 0, sizeof a);
    buf_init(&text, HELPER_ANSWER_MAX);
    ours = helper_request_decode(s->message, len, false, &q, &a.err) == 0;
    if (ours)
        helper_room_answer(s->room, &q, fd, &a, &text, fds);
    if (!ours)
        helper_room_refused(s->room, "", &a.err);
    if (text.over && a.err.code == ERR_NONE)
        (void)err_set(&a.err, ERR_LIMIT, "the answer is too long");
    if (helper_send(s->files, 0, &a, sizeof a, buf_get(&text),
                    a.err.code == ERR_NONE ? text.len : 0, fds,
                    a.err.code == ERR_NONE ? a.nfds : 0) != 0)
        s->over = true;
    for (uint32_t i = 0; i < a.nfds; i++)
        (void)close(fds[i]);
    buf_fini(&text);
}

static void on_files(uv_poll_t *p, int status, int events)
{
    struct serving *s = p->data;
    int fd = -1;
    size_t n = 1;
    int64_t got = helper_receive(s->files, MSG_DONTWAIT, s->message,
                                 MESSAGE_MAX, &fd, &n);

    (void)status;
    (void)events;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (got == 0 || (got < 0 && errno != EMSGSIZE)) {
        s->over = true;
        return;
    }
    /* One that is too large is none, and is answered as such. */
    answer_files(s, got > 0 ? (size_t)got : 0, n > 0 ? fd : -1);
    if (n > 0)
        (void)close(fd);
}

/* --- runs ----------------------------------------------------------------- */

static void on_runs(uv_poll_t *p, int status, int events);

/* Reads on while there is room; writes while something waits. */
static void listen_runs(struct serving *s, bool waiting)
{
    int events =
        (s->n < RUNNING_MAX ? UV_READABLE : 0) | (waiting ? UV_WRITABLE : 0);

    if (events != 0)
        (void)uv_poll_start(&s->runs_poll, events, on_runs);
    else
        (void)uv_poll_stop(&s->runs_poll);
}

static void running_free(struct running *r)
{
    DL_DELETE(r->s->running, r);
    r->s->n--;
    free(r);
}

static void send_results(struct serving *s)
{
    struct running *r, *next;
    bool full = false;

    DL_FOREACH_SAFE(s->running, r, next)
    {
        if (r->proc != NULL)
            continue;
        full = helper_send(s->runs, MSG_DONTWAIT, &r->result, sizeof r->result,
                           NULL, 0, NULL, 0) != 0;
        if (full)
            break; /* or closed, which reading tells */
        running_free(r);
    }
    listen_runs(s, full);
}

static void on_result(void *arg, const struct proc_result *result)
{
    struct running *r = arg;

    r->proc = NULL;
    r->result.result = *result;
    send_results(r->s);
}

/* stdio: HELPER_STDIO descriptors, or NULL: none came */
static void start(struct serving *s, const struct helper_request *q,
                  const int *stdio)
{
    struct running *r = mem_alloc(sizeof *r);
    struct err *e = &r->result.result.err;
    struct helper_command c;

    r->s = s;
    r->id = r->result.id = q->id;
    r->result.result.exit_code = -1;
    DL_APPEND(s->running, r);
    s->n++;
    if (helper_room_command(s->room, q, &c, e) == 0) {
        const struct proc_setting setting = {c.dir, c.env, stdio};

        r->proc = proc_run_in(s->loop, c.argv, &setting, c.input, c.input_len,
                              c.timeout_ms, on_result, r);
    } else if (is_refusal(e))
        helper_room_refused(s->room, q->name, e);
    helper_command_fini(&c);
}

static void drop(struct serving *s, uint32_t id)
{
    struct running *r;

    DL_FOREACH(s->running, r)
    {
        if (r->id == id)
            break;
    }
    if (r == NULL)
        return;
    if (r->proc != NULL)
        proc_drop(r->proc);
    running_free(r);
}

/* Exactly a hook comes with its standard input and output. */
static int check_stdio(const struct helper_request *q, size_t nfds,
                       struct err *e)
{
    bool is_hook = q->op == HELPER_RUN && q->kind == DOER_HOOK;

    if (nfds == (is_hook ? HELPER_STDIO : 0))
        return 0;
    return err_set(e, ERR_INPUT, "request %d with %zu descriptors", (int)q->op,
                   nfds);
}

static void on_runs(uv_poll_t *p, int status, int events)
{
    struct serving *s = p->data;

    (void)status;
    (void)events;
    while (s->n < RUNNING_MAX && !s->over) {
        int fds[HELPER_STDIO];
        size_t nfds = HELPER_STDIO;
        int64_t got = helper_receive(s->runs, MSG_DONTWAIT, s->message,
                                     MESSAGE_MAX, fds, &nfds);
        struct helper_request q;
        struct err e;

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (got == 0 || (got < 0 && errno != EMSGSIZE))
            s->over = true;
        else if (helper_request_decode(s->message, got > 0 ? (size_t)got : 0,
                                       true, &q, &e) != 0 ||
                 check_stdio(&q, nfds, &e) != 0)
            helper_room_refused(s->room, "", &e);
        else if (q.op == HELPER_DROP)
            drop(s, q.id);
        else
            start(s, &q, nfds > 0 ? fds : NULL);
        while (nfds > 0)
            (void)close(fds[--nfds]);
    }
    send_results(s);
}

/* --- the process ---------------------------------------------------------- */

static void end_commands(struct serving *s)
{
    while (s->running != NULL) {
        if (s->running->proc != NULL)
            proc_drop(s->running->proc);
        running_free(s->running);
    }
}

static void open_poll(struct serving *s, uv_poll_t *p, int fd, uv_poll_cb cb)
{
    (void)uv_poll_init(loop_uv(s->loop), p, fd);
    p->data = s;
    (void)uv_poll_start(p, UV_READABLE, cb);
}

int helper_serve(const struct config *cfg, int files, int runs)
{
    struct serving s = {.files = files, .runs = runs};

    s.room = helper_room_new(cfg);
    s.loop = loop_new();
    s.message = mem_alloc(MESSAGE_MAX);
    open_poll(&s, &s.files_poll, files, on_files);
    open_poll(&s, &s.runs_poll, runs, on_runs);
    while (!s.over)
        (void)loop_wait(s.loop, &s.over, clock_mono_ms() + SECOND_MS * 3600);
    end_commands(&s);
    uv_close((uv_handle_t *)&s.files_poll, NULL);
    uv_close((uv_handle_t *)&s.runs_poll, NULL);
    loop_free(s.loop);
    helper_room_free(s.room);
    free(s.message);
    (void)close(files);
    (void)close(runs);
    return 0;
}

/* A key or a manager that ends the whole group means the service: it ends in
 * good order, and needs its helper for that. */
static void ignore_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &ignore, NULL);
}

struct helper *helper_start(const struct config *cfg, struct err *e)
{
    int files[2], runs[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) != 0) {
        (void)err_set(e, ERR_LOCAL, "helper: %s", strerror(errno));
        return NULL;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, runs) != 0) {
        (void)err_set(e, ERR_LOCAL, "helper: %s", strerror(errno));
        (void)close(files[0]);
        (void)close(files[1]);
        return NULL;
    }
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)close(files[0]);
        (void)close(runs[0]);
        ignore_signals();
        sandbox_name_process("dnsf-helper");
        /* Its commands must not speak to the manager of the service. */
        sd_notify_free(sd_notify_new());
        _exit(helper_serve(cfg, files[1], runs[1]));
    }
    (void)close(files[1]);
    (void)close(runs[1]);
    if (pid > 0)
        return helper_new(files[0], runs[0], pid);
    (void)err_set(e, ERR_LOCAL, "helper: %s", strerror(errno));
    (void)close(files[0]);
    (void)close(runs[0]);
    return NULL;
}
