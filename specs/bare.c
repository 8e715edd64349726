#include "specs/bare.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "specs/check.h"
#include "specs/spec.h"

#define LOST "quotes lost: what was meant cannot be known"

struct bare {
    struct arena *arena;
    const char *where, *text;
    size_t len, at, depth;
    struct err *e;
};

/* A member whose value is free text: without quotes nobody knows where it
 * ended. */
static bool free_text(const char *name)
{
    for (size_t i = 0; i < spec_check_members.n; i++)
        if (spec_check_members.members[i].quoted &&
            strcmp(spec_check_members.members[i].name, name) == 0)
            return true;
    return false;
}

static int bad(const struct bare *b, const struct spec_value *in,
               const char *accepted)
{
    char ptr[SPEC_POINTER_SIZE], what[SPEC_QUOTE_SIZE] = "the end of the text";
    size_t n = b->len - b->at;

    if (n > 0)
        (void)spec_value_quote_bytes(b->text + b->at, n < 12 ? n : 12, what);
    ptr[0] = '\0';
    if (in != NULL)
        (void)spec_value_pointer(in, ptr);
    return err_set(b->e, ERR_INPUT, "%s%s%s (byte %zu): found %s; accepted: %s",
                   b->where, ptr[0] != '\0' ? " " : "", ptr, b->at, what,
                   accepted);
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void blanks(struct bare *b)
{
    while (b->at < b->len && blank(b->text[b->at]))
        b->at++;
}

static bool next_is(const struct bare *b, char c)
{
    return b->at < b->len && b->text[b->at] == c;
}

static bool letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

static bool name_byte(char c)
{
    return letter_or_digit(c) || (c != '\0' && strchr("_.|-", c) != NULL);
}

static bool value_byte(char c)
{
    return letter_or_digit(c) ||
           (c != '\0' && strchr("._:/@|!?=&%*+~-", c) != NULL);
}

static bool all(const char *text, bool (*ok)(char))
{
    while (ok(*text))
        text++;
    return *text == '\0';
}

bool spec_bare_is_name(const char *text)
{
    return text[0] != '\0' && all(text, name_byte);
}

bool spec_bare_is_value(const char *text)
{
    return text[0] != '\0' && all(text, value_byte);
}

/* The run of bytes that `ok` takes, blanks around it dropped. */
static const char *run(struct bare *b, bool (*ok)(char))
{
    size_t from;
    const char *s;

    blanks(b);
    from = b->at;
    while (b->at < b->len && ok(b->text[b->at]))
        b->at++;
    s = arena_strndup(b->arena, b->text + from, b->at - from);
    blanks(b);
    return s;
}

static int value(struct bare *b, struct spec_value *parent, const char *name,
                 struct spec_value **out);

static int token(struct bare *b, struct spec_value *parent, const char *name)
{
    const char *s = run(b, value_byte);
    struct spec_value *v;

    v = spec_value_add(b->arena, parent, SPEC_VALUE_TOKEN, name, s);
    if (!next_is(b, ',') && !next_is(b, '}') && !next_is(b, ']')) {
        if (b->at == b->len)
            return bad(b, v, "\",\" \"}\" or \"]\" after a value");
        return bad(b, v,
                   "letters, digits and ._:/@|!?=&%*+~- in a value of the "
                   "bare spelling (" LOST ")");
    }
    if (name == NULL && s[0] == '\0')
        return bad(b, v, "a list without empty elements (" LOST ")");
    return 0;
}

static int open(struct bare *b, const struct spec_value *in)
{
    char ptr[SPEC_POINTER_SIZE];

    if (b->depth == SPEC_DEPTH_MAX)
        return err_set(
            b->e, ERR_LIMIT, "%s %s (byte %zu): more than %u levels of [ and {",
            b->where, spec_value_pointer(in, ptr), b->at, SPEC_DEPTH_MAX);
    b->depth++;
    b->at++;
    blanks(b);
    return 0;
}

static int array(struct bare *b, struct spec_value *v)
{
    if (open(b, v) != 0)
        return -1;
    if (!next_is(b, ']')) {
        for (;;) {
            if (value(b, v, NULL, NULL) != 0)
                return -1;
            if (!next_is(b, ','))
                break;
            b->at++;
        }
        if (!next_is(b, ']'))
            return bad(b, v, "\",\" or \"]\"");
    }
    b->at++;
    b->depth--;
    return 0;
}

static int member(struct bare *b, struct spec_value *object)
{
    size_t from = b->at;
    const char *name = run(b, name_byte);

    if (name[0] == '\0')
        return bad(b, object, "a member's name (" LOST ")");
    if (!next_is(b, ':'))
        return bad(b, object,
                   "letters, digits, \"_\", \".\", \"|\" and \"-\" in a "
                   "member's name, then \":\"");
    b->at++;
    if (free_text(name)) {
        b->at = from;
        return bad(b, object,
                   "this member only in the spellings with quotes (" LOST ")");
    }
    return value(b, object, name, NULL);
}

static int object(struct bare *b, struct spec_value *v)
{
    char ptr[SPEC_POINTER_SIZE];
    const struct spec_value *twice;

    if (open(b, v) != 0)
        return -1;
    if (!next_is(b, '}')) {
        for (;;) {
            if (member(b, v) != 0)
                return -1;
            if (!next_is(b, ','))
                break;
            b->at++;
        }
        if (!next_is(b, '}'))
            return bad(b, v, "\",\" or \"}\"");
    }
    b->at++;
    b->depth--;
    twice = spec_value_close(b->arena, v);
    if (twice == NULL)
        return 0;
    return err_set(b->e, ERR_INPUT,
                   "%s %s: found this member twice; accepted: each member once",
                   b->where, spec_value_pointer(twice, ptr));
}

static int value(struct bare *b, struct spec_value *parent, const char *name,
                 struct spec_value **out)
{
    struct spec_value *v;
    bool list;

    blanks(b);
    list = next_is(b, '[');
    if (!list && !next_is(b, '{')) {
        if (parent == NULL)
            return bad(b, NULL, "[ or {");
        return token(b, parent, name);
    }
    v = spec_value_add(b->arena, parent,
                       list ? SPEC_VALUE_ARRAY : SPEC_VALUE_OBJECT, name, NULL);
    if (out != NULL)
        *out = v;
    if ((list ? array : object)(b, v) != 0)
        return -1;
    blanks(b);
    return 0;
}

int spec_bare_parse(struct arena *a, const char *where, const char *text,
                    size_t len, struct spec_value **root, struct err *e)
{
    struct bare b = {
        .arena = a, .where = where, .text = text, .len = len, .e = e};

    *root = NULL;
    if (len > SPEC_TEXT_MAX)
        return err_set(e, ERR_LIMIT, "%s: %zu bytes; accepted: at most %u",
                       where, len, SPEC_TEXT_MAX);
    if (value(&b, NULL, NULL, root) != 0)
        return -1;
    if (b.at < len)
        return bad(&b, NULL, "the end of the text");
    return 0;
}
