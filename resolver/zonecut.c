#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/op.h"
#include "resolver/resolver.h"

#define TARGETS_MAX 32 /* a delegation has 13 at most in practice */
#define ADDRS_MAX 16   /* of one target and family */
#define DNS_PORT 53

/* The servers of one zone: its NS set, then two questions for each target,
 * all at once; the result is put together when the last answer is in. */
struct find {
    struct op op; /* first */
    struct resolver *resolver;
    char zone[NAME_SIZE];
    bool want_ad;
    struct arena *arena;
    struct target *targets; /* sorted by name */
    const char **names;
    size_t ntargets;
    size_t open; /* questions without an answer */
    struct err err;
    struct loop_timer *timer;
    resolver_zone_cb *cb;
    void *arg;
};

struct side { /* the addresses of one family */
    struct target *target;
    uint16_t type;
    struct addr addrs[ADDRS_MAX];
    size_t n;
    struct err err; /* set when the question failed */
};

struct target {
    struct find *find;
    const char *name;
    struct side sides[2]; /* A, AAAA */
};

static void free_find(struct op *op)
{
    struct find *f = (struct find *)op;

    loop_timer_cancel(f->timer);
    free(f->targets);
    arena_free(f->arena);
    free(f);
}

static void finish(struct find *f, struct resolver_zone *z)
{
    z->apex = f->zone;
    op_remove(f->resolver, &f->op);
    f->cb(f->arg, z);
    free_find(&f->op);
}

static void fail(void *arg)
{
    struct find *f = arg;
    struct resolver_zone z = {0};

    f->timer = NULL;
    z.err = f->err;
    finish(f, &z);
}

static int by_addr(const void *a, const void *b)
{
    return addr_compare(a, b);
}

static void add_addr(struct addr *all, size_t *n, const struct addr *a)
{
    for (size_t i = 0; i < *n; i++)
        if (addr_equal(&all[i], a))
            return;
    all[*n] = *a;
    all[(*n)++].port = DNS_PORT;
}

static void put_together(struct find *f)
{
    struct resolver_zone z = {0};
    struct addr *all =
        arena_array(f->arena, f->ntargets * 2 * ADDRS_MAX, sizeof *all);
    struct err *why = NULL; /* set when there is a target without address */

    for (size_t i = 0; i < f->ntargets; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct side *s = &f->targets[i].sides[k];

            qsort(s->addrs, s->n, sizeof s->addrs[0], by_addr);
            for (size_t j = 0; j < s->n; j++)
                add_addr(all, &z.nservers, &s->addrs[j]);
            if (s->err.code != ERR_NONE)
                op_join_error(&why, &s->err);
        }
    }
    z.servers = all;
    z.ns_names = f->names;
    z.nns_names = f->ntargets;
    if (z.nservers == 0)
        (void)err_set(&z.err, ERR_RETRY,
                      "none of the %zu name servers of %s has an address: "
                      "%.600s",
                      f->ntargets, f->zone, why != NULL ? why->msg : "");
    free(why);
    finish(f, &z);
}

static void on_addrs(void *arg, const struct resolver_answer *a)
{
    struct side *s = arg;
    struct find *f = s->target->find;
    uint32_t ttl_s;

    if (a->outcome == RESOLVER_FOUND) {
        s->n = message_addrs(a->message, NULL, s->type, s->addrs, ADDRS_MAX,
                             &ttl_s);
        if (s->n > ADDRS_MAX)
            s->n = ADDRS_MAX;
    } else {
        s->err = a->err;
    }
    if (--f->open == 0)
        put_together(f);
}

static int by_name(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* The targets' names, sorted, without doubles, out of the message's hands. */
static void keep_names(struct find *f, const char *const *names, size_t n)
{
    size_t kept = 0;

    f->names = arena_array(f->arena, n, sizeof *f->names);
    for (size_t i = 0; i < n; i++)
        f->names[i] = arena_strdup(f->arena, names[i]);
    qsort(f->names, n, sizeof *f->names, by_name);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !name_equal(f->names[kept - 1], f->names[i]))
            f->names[kept++] = f->names[i];
    f->ntargets = kept < TARGETS_MAX ? kept : TARGETS_MAX;
}

static void ask_addrs(struct find *f)
{
    static const uint16_t types[2] = {MESSAGE_A, MESSAGE_AAAA};

    f->targets = mem_array(f->ntargets, sizeof *f->targets);
    f->open = 2 * f->ntargets;
    for (size_t i = 0; i < f->ntargets; i++) {
        struct target *t = &f->targets[i];

        t->find = f;
        t->name = f->names[i];
        for (size_t k = 0; k < 2; k++) {
            t->sides[k].target = t;
            t->sides[k].type = types[k];
            resolver_lookup(f->resolver, t->name, types[k], f->want_ad,
                            on_addrs, &t->sides[k]);
        }
    }
}

static void on_ns(void *arg, const struct resolver_answer *a)
{
    struct find *f = arg;
    const char *const *names;
    size_t n = 0;

    if (a->outcome != RESOLVER_FOUND) {
        f->err = a->err;
        (void)err_wrap(&f->err, "name servers of %s", f->zone);
        fail(f);
        return;
    }
    names = message_targets(a->message, f->zone, MESSAGE_NS, &n);
    if (n == 0) {
        (void)err_set(&f->err, ERR_NOTFOUND,
                      "%s has no name servers of its own: it is not a zone",
                      f->zone);
        fail(f);
        return;
    }
    keep_names(f, names, n);
    ask_addrs(f);
}

void resolver_find_servers(struct resolver *r, const char *zone, bool want_ad,
                           resolver_zone_cb *cb, void *arg)
{
    struct find *f = mem_alloc(sizeof *f);

    f->op.drop = free_find;
    f->resolver = r;
    f->want_ad = want_ad;
    f->arena = arena_new();
    f->cb = cb;
    f->arg = arg;
    op_add(r, &f->op);
    if (name_canon(zone, f->zone, &f->err) != 0)
        f->timer = loop_timer_start(op_loop(r), 0, fail, f);
    else
        resolver_lookup(r, f->zone, MESSAGE_NS, want_ad, on_ns, f);
}
