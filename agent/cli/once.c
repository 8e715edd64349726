#include <stdio.h>

#include "agent/cli/cli.h"
#include "agent/cli/once_records.h"
#include "agent/engine/round/round.h"
#include "agent/report/report.h"

/* `once` and `plan`: the same round, with and without changes. */

static int exit_code(const struct cli_options *o, bool plan,
                     const struct round_result *result)
{
    if (result->problems > 0)
        return CLI_FAILED;
    if (plan && o->exit_code && result->changes > 0)
        return CLI_PENDING;
    return CLI_DONE;
}

static int run_with(const struct cli_options *o, const struct config *cfg,
                    struct round_options *opts)
{
    struct report_options ro = {.json = o->json,
                                .verbose = opts->detail,
                                .notify = opts->plan_only ? NULL : cfg->notify};
    struct round_result result = {0, 0};
    struct report *report = report_new(&ro);
    struct err e;
    int code;

    opts->sink = report_event;
    opts->progress = report_progress;
    opts->sink_arg = opts->progress_arg = report;
    if (round_run(cfg, opts, &result, &e) != 0) {
        code = e.code == ERR_BUSY    ? CLI_BUSY
               : e.code == ERR_INPUT ? CLI_USAGE
                                     : CLI_FAILED;
        (void)cli_fail(0, "%s", e.msg);
    } else {
        code = exit_code(o, opts->plan_only, &result);
    }
    if (report_finish(report, &e) != 0)
        code = cli_fail(code == CLI_DONE ? CLI_FAILED : code, "%s", e.msg);
    return code;
}

/* For one zone that the command line names; with records of its own it says
 * everything, as the tools do that work so. */
static int run_records(const struct cli_options *o, struct round_options *opts)
{
    struct once_records r;
    int code = CLI_USAGE;

    if (once_records_read(o, !opts->plan_only, &r) == 0) {
        opts->given = r.given;
        opts->ngiven = r.ngiven;
        opts->detail = o->verbose || r.ngiven > 0;
        code = run_with(o, r.cfg, opts);
    }
    once_records_fini(&r);
    return code;
}

static int run_round(const struct cli_options *o, char *const *args, bool plan)
{
    struct round_options opts = {
        .plan_only = plan, .detail = o->verbose, .deadline_ms = o->deadline_ms};
    struct config *cfg;
    int code;

    if (args[0] != NULL)
        return cli_fail(CLI_USAGE, "%s takes no argument; found \"%s\"",
                        plan ? "plan" : "once", args[0]);
    if (once_records_wanted(o))
        return run_records(o, &opts);
    cfg = cli_config(o);
    if (cfg == NULL)
        return CLI_USAGE;
    code = run_with(o, cfg, &opts);
    config_free(cfg);
    return code;
}

static int run_once(const struct cli_options *o, char *const *args)
{
    return run_round(o, args, false);
}

static int run_plan(const struct cli_options *o, char *const *args)
{
    return run_round(o, args, true);
}

const struct cli_command cli_once = {
    "once",
    "",
    "one complete round, for cron",
    "Reads the specs from DNS, probes until every check has a verdict, "
    "changes\n"
    "what must be changed, verifies it at every authoritative server, saves\n"
    "what it learnt. Prints nothing when nothing changed.\n"
    "\n"
    "With --provider and --zone: that zone alone, its provider's options from\n"
    "the environment (dnsfailover providers names them) where NAME is a type.\n"
    "With --record NAME --targets LIST, once or several times, these records\n"
    "are kept there instead of what specs in DNS say; options before the "
    "first\n"
    "--record hold for all. DNS_TARGET_DOMAIN, DNS_TARGET_RR, "
    "DNS_TARGET_HOSTS\n"
    "and DNS_BACKUP_HOSTS of the environment stand for what is not given.",
    "cvJDPZQOXGBUIMhV",
    run_once};

const struct cli_command cli_plan = {
    "plan",
    "",
    "what once would change, and why; changes nothing",
    "The same round as once, up to the plan. Nothing is written, to DNS or to\n"
    "the state. --provider, --zone and --record as with once.",
    "cvJDEPZQOXGBUIMhV",
    run_plan};
