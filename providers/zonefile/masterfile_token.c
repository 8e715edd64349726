#include "providers/zonefile/masterfile_impl.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Ends a word that is not quoted. */
static const unsigned char ends_word[256] = {
    [' '] = 1, ['\t'] = 1, ['\r'] = 1, ['\n'] = 1,
    [';'] = 1, ['('] = 1,  [')'] = 1,  ['"'] = 1,
};

static int take_quoted(struct masterfile_lexer *l, struct masterfile_token *t,
                       struct err *e)
{
    size_t p = l->pos + 1;

    t->quoted = true;
    t->off = p;
    for (; p < l->len && l->s[p] != '\n'; p++) {
        if (l->s[p] == '"') {
            t->len = p - t->off;
            l->pos = p + 1;
            return 1;
        }
        if (l->s[p] == '\\' && p + 1 < l->len && l->s[p + 1] != '\n')
            p++;
    }
    return err_set(e, ERR_INPUT, "a quote is not closed on its line");
}

static int take_word(struct masterfile_lexer *l, struct masterfile_token *t,
                     struct err *e)
{
    size_t p = l->pos;

    t->quoted = false;
    t->off = p;
    while (p < l->len && !ends_word[(unsigned char)l->s[p]]) {
        if (l->s[p] == '\\') {
            if (p + 1 >= l->len || l->s[p + 1] == '\n')
                return err_set(e, ERR_INPUT,
                               "a backslash at the end of the line");
            p++;
        }
        p++;
    }
    t->len = p - t->off;
    l->pos = p;
    return 1;
}

static void skip_comment(struct masterfile_lexer *l)
{
    const char *nl = memchr(l->s + l->pos, '\n', l->len - l->pos);

    l->pos = nl != NULL ? (size_t)(nl - l->s) : l->len;
}

int masterfile_next(struct masterfile_lexer *l, struct masterfile_token *t,
                    struct err *e)
{
    while (l->pos < l->len) {
        switch (l->s[l->pos]) {
        case '\n':
            l->pos++;
            l->line++;
            if (l->depth == 0)
                return 0;
            break;
        case ' ':
        case '\t':
        case '\r':
            l->pos++;
            break;
        case ';':
            skip_comment(l);
            break;
        case '(':
            l->depth++;
            l->pos++;
            break;
        case ')':
            if (l->depth == 0)
                return err_set(e, ERR_INPUT, "a ')' without its '('");
            l->depth--;
            l->pos++;
            break;
        case '"':
            return take_quoted(l, t, e);
        default:
            return take_word(l, t, e);
        }
    }
    return l->depth > 0 ? err_set(e, ERR_INPUT, "a '(' is not closed") : 0;
}

static uint64_t unit_s(char c)
{
    switch (c) {
    case 'w':
    case 'W':
        return 604800;
    case 'd':
    case 'D':
        return 86400;
    case 'h':
    case 'H':
        return 3600;
    case 'm':
    case 'M':
        return 60;
    case 's':
    case 'S':
        return 1;
    default:
        return 0;
    }
}

bool masterfile_ttl_parse(const char *s, size_t n, uint32_t *out)
{
    uint64_t sum = 0, v = 0;
    bool digits = false, units = false;

    for (size_t i = 0; i < n; i++) {
        if (s[i] >= '0' && s[i] <= '9') {
            v = v * 10 + (uint64_t)(s[i] - '0');
            digits = true;
        } else {
            uint64_t u = unit_s(s[i]);

            if (!digits || u == 0)
                return false;
            sum += v * u;
            v = 0;
            digits = false;
            units = true;
        }
        if (v > UINT32_MAX || sum > UINT32_MAX)
            return false;
    }
    if (digits && units) /* "1h30": thirty what? */
        return false;
    if (n == 0 || sum + v > UINT32_MAX)
        return false;
    *out = (uint32_t)(sum + v);
    return true;
}

static bool is_plain(unsigned c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '*';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static unsigned lower(unsigned c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* One escape at s[*i] (the backslash); leaves *i on its last byte. */
static unsigned unescape(const char *s, size_t n, size_t *i)
{
    size_t p = *i + 1;

    if (p + 2 < n && is_digit(s[p]) && is_digit(s[p + 1]) &&
        is_digit(s[p + 2])) {
        *i = p + 2;
        return (unsigned)((s[p] - '0') * 100 + (s[p + 1] - '0') * 10 +
                          (s[p + 2] - '0')) &
               255u;
    }
    *i = p;
    return p < n ? (unsigned char)s[p] : '\\';
}

const char *masterfile_name(struct arena *a, const char *s, size_t n,
                            const char *origin)
{
    char out[MASTERFILE_NAME_MAX + 8];
    size_t len = 0, olen = strlen(origin);
    bool dot = false;

    if (n == 0 || (n == 1 && s[0] == '@'))
        return origin;
    for (size_t i = 0; i < n; i++) {
        unsigned c = (unsigned char)s[i];

        if (len > MASTERFILE_NAME_MAX)
            return NULL;
        dot = c == '.';
        if (c > ' ' && c != '\\' && !ends_word[c]) {
            out[len++] = (char)lower(c);
            continue;
        }
        if (c == '\\')
            c = lower(unescape(s, n, &i));
        if (is_plain(c))
            out[len++] = (char)c;
        else
            len += (size_t)snprintf(out + len, 5, "\\%03u", c);
    }
    if (!dot) {
        out[len++] = '.';
        if (strcmp(origin, ".") == 0)
            olen = 0;
        if (len + olen > MASTERFILE_NAME_MAX)
            return NULL;
        memcpy(out + len, origin, olen);
        len += olen;
    }
    return arena_strndup(a, out, len);
}

bool masterfile_is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

uint16_t masterfile_type_of(const char *s, size_t n)
{
    static const struct {
        const char *name, *generic; /* RFC 3597 5 */
        uint16_t type;
    } types[] = {
        {"A", "TYPE1", RR_A},          {"AAAA", "TYPE28", RR_AAAA},
        {"CNAME", "TYPE5", RR_CNAME},  {"TXT", "TYPE16", RR_TXT},
        {"SOA", "TYPE6", MF_SOA},      {"NSEC", "TYPE47", MF_NSEC},
        {"RRSIG", "TYPE46", MF_RRSIG},
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (masterfile_is_word(s, n, types[i].name) ||
            masterfile_is_word(s, n, types[i].generic))
            return types[i].type;
    return MF_OTHER;
}

int masterfile_class_of(const char *s, size_t n)
{
    if (masterfile_is_word(s, n, "IN") || masterfile_is_word(s, n, "CLASS1"))
        return 1;
    if (masterfile_is_word(s, n, "CH") || masterfile_is_word(s, n, "HS") ||
        masterfile_is_word(s, n, "CS") ||
        (n > 5 && strncasecmp(s, "CLASS", 5) == 0))
        return 2;
    return 0;
}

bool masterfile_type_is_ours(uint16_t type)
{
    return type == RR_A || type == RR_AAAA || type == RR_CNAME;
}
