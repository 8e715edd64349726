#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/engine/state/state_internal.h"

/* Opening the state: directory, lock, damage. */

static const char *owner_name(const char *path, char *out, size_t size)
{
    struct stat st;
    struct passwd *pw;

    if (stat(path, &st) != 0)
        return "nobody we can see";
    pw = getpwuid(st.st_uid);
    if (pw != NULL)
        (void)snprintf(out, size, "%s", pw->pw_name);
    else
        (void)snprintf(out, size, "uid %lu", (unsigned long)st.st_uid);
    return out;
}

static int no_access(const char *path, const char *dir, int why, struct err *e)
{
    char who[64];

    if (why == EACCES || why == EPERM || why == EROFS)
        return err_set(e, ERR_INPUT,
                       "state %s: %s; %s belongs to %s: run as that user, or "
                       "set state in agent",
                       path, strerror(why), dir,
                       owner_name(dir, who, sizeof who));
    return err_set(e, ERR_INPUT, "state %s: %s", path, strerror(why));
}

static int make_directory(const char *path, struct err *e)
{
    char *copy = mem_strdup(path), *up = mem_strdup(path);
    const char *dir = dirname(copy), *parent;
    int rc = 0;

    (void)dirname(up);
    parent = dirname(up);
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        rc = no_access(path, errno == ENOENT ? parent : parent, errno, e);
    free(copy);
    free(up);
    return rc;
}

static int take_lock(struct state *s, const char *path, struct err *e)
{
    char *lock = mem_printf("%s.lock", path), *dir = mem_strdup(path);
    int rc = 0;

    s->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock_fd < 0)
        rc = no_access(path, dirname(dir), errno, e);
    else if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
        rc = errno == EWOULDBLOCK
                 ? err_set(e, ERR_BUSY, "another run holds %s", lock)
                 : err_set(e, ERR_LOCAL, "%s: %s", lock, strerror(errno));
    free(lock);
    free(dir);
    return rc;
}

static int open_db(struct state *s, const char *path, int flags, struct err *e)
{
    int rc = sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_URI, NULL);

    if (rc == SQLITE_OK) {
        (void)sqlite3_busy_timeout(s->db, 2000);
        return 0;
    }
    (void)state_sql_error(s, e);
    (void)sqlite3_close(s->db);
    s->db = NULL;
    return -1;
}

/* The check's findings are rows, not an error. */
static int on_check_row(void *arg, int n, char **cells, char **heads)
{
    struct err *e = arg;

    (void)heads;
    if (n > 0 && cells[0] != NULL && strcmp(cells[0], "ok") != 0)
        (void)err_set(e, ERR_INPUT, "%s", cells[0]);
    return 0;
}

/* "dnsf": whose database a file is. source: SQLite "PRAGMA application_id" */
#define APPLICATION_ID 1684956006
#define TEXT_OF(x) #x
#define SQL_OF(x) TEXT_OF(x)

static int query_int(struct state *s, const char *sql, int64_t *out)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);

    if (rc == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        *out = sqlite3_column_int64(q, 0);
    else
        rc = SQLITE_ERROR;
    (void)sqlite3_finalize(q);
    return rc == SQLITE_OK ? 0 : -1;
}

/* A healthy database of somebody else is left alone, not set aside. */
static int check_owner(struct state *s, struct err *e)
{
    int64_t id = 0, tables = 0;

    if (query_int(s, "PRAGMA application_id", &id) != 0 ||
        query_int(s, "SELECT count(*) FROM sqlite_master", &tables) != 0)
        return 0; /* damaged: told later */
    if (tables > 0 && id != APPLICATION_ID)
        return err_set(e, ERR_CONFLICT,
                       "the database of another program; set state in agent "
                       "to a file of its own");
    if (tables == 0)
        (void)sqlite3_exec(s->db,
                           "PRAGMA application_id=" SQL_OF(APPLICATION_ID),
                           NULL, NULL, NULL);
    return 0;
}

static int prepare_db(struct state *s, struct err *e)
{
    /* No temporary files: a service can write beside the state alone. */
    static const char sql[] = "PRAGMA temp_store=MEMORY;"
                              "PRAGMA journal_mode=WAL;"
                              "PRAGMA synchronous=FULL;";
    struct err found = {ERR_NONE, ""};
    int rc;

    if (check_owner(s, e) != 0)
        return -1;
    rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(s->db, "PRAGMA quick_check(1)", on_check_row, &found,
                          NULL);
    if (rc == SQLITE_OK && found.code != ERR_NONE)
        return err_set(e, found.code, "%s", found.msg);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(s->db, state_schema, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return state_load(s, e);
    return state_sql_error(s, e);
}

/* -wal and -shm belong to the damaged file and would spoil the new one. The
 * name is fixed, so there is one copy and not one for each start. */
static void set_aside(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm"};

    for (size_t i = 0; i < 3; i++) {
        char *from = mem_printf("%s%s", path, tails[i]);
        char *to = mem_printf("%s.damaged%s", path, tails[i]);

        (void)rename(from, to);
        free(from);
        free(to);
    }
}

static void close_db(struct state *s)
{
    state_clear(s);
    (void)sqlite3_close(s->db);
    s->db = NULL;
}

static int open_memory(struct state *s, struct err *e)
{
    if (open_db(s, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e) !=
        0)
        return -1;
    return prepare_db(s, e);
}

static int use_memory(struct state *s, const char *path, struct err *e)
{
    log_line(LOG_ALARM,
             "state %s cannot be written (%s): this round only learns and "
             "withdraws nothing",
             path, e->msg);
    close_db(s);
    s->lost = true;
    if (open_db(s, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e) !=
        0)
        return -1;
    return prepare_db(s, e);
}

static int start_anew(struct state *s, const char *path, struct err *e)
{
    log_line(LOG_ALARM,
             "state %s is damaged (%s): set aside as %s.damaged; this round "
             "only learns and withdraws nothing",
             path, e->msg, path);
    close_db(s);
    set_aside(path);
    s->lost = true;
    if (open_db(s, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e) != 0)
        return -1;
    return prepare_db(s, e);
}

static int open_writer(struct state *s, const char *path, struct err *e)
{
    mode_t old = umask(0077);
    struct stat st;
    bool empty = stat(path, &st) == 0 && st.st_size == 0;
    int rc = open_db(s, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e);

    if (rc == 0)
        rc = empty ? err_set(e, ERR_INPUT, "the file is empty")
                   : prepare_db(s, e);
    if (rc != 0 && e->code == ERR_INPUT && !s->as_is)
        rc = start_anew(s, path, e);
    if (rc != 0 && e->code == ERR_LIMIT && !s->as_is)
        rc = use_memory(s, path, e);
    if (rc != 0)
        (void)err_wrap(e, "state %s", path);
    (void)umask(old);
    return rc;
}

/* source: SQLite "Uniform Resource Identifiers" 3 */
static char *immutable_uri(const char *path)
{
    struct buf b;

    buf_init(&b, 3 * strlen(path) + 32);
    buf_str(&b, "file:");
    for (; *path != '\0'; path++) {
        if (strchr("%?#", *path) != NULL)
            buf_printf(&b, "%%%02X", (unsigned char)*path);
        else
            buf_char(&b, *path);
    }
    buf_str(&b, "?immutable=1");
    return buf_take(&b);
}

/* A reader that may not write -shm can still read a database that no writer
 * has open: then there is no -wal, and the file does not change. */
static int open_reader(struct state *s, const char *path, struct err *e)
{
    char *wal = mem_printf("%s-wal", path), *dir = mem_strdup(path);
    char *uri = immutable_uri(path);
    int rc;

    if (access(path, R_OK) != 0) {
        rc = errno == ENOENT
                 ? err_set(e, ERR_NOTFOUND,
                           "there is no state at %s yet: dnsfailover once "
                           "writes it",
                           path)
                 : no_access(path, dirname(dir), errno, e);
        goto out;
    }
    rc = open_db(s, path, SQLITE_OPEN_READONLY, e);
    if (rc == 0)
        rc = state_load(s, e);
    if (rc != 0 && access(wal, F_OK) != 0) {
        if (s->db != NULL)
            close_db(s);
        rc = open_db(s, uri, SQLITE_OPEN_READONLY, e);
        if (rc == 0)
            rc = state_load(s, e);
    }
out:
    free(wal);
    free(dir);
    free(uri);
    return rc;
}

int state_file_open(struct state *s, const char *path, bool read_only,
                    struct err *e)
{
    if (read_only)
        return open_reader(s, path, e);
    if (make_directory(path, e) != 0 || take_lock(s, path, e) != 0)
        return -1;
    return open_writer(s, path, e);
}

static int open_state(const char *path, bool read_only, bool as_is,
                      struct state **out, struct err *e)
{
    struct state *s = mem_alloc(sizeof *s);

    state_tables_init(s);
    s->lock_fd = -1;
    s->as_is = as_is;
    *out = NULL;
    if (path == NULL ? open_memory(s, e) != 0
                     : state_file_open(s, path, read_only, e) != 0) {
        state_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

int state_open(const char *path, bool read_only, struct state **s,
               struct err *e)
{
    return open_state(path, read_only, false, s, e);
}

int state_edit(const char *path, struct state **s, struct err *e)
{
    if (open_state(path, false, true, s, e) != 0)
        return -1;
    state_keep_all(*s);
    return 0;
}

void state_close(struct state *s)
{
    if (s == NULL)
        return;
    close_db(s);
    /* Closing lets the lock go; the file stays: unlinking it would let two
     * runs hold two locks of one name. */
    if (s->lock_fd >= 0)
        (void)close(s->lock_fd);
    free(s);
}
