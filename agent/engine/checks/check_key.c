#include "agent/engine/checks/check_key.h"

#include <inttypes.h>

#include "agent/engine/state/state_key.h"
#include "specs/check.h"

static void add_text(struct buf *b, const char *name, const char *value)
{
    if (value != NULL)
        buf_printf(b, " %s=%s", name, value);
}

static void add_number(struct buf *b, const char *name, int64_t value)
{
    if (value != 0)
        buf_printf(b, " %s=%" PRId64, name, value);
}

static void add_parameters(struct buf *b, const struct spec_check *c)
{
    const struct spec_dialog *d = spec_dialog_of(c);

    add_text(b, "path", d->path);
    add_text(b, "host", d->host);
    add_text(b, "serverName", d->server_name);
    add_text(b, "method", d->method);
    add_number(b, "unverified", spec_check_forms[c->kind].tls && !c->verify);
    for (size_t i = 0; i < d->nheaders; i++)
        add_text(b, d->headers[i].name, d->headers[i].value);
    for (size_t i = 0; i < d->nstatus; i++)
        buf_printf(b, " status=%" PRId64 "-%" PRId64, d->status[i].from,
                   d->status[i].to);
    add_text(b, "body", d->body);
    add_text(b, "bodyMatch", d->body_match);
    for (size_t i = 0; i < d->njson; i++)
        add_text(b, d->json[i].name, d->json[i].value);
    add_text(b, "send", d->send);
    add_text(b, "expect", d->expect);
    add_text(b, "name", d->dns_name);
    add_text(b, "type", d->dns_type);
    add_text(b, "service", d->service);
    add_text(b, "command", d->command);
    add_number(b, "minCertDays", d->min_cert_days);
    add_number(b, "followRedirects", d->follow_redirects);
}

static void add_targets(struct buf *b, const struct check *k)
{
    const struct addr *targets = checks_targets(k);
    char text[ADDR_TEXT_SIZE];

    if (checks_host(k) != NULL)
        buf_printf(b, " %s:%u", checks_host(k), k->spec->port);
    for (size_t i = 0; i < k->ntargets; i++)
        buf_printf(b, " %s", addr_format_port(&targets[i], text));
    if (k->ntargets > 1)
        buf_printf(b, " need=%u", k->need);
}

void check_key_write(const struct check *k, struct buf *b)
{
    const struct spec_check *s = k->spec;

    buf_str(b, spec_check_kind_name(s->kind));
    add_targets(b, k);
    add_parameters(b, s);
    add_text(b, "for", k->name);
    state_key_add_timeout(b, s->timeout_ms, s->repeat_timeout);
    state_key_add_thresholds(b, s->required_success, s->required_failure);
}
