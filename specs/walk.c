#include "specs/walk.h"

#include <stdlib.h>

#include "agent/base/mem.h"

void spec_walk_init(struct spec_walk *w)
{
    w->turn = 0;
    if (w->spec->nscenarios > 0)
        w->scenarios = mem_array(w->spec->nscenarios, sizeof *w->scenarios);
    if (w->spec->ndcs > 0)
        w->dcs = mem_array(w->spec->ndcs, sizeof *w->dcs);
}

void spec_walk_fini(struct spec_walk *w)
{
    free(w->scenarios);
    free(w->dcs);
}

/* Names never come back to themselves; they nest SPEC_NAMED_DEPTH_MAX deep. */
static int walk_cond(struct spec_walk *w, const struct spec_cond *c);

static int walk_dc(struct spec_walk *w, size_t index)
{
    const struct spec_dc *dc = &w->spec->dcs[index];
    int rc = 0;

    if (w->dcs[index] == w->turn)
        return 0;
    w->dcs[index] = w->turn;
    for (int d = 0; d < SPEC_NDIMENSIONS; d++)
        for (size_t i = 0; i < dc->dims[d].n && rc == 0; i++)
            rc = w->visit(w->arg, &w->spec->checks[dc->dims[d].checks[i]]);
    if (rc == 0 && dc->fresh != NULL)
        rc = walk_cond(w, dc->fresh);
    return rc;
}

static int walk_cond(struct spec_walk *w, const struct spec_cond *c)
{
    int rc = 0;

    switch (c->kind) {
    case SPEC_COND_CHECK:
        return w->visit(w->arg, &w->spec->checks[c->ref]);
    case SPEC_COND_SCENARIO:
        if (w->scenarios[c->ref] == w->turn)
            return 0;
        w->scenarios[c->ref] = w->turn;
        return walk_cond(w, &w->spec->scenarios[c->ref].cond);
    case SPEC_COND_DC:
    case SPEC_COND_DC_STATE:
    case SPEC_COND_DIMENSION:
        return w->into_dcs ? walk_dc(w, c->ref) : 0;
    case SPEC_COND_MAINTENANCE:
        return 0;
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        break;
    }
    for (size_t i = 0; i < c->n && rc == 0; i++)
        rc = walk_cond(w, &c->of[i]);
    return rc;
}

int spec_walk_record(struct spec_walk *w, const struct spec_record *rec)
{
    int rc = 0;

    w->turn++;
    for (size_t i = 0; i < rec->nchecks && rc == 0; i++)
        rc = w->visit(w->arg, &w->spec->checks[rec->checks[i]]);
    if (rc == 0 && spec_rare_of(rec)->when != NULL)
        rc = walk_cond(w, spec_rare_of(rec)->when);
    if (rc == 0 && spec_rare_of(rec)->dr_cond != NULL)
        rc = walk_cond(w, spec_rare_of(rec)->dr_cond);
    if (rc == 0 && rec->dc >= 0 && w->into_dcs)
        rc = walk_dc(w, (size_t)rec->dc);
    return rc;
}

int spec_walk_dc(struct spec_walk *w, size_t dc)
{
    w->turn++;
    return walk_dc(w, dc);
}
