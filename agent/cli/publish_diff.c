#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/cli/publish_write.h"

/* What a new text at _failover.<name> changes, for the person who publishes
 * it. */

#define LINE_MAX_BYTES 100000

static bool same_set(const struct spec_set *a, const struct spec_set *b)
{
    const char *x = a->view != NULL ? a->view : "";
    const char *y = b->view != NULL ? b->view : "";

    return name_equal(a->name, b->name) && a->type == b->type &&
           strcmp(x, y) == 0;
}

static const struct spec_set *find_set(const struct spec *s,
                                       const struct spec_set *like)
{
    for (size_t i = 0; i < s->nsets; i++)
        if (same_set(&s->sets[i], like))
            return &s->sets[i];
    return NULL;
}

static bool has_value(const struct spec_set *s, const struct spec_record *r)
{
    for (size_t i = 0; i < s->nrecords; i++)
        if (strcmp(s->records[i].data, r->data) == 0)
            return true;
    for (size_t i = 0; i < s->nfallback; i++)
        if (strcmp(s->fallback[i].data, r->data) == 0)
            return true;
    return false;
}

/* The values of s that other lacks (NULL: all of them). returns how many */
static size_t add_values(struct buf *b, const struct spec_set *s,
                         const struct spec_set *other, const char *sign)
{
    const struct spec_record *const lists[] = {s->records, s->fallback};
    const size_t counts[] = {s->nrecords, s->nfallback};
    size_t n = 0;

    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < counts[l]; i++) {
            const struct spec_record *r = &lists[l][i];

            if (other != NULL && has_value(other, r))
                continue;
            buf_printf(b, "%s%s%s", b->len > 0 ? ", " : "", sign, r->data);
            n++;
        }
    }
    return n;
}

static void print_set(char sign, const struct spec_set *s, struct buf *values)
{
    (void)printf("%c %s %s%s%s: %s\n", sign, s->name, spec_type_name(s->type),
                 s->view != NULL ? " view " : "",
                 s->view != NULL ? s->view : "", buf_get(values));
}

/* returns whether a line was printed */
static bool compare(const struct spec_set *old, const struct spec_set *now)
{
    const struct spec_set *s = now != NULL ? now : old;
    struct buf values;
    size_t n = 0;

    buf_init(&values, LINE_MAX_BYTES);
    if (now != NULL)
        n += add_values(&values, now, old, old != NULL ? "+" : "");
    if (old != NULL)
        n += add_values(&values, old, now, now != NULL ? "-" : "");
    if (n > 0 || old == NULL || now == NULL)
        print_set(old == NULL ? '+' : now == NULL ? '-' : '~', s, &values);
    buf_fini(&values);
    return n > 0;
}

static void tell_same(const struct spec *old, const struct spec *now)
{
    char *x = spec_print(old), *y = spec_print(now);

    (void)puts(strcmp(x, y) == 0
                   ? "= the same spec"
                   : "= the same sets and values; other members differ");
    free(x);
    free(y);
}

void publish_print_diff(const struct spec *old, const struct spec *now)
{
    bool any = false;

    for (size_t i = 0; old != NULL && i < old->nsets; i++)
        if (find_set(now, &old->sets[i]) == NULL)
            any |= compare(&old->sets[i], NULL);
    for (size_t i = 0; i < now->nsets; i++)
        any |= compare(old != NULL ? find_set(old, &now->sets[i]) : NULL,
                       &now->sets[i]);
    if (old != NULL && !any)
        tell_same(old, now);
}
