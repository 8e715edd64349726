/* command: a check plugin, run without a shell. agent/base/proc ends the whole
 * group at the timeout. */
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/probes/kind.h"

/* source: Monitoring Plugins Development Guidelines, "Plugin Return Codes" */
enum { OK = 0, WARNING = 1, UNKNOWN = 3 };

/* out: the first line of what it said */
static const char *first_line(const struct proc_result *p, char *out,
                              size_t size)
{
    size_t n = strcspn(p->output, "\r\n");

    if (n >= size)
        n = size - 1;
    memcpy(out, p->output, n);
    out[n] = '\0';
    return out;
}

static void judge(const struct proc_result *p, struct probe_result *r)
{
    char line[48];

    (void)first_line(p, line, sizeof line);
    if (!p->started)
        (void)probe_local(r, PROBE_UNABLE, "%.54s", p->err.msg);
    else if (p->timed_out)
        (void)probe_fail(r, PROBE_TIMEOUT, "the command was ended");
    else if (p->signal != 0)
        (void)probe_local(r, PROBE_UNABLE, "the command ended by signal %d",
                          p->signal);
    else if (p->exit_code == UNKNOWN)
        (void)probe_local(r, PROBE_UNABLE, "unknown: %s", line);
    else if (p->exit_code != OK && p->exit_code != WARNING)
        (void)probe_fail(r, PROBE_FAILED, "exit %d%s%s", p->exit_code,
                         line[0] != '\0' ? ": " : "", line);
}

static void on_end(void *arg, const struct proc_result *p)
{
    uint64_t tag;
    struct probe_env *env = probe_ticket_take(arg, &tag);
    struct probe_run *run = env != NULL ? probe_run_find(env, tag) : NULL;
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

    if (run == NULL)
        return;
    free(run->u.state); /* nothing is left to be ended */
    run->u.state = NULL;
    judge(p, &r);
    probe_run_finish(env, tag, &r);
}

/* What is to be ended with the probe. */
struct command {
    const struct doer *doer;
    struct doer_task *task;
    struct probe_ticket *ticket;
};

static void command_end(struct probe_run *run)
{
    struct command *c = run->u.state;
    uint64_t tag;

    if (c == NULL)
        return;
    doer_drop(c->doer, c->task);
    (void)probe_ticket_take(c->ticket, &tag);
    free(c);
}

static int command_start(struct probe_run *run, struct probe_result *r)
{
    const struct probe_params *p = probe_run_params(run);
    struct probe_env *env = run->env;
    const struct doer_command what = {.kind = DOER_COMMAND,
                                      .name = p->command,
                                      .target = &run->spec.target,
                                      .timeout_ms =
                                          probe_timeout_ms(&run->spec),
                                      .argv = p->argv};
    struct command *c;

    if (p->argv == NULL || p->argv[0] == NULL) {
        (void)probe_local(r, PROBE_UNABLE, "no such command");
        return -1;
    }
    c = mem_alloc(sizeof *c);
    c->ticket = probe_ticket_new(run);
    c->doer = env->hooks.doer;
    c->task = doer_run(c->doer, env->loop, &what, on_end, c->ticket);
    run->u.state = c;
    return 0;
}

const struct probe_ops probe_command = {
    .name = "command",
    .default_timeout_ms = 5000,
    .lane = PROBE_LANE_CHILD,
    .no_port = true,
    .start = command_start,
    .end = command_end,
    .grace_ms = 5000, /* the verdict comes when the group has ended */
};
