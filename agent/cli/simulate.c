#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/engine/sim/sim.h"
#include "agent/engine/state/state.h"
#include "specs/value.h"

/* `simulate`: what the agent would have done in the world of a trace. */

#define SEED 1

/* The texts of one owner, as its TXT records would hold them. */
struct owner {
    char name[NAME_SIZE];
    struct spec_txt *txts;
    size_t n, cap;
    struct spec *spec;
};

struct work {
    const struct cli_options *o;
    char zone[NAME_SIZE];
    struct arena *arena;
    struct owner *owners;
    size_t n, cap;
};

/* --- reading ----------------------------------------------------------------
 */

static int read_file(const char *path, size_t most, struct buf *b)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char chunk[65536];
    size_t n;
    int rc = 0;

    buf_init(b, most);
    if (f == NULL)
        return cli_fail(-1, "%s: %s", path, strerror(errno));
    while (!b->over && (n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_add(b, chunk, n);
    if (ferror(f) != 0)
        rc = cli_fail(-1, "%s: %s", path, strerror(errno));
    else if (b->over)
        rc = cli_fail(-1, "%s: longer than %zu bytes", path, most);
    if (f != stdin)
        (void)fclose(f);
    return rc;
}

static struct owner *owner_get(struct work *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->owners[i].name, name) == 0)
            return &w->owners[i];
    w->owners = mem_grow(w->owners, &w->cap, w->n, sizeof *w->owners);
    (void)snprintf(w->owners[w->n].name, NAME_SIZE, "%s", name);
    return &w->owners[w->n++];
}

/* "www=FILE" */
static int take_spec(struct work *w, const char *arg)
{
    const char *equals = strchr(arg, '=');
    char *left = mem_strndup(arg, (size_t)(equals - arg)), name[NAME_SIZE];
    struct spec_string *string = arena_alloc(w->arena, sizeof *string);
    struct owner *owner;
    struct buf b;
    struct err e;
    int rc = name_resolve(left, w->zone, name, &e);

    free(left);
    if (rc != 0)
        return cli_fail(-1, "%s: %s", arg, e.msg);
    if (!name_within(name, w->zone))
        return cli_fail(-1, "%s: %s is not within --zone %s", arg, name,
                        w->zone);
    rc = read_file(equals + 1, SPEC_TEXT_MAX + 2, &b);
    /* A final newline is the editor's, not the spec's. */
    while (b.len > 0 && strchr("\r\n", b.data[b.len - 1]) != NULL)
        b.data[--b.len] = '\0';
    owner = owner_get(w, name);
    string->data = arena_strndup(w->arena, buf_get(&b), b.len);
    string->len = b.len;
    owner->txts =
        mem_grow(owner->txts, &owner->cap, owner->n, sizeof *owner->txts);
    owner->txts[owner->n].strings = string;
    owner->txts[owner->n++].nstrings = 1;
    buf_fini(&b);
    return rc;
}

static int parse(struct work *w, struct owner *owner, const struct spec *apex)
{
    const struct spec_context ctx = {.owner = owner->name,
                                     .zone = w->zone,
                                     .apex = apex,
                                     .allow_active = true};
    const struct spec_string *s = owner->txts[0].strings;
    struct err e;
    int rc = owner->n == 1
                 ? spec_parse_text(s->data, s->len, &ctx, &owner->spec, &e)
                 : spec_parse(owner->txts, owner->n, &ctx, &owner->spec, &e);

    return rc == 0 ? 0 : cli_fail(-1, "%s", e.msg);
}

static int parse_all(struct work *w)
{
    const struct spec *apex = NULL;

    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->owners[i].name, w->zone) == 0) {
            if (parse(w, &w->owners[i], NULL) != 0)
                return -1;
            apex = w->owners[i].spec;
        }
    for (size_t i = 0; i < w->n; i++)
        if (w->owners[i].spec == NULL && parse(w, &w->owners[i], apex) != 0)
            return -1;
    return 0;
}

/* --- telling ----------------------------------------------------------------
 */

/* Milliseconds as seconds, one digit at least. */
static const char *seconds(int64_t ms, char out[32])
{
    int n = snprintf(out, 32, "%lld.%03lld", (long long)ms / 1000,
                     (long long)ms % 1000);

    while (n > 2 && out[n - 1] == '0' && out[n - 2] != '.')
        out[--n] = '\0';
    return out;
}

static void json_text(struct buf *b, const char *text)
{
    if (text == NULL)
        buf_str(b, "null");
    else
        spec_value_quote_json(b, text);
}

static void json_list(struct buf *b, const struct sim_event *ev)
{
    buf_char(b, '[');
    for (size_t i = 0; i < ev->npublish; i++) {
        if (i > 0)
            buf_char(b, ',');
        json_text(b, ev->publish[i]);
    }
    buf_char(b, ']');
}

static void print_json(struct buf *b, const struct sim_event *ev)
{
    char t[32];

    buf_printf(b, "{\"t\":%s,", seconds(ev->t_ms, t));
    if (ev->kind == SIM_CHECK) {
        buf_str(b, "\"check\":");
        json_text(b, ev->check);
        buf_str(b, ",\"target\":");
        json_text(b, ev->where);
        buf_printf(b, ",\"state\":\"%s\"}", health_state_name(ev->state));
        return;
    }
    buf_printf(b, "\"set\":\"%s %s\",\"view\":", ev->name,
               spec_type_name(ev->type));
    json_text(b, ev->view);
    if (ev->kind == SIM_SET) {
        buf_str(b, ",\"publish\":");
        json_list(b, ev);
        buf_printf(b, ",\"tier\":%d,\"reason\":", ev->tier);
    } else {
        buf_str(b, ",\"held\":");
    }
    json_text(b, ev->reason);
    buf_char(b, '}');
}

static void print_text(struct buf *b, const struct sim_event *ev)
{
    char t[32];

    buf_printf(b, "%9s  ", seconds(ev->t_ms, t));
    if (ev->kind == SIM_CHECK) {
        buf_printf(b, "%s at %s is %s", ev->check, ev->where,
                   health_state_name(ev->state));
        return;
    }
    buf_printf(b, "%s %s%s%s: ", ev->name, spec_type_name(ev->type),
               ev->view != NULL ? " view " : "",
               ev->view != NULL ? ev->view : "");
    if (ev->kind == SIM_HELD) {
        buf_str(b, ev->reason != NULL ? ev->reason : "no longer held");
        return;
    }
    for (size_t i = 0; i < ev->npublish; i++)
        buf_printf(b, "%s ", ev->publish[i]);
    if (ev->npublish == 0)
        buf_str(b, "nothing ");
    if (ev->tier > 0)
        buf_printf(b, "(tier %d: %s)", ev->tier, ev->reason);
    else
        buf_printf(b, "(%s)", ev->reason);
}

static void on_event(void *arg, const struct sim_event *ev)
{
    const struct cli_options *o = arg;
    struct buf b;

    if (ev->kind == SIM_NOTE) {
        (void)cli_fail(0, "%s", ev->reason);
        return;
    }
    if (ev->kind != SIM_SET && !o->verbose)
        return;
    buf_init(&b, 1u << 20);
    if (o->json)
        print_json(&b, ev);
    else
        print_text(&b, ev);
    (void)puts(buf_get(&b));
    buf_fini(&b);
}

/* --- the saved state, for restarts ------------------------------------------
 */

static int make_directory(char *out, size_t size)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(out, size, "%s/dnsfailover-XXXXXX",
                   tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
    if (mkdtemp(out) == NULL)
        return cli_fail(-1, "%s: %s", out, strerror(errno));
    return 0;
}

static void remove_directory(const char *directory)
{
    static const char *const tails[] = {"", "-wal", "-shm", ".lock"};

    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char *path = mem_printf("%s/state.db%s", directory, tails[i]);

        (void)unlink(path);
        free(path);
    }
    (void)rmdir(directory);
}

static bool has_restart(const struct trace_fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (facts[i].kind == TRACE_RESTART)
            return true;
    return false;
}

/* --- the whole --------------------------------------------------------------
 */

static int run(const struct work *w, const struct trace_fact *facts, size_t n,
               const char *trace)
{
    const struct spec **specs = mem_array(w->n, sizeof *specs);
    union {
        const struct cli_options *in;
        void *out;
    } arg = {.in = w->o};
    struct sim_options o = {.zone = w->zone,
                            .specs = specs,
                            .nspecs = w->n,
                            .facts = facts,
                            .nfacts = n,
                            .seed = SEED,
                            .start_ms = state_now_ms(),
                            .agent_dc = w->o->dc,
                            .sink = on_event,
                            .sink_arg = arg.out};
    char directory[4096] = "", *path = NULL;
    struct err e;
    int rc = CLI_DONE;

    for (size_t i = 0; i < w->n; i++)
        specs[i] = w->owners[i].spec;
    if (has_restart(facts, n)) {
        if (make_directory(directory, sizeof directory) != 0) {
            rc = CLI_USAGE;
            goto out;
        }
        path = mem_printf("%s/state.db", directory);
        o.state_path = path;
    }
    if (sim_run(&o, &e) != 0)
        rc = cli_fail(CLI_USAGE, "%s: %s", trace, e.msg);
    if (path != NULL)
        remove_directory(directory);
out:
    free(path);
    free(specs);
    return rc;
}

static int read_trace(struct work *w, const char *path)
{
    struct trace_fact *facts = NULL;
    struct buf b;
    struct err e;
    size_t n = 0;
    int rc = CLI_USAGE;

    if (read_file(path, TRACE_MAX, &b) == 0) {
        if (trace_read(w->arena, buf_get(&b), b.len, &facts, &n, &e) != 0)
            (void)cli_fail(0, "%s: %s", path, e.msg);
        else
            rc = run(w, facts, n, path);
    }
    buf_fini(&b);
    return rc;
}

static int read_args(struct work *w, char *const *args, const char **trace)
{
    *trace = NULL;
    for (; args[0] != NULL; args++) {
        if (strchr(args[0], '=') != NULL) {
            if (take_spec(w, args[0]) != 0)
                return -1;
        } else if (*trace != NULL) {
            return cli_fail(-1,
                            "\"%s\": a spec is NAME=FILE, and there is one "
                            "trace",
                            args[0]);
        } else {
            *trace = args[0];
        }
    }
    if (w->n == 0)
        return cli_fail(-1, "no spec; simulate takes NAME=FILE, and a trace");
    if (*trace == NULL)
        return cli_fail(-1, "no trace; simulate takes it as the last argument "
                            "(-: standard input)");
    return 0;
}

static int simulate(const struct cli_options *o, char *const *args)
{
    struct work w = {.o = o, .arena = arena_new()};
    const char *trace;
    int rc = CLI_USAGE;

    if (o->zone == NULL)
        (void)cli_fail(0, "--zone is needed: the zone of the specs");
    else if (cli_name(o->zone, w.zone) == 0 &&
             read_args(&w, args, &trace) == 0 && parse_all(&w) == 0)
        rc = read_trace(&w, trace);
    for (size_t i = 0; i < w.n; i++) {
        spec_free(w.owners[i].spec);
        free(w.owners[i].txts);
    }
    free(w.owners);
    arena_free(w.arena);
    return rc;
}

const struct cli_command cli_simulate = {
    .name = "simulate",
    .args = "NAME=FILE... TRACE",
    .summary = "what the agent would do in the world of a trace",
    .help =
        "Replays facts about a world against the specs of a zone, on a "
        "virtual clock, and\n"
        "prints a line each time a set changes. NAME=FILE: the spec at "
        "_failover.NAME, once\n"
        "for each (again for a further TXT record of that name); @=FILE: the "
        "apex. No target\n"
        "is refused, results are there at once, a failure is a refusal, "
        "chance is the same\n"
        "each time. A target that no fact tells of has no verdict.\n"
        "\n"
        "TRACE is JSON Lines (-: standard input), each fact holding from its "
        "time on, in\n"
        "seconds or \"500ms\", \"10s\", \"2m\", \"1h\":\n"
        "\n" TRACE_HELP "\n"
        "With -v also the checks whose state changes, and the sets that are "
        "held.",
    .takes = "ZAJvhV",
    .run = simulate,
};
