#ifndef AGENT_ENGINE_STATE_STATE_INTERNAL_H
#define AGENT_ENGINE_STATE_STATE_INTERNAL_H

#include <sqlite3.h>

#include "agent/base/keytable.h"
#include "agent/base/mem.h"
#include "agent/engine/state/state.h"

/* Shared by state.c (rows), state_file.c (opening, lock, damage),
 * state_load.c and state_save.c. */

struct state_event_row {
    struct state_event ev; /* strings are heap copies */
};

#define STATE_RUNS 8

struct state {
    sqlite3 *db;
    int lock_fd; /* -1: read only */
    bool lost;
    bool as_is;                  /* damage is an error, not mended */
    int64_t runs_ms[STATE_RUNS]; /* beginnings of rounds; newest first */
    int64_t shift_ms;            /* from saved times to this boot's */
    struct keytable check_rows;
    struct state_rows {
        struct keytable by_key;
        void *first, *last;
    } set_rows, spec_rows, judge_rows;
    /* The value that was asked for last, and its set: they are asked for in
     * their order. */
    struct state_value *last_value;
    struct state_set *last_set;
    struct keytable notes; /* struct note */
    /* Of specs, until they are saved; NULL: none. Apart from what stays: freed
     * one by one, they would leave a hole beside each spec. */
    struct arena *spec_texts;
    struct state_zone *zones;
    struct state_override *overrides;
    struct state_stop *stops;
    struct state_kept *kepts;
    struct state_problem *problems;
    struct state_event_row *events;
    size_t nevents, events_cap;
};

extern const char state_schema[];

MUST_CHECK int state_file_open(struct state *s, const char *path,
                               bool read_only, struct err *e);
/* returns 0, or -1: cannot be read as our database */
MUST_CHECK int state_load(struct state *s, struct err *e);

/* The last SQLite error as ours: ERR_INPUT (damaged), ERR_LIMIT (disk full),
 * ERR_LOCAL (anything else); returns -1. */
int state_sql_error(struct state *s, struct err *e);

/* Takes rows out for which drop is true, with what they hold. */
#define STATE_SWEEP(s, kind, drop, free_texts)                                 \
    do {                                                                       \
        struct state_rows *rows = &(s)->kind##_rows;                           \
        struct state_##kind *r = rows->first, *next, *last = NULL;             \
        for (; r != NULL; r = next) {                                          \
            next = r->next;                                                    \
            if (!(drop)) {                                                     \
                last = r;                                                      \
                continue;                                                      \
            }                                                                  \
            if (last != NULL)                                                  \
                last->next = next;                                             \
            else                                                               \
                rows->first = next;                                            \
            keytable_remove(&rows->by_key, r);                                 \
            free_texts;                                                        \
            free(r);                                                           \
        }                                                                      \
        rows->last = last;                                                     \
    } while (0)

/* Where the rows of each table have their keys. */
void state_tables_init(struct state *s);

/* Rows without marking them as used. */
struct state_check *state_check_row(struct state *s, const char *key);
struct state_set *state_set_row(struct state *s, const char *key);
struct state_spec *state_spec_row(struct state *s, const char *key);
struct state_judge *state_judge_row(struct state *s, const char *key);
struct state_override *state_override_row(struct state *s, const char *key);
struct state_zone *state_zone_row(struct state *s, const char *key);
struct state_stop *state_stop_row(struct state *s, const char *key);
struct state_kept *state_kept_row(struct state *s, const char *key);
struct state_problem *state_problem_row(struct state *s, const char *key);
/* Drops checks that are not to be kept; NULL: all. */
void state_check_sweep(struct state *s,
                       bool (*keep)(const struct state_check *));
void state_keep_all(struct state *s);     /* marks all rows as used */
void state_clear(struct state *s);        /* all rows */
void state_clear_events(struct state *s); /* those not yet written */

/* --- state_value.c: values of the sets ----------------------------------- */

/* The row of "zone|name|type|data", made anew: no such row is there yet. NULL:
 * that is no such key. */
struct state_value *state_value_loaded(struct state *s, const char *key);
/* Drops those of set that are not used. */
void state_value_sweep(struct state *s, struct state_set *set);
/* Drops set with all that it holds; it is no longer in the table. */
void state_set_fini(struct state *s, struct state_set *set);

/* --- state_spec.c: texts of specs ---------------------------------------- */

/* row has just been read, with these texts; NULL: none. */
void state_spec_loaded(struct state_spec *row, const char *texts);
/* Writes the rows, within the transaction. returns 0, or -1 (SQLite knows) */
int state_spec_save(struct state *s);
/* After saving; done: the transaction stands, memory lets go of the texts. */
void state_spec_saved(struct state *s, bool done);

#endif
