#include "specs/text.h"

#include <string.h>

#include "specs/bare.h"
#include "specs/json.h"

#define BOM "\xef\xbb\xbf"

struct text {
    char *p; /* in the arena; changed in place */
    size_t len;
};

size_t spec_text_len(const struct spec_txt *txt)
{
    size_t n = 0;

    for (size_t i = 0; i < txt->nstrings; i++)
        n += txt->strings[i].len;
    return n;
}

static bool one_blank(const struct spec_string *s)
{
    return s->len == 1 && s->data[0] == ' ';
}

static struct text join(struct arena *a, const struct spec_txt *txt,
                        bool drop_blanks)
{
    struct text t = {.p = arena_room(a, spec_text_len(txt) + 1)};

    for (size_t i = 0; i < txt->nstrings; i++) {
        const struct spec_string *s = &txt->strings[i];

        if (s->len == 0 || (drop_blanks && one_blank(s)))
            continue;
        memcpy(t.p + t.len, s->data, s->len);
        t.len += s->len;
    }
    t.p[t.len] = '\0';
    return t;
}

const char *spec_text_join(struct arena *a, const struct spec_txt *txt,
                           bool drop_blanks, size_t *len)
{
    struct text t = join(a, txt, drop_blanks);

    *len = t.len;
    return t.p;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool spec_is_foreign(const struct spec_txt *txt)
{
    size_t mark = 0; /* bytes of a byte order mark so far */
    bool start = true;

    /* A byte order mark or blanks before a spec do not make it foreign:
     * its author meant us and should hear of it. */
    for (size_t i = 0; i < txt->nstrings; i++) {
        for (size_t k = 0; k < txt->strings[i].len; k++) {
            char c = txt->strings[i].data[k];

            if (start && mark < sizeof BOM - 1 && c == BOM[mark]) {
                mark++;
                continue;
            }
            start = false;
            if (mark != 0 && mark != sizeof BOM - 1)
                return true;
            if (!blank(c))
                return c != '[' && c != '{' && c != '"';
        }
    }
    return true;
}

static void trim(struct text *t)
{
    while (t->len > 0 && blank(t->p[0])) {
        t->p++;
        t->len--;
    }
    while (t->len > 0 && blank(t->p[t->len - 1]))
        t->len--;
}

/* One more pair of quotes around the text. */
static int strip_pair(struct text *t, const char *where, struct err *e)
{
    if (t->len < 2 || t->p[t->len - 1] != '"')
        return err_set(e, ERR_INPUT,
                       "%s (byte 0): found a quote before [ or { and none "
                       "behind the last ] or }; accepted: one pair around the "
                       "text, or none (quotes damaged on the way)",
                       where);
    t->p++;
    t->len -= 2;
    trim(t);
    if (t->len == 0 || (t->p[0] != '[' && t->p[0] != '{')) {
        char what[SPEC_QUOTE_SIZE];

        return err_set(
            e, ERR_INPUT,
            "%s (byte 1): found %s between the outer quotes; "
            "accepted: [ or { (quotes damaged on the way)",
            where,
            spec_value_quote_bytes(t->p, t->len < 12 ? t->len : 12, what));
    }
    return 0;
}

static const char *first_quote(const struct text *t)
{
    return t->len > 0 ? memchr(t->p, '"', t->len) : NULL;
}

/* Turns \" into " and \\ into \ in place; every quote has to be escaped. */
static int unescape(struct text *t, const char *where, struct err *e)
{
    size_t out = 0;

    for (size_t i = 0; i < t->len; i++) {
        if (t->p[i] == '"')
            return err_set(e, ERR_INPUT,
                           "%s (byte %zu): found a plain quote in a text whose "
                           "first quote is escaped (\\\"); accepted: all "
                           "escaped or none (quotes damaged on the way)",
                           where, i);
        if (t->p[i] == '\\' && i + 1 < t->len &&
            (t->p[i + 1] == '"' || t->p[i + 1] == '\\'))
            i++;
        t->p[out++] = t->p[i];
    }
    t->len = out;
    return 0;
}

/* Quotes that are no delimiters stand behind a backslash. */
static bool odd_quotes(const struct text *t)
{
    bool odd = false;

    for (size_t i = 0; i < t->len; i++) {
        if (t->p[i] == '\\')
            i++;
        else if (t->p[i] == '"')
            odd = !odd;
    }
    return odd;
}

static int parse_json(struct arena *a, const char *where, struct text *t,
                      struct spec_value **root, struct err *e)
{
    struct err inner = {0};

    if (spec_json_parse(a, where, t->p, t->len, root, &inner) == 0)
        return 0;
    if (inner.code == ERR_INPUT && odd_quotes(t))
        return err_set(e, inner.code,
                       "%s; the text has an odd number of quotes (damaged on "
                       "the way, or one forgotten)",
                       inner.msg);
    return err_set(e, inner.code, "%s", inner.msg);
}

static int parse_spelling(struct arena *a, const char *where,
                          const struct spec_txt *txt, struct text *t,
                          bool wrapped, struct spec_value **root,
                          enum spec_spelling *spelling, struct err *e)
{
    const char *quote = first_quote(t);

    *spelling = wrapped ? SPEC_ESCAPED : SPEC_JSON;
    if (quote == NULL && t->len > 0 && t->p[0] != BOM[0] &&
        memchr(t->p, ':', t->len) != NULL) {
        *spelling = SPEC_BARE;
        *t = join(a, txt, true);
        trim(t);
        if (wrapped && strip_pair(t, where, e) != 0)
            return -1;
        return spec_bare_parse(a, where, t->p, t->len, root, e);
    }
    if (quote != NULL && quote > t->p && quote[-1] == '\\') {
        *spelling = SPEC_ESCAPED;
        if (unescape(t, where, e) != 0)
            return -1;
    }
    return parse_json(a, where, t, root, e);
}

int spec_text_parse(struct arena *a, const char *where,
                    const struct spec_txt *txt, struct spec_value **root,
                    enum spec_spelling *spelling, struct err *e)
{
    size_t len = spec_text_len(txt);
    struct text t;
    bool wrapped;

    *spelling = SPEC_JSON;
    if (len > SPEC_TEXT_MAX)
        return err_set(e, ERR_LIMIT,
                       "%s: found %zu bytes; accepted: at most %u", where, len,
                       SPEC_TEXT_MAX);
    t = join(a, txt, false);
    trim(&t);
    wrapped = t.len > 0 && t.p[0] == '"';
    if (wrapped && strip_pair(&t, where, e) != 0)
        return -1;
    if (parse_spelling(a, where, txt, &t, wrapped, root, spelling, e) != 0)
        return -1;
    if ((*root)->type != SPEC_VALUE_ARRAY &&
        (*root)->type != SPEC_VALUE_OBJECT) {
        char what[SPEC_QUOTE_SIZE];

        return err_set(e, ERR_INPUT, "%s: found %s; accepted: [ or {", where,
                       spec_value_quote(*root, what));
    }
    return 0;
}
