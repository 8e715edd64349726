#include "agent/base/charstr.h"

enum base { OCTAL = 8, DECIMAL = 10 };

static void add(struct buf *b, const char *data, size_t len, enum base base)
{
    buf_char(b, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c == '"' || c == '\\')
            buf_char(b, '\\');
        if (c < 0x20 || c > 0x7e)
            buf_printf(b, base == OCTAL ? "\\%03o" : "\\%03u", c);
        else
            buf_char(b, (char)c);
    }
    buf_char(b, '"');
}

void charstr_add(struct buf *b, const char *data, size_t len)
{
    add(b, data, len, DECIMAL);
}

size_t charstr_count(size_t len)
{
    return len == 0 ? 1 : (len + CHARSTR_MAX - 1) / CHARSTR_MAX;
}

static size_t add_text(struct buf *b, const char *text, size_t len,
                       const char *sep, enum base base)
{
    size_t n = charstr_count(len);

    for (size_t i = 0; i < n; i++) {
        size_t at = i * CHARSTR_MAX;

        if (i > 0)
            buf_str(b, sep);
        add(b, text + at, i + 1 < n ? CHARSTR_MAX : len - at, base);
    }
    return n;
}

size_t charstr_add_text(struct buf *b, const char *text, size_t len,
                        const char *sep)
{
    return add_text(b, text, len, sep, DECIMAL);
}

size_t charstr_add_text_octal(struct buf *b, const char *text, size_t len,
                              const char *sep)
{
    return add_text(b, text, len, sep, OCTAL);
}

static bool is_digit(char c, enum base base)
{
    return c >= '0' && c < '0' + (char)base;
}

static bool decode(const char *token, size_t len, struct buf *out,
                   enum base base)
{
    for (size_t i = 0; i < len; i++) {
        int v;

        if (token[i] != '\\') {
            buf_char(out, token[i]);
            continue;
        }
        if (++i >= len)
            return false;
        if (!is_digit(token[i], DECIMAL)) {
            buf_char(out, token[i]);
            continue;
        }
        if (len - i < 3 || !is_digit(token[i], base) ||
            !is_digit(token[i + 1], base) || !is_digit(token[i + 2], base))
            return false;
        v = ((token[i] - '0') * (int)base + (token[i + 1] - '0')) * (int)base +
            (token[i + 2] - '0');
        if (v > 255)
            return false;
        buf_char(out, (char)(unsigned char)v);
        i += 2;
    }
    return true;
}

bool charstr_decode(const char *token, size_t len, struct buf *out)
{
    return decode(token, len, out, DECIMAL);
}

bool charstr_decode_octal(const char *token, size_t len, struct buf *out)
{
    return decode(token, len, out, OCTAL);
}
