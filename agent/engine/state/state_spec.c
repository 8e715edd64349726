#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/engine/state/state_internal.h"

/* The last good texts of specs. They are as large as everything else that is
 * known of a spec, and hardly ever wanted: the file keeps them, and memory
 * only those that are not saved yet. */

static void print_of(const char *texts, unsigned char *out)
{
    if (EVP_Digest(texts, strlen(texts), out, NULL, EVP_sha256(), NULL) != 1)
        abort();
}

void state_spec_loaded(struct state_spec *row, const char *texts)
{
    row->good = texts != NULL;
    if (texts != NULL)
        print_of(texts, row->print);
}

static void put(struct state *s, struct state_spec *row, const char *texts)
{
    if (s->spec_texts == NULL)
        s->spec_texts = arena_new();
    row->texts = arena_strdup(s->spec_texts, texts);
}

void state_spec_put(struct state *s, struct state_spec *row, const char *texts)
{
    unsigned char print[STATE_PRINT_SIZE];

    print_of(texts, print);
    if (row->good && memcmp(print, row->print, sizeof print) == 0)
        return;
    memcpy(row->print, print, sizeof print);
    row->good = true;
    put(s, row, texts);
}

char *state_spec_texts(struct state *s, const struct state_spec *row,
                       struct err *e)
{
    sqlite3_stmt *q = NULL;
    char *copy = NULL;
    int rc;

    if (row->texts != NULL)
        return mem_strdup(row->texts);
    rc = sqlite3_prepare_v2(s->db, "SELECT texts FROM specs WHERE key=?", -1,
                            &q, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(q, 1, row->key, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(q);
    if (rc == SQLITE_ROW && sqlite3_column_text(q, 0) != NULL)
        copy = mem_strdup((const char *)sqlite3_column_text(q, 0));
    else
        (void)err_set(
            e, ERR_LOCAL, "state: the last good text of %s: %s", row->key,
            rc == SQLITE_ROW || rc == SQLITE_DONE ? "it is gone from the file"
                                                  : sqlite3_errmsg(s->db));
    (void)sqlite3_finalize(q);
    return copy;
}

/* --- saving --------------------------------------------------------------- */

static bool is_kept(const struct state_spec *r)
{
    return r->used && r->good;
}

static void take_back(struct state *s, struct state_spec *r, sqlite3_stmt *q)
{
    const char *texts = (const char *)sqlite3_column_text(q, 2);

    if (texts != NULL)
        put(s, r, texts);
}

/* Those that leave the file. A row may be used again: its text comes back to
 * memory. */
static int drop_unused(struct state *s, sqlite3_stmt *all, sqlite3_stmt *drop)
{
    int rc;

    while ((rc = sqlite3_step(all)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(all, 1);
        struct state_spec *r =
            key != NULL ? keytable_find(&s->spec_rows.by_key, key) : NULL;

        if (r != NULL && is_kept(r))
            continue;
        if (r != NULL && r->good && r->texts == NULL)
            take_back(s, r, all);
        (void)sqlite3_bind_int64(drop, 1, sqlite3_column_int64(all, 0));
        if (sqlite3_step(drop) != SQLITE_DONE)
            return -1;
        (void)sqlite3_reset(drop);
    }
    return rc == SQLITE_DONE ? 0 : -1;
}

/* A text that is not bound stays as the file has it. */
static int put_rows(struct state *s, sqlite3_stmt *q)
{
    for (struct state_spec *r = state_specs(s); r != NULL; r = r->next) {
        if (!is_kept(r))
            continue;
        (void)sqlite3_bind_text(q, 1, r->key, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(q, 2, r->texts, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int64(q, 3, r->good_wall_ms);
        (void)sqlite3_bind_int64(q, 4, r->gone_ms);
        (void)sqlite3_bind_text(q, 5, r->stale, -1, SQLITE_STATIC);
        if (sqlite3_step(q) != SQLITE_DONE)
            return -1;
        (void)sqlite3_reset(q);
    }
    return 0;
}

int state_spec_save(struct state *s)
{
    static const char *const sql[] = {
        "SELECT rowid,key,texts FROM specs", "DELETE FROM specs WHERE rowid=?",
        "INSERT INTO specs VALUES(?1,?2,?3,?4,?5) ON CONFLICT(key) DO UPDATE "
        "SET texts=coalesce(?2,texts),good_wall_ms=?3,gone_ms=?4,stale=?5"};
    sqlite3_stmt *q[3] = {NULL, NULL, NULL};
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++)
        if (sqlite3_prepare_v2(s->db, sql[i], -1, &q[i], NULL) != SQLITE_OK)
            rc = -1;
    if (rc == 0)
        rc = drop_unused(s, q[0], q[1]);
    if (rc == 0)
        rc = put_rows(s, q[2]);
    for (int i = 0; i < 3; i++)
        (void)sqlite3_finalize(q[i]);
    return rc;
}

void state_spec_saved(struct state *s, bool done)
{
    struct arena *old = s->spec_texts;

    s->spec_texts = NULL;
    for (struct state_spec *r = state_specs(s); r != NULL; r = r->next) {
        const char *texts = r->texts;

        r->texts = NULL;
        if (texts != NULL && !(done && is_kept(r)))
            put(s, r, texts);
    }
    arena_free(old);
}
