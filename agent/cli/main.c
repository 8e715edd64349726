#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/core.h"
#include "agent/base/duration.h"
#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/engine/service/control.h"
#include "providers/provider.h"

const struct cli_command *const cli_commands[] = {
    &cli_once,        &cli_run,       &cli_plan,    &cli_lint,
    &cli_publish,     &cli_status,    &cli_history, &cli_explain,
    &cli_maintenance, &cli_freeze,    &cli_thaw,    &cli_readmit,
    &cli_simulate,    &cli_providers, &cli_doctor,  NULL};

/* One row an option: letter (as in cli_command.takes), long name, argument,
 * help. Letters above 'Z' in upper case have no short form. */
static const struct {
    char letter;
    const char *name, *arg, *help;
} options[] = {
    {'c', "config", "FILE", "configuration (default " CLI_CONFIG_DEFAULT ")"},
    {'v', "verbose", NULL, "say what is looked at, found and wanted"},
    {'J', "json", NULL, "one JSON object a line, for programs"},
    {'D', "deadline", "TIME", "end within TIME (default 50s)"},
    {'E', "exit-code", NULL, "exit 3 when changes are pending"},
    {'S', "strict", NULL, "exit 1 on warnings too"},
    {'n', "limit", "N", "at most N entries (default 50)"},
    {'N', "name", "NAME", "the owner that the text is for"},
    {'Z', "zone", "ZONE", "the zone meant"},
    {'T', "for", "TIME", "until TIME has passed"},
    {'L', "wait", "TIME", "wait so long for a running round (default 60s)"},
    {'C', "cron", "TIME", "the interval of cron"},
    {'F', "format", "FORMAT", "bind, ispconfig, route53, raw or bare"},
    {'W', "write", NULL, "write it through the zone's provider"},
    {'R', "dry-run", NULL, "with --write: say what would change, no more"},
    {'P', "provider", "NAME", "a provider section, or a type (environment)"},
    {'Q', "servers", "LIST", "the zone's authoritative servers"},
    {'O', "record", "NAME", "keep this record, by what follows"},
    {'X', "targets", "LIST", "its addresses, separated by commas"},
    {'G', "check", "CHECK", "what must pass (default http:80/, status 200)"},
    {'B', "backup", "LIST", "published when all targets are dead"},
    {'U', "all-down", "WHAT", "none (default), keep or all, without a backup"},
    {'I', "ttl", "SECONDS", "of records that are written (default 600)"},
    {'M', "timeout", "TIME", "of a check (default 10s)"},
    {'A', "dc", "NAME", "the data centre that the agent stands in"},
    {'h', "help", NULL, "this text"},
    {'V', "version", NULL, "the version"},
};
enum { NOPTIONS = sizeof options / sizeof options[0] };

int cli_fail(int code, const char *fmt, ...)
{
    va_list ap;

    (void)fflush(stdout);
    (void)fputs("dnsfailover: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
    return code;
}

void cli_ask_to_save(const char *state_path)
{
    struct err e;

    if (control_ask(state_path, "{\"save\":true}", &e) != 0 &&
        e.code != ERR_NOTFOUND)
        (void)cli_fail(0,
                       "the running service did not save its state now (%s): "
                       "this is what it saved last",
                       e.msg);
}

int cli_name(const char *arg, char out[NAME_SIZE])
{
    static const char prefix[] = "_failover.";
    struct err e;

    if (name_canon(arg, out, &e) != 0)
        return cli_fail(-1, "%s", e.msg);
    if (strncmp(out, prefix, sizeof prefix - 1) == 0)
        memmove(out, out + sizeof prefix - 1, strlen(out) - sizeof prefix + 2);
    return 0;
}

/* --- configuration ------------------------------------------------------- */

static const char example[] =
    "There is no configuration yet. For ISPConfig, paste this and mend it:\n"
    "\n"
    "  provider panel { type = ispconfig\n"
    "    url = \"https://panel.example.org:8080/remote/index.php\"\n"
    "    user = failover\n"
    "    password-file = \"/etc/dnsfailover/panel.password\" }\n"
    "  zone \"example.org\" { provider = panel\n"
    "    discover = provider }\n"
    "\n"
    "See dnsfailover.conf(5).\n";

struct config *cli_config(const struct cli_options *o)
{
    struct config_schema schemas[PROVIDER_SCHEMAS];
    struct config *cfg = NULL;
    struct err e;

    provider_schemas(schemas);
    if (config_load(o->config, schemas, &cfg, &e) == 0)
        return cfg;
    (void)cli_fail(0, "%s", e.msg);
    if (e.code == ERR_NOTFOUND && !o->config_given)
        (void)fputs(example, stderr);
    return NULL;
}

struct config *cli_config_again(const struct cli_options *o, struct helper *h)
{
    struct config_schema schemas[PROVIDER_SCHEMAS];
    struct config *cfg = NULL;
    const struct doer *doer;
    struct err e;
    int fd;

    provider_schemas(schemas);
    if (helper_config(h, &fd, &doer, &e) != 0) {
        (void)cli_fail(0, "%s", e.msg);
        return NULL;
    }
    if (config_load_open(o->config, fd, doer, schemas, &cfg, &e) != 0)
        (void)cli_fail(0, "%s", e.msg);
    (void)close(fd);
    return cfg;
}

/* --- help ---------------------------------------------------------------- */

static void print_options(const char *takes)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        char left[40];

        if (strchr(takes, options[i].letter) == NULL)
            continue;
        if (options[i].letter >= 'a')
            (void)snprintf(left, sizeof left, "-%c, --%s%s%s",
                           options[i].letter, options[i].name,
                           options[i].arg != NULL ? " " : "",
                           options[i].arg != NULL ? options[i].arg : "");
        else
            (void)snprintf(left, sizeof left, "    --%s%s%s", options[i].name,
                           options[i].arg != NULL ? " " : "",
                           options[i].arg != NULL ? options[i].arg : "");
        (void)printf("  %-22s %s\n", left, options[i].help);
    }
}

static int help(void)
{
    (void)puts(
        "usage: dnsfailover [-c FILE] [-v] COMMAND [options] [arguments]\n"
        "\n"
        "Health checks published in DNS, at _failover.NAME, switch the "
        "records of NAME.\n");
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        char left[40];

        (void)snprintf(left, sizeof left, "%s %s", cli_commands[i]->name,
                       cli_commands[i]->args);
        (void)printf("  %-22s %s\n", left, cli_commands[i]->summary);
    }
    (void)puts("\n  --help, --version      also after a command: "
               "dnsfailover once --help\n"
               "\n"
               "exit: 0 done, 1 something failed and the rest was done, 2 "
               "usage or\n"
               "configuration, 3 changes pending, 75 another run holds the "
               "lock\n"
               "see dnsfailover(8), dnsfailover-spec(5), dnsfailover.conf(5)");
    return CLI_DONE;
}

static int version(void)
{
    (void)puts("dnsfailover " DNSFAILOVER_VERSION);
    return CLI_DONE;
}

static int help_command(const struct cli_command *c)
{
    (void)printf("usage: dnsfailover %s [options]%s%s\n\n%s\n\n", c->name,
                 c->args[0] != '\0' ? " " : "", c->args, c->help);
    print_options(c->takes);
    return CLI_DONE;
}

/* --- parsing ------------------------------------------------------------- */

static const struct cli_command *find_command(const char *name)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

static int parse_number(const char *text, int64_t *out)
{
    char *end = NULL;

    *out = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *out > 0 && *out <= 1000000 ? 0 : -1;
}

static int take_time(const char *option, const char *arg, int64_t least_ms,
                     int64_t *out)
{
    char least[32];
    struct err e;

    if (duration_parse(arg, out, &e) != 0)
        return cli_fail(-1, "--%s: %s", option, e.msg);
    if (*out < least_ms)
        return cli_fail(-1, "--%s: at least %s is accepted", option,
                        duration_format(least_ms, least));
    return 0;
}

/* What says how a record is kept belongs to the last --record. */
static int take_record(struct cli_options *o, char letter, const char *arg)
{
    struct cli_record *r = &o->records[o->nrecords];

    switch (letter) {
    case 'O':
        if (o->nrecords == CLI_RECORDS)
            return cli_fail(-1, "--record: at most %d times", CLI_RECORDS);
        o->records[++o->nrecords].record = arg;
        return 0;
    case 'X':
        r->targets = arg;
        return 0;
    case 'G':
        r->check = arg;
        return 0;
    case 'B':
        r->backup = arg;
        return 0;
    case 'U':
        r->all_down = arg;
        return 0;
    case 'I':
        r->ttl = arg;
        return 0;
    case 'M':
        r->timeout = arg;
        return 0;
    case 'P':
        o->provider = arg;
        return 0;
    case 'Q':
        o->servers = arg;
        return 0;
    default:
        return cli_fail(-1, "unknown option");
    }
}

static int take_option(struct cli_options *o, char letter, const char *arg)
{
    switch (letter) {
    case 'c':
        o->config = arg;
        o->config_given = true;
        return 0;
    case 'v':
        o->verbose = true;
        return 0;
    case 'h':
        o->help = true;
        return 0;
    case 'V':
        o->version = true;
        return 0;
    case 'J':
        o->json = true;
        return 0;
    case 'E':
        o->exit_code = true;
        return 0;
    case 'S':
        o->strict = true;
        return 0;
    case 'N':
        o->name = arg;
        return 0;
    case 'A':
        o->dc = arg;
        return 0;
    case 'Z':
        o->zone = arg;
        return 0;
    case 'F':
        o->format = arg;
        return 0;
    case 'W':
        o->write = true;
        return 0;
    case 'R':
        o->dry_run = true;
        return 0;
    case 'D':
        o->deadline_given = true;
        return take_time("deadline", arg, 1000, &o->deadline_ms);
    case 'T':
        return take_time("for", arg, 1000, &o->for_ms);
    case 'L':
        return take_time("wait", arg, 0, &o->wait_ms);
    case 'C':
        return take_time("cron", arg, 1000, &o->cron_ms);
    case 'n':
        if (parse_number(arg, &o->limit) != 0)
            return cli_fail(-1, "-n: \"%s\" is not a number from 1 to 1000000",
                            arg);
        return 0;
    default:
        return take_record(o, letter, arg);
    }
}

/* The options of all commands for getopt; the value is the row's number. */
static void fill_long(struct option *out)
{
    for (int i = 0; i < NOPTIONS; i++) {
        out[i].name = options[i].name;
        out[i].has_arg =
            options[i].arg != NULL ? required_argument : no_argument;
        out[i].flag = NULL;
        out[i].val = 256 + i;
    }
    memset(&out[NOPTIONS], 0, sizeof *out);
}

/* Options up to the first word that is none (stop: a command's name), or all
 * of them. takes: the letters accepted here. */
static int parse(int argc, char **argv, const char *where, const char *takes,
                 bool stop, struct cli_options *o)
{
    struct option longs[NOPTIONS + 1];
    int got;

    fill_long(longs);
    optind = 0; /* starts getopt anew, its ordering included */
    while ((got = getopt_long(argc, argv, stop ? "+c:vn:h" : "c:vn:h", longs,
                              NULL)) != -1) {
        char letter = got >= 256 ? options[got - 256].letter : (char)got;

        if (letter == '?')
            return -1;
        if (strchr(takes, letter) == NULL)
            return cli_fail(-1, "%s does not take that option; see %s --help",
                            where, where);
        if (take_option(o, letter, optarg) != 0)
            return -1;
    }
    return 0;
}

static int run_command(int argc, char **argv, const struct cli_command *c,
                       struct cli_options *o)
{
    char where[64];

    (void)snprintf(where, sizeof where, "dnsfailover %s", c->name);
    if (parse(argc, argv, where, c->takes, false, o) != 0)
        return CLI_USAGE;
    if (o->help)
        return help_command(c);
    if (o->version)
        return version();
    if (o->verbose)
        log_set_level(LOG_INFO);
    return c->run(o, argv + optind);
}

int main(int argc, char **argv)
{
    struct cli_options o = {.config = CLI_CONFIG_DEFAULT,
                            .deadline_ms = 50000,
                            .limit = 50,
                            .wait_ms = 60000};
    const struct cli_command *c;
    const char *name;
    int rc, at;

    core_forbid();
    if (parse(argc, argv, "dnsfailover", "cvhV", true, &o) != 0)
        return CLI_USAGE;
    at = optind;
    name = argv[at];
    if (o.help || (name != NULL && strcmp(name, "help") == 0))
        return help();
    if (o.version)
        return version();
    if (name == NULL) {
        (void)help();
        return CLI_USAGE;
    }
    c = find_command(name);
    if (c == NULL)
        return cli_fail(CLI_USAGE,
                        "no command \"%s\"; dnsfailover --help lists them",
                        name);
    rc = run_command(argc - at, argv + at, c, &o);
    if (fflush(stdout) != 0)
        rc = rc == CLI_DONE ? CLI_FAILED : rc;
    return rc;
}
