#include "agent/engine/decide/calendar.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define DAY_MS 16
#define YEAR_DAYS 1024

struct slot {
    int64_t due_ms;
    uint32_t tie, id;
};

struct day {
    struct slot *v; /* the latest first where they are sorted; NULL: none */
    uint32_t n;
    unsigned cap : 31;
    bool sorted : 1;
};

struct calendar {
    size_t n;
    int64_t today; /* nothing is due before this day */
    struct day days[YEAR_DAYS];
};

struct calendar *calendar_new(void)
{
    return mem_alloc(sizeof(struct calendar));
}

void calendar_free(struct calendar *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < YEAR_DAYS; i++)
        free(c->days[i].v);
    free(c);
}

static struct day *day_at(struct calendar *c, int64_t number)
{
    return &c->days[(size_t)number % YEAR_DAYS];
}

/* By a quarter: doubling would leave a quarter of all that lists take empty,
 * and none lives longer than a period. */
static void make_room(struct day *d)
{
    uint32_t cap = d->n + d->n / 4 + 4;
    struct slot *v;

    if (d->n < d->cap)
        return;
    v = mem_array(cap, sizeof *v);
    if (d->n > 0)
        memcpy(v, d->v, d->n * sizeof *v);
    free(d->v);
    d->v = v;
    d->cap = cap & 0x7fffffffu;
}

void calendar_add(struct calendar *c, int64_t due_ms, uint32_t tie, uint32_t id)
{
    int64_t number = due_ms / DAY_MS;
    struct day *d = day_at(c, number);

    make_room(d);
    d->v[d->n++] = (struct slot){due_ms, tie, id};
    d->sorted = d->n == 1;
    if (c->n++ == 0 || number < c->today)
        c->today = number;
}

void calendar_remove(struct calendar *c, int64_t due_ms, uint32_t id)
{
    struct day *d = day_at(c, due_ms / DAY_MS);
    uint32_t at = d->n - 1; /* what is taken is the first, mostly */

    while (d->v[at].id != id)
        at--;
    d->n--;
    c->n--;
    memmove(&d->v[at], &d->v[at + 1], (d->n - at) * sizeof *d->v);
    if (d->n > 0)
        return;
    free(d->v);
    *d = (struct day){NULL, 0, 0, false};
}

static int compare_latest_first(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;

    if (x->due_ms != y->due_ms)
        return x->due_ms > y->due_ms ? -1 : 1;
    if (x->tie != y->tie)
        return x->tie > y->tie ? -1 : 1;
    return x->id > y->id ? -1 : 1;
}

/* The first of a day, of whatever year; NULL: none. */
static const struct slot *first_of(struct day *d)
{
    if (d->n == 0)
        return NULL;
    if (!d->sorted)
        qsort(d->v, d->n, sizeof *d->v, compare_latest_first);
    d->sorted = true;
    return &d->v[d->n - 1];
}

/* Nothing is due within a year from today. */
static const struct slot *first_of_all(struct calendar *c)
{
    const struct slot *first = NULL;

    for (size_t i = 0; i < YEAR_DAYS; i++) {
        const struct slot *x = first_of(&c->days[i]);

        if (x != NULL && (first == NULL || x->due_ms < first->due_ms))
            first = x;
    }
    return first;
}

bool calendar_first(struct calendar *c, int64_t *due_ms, uint32_t *id)
{
    const struct slot *x = NULL;

    if (c->n == 0)
        return false;
    for (int64_t day = c->today; day < c->today + YEAR_DAYS; day++) {
        x = first_of(day_at(c, day));
        if (x != NULL && x->due_ms / DAY_MS == day)
            break;
        x = NULL;
    }
    if (x == NULL)
        x = first_of_all(c);
    c->today = x->due_ms / DAY_MS;
    *due_ms = x->due_ms;
    *id = x->id;
    return true;
}
