#include <stdlib.h>

#include "agent/engine/round/round_internal.h"
#include "agent/engine/world/override.h"

/* The operator's overrides in a round: the freeze file, and those whose time
 * is over. */

static void freeze_by_file(struct round *r)
{
    char *path = override_freeze_file(r->cfg->state);

    if (path == NULL)
        return;
    for (size_t i = 0; i < r->nzones; i++)
        override_freeze_world(r->zones[i]->world);
    round_warn(r, "", "freeze",
               "frozen by the file %s: checks go on, nothing is written until "
               "it is removed",
               path);
    free(path);
}

void round_end_overrides(struct round *r)
{
    int64_t now_ms = state_now_ms();
    struct state_override *row;

    for (row = state_overrides(r->state); row != NULL; row = row->hh.next) {
        struct override o;
        char *subject;

        if (!row->used || override_in_force(row, now_ms))
            continue;
        row->used = false;
        if (!override_split(row, &o))
            continue;
        subject = override_subject(&o);
        round_note(r, o.zone[0] == '*' ? "" : o.zone,
                   "%s no longer: the time that %s gave it is over", subject,
                   row->user != NULL ? row->user : "somebody");
        free(subject);
    }
}

void round_overrides(struct round *r)
{
    freeze_by_file(r);
    if (r->o->plan_only)
        return;
    round_end_overrides(r);
    state_run_note(r->state, state_now_ms());
}
