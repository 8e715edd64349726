#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/probes/probe.h"

const struct probe_ops *const probe_kinds[PROBE_NKINDS] = {
    [PROBE_TCP] = &probe_tcp,
};

const char *probe_kind_name(enum probe_kind k)
{
    return probe_kinds[k]->name;
}

int64_t probe_timeout_ms(const struct probe_spec *p)
{
    return p->timeout_ms > 0 ? p->timeout_ms
                             : probe_kinds[p->kind]->default_timeout_ms;
}

const char *probe_reason_name(enum probe_reason r)
{
    static const char *const names[] = {
        [PROBE_FINE] = "fine",       [PROBE_ROUTE] = "route",
        [PROBE_CONNECT] = "connect", [PROBE_TIMEOUT] = "timeout",
        [PROBE_NO_FD] = "no-fd",     [PROBE_NO_NET] = "no-net",
        [PROBE_LATE] = "late",
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

const char *probe_describe(const struct probe_spec *p,
                           const struct probe_result *r, char out[128])
{
    char what[32], t[32];

    (void)snprintf(what, sizeof what, "%s:%u", probe_kind_name(p->kind),
                   p->target.port);
    switch (r->reason) {
    case PROBE_FINE:
        (void)snprintf(out, 128, "%s ok", what);
        break;
    case PROBE_TIMEOUT:
        (void)snprintf(out, 128, "%s timeout after %s", what,
                       duration_format(probe_timeout_ms(p), t));
        break;
    case PROBE_ROUTE:
    case PROBE_CONNECT:
        (void)snprintf(out, 128, "%s %.80s", what, error_text(r->sys_errno));
        break;
    case PROBE_NO_FD:
        (void)snprintf(out, 128, "%s not probed: out of descriptors (%.60s)",
                       what, error_text(r->sys_errno));
        break;
    case PROBE_NO_NET:
        (void)snprintf(out, 128, "%s not probed: %s (%.40s)", what,
                       r->sys_errno == EPERM || r->sys_errno == EACCES
                           ? "forbidden on this machine"
                           : "no way out of this machine",
                       error_text(r->sys_errno));
        break;
    case PROBE_LATE:
        (void)snprintf(out, 128, "%s not judged: the agent itself was late",
                       what);
        break;
    }
    return out;
}
