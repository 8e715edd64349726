#ifndef TESTS_UNIT_RANDOM_SPEC_H
#define TESTS_UNIT_RANDOM_SPEC_H

#include "agent/base/buf.h"
#include "tests/unit/property.h"

/* Random specs as JSON text: documents of members, each member kept apart so
 * that the same spec can be written in another order. */

#define RS_MEMBERS 16
#define RS_POOL 16384
#define RS_DOCS 3
#define RS_RECORDS 8
#define RS_TEXT 4096

struct rs_object {
    const char *member[RS_MEMBERS]; /* in the pool of its spec */
    size_t n;
};
struct rs_doc {
    struct rs_object members; /* without records */
    struct rs_object records[RS_RECORDS], fallback[RS_RECORDS];
    size_t nrecords, nfallback;
};
struct rs {
    struct rng *r;
    char pool[RS_POOL];
    size_t used;
    struct rs_doc docs[RS_DOCS];
    size_t ndocs;
    char dcs[4][16];
    bool local[4]; /* checks whose truth belongs to an address */
    size_t nchecks, ndcs, nscenarios;
};

__attribute__((format(printf, 3, 4))) static inline void
rs_add(struct rs *s, struct rs_object *o, const char *fmt, ...)
{
    va_list ap;
    int n;

    assert_true(o->n < RS_MEMBERS);
    va_start(ap, fmt);
    n = vsnprintf(s->pool + s->used, sizeof s->pool - s->used, fmt, ap);
    va_end(ap);
    assert_true(n > 0 && (size_t)n < sizeof s->pool - s->used);
    o->member[o->n++] = s->pool + s->used;
    s->used += (size_t)n + 1;
}

/* --- named things ------------------------------------------------------------
 */

static inline const char *rs_target(struct rs *s, char out[48])
{
    (void)snprintf(out, 48, "tcp:%u@198.51.100.%u", 22 + rng_below(s->r, 2),
                   1 + rng_below(s->r, 4));
    return out;
}

static inline void rs_checks(struct rs *s, struct buf *b)
{
    char target[48];

    s->nchecks = rng_below(s->r, 4);
    for (size_t i = 0; i < s->nchecks; i++) {
        s->local[i] = rng_percent(s->r, 50);
        if (s->local[i])
            buf_printf(b, "%s\"c%zu\":\"tcp:%zu\"", i > 0 ? "," : "", i,
                       80 + i);
        else
            buf_printf(b, "%s\"c%zu\":\"%s\"", i > 0 ? "," : "", i,
                       rs_target(s, target));
    }
}

static inline void rs_dimension(struct rs *s, struct buf *b, const char *name)
{
    uint32_t n = 1 + rng_below(s->r, 2);
    char target[48];

    buf_printf(b, "\"%s\":[", name);
    buf_printf(b, "\"%s\"", rs_target(s, target));
    if (n == 2)
        buf_printf(b, ",\"tcp:99@198.51.100.%u\"", 1 + rng_below(s->r, 4));
    buf_printf(b, "],");
}

static inline void rs_dc(struct rs *s, struct buf *b)
{
    static const char *const dims[] = {"wanAccess", "lanAccess", "access",
                                       "internet"};

    for (size_t d = 0; d < 4; d++)
        if (rng_percent(s->r, d == 0 ? 70 : 25))
            rs_dimension(s, b, dims[d]);
    if (rng_percent(s->r, 5))
        buf_printf(b, "\"maintenanceMode\":true,");
    if (rng_percent(s->r, 25))
        buf_printf(b, "\"noResponse\":true,");
    if (rng_percent(s->r, 25))
        buf_printf(b, "\"onlyNew\":\"%us\",", 5 + rng_below(s->r, 90));
    for (size_t i = 0; i < s->nchecks; i++)
        if (!s->local[i] && rng_percent(s->r, 10)) {
            buf_printf(b, "\"fresh\":\"c%zu\",", i);
            break;
        }
    buf_printf(b, "\"comment\":\"\"");
}

static inline void rs_dcs(struct rs *s, struct buf *b)
{
    s->ndcs = rng_below(s->r, 4);
    for (size_t i = 0; i < s->ndcs; i++) {
        (void)snprintf(s->dcs[i], sizeof s->dcs[i], "d%u", (unsigned char)i);
        buf_printf(b, "%s\"d%zu\":{", i > 0 ? "," : "", i);
        rs_dc(s, b);
        buf_printf(b, "}");
    }
}

/* One condition; "" when there is nothing to name. */
static inline const char *rs_atom(struct rs *s, char out[64])
{
    static const char *const states[] = {"ok", "noLan", "noWan", "noAccess",
                                         "noInternet"};
    const char *not = rng_percent(s->r, 30) ? "!" : "";
    uint32_t kind = rng_below(s->r, 8);
    const char *dc =
        s->ndcs > 0 ? s->dcs[rng_below(s->r, (uint32_t)s->ndcs)] : NULL;

    out[0] = '\0';
    if (kind == 0 && dc != NULL)
        (void)snprintf(out, 64, "\"%sauto|%s|maintenanceMode\"", not, dc);
    else if (kind == 1 && dc != NULL)
        (void)snprintf(out, 64, "\"%s%s.%s\"", not, dc,
                       states[rng_below(s->r, 5)]);
    else if (kind < 4 && s->nscenarios > 0)
        (void)snprintf(out, 64, "\"%ss%u\"", not,
                       rng_below(s->r, (uint32_t)s->nscenarios));
    else if (kind < 6 && dc != NULL)
        (void)snprintf(out, 64, "\"%s%s\"", not, dc);
    else if (s->nchecks > 0)
        (void)snprintf(out, 64, "\"%sc%u\"", not,
                       rng_below(s->r, (uint32_t)s->nchecks));
    else if (dc != NULL)
        (void)snprintf(out, 64, "\"%s%s\"", not, dc);
    return out;
}

/* returns false when there is nothing to name. */
static inline bool rs_condition(struct rs *s, char *out, size_t size)
{
    char a[64], b[64], c[64];

    if (rs_atom(s, a)[0] == '\0')
        return false;
    (void)rs_atom(s, b);
    (void)rs_atom(s, c);
    switch (rng_below(s->r, 4)) {
    case 0:
        (void)snprintf(out, size, "[[%s,%s],[%s]]", a, b, c);
        break;
    case 1:
        (void)snprintf(out, size, "{\"need\":%u,\"of\":[%s,%s,%s]}",
                       1 + rng_below(s->r, 3), a, b, c);
        break;
    default:
        (void)snprintf(out, size, "%s", a);
    }
    return true;
}

static inline void rs_scenarios(struct rs *s, struct buf *b)
{
    size_t n = rng_below(s->r, 3);
    char text[240], x[64], y[64];

    for (size_t i = 0; i < n; i++) {
        if (rs_atom(s, x)[0] == '\0')
            return;
        (void)rs_atom(s, y);
        (void)snprintf(text, sizeof text, "[[%s%s%s]]", x,
                       rng_percent(s->r, 50) ? "],[" : ",", y);
        buf_printf(b, "%s\"s%zu\":%s", i > 0 ? "," : "", i, text);
        s->nscenarios++;
    }
}

/* --- records -----------------------------------------------------------------
 */

static inline void rs_rules(struct rs *s, struct rs_object *o)
{
    char when[260];

    if (rng_percent(s->r, 60))
        rs_add(s, o, "\"check\":%u", 80 + rng_below(s->r, 2));
    else if (s->nchecks > 0 && rng_percent(s->r, 60))
        rs_add(s, o, "\"check\":\"c%u\"",
               rng_below(s->r, (uint32_t)s->nchecks));
    if (s->ndcs > 0 && rng_percent(s->r, 50))
        rs_add(s, o, "\"dc\":\"d%u\"", rng_below(s->r, (uint32_t)s->ndcs));
    if (rng_percent(s->r, 25) && rs_condition(s, when, sizeof when))
        rs_add(s, o, "\"if\":%s", when);
    if (rng_percent(s->r, 20))
        rs_add(s, o, "\"returnAfter\":\"%us\"", 5 + rng_below(s->r, 120));
    if (rng_percent(s->r, 10))
        rs_add(s, o, "\"return\":\"manual\"");
    if (rng_percent(s->r, 20))
        rs_add(s, o, "\"ttl\":%u", 30 + rng_below(s->r, 100));
}

static inline void rs_dr(struct rs *s, struct rs_object *o)
{
    char when[260];

    if (!rng_percent(s->r, 25))
        return;
    if (rng_percent(s->r, 60) && rs_condition(s, when, sizeof when))
        rs_add(s, o, "\"drCond\":%s", when);
    else
        rs_add(s, o, "\"drIfNoRecords\":true");
}

/* kind: 0 A of the owner, 1 AAAA, 2 CNAME below it */
static inline void rs_records(struct rs *s, uint32_t kind, size_t n, bool prio,
                              bool fallback)
{
    size_t first = rng_below(s->r, 6);

    for (size_t i = 0; i < n; i++) {
        struct rs_doc *d = &s->docs[rng_below(s->r, (uint32_t)s->ndocs)];
        struct rs_object *o =
            fallback ? &d->fallback[d->nfallback] : &d->records[d->nrecords];
        char data[48];

        if ((fallback ? d->nfallback : d->nrecords) == RS_RECORDS)
            return;
        *(fallback ? &d->nfallback : &d->nrecords) += 1;
        (void)snprintf(data, sizeof data, "%s%zu%s",
                       kind == 0   ? "192.0.2."
                       : kind == 1 ? "2001:db8::"
                                   : "host",
                       1 + (first + i) % 6, kind == 2 ? ".example.net." : "");
        rs_add(s, o, "\"data\":\"%s\"", data);
        if (kind == 2)
            rs_add(s, o, "\"name\":\"cdn.www\"");
        if (prio)
            rs_add(s, o, "\"prio\":%zu", 1 + i);
        rs_rules(s, o);
        if (!fallback)
            rs_dr(s, o);
    }
}

static inline void rs_set_rules(struct rs *s, struct rs_object *o)
{
    static const char *const ends[] = {"keep", "all", "none"};

    if (rng_percent(s->r, 40))
        rs_add(s, o, "\"order\":\"priority\"");
    if (rng_percent(s->r, 20))
        rs_add(s, o, "\"take\":%u", 1 + rng_below(s->r, 3));
    if (rng_percent(s->r, 70))
        rs_add(s, o, "\"allDown\":\"%s\"", ends[rng_below(s->r, 3)]);
    if (rng_percent(s->r, 40))
        rs_add(s, o, "\"damping\":false");
    rs_add(s, o,
           "\"defaults\":{\"requiredSuccess\":%u,\"requiredFailure\":%u,"
           "\"accessPeriod\":\"10s\"}",
           1 + rng_below(s->r, 3), 1 + rng_below(s->r, 3));
}

static inline struct rs_object *rs_some_doc(struct rs *s)
{
    return &s->docs[rng_below(s->r, (uint32_t)s->ndocs)].members;
}

static inline void rs_named(struct rs *s, const char *member,
                            void (*write)(struct rs *, struct buf *))
{
    struct rs_object *o = rs_some_doc(s);
    struct buf b;

    buf_init(&b, RS_TEXT);
    write(s, &b);
    if (b.len > 0)
        rs_add(s, o, "\"%s\":{%s}", member, buf_get(&b));
    buf_fini(&b);
}

static inline void rs_make(struct rs *s, struct rng *r)
{
    memset(s->docs, 0, sizeof s->docs);
    s->used = s->nchecks = s->ndcs = s->nscenarios = 0;
    s->r = r;
    s->ndocs = rng_percent(r, 70) ? 1 : 2 + rng_below(r, RS_DOCS - 1);
    rs_named(s, "checks", rs_checks);
    rs_named(s, "dcs", rs_dcs);
    rs_named(s, "scenarios", rs_scenarios);
    rs_set_rules(s, rs_some_doc(s));
    rs_records(s, 0, 1 + rng_below(r, 4), s->ndocs > 1, false);
    if (rng_percent(r, 40))
        rs_records(s, 0, 1 + rng_below(r, 2), s->ndocs > 1, true);
    if (rng_percent(r, 15))
        rs_records(s, 1, 1 + rng_below(r, 2), s->ndocs > 1, false);
    if (rng_percent(r, 15))
        rs_records(s, 2, 1 + rng_below(r, 3), s->ndocs > 1, false);
}

/* --- writing -----------------------------------------------------------------
 */

/* A random order of n things; NULL: as they stand. */
static inline void rs_order(struct rng *r, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; r != NULL && i > 1; i--) {
        size_t k = rng_below(r, (uint32_t)i), t = order[k];

        order[k] = order[i - 1];
        order[i - 1] = t;
    }
}

static inline void rs_write_members(const struct rs_object *o, struct rng *r,
                                    struct buf *b)
{
    size_t order[RS_MEMBERS];

    rs_order(r, order, o->n);
    for (size_t i = 0; i < o->n; i++)
        buf_printf(b, "%s%s", i > 0 ? "," : "", o->member[order[i]]);
}

static inline void rs_write_list(const char *name, const struct rs_object *o,
                                 size_t n, struct rng *r, struct buf *b)
{
    buf_printf(b, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "%s{", i > 0 ? "," : "");
        rs_write_members(&o[i], r, b);
        buf_printf(b, "}");
    }
    buf_printf(b, "]");
}

/* r: members in random order; NULL: as made. */
static inline void rs_write(const struct rs_doc *d, struct rng *r,
                            struct buf *b)
{
    buf_printf(b, "{");
    rs_write_members(&d->members, r, b);
    if (d->members.n > 0)
        buf_printf(b, ",");
    rs_write_list("records", d->records, d->nrecords, r, b);
    if (d->nfallback > 0) {
        buf_printf(b, ",");
        rs_write_list("fallbackRecords", d->fallback, d->nfallback, r, b);
    }
    buf_printf(b, "}");
}

#endif
