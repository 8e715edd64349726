#include "specs/scan.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void spec_scan_pointer(const struct scan *s, char out[SPEC_POINTER_SIZE])
{
    char quoted[SPEC_QUOTE_SIZE];
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < s->depth; i++) {
        const struct scan_frame *f = &s->frames[i];
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

int spec_scan_bad(const struct scan *s, const char *accepted)
{
    char ptr[SPEC_POINTER_SIZE], what[SPEC_QUOTE_SIZE];

    spec_scan_pointer(s, ptr);
    found(s, what);
    return err_set(s->e, ERR_INPUT, "%s%s%s (byte %zu): found %s; accepted: %s",
                   s->where, ptr[0] != '\0' ? " " : "", ptr, s->at, what,
                   accepted);
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
        return spec_scan_bad(s, "\\u and four hexadecimal digits");
    if (c == 0)
        return spec_scan_bad(s, "any character but U+0000");
    if (c >= 0xdc00 && c <= 0xdfff)
        return spec_scan_bad(s, "a high surrogate before a low one");
    if (c < 0xd800 || c > 0xdbff) {
        s->at += 6;
        return 0;
    }
    low = -1;
    if (s->len - s->at >= 12 && s->text[s->at + 6] == '\\' &&
        s->text[s->at + 7] == 'u')
        low = hex4(s, s->at + 8);
    if (low < 0xdc00 || low > 0xdfff)
        return spec_scan_bad(s, "a low surrogate after a high one");
    s->at += 12;
    return 0;
}

/* A Unicode character as UTF-8; returns the bytes. source: RFC 3629 3 */
static size_t put_utf8(char *out, long c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((c >> 6) & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* One escape of a text that was checked, at its backslash; moves *at. */
static size_t put_escape(const struct scan *s, size_t *at, char *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char esc = s->text[*at + 1];
    const char *plain = strchr(from, esc);
    long c;

    *at += 2;
    if (esc != 'u') {
        out[0] = plain != NULL ? to[plain - from] : esc;
        return 1;
    }
    c = hex4(s, *at);
    *at += 4;
    if (c >= 0xd800 && c <= 0xdbff) {
        c = 0x10000 + ((c - 0xd800) << 10) + (hex4(s, *at + 2) - 0xdc00);
        *at += 6;
    }
    return put_utf8(out, c);
}

/* The text from `from` to `end`, with its escapes; never longer than that. */
static const char *decode(const struct scan *s, size_t from, size_t end)
{
    char *out = arena_alloc(s->arena, end - from + 1);
    size_t used = 0;

    while (from < end) {
        if (s->text[from] == '\\')
            used += put_escape(s, &from, out + used);
        else
            out[used++] = s->text[from++];
    }
    return out;
}

static int escape(struct scan *s)
{
    char esc = s->at + 1 < s->len ? s->text[s->at + 1] : '\0';

    if (esc == 'u')
        return unicode_escape(s);
    if (esc == '\0' || strchr("\"\\/bfnrt", esc) == NULL)
        return spec_scan_bad(s, "\\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
    s->at += 2;
    return 0;
}

#define EACH(byte) (0x0101010101010101u * (byte))
#define HIGH EACH(0x80u)

/* The high bit of each byte of v that is 0; of those above it perhaps too. */
static uint64_t zeros(uint64_t v)
{
    return (v - EACH(1u)) & ~v & HIGH;
}

/* Skips printable ASCII without quote and backslash, eight at a time. */
static const char *skip_plain(const char *p, const char *end)
{
    uint64_t v;

    for (; (size_t)(end - p) >= sizeof v; p += sizeof v) {
        memcpy(&v, p, sizeof v);
        if (((v | (v - EACH(0x20u))) & HIGH) != 0 ||
            (zeros(v ^ EACH('"')) | zeros(v ^ EACH('\\'))) != 0)
            break;
    }
    while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
        p++;
    return p;
}

int spec_scan_string(struct scan *s, const char **out)
{
    size_t from = ++s->at, n;
    bool escaped = false;

    while (s->at < s->len) {
        const char *end = s->text + s->len, *p = s->text + s->at;
        unsigned char c;

        p = skip_plain(p, end);
        s->at = (size_t)(p - s->text);
        if (p == end)
            break;
        c = (unsigned char)*p;
        if (c == '"') {
            n = s->at++ - from;
            *out = escaped ? decode(s, from, from + n)
                           : arena_text(s->arena, s->text + from, n);
            return 0;
        }
        if (c < 0x20)
            return spec_scan_bad(s, "a control character only as an escape "
                                    "(\\n, \\u…)");
        if (c == '\\') {
            escaped = true;
            if (escape(s) != 0)
                return -1;
            continue;
        }
        n = c < 0x80 ? 1 : spec_value_utf8(s->text + s->at, s->len - s->at);
        if (n == 0)
            return spec_scan_bad(s, "UTF-8");
        s->at += n;
    }
    return spec_scan_bad(s, "a closing quote");
}
