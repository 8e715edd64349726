#ifndef SPECS_WALK_H
#define SPECS_WALK_H

#include "specs/spec.h"

/* Visits the checks that a record depends on, through conditions, scenarios
 * and data centres; each of these once for each record. */
struct spec_walk {
    const struct spec *spec;
    bool into_dcs; /* also what a dc's state depends on */
    /* Not 0 ends the walk, which returns it. */
    int (*visit)(void *arg, const struct spec_check *c);
    void *arg;
    size_t turn;       /* of the record, from 1 */
    size_t *scenarios; /* by index: the turn that was there last */
    size_t *dcs;
};

/* spec, into_dcs, visit and arg are set before. */
void spec_walk_init(struct spec_walk *w);
void spec_walk_fini(struct spec_walk *w);
int spec_walk_record(struct spec_walk *w, const struct spec_record *rec);
/* A dc's dimensions and what proves it fresh. */
int spec_walk_dc(struct spec_walk *w, size_t dc);

#endif
