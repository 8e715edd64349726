#include <string.h>

#include "providers/hook/hook.h"

/* What a change set comes to, given what is there: which changes need a
 * request at all, and the sets as they are and as they are to be. */

static const struct rr_value *value_of(const struct change *c,
                                       const struct rrset_list *have,
                                       const struct rrset **set)
{
    *set = rrset_find(have, c->name, c->type);
    return *set != NULL ? rrset_value_find(*set, c->data) : NULL;
}

bool hook_plan_is_so(const struct change *c, const struct rrset_list *have)
{
    const struct rrset *s;
    const struct rr_value *v = value_of(c, have, &s);

    if (c->op == CHANGE_WITHDRAW)
        return v == NULL || !v->enabled;
    return v != NULL && v->enabled &&
           (c->ttl_s < 0 || s->ttl_s == (uint32_t)c->ttl_s);
}

static bool is_of(const struct hook_set *s, const struct change *c)
{
    return s->type == c->type && name_equal(s->name, c->name);
}

static bool has(const char *const *v, size_t n, const char *data)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i], data) == 0)
            return true;
    return false;
}

/* ---- one set ------------------------------------------------------------- */

static void begin_set(struct hook_set *s, const struct change *c,
                      const struct rrset_list *have, struct arena *a)
{
    const struct rrset *r = rrset_find(have, c->name, c->type);
    const char **from = arena_array(a, r != NULL ? r->n + 1 : 1, sizeof *from);

    *s = (struct hook_set){.name = c->name,
                           .type = c->type,
                           .number = c->set,
                           .ttl_s = -1,
                           .from = from};
    for (size_t i = 0; r != NULL && i < r->n; i++)
        if (r->values[i].enabled)
            from[s->nfrom++] = r->values[i].data;
}

/* The values that stay, in their order, and then those that come. */
static void end_set(struct hook_set *s, const struct change_set *set,
                    const bool *open, struct arena *a)
{
    const char **to = arena_array(a, s->nfrom + set->n + 1, sizeof *to);

    for (size_t i = 0; i < s->nfrom; i++) {
        bool stays = true;

        for (size_t k = 0; k < set->n; k++)
            if (open[k] && is_of(s, &set->v[k]) &&
                set->v[k].op == CHANGE_WITHDRAW &&
                strcmp(set->v[k].data, s->from[i]) == 0)
                stays = false;
        if (stays)
            to[s->nto++] = s->from[i];
    }
    for (size_t k = 0; k < set->n; k++) {
        const struct change *c = &set->v[k];

        if (!open[k] || c->op != CHANGE_PUBLISH || !is_of(s, c))
            continue;
        if (c->ttl_s >= 0)
            s->ttl_s = c->ttl_s;
        if (!has(to, s->nto, c->data))
            to[s->nto++] = c->data;
    }
    s->to = to;
}

/* ---- all of them --------------------------------------------------------- */

static void add_sets(const struct change_set *set,
                     const struct rrset_list *have, struct arena *a,
                     struct hook_plan *p)
{
    p->sets = arena_array(a, set->n + 1, sizeof *p->sets);
    for (size_t i = 0; i < set->n; i++) {
        size_t k = 0;

        while (k < p->nsets && !is_of(&p->sets[k], &set->v[i]))
            k++;
        if (p->open[i] && k == p->nsets)
            begin_set(&p->sets[p->nsets++], &set->v[i], have, a);
    }
    for (size_t k = 0; k < p->nsets; k++)
        end_set(&p->sets[k], set, p->open, a);
}

static bool is_held(const struct change *c, const struct rrset_list *have)
{
    const struct rrset *s;

    return value_of(c, have, &s) != NULL;
}

void hook_plan_make(const struct change_set *set, const struct rrset_list *have,
                    bool may_add, struct arena *a, struct hook_plan *p,
                    struct change_result *results)
{
    *p =
        (struct hook_plan){.open = arena_array(a, set->n + 1, sizeof *p->open)};
    for (size_t i = 0; i < set->n; i++) {
        const struct change *c = &set->v[i];

        if (results[i].state == CHANGE_SKIPPED)
            continue;
        if (hook_plan_is_so(c, have) && !c->confirm) {
            results[i].state = CHANGE_DONE;
        } else if (c->op == CHANGE_PUBLISH && !may_add && !is_held(c, have)) {
            results[i].state = CHANGE_FAILED;
            (void)err_set(&results[i].err, ERR_NOTFOUND,
                          "%s %s %s is not in the zone, and create is not on",
                          c->name, rr_type_name(c->type), c->data);
            provider_skip_after(set, i, results);
        } else {
            p->open[i] = true;
            p->nopen++;
        }
    }
    add_sets(set, have, a, p);
}
