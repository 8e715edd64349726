#include "specs/json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "specs/spec.h"

#define NUMBER_MAX 63u /* bytes; cJSON reads no more of one number */

/* A level of the text that is open: for the pointer of a message. */
struct frame {
    const char *name; /* of the member being read, as written; NULL: array */
    size_t len;
    size_t index;
};

struct scan {
    const char *where, *text;
    size_t len, at, depth;
    struct frame frames[SPEC_DEPTH_MAX];
    struct spec_json_number *numbers;
    size_t nnumbers, cap;
    struct err *e;
};

static void pointer(const struct scan *s, char out[SPEC_POINTER_SIZE])
{
    char quoted[SPEC_QUOTE_SIZE];
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->depth; i++) {
        const struct frame *f = &s->frames[i];
        char part[SPEC_QUOTE_SIZE];
        int n;

        if (f->name != NULL) {
            (void)spec_value_quote_bytes(f->name, f->len, quoted);
            quoted[strlen(quoted) - 1] = '\0';
            n = snprintf(part, sizeof part, "/%s", quoted + 1);
        } else if (f->len > 0) {
            n = snprintf(part, sizeof part, "/%zu", f->index);
        } else {
            continue; /* between two members */
        }
        if (n < 0 || used + (size_t)n + 4 > SPEC_POINTER_SIZE) {
            memcpy(out + used, "…", sizeof "…");
            return;
        }
        memcpy(out + used, part, (size_t)n + 1);
        used += (size_t)n;
    }
}

/* What stands at the place of an error, for people. */
static void found(const struct scan *s, char out[SPEC_QUOTE_SIZE])
{
    unsigned char c;
    size_t n;

    if (s->at >= s->len) {
        (void)snprintf(out, SPEC_QUOTE_SIZE, "%s",
                       s->len == 0 ? "nothing" : "the end of the text");
        return;
    }
    c = (unsigned char)s->text[s->at];
    n = spec_value_utf8(s->text + s->at, s->len - s->at);
    if (n == 0 || c < 0x20 || c == 0x7f) {
        (void)snprintf(out, SPEC_QUOTE_SIZE, "byte 0x%02X", c);
        return;
    }
    n = s->len - s->at < 12 ? s->len - s->at : 12;
    (void)spec_value_quote_bytes(s->text + s->at, n, out);
}

static int bad(const struct scan *s, const char *accepted)
{
    char ptr[SPEC_POINTER_SIZE], what[SPEC_QUOTE_SIZE];

    pointer(s, ptr);
    found(s, what);
    return err_set(s->e, ERR_INPUT, "%s%s%s (byte %zu): found %s; accepted: %s",
                   s->where, ptr[0] != '\0' ? " " : "", ptr, s->at, what,
                   accepted);
}

static void blanks(struct scan *s)
{
    while (s->at < s->len && strchr(" \t\r\n", s->text[s->at]) != NULL &&
           s->text[s->at] != '\0')
        s->at++;
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

static int number(struct scan *s)
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
    if (next_is(s, 'e') || next_is(s, 'E')) {
        s->at++;
        if (next_is(s, '+') || next_is(s, '-'))
            s->at++;
        if (digits(s) == 0)
            return bad(s, "a digit in the exponent");
    }
    if (s->at - from > NUMBER_MAX) {
        s->at = from;
        return bad(s, "a number of at most 63 characters");
    }
    s->numbers = mem_grow(s->numbers, &s->cap, s->nnumbers, sizeof *s->numbers);
    s->numbers[s->nnumbers].at = from;
    s->numbers[s->nnumbers++].len = s->at - from;
    return 0;
}

/* Four hexadecimal digits at p, or -1. */
static long hex4(const struct scan *s, size_t at)
{
    long v = 0;

    if (at > s->len || s->len - at < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        char c = s->text[at + i];

        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            v = v * 16 + (c - 'A' + 10);
        else
            return -1;
    }
    return v;
}

/* At the backslash of a \u escape. source: RFC 8259 7 */
static int unicode_escape(struct scan *s)
{
    long c = hex4(s, s->at + 2), low;

    if (c < 0)
        return bad(s, "\\u and four hexadecimal digits");
    if (c == 0)
        return bad(s, "any character but U+0000");
    if (c >= 0xdc00 && c <= 0xdfff)
        return bad(s, "a high surrogate before a low one");
    if (c < 0xd800 || c > 0xdbff) {
        s->at += 6;
        return 0;
    }
    low = -1;
    if (s->len - s->at >= 12 && s->text[s->at + 6] == '\\' &&
        s->text[s->at + 7] == 'u')
        low = hex4(s, s->at + 8);
    if (low < 0xdc00 || low > 0xdfff)
        return bad(s, "a low surrogate after a high one");
    s->at += 12;
    return 0;
}

/* At the opening quote; ends behind the closing one. */
static int string(struct scan *s)
{
    size_t n;

    for (s->at++; s->at < s->len;) {
        unsigned char c = (unsigned char)s->text[s->at];

        if (c == '"') {
            s->at++;
            return 0;
        }
        if (c < 0x20)
            return bad(s, "a control character only as an escape (\\n, \\u…)");
        if (c == '\\') {
            char esc = s->at + 1 < s->len ? s->text[s->at + 1] : '\0';

            if (esc == 'u') {
                if (unicode_escape(s) != 0)
                    return -1;
                continue;
            }
            if (esc == '\0' || strchr("\"\\/bfnrt", esc) == NULL)
                return bad(s, "\\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
            s->at += 2;
            continue;
        }
        n = c < 0x80 ? 1 : spec_value_utf8(s->text + s->at, s->len - s->at);
        if (n == 0)
            return bad(s, "UTF-8");
        s->at += n;
    }
    return bad(s, "a closing quote");
}

static int value(struct scan *s);

static int enter(struct scan *s, struct frame **f)
{
    char ptr[SPEC_POINTER_SIZE];

    if (s->depth == SPEC_DEPTH_MAX) {
        pointer(s, ptr);
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

static int array(struct scan *s)
{
    struct frame *f;

    if (enter(s, &f) != 0)
        return -1;
    if (!next_is(s, ']')) {
        for (f->len = 1;; f->index++) {
            if (value(s) != 0)
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

static int member(struct scan *s, struct frame *f)
{
    size_t from = s->at + 1;

    if (!next_is(s, '"'))
        return bad(s, "a member's name in quotes (or the bare spelling, "
                      "which has no quote at all)");
    if (string(s) != 0)
        return -1;
    f->name = s->text + from;
    f->len = s->at - 1 - from;
    blanks(s);
    if (!next_is(s, ':'))
        return bad(s, "\":\" after a member's name");
    s->at++;
    blanks(s);
    if (value(s) != 0)
        return -1;
    f->name = NULL;
    f->len = 0;
    blanks(s);
    return 0;
}

static int object(struct scan *s)
{
    struct frame *f;

    if (enter(s, &f) != 0)
        return -1;
    if (!next_is(s, '}')) {
        for (;;) {
            if (member(s, f) != 0)
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
    return 0;
}

static int word(struct scan *s)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);

        if (s->len - s->at >= n && memcmp(s->text + s->at, words[i], n) == 0) {
            s->at += n;
            return 0;
        }
    }
    return bad(s, "a value: { [ \" a number, true, false or null");
}

static int value(struct scan *s)
{
    if (next_is(s, '{'))
        return object(s);
    if (next_is(s, '['))
        return array(s);
    if (next_is(s, '"'))
        return string(s);
    if (next_is(s, '-') || digit_at(s))
        return number(s);
    return word(s);
}

int spec_json_scan(const char *where, const char *text, size_t len,
                   struct spec_json_number **numbers, size_t *nnumbers,
                   struct err *e)
{
    struct scan s = {.where = where, .text = text, .len = len, .e = e};
    int rc = -1;

    if (len > SPEC_TEXT_MAX) {
        (void)err_set(e, ERR_LIMIT, "%s: %zu bytes; accepted: at most %u",
                      where, len, SPEC_TEXT_MAX);
        goto out;
    }
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        (void)err_set(e, ERR_INPUT,
                      "%s (byte 0): found a byte order mark; accepted: UTF-8 "
                      "without one (RFC 8259 8.1)",
                      where);
        goto out;
    }
    blanks(&s);
    if (value(&s) != 0)
        goto out;
    blanks(&s);
    if (s.at < len) {
        (void)bad(&s, "the end of the text");
        goto out;
    }
    rc = 0;
out:
    *numbers = s.numbers;
    *nnumbers = s.nnumbers;
    return rc;
}
