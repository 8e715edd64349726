#ifndef AGENT_REPORT_TABLE_H
#define AGENT_REPORT_TABLE_H

#include <stddef.h>
#include <stdio.h>

/* A table for people: columns as wide as their content; the last column is
 * cut to fit a terminal, never in a pipe. */
struct table;

/* heads: NULL-terminated, borrowed */
struct table *table_new(const char *const *heads)
    __attribute__((returns_nonnull));
/* One text for each column; copied. */
void table_row(struct table *t, const char *const *cells);
size_t table_rows(const struct table *t);
/* Prints and frees; nothing at all when there is no row. */
void table_print(struct table *t, FILE *out);

#endif
