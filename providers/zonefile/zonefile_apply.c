#include "providers/zonefile/zonefile_impl.h"

#include <stdlib.h>

/* A change set as one rewrite of the zone file. */

struct applying {
    struct arena *arena;
    struct change_set set; /* copied into the arena */
    struct change_result *results;
    provider_apply_cb *cb;
    void *arg;
};

static int edit(void *arg, const struct masterfile *m, uint32_t serial,
                struct buf *out, bool *changed, struct err *e)
{
    struct applying *ap = arg;

    return masterfile_edit(m, ap->set.v, ap->set.n, serial, ap->results, out,
                           changed, e);
}

static void done(void *arg, const struct zonefile_rewritten *w)
{
    struct applying *ap = arg;
    struct provider_apply r = {.err = w->err,
                               .results = ap->results,
                               .n = ap->set.n,
                               .has_serial = w->has_serial,
                               .serial = w->serial};

    for (size_t i = 0; i < ap->set.n && w->state != CHANGE_DONE; i++) {
        if (ap->results[i].state != CHANGE_DONE)
            continue;
        ap->results[i].state = w->state;
        ap->results[i].err = w->why;
    }
    ap->cb(ap->arg, &r);
    arena_free(ap->arena);
    free(ap);
}

void zonefile_apply(struct provider *p, const struct change_set *set,
                    provider_apply_cb *cb, void *arg)
{
    struct applying *ap = mem_alloc(sizeof *ap);
    struct zonefile_rewrite what = {
        .zone = set->zone, .edit = edit, .done = done, .arg = ap};
    struct change *v;

    ap->arena = arena_new();
    ap->cb = cb;
    ap->arg = arg;
    ap->results = arena_array(ap->arena, set->n, sizeof *ap->results);
    v = arena_array(ap->arena, set->n, sizeof *v);
    for (size_t i = 0; i < set->n; i++) {
        v[i] = set->v[i];
        v[i].name = arena_strdup(ap->arena, set->v[i].name);
        v[i].data = arena_strdup(ap->arena, set->v[i].data);
        what.confirm = what.confirm || v[i].confirm;
    }
    ap->set.v = v;
    ap->set.n = set->n;
    zonefile_rewrite((struct zonefile *)p, &what);
}
