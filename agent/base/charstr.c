#include "agent/base/charstr.h"

void charstr_add(struct buf *b, const char *data, size_t len)
{
    buf_char(b, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c == '"' || c == '\\')
            buf_char(b, '\\');
        if (c < 0x20 || c > 0x7e)
            buf_printf(b, "\\%03u", c);
        else
            buf_char(b, (char)c);
    }
    buf_char(b, '"');
}

size_t charstr_count(size_t len)
{
    return len == 0 ? 1 : (len + CHARSTR_MAX - 1) / CHARSTR_MAX;
}

size_t charstr_add_text(struct buf *b, const char *text, size_t len,
                        const char *sep)
{
    size_t n = charstr_count(len);

    for (size_t i = 0; i < n; i++) {
        size_t at = i * CHARSTR_MAX;

        if (i > 0)
            buf_str(b, sep);
        charstr_add(b, text + at, i + 1 < n ? CHARSTR_MAX : len - at);
    }
    return n;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool charstr_decode(const char *token, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        int v;

        if (token[i] != '\\') {
            buf_char(out, token[i]);
            continue;
        }
        if (++i >= len)
            return false;
        if (!is_digit(token[i])) {
            buf_char(out, token[i]);
            continue;
        }
        if (len - i < 3 || !is_digit(token[i + 1]) || !is_digit(token[i + 2]))
            return false;
        v = (token[i] - '0') * 100 + (token[i + 1] - '0') * 10 +
            (token[i + 2] - '0');
        if (v > 255)
            return false;
        buf_char(out, (char)(unsigned char)v);
        i += 2;
    }
    return true;
}
