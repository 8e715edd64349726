#include "specs/check.h"

#include <stdlib.h>
#include <string.h>

#define ACCEPTED                                                               \
    "a TCP port from 1 to 65535 (443 or \"443\"), \"tcp:443\", "               \
    "\"tcp:443@192.0.2.1\", or a list of these"

/* The kinds of check of the language; those that are not read yet. */
static const char *const later_kinds[] = {
    "tls",   "http",  "https", "icmp",  "udp",  "dns",
    "smtp",  "imap",  "pop3",  "ftp",   "ldap", "smtps",
    "imaps", "pop3s", "ftps",  "ldaps", "grpc", "command"};

int spec_check_compare(const struct spec_check *a, const struct spec_check *b)
{
    int c = 0;

    if (a->target.family != b->target.family)
        return a->target.family < b->target.family ? -1 : 1;
    if (a->target.family != 0)
        c = addr_compare(&a->target, &b->target);
    if (c != 0)
        return c;
    return a->port < b->port ? -1 : a->port > b->port;
}

static int by_place(const void *a, const void *b)
{
    return spec_check_compare(a, b);
}

/* kind as in "kind:…" or alone. */
static bool is_kind(const char *text, const char *kind)
{
    size_t n = strlen(kind);

    return strncmp(text, kind, n) == 0 && (text[n] == ':' || text[n] == '\0');
}

/* source: spec-language 2: [A-Za-z_][A-Za-z0-9_-]{0,62} */
static bool is_name(const char *s)
{
    size_t n = strlen(s);

    if (n == 0 || n > 63 || (s[0] >= '0' && s[0] <= '9') || s[0] == '-')
        return false;
    return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                     "0123456789_-") == n;
}

/* "443" or "443@192.0.2.1" behind "tcp:". */
static int read_tcp(const char *text, struct spec_check *c)
{
    const char *at = strchr(text, '@');
    char digits[8];
    size_t n = at != NULL ? (size_t)(at - text) : strlen(text);
    int64_t port;

    if (n >= sizeof digits)
        return -1;
    memcpy(digits, text, n);
    digits[n] = '\0';
    if (spec_member_digits(digits, 1, 65535, &port) != 0)
        return -1;
    c->port = (uint16_t)port;
    return at == NULL ? 0 : addr_parse(at + 1, &c->target);
}

/* Notes a check that is of the language but not of this version. */
static bool note_later(struct spec_reader *r, const struct spec_value *v)
{
    if (v->type == SPEC_VALUE_OBJECT) {
        spec_member_later(r, v, "a check object is");
        return true;
    }
    if (v->type != SPEC_VALUE_STRING && v->type != SPEC_VALUE_TOKEN)
        return false;
    for (size_t i = 0; i < sizeof later_kinds / sizeof later_kinds[0]; i++) {
        if (is_kind(v->text, later_kinds[i])) {
            spec_member_later(r, v, "a check of kind \"%s\" is",
                              later_kinds[i]);
            return true;
        }
    }
    if (strcmp(v->text, "tcp") != 0 && is_name(v->text)) {
        spec_member_later(r, v, "a check by its name (\"%.60s\") is", v->text);
        return true;
    }
    return false;
}

/* returns 1 when the check is for later, 0, or -1 with r->e set */
static int read_one(struct spec_reader *r, const struct spec_value *v,
                    struct spec_check *c)
{
    char ptr[SPEC_POINTER_SIZE];
    int64_t port;

    memset(c, 0, sizeof *c);
    c->kind = SPEC_CHECK_TCP;
    if (note_later(r, v))
        return 1;
    if (!spec_value_is_scalar(v))
        return spec_member_error(r, v, ACCEPTED);
    if (v->type != SPEC_VALUE_NUMBER && strncmp(v->text, "tcp:", 4) == 0) {
        if (read_tcp(v->text + 4, c) != 0)
            return spec_member_error(r, v, ACCEPTED);
    } else {
        if (spec_member_digits(v->text, 1, 65535, &port) != 0)
            return spec_member_error(r, v, ACCEPTED);
        c->port = (uint16_t)port;
    }
    c->pointer = arena_strdup(r->arena, spec_value_pointer(v, ptr));
    return 0;
}

int spec_check_read(struct spec_reader *r, const struct spec_value *v,
                    struct spec_check **checks, size_t *n)
{
    bool list = v->type == SPEC_VALUE_ARRAY;
    const struct spec_value *k = list ? v->child : v;
    struct spec_check *c;
    size_t used = 0, out = 0;

    *n = 0;
    if (list && v->n == 0)
        return spec_member_fail(r, v,
                                "found an empty list; accepted: " ACCEPTED
                                "; without `check` a record is always "
                                "healthy");
    c = arena_array(r->arena, list ? v->n : 1, sizeof *c);
    for (; k != NULL; k = list ? k->next : NULL) {
        int rc = read_one(r, k, &c[used]);

        if (rc < 0)
            return -1;
        used += rc == 0;
    }
    qsort(c, used, sizeof *c, by_place);
    for (size_t i = 0; i < used; i++)
        if (out == 0 || spec_check_compare(&c[out - 1], &c[i]) != 0)
            c[out++] = c[i];
    *checks = c;
    *n = out;
    return 0;
}
