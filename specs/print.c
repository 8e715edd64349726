#include "specs/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "specs/bare.h"
#include "specs/check.h"
#include "specs/cond.h"
#include "specs/dc.h"
#include "specs/print.h"

/* Values by what their members take: the tables say how each is written. */

static void comma(struct spec_printer *p)
{
    if (p->more)
        buf_char(&p->b, ',');
    p->more = true;
}

void spec_print_open(struct spec_printer *p, char bracket)
{
    comma(p);
    buf_char(&p->b, bracket);
    p->more = false;
}

void spec_print_close(struct spec_printer *p, char bracket)
{
    buf_char(&p->b, bracket);
    p->more = true;
}

/* Remembers the first thing that the bare spelling cannot say. */
static void cannot(struct spec_printer *p, const struct spec_value *v,
                   const char *what)
{
    char ptr[SPEC_POINTER_SIZE], text[SPEC_QUOTE_SIZE];

    if (p->e == NULL || p->failed)
        return;
    p->failed = true;
    (void)err_set(p->e, ERR_INPUT,
                  "%s: the bare spelling cannot say %s %s; accepted there: "
                  "letters, digits and ._:/@|!?=&%%*+~- in values, letters, "
                  "digits and ._|- in members' names, no free text",
                  v != NULL ? spec_value_pointer(v, ptr) : "this spec", what,
                  v != NULL && v->text != NULL ? spec_value_quote(v, text)
                                               : "");
}

void spec_print_key(struct spec_printer *p, const struct spec_value *v,
                    const char *name)
{
    comma(p);
    if (p->e == NULL) {
        spec_value_quote_json(&p->b, name);
    } else {
        if (!spec_bare_is_name(name))
            cannot(p, v, "the name of");
        buf_str(&p->b, name);
    }
    buf_char(&p->b, ':');
    p->more = false;
}

void spec_print_string(struct spec_printer *p, const struct spec_value *v,
                       const char *text)
{
    comma(p);
    if (p->e == NULL) {
        spec_value_quote_json(&p->b, text);
        return;
    }
    if (!spec_bare_is_value(text))
        cannot(p, v, "the value");
    buf_str(&p->b, text);
}

void spec_print_raw(struct spec_printer *p, const char *text)
{
    comma(p);
    buf_str(&p->b, text);
}

static bool is_digits(const char *text)
{
    int64_t n;

    return spec_member_digits(text, 0, INT64_MAX, &n) == 0;
}

static void print_bool(struct spec_printer *p, const struct spec_value *v)
{
    bool on = v->type == SPEC_VALUE_TRUE ||
              (v->type == SPEC_VALUE_TOKEN && strcmp(v->text, "true") == 0);

    spec_print_raw(p, on ? "true" : "false");
}

static void print_duration(struct spec_printer *p, const struct spec_member *m,
                           const struct spec_value *v)
{
    char text[48];
    int64_t ms = 0;

    if (duration_parse(v->text, &ms, NULL) != 0)
        ms = 0;
    (void)spec_member_format(m, m->kind == SPEC_MEMBER_S ? ms / 1000 : ms, text,
                             sizeof text);
    if (m->kind == SPEC_MEMBER_S)
        spec_print_raw(p, text);
    else
        spec_print_string(p, v, text);
}

/* A port as a number; an address behind "@", or alone, canonical. */
static void print_shorthand(struct spec_printer *p, const struct spec_value *v)
{
    const char *text = v->text, *at = strrchr(text, '@');
    char canon[ADDR_TEXT_SIZE];
    struct addr a;
    char *joined;

    if (strncmp(text, "tcp:", 4) == 0 && is_digits(text + 4))
        text += 4;
    if (is_digits(text)) {
        spec_print_raw(p, text);
    } else if (at == NULL || strstr(text, "://") != NULL ||
               addr_parse(at + 1, &a) != 0) {
        spec_print_string(p, v, text);
    } else {
        joined = mem_printf("%.*s@%s", (int)(at - text), text,
                            addr_format(&a, canon));
        spec_print_string(p, v, joined);
        free(joined);
    }
}

/* An address, with or without port; in brackets bare could not say it. */
static void print_target(struct spec_printer *p, const struct spec_value *v)
{
    char canon[ADDR_TEXT_SIZE];
    struct addr a;

    if (addr_parse_port(v->text, 0, &a, NULL) != 0)
        return;
    spec_print_string(p, v,
                      a.port != 0 ? addr_format_port(&a, canon)
                                  : addr_format(&a, canon));
}

static void print_place(struct spec_printer *p, const struct spec_value *v)
{
    char canon[ADDR_TEXT_SIZE], text[ADDR_TEXT_SIZE + 16];
    struct addr a;

    if (addr_parse_port(v->text, 0, &a, NULL) != 0) {
        print_shorthand(p, v);
        return;
    }
    (void)snprintf(text, sizeof text, "tcp:%u@%s", (unsigned)a.port,
                   addr_format(&a, canon));
    spec_print_string(p, v, text);
}

typedef void print_fn(struct spec_printer *p, const struct spec_value *v);

static void print_list(struct spec_printer *p, const struct spec_value *v,
                       print_fn *one)
{
    spec_print_open(p, '[');
    for (const struct spec_value *k = v->child; k != NULL; k = k->next)
        one(p, k);
    spec_print_close(p, ']');
}

static void print_check(struct spec_printer *p, const struct spec_value *v)
{
    if (v->type == SPEC_VALUE_ARRAY)
        print_list(p, v, print_check);
    else if (v->type == SPEC_VALUE_OBJECT)
        spec_print_object(p, &spec_check_members, v);
    else
        print_shorthand(p, v);
}

static void print_cond(struct spec_printer *p, const struct spec_value *v)
{
    if (v->type == SPEC_VALUE_ARRAY)
        print_list(p, v, print_cond);
    else if (v->type != SPEC_VALUE_OBJECT)
        spec_print_string(p, v, v->text);
    else
        spec_print_object(p,
                          spec_value_find(v, "of") != NULL
                              ? &spec_cond_need
                              : &spec_check_members,
                          v);
}

static void print_access(struct spec_printer *p, const struct spec_value *v)
{
    if (v->type == SPEC_VALUE_ARRAY)
        print_list(p, v, print_access);
    else if (v->type != SPEC_VALUE_OBJECT)
        print_place(p, v);
    else
        spec_print_object(p,
                          spec_value_find(v, "of") != NULL
                              ? &spec_dc_access
                              : &spec_check_members,
                          v);
}

static void print_text(struct spec_printer *p, const struct spec_value *v)
{
    spec_print_string(p, v, v->text);
}

static void print_status(struct spec_printer *p, const struct spec_value *v)
{
    if (v->type == SPEC_VALUE_ARRAY)
        print_list(p, v, print_status);
    else if (is_digits(v->text))
        spec_print_raw(p, v->text);
    else
        spec_print_string(p, v, v->text);
}

static void print_pairs(struct spec_printer *p, const struct spec_value *v)
{
    spec_print_open(p, '{');
    for (size_t i = 0; i < v->n; i++) {
        const struct spec_value *k = v->sorted[i];

        spec_print_key(p, k, k->name);
        if (k->type == SPEC_VALUE_NUMBER)
            spec_print_raw(p, k->text);
        else if (k->type == SPEC_VALUE_NULL)
            spec_print_raw(p, "null");
        else if (k->text != NULL)
            spec_print_string(p, k, k->text);
        else
            print_bool(p, k);
    }
    spec_print_close(p, '}');
}

void spec_print_value(struct spec_printer *p, const struct spec_member *m,
                      const struct spec_value *v)
{
    char canon[NAME_SIZE > ADDR_TEXT_SIZE ? NAME_SIZE : ADDR_TEXT_SIZE];
    struct addr a;

    switch (m->kind) {
    case SPEC_MEMBER_COUNT:
        spec_print_raw(p, v->text);
        break;
    case SPEC_MEMBER_BOOL_MS:
        if (v->text == NULL || strcmp(v->text, "true") == 0 ||
            strcmp(v->text, "false") == 0)
            print_bool(p, v);
        else
            print_duration(p, m, v);
        break;
    case SPEC_MEMBER_MS:
    case SPEC_MEMBER_S:
        print_duration(p, m, v);
        break;
    case SPEC_MEMBER_BOOL:
        print_bool(p, v);
        break;
    case SPEC_MEMBER_ADDRESS:
        if (addr_parse(v->text, &a) == 0)
            spec_print_string(p, v, addr_format(&a, canon));
        break;
    case SPEC_MEMBER_CHECK:
        print_check(p, v);
        break;
    case SPEC_MEMBER_KIND:
        spec_print_string(p, v, v->text);
        break;
    case SPEC_MEMBER_COND:
    case SPEC_MEMBER_CONDS:
        print_cond(p, v);
        break;
    case SPEC_MEMBER_ACCESS:
        print_access(p, v);
        break;
    case SPEC_MEMBER_TARGETS:
        print_list(p, v, print_target);
        break;
    case SPEC_MEMBER_STATUS:
        print_status(p, v);
        break;
    case SPEC_MEMBER_PAIRS:
        print_pairs(p, v);
        break;
    case SPEC_MEMBER_CHOICES:
    case SPEC_MEMBER_NAMES:
        print_list(p, v, print_text);
        break;
    case SPEC_MEMBER_OBJECT:
        spec_print_object(p, m->table, v);
        break;
    default:
        spec_print_string(p, v, v->text);
        break;
    }
}

void spec_print_object(struct spec_printer *p, const struct spec_table *t,
                       const struct spec_value *v)
{
    spec_print_open(p, '{');
    for (size_t i = 0; i < t->n; i++) {
        const struct spec_member *m = &t->members[i];
        const struct spec_value *k = spec_value_find(v, m->name);

        if (k == NULL)
            continue;
        if (m->quoted)
            cannot(p, k, "the free text");
        spec_print_key(p, k, m->name);
        spec_print_value(p, m, k);
    }
    spec_print_close(p, '}');
}
