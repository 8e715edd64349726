#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/state/state_internal.h"

#define HISTORY_KEPT_MS ((int64_t)400 * 24 * 3600 * 1000)

#define CHECK_KEPT_MS ((int64_t)7 * 24 * 3600 * 1000)

/* One prepared INSERT; binding errors surface at the step. */
struct writer {
    sqlite3_stmt *q;
    int at;
};

static void put_int(struct writer *w, int64_t v)
{
    (void)sqlite3_bind_int64(w->q, ++w->at, v);
}

static void put_text(struct writer *w, const char *t)
{
    ++w->at;
    if (t != NULL)
        (void)sqlite3_bind_text(w->q, w->at, t, -1, SQLITE_TRANSIENT);
}

static void put_times(struct writer *w, const int64_t *t, size_t n)
{
    struct buf b;

    buf_init(&b, 32 * 256);
    for (size_t i = 0; i < n && t[i] != 0; i++)
        buf_printf(&b, "%s%" PRId64, i > 0 ? "," : "", t[i]);
    put_text(w, buf_get(&b));
    buf_fini(&b);
}

static int step(struct writer *w)
{
    int rc = sqlite3_step(w->q);

    (void)sqlite3_reset(w->q);
    (void)sqlite3_clear_bindings(w->q);
    w->at = 0;
    return rc == SQLITE_DONE ? 0 : -1;
}

static int begin(struct state *s, const char *sql, struct writer *w)
{
    w->at = 0;
    return sqlite3_prepare_v2(s->db, sql, -1, &w->q, NULL) == SQLITE_OK ? 0
                                                                        : -1;
}

static bool is_kept(const struct state_check *r)
{
    return r->used || state_now_ms() - r->health.last_ms <= CHECK_KEPT_MS;
}

/* Others are forgotten: a service would keep them for ever. */
static bool is_wanted(const struct state_check *r)
{
    return is_kept(r) || r->entry != NULL;
}

static int save_checks(struct state *s, struct writer *w)
{
    const struct state_check *r;

    /* A zone may have failed in this run: its checks are still wanted. */
    for (size_t at = 0; (r = state_checks(s, &at)) != NULL;) {
        if (!is_kept(r))
            continue;
        put_text(w, r->key);
        put_int(w, (int64_t)r->health.state);
        put_int(w, r->health.ever_up);
        put_int(w, r->health.last_ok);
        put_int(w, r->health.streak);
        put_int(w, r->health.since_ms);
        put_int(w, r->health.last_ms);
        put_text(w, r->note);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static void put_memory(struct writer *w, const struct memory_value *m)
{
    put_int(w, m->seen);
    put_int(w, m->expected);
    put_int(w, m->uncertain);
    put_int(w, m->put_in);
    put_int(w, m->held_off);
    put_int(w, m->returning);
    put_int(w, m->shut);
    put_int(w, m->created);
    put_int(w, m->withdrawn);
    put_int(w, m->damp);
    put_int(w, m->healthy_since_ms);
    put_times(w, memory_written(m)->withdrawals_ms, MEMORY_EVENTS);
    put_times(w, memory_written(m)->reclaims_ms, MEMORY_EVENTS);
    put_int(w, m->brake_streak);
    put_int(w, m->pending);
    put_int(w, memory_written(m)->last_ms);
}

static int save_value(const struct state_set *set, const struct state_value *r,
                      struct writer *w)
{
    char *key;

    if (!r->used)
        return 0;
    key = mem_printf("%s|%s", set->key, r->data);
    put_text(w, key);
    free(key);
    put_memory(w, &r->memory);
    put_int(w, r->published);
    put_int(w, r->healthy);
    put_int(w, r->unknown);
    put_int(w, r->would);
    put_text(w, r->note);
    return step(w);
}

static int save_values(struct state *s, struct writer *w)
{
    for (struct state_set *set = state_sets(s); set != NULL; set = set->next)
        for (struct state_value *r = set->values; r != NULL; r = r->next)
            if (save_value(set, r, w) != 0)
                return -1;
    return 0;
}

static int save_sets(struct state *s, struct writer *w)
{
    for (struct state_set *r = state_sets(s); r != NULL; r = r->next) {
        if (!r->used)
            continue;
        put_text(w, r->key);
        put_int(w, r->memory.brake_since_ms);
        put_int(w, r->memory.tier);
        put_text(w, r->reason);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_zones(struct state *s, struct writer *w)
{
    for (struct state_zone *r = s->zones; r != NULL; r = r->hh.next) {
        if (!r->used)
            continue;
        put_text(w, r->key);
        put_times(w, r->withdrawn_ms,
                  sizeof r->withdrawn_ms / sizeof r->withdrawn_ms[0]);
        if (r->has_serial)
            put_int(w, r->serial);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_judges(struct state *s, struct writer *w)
{
    for (struct state_judge *r = state_judges(s); r != NULL; r = r->next) {
        if (!r->used)
            continue;
        put_text(w, r->key);
        put_text(w, r->print);
        put_text(w, r->truth);
        put_text(w, r->dcs);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_overrides(struct state *s, struct writer *w)
{
    int64_t now_ms = state_now_ms();

    for (struct state_override *r = s->overrides; r != NULL; r = r->hh.next) {
        if (!r->used || (r->until_ms != 0 && r->until_ms <= now_ms))
            continue;
        put_text(w, r->key);
        put_int(w, r->until_ms);
        put_int(w, r->since_wall_ms);
        put_text(w, r->user);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_stops(struct state *s, struct writer *w)
{
    int64_t now_ms = state_now_ms();

    for (struct state_stop *r = s->stops; r != NULL; r = r->hh.next) {
        if (r->until_ms <= now_ms)
            continue;
        put_text(w, r->key);
        put_int(w, r->until_ms);
        put_int(w, r->print);
        put_text(w, r->text);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_kepts(struct state *s, struct writer *w)
{
    int64_t oldest_ms = clock_wall_ms() - HISTORY_KEPT_MS;

    for (struct state_kept *r = s->kepts; r != NULL; r = r->hh.next) {
        if (r->wall_ms < oldest_ms)
            continue;
        put_text(w, r->key);
        put_text(w, r->text);
        put_int(w, r->wall_ms);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_problems(struct state *s, struct writer *w)
{
    for (struct state_problem *r = s->problems; r != NULL; r = r->hh.next) {
        if (!r->used)
            continue;
        put_text(w, r->key);
        put_text(w, r->text);
        put_int(w, r->since_wall_ms);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_events(struct state *s, struct writer *w)
{
    for (size_t i = 0; i < s->nevents; i++) {
        const struct state_event *ev = &s->events[i].ev;

        put_int(w, ev->wall_ms);
        put_text(w, ev->zone);
        put_text(w, ev->name);
        put_text(w, ev->type);
        put_text(w, ev->data);
        put_text(w, ev->event);
        put_text(w, ev->reason);
        if (step(w) != 0)
            return -1;
    }
    return 0;
}

static int save_meta(struct state *s, struct writer *w)
{
    char boot_id[CLOCK_BOOT_ID_SIZE];

    put_text(w, "runs_ms");
    put_times(w, s->runs_ms, STATE_RUNS);
    if (step(w) != 0)
        return -1;
    clock_boot_id(boot_id);
    put_text(w, "boot_id");
    put_text(w, boot_id);
    if (step(w) != 0)
        return -1;
    put_text(w, "boot_ms");
    put_int(w, clock_boot_ms());
    if (step(w) != 0)
        return -1;
    put_text(w, "wall_ms");
    put_int(w, clock_wall_ms());
    return step(w);
}

static int save_all(struct state *s)
{
    static const struct {
        const char *clear, *insert;
        int (*fn)(struct state *, struct writer *);
    } tables[] = {
        {"DELETE FROM checks", "INSERT INTO checks VALUES(?,?,?,?,?,?,?,?)",
         save_checks},
        {"DELETE FROM vals",
         "INSERT INTO vals VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
         save_values},
        {"DELETE FROM sets", "INSERT INTO sets VALUES(?,?,?,?)", save_sets},
        {"DELETE FROM zones", "INSERT INTO zones VALUES(?,?,?)", save_zones},
        {"DELETE FROM judges", "INSERT INTO judges VALUES(?,?,?,?)",
         save_judges},
        {"DELETE FROM overrides", "INSERT INTO overrides VALUES(?,?,?,?)",
         save_overrides},
        {"DELETE FROM stops", "INSERT INTO stops VALUES(?,?,?,?)", save_stops},
        {"DELETE FROM kepts", "INSERT INTO kepts VALUES(?,?,?)", save_kepts},
        {"DELETE FROM problems", "INSERT INTO problems VALUES(?,?,?)",
         save_problems},
        {"DELETE FROM meta", "INSERT INTO meta VALUES(?,?)", save_meta},
        {NULL,
         "INSERT INTO history(wall_ms,zone,name,type,data,event,reason) "
         "VALUES(?,?,?,?,?,?,?)",
         save_events},
    };

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct writer w = {NULL, 0};
        int rc = 0;

        if (tables[i].clear != NULL &&
            sqlite3_exec(s->db, tables[i].clear, NULL, NULL, NULL) != SQLITE_OK)
            return -1;
        rc = begin(s, tables[i].insert, &w);
        if (rc == 0)
            rc = tables[i].fn(s, &w);
        (void)sqlite3_finalize(w.q);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int prune(struct state *s)
{
    char sql[96];

    (void)snprintf(sql, sizeof sql,
                   "DELETE FROM history WHERE wall_ms < %" PRId64,
                   clock_wall_ms() - HISTORY_KEPT_MS);
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

int state_save(struct state *s, struct err *e)
{
    if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return err_set(e, ERR_LOCAL, "state: %s", sqlite3_errmsg(s->db));
    if (save_all(s) == 0 && state_spec_save(s) == 0 && prune(s) == 0 &&
        sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) {
        state_clear_events(s);
        state_spec_saved(s, true);
        (void)sqlite3_db_release_memory(s->db); /* 2 MB of pages */
        state_check_sweep(s, is_wanted);
        return 0;
    }
    (void)err_set(e, ERR_LOCAL, "state: %s", sqlite3_errmsg(s->db));
    (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    state_spec_saved(s, false);
    return -1;
}
