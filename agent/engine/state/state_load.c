#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/state/judge_text.h"
#include "agent/engine/state/state_internal.h"
#include "agent/engine/state/state_key.h"

const char state_schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value);"
    "CREATE TABLE IF NOT EXISTS checks(key TEXT PRIMARY KEY, state INT, "
    " ever_up INT, last_ok INT, streak INT, since_ms INT, last_ms INT, "
    " note TEXT);"
    "CREATE TABLE IF NOT EXISTS vals(key TEXT PRIMARY KEY, seen INT, "
    " expected INT, uncertain INT, put_in INT, held_off INT, "
    " \"returning\" INT, shut INT, created INT, "
    " withdrawn INT, damp INT, healthy_since_ms INT, withdrawals_ms TEXT, "
    " reclaims_ms TEXT, brake_streak INT, pending INT, pending_since_ms INT, "
    " published INT, healthy INT, unknown INT, would INT, "
    " note TEXT);"
    "CREATE TABLE IF NOT EXISTS sets(key TEXT PRIMARY KEY, "
    " brake_since_ms INT, tier INT, reason TEXT);"
    "CREATE TABLE IF NOT EXISTS specs(key TEXT PRIMARY KEY, texts TEXT, "
    " good_wall_ms INT, gone_ms INT, stale TEXT);"
    "CREATE TABLE IF NOT EXISTS zones(key TEXT PRIMARY KEY, "
    " withdrawn_ms TEXT, serial INT);"
    "CREATE TABLE IF NOT EXISTS judges(key TEXT PRIMARY KEY, print TEXT, "
    " truth TEXT, dcs TEXT);"
    "CREATE TABLE IF NOT EXISTS overrides(key TEXT PRIMARY KEY, "
    " until_ms INT, since_wall_ms INT, user TEXT);"
    "CREATE TABLE IF NOT EXISTS stops(key TEXT PRIMARY KEY, until_ms INT, "
    " print INT, text TEXT);"
    "CREATE TABLE IF NOT EXISTS kepts(key TEXT PRIMARY KEY, text TEXT, "
    " wall_ms INT);"
    "CREATE TABLE IF NOT EXISTS problems(key TEXT PRIMARY KEY, text TEXT, "
    " since_wall_ms INT);"
    "CREATE TABLE IF NOT EXISTS history(id INTEGER PRIMARY KEY, wall_ms INT, "
    " zone TEXT, name TEXT, type TEXT, data TEXT, event TEXT, reason TEXT);"
    "CREATE INDEX IF NOT EXISTS history_name ON history(name);"
    "COMMIT;";

int state_sql_error(struct state *s, struct err *e)
{
    enum err_code code = ERR_LOCAL;

    switch (s->db != NULL ? sqlite3_errcode(s->db) & 0xff : SQLITE_NOMEM) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR: /* a table that is not as ours */
        code = ERR_INPUT;
        break;
    case SQLITE_FULL:
    case SQLITE_IOERR:
        code = ERR_LIMIT;
        break;
    default:
        break;
    }
    return err_set(e, code, "%s",
                   s->db != NULL ? sqlite3_errmsg(s->db) : "out of memory");
}

typedef void row_fn(struct state *s, sqlite3_stmt *q);

static char *column_text(sqlite3_stmt *q, int i)
{
    const unsigned char *t = sqlite3_column_text(q, i);

    return t != NULL ? mem_strdup((const char *)t) : NULL;
}

static const char *column_key(sqlite3_stmt *q)
{
    const unsigned char *t = sqlite3_column_text(q, 0);

    return t != NULL ? (const char *)t : "";
}

static bool column_bool(sqlite3_stmt *q, int i)
{
    return sqlite3_column_int(q, i) != 0;
}

static int64_t column_within(sqlite3_stmt *q, int i, int64_t most)
{
    int64_t v = sqlite3_column_int64(q, i);

    return v < 0 ? 0 : v < most ? v : most;
}

/* A saved time in this boot's time; 0 stays 0: none. */
static int64_t here(const struct state *s, int64_t t)
{
    if (t == 0)
        return 0;
    t += s->shift_ms;
    return t != 0 ? t : 1;
}

static int64_t column_time(const struct state *s, sqlite3_stmt *q, int i)
{
    return here(s, sqlite3_column_int64(q, i));
}

static void column_times(const struct state *s, sqlite3_stmt *q, int i,
                         int64_t *out, size_t max)
{
    const char *p = (const char *)sqlite3_column_text(q, i);

    for (size_t n = 0; p != NULL && *p != '\0' && n < max; n++) {
        char *end;

        out[n] = here(s, (int64_t)strtoll(p, &end, 10));
        if (end == p)
            return;
        p = *end == ',' ? end + 1 : end;
    }
}

static void load_check(struct state *s, sqlite3_stmt *q)
{
    char *modern = state_key_modern(column_key(q));
    struct state_check *r =
        state_check_row(s, modern != NULL ? modern : column_key(q));
    int st = sqlite3_column_int(q, 1);

    r->health.state = st == 1   ? HEALTH_UP
                      : st == 2 ? HEALTH_DOWN
                                : HEALTH_UNKNOWN;
    r->health.ever_up = column_bool(q, 2);
    r->health.last_ok = column_bool(q, 3);
    r->health.streak = (uint32_t)sqlite3_column_int64(q, 4);
    r->health.since_ms = column_time(s, q, 5);
    r->health.last_ms = column_time(s, q, 6);
    state_note(s, &r->note, (const char *)sqlite3_column_text(q, 7));
    free(modern);
}

static void load_writes(const struct state *s, sqlite3_stmt *q,
                        struct memory_value *m)
{
    struct memory_writes w = {.last_ms = column_time(s, q, 16)};

    column_times(s, q, 12, w.withdrawals_ms, MEMORY_EVENTS);
    column_times(s, q, 13, w.reclaims_ms, MEMORY_EVENTS);
    if (w.last_ms != 0 || w.withdrawals_ms[0] != 0 || w.reclaims_ms[0] != 0)
        *memory_writes(m) = w;
}

static void load_value(struct state *s, sqlite3_stmt *q)
{
    struct state_value *r = state_value_loaded(s, column_key(q));
    struct memory_value *m;

    if (r == NULL) /* nobody could ask for it */
        return;
    m = &r->memory;
    m->seen = column_bool(q, 1);
    m->expected = column_bool(q, 2);
    m->uncertain = column_bool(q, 3);
    m->put_in = column_bool(q, 4);
    m->held_off = column_bool(q, 5);
    m->returning = column_bool(q, 6);
    m->shut = column_bool(q, 7);
    m->created = column_bool(q, 8);
    m->withdrawn = column_bool(q, 9);
    m->damp = (uint8_t)column_within(q, 10, MEMORY_DAMP_MOST);
    m->healthy_since_ms = column_time(s, q, 11);
    load_writes(s, q, m);
    m->brake_streak = (uint32_t)sqlite3_column_int64(q, 14);
    m->pending = column_bool(q, 15);
    r->published = column_bool(q, 17);
    r->healthy = column_bool(q, 18);
    r->unknown = column_bool(q, 19);
    r->would = column_bool(q, 20);
    state_note(s, &r->note, (const char *)sqlite3_column_text(q, 21));
}

static void load_set(struct state *s, sqlite3_stmt *q)
{
    struct state_set *r = state_set_row(s, column_key(q));

    r->memory.brake_since_ms = column_time(s, q, 1);
    r->memory.tier = sqlite3_column_int(q, 2);
    state_note(s, &r->reason, (const char *)sqlite3_column_text(q, 3));
}

static void load_spec(struct state *s, sqlite3_stmt *q)
{
    struct state_spec *r = state_spec_row(s, column_key(q));

    state_spec_loaded(r, (const char *)sqlite3_column_text(q, 1));
    r->good_wall_ms = sqlite3_column_int64(q, 2);
    r->gone_ms = column_time(s, q, 3);
    r->stale = column_text(q, 4);
}

static void load_zone(struct state *s, sqlite3_stmt *q)
{
    struct state_zone *r = state_zone_row(s, column_key(q));

    column_times(s, q, 1, r->withdrawn_ms,
                 sizeof r->withdrawn_ms / sizeof r->withdrawn_ms[0]);
    r->has_serial = sqlite3_column_type(q, 2) == SQLITE_INTEGER;
    r->serial = (uint32_t)sqlite3_column_int64(q, 2);
}

static void load_judge(struct state *s, sqlite3_stmt *q)
{
    struct state_judge *r = state_judge_row(s, column_key(q));

    r->print = column_text(q, 1);
    r->truth = column_text(q, 2);
    r->dcs = column_text(q, 3);
    judge_text_move(r, s->shift_ms);
}

static void load_override(struct state *s, sqlite3_stmt *q)
{
    struct state_override *r = state_override_row(s, column_key(q));

    r->until_ms = column_time(s, q, 1);
    r->since_wall_ms = sqlite3_column_int64(q, 2);
    r->user = column_text(q, 3);
    r->used = true;
}

static void load_stop(struct state *s, sqlite3_stmt *q)
{
    struct state_stop *r = state_stop_row(s, column_key(q));

    r->until_ms = column_time(s, q, 1);
    r->print = (uint32_t)sqlite3_column_int64(q, 2);
    r->text = column_text(q, 3);
}

static void load_kept(struct state *s, sqlite3_stmt *q)
{
    struct state_kept *r = state_kept_row(s, column_key(q));

    r->text = column_text(q, 1);
    r->wall_ms = sqlite3_column_int64(q, 2);
}

static void load_problem(struct state *s, sqlite3_stmt *q)
{
    char *modern = state_key_modern(column_key(q)); /* "|" and a check's */
    struct state_problem *r =
        state_problem_row(s, modern != NULL ? modern : column_key(q));

    r->text = column_text(q, 1);
    r->since_wall_ms = sqlite3_column_int64(q, 2);
    free(modern);
}

static int each_row(struct state *s, const char *sql, row_fn *fn, struct err *e)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);

    if (rc == SQLITE_OK)
        while ((rc = sqlite3_step(q)) == SQLITE_ROW)
            fn(s, q);
    (void)sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : state_sql_error(s, e);
}

static int meta_int(struct state *s, const char *key, int64_t *out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, "SELECT value FROM meta WHERE key=?", -1,
                                &q, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    (void)sqlite3_finalize(q);
    return rc == SQLITE_ROW ? 0 : -1;
}

static bool same_boot(struct state *s)
{
    char id[CLOCK_BOOT_ID_SIZE];
    sqlite3_stmt *q = NULL;
    bool same = false;

    clock_boot_id(id);
    if (sqlite3_prepare_v2(s->db, "SELECT value FROM meta WHERE key='boot_id'",
                           -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW) {
        const char *t = (const char *)sqlite3_column_text(q, 0);

        same = t != NULL && id[0] != '\0' && strcmp(t, id) == 0;
    }
    (void)sqlite3_finalize(q);
    return same;
}

static void find_shift(struct state *s)
{
    int64_t boot_ms = 0, wall_ms = 0, passed;

    if (same_boot(s) || meta_int(s, "boot_ms", &boot_ms) != 0 ||
        meta_int(s, "wall_ms", &wall_ms) != 0)
        return;
    passed = clock_wall_ms() - wall_ms;
    if (passed < 0)
        passed = 0;
    s->shift_ms = clock_boot_ms() - boot_ms - passed;
}

static void load_runs(struct state *s)
{
    sqlite3_stmt *q = NULL;

    if (sqlite3_prepare_v2(s->db, "SELECT value FROM meta WHERE key='runs_ms'",
                           -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        column_times(s, q, 0, s->runs_ms, STATE_RUNS);
    (void)sqlite3_finalize(q);
}

int state_load(struct state *s, struct err *e)
{
    static const struct {
        const char *sql;
        row_fn *fn;
    } tables[] = {
        {"SELECT key,state,ever_up,last_ok,streak,since_ms,last_ms,note "
         "FROM checks",
         load_check},
        {"SELECT key,seen,expected,uncertain,put_in,held_off,"
         "\"returning\",shut,created,"
         "withdrawn,damp,healthy_since_ms,withdrawals_ms,reclaims_ms,"
         "brake_streak,pending,pending_since_ms,published,healthy,unknown,"
         "would,note FROM vals",
         load_value},
        {"SELECT key,brake_since_ms,tier,reason FROM sets", load_set},
        {"SELECT key,texts,good_wall_ms,gone_ms,stale FROM specs", load_spec},
        {"SELECT key,withdrawn_ms,serial FROM zones", load_zone},
        {"SELECT key,print,truth,dcs FROM judges", load_judge},
        {"SELECT key,until_ms,since_wall_ms,user FROM overrides",
         load_override},
        {"SELECT key,until_ms,print,text FROM stops", load_stop},
        {"SELECT key,text,wall_ms FROM kepts", load_kept},
        {"SELECT key,text,since_wall_ms FROM problems", load_problem},
    };

    find_shift(s);
    load_runs(s);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (each_row(s, tables[i].sql, tables[i].fn, e) != 0)
            return -1;
    return 0;
}

int state_history(struct state *s, const char *name, size_t limit,
                  state_event_fn *each, void *arg, struct err *e)
{
    static const char sql[] =
        "SELECT wall_ms,zone,name,type,data,event,reason FROM history "
        "WHERE ?1 IS NULL OR name = ?1 "
        "OR substr(name, -length(?1) - 1) = '.' || ?1 "
        "ORDER BY id DESC LIMIT ?2";
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);

    if (rc == SQLITE_OK && name != NULL)
        rc = sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(q, 2, (int64_t)limit);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        struct state_event ev;
        const char **text[] = {&ev.zone, &ev.name,  &ev.type,
                               &ev.data, &ev.event, &ev.reason};

        rc = sqlite3_step(q);
        if (rc != SQLITE_ROW)
            break;
        ev.wall_ms = sqlite3_column_int64(q, 0);
        for (int i = 0; i < 6; i++) {
            const char *t = (const char *)sqlite3_column_text(q, i + 1);

            *text[i] = t != NULL ? t : "";
        }
        if (!each(arg, &ev))
            rc = SQLITE_DONE;
    }
    (void)sqlite3_finalize(q);
    if (rc == SQLITE_DONE)
        return 0;
    return err_set(e, ERR_LOCAL, "history: %s", sqlite3_errmsg(s->db));
}
