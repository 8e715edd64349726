#ifndef TESTS_UNIT_STATE_ROOM_H
#define TESTS_UNIT_STATE_ROOM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <dirent.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "agent/base/mem.h"
#include "agent/engine/state/state.h"

/* A directory of its own for one test of the state. */
struct room {
    char dir[64];
    char path[96]; /* of the state */
};

static inline void room_open(struct room *r)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(r->dir, sizeof r->dir, "%.40s/state.XXXXXX",
                   base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(r->path, sizeof r->path, "%s/state.db", r->dir);
}

/* How many files of the room have a name that begins so. */
static inline size_t room_files(const struct room *r, const char *start)
{
    DIR *d = opendir(r->dir);
    const struct dirent *de;
    size_t n = 0;

    assert_non_null(d);
    while ((de = readdir(d)) != NULL)
        n += strncmp(de->d_name, start, strlen(start)) == 0;
    (void)closedir(d);
    return n;
}

static inline void room_close(struct room *r)
{
    DIR *d = opendir(r->dir);
    const struct dirent *de;

    assert_non_null(d);
    while ((de = readdir(d)) != NULL) {
        char *file = mem_printf("%s/%s", r->dir, de->d_name);

        if (de->d_name[0] != '.')
            (void)unlink(file);
        free(file);
    }
    (void)closedir(d);
    assert_int_equal(rmdir(r->dir), 0);
}

static inline struct state *room_state(const struct room *r)
{
    struct state *s = NULL;
    struct err e = {ERR_NONE, ""};

    if (state_open(r->path, false, &s, &e) != 0)
        fail_msg("%s", e.msg);
    return s;
}

static inline void room_save(struct state *s)
{
    struct err e = {ERR_NONE, ""};

    if (state_save(s, &e) != 0)
        fail_msg("%s", e.msg);
}

/* Runs SQL on the closed database. */
static inline void room_sql(const struct room *r, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    (void)sqlite3_close(db);
}

static inline int64_t room_sql_int(const struct room *r, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int64_t v;

    assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    v = sqlite3_column_int64(q, 0);
    (void)sqlite3_finalize(q);
    (void)sqlite3_close(db);
    return v;
}

/* A mark to know a saved state by. */
static inline void room_mark(struct state *s, uint32_t n)
{
    state_check_get(s, "mark")->health.streak = n;
}

static inline uint32_t room_marked(struct state *s)
{
    return state_check_get(s, "mark")->health.streak;
}

#define ROOM_ROWS 100

static inline void room_write(const char *path, const char *data, size_t len)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static inline void room_save_mark(const struct room *r, uint32_t n)
{
    struct state *s = room_state(r);

    room_mark(s, n);
    room_save(s);
    state_close(s);
}

static inline uint32_t room_load_mark(const struct room *r, bool lost)
{
    struct state *s = room_state(r);
    uint32_t n = room_marked(s);

    assert_int_equal(state_is_lost(s), lost);
    state_close(s);
    return n;
}

static inline void room_fill(struct state *s, uint32_t n)
{
    struct state_set *set = state_set_get(s, "z.", "www.z.", "A");
    char key[32];

    for (unsigned i = 0; i < ROOM_ROWS; i++) {
        (void)snprintf(key, sizeof key, "192.0.2.%u", i);
        state_value_get(s, set, key)->memory.brake_streak = n;
        (void)snprintf(key, sizeof key, "mark%u", i);
        state_check_get(s, key)->health.streak = n;
    }
    room_mark(s, n);
}

#endif
