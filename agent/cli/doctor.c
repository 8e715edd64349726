#include "agent/cli/doctor.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/cli/once_records.h"

static const struct doctor_exam exams[] = {
    {"file", doctor_file},           {"state", doctor_state},
    {"limits", doctor_limits},       {"clock", doctor_clock},
    {"user", doctor_user},           {"sandbox", doctor_sandbox},
    {"ping", doctor_ping},           {"programs", doctor_programs},
    {"resolver", doctor_resolver},   {"anchors", doctor_anchors},
    {"providers", doctor_providers}, {"zones", doctor_zones},
    {"servers", doctor_servers},     {"records", doctor_records},
    {"views", doctor_views},         {"discover", doctor_discover},
    {"specs", doctor_specs},
};

/* --- telling ------------------------------------------------------------- */

static const char *const level_names[] = {
    [DOCTOR_OK] = "ok", [DOCTOR_WARNING] = "warning", [DOCTOR_ERROR] = "error"};

static void put_json(const struct doctor *d, enum doctor_level level,
                     const char *subject, const char *change, const char *text)
{
    cJSON *o = cJSON_CreateObject();
    char *line;

    (void)cJSON_AddStringToObject(o, "level", level_names[level]);
    (void)cJSON_AddStringToObject(o, "check", d->exam);
    (void)cJSON_AddStringToObject(o, "subject", subject);
    (void)cJSON_AddStringToObject(o, "text", text);
    if (change != NULL)
        (void)cJSON_AddStringToObject(o, "change", change);
    line = cJSON_PrintUnformatted(o);
    (void)puts(line != NULL ? line : "{}");
    cJSON_free(line);
    cJSON_Delete(o);
}

void doctor_tell(struct doctor *d, enum doctor_level level, const char *subject,
                 const char *change, const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    d->count[level]++;
    if (d->o->json) {
        put_json(d, level, subject, change, text);
        return;
    }
    if (level == DOCTOR_OK && !d->o->verbose)
        return;
    (void)printf("%s: %s: %s\n", level_names[level], subject, text);
    if (change != NULL)
        (void)printf("    change: %s\n", change);
}

const char *doctor_at(struct doctor *d, int line, const char *what)
{
    if (line == 0)
        return arena_strdup(d->arena, what);
    return arena_printf(d->arena, "%s:%d %s", d->cfg->file, line, what);
}

bool doctor_wait(struct doctor *d, const bool *done, int64_t patience_ms)
{
    return loop_wait(d->loop, done, clock_mono_ms() + patience_ms);
}

static void put_sum(const struct doctor *d)
{
    const size_t *n = d->count;

    if (!d->o->json)
        (void)printf("%zu error%s, %zu warning%s, %zu in order\n",
                     n[DOCTOR_ERROR], n[DOCTOR_ERROR] == 1 ? "" : "s",
                     n[DOCTOR_WARNING], n[DOCTOR_WARNING] == 1 ? "" : "s",
                     n[DOCTOR_OK]);
}

/* --- the whole ----------------------------------------------------------- */

static bool is_known(const struct config *cfg, const char *name)
{
    for (size_t i = 0; i < cfg->nzones; i++)
        if (strcmp(cfg->zones[i].name, "*") == 0 ||
            name_equal(cfg->zones[i].name, name))
            return true;
    return false;
}

static int check_names(const struct config *cfg, char *const *args)
{
    char name[NAME_SIZE];

    for (size_t i = 0; args[i] != NULL; i++) {
        if (cli_name(args[i], name) != 0)
            return -1;
        if (!is_known(cfg, name))
            return cli_fail(-1, "%s is no zone of %s", name, cfg->file);
    }
    return 0;
}

static int prepare(struct doctor *d, struct err *e)
{
    struct resolver_options ro = {d->cfg->resolvers, d->cfg->nresolvers, 0, 0};

    d->arena = arena_new();
    d->loop = loop_new();
    d->http = http_new(d->loop);
    if (resolver_new(d->loop, &ro, &d->resolver, e) != 0)
        return -1;
    return probes_new(d->loop, 0, &d->probes, e);
}

static void dispose(struct doctor *d)
{
    doctor_close(d);
    if (d->resolver != NULL)
        resolver_free(d->resolver);
    if (d->probes != NULL)
        probes_free(d->probes);
    http_free(d->http);
    loop_free(d->loop);
    state_close(d->state);
    free(d->zones);
    arena_free(d->arena);
}

static int examine(const struct cli_options *o, const struct config *cfg,
                   char *const *args)
{
    struct doctor d = {.o = o, .cfg = cfg, .names = args};
    struct err e;
    int code = CLI_FAILED;

    if (prepare(&d, &e) != 0) {
        code = cli_fail(CLI_FAILED, "%s", e.msg);
    } else {
        for (size_t i = 0; i < sizeof exams / sizeof exams[0]; i++) {
            d.exam = exams[i].id;
            exams[i].run(&d);
        }
        put_sum(&d);
        code = d.count[DOCTOR_ERROR] > 0 ? CLI_FAILED : CLI_DONE;
    }
    dispose(&d);
    return code;
}

static int run(const struct cli_options *o, char *const *args)
{
    struct once_records r = {.cfg = NULL};
    int code = CLI_USAGE;

    if (!once_records_wanted(o))
        r.cfg = cli_config(o);
    else if (once_records_read(o, false, &r) != 0)
        goto out;
    if (r.cfg != NULL && check_names(r.cfg, args) == 0)
        code = examine(o, r.cfg, args);
out:
    once_records_fini(&r);
    return code;
}

const struct cli_command cli_doctor = {
    "doctor",
    "[ZONE...]",
    "what would fail, before it does",
    "Looks at the configuration's files, the state, limits, clock, programs,\n"
    "resolvers and anchors, at every provider (login, permissions) and zone\n"
    "(servers, serials, records, specs). Says what fails or will, with the\n"
    "line to change, and changes nothing; with -v also what is in order.\n"
    "--provider, --zone and --servers as with once.",
    "cvJPZQhV",
    run};
