#include "agent/base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096u

struct chunk {
    struct chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

struct arena {
    struct chunk *head;
};

static void *check(void *p)
{
    if (p == NULL) {
        (void)fputs("dnsfailover: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *mem_alloc(size_t size)
{
    return check(calloc(1, size > 0 ? size : 1));
}

void *mem_array(size_t n, size_t size)
{
    return check(calloc(n > 0 ? n : 1, size > 0 ? size : 1));
}

char *mem_strdup(const char *s)
{
    return check(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
    return check(strndup(s, n));
}

static char *format_v(const char *fmt, va_list ap)
{
    char *p = NULL;

    if (vasprintf(&p, fmt, ap) < 0)
        p = NULL;
    return check(p);
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    char *p;

    va_start(ap, fmt);
    p = format_v(fmt, ap);
    va_end(ap);
    return p;
}

void *mem_grow(void *p, size_t *cap, size_t n, size_t size)
{
    size_t want;

    if (n < *cap && p != NULL)
        return p;
    want = *cap > 0 ? *cap : 8;
    while (want <= n) {
        if (want > SIZE_MAX / 2)
            return check(NULL);
        want *= 2;
    }
    if (size != 0 && want > SIZE_MAX / size)
        return check(NULL);
    p = check(realloc(p, want * size));
    memset((char *)p + *cap * size, 0, (want - *cap) * size);
    *cap = want;
    return p;
}

struct arena *arena_new(void)
{
    return mem_alloc(sizeof(struct arena));
}

void arena_free(struct arena *a)
{
    struct chunk *c, *next;

    if (a == NULL)
        return;
    for (c = a->head; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    struct chunk *c = a->head;
    void *p;

    if (size > SIZE_MAX / 2)
        return check(NULL);
    size = (size + align - 1) / align * align;
    if (c == NULL || c->size - c->used < size) {
        size_t room = size > CHUNK ? size : CHUNK;

        c = mem_alloc(sizeof *c + room);
        c->size = room;
        c->next = a->head;
        a->head = c;
    }
    p = c->data + c->used;
    c->used += size;
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return check(NULL);
    return arena_alloc(a, n * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *p = arena_alloc(a, len + 1);

    memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    char *p, *q;

    va_start(ap, fmt);
    p = format_v(fmt, ap);
    va_end(ap);
    q = arena_strdup(a, p);
    free(p);
    return q;
}
