#include "agent/base/mdoc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

/* A leading dot or quote would be a macro. */
void mdoc_text(struct buf *b, const char *text)
{
    if (*text == '.' || *text == '\'')
        buf_str(b, "\\&");
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            buf_str(b, "\\e");
        else if (*text == '"')
            buf_str(b, "\\(dq");
        else if (strncmp(text, "…", strlen("…")) == 0) {
            buf_str(b, "...");
            text += strlen("…") - 1;
        } else
            buf_char(b, *text);
    }
}

/* How much of text is its first sentence, without the blank behind it. */
static size_t sentence_len(const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++)
        if (text[i] == '.' && text[i + 1] == ' ' && text[i + 2] >= 'A' &&
            text[i + 2] <= 'Z')
            return i + 1;
    return strlen(text);
}

void mdoc_sentence(struct buf *b, const char *text)
{
    char *copy = mem_strdup(text);
    char *at = copy;

    if (at[0] >= 'a' && at[0] <= 'z')
        at[0] = (char)(at[0] - 'a' + 'A');
    while (*at != '\0') {
        size_t n = sentence_len(at);
        bool is_last = at[n] == '\0';

        at[n] = '\0';
        mdoc_text(b, at);
        if (at[n - 1] != '.')
            buf_char(b, '.');
        buf_char(b, '\n');
        at += is_last ? n : n + 1;
    }
    free(copy);
}
