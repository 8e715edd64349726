#include <stdio.h>

#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "agent/engine/helper/helper_main.h"
#include "agent/engine/service/service.h"
#include "agent/report/report.h"

/* `run`: the rounds of `once`, continuously, as a service in two processes. */

struct running {
    const struct cli_options *o;
    struct helper *helper;
    struct sandbox_user user;
};

static struct config *load(void *arg)
{
    const struct running *r = arg;

    return cli_config_again(r->o, r->helper);
}

static int fail(int code, const struct err *e)
{
    if (code == CLI_DONE)
        code = e->code == ERR_BUSY    ? CLI_BUSY
               : e->code == ERR_INPUT ? CLI_USAGE
                                      : CLI_FAILED;
    return cli_fail(code, "%s", e->msg);
}

static int serve(struct running *r, struct config *cfg)
{
    struct report_options ro = {.json = r->o->json,
                                .verbose = r->o->verbose,
                                .notify = cfg->notify,
                                .doer = cfg->doer};
    struct report *report = report_new(&ro);
    struct service_options so = {.loop = loop_new(),
                                 .detail = r->o->verbose,
                                 .sink = report_event,
                                 .sink_arg = report,
                                 .load = load,
                                 .load_arg = r,
                                 .user = &r->user,
                                 .helper = r->helper};
    struct err e;
    int code = CLI_DONE;

    report_attach(report, so.loop);
    if (service_run(cfg, &so, &e) != 0)
        code = fail(code, &e);
    if (report_finish(report, &e) != 0)
        code = cli_fail(code == CLI_DONE ? CLI_FAILED : code, "%s", e.msg);
    helper_detach(r->helper);
    loop_free(so.loop);
    return code;
}

static void tell_user(const struct running *r)
{
    if (r->user.is_root)
        log_line(LOG_WARN,
                 "runs on as root, without capabilities and with few system "
                 "calls: there is no user " SANDBOX_USER
                 ", and agent names no other (user = …)");
}

static int run(const struct cli_options *o, char *const *args)
{
    struct running r = {.o = o};
    struct config *cfg;
    struct err e;
    int code;

    mem_live_long();
    if (args[0] != NULL)
        return cli_fail(CLI_USAGE, "run takes no argument; found \"%s\"",
                        args[0]);
    cfg = cli_config(o);
    if (cfg == NULL)
        return CLI_USAGE;
    if (sandbox_user_find(cfg->user, &r.user, &e) != 0 ||
        (r.helper = helper_start(cfg, &e)) == NULL) {
        config_free(cfg);
        return fail(CLI_DONE, &e);
    }
    tell_user(&r);
    config_take_doer(cfg, helper_doer(r.helper, HELPER_FIRST));
    /* Each line is read as it comes, by journald or a pipe. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    code = serve(&r, cfg);
    helper_free(r.helper);
    return code;
}

const struct cli_command cli_run = {
    "run",
    "",
    "the same continuously, as a service",
    "Probes at the pace of the specs, decides at once, writes after the\n"
    "zone's debounce and verifies, until SIGTERM or SIGINT. Specs are read\n"
    "again when the zone's serial changes or their TTL is over; SIGHUP reads\n"
    "the configuration and all specs at once. Holds the lock: once and cron\n"
    "exit 75 beside it. Started as root it becomes the user of the\n"
    "configuration; a helper process keeps the rights for zone files and\n"
    "commands.",
    "cvJhV",
    run};
