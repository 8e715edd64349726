#include "providers/zonefile/masterfile_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* $GENERATE start-stop[/step] lhs [ttl] [class] type rhs
 *
 * The line is never expanded: whether it makes a name is found by reading the
 * number out of the name and expanding that one step.
 * source: BIND 9 ARM, "BIND Primary File Extension: the $GENERATE Directive" */

#define ALL_STEPS_MAX 1000u /* of a line that gives one name many values */
#define DIGITS_MAX 32
#define WIDTH_MAX 255

static bool take_number(const char **p, uint64_t *out)
{
    uint64_t v = 0;
    const char *s = *p;

    if (*s < '0' || *s > '9')
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        v = v * 10 + (uint64_t)(*s - '0');
        if (v > INT32_MAX)
            return false;
    }
    *p = s;
    *out = v;
    return true;
}

static bool parse_range(const char *s, struct masterfile_generate *g)
{
    g->step = 1;
    if (!take_number(&s, &g->start) || *s++ != '-' ||
        !take_number(&s, &g->stop))
        return false;
    if (*s == '/') {
        s++;
        if (!take_number(&s, &g->step))
            return false;
    }
    return *s == '\0' && g->step > 0 && g->stop >= g->start;
}

/* [ttl] [class] type. returns the index of rhs, or 0 */
static int parse_fields(const char *const *w, int n, struct masterfile_item *it)
{
    bool has_class = false;
    uint32_t ttl;

    for (int i = 0; i + 1 < n; i++) {
        size_t len = strlen(w[i]);
        int c = has_class ? 0 : masterfile_class_of(w[i], len);

        if (masterfile_ttl_parse(w[i], len, &ttl)) {
            it->ttl = ttl;
            it->ttl_from = MF_TTL_TOKEN;
        } else if (c != 0) {
            has_class = true;
            if (c == 2)
                return 0;
        } else {
            it->type = masterfile_type_of(w[i], len);
            return i + 1;
        }
    }
    return 0;
}

int masterfile_generate_add(struct masterfile *m, struct masterfile_lexer *l,
                            struct masterfile_item *it, struct err *e)
{
    struct masterfile_generate g = {.item = m->n};
    const char *w[16] = {NULL};
    struct masterfile_token t;
    int n = 0, r, rhs = 0;

    while ((r = masterfile_next(l, &t, e)) == 1)
        if (n < 16)
            w[n++] = arena_strndup(m->arena, l->s + t.off, t.len);
    if (r < 0)
        return -1;
    if (n < 4 || !parse_range(w[0], &g))
        return err_set(e, ERR_INPUT,
                       "$GENERATE: expected: start-stop[/step] name [ttl] "
                       "[class] type data");
    it->kind = MF_GENERATE;
    it->len = it->raw_len = (uint32_t)(l->pos - (size_t)(it->text - l->s));
    it->owner = it->origin;
    rhs = parse_fields(w + 2, n - 2, it);
    masterfile_push(m, it);
    if (rhs == 0 || !masterfile_type_is_ours(it->type))
        return 0; /* nothing that we would ever touch */
    g.lhs = w[1];
    g.rhs = w[2 + rhs];
    m->gens = mem_grow(m->gens, &m->gens_cap, m->ngens, sizeof *m->gens);
    m->gens[m->ngens++] = g;
    return 0;
}

/* What "$" or "${offset[,width[,base]]}" asks for. */
struct field {
    int64_t offset;
    unsigned width;
    char base; /* d o x X n N */
};

/* p stands after the '$'. returns where the text goes on */
static const char *take_field(const char *p, struct field *f)
{
    const char *end = *p == '{' ? strchr(p, '}') : NULL;
    char *q;

    *f = (struct field){0, 0, 'd'};
    if (end == NULL)
        return p;
    f->offset = strtoll(p + 1, &q, 10);
    if (*q == ',')
        f->width = (unsigned)strtoul(q + 1, &q, 10);
    if (*q == ',' && q + 1 < end && strchr("doxXnN", q[1]) != NULL)
        f->base = q[1];
    if (f->width > WIDTH_MAX)
        f->width = WIDTH_MAX;
    if (f->offset > INT32_MAX || f->offset < -(int64_t)INT32_MAX)
        f->offset = 0;
    return end + 1;
}

static void add_nibbles(struct buf *out, uint64_t v, unsigned width, bool upper)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";

    for (unsigned written = 0;; written += 2) {
        buf_char(out, digits[v & 15]);
        v >>= 4;
        if (v == 0 && written + 2 >= width)
            break;
        buf_char(out, '.');
    }
}

static void add_field(struct buf *out, const struct field *f, int64_t v)
{
    int width = (int)f->width;

    switch (f->base) {
    case 'o':
        buf_printf(out, "%0*" PRIo64, width, (uint64_t)v);
        break;
    case 'x':
        buf_printf(out, "%0*" PRIx64, width, (uint64_t)v);
        break;
    case 'X':
        buf_printf(out, "%0*" PRIX64, width, (uint64_t)v);
        break;
    case 'n':
    case 'N':
        add_nibbles(out, (uint64_t)v, f->width, f->base == 'N');
        break;
    default:
        buf_printf(out, "%0*" PRId64, width, v);
    }
}

/* One step of a side. returns false: a number below zero, or too long */
static bool expand(const char *side, uint64_t step, struct buf *out)
{
    struct field f;

    buf_reset(out);
    for (const char *p = side; *p != '\0';) {
        if (*p == '\\' && p[1] != '\0') {
            if (p[1] != '$')
                buf_char(out, '\\');
            buf_char(out, p[1]);
            p += 2;
        } else if (*p != '$') {
            buf_char(out, *p++);
        } else if (p[1] == '$') {
            buf_char(out, '$');
            p += 2;
        } else {
            p = take_field(p + 1, &f);
            if ((int64_t)step + f.offset < 0)
                return false;
            add_field(out, &f, (int64_t)step + f.offset);
        }
    }
    return !out->over;
}

struct each {
    const struct masterfile *m;
    const struct masterfile_generate *g;
    const char *name;
    masterfile_generate_cb *cb;
    void *arg;
    struct arena *arena;
};

/* Reports step if it makes the name. */
static void try_step(const struct each *x, uint64_t step)
{
    const struct masterfile_item *it = &x->m->items[x->g->item];
    const char *owner;
    char *data;
    struct buf b;

    if (step < x->g->start || step > x->g->stop ||
        (step - x->g->start) % x->g->step != 0)
        return;
    buf_init(&b, NAME_SIZE * 4);
    if (!expand(x->g->lhs, step, &b))
        goto out;
    owner = masterfile_name(x->arena, buf_get(&b), b.len, it->origin);
    if (owner == NULL || strcmp(owner, x->name) != 0 ||
        !expand(x->g->rhs, step, &b))
        goto out;
    if (rr_data_canon((enum rr_type)it->type, buf_get(&b), it->origin, &data,
                      NULL) == 0)
        x->cb(x->arg, it, data);
out:
    buf_fini(&b);
}

/* The number that n bytes at s show in base, or false. */
static bool read_digits(const char *s, size_t n, char base, uint64_t *out)
{
    unsigned radix = base == 'd' ? 10 : base == 'o' ? 8 : 16;
    uint64_t v = 0, place = 1;

    for (size_t i = 0; i < n; i++) {
        unsigned d = s[i] >= '0' && s[i] <= '9'   ? (unsigned)(s[i] - '0')
                     : s[i] >= 'a' && s[i] <= 'f' ? (unsigned)(s[i] - 'a' + 10)
                                                  : 16;
        if (s[i] == '.' && (base == 'n' || base == 'N'))
            continue;
        if (d >= radix)
            return false;
        if (base == 'n' || base == 'N') {
            if (place > UINT32_MAX && d != 0)
                return false;
            v += place > UINT32_MAX ? 0 : d * place;
            place = place > UINT32_MAX ? place : place * 16;
        } else {
            v = v * radix + d;
        }
        if (v > (uint64_t)UINT32_MAX * 2)
            return false;
    }
    *out = v;
    return true;
}

static size_t common_prefix(const char *lhs, const char *name)
{
    size_t n = 0;

    for (; lhs[n] != '\0' && lhs[n] != '$' && lhs[n] != '\\'; n++) {
        char c = lhs[n] >= 'A' && lhs[n] <= 'Z' ? (char)(lhs[n] + 32) : lhs[n];

        if (c != name[n])
            return SIZE_MAX;
    }
    return n;
}

/* Each number that the name may show in the place of the first '$'. */
static void try_numbers(const struct each *x, size_t prefix)
{
    const char *digits = x->name + prefix;
    uint64_t v, tried[DIGITS_MAX];
    size_t ntried = 0;
    struct field f;

    (void)take_field(x->g->lhs + prefix + 1, &f);
    for (size_t n = 1; n <= DIGITS_MAX && digits[n - 1] != '\0'; n++) {
        int64_t step;
        bool again = false;

        if (!read_digits(digits, n, f.base, &v))
            break;
        step = (int64_t)v - f.offset;
        for (size_t i = 0; i < ntried; i++)
            again |= tried[i] == v;
        if (step < 0 || again)
            continue;
        tried[ntried++] = v;
        try_step(x, (uint64_t)step);
    }
}

static int each_of_line(const struct each *x, struct err *e)
{
    const struct masterfile_item *it = &x->m->items[x->g->item];
    size_t prefix = common_prefix(x->g->lhs, x->name);
    const char *owner;

    if (strchr(x->g->lhs, '$') != NULL) {
        if (prefix != SIZE_MAX && x->g->lhs[prefix] == '$')
            try_numbers(x, prefix);
        return 0;
    }
    owner = masterfile_name(x->arena, x->g->lhs, strlen(x->g->lhs), it->origin);
    if (owner == NULL || strcmp(owner, x->name) != 0)
        return 0;
    if ((x->g->stop - x->g->start) / x->g->step >= ALL_STEPS_MAX)
        return err_set(
            e, ERR_LIMIT, "%s:%u: $GENERATE makes more than %u records for %s",
            x->m->files[it->file].path, it->line, ALL_STEPS_MAX, x->name);
    for (uint64_t s = x->g->start; s <= x->g->stop; s += x->g->step)
        try_step(x, s);
    return 0;
}

int masterfile_generate_each(const struct masterfile *m, const char *name,
                             masterfile_generate_cb *cb, void *arg,
                             struct err *e)
{
    struct each x = {.m = m, .name = name, .cb = cb, .arg = arg};
    int r = 0;

    if (m->ngens == 0)
        return 0;
    x.arena = arena_new();
    for (size_t i = 0; i < m->ngens && r == 0; i++) {
        x.g = &m->gens[i];
        r = each_of_line(&x, e);
    }
    arena_free(x.arena);
    return r;
}
