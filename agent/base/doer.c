#include "agent/base/doer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* This process itself. */

static int self_open(const struct doer *d, const char *provider,
                     const char *option, const char *path, struct err *e)
{
    /* Not blocking: a named pipe must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    (void)d;
    (void)provider;
    (void)option;
    if (fd < 0)
        return err_set(e, ERR_AUTH, "%s: %s", path, strerror(errno));
    return fd;
}

static struct doer_task *self_run(const struct doer *d, struct loop *l,
                                  const struct doer_command *c, proc_cb *cb,
                                  void *arg)
{
    const struct proc_setting s = {c->dir, c->env, c->stdio};

    (void)d;
    return (struct doer_task *)proc_run_in(
        l, c->argv, &s, c->input, c->input_len, c->timeout_ms, cb, arg);
}

static void self_drop(struct doer_task *t)
{
    proc_drop((struct proc *)t);
}

static const struct doer_ops self_ops = {self_open, self_run, self_drop};

static const struct doer_ops *ops_of(const struct doer *d)
{
    return d != NULL ? d->ops : &self_ops;
}

int doer_open(const struct doer *d, const char *provider, const char *option,
              const char *path, struct err *e)
{
    return ops_of(d)->open(d, provider, option, path, e);
}

struct doer_task *doer_run(const struct doer *d, struct loop *l,
                           const struct doer_command *c, proc_cb *cb, void *arg)
{
    return ops_of(d)->run(d, l, c, cb, arg);
}

void doer_drop(const struct doer *d, struct doer_task *t)
{
    ops_of(d)->drop(t);
}
