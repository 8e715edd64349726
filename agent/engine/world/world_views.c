#include "agent/engine/world/world_views.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/name.h"

const struct world_views *world_views_new(const struct config_zone *cfg,
                                          struct arena *a)
{
    struct world_views *v = arena_alloc(a, sizeof *v);
    size_t n = cfg != NULL ? cfg->nviews : 0;
    const char **names = arena_array(a, n, sizeof *names);

    for (size_t i = 0; i < n; i++)
        names[i] = cfg->views[i].name;
    v->names = names;
    v->n = n;
    return v;
}

const char *world_views_list(const struct world_views *v, struct arena *a)
{
    const char *text = "no view, as it defines none";

    for (size_t i = 0; i < v->n; i++)
        text = i == 0 ? arena_printf(a, "\"%s\"", v->names[i])
                      : arena_printf(a, "%s, \"%s\"", text, v->names[i]);
    return text;
}

long world_views_find(const struct world_views *v, const char *view)
{
    if (v == NULL || view == NULL)
        return 0;
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->names[i], view) == 0)
            return (long)i + 1;
    return -1;
}

/* --- spreading ----------------------------------------------------------- */

struct spread {
    const struct world_views *views;
    struct arena *arena;
    struct spec_claim *out;
    const struct spec_set **origins;
    size_t n;
};

static void add(struct spread *s, const struct spec_claim *claim)
{
    s->origins[s->n] = claim->set;
    s->out[s->n++] = *claim;
}

static void add_copy(struct spread *s, const struct spec_claim *claim,
                     const char *view)
{
    struct spec_set *copy = arena_alloc(s->arena, sizeof *copy);

    *copy = *claim->set;
    copy->view = view;
    add(s, claim);
    s->out[s->n - 1].set = copy;
}

/* The claims of one name and type. */
static void spread(struct spread *s, const struct spec_claim *all, size_t n)
{
    size_t nviews = all[0].set->view == NULL ? s->views->n : 0;
    size_t i = 0, k = 0;

    while (i < n || k < nviews) {
        int order = i == n                     ? 1
                    : all[i].set->view == NULL ? -1
                    : k == nviews
                        ? -1
                        : strcmp(all[i].set->view, s->views->names[k]);

        if (order > 0)
            add_copy(s, &all[0], s->views->names[k]);
        else
            add(s, &all[i++]);
        k += order >= 0;
    }
}

static bool is_same(const struct spec_claim *a, const struct spec_claim *b)
{
    return a->set->type == b->set->type &&
           name_equal(a->set->name, b->set->name);
}

void world_views_spread(const struct world_views *v, struct arena *a,
                        struct spec_claim **claims, size_t *n,
                        const struct spec_set ***origins)
{
    const struct world_views none = {NULL, 0};
    struct spread s = {.views = v != NULL ? v : &none, .arena = a};
    size_t most = *n * (1 + s.views->n), end;

    s.out = mem_array(most, sizeof *s.out);
    s.origins = mem_array(most, sizeof *s.origins);
    for (size_t i = 0; i < *n; i = end) {
        for (end = i + 1; end < *n && is_same(&(*claims)[i], &(*claims)[end]);)
            end++;
        spread(&s, &(*claims)[i], end - i);
    }
    free(*claims);
    *claims = s.out;
    *n = s.n;
    *origins = s.origins;
}
