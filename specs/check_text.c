#include "specs/check.h"

#include <stdio.h>
#include <string.h>

/* Checks compared, and written for people. */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_pairs(const struct spec_pair *a, size_t na,
                       const struct spec_pair *b, size_t nb)
{
    if (na != nb)
        return false;
    for (size_t i = 0; i < na; i++)
        if (strcmp(a[i].name, b[i].name) != 0 ||
            strcmp(a[i].value, b[i].value) != 0)
            return false;
    return true;
}

static bool same_place(const struct spec_check *a, const struct spec_check *b)
{
    if (a->kind != b->kind || a->port != b->port ||
        !addr_equal(&a->target, &b->target) || a->ntargets != b->ntargets ||
        a->need != b->need)
        return false;
    for (size_t i = 0; i < a->ntargets; i++)
        if (!addr_equal(&a->targets[i], &b->targets[i]) ||
            a->targets[i].port != b->targets[i].port)
            return false;
    return true;
}

static bool same_question(const struct spec_dialog *a,
                          const struct spec_dialog *b)
{
    return same_text(a->path, b->path) && same_text(a->host, b->host) &&
           same_text(a->server_name, b->server_name) &&
           same_text(a->method, b->method) &&
           same_pairs(a->headers, a->nheaders, b->headers, b->nheaders) &&
           same_text(a->send, b->send) && same_text(a->dns_name, b->dns_name) &&
           same_text(a->dns_type, b->dns_type) &&
           same_text(a->service, b->service) &&
           same_text(a->command, b->command) &&
           a->follow_redirects == b->follow_redirects;
}

static bool same_answer(const struct spec_dialog *a,
                        const struct spec_dialog *b)
{
    if (a->nstatus != b->nstatus || !same_text(a->body, b->body) ||
        !same_text(a->body_match, b->body_match) ||
        !same_text(a->expect, b->expect) ||
        !same_pairs(a->json, a->njson, b->json, b->njson) ||
        a->min_cert_days != b->min_cert_days)
        return false;
    for (size_t i = 0; i < a->nstatus; i++)
        if (a->status[i].from != b->status[i].from ||
            a->status[i].to != b->status[i].to)
            return false;
    return true;
}

bool spec_check_equal(const struct spec_check *a, const struct spec_check *b)
{
    const struct spec_dialog *x = spec_dialog_of(a), *y = spec_dialog_of(b);

    return same_place(a, b) && same_question(x, y) && same_answer(x, y) &&
           a->verify == b->verify && a->timeout_ms == b->timeout_ms &&
           a->access_period_ms == b->access_period_ms &&
           a->retry_period_ms == b->retry_period_ms &&
           a->required_success == b->required_success &&
           a->required_failure == b->required_failure &&
           a->vantage_need == b->vantage_need &&
           a->repeat_timeout == b->repeat_timeout;
}

bool spec_check_wants_host(const struct spec_check *c)
{
    const struct spec_check_form *f = &spec_check_forms[c->kind];
    const struct spec_dialog *d = spec_dialog_of(c);

    if (f->rest == SPEC_REST_PATH && d->host == NULL)
        return true;
    return f->tls && d->server_name == NULL && d->host == NULL;
}

bool spec_check_is_local(const struct spec_check *c)
{
    return (c->target.family == 0 && c->ntargets == 0) ||
           spec_check_wants_host(c);
}

const char *spec_check_kind_name(enum spec_check_kind k)
{
    return (size_t)k < SPEC_CHECK_NKINDS ? spec_check_forms[k].name : "?";
}

static size_t add(char *out, size_t size, size_t used, const char *text)
{
    size_t n = strlen(text);

    if (used >= size)
        return used;
    if (n > size - used - 1)
        n = size - used - 1;
    memcpy(out + used, text, n);
    out[used + n] = '\0';
    return used + n;
}

/* "https://host[:port]/path"; returns bytes, 0: not a URL. */
static size_t add_url(const struct spec_check *c, char *out, size_t size)
{
    const struct spec_check_form *f = &spec_check_forms[c->kind];
    const struct spec_dialog *d = spec_dialog_of(c);
    char port[16] = "";
    size_t used;

    if (f->rest != SPEC_REST_PATH || d->host == NULL)
        return 0;
    if (c->port != f->port)
        (void)snprintf(port, sizeof port, ":%u", (unsigned)c->port);
    used = add(out, size, 0, f->name);
    used = add(out, size, used, "://");
    used = add(out, size, used, d->host);
    used = add(out, size, used, port);
    return add(out, size, used, d->path != NULL ? d->path : "/");
}

static size_t add_rest(const struct spec_check *c, char *out, size_t size,
                       size_t used)
{
    const struct spec_dialog *d = spec_dialog_of(c);

    switch (spec_check_forms[c->kind].rest) {
    case SPEC_REST_PATH:
        if (d->path == NULL || strcmp(d->path, "/") == 0)
            return used;
        return add(out, size, used, d->path);
    case SPEC_REST_QUERY:
        used = add(out, size, used, "/");
        used = add(out, size, used, d->dns_name);
        used = add(out, size, used, "/");
        return add(out, size, used, d->dns_type);
    case SPEC_REST_SERVICE:
        if (d->service == NULL)
            return used;
        used = add(out, size, used, "/");
        return add(out, size, used, d->service);
    case SPEC_REST_COMMAND:
        used = add(out, size, used, ":");
        return add(out, size, used, d->command);
    case SPEC_REST_NONE:
        break;
    }
    return used;
}

const char *spec_check_text(const struct spec_check *c, char *out, size_t size)
{
    char text[ADDR_TEXT_SIZE];
    size_t used;

    if (size == 0)
        return out;
    out[0] = '\0';
    used = add_url(c, out, size);
    if (used == 0) {
        used = add(out, size, 0, spec_check_kind_name(c->kind));
        if (c->port != 0) {
            (void)snprintf(text, sizeof text, ":%u", (unsigned)c->port);
            used = add(out, size, used, text);
        }
        used = add_rest(c, out, size, used);
    }
    for (size_t i = 0; i < c->ntargets; i++) {
        used = add(out, size, used, i == 0 ? "@" : ",");
        used = add(out, size, used, addr_format(&c->targets[i], text));
    }
    if (c->target.family != 0) {
        used = add(out, size, used, "@");
        (void)add(out, size, used, addr_format(&c->target, text));
    }
    return out;
}
