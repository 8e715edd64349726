#include "specs/check.h"
#include "specs/sets.h"
#include "specs/walk.h"

#include <stdlib.h>
#include <string.h>

/* Which checks each record uses, and where they go. */

struct target {
    struct addr addr;
    enum spec_check_kind kind;
};

struct uses {
    struct spec_reader *r;
    const struct spec_record *rec;
    struct target *targets;
    size_t n, cap;
};

static void add_target(struct uses *u, const struct spec_check *c,
                       const struct addr *a, uint16_t port)
{
    struct target *t;

    if (u->r->ctx->max_targets == 0)
        return;
    u->targets = mem_grow(u->targets, &u->cap, u->n, sizeof *u->targets);
    t = &u->targets[u->n++];
    t->addr = *a;
    t->addr.port = port;
    t->kind = c->kind;
}

/* rec NULL: of a dc. */
static int use_check(void *arg, const struct spec_check *c)
{
    struct uses *u = arg;
    const struct spec_record *rec = u->rec;

    if (rec != NULL && rec->name[0] == '*' && spec_check_wants_host(c)) {
        char what[160];
        bool host = spec_check_forms[c->kind].rest == SPEC_REST_PATH;

        return err_set(u->r->e, ERR_INPUT,
                       "%s %s: the wildcard %s gives no host for the check "
                       "%s (%s); accepted: a %s with \"%s\"",
                       u->r->where, rec->pointer, rec->name,
                       spec_check_text(c, what, sizeof what), c->pointer,
                       host ? "URL, or a check object" : "check object",
                       host ? "host" : "serverName");
    }
    for (size_t i = 0; i < c->ntargets; i++)
        add_target(u, c, &c->targets[i], c->targets[i].port);
    if (c->target.family != 0)
        add_target(u, c, &c->target, c->port);
    else if (c->ntargets == 0 && rec != NULL && rec->addr.family != 0)
        add_target(u, c, &rec->addr, c->port);
    return 0;
}

static int use_record(struct uses *u, struct spec_walk *w,
                      const struct spec_record *rec)
{
    u->rec = rec;
    return spec_walk_record(w, rec);
}

static int use_all(struct uses *u, struct spec_walk *w)
{
    const struct spec *s = w->spec;

    for (size_t i = 0; i < s->nsets; i++) {
        const struct spec_set *set = &s->sets[i];

        for (size_t k = 0; k < set->nrecords; k++)
            if (use_record(u, w, &set->records[k]) != 0)
                return -1;
        for (size_t k = 0; k < set->nfallback; k++)
            if (use_record(u, w, &set->fallback[k]) != 0)
                return -1;
    }
    u->rec = NULL;
    for (size_t i = 0; i < s->ndcs; i++)
        if (spec_walk_dc(w, i) != 0)
            return -1;
    return 0;
}

static int compare_target(const struct target *a, const struct target *b)
{
    int c = (int)a->kind - (int)b->kind;

    if (c == 0)
        c = (int)a->addr.port - (int)b->addr.port;
    return c != 0 ? c : addr_compare(&a->addr, &b->addr);
}

static int by_target(const void *a, const void *b)
{
    return compare_target(a, b);
}

static int check_limit(struct uses *u)
{
    size_t distinct = 0, max = u->r->ctx->max_targets;

    /* Most specs have fewer uses than they may have targets. */
    if (max == 0 || u->n <= max)
        return 0;
    qsort(u->targets, u->n, sizeof *u->targets, by_target);
    for (size_t i = 0; i < u->n; i++)
        distinct +=
            i == 0 || compare_target(&u->targets[i - 1], &u->targets[i]) != 0;
    if (distinct <= max)
        return 0;
    return err_set(u->r->e, ERR_LIMIT,
                   "%s: found %zu targets (address and port); accepted: at "
                   "most %zu (max-targets in the agent's file)",
                   u->r->where, distinct, max);
}

int spec_sets_check_uses(struct spec_reader *r, const struct spec *s)
{
    struct uses u = {.r = r};
    struct spec_walk w = {.spec = s, .visit = use_check, .arg = &u};
    int rc;

    spec_walk_init(&w);
    rc = use_all(&u, &w);
    if (rc == 0)
        rc = check_limit(&u);
    free(u.targets);
    spec_walk_fini(&w);
    return rc;
}
