#include "specs/check.h"

#include <string.h>

#include "specs/scope.h"

#define ACCEPTED                                                                 \
    "a TCP port from 1 to 65535 (443 or \"443\"), a shorthand "                  \
    "(\"tcp:443\", \"tcp:443@192.0.2.1\", \"https:443/path\", \"icmp\" …), a " \
    "URL (https://www.example.org/path), a check object, a check's name"
#define PATH_MAX_BYTES 2000u
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

const struct spec_check_form spec_check_forms[SPEC_CHECK_NKINDS] = {
    [SPEC_CHECK_TCP] = {"tcp", "tcp:443", 0, true, false, SPEC_REST_NONE, 2000},
    [SPEC_CHECK_TLS] = {"tls", "tls:443", 0, true, true, SPEC_REST_NONE, 5000},
    [SPEC_CHECK_HTTP] = {"http", "http:8080/path", 80, true, false,
                         SPEC_REST_PATH, 5000},
    [SPEC_CHECK_HTTPS] = {"https", "https:443/path", 443, true, true,
                          SPEC_REST_PATH, 5000},
    [SPEC_CHECK_ICMP] = {"icmp", "icmp", 0, false, false, SPEC_REST_NONE, 2000},
    [SPEC_CHECK_UDP] = {"udp", "udp:53", 0, true, false, SPEC_REST_NONE, 5000},
    [SPEC_CHECK_DNS] = {"dns", "dns:53/name/TYPE", 53, true, false,
                        SPEC_REST_QUERY, 5000},
    [SPEC_CHECK_SMTP] = {"smtp", "smtp:25", 25, true, false, SPEC_REST_NONE,
                         5000},
    [SPEC_CHECK_IMAP] = {"imap", "imap:143", 143, true, false, SPEC_REST_NONE,
                         5000},
    [SPEC_CHECK_POP3] = {"pop3", "pop3:110", 110, true, false, SPEC_REST_NONE,
                         5000},
    [SPEC_CHECK_FTP] = {"ftp", "ftp:21", 21, true, false, SPEC_REST_NONE, 5000},
    [SPEC_CHECK_LDAP] = {"ldap", "ldap:389", 389, true, false, SPEC_REST_NONE,
                         5000},
    [SPEC_CHECK_SMTPS] = {"smtps", "smtps:465", 465, true, true, SPEC_REST_NONE,
                          5000},
    [SPEC_CHECK_IMAPS] = {"imaps", "imaps:993", 993, true, true, SPEC_REST_NONE,
                          5000},
    [SPEC_CHECK_POP3S] = {"pop3s", "pop3s:995", 995, true, true, SPEC_REST_NONE,
                          5000},
    [SPEC_CHECK_FTPS] = {"ftps", "ftps:990", 990, true, true, SPEC_REST_NONE,
                         5000},
    [SPEC_CHECK_LDAPS] = {"ldaps", "ldaps:636", 636, true, true, SPEC_REST_NONE,
                          5000},
    [SPEC_CHECK_GRPC] = {"grpc", "grpc:50051/service", 0, true, false,
                         SPEC_REST_SERVICE, 5000},
    [SPEC_CHECK_COMMAND] = {"command", "command:name", 0, false, false,
                            SPEC_REST_COMMAND, 5000},
};

int spec_check_kind_of(const char *text)
{
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++) {
        const char *name = spec_check_forms[k].name;
        size_t n = 0;

        while (name[n] != '\0' && name[n] == text[n])
            n++;
        if (name[n] == '\0' &&
            (text[n] == '\0' || text[n] == ':' || text[n] == '@'))
            return k;
    }
    return -1;
}

int spec_check_host(struct spec_reader *r, const char *text, const char **out)
{
    char name[NAME_SIZE];
    struct addr a;
    size_t n;

    /* An address is a host of a URL only by mistake: it is never what is
     * connected to. */
    if (name_canon(text, name, NULL) != 0 || name[0] == '*' || name[0] == '.' ||
        addr_parse(text, &a) == 0)
        return -1;
    n = strlen(name);
    *out = arena_strndup(r->arena, name, n - 1);
    return 0;
}

/* source: RFC 3986 3.3, 3.4 */
static int read_path(struct spec_reader *r, const char *text, const char **out)
{
    size_t n = strlen(text);

    if (n > PATH_MAX_BYTES ||
        strspn(text, LETTERS DIGITS "/?-._~%!$&'()*+,;=:@") != n)
        return -1;
    for (const char *p = strchr(text, '%'); p != NULL; p = strchr(p + 1, '%'))
        if (strspn(p + 1, DIGITS "ABCDEFabcdef") < 2)
            return -1;
    *out = text[0] == '/' ? arena_strdup(r->arena, text)
                          : arena_printf(r->arena, "/%s", text);
    return 0;
}

/* "/name/TYPE" */
static int read_query(struct spec_reader *r, const char *text,
                      struct spec_check *c)
{
    static const char *const types[] = {
        "A",  "AAAA", "CAA", "CNAME", "DNSKEY", "DS",   "HTTPS", "MX", "NAPTR",
        "NS", "PTR",  "SOA", "SRV",   "SSHFP",  "SVCB", "TLSA",  "TXT"};
    const char *slash = strrchr(text, '/');
    char name[NAME_SIZE], raw[NAME_SIZE + 2];
    size_t n;

    if (text[0] != '/' || slash == text)
        return -1;
    n = (size_t)(slash - text) - 1;
    if (n == 0 || n >= sizeof raw)
        return -1;
    memcpy(raw, text + 1, n);
    raw[n] = '\0';
    if (name_canon(raw, name, NULL) != 0)
        return -1;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i], slash + 1) == 0) {
            spec_check_dialog(r, c)->dns_name = arena_strdup(r->arena, name);
            c->dialog->dns_type = types[i];
            return 0;
        }
    }
    return -1;
}

struct spec_dialog *spec_check_dialog(struct spec_reader *r,
                                      struct spec_check *c)
{
    if (c->dialog == NULL)
        c->dialog = arena_alloc(r->arena, sizeof *c->dialog);
    return c->dialog;
}

int spec_check_rest(struct spec_reader *r, const char *text,
                    struct spec_check *c)
{
    switch (spec_check_forms[c->kind].rest) {
    case SPEC_REST_PATH:
        return text[0] == '/'
                   ? read_path(r, text, &spec_check_dialog(r, c)->path)
                   : -1;
    case SPEC_REST_QUERY:
        return read_query(r, text, c);
    case SPEC_REST_SERVICE:
        if (text[0] != '/' ||
            strspn(text + 1, LETTERS DIGITS "._-/") != strlen(text + 1) ||
            strlen(text) > 256)
            return -1;
        spec_check_dialog(r, c)->service = arena_strdup(r->arena, text + 1);
        return 0;
    default:
        return -1;
    }
}

/* The address behind the last "@", if there is one.
 * out: *len — of what stands before it */
static void split_target(const char *text, struct spec_check *c, size_t *len)
{
    const char *at = strrchr(text, '@');
    struct addr a;

    *len = strlen(text);
    if (at == NULL || addr_parse(at + 1, &a) != 0)
        return;
    c->target = a;
    *len = (size_t)(at - text);
}

static int form_error(struct spec_reader *r, const struct spec_value *v,
                      enum spec_check_kind k)
{
    if (k == SPEC_CHECK_TCP)
        return spec_member_error(r, v, ACCEPTED);
    return spec_member_error(
        r, v,
        "\"%s\", with \"@192.0.2.1\" behind it when "
        "another address than the record's is asked%s",
        spec_check_forms[k].example,
        k == SPEC_CHECK_HTTP || k == SPEC_CHECK_HTTPS ? ", or a URL" : "");
}

/* https://host[:port][/path] behind "://". */
static int read_url(struct spec_reader *r, const struct spec_value *v,
                    const char *text, struct spec_check *c)
{
    size_t n = strcspn(text, "/?#"), host = strcspn(text, ":/?#");
    char name[NAME_SIZE + 2], digits[8];
    int64_t port = spec_check_forms[c->kind].port;

    if (host >= sizeof name)
        return form_error(r, v, c->kind);
    memcpy(name, text, host);
    name[host] = '\0';
    if (spec_check_host(r, name, &spec_check_dialog(r, c)->host) != 0)
        return spec_member_error(
            r, v,
            "a URL with a host name; it gives Host, SNI and port, never the "
            "address that is connected to (\"%s:%u/path@192.0.2.1\" asks "
            "another address than the record's)",
            spec_check_forms[c->kind].name,
            (unsigned)spec_check_forms[c->kind].port);
    if (text[host] == ':') {
        size_t len = n - host - 1;

        if (len >= sizeof digits)
            return form_error(r, v, c->kind);
        memcpy(digits, text + host + 1, len);
        digits[len] = '\0';
        if (spec_member_digits(digits, 1, 65535, &port) != 0)
            return form_error(r, v, c->kind);
    }
    c->port = (uint16_t)port;
    if (text[n] != '\0' && read_path(r, text + n, &c->dialog->path) != 0)
        return form_error(r, v, c->kind);
    return 0;
}

static int read_command(struct spec_reader *r, const struct spec_value *v,
                        const char *name, struct spec_check *c)
{
    const struct spec_context *ctx = r->ctx;

    if (!spec_scope_is_name(name))
        return form_error(r, v, c->kind);
    spec_check_dialog(r, c)->command = arena_strdup(r->arena, name);
    if (ctx->commands == NULL)
        return 0;
    for (size_t i = 0; i < ctx->ncommands; i++)
        if (strcmp(ctx->commands[i], name) == 0)
            return 0;
    return spec_member_fail(r, v,
                            "the command \"%s\" is not one that the agent's "
                            "file allows for this zone (command %s { zones = "
                            "… })",
                            name, name);
}

/* port[/rest] behind "kind:". */
static int read_port(struct spec_reader *r, const struct spec_value *v,
                     const char *text, size_t len, struct spec_check *c)
{
    enum spec_check_rest rest = spec_check_forms[c->kind].rest;
    char digits[8];
    size_t n = strcspn(text, "/@");
    int64_t port;

    if (n > len)
        n = len;
    if (n >= sizeof digits)
        return form_error(r, v, c->kind);
    memcpy(digits, text, n);
    digits[n] = '\0';
    if (spec_member_digits(digits, 1, 65535, &port) != 0)
        return form_error(r, v, c->kind);
    c->port = (uint16_t)port;
    if (n == len)
        return rest == SPEC_REST_QUERY ? form_error(r, v, c->kind) : 0;
    if (spec_check_rest(r, arena_strndup(r->arena, text + n, len - n), c) != 0)
        return form_error(r, v, c->kind);
    return 0;
}

int spec_check_shorthand(struct spec_reader *r, const struct spec_value *v,
                         const char *text, struct spec_check *c)
{
    const struct spec_check_form *f;
    size_t name, len;
    int64_t port;
    int k;

    if (spec_member_digits(text, 1, 65535, &port) == 0) {
        c->kind = SPEC_CHECK_TCP;
        c->port = (uint16_t)port;
        return 0;
    }
    k = spec_check_kind_of(text);
    if (k < 0)
        return spec_member_error(r, v, ACCEPTED);
    c->kind = (enum spec_check_kind)k;
    f = &spec_check_forms[k];
    name = strlen(f->name);
    if (f->rest == SPEC_REST_PATH && strncmp(text + name, "://", 3) == 0)
        return read_url(r, v, text + name + 3, c);
    split_target(text, c, &len);
    if (c->kind == SPEC_CHECK_ICMP)
        return len == name ? 0 : form_error(r, v, c->kind);
    if (text[name] != ':' || len <= name + 1)
        return form_error(r, v, c->kind);
    if (f->rest == SPEC_REST_COMMAND)
        return read_command(
            r, v, arena_strndup(r->arena, text + name + 1, len - name - 1), c);
    return read_port(r, v, text + name + 1, len - name - 1, c);
}

void spec_check_fill(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_basis *b, struct spec_check *c)
{
    static const struct spec_range found = {200, 399};
    const struct spec_check_form *f = &spec_check_forms[c->kind];
    bool http = f->rest == SPEC_REST_PATH;
    struct spec_dialog *d;
    char ptr[SPEC_POINTER_SIZE];

    c->timeout_ms = b->v[SPEC_DEFAULT_TIMEOUT] > 0 ? b->v[SPEC_DEFAULT_TIMEOUT]
                                                   : f->timeout_ms;
    c->access_period_ms = b->v[SPEC_DEFAULT_ACCESS];
    c->retry_period_ms = b->v[SPEC_DEFAULT_RETRY];
    c->required_success = (uint32_t)b->v[SPEC_DEFAULT_SUCCESS];
    c->required_failure = (uint32_t)b->v[SPEC_DEFAULT_FAILURE];
    c->repeat_timeout = b->rows;
    c->vantage_need = r->vantage_need;
    c->verify = f->tls;
    c->pointer = arena_strdup(r->arena, spec_value_pointer(v, ptr));
    if (!http)
        return;
    d = spec_check_dialog(r, c);
    d->method = "GET";
    if (d->path == NULL)
        d->path = "/";
    d->status = &found;
    d->nstatus = 1;
}

int spec_check_define(struct spec_reader *r, const struct spec_value *v,
                      const char *text, const struct spec_basis *b,
                      struct spec_check *c)
{
    memset(c, 0, sizeof *c);
    if (v->type == SPEC_VALUE_OBJECT)
        return spec_check_object(r, v, b, c);
    if (!spec_value_is_scalar(v))
        return spec_member_error(r, v, ACCEPTED);
    if (spec_check_shorthand(r, v, text != NULL ? text : v->text, c) != 0)
        return -1;
    spec_check_fill(r, v, b, c);
    return 0;
}

int spec_check_read_one(struct spec_reader *r, const struct spec_value *v,
                        const char *text, const struct spec_basis *b,
                        size_t *id)
{
    enum spec_named_kind kind;
    struct spec_check c;

    if (text == NULL)
        text = v->text;
    if ((v->type == SPEC_VALUE_STRING || v->type == SPEC_VALUE_TOKEN) &&
        spec_scope_is_name(text) && spec_check_kind_of(text) < 0)
        return spec_scope_find(r, v, text, 1u << SPEC_NAMED_CHECK, &kind, id);
    if (spec_check_define(r, v, text, b, &c) != 0)
        return -1;
    *id = spec_scope_add_check(r, &c);
    return 0;
}

static bool known(const struct spec_reader *r, const size_t *ids, size_t n,
                  size_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id || spec_check_equal(spec_scope_check(r, ids[i]),
                                             spec_scope_check(r, id)))
            return true;
    return false;
}

int spec_check_read(struct spec_reader *r, const struct spec_value *v,
                    const struct spec_basis *b, const size_t **ids, size_t *n)
{
    bool list = v->type == SPEC_VALUE_ARRAY;
    const struct spec_value *k = list ? v->child : v;
    size_t *out, used = 0;

    if (list && v->n == 0)
        return spec_member_fail(r, v,
                                "found an empty list; accepted: " ACCEPTED
                                ", or a list of these; without `check` a "
                                "record is always healthy");
    if (list && v->n > SPEC_LIST_MAX)
        return spec_member_fail(r, v, "found %zu checks; accepted: at most %u",
                                v->n, SPEC_LIST_MAX);
    out = arena_array(r->arena, list ? v->n : 1, sizeof *out);
    for (; k != NULL; k = list ? k->next : NULL) {
        if (spec_check_read_one(r, k, NULL, b, &out[used]) != 0)
            return -1;
        if (!known(r, out, used, out[used]))
            used++;
    }
    for (size_t i = 0; i < used; i++)
        spec_scope_note(r, SPEC_NAMED_CHECK, &out[i]);
    *ids = out;
    *n = used;
    return 0;
}
