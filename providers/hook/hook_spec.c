#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/hook/hook.h"

/* A spec's TXT record. When the command did not say what came of it, nothing
 * is known: it is asked again in its own time. */

struct speccing {
    struct hook *h;
    struct arena *a;
    char owner[NAME_SIZE];
    struct err err; /* of a request that was not made */
    provider_written_cb *cb;
    void *arg;
};

static void on_reply(void *arg, const struct hook_reply *r)
{
    struct speccing *s = arg;
    struct hook *h = s->h;
    struct provider_written out = {.err = r->err};
    struct hook_serial serial = {false, 0};

    if (r->root != NULL &&
        (hook_answer_written(r->root, &out.changed, &out.err) != 0 ||
         hook_answer_serial(r->root, &serial, &out.err) != 0))
        serial.has = false;
    if (out.err.code != ERR_NONE && r->is_started && !r->is_refused)
        out.err.code = ERR_UNKNOWN;
    if (out.err.code != ERR_NONE)
        (void)err_wrap(&out.err, "_failover.%s TXT", s->owner);
    out.has_serial = serial.has;
    out.serial = serial.serial;
    s->cb(s->arg, &out);
    arena_free(s->a);
    free(s);
    hook_leave(h);
}

static void on_not_asked(void *arg)
{
    struct speccing *s = arg;
    const struct hook_reply r = {.err = s->err};

    on_reply(s, &r);
}

void hook_write_spec(struct provider *p, const struct spec_write *w,
                     provider_written_cb *cb, void *arg)
{
    struct speccing *s = mem_alloc(sizeof *s);
    const char *text;

    s->h = (struct hook *)p;
    s->a = arena_new();
    s->cb = cb;
    s->arg = arg;
    (void)snprintf(s->owner, sizeof s->owner, "%s", w->owner);
    hook_enter(s->h);
    text = hook_ask_spec(w, s->a, &s->err);
    if (text != NULL)
        hook_call(s->h, text, on_reply, s);
    else
        (void)loop_timer_start(s->h->env.loop, 0, on_not_asked, s);
}
