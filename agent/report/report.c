#include "agent/report/report.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/report/notify.h"

struct report {
    struct report_options o;
    struct notify *notify; /* NULL: no command */
    bool color;
    bool progress_shown;
    int64_t start_ms;
};

static const char *const kind_names[] = {
    [ROUND_AVAILABLE] = "available", [ROUND_UNAVAILABLE] = "unavailable",
    [ROUND_PUBLISHED] = "published", [ROUND_WITHDRAWN] = "withdrawn",
    [ROUND_WOULD] = "would",         [ROUND_VISIBLE] = "visible",
    [ROUND_PROBLEM] = "problem",     [ROUND_RESOLVED] = "resolved",
    [ROUND_NOTE] = "note",           [ROUND_DETAIL] = "detail",
};

struct report *report_new(const struct report_options *o)
{
    struct report *r = mem_alloc(sizeof *r);

    r->o = *o;
    r->color = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == NULL;
    r->start_ms = clock_mono_ms();
    if (o->notify != NULL)
        r->notify = notify_new(o->notify, o->doer);
    return r;
}

void report_attach(struct report *r, struct loop *loop)
{
    if (r->notify != NULL)
        notify_attach(r->notify, loop);
}

int report_finish(struct report *r, struct err *e)
{
    int rc = r->notify != NULL ? notify_run(r->notify, e) : 0;

    free(r);
    return rc;
}

/* --- forms --------------------------------------------------------------- */

char *report_event_line(const struct round_event *ev)
{
    size_t len;
    const char *view = round_type_view(ev->type, &len);

    switch (ev->kind) {
    case ROUND_AVAILABLE:
    case ROUND_UNAVAILABLE:
        return mem_printf("%s (%s%s%s) becomes %s: %s", ev->name, ev->data,
                          view != NULL ? ", view " : "",
                          view != NULL ? view : "", kind_names[ev->kind],
                          ev->text);
    case ROUND_PUBLISHED:
    case ROUND_WITHDRAWN:
        return mem_printf("%s %s %s %s: %s", ev->name, ev->type, ev->data,
                          kind_names[ev->kind], ev->text);
    case ROUND_WOULD:
        return mem_printf("%s %s %s would be %s: %s", ev->name, ev->type,
                          ev->data, ev->publish ? "published" : "withdrawn",
                          ev->text);
    case ROUND_VISIBLE:
        return mem_printf("%s %s %s", ev->name, ev->type, ev->text);
    case ROUND_RESOLVED:
        return mem_printf("resolved: %s", ev->text);
    case ROUND_DETAIL:
        return mem_printf("  %s", ev->text);
    case ROUND_PROBLEM:
    case ROUND_NOTE:
        break;
    }
    return mem_strdup(ev->text);
}

static void add(cJSON *o, const char *key, const char *value)
{
    if (value[0] != '\0')
        (void)cJSON_AddStringToObject(o, key, value);
}

char *report_event_json(const struct round_event *ev)
{
    cJSON *o = cJSON_CreateObject();
    size_t len;
    const char *view = round_type_view(ev->type, &len);
    char time[32], *text, *copy, *type = mem_strndup(ev->type, len);

    clock_format(clock_wall_ms(), time, sizeof time);
    add(o, "time", time);
    add(o, "event", kind_names[ev->kind]);
    add(o, "zone", ev->zone);
    add(o, "name", ev->name);
    add(o, "type", type);
    add(o, "view", view != NULL ? view : "");
    add(o, "data", ev->data);
    if (ev->kind == ROUND_WOULD)
        (void)cJSON_AddBoolToObject(o, "publish", ev->publish);
    add(o, "text", ev->text);
    text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    copy = mem_strdup(text != NULL ? text : "{}");
    cJSON_free(text);
    free(type);
    return copy;
}

/* --- output -------------------------------------------------------------- */

static const char *color_of(enum round_kind kind)
{
    switch (kind) {
    case ROUND_AVAILABLE:
    case ROUND_PUBLISHED:
    case ROUND_RESOLVED:
        return "\033[32m";
    case ROUND_UNAVAILABLE:
    case ROUND_WITHDRAWN:
    case ROUND_PROBLEM:
        return "\033[31m";
    case ROUND_WOULD:
        return "\033[33m";
    case ROUND_VISIBLE:
    case ROUND_NOTE:
    case ROUND_DETAIL:
        break;
    }
    return "";
}

static void clear_progress(struct report *r)
{
    if (r->progress_shown)
        (void)fputs("\r\033[K", stderr);
    r->progress_shown = false;
}

static void print_line(struct report *r, const struct round_event *ev)
{
    char *line = report_event_line(ev);
    const char *color = r->color ? color_of(ev->kind) : "";

    if (ev->kind == ROUND_PROBLEM) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "dnsfailover: %s\n", line);
    } else {
        (void)printf("%s%s%s\n", color, line, *color != '\0' ? "\033[0m" : "");
    }
    free(line);
}

void report_event(void *arg, const struct round_event *ev)
{
    struct report *r = arg;
    char *json = NULL;

    clear_progress(r);
    if (ev->kind == ROUND_DETAIL && !r->o.verbose)
        return;
    if (r->o.json || r->notify != NULL)
        json = report_event_json(ev);
    if (r->o.json)
        (void)printf("%s\n", json);
    else
        print_line(r, ev);
    if (r->notify != NULL && ev->kind != ROUND_DETAIL &&
        ev->kind != ROUND_WOULD)
        notify_add(r->notify, json);
    free(json);
}

void report_progress(void *arg, const char *stage, size_t done, size_t all)
{
    struct report *r = arg;

    if (isatty(STDERR_FILENO) != 1 || r->o.json ||
        clock_mono_ms() - r->start_ms < 1000)
        return;
    (void)fprintf(stderr, "\r\033[K%s %zu of %zu", stage, done, all);
    r->progress_shown = true;
}
