#ifndef AGENT_CLI_CLI_H
#define AGENT_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/helper.h"

/* The command line: one file per command, found by a const table. */

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,  /* something failed and the rest was done */
    CLI_USAGE = 2,   /* usage or configuration */
    CLI_PENDING = 3, /* plan --exit-code: changes are pending */
    CLI_BUSY = 75,   /* another run holds the lock (EX_TEMPFAIL) */
};

#define CLI_CONFIG_DEFAULT "/etc/dnsfailover.conf"

/* A record to keep, as `once` takes it; NULL: not given. */
struct cli_record {
    const char *record, *targets, *check, *backup, *all_down, *ttl, *timeout;
};
#define CLI_RECORDS 64

/* What the options said; each command says which it takes. */
struct cli_options {
    const char *config; /* -c */
    bool config_given;
    bool verbose;   /* -v */
    bool help;      /* --help */
    bool version;   /* --version */
    bool json;      /* --json */
    bool exit_code; /* --exit-code */
    bool strict;    /* --strict */
    bool write;     /* --write */
    bool dry_run;   /* --dry-run */
    bool deadline_given;
    int64_t deadline_ms;  /* --deadline */
    int64_t limit;        /* -n */
    int64_t for_ms;       /* --for; 0: not given */
    int64_t wait_ms;      /* --wait */
    int64_t cron_ms;      /* --cron; 0: not given */
    const char *name;     /* --name */
    const char *zone;     /* --zone */
    const char *dc;       /* --dc */
    const char *format;   /* --format */
    const char *provider; /* --provider */
    const char *servers;  /* --servers */
    /* [0]: what stands before the first --record, for all of them */
    struct cli_record records[CLI_RECORDS + 1];
    size_t nrecords; /* --record */
};

/* args: what is left after options, NULL-terminated */
typedef int cli_fn(const struct cli_options *o, char *const *args);

struct cli_command {
    const char *name;
    const char *args;    /* "[NAME]" */
    const char *summary; /* one line */
    const char *help;    /* what --help prints below the usage line */
    const char *takes;   /* letters of the options it takes, see main.c */
    cli_fn *run;
};
extern const struct cli_command *const cli_commands[]; /* ends with NULL */
extern const struct cli_command cli_once, cli_run, cli_plan, cli_lint,
    cli_publish, cli_status, cli_history;
extern const struct cli_command cli_explain, cli_maintenance, cli_freeze,
    cli_thaw, cli_readmit;
extern const struct cli_command cli_simulate, cli_providers, cli_doctor;

/* Reads the configuration; on failure says so and returns NULL. */
struct config *cli_config(const struct cli_options *o);
/* The same, which the helper hands out. */
struct config *cli_config_again(const struct cli_options *o, struct helper *h);
/* A service that holds that state saves it, so that what is read next is how
 * things are now. Where none runs, nothing; one that does not answer is told
 * on standard error. */
void cli_ask_to_save(const char *state_path);
/* "dnsfailover: text" on standard error; returns code. */
int cli_fail(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The canonical form of a NAME argument, or usage error. returns 0 or -1 */
MUST_CHECK int cli_name(const char *arg, char out[NAME_SIZE]);

#endif
