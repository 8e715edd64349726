#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/charstr.h"
#include "agent/cli/publish_net.h"
#include "agent/cli/publish_write.h"
#include "specs/publish.h"

/* `publish`: a spec from a file, printed as a place takes it, or written
 * through the zone's provider. */

#define DEADLINE_MS 90000
#define DEFAULT_MIN_PERIOD_MS 500
#define DEFAULT_MAX_TARGETS 200

struct job {
    const struct cli_options *o;
    const char *path;
    char owner[NAME_SIZE], zone[NAME_SIZE];
    struct config *cfg; /* NULL: none */
    struct buf text;    /* of the file */
    enum publish_format format;
    bool format_given;
};

/* --- the file ------------------------------------------------------------- */

static int read_all(FILE *f, struct buf *b, struct err *e)
{
    char chunk[8192];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0 && !b->over)
        buf_add(b, chunk, n);
    if (ferror(f) != 0)
        return err_set(e, ERR_INPUT, "%s", strerror(errno));
    /* A final newline is the editor's, not the spec's. */
    while (b->len > 0 &&
           (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == '\r'))
        b->data[--b->len] = '\0';
    return 0;
}

static int read_file(const char *path, struct buf *b, struct err *e)
{
    FILE *f;
    int rc;

    if (strcmp(path, "-") == 0)
        return read_all(stdin, b, e);
    f = fopen(path, "re");
    if (f == NULL)
        return err_set(e, ERR_INPUT, "%s", strerror(errno));
    rc = read_all(f, b, e);
    (void)fclose(f);
    return rc;
}

static int invalid(const struct job *j, const struct err *e)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: error: %s\n", j->path, e->msg);
    return CLI_FAILED;
}

static void tell_warnings(const struct job *j, const struct spec *s)
{
    for (size_t i = 0; i < s->nwarnings; i++)
        (void)fprintf(stderr, "%s: warning: %s\n", j->path,
                      s->warnings[i].text);
}

static int parse(const struct job *j, const struct spec_context *ctx,
                 struct spec **spec, struct err *e)
{
    return spec_parse_text(buf_get(&j->text), j->text.len, ctx, spec, e);
}

/* --- printing ------------------------------------------------------------- */

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
    va_list ap;

    (void)fflush(stdout);
    (void)fputs("note: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

static void note_size(const char *owner, const struct publish_text *t)
{
    size_t wire = publish_wire_len(owner, strlen(t->served));

    if (wire > PUBLISH_UDP_MAX)
        note("an answer with this text has %zu bytes; above %u it takes TCP",
             wire, PUBLISH_UDP_MAX);
}

static void note_ispconfig(const char *owner, const struct publish_text *t)
{
    note("the name in the panel: _failover.%s", owner);
    if (t->spelling == SPEC_BARE)
        note("bare spelling (%zu bytes): JSON with escaped quotes would have "
             "more than %u, and ISPConfig damages that",
             strlen(t->stored), PUBLISH_ISPCONFIG_MAX);
    else
        note("JSON with escaped quotes (%zu of %u bytes): as an "
             "administrator, clients and resellers cannot save quotes; for "
             "them --format bare",
             strlen(t->stored), PUBLISH_ISPCONFIG_MAX);
}

static int print_route53(const char *owner, const struct publish_text *t,
                         struct err *e)
{
    size_t len = strlen(t->served);
    char *value = publish_route53(t->served, len, e);

    if (value == NULL)
        return -1;
    (void)puts(value);
    note("_failover.%s TXT, TTL %u: %zu strings, %zu of %u characters (at most "
         "%u in one request, where UPSERT counts twice)",
         owner, PUBLISH_TTL_S, charstr_count(len), strlen(value),
         PUBLISH_ROUTE53_VALUE_MAX, PUBLISH_ROUTE53_REQUEST_MAX);
    free(value);
    return 0;
}

static int print_text(const struct job *j, const struct publish_text *t,
                      struct err *e)
{
    char *record;

    switch (j->format) {
    case PUBLISH_BIND:
        record =
            publish_bind(j->owner, PUBLISH_TTL_S, t->served, strlen(t->served));
        (void)fputs(record, stdout);
        free(record);
        break;
    case PUBLISH_ROUTE53:
        if (print_route53(j->owner, t, e) != 0)
            return -1;
        break;
    case PUBLISH_ISPCONFIG:
        (void)puts(t->stored);
        note_ispconfig(j->owner, t);
        break;
    case PUBLISH_RAW:
    case PUBLISH_BARE:
    case PUBLISH_NFORMATS:
        (void)puts(t->stored);
        break;
    }
    note_size(j->owner, t);
    return 0;
}

static void offline_context(const struct job *j, struct spec_context *ctx)
{
    const struct config_zone *section = publish_section(j->cfg, j->owner);

    memset(ctx, 0, sizeof *ctx);
    ctx->owner = j->owner;
    ctx->zone = j->zone;
    ctx->min_period_ms = DEFAULT_MIN_PERIOD_MS;
    ctx->max_targets = DEFAULT_MAX_TARGETS;
    ctx->keep_doc = true;
    if (j->cfg != NULL) {
        ctx->min_period_ms = j->cfg->min_period_ms;
        ctx->max_targets = (size_t)j->cfg->max_targets;
    }
    if (section != NULL) {
        ctx->cross_names = section->cross_names;
        ctx->allow_active = section->allow_active;
    }
}

/* The text may use what the apex spec defines; that takes a look at DNS.
 * returns 0 with *spec, or -1: e stays as it was */
static int parse_with_apex(const struct job *j, struct spec **spec)
{
    struct spec_context ctx;
    struct publish_net n;
    struct err e;
    int rc = -1;

    if (j->cfg == NULL || publish_section(j->cfg, j->owner) == NULL)
        return -1;
    if (publish_open(j->cfg, j->owner, false, &n, &e) == 0 &&
        publish_find_servers(&n, &e) == 0 && publish_find_apex(&n, &e) == 0 &&
        n.apex != NULL) {
        publish_context(&n, &ctx);
        rc = parse(j, &ctx, spec, &e);
    }
    publish_close(&n);
    return rc;
}

static int run_print(const struct job *j)
{
    struct publish_text t;
    struct spec_context ctx;
    struct spec *spec = NULL;
    struct err e;
    int code = CLI_DONE;

    offline_context(j, &ctx);
    if (parse(j, &ctx, &spec, &e) != 0 && parse_with_apex(j, &spec) != 0) {
        code = invalid(j, &e);
        if (strcmp(j->zone, ".") == 0)
            note("the zone of %s is not known; --zone tells it", j->owner);
        return code;
    }
    tell_warnings(j, spec);
    if (publish_text_make(spec, j->format, 0, &t, &e) != 0) {
        code = invalid(j, &e);
    } else {
        if (print_text(j, &t, &e) != 0)
            code = invalid(j, &e);
        publish_text_fini(&t);
    }
    spec_free(spec);
    return code;
}

/* --- writing -------------------------------------------------------------- */

/* The spelling that the provider's zone needs; bare is for whoever asks. */
static int choose_format(struct job *j, const struct publish_net *n)
{
    const struct provider_ops *ops = n->provider->ops;
    enum publish_format own =
        ops->caps.txt_unescaped ? PUBLISH_ISPCONFIG : PUBLISH_RAW;

    if (ops->write_spec == NULL)
        return cli_fail(-1,
                        "provider %s (%s) cannot write specs; publish without "
                        "--write prints the record",
                        n->section->provider->name, ops->type);
    if (!j->format_given)
        j->format = own;
    if (j->format != own && j->format != PUBLISH_BARE)
        return cli_fail(-1,
                        "--format %s: with --write provider %s takes %s or "
                        "bare",
                        publish_format_name(j->format),
                        n->section->provider->name, publish_format_name(own));
    return 0;
}

static int write_spec(struct job *j, struct publish_net *n)
{
    struct publish_write w = {
        .net = n,
        .dry_run = j->o->dry_run,
        .wait_ms = j->o->deadline_given ? j->o->deadline_ms : DEADLINE_MS};
    struct publish_text t;
    struct spec_context ctx;
    struct spec *spec = NULL;
    struct err e;
    int code = CLI_FAILED;

    if (publish_find_servers(n, &e) != 0 || publish_find_apex(n, &e) != 0)
        return cli_fail(CLI_FAILED, "%s; nothing was written", e.msg);
    publish_context(n, &ctx);
    if (parse(j, &ctx, &spec, &e) != 0)
        return invalid(j, &e);
    tell_warnings(j, spec);
    if (publish_text_make(spec, j->format, n->provider->ops->caps.txt_max, &t,
                          &e) != 0) {
        code = invalid(j, &e);
    } else {
        note_size(j->owner, &t);
        w.spec = spec;
        w.text = &t;
        code = publish_write(j->o, &w);
        publish_text_fini(&t);
    }
    spec_free(spec);
    return code;
}

static int run_write(struct job *j)
{
    struct publish_net n;
    struct err e;
    int code;

    if (j->o->zone != NULL)
        return cli_fail(CLI_USAGE, "--zone: with --write the configuration "
                                   "says which zone a name is in");
    if (publish_open(j->cfg, j->owner, true, &n, &e) != 0)
        code =
            cli_fail(e.code == ERR_NOTFOUND || e.code == ERR_INPUT ? CLI_USAGE
                                                                   : CLI_FAILED,
                     "%s", e.msg);
    else if (choose_format(j, &n) != 0)
        code = CLI_USAGE;
    else
        code = write_spec(j, &n);
    publish_close(&n);
    return code;
}

/* --- the command ---------------------------------------------------------- */

static int take_options(struct job *j, char *const *args)
{
    const struct cli_options *o = j->o;
    struct err e;

    if (args[0] == NULL || args[1] == NULL || args[2] != NULL)
        return cli_fail(-1, "publish needs a NAME and a FILE (- for standard "
                            "input)");
    if (cli_name(args[0], j->owner) != 0)
        return -1;
    j->path = args[1];
    j->format_given = o->format != NULL;
    if (j->format_given && publish_format_parse(o->format, &j->format, &e) != 0)
        return cli_fail(-1, "--format: %s", e.msg);
    if (o->dry_run && !o->write)
        return cli_fail(-1, "--dry-run belongs to --write");
    memcpy(j->zone, ".", 2);
    if (o->zone != NULL && cli_name(o->zone, j->zone) != 0)
        return -1;
    if (!name_within(j->owner, j->zone))
        return cli_fail(-1, "%s is not within --zone %s", j->owner, j->zone);
    return 0;
}

/* Printing needs no configuration; one that is there tells the zone. */
static int take_config(struct job *j)
{
    const struct config_zone *section;

    if (j->o->write || j->o->config_given || access(j->o->config, R_OK) == 0) {
        j->cfg = cli_config(j->o);
        if (j->cfg == NULL)
            return -1;
    }
    section = publish_section(j->cfg, j->owner);
    if (j->o->zone == NULL && section != NULL)
        memcpy(j->zone, section->name, strlen(section->name) + 1);
    return 0;
}

static int run(const struct cli_options *o, char *const *args)
{
    struct job j = {.o = o, .format = PUBLISH_BIND};
    struct err e;
    int code;

    /* One byte more than a spec may have, so that its error is told. */
    buf_init(&j.text, 4 * SPEC_TEXT_MAX);
    if (take_options(&j, args) != 0 || take_config(&j) != 0)
        code = CLI_USAGE;
    else if (read_file(j.path, &j.text, &e) != 0)
        code = invalid(&j, &e);
    else
        code = o->write ? run_write(&j) : run_print(&j);
    buf_fini(&j.text);
    config_free(j.cfg);
    return code;
}

const struct cli_command cli_publish = {
    "publish",
    "NAME FILE",
    "print a spec's TXT record, or write it",
    "The spec in FILE (-: standard input) is checked as lint does and printed\n"
    "as the TXT record of _failover.NAME: --format bind (a master file's "
    "record,\n"
    "the default), ispconfig, route53, raw (JSON) or bare (without quotes).\n"
    "--write shows what changes, writes it through the zone's provider and "
    "waits\n"
    "(--deadline, 90 s) until every authoritative server shows it.",
    "cFWRZDLhV",
    run};
