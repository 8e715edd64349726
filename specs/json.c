#include "specs/json.h"

#include <string.h>

#include "specs/scan.h"

#define NUMBER_MAX 63u /* bytes of one number */

static int bad(const struct scan *s, const char *accepted)
{
    return spec_scan_bad(s, accepted);
}

static void blanks(struct scan *s)
{
    for (; s->at < s->len; s->at++) {
        char c = s->text[s->at];

        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return;
    }
}

static bool next_is(const struct scan *s, char c)
{
    return s->at < s->len && s->text[s->at] == c;
}

static bool digit_at(const struct scan *s)
{
    return s->at < s->len && s->text[s->at] >= '0' && s->text[s->at] <= '9';
}

static size_t digits(struct scan *s)
{
    size_t from = s->at;

    while (digit_at(s))
        s->at++;
    return s->at - from;
}

static int exponent(struct scan *s)
{
    if (!next_is(s, 'e') && !next_is(s, 'E'))
        return 0;
    s->at++;
    if (next_is(s, '+') || next_is(s, '-'))
        s->at++;
    return digits(s) > 0 ? 0 : bad(s, "a digit in the exponent");
}

static int number(struct scan *s, struct spec_value *v)
{
    size_t from = s->at;

    if (next_is(s, '-'))
        s->at++;
    if (next_is(s, '0')) {
        s->at++;
        if (digit_at(s))
            return bad(s, "a number without leading zeros");
    } else if (digits(s) == 0) {
        return bad(s, "a digit after the minus");
    }
    if (next_is(s, '.')) {
        s->at++;
        if (digits(s) == 0)
            return bad(s, "a digit after the point");
    }
    if (exponent(s) != 0)
        return -1;
    if (s->at - from > NUMBER_MAX) {
        s->at = from;
        return bad(s, "a number of at most 63 characters");
    }
    v->type = SPEC_VALUE_NUMBER;
    v->text = arena_strndup(s->arena, s->text + from, s->at - from);
    return 0;
}

static int value(struct scan *s, struct spec_value *parent, const char *name,
                 struct spec_value **out);

static int enter(struct scan *s, struct scan_frame **f)
{
    char ptr[SPEC_POINTER_SIZE];

    if (s->depth == SPEC_DEPTH_MAX) {
        spec_scan_pointer(s, ptr);
        return err_set(s->e, ERR_LIMIT,
                       "%s %s (byte %zu): more than %u levels of [ and {",
                       s->where, ptr, s->at, SPEC_DEPTH_MAX);
    }
    *f = &s->frames[s->depth++];
    memset(*f, 0, sizeof **f);
    s->at++;
    blanks(s);
    return 0;
}

static int array(struct scan *s, struct spec_value *v)
{
    struct scan_frame *f;

    v->type = SPEC_VALUE_ARRAY;
    if (enter(s, &f) != 0)
        return -1;
    if (!next_is(s, ']')) {
        for (f->len = 1;; f->index++) {
            if (value(s, v, NULL, NULL) != 0)
                return -1;
            blanks(s);
            if (!next_is(s, ','))
                break;
            s->at++;
            blanks(s);
        }
        if (!next_is(s, ']'))
            return bad(s, "\",\" or \"]\"");
    }
    s->at++;
    s->depth--;
    return 0;
}

static int member(struct scan *s, struct scan_frame *f, struct spec_value *v)
{
    size_t from = s->at + 1;
    const char *name;

    if (!next_is(s, '"'))
        return bad(s, "a member's name in quotes (or the bare spelling, "
                      "which has no quote at all)");
    if (spec_scan_string(s, &name) != 0)
        return -1;
    f->name = s->text + from;
    f->len = s->at - 1 - from;
    blanks(s);
    if (!next_is(s, ':'))
        return bad(s, "\":\" after a member's name");
    s->at++;
    blanks(s);
    if (value(s, v, name, NULL) != 0)
        return -1;
    f->name = NULL;
    f->len = 0;
    blanks(s);
    return 0;
}

static int object(struct scan *s, struct spec_value *v)
{
    const struct spec_value *twice;
    char ptr[SPEC_POINTER_SIZE];
    struct scan_frame *f;

    v->type = SPEC_VALUE_OBJECT;
    if (enter(s, &f) != 0)
        return -1;
    if (!next_is(s, '}')) {
        for (;;) {
            if (member(s, f, v) != 0)
                return -1;
            if (!next_is(s, ','))
                break;
            s->at++;
            blanks(s);
        }
        if (!next_is(s, '}'))
            return bad(s, "\",\" or \"}\"");
    }
    s->at++;
    s->depth--;
    twice = spec_value_close(s->arena, v);
    if (twice == NULL)
        return 0;
    return err_set(s->e, ERR_INPUT,
                   "%s %s: found this member twice; accepted: each member once",
                   s->where, spec_value_pointer(twice, ptr));
}

static int word(struct scan *s, struct spec_value *v)
{
    static const struct {
        const char *text;
        enum spec_value_type type;
    } words[] = {{"true", SPEC_VALUE_TRUE},
                 {"false", SPEC_VALUE_FALSE},
                 {"null", SPEC_VALUE_NULL}};

    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i].text);

        if (s->len - s->at >= n &&
            memcmp(s->text + s->at, words[i].text, n) == 0) {
            s->at += n;
            v->type = words[i].type;
            return 0;
        }
    }
    return bad(s, "a value: { [ \" a number, true, false or null");
}

/* Depth of the calls: SPEC_DEPTH_MAX levels. */
static int value(struct scan *s, struct spec_value *parent, const char *name,
                 struct spec_value **out)
{
    struct spec_value *v =
        spec_value_add(s->arena, parent, SPEC_VALUE_STRING, name, NULL);

    if (out != NULL)
        *out = v;
    if (next_is(s, '{'))
        return object(s, v);
    if (next_is(s, '['))
        return array(s, v);
    if (next_is(s, '"'))
        return spec_scan_string(s, &v->text);
    if (next_is(s, '-') || digit_at(s))
        return number(s, v);
    return word(s, v);
}

int spec_json_parse(struct arena *a, const char *where, const char *text,
                    size_t len, struct spec_value **root, struct err *e)
{
    struct scan s = {
        .arena = a, .where = where, .text = text, .len = len, .e = e};

    *root = NULL;
    if (len > SPEC_TEXT_MAX)
        return err_set(e, ERR_LIMIT, "%s: %zu bytes; accepted: at most %u",
                       where, len, SPEC_TEXT_MAX);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return err_set(e, ERR_INPUT,
                       "%s (byte 0): found a byte order mark; accepted: UTF-8 "
                       "without one (RFC 8259 8.1)",
                       where);
    blanks(&s);
    if (value(&s, NULL, NULL, root) != 0)
        return -1;
    blanks(&s);
    return s.at == len ? 0 : bad(&s, "the end of the text");
}
