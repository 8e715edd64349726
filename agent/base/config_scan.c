#include "agent/base/config_scan.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 8

enum token { NOTHING, WORD, STRING, EQUALS, BRACE, COMMA };

struct scan {
    char *p;
    const char *end;
    int line;
    int depth;
    int opened[DEPTH_MAX]; /* lines of the open braces */
    enum token last;
    struct err *e;
};

/* The byte n ahead, NUL beyond the end. */
static char peek(const struct scan *s, size_t n)
{
    return n < (size_t)(s->end - s->p) ? s->p[n] : '\0';
}

static void blank(struct scan *s, size_t n)
{
    for (; n > 0; n--, s->p++) {
        if (*s->p == '\n')
            s->line++;
        else
            *s->p = ' ';
    }
}

static int skip_line_comment(struct scan *s)
{
    const char *nl = memchr(s->p, '\n', (size_t)(s->end - s->p));

    blank(s, (size_t)((nl != NULL ? nl : s->end) - s->p));
    return 0;
}

static int skip_block_comment(struct scan *s)
{
    const char *close = memmem(s->p + 2, (size_t)(s->end - s->p) - 2, "*/", 2);

    if (close == NULL)
        return err_set(s->e, ERR_INPUT, "the comment is not closed by */");
    blank(s, (size_t)(close - s->p) + 2);
    return 0;
}

/* At a backslash in "…": whether it writes the byte 0, at which values end. */
static bool escapes_nul(const struct scan *s)
{
    size_t from = peek(s, 1) == 'x' ? 2 : 1;
    size_t n = strspn(s->p + from, "0");
    const char *digits = from == 2 ? "0123456789abcdefABCDEF" : "01234567";

    if (n == 0)
        return false;
    if (n >= 4 - from)
        return true;
    return strspn(s->p + from, digits) == n;
}

static int skip_escape(struct scan *s, char quote)
{
    if (quote == '"' && escapes_nul(s))
        return err_set(s->e, ERR_INPUT, "a value cannot hold a NUL byte");
    if (peek(s, 1) == '\n')
        s->line++;
    s->p += peek(s, 1) != '\0' ? 2 : 1;
    return 0;
}

static int refuse_variable(struct scan *s)
{
    return err_set(s->e, ERR_INPUT,
                   "${…}: the environment is not read; accepted: the value "
                   "itself, or '…' in single quotes to mean these characters");
}

static int skip_string(struct scan *s)
{
    char quote = *s->p++;

    s->last = STRING;
    while (s->p < s->end && *s->p != quote) {
        if (*s->p == '\\') {
            if (skip_escape(s, quote) != 0)
                return -1;
            continue;
        }
        if (*s->p == '\n')
            break;
        if (quote == '"' && *s->p == '$' && peek(s, 1) == '{')
            return refuse_variable(s);
        s->p++;
    }
    if (peek(s, 0) != quote)
        return err_set(s->e, ERR_INPUT,
                       "the quote %c is not closed in its line", quote);
    s->p++;
    return 0;
}

static int skip_word(struct scan *s)
{
    static const char ends[] = " \t\r\n={}()+,*#\"'";
    const char *start = s->p;

    s->last = WORD;
    while (s->p < s->end && strchr(ends, *s->p) == NULL) {
        if (*s->p == '$' && peek(s, 1) == '{')
            return refuse_variable(s);
        if (*s->p == '/' && peek(s, 1) != '\0' &&
            strchr(" \t\r\n={}()+,*#\"'/", peek(s, 1)) != NULL)
            return err_set(s->e, ERR_INPUT,
                           "\"%.*s\" ends in a slash or holds //; write it "
                           "in quotes",
                           (int)(s->p - start < 60 ? s->p - start + 1 : 60),
                           start);
        s->p++;
    }
    if (peek(s, 0) != '\0' && strchr("#*()\"'", peek(s, 0)) != NULL)
        return err_set(s->e, ERR_INPUT,
                       "\"%.*s\" is followed by %c; write the value in quotes",
                       (int)(s->p - start < 60 ? s->p - start : 60), start,
                       peek(s, 0));
    if (memchr(start, '|', (size_t)(s->p - start)) != NULL)
        s->last = STRING; /* a path into a section to libconfuse */
    return 0;
}

static int take_equals(struct scan *s, size_t len)
{
    if (s->last != WORD)
        return err_set(s->e, ERR_INPUT,
                       "no option name before '='; accepted: NAME = VALUE");
    s->last = EQUALS;
    s->p += len;
    return 0;
}

static int take_brace(struct scan *s)
{
    s->last = BRACE;
    if (*s->p++ == '{') {
        if (s->depth == DEPTH_MAX)
            return err_set(s->e, ERR_INPUT, "too many '{' inside each other");
        s->opened[s->depth++] = s->line;
        return 0;
    }
    if (s->depth == 0)
        return err_set(s->e, ERR_INPUT, "'}' closes nothing");
    s->depth--;
    return 0;
}

static int refuse_byte(struct scan *s)
{
    return err_set(s->e, ERR_INPUT, "'%c' outside quotes; write \"%c\"", *s->p,
                   *s->p);
}

static int step(struct scan *s)
{
    switch (*s->p) {
    case '\n':
        s->line++;
        s->p++;
        return 0;
    case ' ':
    case '\t':
    case '\r':
        *s->p++ = ' ';
        return 0;
    case '#':
        return skip_line_comment(s);
    case '"':
    case '\'':
        return skip_string(s);
    case '{':
    case '}':
        return take_brace(s);
    case '=':
        return take_equals(s, 1);
    case '+':
        return peek(s, 1) == '=' ? take_equals(s, 2) : refuse_byte(s);
    case ',':
        s->last = COMMA;
        s->p++;
        return 0;
    case '/':
        if (peek(s, 1) == '/')
            return skip_line_comment(s);
        if (peek(s, 1) == '*')
            return skip_block_comment(s);
        return skip_word(s);
    case '(':
    case ')':
    case '*':
        return refuse_byte(s);
    default:
        return skip_word(s);
    }
}

/* Control characters anywhere, comments too: no text editor wrote that. */
static int check_bytes(const char *text, size_t len, int *line, struct err *e)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '\n')
            ++*line;
        else if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7f)
            return err_set(e, ERR_INPUT, "byte 0x%02x; accepted: a text file",
                           c);
    }
    *line = 1;
    return 0;
}

int config_scan(char *text, size_t len, int *line, struct err *e)
{
    struct scan s = {.p = text, .end = text + len, .line = 1, .e = e};

    *line = 1;
    if (check_bytes(text, len, line, e) != 0)
        return -1;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        blank(&s, 3); /* the byte order mark of some editors */
    while (s.p < s.end) {
        if (step(&s) != 0) {
            *line = s.line;
            return -1;
        }
    }
    if (s.depth == 0)
        return 0;
    *line = s.opened[s.depth - 1];
    return err_set(e, ERR_INPUT, "the '{' of this line is not closed by '}'");
}
