#include "providers/shared/markup.h"

#include <stdbool.h>
#include <string.h>

/* The tag that starts at s: its length; 0 when "<" is just a character. */
static size_t tag_length(const char *s)
{
    size_t n = strcspn(s, ">");
    char c = s[1];

    if (s[n] != '>' || n > 200)
        return 0;
    if (c != '/' && c != '!' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z'))
        return 0;
    return n + 1;
}

const char *markup_strip(const char *text, char *out, size_t size)
{
    static const char more[] = "…";
    size_t n = 0;
    bool blank = false;

    while (*text != '\0') {
        size_t tag = *text == '<' ? tag_length(text) : 0;

        if (tag > 0 || (unsigned char)*text <= 0x20 || *text == 0x7f) {
            blank = n > 0;
            text += tag > 0 ? tag : 1;
            continue;
        }
        if (n + 2 + sizeof more > size) {
            /* Not in the middle of a UTF-8 character. */
            while (n > 0 && ((unsigned char)*text & 0xc0) == 0x80) {
                text--;
                n--;
            }
            memcpy(out + n, more, sizeof more);
            return out;
        }
        if (blank)
            out[n++] = ' ';
        blank = false;
        out[n++] = *text++;
    }
    out[n] = '\0';
    return out;
}
