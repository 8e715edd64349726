#include "specs/check.h"

#include <string.h>

#include "specs/object.h"
#include "specs/scope.h"

#define BIT(k) SPEC_CHECK_BIT(SPEC_CHECK_##k)
#define WEB (BIT(HTTP) | BIT(HTTPS))
#define STREAM (BIT(TCP) | BIT(TLS) | BIT(UDP))
#define SECURE                                                                 \
    (BIT(TLS) | BIT(HTTPS) | BIT(SMTPS) | BIT(IMAPS) | BIT(POP3S) |            \
     BIT(FTPS) | BIT(LDAPS))
#define GREETING                                                               \
    (BIT(SMTP) | BIT(IMAP) | BIT(POP3) | BIT(FTP) | BIT(SMTPS) | BIT(IMAPS) |  \
     BIT(POP3S) | BIT(FTPS))
#define PORTED                                                                 \
    (SPEC_CHECK_BIT(SPEC_CHECK_NKINDS) - 1 - BIT(ICMP) - BIT(COMMAND))

static const char *const methods[] = {"GET", "HEAD",  "OPTIONS", "POST",
                                      "PUT", "PATCH", "DELETE",  NULL};
#define METHOD_ACTIVE 2 /* those from here on need allow-active */

enum {
    C_TYPE,
    C_PORT,
    C_TARGET,
    C_TARGETS,
    C_NEED,
    C_PATH,
    C_HOST,
    C_SERVER_NAME,
    C_VERIFY,
    C_METHOD,
    C_HEADERS,
    C_STATUS,
    C_BODY,
    C_BODY_MATCH,
    C_JSON,
    C_SEND,
    C_EXPECT,
    C_MIN_CERT_DAYS,
    C_REDIRECTS,
    C_TIMEOUT,
    C_ACCESS,
    C_RETRY,
    C_SUCCESS,
    C_FAILURE,
    C_VANTAGE,
    C_N
};

/* clang-format off */
static const struct spec_member members[C_N] = {
    [C_TYPE] = {.name = "type", .kind = SPEC_MEMBER_KIND, .dflt = "tcp",
        .help = "the kind of check, or a whole shorthand or URL"},
    [C_PORT] = {.name = "port", .kind = SPEC_MEMBER_COUNT, .min = 1,
        .max = 65535, .kinds = PORTED, .dflt = "the protocol's own",
        .help = "the port that is asked"},
    [C_TARGET] = {.name = "target", .kind = SPEC_MEMBER_ADDRESS,
        .dflt = "the record's address",
        .help = "the address that is asked"},
    [C_TARGETS] = {.name = "targets", .kind = SPEC_MEMBER_TARGETS,
        .help = "several addresses, each with or without a port of its own"},
    [C_NEED] = {.name = "need", .kind = SPEC_MEMBER_COUNT, .min = 1,
        .max = SPEC_LIST_MAX, .dflt = "1",
        .help = "how many of the targets must pass"},
    [C_PATH] = {.name = "path", .kind = SPEC_MEMBER_STRING,
        .kinds = WEB | BIT(DNS) | BIT(GRPC), .dflt = "/",
        .help = "what is asked for: /path, of dns /name/TYPE, of grpc "
                "/service"},
    [C_HOST] = {.name = "host", .kind = SPEC_MEMBER_STRING, .kinds = WEB,
        .dflt = "the set's name", .help = "the Host header's name"},
    [C_SERVER_NAME] = {.name = "serverName", .kind = SPEC_MEMBER_STRING,
        .kinds = SECURE, .dflt = "host, or the set's name",
        .help = "the name for SNI and verification"},
    [C_VERIFY] = {.name = "verify", .kind = SPEC_MEMBER_BOOL, .kinds = SECURE,
        .dflt = "true", .help = "whether the certificate is verified"},
    [C_METHOD] = {.name = "method", .kind = SPEC_MEMBER_CHOICE, .kinds = WEB,
        .choices = methods, .dflt = "GET",
        .help = "the request's method; beyond GET and HEAD with allow-active "
                "only"},
    [C_HEADERS] = {.name = "headers", .kind = SPEC_MEMBER_PAIRS, .kinds = WEB,
        .quoted = true, .help = "request headers by name; those with "
                "credentials with allow-active only"},
    [C_STATUS] = {.name = "status", .kind = SPEC_MEMBER_STATUS, .kinds = WEB,
        .dflt = "200-399", .help = "the status codes that pass"},
    [C_BODY] = {.name = "body", .kind = SPEC_MEMBER_STRING, .kinds = WEB,
        .quoted = true, .help = "a text that the answer must contain"},
    [C_BODY_MATCH] = {.name = "bodyMatch", .kind = SPEC_MEMBER_STRING,
        .kinds = WEB, .quoted = true,
        .help = "a regular expression that the answer must match"},
    [C_JSON] = {.name = "json", .kind = SPEC_MEMBER_PAIRS, .kinds = WEB,
        .quoted = true,
        .help = "JSON pointers into the answer, and the value each must have"},
    [C_SEND] = {.name = "send", .kind = SPEC_MEMBER_STRING, .kinds = STREAM,
        .quoted = true, .help = "what is sent; with allow-active only"},
    [C_EXPECT] = {.name = "expect", .kind = SPEC_MEMBER_STRING,
        .kinds = STREAM | GREETING, .quoted = true,
        .help = "a text that the answer must contain"},
    [C_MIN_CERT_DAYS] = {.name = "minCertDays", .kind = SPEC_MEMBER_COUNT,
        .min = 0, .max = 3650, .kinds = SECURE, .dflt = "0",
        .help = "days for which the certificate must still be valid"},
    [C_REDIRECTS] = {.name = "followRedirects", .kind = SPEC_MEMBER_COUNT,
        .min = 0, .max = 10, .kinds = WEB, .dflt = "0",
        .help = "redirects that are followed"},
    [C_TIMEOUT] = {.name = "timeout", SPEC_TIMEOUT_LIMITS,
        .dflt = "2s (tcp, icmp) or 5s", .help = "of one probe"},
    [C_ACCESS] = {.name = "accessPeriod", SPEC_ACCESS_LIMITS, .dflt = "10s",
        .help = "from probe to probe"},
    [C_RETRY] = {.name = "retryPeriod", SPEC_RETRY_LIMITS, .dflt = "1s",
        .help = "from probe to probe while results differ from the confirmed "
                "state"},
    [C_SUCCESS] = {.name = "requiredSuccess", SPEC_COUNT_LIMITS, .dflt = "3",
        .help = "good results in a row that make it up"},
    [C_FAILURE] = {.name = "requiredFailure", SPEC_COUNT_LIMITS, .dflt = "3",
        .help = "bad results in a row that make it down"},
    [C_VANTAGE] = {.name = "vantage", .kind = SPEC_MEMBER_OBJECT,
        .table = &spec_object_vantage,
        .help = "how many agents must agree"},
};
/* clang-format on */

const struct spec_table spec_check_members = {
    .what = "a check",
    .members = members,
    .n = C_N,
};

/* Members that the kind does not take are errors that name those that do. */
static int check_kinds(struct spec_reader *r, const struct spec_check *c,
                       const struct spec_value *const *given)
{
    for (size_t i = 0; i < C_N; i++) {
        const struct spec_member *m = &members[i];
        char kinds[160];
        size_t used = 0;

        if (given[i] == NULL || m->kinds == 0 ||
            (m->kinds & SPEC_CHECK_BIT(c->kind)) != 0)
            continue;
        for (int k = 0; k < SPEC_CHECK_NKINDS; k++) {
            const char *name = spec_check_forms[k].name;
            size_t n = strlen(name);

            if ((m->kinds & SPEC_CHECK_BIT(k)) == 0 ||
                used + n + 3 > sizeof kinds)
                continue;
            if (used > 0) {
                memcpy(kinds + used, ", ", 2);
                used += 2;
            }
            memcpy(kinds + used, name, n);
            used += n;
        }
        kinds[used] = '\0';
        return spec_member_fail(r, given[i],
                                "a check of kind %s does not take \"%s\"; "
                                "accepted in: %s",
                                spec_check_forms[c->kind].name, m->name, kinds);
    }
    return 0;
}

static int read_type(struct spec_reader *r, const struct spec_value *v,
                     struct spec_check *c)
{
    const char *text;
    int k;

    c->kind = SPEC_CHECK_TCP;
    if (v == NULL)
        return 0;
    if (spec_member_string(r, v,
                           "a kind of check (\"tcp\", \"https\" …) or a "
                           "shorthand",
                           &text) != 0)
        return -1;
    k = spec_check_kind_of(text);
    if (k < 0 || text[strlen(spec_check_forms[k].name)] != '\0' ||
        k == SPEC_CHECK_COMMAND)
        return spec_check_shorthand(r, v, text, c);
    c->kind = (enum spec_check_kind)k;
    return 0;
}

/* What the shorthand in `type` said must not be said again. */
static int check_twice(struct spec_reader *r, const struct spec_check *c,
                       const struct spec_value *const *given)
{
    const struct spec_dialog *d = spec_dialog_of(c);
    const struct {
        size_t member;
        bool said;
    } twice[] = {
        {C_PORT, c->port != 0},
        {C_TARGET, c->target.family != 0},
        {C_TARGETS, c->target.family != 0},
        {C_PATH, d->path != NULL || d->service != NULL || d->dns_name != NULL},
        {C_HOST, d->host != NULL},
    };

    for (size_t i = 0; i < sizeof twice / sizeof twice[0]; i++)
        if (given[twice[i].member] != NULL && twice[i].said)
            return spec_member_fail(r, given[twice[i].member],
                                    "\"%s\" is said by the shorthand in "
                                    "\"type\" already; accepted: one of them",
                                    members[twice[i].member].name);
    if (given[C_TARGET] != NULL && given[C_TARGETS] != NULL)
        return spec_member_fail(r, given[C_TARGETS],
                                "\"targets\" beside \"target\"; accepted: one "
                                "of them");
    if (given[C_NEED] != NULL && given[C_TARGETS] == NULL)
        return spec_member_fail(r, given[C_NEED],
                                "\"need\" without \"targets\"; accepted: n of "
                                "m targets");
    return 0;
}

static int read_port(struct spec_reader *r, const struct spec_value *object,
                     const struct spec_value *v, struct spec_check *c)
{
    const struct spec_check_form *f = &spec_check_forms[c->kind];
    int64_t port = f->port;

    if (c->port != 0 || !f->ported)
        return 0;
    if (v != NULL && spec_member_number(r, v, &members[C_PORT], &port) != 0)
        return -1;
    if (port == 0)
        return spec_member_fail(r, object,
                                "\"port\" is missing; a check of kind %s needs "
                                "it",
                                f->name);
    c->port = (uint16_t)port;
    return 0;
}

static int read_targets(struct spec_reader *r, const struct spec_value *v,
                        const struct spec_value *need, struct spec_check *c)
{
    struct addr *list;
    size_t n = 0;
    int64_t count = 1;

    if (v->type != SPEC_VALUE_ARRAY || v->n == 0 || v->n > SPEC_LIST_MAX)
        return spec_member_error(r, v, "a list of 1 to %u addresses",
                                 SPEC_LIST_MAX);
    list = arena_array(r->arena, v->n, sizeof *list);
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (!spec_value_is_scalar(k) ||
            addr_parse_port(k->text, c->port, &list[n], NULL) != 0 ||
            (c->port == 0 && list[n].port != 0))
            return spec_member_error(r, k,
                                     c->port == 0
                                         ? "an address without port: 192.0.2.1"
                                         : "192.0.2.1, 192.0.2.1:443, "
                                           "2001:db8::1 or [2001:db8::1]:443");
        n++;
    }
    if (need != NULL &&
        spec_member_number(r, need, &members[C_NEED], &count) != 0)
        return -1;
    if (count > (int64_t)n)
        return spec_member_error(r, need, "at most the number of targets, %zu",
                                 n);
    c->targets = list;
    c->ntargets = (uint32_t)n;
    c->need = (uint32_t)count;
    return 0;
}

static int read_where(struct spec_reader *r, const struct spec_value *object,
                      const struct spec_value *const *given,
                      struct spec_check *c)
{
    const struct spec_value *v = given[C_TARGET], *path = given[C_PATH];
    const char *text;

    if (read_port(r, object, given[C_PORT], c) != 0)
        return -1;
    if (v != NULL &&
        (!spec_value_is_scalar(v) || addr_parse(v->text, &c->target) != 0))
        return spec_member_error(r, v,
                                 "an address without port: 192.0.2.1 or "
                                 "2001:db8::1");
    if (given[C_TARGETS] != NULL &&
        read_targets(r, given[C_TARGETS], given[C_NEED], c) != 0)
        return -1;
    if (path != NULL) {
        if (spec_member_string(r, path, "a path: \"/healthz\"", &text) != 0)
            return -1;
        if (spec_check_rest(r, text, c) != 0)
            return spec_member_error(
                r, path,
                c->kind == SPEC_CHECK_DNS    ? "\"/name/TYPE\", as "
                                               "\"/www.example.org/A\""
                : c->kind == SPEC_CHECK_GRPC ? "\"/service\""
                                             : "a path that begins with \"/\", "
                                               "other characters as %%XX");
    } else if (c->kind == SPEC_CHECK_DNS &&
               spec_dialog_of(c)->dns_name == NULL) {
        return spec_member_fail(r, object,
                                "\"path\" is missing; a check of kind dns "
                                "needs it: \"/name/TYPE\"");
    }
    return 0;
}

static int read_host(struct spec_reader *r, const struct spec_value *v,
                     const char **out)
{
    if (v == NULL)
        return 0;
    if (!spec_value_is_scalar(v) || spec_check_host(r, v->text, out) != 0)
        return spec_member_error(r, v, "a host name: \"www.example.org\"");
    return 0;
}

static int read_counts(struct spec_reader *r,
                       const struct spec_value *const *given,
                       struct spec_check *c)
{
    struct spec_dialog *d = spec_check_dialog(r, c);
    const struct {
        size_t member;
        uint32_t *count;
        int64_t *ms;
    } numbers[] = {
        {C_MIN_CERT_DAYS, &d->min_cert_days, NULL},
        {C_REDIRECTS, &d->follow_redirects, NULL},
        {C_TIMEOUT, NULL, &c->timeout_ms},
        {C_ACCESS, NULL, &c->access_period_ms},
        {C_RETRY, NULL, &c->retry_period_ms},
        {C_SUCCESS, &c->required_success, NULL},
        {C_FAILURE, &c->required_failure, NULL},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        size_t m = numbers[i].member;
        int64_t n;

        if (given[m] == NULL)
            continue;
        if (spec_member_number(r, given[m], &members[m], &n) != 0)
            return -1;
        if ((m == C_ACCESS || m == C_RETRY) &&
            spec_member_period(r, given[m], n) != 0)
            return -1;
        if (numbers[i].ms != NULL)
            *numbers[i].ms = n;
        else
            *numbers[i].count = (uint32_t)n;
    }
    return spec_object_read_vantage(r, given[C_VANTAGE], &c->vantage_need);
}

static int read_answer(struct spec_reader *r,
                       const struct spec_value *const *given,
                       struct spec_check *c)
{
    struct spec_dialog *d = spec_check_dialog(r, c);
    const struct {
        size_t member;
        const char **text;
    } texts[] = {{C_BODY, &d->body},
                 {C_BODY_MATCH, &d->body_match},
                 {C_SEND, &d->send},
                 {C_EXPECT, &d->expect}};
    const struct spec_value *method = given[C_METHOD];
    int64_t n;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (given[texts[i].member] != NULL &&
            spec_member_string(r, given[texts[i].member],
                               "a string that is not empty",
                               texts[i].text) != 0)
            return -1;
    if (d->send != NULL && !r->ctx->allow_active)
        return spec_check_active(r, given[C_SEND], "sending a payload");
    if (method != NULL) {
        if (spec_member_number(r, method, &members[C_METHOD], &n) != 0)
            return -1;
        if (n >= METHOD_ACTIVE && !r->ctx->allow_active)
            return spec_check_active(r, method,
                                     "a method other than GET and HEAD");
        d->method = methods[n];
    }
    if (spec_check_status(r, given[C_STATUS], c) != 0 ||
        spec_check_headers(r, given[C_HEADERS], c) != 0)
        return -1;
    return spec_check_json(r, given[C_JSON], c);
}

int spec_check_object(struct spec_reader *r, const struct spec_value *v,
                      const struct spec_basis *b, struct spec_check *c)
{
    const struct spec_value *given[C_N];
    struct spec_dialog *d;

    if (spec_member_collect(r, v, &spec_check_members, given) != 0 ||
        read_type(r, given[C_TYPE], c) != 0 || check_kinds(r, c, given) != 0 ||
        check_twice(r, c, given) != 0 || read_where(r, v, given, c) != 0)
        return -1;
    spec_check_fill(r, v, b, c);
    d = spec_check_dialog(r, c);
    if (read_host(r, given[C_HOST], &d->host) != 0 ||
        read_host(r, given[C_SERVER_NAME], &d->server_name) != 0 ||
        (given[C_VERIFY] != NULL &&
         spec_member_bool(r, given[C_VERIFY], &c->verify) != 0) ||
        read_counts(r, given, c) != 0)
        return -1;
    return read_answer(r, given, c);
}
