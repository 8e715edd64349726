#include "agent/engine/world/txt.h"

#include <string.h>

#include "agent/base/buf.h"

struct spec_txt *txt_copy(struct arena *a, const struct message_txt *txts,
                          size_t n)
{
    struct spec_txt *out = arena_array(a, n, sizeof *out);

    for (size_t i = 0; i < n; i++) {
        struct spec_string *to = arena_array(a, txts[i].nstrings, sizeof *to);

        for (size_t k = 0; k < txts[i].nstrings; k++) {
            size_t len = txts[i].strings[k].len;
            char *data = arena_alloc(a, len + 1);

            memcpy(data, txts[i].strings[k].data, len);
            to[k].data = data;
            to[k].len = len;
        }
        out[i].strings = to;
        out[i].nstrings = txts[i].nstrings;
    }
    return out;
}

char *txt_print(const struct spec_txt *txts, size_t n)
{
    struct buf b;

    buf_init(&b, 8u << 20);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < txts[i].nstrings; k++) {
            const struct spec_string *s = &txts[i].strings[k];

            buf_str(&b, k > 0 ? " \"" : "\"");
            for (size_t c = 0; c < s->len; c++) {
                unsigned char ch = (unsigned char)s->data[c];

                if (ch < 0x20 || ch > 0x7e) {
                    buf_printf(&b, "\\%03u", ch);
                    continue;
                }
                if (ch == '"' || ch == '\\')
                    buf_char(&b, '\\');
                buf_char(&b, (char)ch);
            }
            buf_char(&b, '"');
        }
        buf_char(&b, '\n');
    }
    return buf_take(&b);
}

/* One escaped or plain byte at *p. */
static char read_byte(const char **p)
{
    const char *s = *p;

    if (*s != '\\' || s[1] == '\0') {
        *p = s + 1;
        return *s;
    }
    if (s[1] >= '0' && s[1] <= '2' && s[2] >= '0' && s[2] <= '9' &&
        s[3] >= '0' && s[3] <= '9') {
        int v = (s[1] - '0') * 100 + (s[2] - '0') * 10 + (s[3] - '0');

        *p = s + 4;
        return (char)(unsigned char)v;
    }
    *p = s + 2;
    return s[1];
}

static size_t count_byte(const char *text, char c)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += *text == c;
    return n;
}

struct spec_txt *txt_parse(struct arena *a, const char *text, size_t *n)
{
    size_t quotes = count_byte(text, '"');
    struct spec_txt *txts =
        arena_array(a, count_byte(text, '\n') + 1, sizeof *txts);
    struct spec_string *strings =
        arena_array(a, quotes / 2 + 1, sizeof *strings);
    char *room = arena_alloc(a, strlen(text) + 1);
    const char *p = text;

    *n = 0;
    while (*p != '\0') {
        struct spec_txt *t = &txts[*n];

        if (*p == '"') {
            struct spec_string *s = &strings[t->nstrings];

            t->strings = strings;
            s->data = room;
            for (p++; *p != '"' && *p != '\0';)
                *room++ = read_byte(&p);
            s->len = (size_t)(room - s->data);
            t->nstrings++;
        } else if (*p == '\n') {
            strings += t->nstrings;
            (*n)++;
        }
        if (*p != '\0')
            p++;
    }
    return txts;
}
