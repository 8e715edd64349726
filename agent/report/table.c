#include "agent/report/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/mem.h"

#define COLUMNS_MAX 12

struct table {
    const char *const *heads;
    size_t ncols;
    size_t width[COLUMNS_MAX];
    char **cells; /* row by row */
    size_t n, cap;
};

struct table *table_new(const char *const *heads)
{
    struct table *t = mem_alloc(sizeof *t);

    t->heads = heads;
    for (; t->ncols < COLUMNS_MAX && heads[t->ncols] != NULL; t->ncols++)
        t->width[t->ncols] = strlen(heads[t->ncols]);
    return t;
}

void table_row(struct table *t, const char *const *cells)
{
    for (size_t c = 0; c < t->ncols; c++) {
        size_t w = strlen(cells[c]);

        if (w > t->width[c])
            t->width[c] = w;
        t->cells = mem_grow(t->cells, &t->cap, t->n, sizeof *t->cells);
        t->cells[t->n++] = mem_strdup(cells[c]);
    }
}

size_t table_rows(const struct table *t)
{
    return t->ncols > 0 ? t->n / t->ncols : 0;
}

static size_t line_width(FILE *out)
{
    struct winsize ws;

    if (isatty(fileno(out)) == 1 && ioctl(fileno(out), TIOCGWINSZ, &ws) == 0 &&
        ws.ws_col >= 40)
        return ws.ws_col;
    return (size_t)-1;
}

static void print_row(const struct table *t, const char *const *cells,
                      size_t max, FILE *out)
{
    size_t used = 0;

    for (size_t c = 0; c + 1 < t->ncols; c++) {
        (void)fprintf(out, "%-*s  ", (int)t->width[c], cells[c]);
        used += t->width[c] + 2;
    }
    if (max == (size_t)-1 || used + strlen(cells[t->ncols - 1]) <= max)
        (void)fprintf(out, "%s\n", cells[t->ncols - 1]);
    else
        (void)fprintf(out, "%.*s\n", used < max ? (int)(max - used) : 0,
                      cells[t->ncols - 1]);
}

void table_print(struct table *t, FILE *out)
{
    size_t max = line_width(out);

    if (t->n > 0)
        print_row(t, t->heads, max, out);
    for (size_t i = 0; i < t->n; i += t->ncols) {
        const char *row[COLUMNS_MAX];

        for (size_t c = 0; c < t->ncols; c++)
            row[c] = t->cells[i + c];
        print_row(t, row, max, out);
    }
    for (size_t i = 0; i < t->n; i++)
        free(t->cells[i]);
    free(t->cells);
    free(t);
}
