#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

/* What all stages do: wait for answers, and tell what happened. */

/* --- waiting ------------------------------------------------------------- */

void round_begin(struct round *r)
{
    r->waiting++;
    r->idle = false;
}

void round_end(struct round *r)
{
    r->waiting--;
    r->idle = r->waiting == 0;
    if (r->idle && r->woken != NULL)
        *r->woken = true;
}

bool round_wait(struct round *r, int64_t until_ms)
{
    if (r->waiting == 0)
        return true;
    return loop_wait(r->loop, &r->idle,
                     until_ms < r->end_ms ? until_ms : r->end_ms);
}

int64_t round_share(const struct round *r, int percent)
{
    return r->start_ms + (r->end_ms - r->start_ms) * percent / 100;
}

/* --- telling ------------------------------------------------------------- */

static void remember(struct round *r, const struct round_event *ev)
{
    static const char *const names[] = {
        [ROUND_AVAILABLE] = "available", [ROUND_UNAVAILABLE] = "unavailable",
        [ROUND_PUBLISHED] = "published", [ROUND_WITHDRAWN] = "withdrawn",
        [ROUND_VISIBLE] = "visible",     [ROUND_PROBLEM] = "problem",
        [ROUND_RESOLVED] = "resolved",   [ROUND_NOTE] = "note",
    };
    struct state_event row = {clock_wall_ms(), ev->zone, ev->name, ev->type,
                              ev->data,        NULL,     ev->text};

    if (ev->kind == ROUND_WOULD || ev->kind == ROUND_DETAIL)
        return;
    row.event = names[ev->kind];
    state_event_add(r->state, &row);
}

const char *round_type_view(const char *type, size_t *len)
{
    static const char mark[] = " view ";
    const char *at = strstr(type, mark);

    *len = at != NULL ? (size_t)(at - type) : strlen(type);
    return at != NULL ? at + sizeof mark - 1 : NULL;
}

void round_tell(struct round *r, enum round_kind kind, const char *zone,
                const char *name, const char *type, const char *data,
                bool publish, const char *text)
{
    struct round_event ev = {kind, zone, name, type, data, publish, text};

    remember(r, &ev);
    r->o->sink(r->o->sink_arg, &ev);
}

int round_plain_len(const char *name)
{
    size_t n = strlen(name);

    return (int)(n > 1 && name[n - 1] == '.' ? n - 1 : n);
}

void round_detail(struct round *r, const char *zone, const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    if (!r->o->detail)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    round_tell(r, ROUND_DETAIL, zone, "", "", "", false, text);
}

void round_note(struct round *r, const char *zone, const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    round_tell(r, ROUND_NOTE, zone, "", "", "", false, text);
}

static void tell_problem(struct round *r, const char *zone, const char *key,
                         bool minor, const char *text)
{
    char *full = mem_printf("%s|%s", zone, key);

    if (state_problem(r->state, full, minor, text))
        round_tell(r, ROUND_PROBLEM, zone, "", "", "", false, text);
    else
        round_detail(r, zone, "%s", text);
    free(full);
}

void round_problem(struct round *r, const char *zone, const char *key,
                   const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tell_problem(r, zone, key, false, text);
}

void round_warn(struct round *r, const char *zone, const char *key,
                const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tell_problem(r, zone, key, true, text);
}
