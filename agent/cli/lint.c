#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/cli/lint_dns.h"
#include "specs/spec.h"

/* `lint`: is that spec valid, and what does it say? From a file, standard
 * input or DNS. */

#define DEFAULT_MIN_PERIOD_MS 500
#define DEFAULT_MAX_TARGETS 200

struct tally {
    size_t errors, warnings;
};

/* --- telling ------------------------------------------------------------- */

/* Without --name the text is judged for the root, which holds every name;
 * nobody wants to read "_failover.". */
static const char *without_root(const char *text)
{
    static const char *const roots[] = {"_failover. ", "_failover.: "};

    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        if (strncmp(text, roots[i], strlen(roots[i])) == 0)
            return text + strlen(roots[i]);
    return text;
}

static void print_text(const char *what, const struct spec *spec,
                       const struct err *e)
{
    size_t records = 0;

    if (spec == NULL) {
        (void)printf("%s: error: %s\n", what, without_root(e->msg));
        return;
    }
    for (size_t i = 0; i < spec->nsets; i++)
        records += spec->sets[i].nrecords + spec->sets[i].nfallback;
    for (size_t i = 0; i < spec->nwarnings; i++)
        (void)printf("%s: warning: %s\n", what,
                     without_root(spec->warnings[i].text));
    (void)printf("%s: ok: %s, spelled as %s; %zu set%s, %zu record%s\n", what,
                 spec->form == SPEC_ROWS ? "rows" : "object form",
                 spec_spelling_name(spec->spelling), spec->nsets,
                 spec->nsets == 1 ? "" : "s", records, records == 1 ? "" : "s");
}

static void print_json(const char *what, const struct spec *spec,
                       const struct err *e)
{
    cJSON *o = cJSON_CreateObject(), *list;
    char *text;

    (void)cJSON_AddStringToObject(o, "source", what);
    (void)cJSON_AddBoolToObject(o, "ok", spec != NULL);
    list = cJSON_AddArrayToObject(o, "errors");
    if (spec == NULL) {
        cJSON *item = cJSON_CreateObject();

        (void)cJSON_AddStringToObject(item, "code", err_code_name(e->code));
        (void)cJSON_AddStringToObject(item, "text", without_root(e->msg));
        (void)cJSON_AddItemToArray(list, item);
    }
    list = cJSON_AddArrayToObject(o, "warnings");
    for (size_t i = 0; spec != NULL && i < spec->nwarnings; i++)
        (void)cJSON_AddItemToArray(
            list, cJSON_CreateString(without_root(spec->warnings[i].text)));
    if (spec != NULL)
        (void)cJSON_AddStringToObject(o, "spelling",
                                      spec_spelling_name(spec->spelling));
    text = cJSON_PrintUnformatted(o);
    (void)puts(text != NULL ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(o);
}

static void tell(const struct cli_options *o, struct tally *t, const char *what,
                 const struct spec *spec, const struct err *e)
{
    if (spec == NULL)
        t->errors++;
    else
        t->warnings += spec->nwarnings;
    if (o->json)
        print_json(what, spec, e);
    else
        print_text(what, spec, e);
}

/* --- files --------------------------------------------------------------- */

static int read_all(FILE *f, struct buf *b, struct err *e)
{
    char chunk[8192];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 && !b->over)
        buf_add(b, chunk, n);
    if (ferror(f) != 0)
        return err_set(e, ERR_INPUT, "%s", strerror(errno));
    return 0;
}

static int read_file(const char *path, struct buf *b, struct err *e)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    int rc;

    if (f == NULL)
        return err_set(e, ERR_INPUT, "%s", strerror(errno));
    rc = read_all(f, b, e);
    if (f != stdin)
        (void)fclose(f);
    /* A final newline is the editor's, not the spec's. */
    while (b->len > 0 &&
           (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == '\r'))
        b->data[--b->len] = '\0';
    return rc;
}

static int context_of(const struct cli_options *o, char owner[NAME_SIZE],
                      char zone[NAME_SIZE], struct spec_context *ctx)
{
    memcpy(owner, ".", 2);
    memcpy(zone, ".", 2);
    if (o->name != NULL && cli_name(o->name, owner) != 0)
        return -1;
    if (o->zone != NULL && cli_name(o->zone, zone) != 0)
        return -1;
    if (o->zone != NULL && o->name == NULL)
        memcpy(owner, zone, NAME_SIZE);
    if (!name_within(owner, zone))
        return cli_fail(-1, "--name %s is not within --zone %s", owner, zone);
    memset(ctx, 0, sizeof *ctx);
    ctx->owner = owner;
    ctx->zone = zone;
    ctx->min_period_ms = DEFAULT_MIN_PERIOD_MS;
    ctx->max_targets = DEFAULT_MAX_TARGETS;
    return 0;
}

static void lint_file(const struct cli_options *o, struct tally *t,
                      const char *path, const struct spec_context *ctx)
{
    struct spec *spec = NULL;
    struct err e;
    struct buf b;

    /* One byte more than a spec may have, so that its error is told. */
    buf_init(&b, 4 * SPEC_TEXT_MAX);
    if (read_file(path, &b, &e) != 0 ||
        spec_parse_text(buf_get(&b), b.len, ctx, &spec, &e) != 0)
        spec = NULL;
    tell(o, t, path, spec, &e);
    spec_free(spec);
    buf_fini(&b);
}

static void lint_name(const struct cli_options *o, struct tally *t,
                      const char *name)
{
    struct spec *spec = NULL;
    struct err e;

    if (lint_dns(o, name, &spec, &e) != 0)
        spec = NULL;
    tell(o, t, name, spec, &e);
    spec_free(spec);
}

static int run(const struct cli_options *o, char *const *args)
{
    struct tally t = {0, 0};
    struct spec_context ctx;
    char owner[NAME_SIZE], zone[NAME_SIZE];

    if (args[0] == NULL)
        return cli_fail(CLI_USAGE, "lint needs a FILE, - or a NAME");
    if (context_of(o, owner, zone, &ctx) != 0)
        return CLI_USAGE;
    for (size_t i = 0; args[i] != NULL; i++) {
        if (strcmp(args[i], "-") == 0 || strchr(args[i], '/') != NULL ||
            access(args[i], F_OK) == 0)
            lint_file(o, &t, args[i], &ctx);
        else
            lint_name(o, &t, args[i]);
    }
    if (t.errors > 0 || (o->strict && t.warnings > 0))
        return CLI_FAILED;
    return CLI_DONE;
}

const struct cli_command cli_lint = {
    "lint",
    "FILE|NAME...",
    "check a spec from a file, - or DNS",
    "What is a file is read, - is standard input, all else is a name whose\n"
    "_failover TXT is looked up at its authoritative servers. Errors name the\n"
    "place as a JSON pointer. --name and --zone say what a file's text is "
    "for;\n"
    "without them names are not judged.",
    "cJSNZhV",
    run};
