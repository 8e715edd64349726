#include "specs/check.h"

#include <string.h>

#include "agent/base/buf.h"

/* The members of a check object that only HTTP has. */

#define STATUS_MIN 100
#define STATUS_MAX 599
#define STATUS_ACCEPTED                                                        \
    "a status code from 100 to 599, a range \"200-399\", or a list of these"
#define TOKEN                                                                  \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"           \
    "!#$%&'*+-.^_`|~"

int spec_check_active(struct spec_reader *r, const struct spec_value *v,
                      const char *what)
{
    return spec_member_fail(r, v,
                            "%s is not allowed here; it needs allow-active = "
                            "yes in the zone's section of the agent's file",
                            what);
}

/* "200" or "200-399". */
static int read_range(const char *text, struct spec_range *out)
{
    const char *dash = strchr(text, '-');
    char from[8];
    size_t n = dash != NULL ? (size_t)(dash - text) : strlen(text);

    if (n >= sizeof from)
        return -1;
    memcpy(from, text, n);
    from[n] = '\0';
    if (spec_member_digits(from, STATUS_MIN, STATUS_MAX, &out->from) != 0)
        return -1;
    out->to = out->from;
    if (dash == NULL)
        return 0;
    return spec_member_digits(dash + 1, out->from, STATUS_MAX, &out->to);
}

int spec_check_status(struct spec_reader *r, const struct spec_value *v,
                      struct spec_check *c)
{
    bool list = v != NULL && v->type == SPEC_VALUE_ARRAY;
    const struct spec_value *k = list ? v->child : v;
    struct spec_range *out;
    size_t n = 0;

    if (v == NULL)
        return 0;
    if (list && (v->n == 0 || v->n > SPEC_LIST_MAX))
        return spec_member_error(r, v, STATUS_ACCEPTED);
    out = arena_array(r->arena, list ? v->n : 1, sizeof *out);
    for (; k != NULL; k = list ? k->next : NULL)
        if (!spec_value_is_scalar(k) || read_range(k->text, &out[n++]) != 0)
            return spec_member_error(r, k, STATUS_ACCEPTED);
    spec_check_dialog(r, c)->status = out;
    c->dialog->nstatus = n;
    return 0;
}

static bool same_header(const char *a, const char *b)
{
    for (;; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;

        if (x != y)
            return false;
        if (x == '\0')
            return true;
    }
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (same_header(name, *list))
            return true;
    return false;
}

static int check_header(struct spec_reader *r, const struct spec_value *v)
{
    static const char *const ours[] = {
        "Host",       "Content-Length", "Transfer-Encoding",
        "Connection", "Upgrade",        "Expect",
        "TE",         "Trailer",        NULL};
    static const char *const secret[] = {
        "Authorization",  "Proxy-Authorization",
        "Cookie",         "X-Api-Key",
        "Api-Key",        "X-Auth-Token",
        "X-Access-Token", "X-Vault-Token",
        "Private-Token",  NULL};

    if (v->name[0] == '\0' || strspn(v->name, TOKEN) != strlen(v->name))
        return spec_member_fail(r, v,
                                "not a header's name; accepted: letters, "
                                "digits and !#$%%&'*+-.^_`|~");
    if (is_one_of(v->name, ours))
        return spec_member_fail(r, v,
                                "this header is the program's own; accepted: "
                                "others (for Host the member \"host\")");
    if (!spec_value_is_scalar(v))
        return spec_member_error(r, v, "a header's value, a string");
    for (const char *p = v->text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return spec_member_error(r, v,
                                     "a header's value without control "
                                     "characters");
    if (is_one_of(v->name, secret) && !r->ctx->allow_active)
        return spec_check_active(r, v, "a header with credentials");
    return 0;
}

int spec_check_headers(struct spec_reader *r, const struct spec_value *v,
                       struct spec_check *c)
{
    struct spec_pair *out;
    size_t n = 0;

    if (v == NULL)
        return 0;
    if (v->type != SPEC_VALUE_OBJECT || v->n == 0 || v->n > SPEC_LIST_MAX)
        return spec_member_error(r, v,
                                 "an object of headers: {\"Accept\": "
                                 "\"text/html\"}");
    out = arena_array(r->arena, v->n, sizeof *out);
    for (size_t i = 0; i < v->n; i++) {
        if (check_header(r, v->sorted[i]) != 0)
            return -1;
        for (size_t k = 0; k < n; k++)
            if (same_header(out[k].name, v->sorted[i]->name))
                return spec_member_fail(r, v->sorted[i],
                                        "the same header twice; accepted: "
                                        "once (names know no case)");
        out[n].name = v->sorted[i]->name;
        out[n++].value = v->sorted[i]->text;
    }
    spec_check_dialog(r, c)->headers = out;
    c->dialog->nheaders = n;
    return 0;
}

/* source: RFC 6901 3 */
static bool is_pointer(const char *s)
{
    if (s[0] != '\0' && s[0] != '/')
        return false;
    for (; *s != '\0'; s++)
        if (*s == '~' && s[1] != '0' && s[1] != '1')
            return false;
    return true;
}

static const char *json_text(struct spec_reader *r, const struct spec_value *v)
{
    struct buf b;
    const char *out;

    if (v->type == SPEC_VALUE_TRUE)
        return "true";
    if (v->type == SPEC_VALUE_FALSE)
        return "false";
    if (v->type == SPEC_VALUE_NULL)
        return "null";
    if (v->type == SPEC_VALUE_NUMBER)
        return v->text;
    buf_init(&b, SPEC_TEXT_MAX * 7);
    spec_value_quote_json(&b, v->text);
    out = arena_strdup(r->arena, buf_get(&b));
    buf_fini(&b);
    return out;
}

int spec_check_json(struct spec_reader *r, const struct spec_value *v,
                    struct spec_check *c)
{
    struct spec_pair *out;

    if (v == NULL)
        return 0;
    if (v->type != SPEC_VALUE_OBJECT || v->n == 0 || v->n > SPEC_LIST_MAX)
        return spec_member_error(r, v,
                                 "an object of JSON pointers: {\"/status\": "
                                 "\"ok\"}");
    out = arena_array(r->arena, v->n, sizeof *out);
    for (size_t i = 0; i < v->n; i++) {
        const struct spec_value *k = v->sorted[i];

        if (!is_pointer(k->name))
            return spec_member_fail(r, k,
                                    "not a JSON pointer (RFC 6901); accepted: "
                                    "\"/status\"");
        if (k->type == SPEC_VALUE_ARRAY || k->type == SPEC_VALUE_OBJECT)
            return spec_member_error(r, k,
                                     "a string, number, true, false or null");
        out[i].name = k->name;
        out[i].value = json_text(r, k);
    }
    spec_check_dialog(r, c)->json = out;
    c->dialog->njson = v->n;
    return 0;
}
