#include "providers/zonefile/masterfile_plan_impl.h"

#include <stdlib.h>
#include <string.h>

/* From changes of values to what becomes of each record. */

/* Where an item stands, for messages. */
static const char *place(const struct masterfile_plan_work *w, size_t item)
{
    const struct masterfile_item *it = &w->m->items[item];

    return arena_printf(w->arena, "%s:%u", w->m->files[it->file].path,
                        it->line);
}

static int decide_withdraw(struct masterfile_plan_work *w, size_t i,
                           struct masterfile_plan_value *v)
{
    struct err *e = &w->results[i].err;

    if (v->generated != SIZE_MAX)
        return err_set(e, ERR_UNSUPPORTED,
                       "made by $GENERATE at %s; write it as a line of its own "
                       "to have it managed",
                       place(w, v->generated));
    if (v->foreign != SIZE_MAX)
        return err_set(e, ERR_UNSUPPORTED,
                       "stands in the included file at %s; only the zone's "
                       "main file is edited: move the record there",
                       place(w, v->foreign));
    if (v->rows_on > 0)
        v->act = MASTERFILE_ACT_OFF;
    return 0;
}

static int decide_publish(struct masterfile_plan_work *w, size_t i,
                          struct masterfile_plan_value *v)
{
    struct masterfile_plan_set *s = &w->sets[v->set];
    int64_t ttl_s = w->v[i].ttl_s;

    if (v->rows_on > 0 || v->generated != SIZE_MAX)
        return 0;
    if (s->type == RR_CNAME && strcmp(s->owner, w->m->zone) == 0)
        return err_set(&w->results[i].err, ERR_INPUT,
                       "a CNAME cannot stand at the zone's apex");
    v->act = v->rows_off > 0 ? MASTERFILE_ACT_ON : MASTERFILE_ACT_FRESH;
    if (ttl_s >= 0 && (s->ttl_s < 0 || ttl_s < s->ttl_s))
        s->ttl_s = ttl_s;
    return 0;
}

static void decide(struct masterfile_plan_work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct masterfile_plan_value *v;
        struct masterfile_plan_name *nm;
        int r;

        if (w->value_of[i] == SIZE_MAX)
            continue;
        v = &w->values[w->value_of[i]];
        nm = &w->names[w->sets[v->set].name];
        if (nm->err.code != ERR_NONE) {
            w->results[i].err = nm->err;
            r = -1;
        } else if (w->v[i].op == CHANGE_PUBLISH) {
            r = decide_publish(w, i, v);
        } else {
            r = decide_withdraw(w, i, v);
        }
        if (r != 0)
            (void)masterfile_refuse(w, i, w->results[i].err.code);
    }
}

/* Fails the publishes of sets of a name (set SIZE_MAX) or of one set. */
static void fail_publishes(struct masterfile_plan_work *w, size_t name,
                           size_t set, const struct err *why)
{
    for (size_t i = 0; i < w->n; i++) {
        struct masterfile_plan_value *v =
            w->value_of[i] != SIZE_MAX ? &w->values[w->value_of[i]] : NULL;

        if (v == NULL || w->v[i].op != CHANGE_PUBLISH ||
            (v->act != MASTERFILE_ACT_ON && v->act != MASTERFILE_ACT_FRESH) ||
            w->sets[v->set].name != name || (set != SIZE_MAX && set != v->set))
            continue;
        w->results[i].err = *why;
        (void)masterfile_refuse(w, i, why->code);
        v->act = MASTERFILE_ACT_NONE;
    }
}

/* A CNAME stands alone. source: RFC 1034 3.6.2, RFC 2181 10.1 */
static void check_cname(struct masterfile_plan_work *w)
{
    size_t *addr = arena_array(w->arena, w->nnames, sizeof *addr);
    size_t *cname = arena_array(w->arena, w->nnames, sizeof *cname);
    bool *publish = arena_array(w->arena, w->nnames, sizeof *publish);

    for (size_t i = 0; i < w->nnames; i++) {
        addr[i] = w->names[i].addr;
        cname[i] = w->names[i].cname;
    }
    for (size_t i = 0; i < w->nvalues; i++) {
        const struct masterfile_plan_value *v = &w->values[i];
        const struct masterfile_plan_set *s = &w->sets[v->set];
        size_t *count = s->type == RR_CNAME ? cname : addr;

        if (v->act == MASTERFILE_ACT_OFF)
            count[s->name] -= v->rows_on;
        if (v->act == MASTERFILE_ACT_ON || v->act == MASTERFILE_ACT_FRESH) {
            count[s->name]++;
            publish[s->name] = true;
        }
    }
    for (size_t i = 0; i < w->nnames; i++) {
        struct err e;

        if (!publish[i] || cname[i] == 0 ||
            (cname[i] == 1 && addr[i] == 0 && w->names[i].other == 0))
            continue;
        (void)err_set(&e, ERR_INPUT,
                      "a CNAME would stand beside other records of the name");
        fail_publishes(w, i, SIZE_MAX, &e);
    }
}

/* One set has one TTL (RFC 2181 5.2): what stands elsewhere cannot follow. */
static void check_ttl(struct masterfile_plan_work *w)
{
    for (size_t i = 0; i < w->nmatches; i++) {
        const struct masterfile_item *it = &w->m->items[w->matches[i].item];

        if (it->file != 0)
            w->sets[w->matches[i].set].fixed = w->matches[i].item;
    }
    for (size_t i = 0; i < w->nsets; i++) {
        const struct masterfile_plan_set *s = &w->sets[i];
        struct err e;

        if (s->ttl_s < 0 || s->fixed == SIZE_MAX ||
            w->m->items[s->fixed].ttl == s->ttl_s)
            continue;
        (void)err_set(&e, ERR_UNSUPPORTED,
                      "TTL %lld: %s has a record of the set with TTL %u, and "
                      "only lines of the zone's main file are edited",
                      (long long)s->ttl_s, place(w, s->fixed),
                      w->m->items[s->fixed].ttl);
        fail_publishes(w, s->name, i, &e);
    }
}

/* A publish failed: what was to make room for it stays. */
static void skip_withdrawals(struct masterfile_plan_work *w)
{
    for (size_t f = 0; f < w->n; f++) {
        if (w->v[f].op != CHANGE_PUBLISH ||
            w->results[f].state != CHANGE_FAILED)
            continue;
        for (size_t i = 0; i < w->n; i++) {
            if (w->v[i].op != CHANGE_WITHDRAW || w->v[i].set != w->v[f].set ||
                w->results[i].state != CHANGE_DONE)
                continue;
            w->results[i].state = CHANGE_SKIPPED;
            w->values[w->value_of[i]].act = MASTERFILE_ACT_NONE;
        }
    }
}

static int compare_fresh(const void *a, const void *b)
{
    const struct masterfile_fresh *x = a, *y = b;
    int c;

    if (x->after != y->after)
        return x->after < y->after ? -1 : 1;
    c = strcmp(x->name, y->name);
    if (c == 0)
        c = (int)x->type - (int)y->type;
    return c != 0 ? c : strcmp(x->data, y->data);
}

static void fill_fresh(const struct masterfile_plan_work *w,
                       struct masterfile_plan *p)
{
    p->fresh = arena_array(p->arena, w->nvalues, sizeof *p->fresh);
    for (size_t i = 0; i < w->nvalues; i++) {
        const struct masterfile_plan_set *s = &w->sets[w->values[i].set];

        if (w->values[i].act != MASTERFILE_ACT_FRESH)
            continue;
        p->fresh[p->nfresh++] = (struct masterfile_fresh){
            .name = s->owner,
            .data = w->values[i].data,
            .type = s->type,
            .ttl_s = s->ttl_s >= 0 ? s->ttl_s : s->old_ttl_s,
            .after = s->last};
    }
    if (p->nfresh > 0)
        qsort(p->fresh, p->nfresh, sizeof *p->fresh, compare_fresh);
    p->changed |= p->nfresh > 0;
}

static void fill_plan(const struct masterfile_plan_work *w,
                      struct masterfile_plan *p)
{
    bool *writes = arena_array(w->arena, w->nsets, sizeof *writes);

    p->steps = arena_array(p->arena, w->m->n, sizeof *p->steps);
    for (size_t i = 0; i < w->m->n; i++)
        p->steps[i] = (struct masterfile_step){w->m->items[i].kind == MF_RECORD,
                                               MASTERFILE_TTL_KEEP};
    for (size_t i = 0; i < w->nvalues; i++)
        writes[w->values[i].set] |= w->values[i].act == MASTERFILE_ACT_ON ||
                                    w->values[i].act == MASTERFILE_ACT_FRESH;
    for (size_t i = 0; i < w->nmatches; i++) {
        const struct masterfile_plan_match *t = &w->matches[i];
        struct masterfile_step *step = &p->steps[t->item];
        const struct masterfile_plan_set *s = &w->sets[t->set];
        enum masterfile_act act = t->value != SIZE_MAX ? w->values[t->value].act
                                                       : MASTERFILE_ACT_NONE;

        if ((act == MASTERFILE_ACT_ON && !step->active) ||
            (act == MASTERFILE_ACT_OFF && step->active)) {
            step->active = !step->active;
            p->changed = true;
        }
        if (step->active && writes[t->set] && s->ttl_s >= 0)
            step->ttl_s = s->ttl_s;
    }
    fill_fresh(w, p);
}

void masterfile_plan_make(const struct masterfile *m, const struct change *v,
                          size_t n, struct change_result *results,
                          struct masterfile_plan *out)
{
    struct masterfile_plan_work w = {
        .m = m, .v = v, .n = n, .results = results};

    *out = (struct masterfile_plan){.arena = arena_new()};
    w.arena = out->arena;
    memset(results, 0, n * sizeof *results); /* CHANGE_DONE */
    masterfile_match_collect(&w);
    masterfile_match_items(&w);
    decide(&w);
    check_ttl(&w);
    check_cname(&w);
    skip_withdrawals(&w);
    check_cname(&w); /* a skipped withdrawal stays beside the others */
    skip_withdrawals(&w);
    fill_plan(&w, out);
    free(w.matches);
}

void masterfile_plan_fini(struct masterfile_plan *p)
{
    arena_free(p->arena);
    *p = (struct masterfile_plan){NULL, NULL, NULL, 0, false};
}
