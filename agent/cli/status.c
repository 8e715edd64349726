#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/base/sandbox.h"
#include "agent/cli/status_operator.h"
#include "agent/engine/service/control.h"
#include "agent/report/table.h"

/* `status`: what the last round saw and did, from the state alone. */

/* "zone|name|type" taken apart; the parts point into buf. */
struct parts {
    char *buf, *zone, *name, *type;
};

/* One value of a set. */
struct line {
    struct parts p;
    const struct state_set *set;
    const struct state_value *v;
};

static struct parts split(const char *key)
{
    struct parts p = {.buf = mem_strdup(key)};
    char **to[] = {&p.name, &p.type};
    char *at = p.buf;

    p.zone = p.buf;
    for (size_t i = 0; i < 2; i++) {
        at = strchr(at, '|');
        if (at == NULL) {
            *to[i] = p.buf + strlen(p.buf);
            at = *to[i];
            continue;
        }
        *at++ = '\0';
        *to[i] = at;
    }
    return p;
}

/* "A", or "A eu" in a view, for people: heap. */
static char *type_text(const struct parts *p)
{
    const char *view = strchr(p->type, ' ');

    return mem_printf("%.*s%s%s", (int)strcspn(p->type, " "), p->type,
                      view != NULL ? " view" : "", view != NULL ? view : "");
}

static void json_type(cJSON *o, const struct parts *p)
{
    const char *view = strchr(p->type, ' ');
    char *type = mem_strndup(p->type, strcspn(p->type, " "));

    (void)cJSON_AddStringToObject(o, "type", type);
    if (view != NULL)
        (void)cJSON_AddStringToObject(o, "view", view + 1);
    free(type);
}

static int by_key(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;
    int c = strcmp(a->p.zone, b->p.zone);

    if (c == 0)
        c = name_compare(a->p.name, b->p.name);
    if (c == 0)
        c = strcmp(a->p.type, b->p.type);
    return c != 0 ? c : strcmp(a->v->data, b->v->data);
}

/* All values; freed by lines_free. */
static struct line *sorted(struct state *s, size_t *n)
{
    struct line *lines = NULL;
    const struct state_set *set;
    size_t cap = 0;

    *n = 0;
    for (set = state_sets(s); set != NULL; set = set->next)
        for (const struct state_value *v = set->values; v != NULL;
             v = v->next) {
            lines = mem_grow(lines, &cap, *n, sizeof *lines);
            lines[*n].p = split(set->key);
            lines[*n].set = set;
            lines[(*n)++].v = v;
        }
    if (*n > 0)
        qsort(lines, *n, sizeof *lines, by_key);
    return lines;
}

static void lines_free(struct line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(lines[i].p.buf);
    free(lines);
}

static const char *health_of(const struct state_value *v)
{
    return v->unknown ? "unknown" : v->healthy ? "up" : "down";
}

static const char *shown_of(const struct state_value *v)
{
    if (v->memory.held_off)
        return "off (by others)";
    return v->published ? "yes" : "no";
}

static const char *reason_of(const struct state_set *row)
{
    return row->reason != NULL ? row->reason : "";
}

static bool is_asked(const char *want, const struct parts *p)
{
    return want[0] == '\0' || name_within(p->name, want);
}

/* --- for people ---------------------------------------------------------- */

static void print_table(struct state *s, const char *want)
{
    static const char *const heads[] = {
        "NAME", "TYPE", "VALUE", "HEALTH", "PUBLISHED", "LAST RESULT", NULL};
    struct table *t = table_new(heads);
    size_t n = 0;
    struct line *lines = sorted(s, &n);

    for (size_t i = 0; i < n; i++) {
        const struct state_value *v = lines[i].v;
        char *type = type_text(&lines[i].p);
        const char *cells[] = {lines[i].p.name, type,
                               v->data,         health_of(v),
                               shown_of(v),     v->note != NULL ? v->note : ""};

        if (is_asked(want, &lines[i].p))
            table_row(t, cells);
        free(type);
    }
    lines_free(lines, n);
    if (table_rows(t) == 0)
        (void)puts("no record is managed yet");
    table_print(t, stdout);
}

static void print_reasons(struct state *s, const char *want)
{
    struct state_set *row;

    for (row = state_sets(s); row != NULL; row = row->next) {
        struct parts p = split(row->key);

        const char *why = reason_of(row);
        char *type = type_text(&p);

        /* Tier 1 is how it should be, unless it is held. */
        if ((row->memory.tier != 1 || strncmp(why, "held", 4) == 0) &&
            why[0] != '\0' && is_asked(want, &p))
            (void)printf("%s %s: %s\n", p.name, type, why);
        free(type);
        free(p.buf);
    }
}

static void print_problems(struct state *s)
{
    struct state_problem *p;

    for (p = state_problems(s); p != NULL; p = p->hh.next) {
        char since[32];

        clock_format(p->since_wall_ms, since, sizeof since);
        (void)printf("problem since %s: %s\n", since, p->text);
    }
}

/* Of a service that runs. */
static void print_service(const struct config *cfg)
{
    char text[SANDBOX_TEXT_SIZE];
    pid_t pid = control_pid(cfg->state);

    if (pid > 0 && sandbox_describe(pid, text) != NULL)
        (void)printf("service: %s (pid %ld)\n", text, (long)pid);
}

/* --- for programs -------------------------------------------------------- */

static void json_values(struct state *s, const char *want, cJSON *list)
{
    size_t n = 0;
    struct line *lines = sorted(s, &n);

    for (size_t i = 0; i < n; i++) {
        const struct parts *p = &lines[i].p;
        const struct state_value *v = lines[i].v;
        cJSON *o;

        if (!is_asked(want, p))
            continue;
        o = cJSON_CreateObject();
        (void)cJSON_AddStringToObject(o, "zone", p->zone);
        (void)cJSON_AddStringToObject(o, "name", p->name);
        json_type(o, p);
        (void)cJSON_AddStringToObject(o, "data", v->data);
        (void)cJSON_AddNumberToObject(o, "tier", lines[i].set->memory.tier);
        (void)cJSON_AddStringToObject(o, "health", health_of(v));
        (void)cJSON_AddBoolToObject(o, "published", v->published);
        (void)cJSON_AddBoolToObject(o, "offByOthers", v->memory.held_off);
        (void)cJSON_AddBoolToObject(o, "pending", v->memory.pending);
        (void)cJSON_AddStringToObject(o, "last",
                                      v->note != NULL ? v->note : "");
        (void)cJSON_AddStringToObject(o, "reason", reason_of(lines[i].set));
        (void)cJSON_AddItemToArray(list, o);
    }
    lines_free(lines, n);
}

static void json_problems(struct state *s, cJSON *list)
{
    struct state_problem *p;

    for (p = state_problems(s); p != NULL; p = p->hh.next) {
        cJSON *o = cJSON_CreateObject();
        char since[32];

        clock_format(p->since_wall_ms, since, sizeof since);
        (void)cJSON_AddStringToObject(o, "since", since);
        (void)cJSON_AddStringToObject(o, "text", p->text);
        (void)cJSON_AddItemToArray(list, o);
    }
}

static void json_specs(struct state *s, cJSON *list)
{
    struct state_spec *row;

    for (row = state_specs(s); row != NULL; row = row->next) {
        struct parts p = split(row->key);
        cJSON *o = cJSON_CreateObject();
        char good[32];

        clock_format(row->good_wall_ms, good, sizeof good);
        (void)cJSON_AddStringToObject(o, "zone", p.zone);
        (void)cJSON_AddStringToObject(o, "owner", p.name);
        (void)cJSON_AddStringToObject(o, "lastGood", good);
        if (row->stale != NULL)
            (void)cJSON_AddStringToObject(o, "stale", row->stale);
        (void)cJSON_AddItemToArray(list, o);
        free(p.buf);
    }
}

static void json_service(const struct config *cfg, cJSON *o)
{
    char text[SANDBOX_TEXT_SIZE];
    pid_t pid = control_pid(cfg->state);
    cJSON *service;

    if (pid <= 0)
        return;
    service = cJSON_AddObjectToObject(o, "service");
    (void)cJSON_AddNumberToObject(service, "pid", (double)pid);
    if (sandbox_describe(pid, text) != NULL)
        (void)cJSON_AddStringToObject(service, "sandbox", text);
}

static void print_json(const struct config *cfg, struct state *s,
                       const char *want)
{
    cJSON *o = cJSON_CreateObject();
    char *text;

    json_values(s, want, cJSON_AddArrayToObject(o, "records"));
    json_specs(s, cJSON_AddArrayToObject(o, "specs"));
    status_operator_json(cfg, s, want, o);
    json_problems(s, cJSON_AddArrayToObject(o, "problems"));
    json_service(cfg, o);
    text = cJSON_Print(o);
    (void)puts(text != NULL ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(o);
}

static int run(const struct cli_options *o, char *const *args)
{
    char want[NAME_SIZE] = "";
    struct config *cfg;
    struct state *s = NULL;
    struct err e;
    int rc;

    if (args[0] != NULL && (args[1] != NULL || cli_name(args[0], want) != 0))
        return CLI_USAGE;
    cfg = cli_config(o);
    if (cfg == NULL)
        return CLI_USAGE;
    cli_ask_to_save(cfg->state);
    rc = state_open(cfg->state, true, &s, &e);
    if (rc == 0 && o->json) {
        print_json(cfg, s, want);
    } else if (rc == 0) {
        print_table(s, want);
        print_reasons(s, want);
        status_operator_print(cfg, s, want);
        print_problems(s);
        print_service(cfg);
    }
    rc = rc == 0 ? CLI_DONE
                 : cli_fail(e.code == ERR_INPUT ? CLI_USAGE : CLI_FAILED, "%s",
                            e.msg);
    state_close(s);
    config_free(cfg);
    return rc;
}

const struct cli_command cli_status = {
    "status",
    "[NAME]",
    "what the last round saw and did",
    "A table of the managed records (of NAME and below), the data centres,\n"
    "what the operator asked for, and the problems that stand. Read from the\n"
    "state, which a running service saves first.",
    "cJhV",
    run};
