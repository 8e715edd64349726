#include "agent/base/mem.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#define CHUNK_MIN 4096u
#define CHUNK_MAX 65536u

/* What is behind the first chunk. */
struct chunk {
    struct chunk *next;
    alignas(max_align_t) unsigned char data[];
};

struct arena {
    struct chunk *more;
    unsigned char *at, *end; /* room in the newest chunk */
    size_t size;             /* of the newest chunk */
    bool borrowed;           /* the arena itself is the caller's memory */
    alignas(max_align_t) unsigned char first[];
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

/* More elements than cap, so many that n is one of them. */
static size_t next_cap(size_t cap, size_t n, size_t size)
{
    size_t want = cap > 0 ? cap : 8;

    while (want <= n) {
        if (want > SIZE_MAX / 2)
            (void)check(NULL);
        want *= 2;
    }
    if (size != 0 && want > SIZE_MAX / size)
        (void)check(NULL);
    return want;
}

void *mem_grow(void *p, size_t *cap, size_t n, size_t size)
{
    size_t want;

    if (n < *cap && p != NULL)
        return p;
    want = next_cap(*cap, n, size);
    p = check(realloc(p, want * size));
    memset((char *)p + *cap * size, 0, (want - *cap) * size);
    *cap = want;
    return p;
}

#ifdef __GLIBC__

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
#define SMALL_PAGE 4096u
#define PAGES_N 512u /* small ones in a large one of 2 MB */
#define HOLES_MAX 16u

static bool is_full(const unsigned char pages[PAGES_N])
{
    size_t holes = 0;

    for (size_t i = 0; i < PAGES_N; i++)
        holes += (pages[i] & 1u) == 0;
    return holes <= HOLES_MAX;
}

/* A service touches most of its memory once in seconds. By then the processor
 * has forgotten where its pages are, and to find each of thousands costs more
 * than the probe that it is for; on a virtual machine above all. So the heap
 * gets large pages where it has few holes, which they would fill. Where the
 * kernel has none, all stays as it is. */
static void gather(void)
{
    const uintptr_t large = (uintptr_t)SMALL_PAGE * PAGES_N;
    uintptr_t at = (uintptr_t)sbrk(0) / large * large - large;
    unsigned char pages[PAGES_N] = {0};

    /* Downwards, to where the heap begins. */
    for (; mincore((void *)at, large, pages) == 0; at -= large)
        if (is_full(pages))
            (void)madvise((void *)at, large, MADV_COLLAPSE);
}

#endif

void mem_live_long(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, CHUNK_MAX);
    (void)mallopt(M_ARENA_MAX, 1); /* its threads do little */
#endif
}

void mem_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
    gather();
#endif
}

struct arena *arena_new(void)
{
    return arena_sized(CHUNK_MIN - sizeof(struct arena));
}

static struct arena *begin(struct arena *a, size_t size, bool borrowed)
{
    a->more = NULL;
    a->at = a->first;
    a->end = a->first + size;
    a->size = size;
    a->borrowed = borrowed;
    return a;
}

struct arena *arena_sized(size_t size)
{
    if (size > SIZE_MAX / 2)
        return check(NULL);
    return begin(check(malloc(sizeof(struct arena) + size)), size, false);
}

struct arena *arena_within(void *place, size_t size)
{
    return begin(place, size - sizeof(struct arena), true);
}

void arena_free(struct arena *a)
{
    struct chunk *c, *next;

    if (a == NULL)
        return;
    for (c = a->more; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    if (!a->borrowed)
        free(a);
}

/* A new chunk with room for size bytes. */
static void grow(struct arena *a, size_t size)
{
    struct chunk *c;

    if (size > SIZE_MAX / 2)
        (void)check(NULL);
    a->size = a->size < CHUNK_MIN       ? CHUNK_MIN
              : a->size < CHUNK_MAX / 2 ? a->size * 2
                                        : CHUNK_MAX;
    if (a->size < size)
        a->size = size;
    c = check(malloc(sizeof *c + a->size));
    c->next = a->more;
    a->more = c;
    a->at = c->data;
    a->end = c->data + a->size;
}

void *arena_room(struct arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    size_t skip = (size_t)(-(uintptr_t)a->at % align);
    size_t room = (size_t)(a->end - a->at);
    void *p;

    if (room < skip || room - skip < size) {
        grow(a, size);
        skip = 0;
    }
    p = a->at + skip;
    a->at += skip + size;
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(arena_room(a, size), 0, size);
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return check(NULL);
    return arena_alloc(a, n * size);
}

void *arena_grow(struct arena *a, void *p, size_t *cap, size_t n, size_t size)
{
    size_t want;
    void *q;

    if (n < *cap && p != NULL)
        return p;
    want = next_cap(*cap, n, size);
    q = arena_array(a, want, size);
    if (p != NULL)
        memcpy(q, p, *cap * size);
    *cap = want;
    return q;
}

/* Texts need no alignment: they lie close together. */
char *arena_text(struct arena *a, const char *s, size_t len)
{
    char *p;

    if ((size_t)(a->end - a->at) <= len)
        grow(a, len + 1);
    p = (char *)a->at;
    a->at += len + 1;
    memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    return arena_text(a, s, strnlen(s, n));
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_text(a, s, strlen(s));
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
