#include "agent/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

void buf_init(struct buf *b, size_t max)
{
    memset(b, 0, sizeof *b);
    b->max = max;
}

void buf_fini(struct buf *b)
{
    free(b->data);
    buf_init(b, b->max);
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    b->over = false;
    if (b->data != NULL)
        b->data[0] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (b->over || n > b->max - b->len) {
        b->over = true;
        return;
    }
    b->data = mem_grow(b->data, &b->cap, b->len + n, 1);
    if (n > 0)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->over = true;
        return;
    }
    buf_add(b, s, (size_t)n);
    free(s);
}

char *buf_take(struct buf *b)
{
    char *p = b->data != NULL ? b->data : mem_strdup("");

    buf_init(b, b->max);
    return p;
}

const char *buf_get(const struct buf *b)
{
    return b->data != NULL ? b->data : "";
}
