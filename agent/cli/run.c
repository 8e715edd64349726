#include <stdio.h>

#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/engine/service.h"
#include "agent/report/report.h"

/* `run`: the rounds of `once`, continuously, as a service. */

static struct config *load(void *arg)
{
    return cli_config(arg);
}

static int serve(const struct cli_options *o, struct config *cfg)
{
    struct report_options ro = {
        .json = o->json, .verbose = o->verbose, .notify = cfg->notify};
    union {
        const struct cli_options *in;
        void *out;
    } arg = {.in = o};
    struct report *report = report_new(&ro);
    struct service_options so = {.loop = loop_new(),
                                 .detail = o->verbose,
                                 .sink = report_event,
                                 .sink_arg = report,
                                 .load = load,
                                 .load_arg = arg.out};
    struct err e;
    int code = CLI_DONE;

    report_attach(report, so.loop);
    if (service_run(cfg, &so, &e) != 0) {
        code = e.code == ERR_BUSY    ? CLI_BUSY
               : e.code == ERR_INPUT ? CLI_USAGE
                                     : CLI_FAILED;
        (void)cli_fail(0, "%s", e.msg);
    }
    if (report_finish(report, &e) != 0)
        code = cli_fail(code == CLI_DONE ? CLI_FAILED : code, "%s", e.msg);
    loop_free(so.loop);
    return code;
}

static int run(const struct cli_options *o, char *const *args)
{
    struct config *cfg;

    mem_live_long();
    if (args[0] != NULL)
        return cli_fail(CLI_USAGE, "run takes no argument; found \"%s\"",
                        args[0]);
    cfg = cli_config(o);
    if (cfg == NULL)
        return CLI_USAGE;
    /* Each line is read as it comes, by journald or a pipe. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return serve(o, cfg);
}

const struct cli_command cli_run = {
    "run",
    "",
    "the same continuously, as a service",
    "Probes at the pace of the specs, decides at once, writes after the\n"
    "zone's debounce and verifies, until SIGTERM or SIGINT. Specs are read\n"
    "again when the zone's serial changes or their TTL is over; SIGHUP reads\n"
    "the configuration and all specs at once. Holds the lock: once and cron\n"
    "exit 75 beside it.",
    "cvJhV",
    run};
