#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/state/state_internal.h"

/* What the operator asked for. */

static char *key_of(const char *kind, const char *zone, const char *what)
{
    return mem_printf("%s|%s|%s", kind, zone, what);
}

struct state_override *state_override_find(struct state *s, const char *kind,
                                           const char *zone, const char *what,
                                           int64_t now_ms)
{
    char *key = key_of(kind, zone, what);
    struct state_override *row = NULL;

    HASH_FIND_STR(s->overrides, key, row);
    free(key);
    if (row == NULL || !row->used ||
        (row->until_ms != 0 && row->until_ms <= now_ms))
        return NULL;
    return row;
}

void state_override_set(struct state *s, const char *kind, const char *zone,
                        const char *what, int64_t until_ms, const char *user)
{
    char *key = key_of(kind, zone, what);
    struct state_override *row = state_override_row(s, key);

    free(key);
    row->used = true;
    row->until_ms = until_ms;
    row->since_wall_ms = clock_wall_ms();
    state_text(&row->user, user);
}

bool state_override_clear(struct state *s, const char *kind, const char *zone,
                          const char *what, int64_t now_ms)
{
    struct state_override *row =
        state_override_find(s, kind, zone, what, now_ms);

    if (row == NULL)
        return false;
    row->used = false; /* goes with the next save */
    return true;
}
