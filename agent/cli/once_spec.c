#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/cli/once_records.h"
#include "specs/spec.h"

/* One record of the command line as the text of a spec: from here on it goes
 * the way of every other spec. */

static void judge_by(struct spec_context *ctx, const char *owner,
                     const struct config *cfg)
{
    const struct config_zone *z = &cfg->zones[0];
    const char *const *execs;

    memset(ctx, 0, sizeof *ctx);
    ctx->owner = owner;
    ctx->zone = z->name;
    ctx->cross_names = z->cross_names;
    ctx->allow_active = z->allow_active;
    ctx->min_period_ms = cfg->min_period_ms;
    ctx->max_targets = (size_t)cfg->max_targets;
    ctx->ncommands =
        config_commands_of(cfg, z->name, cfg->arena, &ctx->commands, &execs);
}

/* The parser's place, "_failover.OWNER /records/0/check", means nothing to
 * somebody who wrote no JSON. */
static int fail_option(struct err *e, const char *option)
{
    char text[ERR_MSG_SIZE];
    const char *at = e->msg;

    if (strncmp(at, "_failover.", 10) == 0) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
        if (*at == '/') {
            at += strcspn(at, " ");
            at += strspn(at, " ");
        }
    }
    (void)snprintf(text, sizeof text, "%s", at);
    return err_set(e, ERR_INPUT, "%s: %s", option, text);
}

/* --- the check ----------------------------------------------------------- */

static void put(cJSON *o, const char *name, const char *value)
{
    if (value != NULL)
        (void)cJSON_AddStringToObject(o, name, value);
}

/* As an object: what answers with anything but 200 is dead here. */
static cJSON *strict_http(const struct spec_check *c)
{
    const struct spec_dialog *d = spec_dialog_of(c);
    cJSON *o = cJSON_CreateObject();
    char target[ADDR_TEXT_SIZE];

    put(o, "type", spec_check_kind_name(c->kind));
    (void)cJSON_AddNumberToObject(o, "port", c->port);
    put(o, "path", d->path);
    put(o, "host", d->host);
    put(o, "serverName", d->server_name);
    if (c->target.family != 0)
        put(o, "target", addr_format(&c->target, target));
    put(o, "status", "200");
    return o;
}

/* The check's own JSON stays as it is; a shorthand or URL of HTTP takes
 * status 200 alone.
 * returns NULL with e set */
static cJSON *make_check(const char *text, const struct spec_context *ctx,
                         struct err *e)
{
    bool is_json = text[0] == '{' || text[0] == '[';
    cJSON *check = is_json ? cJSON_Parse(text) : cJSON_CreateString(text);
    cJSON *trial = cJSON_CreateObject(), *list, *record;
    struct spec *spec = NULL;
    char *doc;

    if (check == NULL) {
        cJSON_Delete(trial);
        (void)err_set(e, ERR_INPUT, "--check: is not JSON: %.200s", text);
        return NULL;
    }
    list = cJSON_AddArrayToObject(trial, "records");
    record = cJSON_CreateObject();
    put(record, "data", "192.0.2.1");
    (void)cJSON_AddItemToObject(record, "check", cJSON_Duplicate(check, true));
    (void)cJSON_AddItemToArray(list, record);
    doc = cJSON_PrintUnformatted(trial);
    if (spec_parse_text(doc, strlen(doc), ctx, &spec, e) != 0) {
        (void)fail_option(e, "--check");
        cJSON_Delete(check);
        check = NULL;
    } else if (!is_json && spec->nchecks == 1 &&
               (spec->checks[0].kind == SPEC_CHECK_HTTP ||
                spec->checks[0].kind == SPEC_CHECK_HTTPS)) {
        cJSON_Delete(check);
        check = strict_http(&spec->checks[0]);
    }
    spec_free(spec);
    cJSON_free(doc);
    cJSON_Delete(trial);
    return check;
}

/* --- the document -------------------------------------------------------- */

static void add_values(cJSON *doc, const char *member, const char *text,
                       const cJSON *check)
{
    cJSON *list = cJSON_AddArrayToObject(doc, member);
    char *copy = mem_strdup(text), *save = NULL;

    for (char *w = strtok_r(copy, ", ", &save); w != NULL;
         w = strtok_r(NULL, ", ", &save)) {
        cJSON *record = cJSON_CreateObject();

        put(record, "data", w);
        if (check != NULL)
            (void)cJSON_AddItemToObject(record, "check",
                                        cJSON_Duplicate(check, true));
        (void)cJSON_AddItemToArray(list, record);
    }
    free(copy);
}

static cJSON *make_document(const struct cli_record *r, const cJSON *check)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON *defaults = cJSON_AddObjectToObject(doc, "defaults");

    put(defaults, "ttl", r->ttl);
    put(defaults, "timeout", r->timeout);
    (void)cJSON_AddNumberToObject(defaults, "requiredSuccess", 1);
    (void)cJSON_AddNumberToObject(defaults, "requiredFailure", 1);
    put(doc, "allDown", r->all_down);
    add_values(doc, "records", r->targets, check);
    if (r->backup != NULL)
        add_values(doc, "fallbackRecords", r->backup, NULL);
    return doc;
}

/* Which option the parser speaks of, by its pointer. */
static const char *option_of(const struct err *e)
{
    static const struct {
        const char *pointer, *option;
    } places[] = {{" /fallbackRecords", "--backup"},
                  {" /records", "--targets"},
                  {"/ttl", "--ttl"},
                  {"/timeout", "--timeout"},
                  {" /allDown", "--all-down"}};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (strstr(e->msg, places[i].pointer) != NULL)
            return places[i].option;
    return "--record";
}

char *once_records_spec(const struct cli_record *r, const char *owner,
                        const struct config *cfg, struct err *e)
{
    struct spec_context ctx;
    struct spec *spec = NULL;
    cJSON *check, *doc;
    char *json, *text = NULL;

    judge_by(&ctx, owner, cfg);
    check = make_check(r->check, &ctx, e);
    if (check == NULL)
        return NULL;
    doc = make_document(r, check);
    json = cJSON_PrintUnformatted(doc);
    if (spec_parse_text(json, strlen(json), &ctx, &spec, e) != 0)
        (void)fail_option(e, option_of(e));
    else if (spec->nsets == 0)
        (void)err_set(e, ERR_INPUT, "--targets: no address is given");
    else
        text = arena_strdup(cfg->arena, json);
    spec_free(spec);
    cJSON_free(json);
    cJSON_Delete(doc);
    cJSON_Delete(check);
    return text;
}
