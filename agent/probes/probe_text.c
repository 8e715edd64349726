#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/probes/kind.h"

const struct probe_ops *const probe_kinds[PROBE_NKINDS] = {
    [PROBE_TCP] = &probe_tcp,         [PROBE_TLS] = &probe_tls,
    [PROBE_HTTP] = &probe_http,       [PROBE_HTTPS] = &probe_https,
    [PROBE_ICMP] = &probe_icmp,       [PROBE_UDP] = &probe_udp,
    [PROBE_DNS] = &probe_dns,         [PROBE_SMTP] = &probe_smtp,
    [PROBE_IMAP] = &probe_imap,       [PROBE_POP3] = &probe_pop3,
    [PROBE_FTP] = &probe_ftp,         [PROBE_LDAP] = &probe_ldap,
    [PROBE_SMTPS] = &probe_smtps,     [PROBE_IMAPS] = &probe_imaps,
    [PROBE_POP3S] = &probe_pop3s,     [PROBE_FTPS] = &probe_ftps,
    [PROBE_LDAPS] = &probe_ldaps,     [PROBE_GRPC] = &probe_grpc,
    [PROBE_COMMAND] = &probe_command,
};

const char *probe_kind_name(enum probe_kind k)
{
    return probe_kinds[k]->name;
}

bool probe_kind_find(const char *name, enum probe_kind *k)
{
    for (unsigned i = 0; i < PROBE_NKINDS; i++)
        if (strcmp(probe_kinds[i]->name, name) == 0) {
            *k = (enum probe_kind)i;
            return true;
        }
    return false;
}

int64_t probe_timeout_ms(const struct probe_spec *p)
{
    return p->timeout_ms > 0 ? p->timeout_ms
                             : probe_kinds[p->kind]->default_timeout_ms;
}

const char *probe_reason_name(enum probe_reason r)
{
    static const char *const names[PROBE_NREASONS] = {
        [PROBE_FINE] = "fine",         [PROBE_ROUTE] = "route",
        [PROBE_CONNECT] = "connect",   [PROBE_TIMEOUT] = "timeout",
        [PROBE_NO_FD] = "no-fd",       [PROBE_NO_NET] = "no-net",
        [PROBE_LATE] = "late",         [PROBE_BAD_TLS] = "tls",
        [PROBE_PROTOCOL] = "protocol", [PROBE_STATUS] = "status",
        [PROBE_CONTENT] = "content",   [PROBE_FAILED] = "command",
        [PROBE_NAME] = "name",         [PROBE_CLOCK] = "clock",
        [PROBE_REFUSED] = "refused",   [PROBE_UNABLE] = "unable",
    };
    return names[r];
}

static const char *error_text(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return "refused";
    case ECONNRESET:
        return "reset";
    case EHOSTUNREACH:
        return "host unreachable";
    case ENETUNREACH:
        return "network unreachable";
    case EADDRNOTAVAIL:
        return "no source address or no free port";
    case EAFNOSUPPORT:
        return "address family not available";
    default:
        return strerror(error);
    }
}

/* "tcp:443", "icmp", "command:check_pg" */
static void name_probe(const struct probe_spec *p, char out[48])
{
    const char *kind = probe_kind_name(p->kind);

    if (p->kind == PROBE_COMMAND)
        (void)snprintf(out, 48, "%s:%.32s", kind,
                       p->params != NULL && p->params->command != NULL
                           ? p->params->command
                           : "?");
    else if (probe_kinds[p->kind]->no_port)
        (void)snprintf(out, 48, "%s", kind);
    else
        (void)snprintf(out, 48, "%s:%u", kind, p->target.port);
}

static const char *no_net_text(const struct probe_result *r, char out[64])
{
    if (r->note[0] != '\0')
        (void)snprintf(out, 64, "%s", r->note);
    else
        (void)snprintf(out, 64, "%s (%.30s)",
                       r->sys_errno == EPERM || r->sys_errno == EACCES
                           ? "forbidden on this machine"
                           : "no way out of this machine",
                       error_text(r->sys_errno));
    return out;
}

const char *probe_describe(const struct probe_spec *p,
                           const struct probe_result *r, char out[128])
{
    char what[48], t[64];
    const char *sep = r->note[0] != '\0' ? ": " : "";

    name_probe(p, what);
    switch (r->reason) {
    case PROBE_FINE:
        (void)snprintf(out, 128, "%s ok", what);
        break;
    case PROBE_TIMEOUT:
        (void)snprintf(out, 128, "%s timeout after %s%s%s%s", what,
                       duration_format(probe_timeout_ms(p), t),
                       r->note[0] != '\0' ? " (" : "", r->note,
                       r->note[0] != '\0' ? ")" : "");
        break;
    case PROBE_ROUTE:
    case PROBE_CONNECT:
        (void)snprintf(out, 128, "%s %.70s", what, error_text(r->sys_errno));
        break;
    case PROBE_NO_FD:
        (void)snprintf(out, 128, "%s not probed: out of descriptors (%.40s)",
                       what, error_text(r->sys_errno));
        break;
    case PROBE_NO_NET:
        (void)snprintf(out, 128, "%s not probed: %s", what, no_net_text(r, t));
        break;
    case PROBE_LATE:
        (void)snprintf(out, 128, "%s not judged: the agent itself was late",
                       what);
        break;
    case PROBE_CLOCK:
        (void)snprintf(out, 128, "%s not judged: clock not set; %.48s", what,
                       r->note);
        break;
    case PROBE_REFUSED:
        (void)snprintf(out, 128, "%s not probed: not allowed: %.48s", what,
                       r->note);
        break;
    case PROBE_UNABLE:
        (void)snprintf(out, 128, "%s not judged%s%.55s", what, sep, r->note);
        break;
    case PROBE_BAD_TLS:
    case PROBE_PROTOCOL:
    case PROBE_STATUS:
    case PROBE_CONTENT:
    case PROBE_FAILED:
    case PROBE_NAME:
    case PROBE_NREASONS:
        (void)snprintf(out, 128, "%s %s", what,
                       r->note[0] != '\0' ? r->note
                                          : probe_reason_name(r->reason));
        break;
    }
    return out;
}
