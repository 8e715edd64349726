#include "specs/spec.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

/* Nearness of an owner to a name: its own spec, then by labels of the owner
 * above it, then the rest. Larger is nearer. */
static size_t nearness(const struct spec_claim *c)
{
    const char *owner = c->spec->owner;

    if (!name_within(c->set->name, owner))
        return 0;
    return 1 + name_labels(owner);
}

static int compare_set(const struct spec_claim *a, const struct spec_claim *b)
{
    int c = name_compare(a->set->name, b->set->name);

    return c != 0 ? c : (int)a->set->type - (int)b->set->type;
}

static int compare_view(const struct spec_set *a, const struct spec_set *b)
{
    if (a->view == NULL || b->view == NULL)
        return (a->view != NULL) - (b->view != NULL);
    return strcmp(a->view, b->view);
}

/* Claims of one set together, the one that holds first. */
static int by_right(const void *a, const void *b)
{
    const struct spec_claim *x = a, *y = b;
    size_t nx = nearness(x), ny = nearness(y);
    int c = compare_set(x, y);

    if (c != 0)
        return c;
    if (nx != ny)
        return nx > ny ? -1 : 1;
    c = name_compare(x->spec->owner, y->spec->owner);
    return c != 0 ? c : compare_view(x->set, y->set);
}

static const char *pointer(const struct spec_set *set)
{
    if (set->nrecords > 0)
        return set->records[0].pointer;
    return set->nfallback > 0 ? set->fallback[0].pointer : "";
}

static const char *refusal(struct arena *a, const struct spec_claim *lost,
                           const struct spec_claim *won)
{
    int n = (int)strlen(lost->spec->owner) - 1;
    int m = (int)strlen(won->spec->owner) - 1;

    return arena_printf(a,
                        "_failover.%.*s %s: %s %s is claimed by _failover.%.*s "
                        "too, which comes before this one; this claim has no "
                        "effect",
                        n, lost->spec->owner, pointer(lost->set),
                        lost->set->name, spec_type_name(lost->set->type), m,
                        won->spec->owner);
}

void spec_authority(const struct spec *const *specs, size_t n, struct arena *a,
                    struct spec_claim **claims, size_t *nclaims,
                    struct spec_note **notes, size_t *nnotes)
{
    struct spec_claim *all = NULL;
    struct spec_note *out = NULL;
    size_t count = 0, cap = 0, kept = 0, noted = 0, cap_notes = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < specs[i]->nsets; k++) {
            all = mem_grow(all, &cap, count, sizeof *all);
            all[count].spec = specs[i];
            all[count++].set = &specs[i]->sets[k];
        }
    }
    if (count > 0)
        qsort(all, count, sizeof *all, by_right);
    for (size_t i = 0; i < count; i++) {
        /* All views of a name and type are one owner's. */
        if (kept == 0 || compare_set(&all[kept - 1], &all[i]) != 0 ||
            all[kept - 1].spec == all[i].spec) {
            all[kept++] = all[i];
            continue;
        }
        out = mem_grow(out, &cap_notes, noted, sizeof *out);
        out[noted].level = SPEC_NOTE_ERROR;
        out[noted++].text = refusal(a, &all[i], &all[kept - 1]);
    }
    *claims = all;
    *nclaims = kept;
    *notes = out;
    *nnotes = noted;
}
