#ifndef AGENT_BASE_BUF_H
#define AGENT_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* A growing byte buffer that is born with its maximum. Going beyond the
 * maximum sets `over` and keeps what was there: writers need not check each
 * step, the end does. Always NUL-terminated once anything was added. */
struct buf {
    char *data; /* NULL while empty */
    size_t len, cap, max;
    bool over;
};

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);
void buf_reset(struct buf *b); /* empty again, keeps memory and maximum */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The content as a heap string that the caller frees ("" when empty); b is
 * empty afterwards. */
char *buf_take(struct buf *b) __attribute__((returns_nonnull));
/* The content, "" when empty; borrowed until the next change. */
const char *buf_get(const struct buf *b) __attribute__((returns_nonnull));

#endif
