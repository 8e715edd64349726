#ifndef AGENT_BASE_KEYTABLE_H
#define AGENT_BASE_KEYTABLE_H

#include <stddef.h>

/* Rows by their text, for tables with very many: 11 to 16 bytes a row, where
 * uthash takes 72. The last member of a row is `char key[]`: the table reads
 * nothing else. Rows belong to the caller. Empty: {.key_at = offset of key}. */
struct keytable {
    void **slots;
    size_t n, cap;
    size_t key_at; /* bytes from a row's beginning to its key */
};

void *keytable_find(const struct keytable *t, const char *key); /* or NULL */
/* row: one whose key is not yet in. */
void keytable_add(struct keytable *t, void *row);
void keytable_remove(struct keytable *t, const void *row); /* one that is in */
/* All rows, in no order that means anything: *at is 0 for the first.
 * out: *at — for the next; less by one once the row has been removed
 * returns NULL: no more. Nothing may be added meanwhile. */
void *keytable_next(const struct keytable *t, size_t *at);
void keytable_fini(struct keytable *t); /* frees no row */

/* A row, zeroed, with a copy of the text as its key: one piece of memory,
 * freed by free. key_at: as in the table */
void *keytable_row(size_t key_at, const char *key)
    __attribute__((malloc, returns_nonnull));

#endif
