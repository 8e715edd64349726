#include "agent/engine/state/state.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/state/state_internal.h"

/* A hash that cannot grow is out of memory: mem.h aborts, so does this. */

struct note {
    size_t refs;
    char key[]; /* its text */
};

struct state_check *state_check_row(struct state *s, const char *key)
{
    struct state_check *row = keytable_find(&s->check_rows, key);

    if (row == NULL) {
        row = keytable_row(s->check_rows.key_at, key);
        keytable_add(&s->check_rows, row);
    }
    return row;
}

void state_check_sweep(struct state *s,
                       bool (*keep)(const struct state_check *))
{
    struct state_check *r;

    for (size_t at = 0; (r = state_checks(s, &at)) != NULL;) {
        if (keep != NULL && keep(r))
            continue;
        keytable_remove(&s->check_rows, r);
        at--;
        state_note(s, &r->note, NULL);
        free(r);
    }
}

struct state_check *state_checks(struct state *s, size_t *at)
{
    return keytable_next(&s->check_rows, at);
}

/* Find or make a row of a table; the same for each kind of row. */
#define ROW_FN(kind, list)                                                     \
    struct state_##kind *state_##kind##_row(struct state *s, const char *key)  \
    {                                                                          \
        struct state_rows *rows = &s->kind##_rows;                             \
        struct state_##kind *row = keytable_find(&rows->by_key, key), *last;   \
                                                                               \
        if (row != NULL)                                                       \
            return row;                                                        \
        row = keytable_row(rows->by_key.key_at, key);                          \
        keytable_add(&rows->by_key, row);                                      \
        last = rows->last;                                                     \
        if (last != NULL)                                                      \
            last->next = row;                                                  \
        else                                                                   \
            rows->first = row;                                                 \
        rows->last = row;                                                      \
        return row;                                                            \
    }                                                                          \
    struct state_##kind *state_##list(struct state *s)                         \
    {                                                                          \
        return s->kind##_rows.first;                                           \
    }

ROW_FN(set, sets)
ROW_FN(spec, specs)
ROW_FN(judge, judges)

/* Those of which there are few. */
#define HASH_ROW_FN(kind, list)                                                \
    struct state_##kind *state_##kind##_row(struct state *s, const char *key)  \
    {                                                                          \
        struct state_##kind *row = NULL;                                       \
                                                                               \
        HASH_FIND_STR(s->list, key, row);                                      \
        if (row != NULL)                                                       \
            return row;                                                        \
        row = mem_alloc(sizeof *row);                                          \
        row->key = mem_strdup(key);                                            \
        HASH_ADD_KEYPTR(hh, s->list, row->key, strlen(row->key), row);         \
        return row;                                                            \
    }                                                                          \
    struct state_##kind *state_##list(struct state *s)                         \
    {                                                                          \
        return s->list;                                                        \
    }

HASH_ROW_FN(zone, zones)
HASH_ROW_FN(override, overrides)
HASH_ROW_FN(stop, stops)
HASH_ROW_FN(kept, kepts)
HASH_ROW_FN(problem, problems)

void state_tables_init(struct state *s)
{
    s->check_rows.key_at = offsetof(struct state_check, key);
    s->set_rows.by_key.key_at = offsetof(struct state_set, key);
    s->spec_rows.by_key.key_at = offsetof(struct state_spec, key);
    s->judge_rows.by_key.key_at = offsetof(struct state_judge, key);
    s->notes.key_at = offsetof(struct note, key);
}

struct state_judge *state_judge_find(struct state *s, const char *key)
{
    return keytable_find(&s->judge_rows.by_key, key);
}

int64_t state_now_ms(void)
{
    return clock_boot_ms();
}

bool state_is_lost(const struct state *s)
{
    return s->lost;
}

struct state_check *state_check_get(struct state *s, const char *key)
{
    struct state_check *row = state_check_row(s, key);

    row->used = true;
    return row;
}

struct state_set *state_set_get(struct state *s, const char *zone,
                                const char *name, const char *type)
{
    char *key = mem_printf("%s|%s|%s", zone, name, type);
    struct state_set *row = state_set_row(s, key);

    free(key);
    row->used = true;
    return row;
}

struct state_spec *state_spec_get(struct state *s, const char *zone,
                                  const char *owner)
{
    char *key = mem_printf("%s|%s", zone, owner);
    struct state_spec *row = state_spec_row(s, key);

    free(key);
    row->used = true;
    return row;
}

struct state_set *state_set_find(struct state *s, const char *zone,
                                 const char *name, const char *type)
{
    char *key = mem_printf("%s|%s|%s", zone, name, type);
    struct state_set *row = keytable_find(&s->set_rows.by_key, key);

    free(key);
    return row;
}

struct state_judge *state_judge_get(struct state *s, const char *zone,
                                    const char *owner)
{
    char *key = mem_printf("%s|%s", zone, owner);
    struct state_judge *row = state_judge_row(s, key);

    free(key);
    row->used = true;
    return row;
}

struct state_zone *state_zone_get(struct state *s, const char *zone)
{
    struct state_zone *row = state_zone_row(s, zone);

    row->used = true;
    return row;
}

void state_text(char **field, const char *text)
{
    char *copy = text != NULL ? mem_strdup(text) : NULL;

    free(*field);
    *field = copy;
}

void state_note(struct state *s, const char **field, const char *text)
{
    struct note *n, *old;

    if (*field == text ||
        (*field != NULL && text != NULL && strcmp(*field, text) == 0))
        return;
    n = text != NULL ? keytable_find(&s->notes, text) : NULL;
    if (n == NULL && text != NULL) {
        n = keytable_row(s->notes.key_at, text);
        keytable_add(&s->notes, n);
    }
    if (n != NULL)
        n->refs++;
    old = *field != NULL ? keytable_find(&s->notes, *field) : NULL;
    *field = n != NULL ? n->key : NULL;
    if (old != NULL && --old->refs == 0) {
        keytable_remove(&s->notes, old);
        free(old);
    }
}

struct state_stop *state_stop_get(struct state *s, const char *provider)
{
    return state_stop_row(s, provider);
}

void state_kept_set(struct state *s, const char *provider, const char *key,
                    const char *text)
{
    char *whole = mem_printf("%s|%s", provider, key);
    struct state_kept *row = state_kept_row(s, whole);

    state_text(&row->text, text);
    row->wall_ms = clock_wall_ms();
    free(whole);
}

const char *state_kept_find(struct state *s, const char *provider,
                            const char *key)
{
    char *whole = mem_printf("%s|%s", provider, key);
    struct state_kept *row = NULL;

    HASH_FIND_STR(s->kepts, whole, row);
    free(whole);
    return row != NULL ? row->text : NULL;
}

bool state_problem(struct state *s, const char *key, bool minor,
                   const char *text)
{
    struct state_problem *row = state_problem_row(s, key);

    row->used = true;
    row->minor = minor;
    if (row->text != NULL && strcmp(row->text, text) == 0)
        return false;
    if (row->text == NULL)
        row->since_wall_ms = clock_wall_ms();
    state_text(&row->text, text);
    row->fresh = true;
    return true;
}

static bool key_in_zone(const char *key, const char *zone)
{
    size_t n = strlen(zone);

    return strncmp(key, zone, n) == 0 && key[n] == '|';
}

static void keep_set(struct state_set *set)
{
    set->used = true;
    for (struct state_value *v = set->values; v != NULL; v = v->next)
        v->used = true;
}

void state_keep_zone(struct state *s, const char *zone)
{
    struct state_zone *z = NULL;

    for (struct state_set *r = state_sets(s); r != NULL; r = r->next)
        if (key_in_zone(r->key, zone))
            keep_set(r);
    for (struct state_spec *r = state_specs(s); r != NULL; r = r->next)
        r->used = r->used || key_in_zone(r->key, zone);
    for (struct state_judge *r = state_judges(s); r != NULL; r = r->next)
        r->used = r->used || key_in_zone(r->key, zone);
    HASH_FIND_STR(s->zones, zone, z);
    if (z != NULL)
        z->used = true;
}

#define KEEP(kind, list)                                                       \
    for (struct state_##kind *r = state_##list(s); r != NULL; r = r->next)     \
    r->used = true

void state_keep_all(struct state *s)
{
    struct state_check *c;

    for (size_t at = 0; (c = state_checks(s, &at)) != NULL;)
        c->used = true;
    KEEP(spec, specs);
    KEEP(judge, judges);
    for (struct state_set *r = state_sets(s); r != NULL; r = r->next)
        keep_set(r);
    for (struct state_zone *z = s->zones; z != NULL; z = z->hh.next)
        z->used = true;
    for (struct state_problem *p = s->problems; p != NULL; p = p->hh.next)
        p->used = true;
}

void state_drop_spec(struct state *s, struct state_spec *row)
{
    STATE_SWEEP(s, spec, r == row, free(r->stale));
}

static void event_free(struct state_event_row *r)
{
    const char *const fields[] = {r->ev.zone, r->ev.name,  r->ev.type,
                                  r->ev.data, r->ev.event, r->ev.reason};

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        union {
            const char *in;
            char *out;
        } u = {.in = fields[i]};

        free(u.out);
    }
}

void state_event_add(struct state *s, const struct state_event *ev)
{
    struct state_event *to;

    s->events =
        mem_grow(s->events, &s->events_cap, s->nevents, sizeof *s->events);
    to = &s->events[s->nevents++].ev;
    to->wall_ms = ev->wall_ms;
    to->zone = mem_strdup(ev->zone);
    to->name = mem_strdup(ev->name);
    to->type = mem_strdup(ev->type);
    to->data = mem_strdup(ev->data);
    to->event = mem_strdup(ev->event);
    to->reason = mem_strdup(ev->reason);
}

#define CLEAR(kind, list, free_texts)                                          \
    do {                                                                       \
        struct state_##kind *row, *next;                                       \
        HASH_ITER(hh, s->list, row, next)                                      \
        {                                                                      \
            HASH_DEL(s->list, row);                                            \
            free(row->key);                                                    \
            free_texts;                                                        \
            free(row);                                                         \
        }                                                                      \
    } while (0)

void state_clear(struct state *s)
{
    state_check_sweep(s, NULL);
    STATE_SWEEP(s, set, true, state_set_fini(s, r));
    STATE_SWEEP(s, spec, true, free(r->stale));
    STATE_SWEEP(s, judge, true, (free(r->print), free(r->truth), free(r->dcs)));
    keytable_fini(&s->check_rows);
    keytable_fini(&s->set_rows.by_key);
    keytable_fini(&s->spec_rows.by_key);
    keytable_fini(&s->judge_rows.by_key);
    keytable_fini(&s->notes);
    CLEAR(zone, zones, (void)0);
    CLEAR(override, overrides, free(row->user));
    CLEAR(stop, stops, free(row->text));
    CLEAR(kept, kepts, free(row->text));
    CLEAR(problem, problems, free(row->text));
    state_clear_events(s);
    arena_free(s->spec_texts);
    s->spec_texts = NULL;
}

void state_clear_events(struct state *s)
{
    for (size_t i = 0; i < s->nevents; i++)
        event_free(&s->events[i]);
    free(s->events);
    s->events = NULL;
    s->nevents = s->events_cap = 0;
}
