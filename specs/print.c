#include "specs/spec.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "specs/object.h"

#define PRINT_MAX                                                              \
    (1u << 24) /* each record of a text prints to less than                    \
                  250 times its shortest spelling */

struct print {
    struct buf b;
    const struct spec *spec;
    const struct spec_record **records; /* in reading order */
    size_t n;
};

static void comma(struct buf *b)
{
    size_t n = b->len;

    if (n > 0 && b->data[n - 1] != '{' && b->data[n - 1] != '[')
        buf_char(b, ',');
}

static void key(struct buf *b, const char *name)
{
    comma(b);
    buf_printf(b, "\"%s\":", name);
}

/* A number of a table's member in its canonical spelling. */
static void member(struct buf *b, const struct spec_member *m, int64_t value)
{
    char text[48];
    bool quoted = m->kind != SPEC_MEMBER_COUNT && m->kind != SPEC_MEMBER_S;

    key(b, m->name);
    (void)spec_member_format(m, value, text, sizeof text);
    buf_printf(b, quoted ? "\"%s\"" : "%s", text);
}

static void top(struct buf *b, enum spec_top t, int64_t value)
{
    member(b, &spec_object_members.members[t], value);
}

static void print_defaults(struct buf *b, const struct spec_defaults *d)
{
    const struct spec_member *m = spec_object_defaults.members;

    if (d->ttl_s < 0 && d->timeout_ms < 0 && d->access_period_ms < 0 &&
        d->retry_period_ms < 0 && d->required_success == 0 &&
        d->required_failure == 0)
        return;
    key(b, "defaults");
    buf_char(b, '{');
    if (d->ttl_s >= 0)
        member(b, &m[SPEC_DEFAULT_TTL], d->ttl_s);
    if (d->timeout_ms >= 0)
        member(b, &m[SPEC_DEFAULT_TIMEOUT], d->timeout_ms);
    if (d->access_period_ms >= 0)
        member(b, &m[SPEC_DEFAULT_ACCESS], d->access_period_ms);
    if (d->retry_period_ms >= 0)
        member(b, &m[SPEC_DEFAULT_RETRY], d->retry_period_ms);
    if (d->required_success > 0)
        member(b, &m[SPEC_DEFAULT_SUCCESS], d->required_success);
    if (d->required_failure > 0)
        member(b, &m[SPEC_DEFAULT_FAILURE], d->required_failure);
    buf_char(b, '}');
}

static void print_check(struct buf *b, const struct spec_check *c)
{
    char text[ADDR_TEXT_SIZE];

    comma(b);
    if (c->target.family == 0)
        buf_printf(b, "%u", (unsigned)c->port);
    else
        buf_printf(b, "\"tcp:%u@%s\"", (unsigned)c->port,
                   addr_format(&c->target, text));
}

static void print_checks(struct buf *b, const struct spec_record *rec)
{
    if (rec->nchecks == 0)
        return;
    buf_str(b, ",\"check\":");
    if (rec->nchecks == 1) {
        struct buf one;

        buf_init(&one, 256);
        print_check(&one, &rec->checks[0]);
        buf_str(b, buf_get(&one));
        buf_fini(&one);
        return;
    }
    buf_char(b, '[');
    for (size_t i = 0; i < rec->nchecks; i++)
        print_check(b, &rec->checks[i]);
    buf_char(b, ']');
}

/* place: in the list that is printed, from 1. */
static void print_record(struct print *p, const struct spec_record *rec,
                         int64_t place)
{
    struct buf *b = &p->b;

    comma(b);
    buf_printf(b, "{\"name\":\"%s\",\"data\":\"%s\"", rec->name, rec->data);
    print_checks(b, rec);
    if (rec->ttl_s >= 0 && rec->ttl_s != p->spec->defaults.ttl_s)
        buf_printf(b, ",\"ttl\":%" PRId64, rec->ttl_s);
    if (rec->prio != place)
        buf_printf(b, ",\"prio\":%" PRId64, rec->prio);
    buf_char(b, '}');
}

static enum spec_array array_of(const struct spec_record *rec)
{
    if (rec->fallback)
        return SPEC_IN_FALLBACK;
    return rec->nchecks > 0 && rec->checks[0].repeat_timeout ? SPEC_IN_ROWS
                                                             : SPEC_IN_RECORDS;
}

static void print_list(struct print *p, enum spec_array array, const char *name)
{
    int64_t place = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (array_of(p->records[i]) != array)
            continue;
        if (place == 0) {
            key(&p->b, name);
            buf_char(&p->b, '[');
        }
        print_record(p, p->records[i], ++place);
    }
    if (place > 0)
        buf_char(&p->b, ']');
}

static int by_position(const void *a, const void *b)
{
    const struct spec_record *x = *(const struct spec_record *const *)a;
    const struct spec_record *y = *(const struct spec_record *const *)b;

    return x->position < y->position ? -1 : x->position > y->position;
}

static void collect(struct print *p)
{
    size_t cap = 0;

    for (size_t i = 0; i < p->spec->nsets; i++) {
        const struct spec_set *set = &p->spec->sets[i];
        size_t n = set->nrecords + set->nfallback;

        for (size_t k = 0; k < n; k++) {
            p->records = mem_grow(p->records, &cap, p->n, sizeof *p->records);
            p->records[p->n++] = k < set->nrecords
                                     ? &set->records[k]
                                     : &set->fallback[k - set->nrecords];
        }
    }
    if (p->n > 0)
        qsort(p->records, p->n, sizeof *p->records, by_position);
}

/* Every set of a spec has the members of the whole. */
static void print_policy(struct buf *b, const struct spec *s)
{
    const struct spec_set *set = s->nsets > 0 ? &s->sets[0] : NULL;

    if (set == NULL)
        return;
    if (set->order != SPEC_ALL)
        top(b, SPEC_TOP_ORDER, (int64_t)set->order);
    if (set->take > 0)
        top(b, SPEC_TOP_TAKE, set->take);
    if (set->all_down != SPEC_KEEP)
        top(b, SPEC_TOP_ALL_DOWN, (int64_t)set->all_down);
}

static void print_apex(struct buf *b, const struct spec *s)
{
    if (s->nnames > 0) {
        key(b, "names");
        buf_char(b, '[');
        for (size_t i = 0; i < s->nnames; i++) {
            comma(b);
            buf_printf(b, "\"%s\"", s->names[i]);
        }
        buf_char(b, ']');
    }
    if (s->debounce_ms >= 0)
        top(b, SPEC_TOP_DEBOUNCE, s->debounce_ms);
    if (s->max_change_pct >= 0)
        top(b, SPEC_TOP_MAX_CHANGE, s->max_change_pct);
}

char *spec_print(const struct spec *s)
{
    struct print p = {.spec = s};
    char *text;

    buf_init(&p.b, PRINT_MAX);
    collect(&p);
    buf_char(&p.b, '{');
    print_defaults(&p.b, &s->defaults);
    print_list(&p, SPEC_IN_RECORDS, "records");
    print_list(&p, SPEC_IN_ROWS, "rows");
    print_list(&p, SPEC_IN_FALLBACK, "fallbackRecords");
    print_policy(&p.b, s);
    print_apex(&p.b, s);
    buf_char(&p.b, '}');
    text = buf_take(&p.b);
    free(p.records);
    return text;
}
