#include "providers/rest/rest_settle.h"

#include <stdlib.h>

#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_zone.h"

/* What follows the writes of an operation: the provider's own matter. */
struct settling {
    struct rest *p;
    rest_settled_cb *cb;
    void *arg;
};

void rest_settled(void *arg, const struct rest_settled *s)
{
    struct settling g = *(struct settling *)arg;

    free(arg);
    g.cb(g.arg, s);
    rest_end(g.p);
}

void rest_settle(struct rest *p, struct rest_zone *z, bool wrote,
                 rest_settled_cb *cb, void *arg)
{
    const struct rest_settled as_read = {.has_serial = z->has_serial,
                                         .serial = z->serial};
    struct settling *g = mem_alloc(sizeof *g);

    rest_begin(p);
    g->p = p;
    g->cb = cb;
    g->arg = arg;
    if (wrote && p->style->settle != NULL)
        p->style->settle(p, z, g);
    else
        rest_settled(g, &as_read);
}
