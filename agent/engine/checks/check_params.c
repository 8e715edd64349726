#include "agent/engine/checks/check_params.h"

#include <string.h>

#include "agent/base/proc.h"

/* In the order of enum spec_check_kind. */
static const enum probe_kind kinds[SPEC_CHECK_NKINDS] = {
    [SPEC_CHECK_TCP] = PROBE_TCP,         [SPEC_CHECK_TLS] = PROBE_TLS,
    [SPEC_CHECK_HTTP] = PROBE_HTTP,       [SPEC_CHECK_HTTPS] = PROBE_HTTPS,
    [SPEC_CHECK_ICMP] = PROBE_ICMP,       [SPEC_CHECK_UDP] = PROBE_UDP,
    [SPEC_CHECK_DNS] = PROBE_DNS,         [SPEC_CHECK_SMTP] = PROBE_SMTP,
    [SPEC_CHECK_IMAP] = PROBE_IMAP,       [SPEC_CHECK_POP3] = PROBE_POP3,
    [SPEC_CHECK_FTP] = PROBE_FTP,         [SPEC_CHECK_LDAP] = PROBE_LDAP,
    [SPEC_CHECK_SMTPS] = PROBE_SMTPS,     [SPEC_CHECK_IMAPS] = PROBE_IMAPS,
    [SPEC_CHECK_POP3S] = PROBE_POP3S,     [SPEC_CHECK_FTPS] = PROBE_FTPS,
    [SPEC_CHECK_LDAPS] = PROBE_LDAPS,     [SPEC_CHECK_GRPC] = PROBE_GRPC,
    [SPEC_CHECK_COMMAND] = PROBE_COMMAND,
};

enum probe_kind check_params_kind(enum spec_check_kind k)
{
    return kinds[k];
}

/* Two structs of one shape: the rooms do not know each other. */
_Static_assert(sizeof(struct probe_pair) == sizeof(struct spec_pair),
               "pairs differ");
_Static_assert(sizeof(struct probe_range) == sizeof(struct spec_range),
               "ranges differ");

static void copy_lists(struct probe_params *p, const struct spec_dialog *d)
{
    p->headers = (const struct probe_pair *)d->headers;
    p->nheaders = d->nheaders;
    p->status = (const struct probe_range *)d->status;
    p->nstatus = d->nstatus;
    p->json = (const struct probe_pair *)d->json;
    p->njson = d->njson;
}

static int find_command(struct check_params *p, const struct spec_dialog *d,
                        const struct addr *target,
                        const struct check_command *commands, size_t n,
                        struct err *e)
{
    static const char *const keys[] = {"target"};
    char text[ADDR_TEXT_SIZE];
    const char *values[] = {addr_format(target, text)};

    p->probe.command = d->command;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(commands[i].name, d->command) != 0)
            continue;
        if (proc_split(commands[i].exec, keys, values, 1, &p->argv, e) != 0)
            return err_wrap(e, "command %s", d->command);
        p->probe.argv = p->argv;
        return 0;
    }
    return err_set(e, ERR_INPUT,
                   "command %s is not defined in the agent's file for this "
                   "zone",
                   d->command);
}

int check_params_init(struct check_params *p, const struct check *c,
                      const struct addr *target,
                      const struct check_command *commands, size_t n,
                      struct err *e)
{
    const struct spec_check *s = c->spec;
    const struct spec_dialog *d = spec_dialog_of(s);

    memset(p, 0, sizeof *p);
    p->probe.host = d->host != NULL ? d->host : c->name;
    p->probe.server_name = d->server_name;
    p->probe.no_verify = !s->verify;
    p->probe.min_cert_days = d->min_cert_days;
    p->probe.path = d->path;
    p->probe.method = d->method;
    p->probe.body = d->body;
    p->probe.body_match = d->body_match;
    p->probe.follow_redirects = d->follow_redirects;
    p->probe.send = d->send;
    p->probe.expect = d->expect;
    p->probe.dns_name = d->dns_name;
    p->probe.dns_type = d->dns_type;
    p->probe.service = d->service;
    copy_lists(&p->probe, d);
    if (s->kind != SPEC_CHECK_COMMAND)
        return 0;
    return find_command(p, d, target, commands, n, e);
}

void check_params_fini(struct check_params *p)
{
    proc_argv_free(p->argv);
    p->argv = NULL;
}
