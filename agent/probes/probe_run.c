#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/probes/kind.h"
#include "agent/probes/net.h"

const struct probe_params *probe_run_params(const struct probe_run *run)
{
    static const struct probe_params none;

    return run->spec.params != NULL ? run->spec.params : &none;
}

int probe_run_watch(struct probe_run *run, struct probe_result *r)
{
    if (net_set_add(run->env->set, run->fd, run->events, run->tag) == 0)
        return 0;
    r->verdict = PROBE_LOCAL;
    r->reason = PROBE_NO_FD;
    r->sys_errno = errno;
    return -1;
}

/* --- tickets ------------------------------------------------------------- */

struct probe_ticket *probe_ticket_new(struct probe_run *run)
{
    struct probe_ticket *t = mem_alloc(sizeof *t);

    t->env = run->env;
    t->tag = run->tag;
    t->next = run->env->tickets;
    if (t->next != NULL)
        t->next->prev = t;
    run->env->tickets = t;
    return t;
}

struct probe_env *probe_ticket_take(struct probe_ticket *t, uint64_t *tag)
{
    struct probe_env *env = t->env;

    *tag = t->tag;
    if (env != NULL) {
        if (t->next != NULL)
            t->next->prev = t->prev;
        if (t->prev != NULL)
            t->prev->next = t->next;
        else
            env->tickets = t->next;
    }
    free(t);
    return env;
}

void probe_tickets_void(struct probe_env *env)
{
    for (struct probe_ticket *t = env->tickets; t != NULL; t = t->next)
        t->env = NULL;
    env->tickets = NULL;
}

/* --- results ------------------------------------------------------------- */

static void note(struct probe_result *r, const char *fmt, va_list ap)
{
    (void)vsnprintf(r->note, sizeof r->note, fmt, ap);
    for (char *c = r->note; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

bool probe_fail(struct probe_result *r, enum probe_reason reason,
                const char *fmt, ...)
{
    va_list ap;

    r->verdict = PROBE_FAIL;
    r->reason = reason;
    va_start(ap, fmt);
    note(r, fmt, ap);
    va_end(ap);
    return true;
}

bool probe_local(struct probe_result *r, enum probe_reason reason,
                 const char *fmt, ...)
{
    va_list ap;

    r->verdict = PROBE_LOCAL;
    r->reason = reason;
    va_start(ap, fmt);
    note(r, fmt, ap);
    va_end(ap);
    return true;
}

/* The connect could not even be started: our own side, except where the
 * answer was there at once. */
void probe_not_started(struct probe_result *r, int error)
{
    r->verdict = PROBE_LOCAL;
    r->sys_errno = error;
    switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
        r->verdict = PROBE_FAIL;
        r->reason = PROBE_CONNECT;
        break;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        r->reason = PROBE_NO_FD;
        break;
    default:
        /* No route or no address of that family, no free port, a firewall
         * or sandbox of our own. */
        r->reason = PROBE_NO_NET;
        break;
    }
}

/* The network or the target answered with an error. */
void probe_answered(struct probe_result *r, int error)
{
    r->sys_errno = error;
    if (error == 0) {
        r->verdict = PROBE_OK;
        r->reason = PROBE_FINE;
        return;
    }
    r->verdict = PROBE_FAIL;
    switch (error) {
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EACCES: /* ICMPv6 "administratively prohibited" */
        r->reason = PROBE_ROUTE;
        break;
    case ETIMEDOUT:
        r->reason = PROBE_TIMEOUT;
        r->sys_errno = 0;
        break;
    case ENETDOWN:
        r->verdict = PROBE_LOCAL;
        r->reason = PROBE_NO_NET;
        break;
    case ENOBUFS:
    case ENOMEM:
        r->verdict = PROBE_LOCAL;
        r->reason = PROBE_NO_FD;
        break;
    default:
        r->reason = PROBE_CONNECT;
        break;
    }
}
