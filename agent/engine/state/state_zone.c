#include "agent/engine/state/state_zone.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/state/state_internal.h"

static bool is_in_zone(const char *key, const char *zone)
{
    size_t n = strlen(zone);

    return strncmp(key, zone, n) == 0 && key[n] == '|';
}

/* The same for each kind of row. */
#define UNMARK(kind, list)                                                     \
    for (struct state_##kind *r = state_##list(s); r != NULL; r = r->next)     \
    r->used = r->used && !is_in_zone(r->key, zone)

#define SWEEP(kind, free_texts)                                                \
    STATE_SWEEP(s, kind, !r->used && is_in_zone(r->key, zone), free_texts)

void state_zone_unmark(struct state *s, const char *zone)
{
    struct state_set *set;

    for (set = state_sets(s); set != NULL; set = set->next) {
        if (!is_in_zone(set->key, zone))
            continue;
        set->used = false;
        for (struct state_value *v = set->values; v != NULL; v = v->next)
            v->used = false;
    }
    UNMARK(judge, judges);
}

void state_zone_sweep(struct state *s, const char *zone)
{
    struct state_set *set;

    for (set = state_sets(s); set != NULL; set = set->next)
        if (is_in_zone(set->key, zone))
            state_value_sweep(s, set);
    STATE_SWEEP(s, set,
                !r->used && r->values == NULL && is_in_zone(r->key, zone),
                state_set_fini(s, r));
    SWEEP(judge, (free(r->print), free(r->truth), free(r->dcs)));
}

void state_zone_leave(struct state *s, const char *zone)
{
    struct state_zone *row = NULL;

    state_zone_unmark(s, zone);
    state_zone_sweep(s, zone);
    UNMARK(spec, specs);
    SWEEP(spec, free(r->stale));
    HASH_FIND_STR(s->zones, zone, row);
    if (row == NULL)
        return;
    HASH_DEL(s->zones, row);
    free(row->key);
    free(row);
}

void state_zone_keep_all(struct state *s)
{
    struct state_problem *p;

    state_keep_all(s);
    /* Problems are found anew. */
    for (p = s->problems; p != NULL; p = p->hh.next)
        p->used = false;
}

void state_zone_drop_problem(struct state *s, struct state_problem *row)
{
    HASH_DEL(s->problems, row);
    free(row->key);
    free(row->text);
    free(row);
}
