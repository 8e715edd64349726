#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/base/doer.h"
#include "providers/hook/hook.h"

/* One run of the command. Its standard input and output are files in memory:
 * no end of a pipe has to be served while it runs, whoever runs it; and an
 * answer cannot grow beyond its limit. */

struct call {
    struct hook *h;
    int stdio[2];
    struct err err; /* it was not run */
    hook_reply_cb *cb;
    void *arg;
};

static void end(struct call *c, struct hook_reply *r)
{
    struct hook *h = c->h;

    c->cb(c->arg, r);
    for (int i = 0; i < 2; i++)
        if (c->stdio[i] >= 0)
            (void)close(c->stdio[i]);
    free(c);
    hook_leave(h);
}

/* ---- files in memory ----------------------------------------------------- */

static int open_files(struct call *c, const char *text, struct err *e)
{
    size_t len = strlen(text), done = 0;

    c->stdio[0] = memfd_create("request", MFD_CLOEXEC);
    c->stdio[1] = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    while (c->stdio[0] >= 0 && done < len) {
        ssize_t n = write(c->stdio[0], text + done, len - done);

        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            done += (size_t)n;
    }
    if (done == len && lseek(c->stdio[0], 0, SEEK_SET) == 0 &&
        c->stdio[1] >= 0 &&
        ftruncate(c->stdio[1], (off_t)HOOK_ANSWER_MAX) == 0 &&
        fcntl(c->stdio[1], F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return 0;
    return err_set(e, ERR_LOCAL, "a request of %zu bytes: %s", len,
                   strerror(errno));
}

/* What was written to it: its offset is shared with the command.
 * returns the bytes, heap, or NULL with e set */
static char *take_answer(int fd, size_t *len, struct err *e)
{
    off_t end = lseek(fd, 0, SEEK_CUR);
    char *text;
    size_t done = 0;

    if (end < 0 || (size_t)end >= HOOK_ANSWER_MAX) {
        (void)err_set(e, ERR_LIMIT, "its answer is longer than %zu bytes",
                      HOOK_ANSWER_MAX);
        return NULL;
    }
    text = mem_alloc((size_t)end + 1);
    while (done < (size_t)end) {
        ssize_t n = pread(fd, text + done, (size_t)end - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    *len = done;
    return text;
}

/* ---- its end ------------------------------------------------------------- */

/* What went wrong with the command goes before what is wrong with its answer,
 * but for an error that it gave a reason for itself. */
static void on_end(void *arg, const struct proc_result *p)
{
    struct call *c = arg;
    struct hook_reply r = {.is_started = p->started};
    cJSON *root = NULL;
    char *text = NULL;
    size_t len = 0;
    bool own = false;

    r.err = p->err;
    if (p->started && !p->timed_out) {
        struct err e = {.code = ERR_NONE};

        text = take_answer(c->stdio[1], &len, &e);
        if (text != NULL && (len > 0 || p->err.code == ERR_NONE) &&
            hook_answer_parse(text, len, &root, &own, &e) == 0 &&
            p->err.code == ERR_NONE)
            r.root = root;
        if (e.code != ERR_NONE &&
            (own || e.code == ERR_LIMIT || p->err.code == ERR_NONE)) {
            r.err = e;
            /* unknown: as if no answer had come */
            r.is_refused = own && e.code != ERR_UNKNOWN;
        }
    }
    end(c, &r);
    cJSON_Delete(root);
    free(text);
}

static void on_not_run(void *arg)
{
    struct call *c = arg;
    struct hook_reply r = {.err = c->err};

    end(c, &r);
}

void hook_call(struct hook *h, const char *text, hook_reply_cb *cb, void *arg)
{
    struct call *c = mem_alloc(sizeof *c);
    struct doer_command what = {.kind = DOER_HOOK,
                                .name = h->name,
                                .timeout_ms = h->command.timeout_ms,
                                .argv = h->command.argv,
                                .dir = h->command.dir,
                                .env = h->command.env,
                                .stdio = c->stdio};

    c->h = h;
    c->cb = cb;
    c->arg = arg;
    c->stdio[0] = c->stdio[1] = -1;
    hook_enter(h);
    if (open_files(c, text, &c->err) == 0)
        (void)doer_run(h->doer, h->env.loop, &what, on_end, c);
    else
        (void)loop_timer_start(h->env.loop, 0, on_not_run, c);
}
