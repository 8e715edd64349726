#ifndef AGENT_BASE_MEM_H
#define AGENT_BASE_MEM_H

#include <stddef.h>

/* Memory. Every external input has a size limit before it gets here, so an
 * allocation that fails means that the machine is out of memory: the process
 * says so and aborts; nothing here returns NULL. */

void *mem_alloc(size_t size) /* zeroed */
    __attribute__((malloc, returns_nonnull));
void *mem_array(size_t n, size_t size) /* zeroed; overflow aborts */
    __attribute__((malloc, returns_nonnull));
char *mem_strdup(const char *s) __attribute__((malloc, returns_nonnull));
char *mem_strndup(const char *s, size_t n) /* at most n bytes, ends with NUL */
    __attribute__((malloc, returns_nonnull));
char *mem_printf(const char *fmt, ...)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* Makes room for element n (index) in the array p of *cap elements of size
 * bytes; new room is zeroed. Returns p or its new place. Use:
 *     v = mem_grow(v, &cap, n, sizeof *v); v[n++] = x; */
void *mem_grow(void *p, size_t *cap, size_t n, size_t size)
    __attribute__((returns_nonnull));

/* For a process that lives long: large pieces come from the system and go back
 * there at once, so that what lived short leaves no holes between what stays.
 * Where the C library can; once, at the beginning. */
void mem_live_long(void);
/* Gives back to the system what was freed, and asks for large pages for what
 * stays, where C library and kernel can; for after work that took much more
 * than what is left of it. Milliseconds.
 * source: malloc_trim(3); madvise(2), MADV_COLLAPSE */
void mem_trim(void);

/* An arena: many small pieces, dropped at once by arena_free. */
struct arena;
struct arena *arena_new(void) __attribute__((returns_nonnull));
/* The same with room for size bytes before it takes more: exactly fitting,
 * or so much that it rarely does. */
struct arena *arena_sized(size_t size) __attribute__((returns_nonnull));
/* The same in size bytes at place, more than 64 and aligned for everything,
 * which stay the caller's: for what does not outlive a call. */
struct arena *arena_within(void *place, size_t size)
    __attribute__((returns_nonnull));
void arena_free(struct arena *a);               /* NULL is fine */
void *arena_alloc(struct arena *a, size_t size) /* zeroed, aligned */
    __attribute__((returns_nonnull));
void *arena_room(struct arena *a, size_t size) /* aligned, not zeroed */
    __attribute__((returns_nonnull));
void *arena_array(struct arena *a, size_t n, size_t size)
    __attribute__((returns_nonnull));
/* As mem_grow; what p was stays in the arena. */
void *arena_grow(struct arena *a, void *p, size_t *cap, size_t n, size_t size)
    __attribute__((returns_nonnull));
char *arena_strdup(struct arena *a, const char *s)
    __attribute__((returns_nonnull));
char *arena_text(struct arena *a, const char *s, size_t n) /* n bytes, a NUL */
    __attribute__((returns_nonnull));
char *arena_strndup(struct arena *a, const char *s, size_t n)
    __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((returns_nonnull, format(printf, 2, 3)));

#endif
