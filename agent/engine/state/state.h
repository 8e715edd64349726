#ifndef AGENT_ENGINE_STATE_STATE_H
#define AGENT_ENGINE_STATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "agent/base/err.h"
#include "agent/engine/decide/health.h"
#include "agent/engine/decide/memory.h"

/* What survives from run to run, in one SQLite file: last good specs, checks
 * and their counters, what the agent wrote and saw, open problems, and the
 * history of transitions. Loaded whole, saved whole in one transaction.
 *
 * Engine time is milliseconds of CLOCK_BOOTTIME. Saved times carry the boot
 * id; after a reboot they are moved by the wall time that has passed, never
 * by a negative one: a clock that was set back restarts waits, it does not
 * shorten them.
 *
 * One writer: flock on FILE.lock, which the kernel lets go of when its holder
 * ends, however it ends. */

#define STATE_PRINT_SIZE 32 /* bytes of a SHA-256 */

struct state;

/* Rows by their key. Text fields are heap strings, owned by the row; notes are
 * shared (state_note); NULL: none. There are rows of the first four kinds for
 * each target and name: bytes count. */
struct state_check {
    struct health health;
    const char *note; /* last result for people: "tcp:443 refused" */
    void *entry; /* of the service: how it is probed; NULL: not. Not saved */
    bool used;   /* touched in this run; others are dropped on save */
    char key[];  /* kind, target, parameters and thresholds: check_key.h */
};
struct state_value {
    struct memory_value memory;                   /* first: state_value_of */
    const char *note;                             /* why it is down or held */
    struct state_value *next;                     /* of the same set */
    bool published : 1, healthy : 1, unknown : 1; /* for status; as of the last
                                                     round */
    bool would : 1; /* observe: a change was announced, and is not made */
    bool used : 1;
    char data[]; /* saved under "zone|name|type|data": the set has the rest */
};
/* Stays as long as it has values, used itself or not. */
struct state_set {
    struct memory_set memory; /* first: state_set_of */
    const char *reason;       /* a note */
    struct state_set *next;
    struct state_value *values; /* in the order of their making */
    bool used;
    char key[]; /* "zone|name|type" */
};
struct state_spec {
    const char *texts; /* the last good ones, where the file does not have them
                          yet: state_spec_put, state_spec_texts. The state's */
    unsigned char print[STATE_PRINT_SIZE]; /* SHA-256 of them */
    int64_t good_wall_ms; /* when the text was last read and valid */
    int64_t gone_ms;      /* first look that said gone; 0: none */
    char *stale;          /* why the last good spec stands in; NULL: fresh */
    struct state_spec *next;
    bool good; /* there are last good texts */
    bool used;
    char key[]; /* "zone|owner" */
};
struct state_judge {
    char *print; /* of the spec that the truth belongs to */
    char *truth; /* one digit a slot of judge_memory: 0 unknown, 1, 2 true */
    char *dcs;   /* "name out_since_ms last_ms other barred maintained;…" */
    struct state_judge *next;
    bool used;
    char key[]; /* "zone|owner" */
};
/* What the operator asked for; holds until it is taken back or over. */
struct state_override {
    char *key; /* "maintenance|zone|dc", "freeze|zone|name"; zone and name may
                  be "*": all */
    int64_t until_ms; /* engine time; 0: no end */
    int64_t since_wall_ms;
    char *user; /* who asked for it */
    bool used;
    UT_hash_handle hh;
};
struct state_zone {
    char *key;                 /* the zone */
    int64_t withdrawn_ms[256]; /* because of checks; newest first; 0: none */
    bool has_serial;
    uint32_t serial; /* served when the zone was last looked at in full */
    bool used;
    UT_hash_handle hh;
};
/* A provider that refused its login, and must not be asked again so soon. */
struct state_stop {
    char *key;        /* the provider's name in the configuration */
    int64_t until_ms; /* engine time */
    uint32_t print;   /* of the login's data: others may be tried at once */
    char *text;       /* what the provider said */
    UT_hash_handle hh;
};
/* What a provider needs to make a record anew as it was. */
struct state_kept {
    char *key; /* "provider|" and the provider's own key */
    char *text;
    int64_t wall_ms; /* of its last keeping; it goes as old history does */
    UT_hash_handle hh;
};
struct state_problem {
    char *key; /* what it is about */
    char *text;
    int64_t since_wall_ms;
    bool minor; /* told, but does not make the run a failed one */
    bool used;  /* still there in this run */
    bool fresh; /* came up, or changed its text, in this run */
    UT_hash_handle hh;
};

/* path: the database (NULL: an empty state in memory); its directory is made
 * (0700) when it is missing. read_only: for status and history: no lock,
 * nothing is made. out: *s — closed by state_close A damaged file is set aside
 * as FILE.damaged (one copy) with an alarm in the log, and an empty state is
 * used: state_is_lost says so. A full disk gives a state in memory with the
 * same effect. returns 0, or -1 with e set: ERR_BUSY (another run holds the
 * lock), ERR_NOTFOUND (read_only: there is none yet), ERR_INPUT (no permission:
 * the text says whose it is) */
MUST_CHECK int state_open(const char *path, bool read_only, struct state **s,
                          struct err *e);
/* For the operator's commands: as a writer, but a damaged state is left where
 * it is and nothing is made in memory instead (ERR_INPUT, ERR_LOCAL): the
 * next round sets it aside and learns. All rows count as used: what is saved
 * is what was there, and the change. */
MUST_CHECK int state_edit(const char *path, struct state **s, struct err *e);
void state_close(struct state *s);
/* The state was lost, not just empty: this run only learns. */
bool state_is_lost(const struct state *s);

int64_t state_now_ms(void); /* engine time */

/* A round begins: remembered, to see how far apart rounds are. */
void state_run_note(struct state *s, int64_t now_ms);
/* The usual distance (median) of the last rounds; 0: not known yet. */
int64_t state_run_gap_ms(const struct state *s);

/* Find or make a row; marks it as used. Borrowed. */
struct state_check *state_check_get(struct state *s, const char *key);
struct state_set *state_set_get(struct state *s, const char *zone,
                                const char *name, const char *type);
struct state_value *state_value_get(struct state *s, struct state_set *set,
                                    const char *data);
struct state_spec *state_spec_get(struct state *s, const char *zone,
                                  const char *owner);
struct state_judge *state_judge_get(struct state *s, const char *zone,
                                    const char *owner);
/* The override that is in force now, or NULL. Borrowed. */
struct state_override *state_override_find(struct state *s, const char *kind,
                                           const char *zone, const char *what,
                                           int64_t now_ms);
void state_override_set(struct state *s, const char *kind, const char *zone,
                        const char *what, int64_t until_ms, const char *user);
/* returns false when there was none in force. */
bool state_override_clear(struct state *s, const char *kind, const char *zone,
                          const char *what, int64_t now_ms);
struct state_zone *state_zone_get(struct state *s, const char *zone);
struct state_stop *state_stop_get(struct state *s, const char *provider);
void state_kept_set(struct state *s, const char *provider, const char *key,
                    const char *text);
/* NULL: none. Borrowed. */
const char *state_kept_find(struct state *s, const char *provider,
                            const char *key);
/* A problem stands in this run, with this text. returns true when that is
 * news: it was not there before, or said something else. */
bool state_problem(struct state *s, const char *key, bool minor,
                   const char *text);

/* All checks, in no order that means anything: *at is 0 for the first, and is
 * left alone. returns NULL: no more. None may be made meanwhile. */
struct state_check *state_checks(struct state *s, size_t *at);
/* First of the rows; iterate with next, of the uthash lists with hh.next. */
struct state_set *state_sets(struct state *s);
struct state_spec *state_specs(struct state *s);
struct state_zone *state_zones(struct state *s);
struct state_judge *state_judges(struct state *s);
struct state_override *state_overrides(struct state *s);
/* The row that has that memory. */
static inline struct state_value *state_value_of(struct memory_value *m)
{
    return (struct state_value *)m;
}
static inline struct state_set *state_set_of(struct memory_set *m)
{
    return (struct state_set *)m;
}
/* A row that is there, or NULL; not marked as used. */
struct state_judge *state_judge_find(struct state *s, const char *key);
struct state_set *state_set_find(struct state *s, const char *zone,
                                 const char *name, const char *type);
struct state_stop *state_stops(struct state *s);
struct state_kept *state_kepts(struct state *s);
struct state_problem *state_problems(struct state *s);

/* Everything of a zone that this run could not look at stays as it is. */
void state_keep_zone(struct state *s, const char *zone);
void state_drop_spec(struct state *s, struct state_spec *row);
/* The last good texts of row, as txt_print writes them. Copied. */
void state_spec_put(struct state *s, struct state_spec *row, const char *texts);
/* row->good must be true. returns the texts (heap, caller frees), or NULL with
 * e set (ERR_LOCAL: the file cannot be read) */
char *state_spec_texts(struct state *s, const struct state_spec *row,
                       struct err *e);
/* *field = copy of text (NULL: none), the old one freed. */
void state_text(char **field, const char *text);
/* The same for a note: equal ones are one, however many rows have it. */
void state_note(struct state *s, const char **field, const char *text);

/* --- history ------------------------------------------------------------- */

struct state_event {
    int64_t wall_ms;
    const char *zone, *name, *type, *data; /* "" where it does not apply */
    const char *event; /* "unavailable", "available", "published",
                          "withdrawn", "held", "problem", "resolved"; of the
                          operator "maintenance", "freeze", "thaw", "readmit" */
    const char *reason;
};
/* Written at the next save. Copied. */
void state_event_add(struct state *s, const struct state_event *ev);
/* Newest first, at most limit, of name (canonical; NULL: all) and what is
 * below it. each: returns false to stop. */
typedef bool state_event_fn(void *arg, const struct state_event *ev);
MUST_CHECK int state_history(struct state *s, const char *name, size_t limit,
                             state_event_fn *each, void *arg, struct err *e);

/* One transaction; unused rows go. returns 0, or -1 with e set (ERR_LOCAL);
 * the file then is as it was. */
MUST_CHECK int state_save(struct state *s, struct err *e);

#endif
