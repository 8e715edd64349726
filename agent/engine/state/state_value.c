#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/engine/state/state_internal.h"

/* Values have no table of their own: their set has them, in a row. Whoever asks
 * for all of a set asks in their order, so the next is mostly the one. */

static struct state_value *keep_place(struct state *s, struct state_set *set,
                                      struct state_value *row)
{
    s->last_set = set;
    s->last_value = row;
    return row;
}

/* after: the last of the set; NULL: it has none. */
static struct state_value *append(struct state_set *set,
                                  struct state_value *after, const char *data)
{
    struct state_value *row =
        keytable_row(offsetof(struct state_value, data), data);

    if (after != NULL)
        after->next = row;
    else
        set->values = row;
    return row;
}

static struct state_value *find_or_make(struct state *s, struct state_set *set,
                                        const char *data)
{
    struct state_value *row =
        s->last_set == set ? s->last_value->next : set->values;
    struct state_value *last = NULL;

    if (row != NULL && strcmp(row->data, data) == 0)
        return row;
    for (row = set->values; row != NULL; last = row, row = row->next)
        if (strcmp(row->data, data) == 0)
            return row;
    return append(set, last, data);
}

struct state_value *state_value_get(struct state *s, struct state_set *set,
                                    const char *data)
{
    struct state_value *row = find_or_make(s, set, data);

    row->used = true;
    return keep_place(s, set, row);
}

struct state_value *state_value_loaded(struct state *s, const char *key)
{
    const char *end = key;
    struct state_value *last;
    struct state_set *set;
    char *of_set;

    for (int bar = 0; bar < 3; bar++) {
        end = strchr(end, '|');
        if (end == NULL)
            return NULL;
        end++;
    }
    of_set = mem_strndup(key, (size_t)(end - 1 - key));
    set = state_set_row(s, of_set);
    free(of_set);
    last = s->last_set == set ? s->last_value : set->values;
    while (last != NULL && last->next != NULL)
        last = last->next;
    return keep_place(s, set, append(set, last, end));
}

static void value_free(struct state *s, struct state_value *row)
{
    if (s->last_value == row) {
        s->last_value = NULL;
        s->last_set = NULL;
    }
    state_note(s, &row->note, NULL);
    memory_value_fini(&row->memory);
    free(row);
}

void state_value_sweep(struct state *s, struct state_set *set)
{
    struct state_value **at = &set->values, *row;

    while ((row = *at) != NULL) {
        if (row->used) {
            at = &row->next;
            continue;
        }
        *at = row->next;
        value_free(s, row);
    }
}

void state_set_fini(struct state *s, struct state_set *set)
{
    struct state_value *row, *next;

    for (row = set->values; row != NULL; row = next) {
        next = row->next;
        value_free(s, row);
    }
    state_note(s, &set->reason, NULL);
}
