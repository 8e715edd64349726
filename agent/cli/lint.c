#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/cli/lint.h"

/* `lint`: is that spec valid, and what should its author know? From a file,
 * standard input or DNS. */

#define DEFAULT_MIN_PERIOD_MS 500
#define DEFAULT_MAX_TARGETS 200

struct tally {
    size_t errors, warnings;
};

/* --- telling -------------------------------------------------------------- */

/* Without --name the text is judged for a name of nobody's; nobody wants to
 * read that. */
static const char *without_root(const char *text)
{
    static const char *const roots[] = {
        "_failover. ", "_failover.: ", "_failover.www ", "_failover.www: "};

    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++)
        if (strncmp(text, roots[i], strlen(roots[i])) == 0)
            return text + strlen(roots[i]);
    return text;
}

static bool has_error(const struct lint_subject *s)
{
    for (size_t i = 0; i < s->nnotes; i++)
        if (s->notes[i].error)
            return true;
    return false;
}

static void print_text(const struct cli_options *o, const char *what,
                       const struct lint_subject *s)
{
    const struct spec *spec = s->spec;
    size_t records = 0;

    for (size_t i = 0; i < s->nnotes; i++)
        if (!s->notes[i].info || o->verbose)
            (void)printf("%s: %s: %s\n", what,
                         s->notes[i].error  ? "error"
                         : s->notes[i].info ? "note"
                                            : "warning",
                         without_root(s->notes[i].text));
    if (spec == NULL) {
        (void)printf("%s: error: %s\n", what, without_root(s->err.msg));
        return;
    }
    if (has_error(s))
        return;
    for (size_t i = 0; i < spec->nsets; i++)
        records += spec->sets[i].nrecords + spec->sets[i].nfallback;
    (void)printf("%s: ok: %s, spelled as %s; %" PRIu32 " set%s, %zu record%s\n",
                 what, spec->form == SPEC_ROWS ? "rows" : "object form",
                 spec_spelling_name(spec->spelling), spec->nsets,
                 spec->nsets == 1 ? "" : "s", records, records == 1 ? "" : "s");
}

static void add_note(cJSON *list, const char *key, const char *id,
                     const char *text)
{
    cJSON *item = cJSON_CreateObject();

    (void)cJSON_AddStringToObject(item, key, id);
    (void)cJSON_AddStringToObject(item, "text", without_root(text));
    (void)cJSON_AddItemToArray(list, item);
}

static void print_json(const char *what, const struct lint_subject *s)
{
    cJSON *o = cJSON_CreateObject(), *errors, *warnings, *notes;
    char *text;

    (void)cJSON_AddStringToObject(o, "source", what);
    (void)cJSON_AddBoolToObject(o, "ok", s->spec != NULL && !has_error(s));
    errors = cJSON_AddArrayToObject(o, "errors");
    if (s->spec == NULL)
        add_note(errors, "code", err_code_name(s->err.code), s->err.msg);
    warnings = cJSON_AddArrayToObject(o, "warnings");
    notes = cJSON_AddArrayToObject(o, "notes");
    for (size_t i = 0; i < s->nnotes; i++)
        add_note(s->notes[i].error  ? errors
                 : s->notes[i].info ? notes
                                    : warnings,
                 s->notes[i].error ? "code" : "id", s->notes[i].id,
                 s->notes[i].text);
    if (s->spec != NULL)
        (void)cJSON_AddStringToObject(o, "spelling",
                                      spec_spelling_name(s->spec->spelling));
    text = cJSON_PrintUnformatted(o);
    (void)puts(text != NULL ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(o);
}

static void tell(const struct cli_options *o, struct tally *t, const char *what,
                 const struct lint_subject *s)
{
    t->errors += s->spec == NULL || has_error(s);
    for (size_t i = 0; i < s->nnotes; i++)
        t->warnings += !s->notes[i].info && !s->notes[i].error;
    if (o->json)
        print_json(what, s);
    else
        print_text(o, what, s);
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

/* Whose text a file is. */
struct place {
    char owner[NAME_SIZE], zone[NAME_SIZE];
    bool given, zone_given;
    const struct config_zone *section; /* NULL: none */
    struct spec_context ctx;
};

static void judge_by(struct place *p, const struct config *cfg)
{
    p->ctx.owner = p->owner;
    p->ctx.zone = p->zone;
    p->ctx.cross_names =
        !p->given || (p->section != NULL && p->section->cross_names);
    p->ctx.allow_active =
        !p->given || (p->section != NULL && p->section->allow_active);
    p->ctx.min_period_ms =
        cfg != NULL ? cfg->min_period_ms : DEFAULT_MIN_PERIOD_MS;
    p->ctx.max_targets =
        cfg != NULL ? (size_t)cfg->max_targets : DEFAULT_MAX_TARGETS;
}

static int place_of(const struct cli_options *o, const struct config *cfg,
                    struct place *p)
{
    memset(p, 0, sizeof *p);
    p->given = o->name != NULL || o->zone != NULL;
    memcpy(p->owner, "www.", 5);
    memcpy(p->zone, ".", 2);
    if (o->name != NULL && cli_name(o->name, p->owner) != 0)
        return -1;
    if (o->zone != NULL && cli_name(o->zone, p->zone) != 0)
        return -1;
    if (o->zone != NULL && o->name == NULL)
        memcpy(p->owner, p->zone, NAME_SIZE);
    if (!name_within(p->owner, p->zone))
        return cli_fail(-1, "--name %s is not within --zone %s", p->owner,
                        p->zone);
    if (p->given)
        p->section = lint_section(cfg, p->owner);
    p->zone_given = o->zone != NULL;
    if (!p->zone_given && p->section != NULL &&
        strcmp(p->section->name, "*") != 0) {
        memcpy(p->zone, p->section->name, strlen(p->section->name) + 1);
        p->zone_given = true;
    }
    judge_by(p, cfg);
    return 0;
}

/* Nobody said which zone the text is for: it may be an apex spec, too. The
 * error of the reading that it was meant for is told. */
static int parse_anywhere(const struct place *p, const struct buf *b,
                          struct lint_subject *s)
{
    struct spec_context ctx = p->ctx;
    struct spec *apex = NULL;
    struct err e;
    int rc = spec_parse_text(buf_get(b), b->len, &ctx, &s->spec, &s->err);
    bool members =
        rc != 0 && strstr(s->err.msg, "belongs into the apex spec") != NULL;

    if (p->zone_given || (rc == 0 ? s->spec->nsets > 0 : p->given && !members))
        return rc;
    if (p->given)
        ctx.zone = p->owner;
    ctx.owner = ctx.zone;
    if (spec_parse_text(buf_get(b), b->len, &ctx, &apex, &e) == 0) {
        spec_free(s->spec);
        s->spec = apex;
        return 0;
    }
    if (members)
        s->err = e;
    return rc;
}

/* The text as one character-string after the other, for the advice. */
static void keep_text(struct lint_subject *s, const struct buf *b)
{
    size_t n = (b->len + 254) / 255;
    struct spec_txt *txt = arena_alloc(s->arena, sizeof *txt);
    struct spec_string *strings = arena_array(s->arena, n + 1, sizeof *strings);
    char *copy = arena_strndup(s->arena, buf_get(b), b->len);

    for (size_t i = 0; i < n; i++) {
        strings[i].data = copy + i * 255;
        strings[i].len = i + 1 < n ? 255 : b->len - i * 255;
    }
    txt->strings = strings;
    txt->nstrings = n;
    s->txts = txt;
    s->ntxts = 1;
}

static void lint_file(const struct cli_options *o, const struct config *cfg,
                      struct tally *t, const char *path, const struct place *p)
{
    struct lint_subject s;
    struct buf b;

    lint_init(&s);
    /* More than a spec may have, so that its error is told. */
    buf_init(&b, 4 * SPEC_TEXT_MAX);
    if (read_file(path, &b, &s.err) == 0 && parse_anywhere(p, &b, &s) == 0) {
        keep_text(&s, &b);
        lint_advise(&s, cfg, p->section, o->cron_ms);
    }
    tell(o, t, path, &s);
    buf_fini(&b);
    lint_fini(&s);
}

static void lint_name(const struct cli_options *o, const struct config *cfg,
                      struct tally *t, const char *name)
{
    struct lint_subject s;

    lint_init(&s);
    lint_dns(&s, cfg, name, o->cron_ms);
    tell(o, t, name, &s);
    lint_fini(&s);
}

static int run(const struct cli_options *o, char *const *args)
{
    struct tally t = {0, 0};
    struct config *cfg = NULL;
    struct place p;

    if (args[0] == NULL)
        return cli_fail(CLI_USAGE, "lint needs a FILE, - or a NAME");
    if (o->config_given || access(o->config, R_OK) == 0)
        cfg = cli_config(o);
    if ((o->config_given && cfg == NULL) || place_of(o, cfg, &p) != 0) {
        config_free(cfg);
        return CLI_USAGE;
    }
    for (size_t i = 0; args[i] != NULL; i++) {
        if (strcmp(args[i], "-") == 0 || strchr(args[i], '/') != NULL ||
            access(args[i], F_OK) == 0)
            lint_file(o, cfg, &t, args[i], &p);
        else
            lint_name(o, cfg, &t, args[i]);
    }
    config_free(cfg);
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
    "place as a JSON pointer; warnings say what its author should know, notes\n"
    "(-v) how long a failover takes. --name and --zone say what a file's text\n"
    "is for; without them names are not judged.",
    "cvJSNZChV",
    run};
