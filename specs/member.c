#include "specs/member.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/duration.h"

/* One line of at most this many bytes, the place not counted. */
#define TEXT_SIZE 640

static int set_error(struct spec_reader *r, const struct spec_value *v,
                     const char *text)
{
    char ptr[SPEC_POINTER_SIZE];

    (void)spec_value_pointer(v, ptr);
    return err_set(r->e, ERR_INPUT, "%s%s%s: %s", r->where,
                   ptr[0] != '\0' ? " " : "", ptr, text);
}

int spec_member_error(struct spec_reader *r, const struct spec_value *v,
                      const char *accepted, ...)
{
    char text[TEXT_SIZE], found[SPEC_QUOTE_SIZE];
    va_list ap;
    int n;

    n = snprintf(text, sizeof text,
                 "found %s; accepted: ", spec_value_quote(v, found));
    if (n < 0)
        n = 0;
    va_start(ap, accepted);
    (void)vsnprintf(text + n, sizeof text - (size_t)n, accepted, ap);
    va_end(ap);
    return set_error(r, v, text);
}

int spec_member_fail(struct spec_reader *r, const struct spec_value *v,
                     const char *text, ...)
{
    char line[TEXT_SIZE];
    va_list ap;

    va_start(ap, text);
    (void)vsnprintf(line, sizeof line, text, ap);
    va_end(ap);
    return set_error(r, v, line);
}

void spec_member_warn(struct spec_reader *r, const struct spec_value *v,
                      const char *text, ...)
{
    char line[TEXT_SIZE], ptr[SPEC_POINTER_SIZE] = "";
    struct spec_note *note;
    va_list ap;

    va_start(ap, text);
    (void)vsnprintf(line, sizeof line, text, ap);
    va_end(ap);
    if (v != NULL)
        (void)spec_value_pointer(v, ptr);
    r->warnings = mem_grow(r->warnings, &r->cap_warnings, r->nwarnings,
                           sizeof *r->warnings);
    note = &r->warnings[r->nwarnings++];
    note->level = SPEC_NOTE_WARNING;
    note->text = arena_printf(r->arena, "%s%s%s: %s", r->where,
                              ptr[0] != '\0' ? " " : "", ptr, line);
}

static const struct spec_member *find(const struct spec_table *t,
                                      const char *name)
{
    for (size_t i = 0; i < t->n; i++) {
        const char *s = t->members[i].name;

        if (s[0] == name[0] && strcmp(s, name) == 0)
            return &t->members[i];
    }
    return NULL;
}

/* "name, type, data" of a table, as far as this document may use them. */
static void list_names(const struct spec_reader *r, const struct spec_table *t,
                       char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < t->n; i++) {
        const struct spec_member *m = &t->members[i];
        int n;

        if (m->apex_only && !r->apex)
            continue;
        n = snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                     m->name);
        if (n < 0 || (size_t)n >= size - used)
            return;
        used += (size_t)n;
    }
}

static int unknown(struct spec_reader *r, const struct spec_value *v,
                   const struct spec_table *t)
{
    char names[400];

    if (strcmp(v->name, "comment") == 0 || strncmp(v->name, "x-", 2) == 0)
        return 0;
    list_names(r, t, names, sizeof names);
    if (t->unknown_warns) {
        spec_member_warn(r, v, "unknown member, ignored; %s takes %s", t->what,
                         names);
        return 0;
    }
    return spec_member_fail(r, v,
                            "unknown member; accepted in %s: %s, comment, x-…",
                            t->what, names);
}

static int collect_one(struct spec_reader *r, const struct spec_value *v,
                       const struct spec_table *t,
                       const struct spec_value **given)
{
    const struct spec_member *m = find(t, v->name);

    if (m == NULL)
        return unknown(r, v, t);
    if (m->apex_only && !r->apex) {
        char zone[NAME_SIZE];

        (void)snprintf(zone, sizeof zone, "%s", r->ctx->zone);
        zone[strlen(zone) - 1] = '\0';
        return spec_member_fail(r, v,
                                "\"%s\" belongs into the apex spec, "
                                "_failover.%s; accepted there only",
                                m->name, zone);
    }
    given[m - t->members] = v;
    return 0;
}

int spec_member_collect(struct spec_reader *r, const struct spec_value *v,
                        const struct spec_table *t,
                        const struct spec_value **given)
{
    for (size_t i = 0; i < t->n; i++)
        given[i] = NULL;
    if (v->type != SPEC_VALUE_OBJECT)
        return spec_member_error(r, v, "%s, an object { … }", t->what);
    for (const struct spec_value *k = v->child; k != NULL; k = k->next)
        if (collect_one(r, k, t, given) != 0)
            return -1;
    for (size_t i = 0; i < t->n; i++)
        if (t->members[i].required && given[i] == NULL)
            return spec_member_fail(r, v, "\"%s\" is missing; %s needs it: %s",
                                    t->members[i].name, t->what,
                                    t->members[i].help);
    return 0;
}

const char *spec_member_format(const struct spec_member *m, int64_t value,
                               char *out, size_t size)
{
    char d[32];

    if (m->kind == SPEC_MEMBER_MS || m->kind == SPEC_MEMBER_BOOL_MS)
        (void)snprintf(out, size, "%s", duration_format(value, d));
    else if (m->kind == SPEC_MEMBER_CHOICE)
        (void)snprintf(out, size, "%s", m->choices[value]);
    else
        (void)snprintf(out, size, "%" PRId64 "%s", value,
                       m->kind == SPEC_MEMBER_PERCENT ? "%" : "");
    return out;
}

static const char *choices(const struct spec_member *m, char *out, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; m->choices[i] != NULL && used < size; i++) {
        const char *sep = i == 0                      ? ""
                          : m->choices[i + 1] == NULL ? " or "
                                                      : ", ";
        int n =
            snprintf(out + used, size - used, "%s\"%s\"", sep, m->choices[i]);

        used += n > 0 ? (size_t)n : 0;
    }
    return out;
}

const char *spec_member_accepts(const struct spec_member *m, char *out,
                                size_t size)
{
    char min[32], max[32];

    if (m->kind == SPEC_MEMBER_CHOICE)
        return choices(m, out, size);
    (void)spec_member_format(m, m->min, min, sizeof min);
    (void)spec_member_format(m, m->max, max, sizeof max);
    if (m->kind == SPEC_MEMBER_COUNT)
        (void)snprintf(out, size, "a whole number from %s to %s", min, max);
    else if (m->kind == SPEC_MEMBER_S)
        (void)snprintf(out, size,
                       "whole seconds from %s to %s, or \"2m\", \"1h\"", min,
                       max);
    else if (m->kind == SPEC_MEMBER_MS || m->kind == SPEC_MEMBER_BOOL_MS)
        (void)snprintf(out, size,
                       "%sseconds, or \"500ms\", \"10s\", \"2m\", \"1h\"; from "
                       "%s to %s",
                       m->kind == SPEC_MEMBER_MS ? "" : "true, false, or ", min,
                       max);
    else if (m->kind == SPEC_MEMBER_PERCENT)
        (void)snprintf(out, size, "\"%s\" to \"%s\"", min, max);
    else
        (void)snprintf(out, size, "%s", m->help);
    return out;
}

int spec_member_digits(const char *text, int64_t min, int64_t max, int64_t *out)
{
    int64_t v = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9'; p++) {
        if (v > (INT64_MAX - 9) / 10)
            return -1;
        v = v * 10 + (*p - '0');
    }
    if (p == text || *p != '\0' || (text[0] == '0' && text[1] != '\0') ||
        v < min || v > max)
        return -1;
    *out = v;
    return 0;
}

static int read_percent(const char *text, const struct spec_member *m,
                        int64_t *out)
{
    char digits[8];
    size_t n = strlen(text);

    if (n < 2 || n > sizeof digits || text[n - 1] != '%')
        return -1;
    memcpy(digits, text, n - 1);
    digits[n - 1] = '\0';
    return spec_member_digits(digits, m->min, m->max, out);
}

static int read_choice(const char *text, const struct spec_member *m,
                       int64_t *out)
{
    for (size_t i = 0; m->choices[i] != NULL; i++) {
        if (strcmp(m->choices[i], text) == 0) {
            *out = (int64_t)i;
            return 0;
        }
    }
    return -1;
}

static int read_duration(const char *text, const struct spec_member *m,
                         int64_t *out)
{
    int64_t ms;

    if (duration_parse(text, &ms, NULL) != 0)
        return -1;
    if (m->kind == SPEC_MEMBER_S) {
        if (ms % 1000 != 0)
            return -1;
        ms /= 1000;
    }
    if (ms < m->min || ms > m->max)
        return -1;
    *out = ms;
    return 0;
}

int spec_member_number(struct spec_reader *r, const struct spec_value *v,
                       const struct spec_member *m, int64_t *out)
{
    char accepts[200];
    int rc = -1;

    if (spec_value_is_scalar(v)) {
        if (m->kind == SPEC_MEMBER_COUNT)
            rc = spec_member_digits(v->text, m->min, m->max, out);
        else if (m->kind == SPEC_MEMBER_PERCENT)
            rc = read_percent(v->text, m, out);
        else if (m->kind == SPEC_MEMBER_CHOICE)
            rc = read_choice(v->text, m, out);
        else
            rc = read_duration(v->text, m, out);
    }
    if (rc == 0)
        return 0;
    return spec_member_error(r, v, "%s",
                             spec_member_accepts(m, accepts, sizeof accepts));
}

int spec_member_period(struct spec_reader *r, const struct spec_value *v,
                       int64_t ms)
{
    char min[32];

    if (ms >= r->ctx->min_period_ms)
        return 0;
    return spec_member_error(r, v,
                             "%s or more (min-period in the agent's file)",
                             duration_format(r->ctx->min_period_ms, min));
}

int spec_member_bool(struct spec_reader *r, const struct spec_value *v,
                     bool *out)
{
    bool token = v->type == SPEC_VALUE_TOKEN;

    *out =
        v->type == SPEC_VALUE_TRUE || (token && strcmp(v->text, "true") == 0);
    if (*out || v->type == SPEC_VALUE_FALSE ||
        (token && strcmp(v->text, "false") == 0))
        return 0;
    return spec_member_error(r, v, "true or false");
}

int spec_member_string(struct spec_reader *r, const struct spec_value *v,
                       const char *accepted, const char **out)
{
    if ((v->type != SPEC_VALUE_STRING && v->type != SPEC_VALUE_TOKEN) ||
        v->text[0] == '\0')
        return spec_member_error(r, v, "%s", accepted);
    *out = v->text;
    return 0;
}

/* "www.example.org" in example.org. would be www.example.org.example.org. */
static bool ends_in_zone(const char *text, const char *zone)
{
    char canon[NAME_SIZE];

    return text[strlen(text) - 1] != '.' && strcmp(zone, ".") != 0 &&
           name_canon(text, canon, NULL) == 0 && name_within(canon, zone);
}

int spec_member_name(struct spec_reader *r, const struct spec_value *v,
                     const char *accepted, char name[NAME_SIZE])
{
    const char *text = NULL, *zone = r->ctx->zone;
    char found[SPEC_QUOTE_SIZE];

    if (spec_member_string(r, v, accepted, &text) != 0)
        return -1;
    if (ends_in_zone(v->text, zone))
        return spec_member_fail(r, v,
                                "found %s, a relative name that ends in the "
                                "zone's name; accepted: with a final dot, or "
                                "without \"%s\"",
                                spec_value_quote(v, found), zone);
    if (name_resolve(v->text, zone, name, NULL) != 0)
        return spec_member_error(r, v, "%s", accepted);
    return 0;
}
