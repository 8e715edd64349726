#include <stdlib.h>
#include <string.h>

#include "providers/rfc2136/rfc2136.h"

/* A change set: its values gathered into sets. */

struct applying {
    struct rfc2136 *p;
    struct arena *arena;
    struct change_set set;      /* copied into the arena */
    struct message_rdata *data; /* of each change; data NULL: bad */
    struct change_result *results;
    size_t *order; /* of the changes, by name and type */
    struct rfc2136_edit_set *sets;
    size_t nsets;
    size_t *first; /* of each set, in order; nsets + 1 of them */
    provider_apply_cb *cb;
    void *arg;
};

/* ---- what a set shall be ------------------------------------------------- */

static void drop(struct rfc2136_set *s, const struct message_rdata *r,
                 struct message_rdata *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++)
        if (!rfc2136_rdata_equal(s->type, &s->v[i], r))
            v[kept++] = v[i];
    s->n = kept;
}

static int want(void *arg, size_t i, const struct rfc2136_set *now,
                const struct rfc2136_soa *soa, struct arena *a,
                struct rfc2136_set *out, struct err *e)
{
    const struct applying *ap = arg;
    size_t n = ap->first[i + 1] - ap->first[i];
    struct message_rdata *v = arena_array(a, now->n + n, sizeof *v);
    int64_t ttl_s = -1;

    (void)e;
    for (size_t k = 0; k < now->n; k++)
        v[k] = now->v[k];
    out->v = v;
    out->n = now->n;
    for (size_t k = ap->first[i]; k < ap->first[i + 1]; k++) {
        const struct change *c = &ap->set.v[ap->order[k]];
        const struct message_rdata *r = &ap->data[ap->order[k]];

        if (r->data == NULL)
            continue;
        if (c->op == CHANGE_WITHDRAW) {
            drop(out, r, v);
            continue;
        }
        if (!rfc2136_set_has(out, r))
            v[out->n++] = *r;
        if (c->ttl_s >= 0 && (ttl_s < 0 || c->ttl_s < ttl_s))
            ttl_s = c->ttl_s;
    }
    out->ttl_s = now->n > 0 ? now->ttl_s : soa->ttl_s;
    if (ttl_s >= 0)
        out->ttl_s = ttl_s > INT32_MAX ? INT32_MAX : (uint32_t)ttl_s;
    return 0;
}

/* ---- results ------------------------------------------------------------- */

static bool is_so(const struct change *c, const struct rfc2136_edit_set *s,
                  const struct message_rdata *r)
{
    return s->is_fresh &&
           rfc2136_set_has(&s->now, r) == (c->op == CHANGE_PUBLISH);
}

static void finish(void *arg, const struct rfc2136_edited *d)
{
    struct applying *ap = arg;
    struct rfc2136 *p = ap->p;
    struct provider_apply r = {.err = d->err,
                               .results = ap->results,
                               .n = ap->set.n,
                               .has_serial = d->has_serial,
                               .serial = d->serial};

    for (size_t i = 0; i < ap->nsets; i++) {
        for (size_t k = ap->first[i]; k < ap->first[i + 1]; k++) {
            size_t c = ap->order[k];

            if (ap->data[c].data == NULL)
                continue; /* failed already */
            if (!is_so(&ap->set.v[c], &d->sets[i], &ap->data[c]))
                ap->results[c] = d->sets[i].result;
        }
    }
    for (size_t c = 0; c < ap->set.n; c++)
        if (ap->results[c].state == CHANGE_FAILED)
            provider_skip_after(&ap->set, c, ap->results);
    ap->cb(ap->arg, &r);
    arena_free(ap->arena);
    free(ap);
    rfc2136_leave(p);
}

/* ---- gathering ----------------------------------------------------------- */

static int compare(const void *a, const void *b, void *arg)
{
    const struct applying *ap = arg;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    int c = strcmp(ap->set.v[i].name, ap->set.v[k].name);

    if (c == 0)
        c = (int)ap->set.v[i].type - (int)ap->set.v[k].type;
    if (c == 0)
        c = i < k ? -1 : 1;
    return c;
}

static void gather(struct applying *ap)
{
    size_t n = ap->set.n;

    ap->order = arena_array(ap->arena, n, sizeof *ap->order);
    ap->sets = arena_array(ap->arena, n, sizeof *ap->sets);
    ap->first = arena_array(ap->arena, n + 1, sizeof *ap->first);
    for (size_t i = 0; i < n; i++)
        ap->order[i] = i;
    if (n > 1)
        qsort_r(ap->order, n, sizeof *ap->order, compare, ap);
    for (size_t k = 0; k < n; k++) {
        const struct change *c = &ap->set.v[ap->order[k]];
        struct rfc2136_set *last =
            ap->nsets > 0 ? &ap->sets[ap->nsets - 1].now : NULL;

        if (last == NULL || last->type != c->type ||
            strcmp(last->name, c->name) != 0) {
            ap->first[ap->nsets] = k;
            last = &ap->sets[ap->nsets++].now;
            last->name = c->name;
            last->type = c->type;
        }
    }
    ap->first[ap->nsets] = n;
}

static void copy_changes(struct applying *ap, const struct change_set *set,
                         bool *confirm)
{
    struct change *v = arena_array(ap->arena, set->n, sizeof *v);

    ap->data = arena_array(ap->arena, set->n, sizeof *ap->data);
    ap->results = arena_array(ap->arena, set->n, sizeof *ap->results);
    for (size_t i = 0; i < set->n; i++) {
        v[i] = set->v[i];
        v[i].name = arena_strdup(ap->arena, set->v[i].name);
        v[i].data = arena_strdup(ap->arena, set->v[i].data);
        *confirm = *confirm || v[i].confirm;
        if (rfc2136_rdata_make(ap->arena, v[i].type, v[i].data, &ap->data[i],
                               &ap->results[i].err) != 0)
            ap->results[i].state = CHANGE_FAILED;
    }
    ap->set = *set;
    ap->set.zone = arena_strdup(ap->arena, set->zone);
    ap->set.v = v;
}

void rfc2136_apply(struct provider *base, const struct change_set *set,
                   provider_apply_cb *cb, void *arg)
{
    struct rfc2136 *p = (struct rfc2136 *)base;
    struct applying *ap = mem_alloc(sizeof *ap);
    struct rfc2136_edit_order o = {.want = want, .done = finish, .arg = ap};
    bool confirm = false;

    rfc2136_enter(p);
    ap->p = p;
    ap->arena = arena_new();
    ap->cb = cb;
    ap->arg = arg;
    copy_changes(ap, set, &confirm);
    gather(ap);
    o.zone = ap->set.zone;
    o.arena = ap->arena;
    o.sets = ap->sets;
    o.n = ap->nsets;
    o.from_memory = !confirm;
    rfc2136_edit(p, &o);
}
