#include <stdio.h>

#include "agent/cli/cli.h"
#include "agent/engine/round.h"
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

static int run_round(const struct cli_options *o, char *const *args, bool plan)
{
    struct config *cfg;
    struct report_options ro = {.json = o->json, .verbose = o->verbose};
    struct round_options opts = {.plan_only = plan,
                                 .detail = o->verbose,
                                 .deadline_ms = o->deadline_ms,
                                 .sink = report_event,
                                 .progress = report_progress};
    struct round_result result = {0, 0};
    struct report *report;
    struct err e;
    int code = CLI_DONE;

    if (args[0] != NULL)
        return cli_fail(CLI_USAGE, "%s takes no argument; found \"%s\"",
                        plan ? "plan" : "once", args[0]);
    cfg = cli_config(o);
    if (cfg == NULL)
        return CLI_USAGE;
    ro.notify = plan ? NULL : cfg->notify;
    report = report_new(&ro);
    opts.sink_arg = opts.progress_arg = report;
    if (round_run(cfg, &opts, &result, &e) != 0) {
        code = e.code == ERR_BUSY    ? CLI_BUSY
               : e.code == ERR_INPUT ? CLI_USAGE
                                     : CLI_FAILED;
        (void)cli_fail(0, "%s", e.msg);
    } else {
        code = exit_code(o, plan, &result);
    }
    if (report_finish(report, &e) != 0)
        code = cli_fail(code == CLI_DONE ? CLI_FAILED : code, "%s", e.msg);
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
    "what it learnt. Prints nothing when nothing changed.",
    "cvJDhV",
    run_once};

const struct cli_command cli_plan = {
    "plan",
    "",
    "what once would change, and why; changes nothing",
    "The same round as once, up to the plan. Nothing is written, to DNS or to\n"
    "the state.",
    "cvJDEhV",
    run_plan};
