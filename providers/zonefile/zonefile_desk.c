#include "providers/zonefile/zonefile_desk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/base/name.h"
#include "agent/base/proc.h"
#include "providers/zonefile/zonefile_impl.h"

/* A zone that was asked for. */
struct served {
    char *zone, *path; /* canonical; as configured */
    char *tmp;         /* staged; NULL: nothing is */
    char *includes;    /* its lines with $INCLUDE, as last read; NULL: not yet
                          read */
    struct served *next;
};

struct zonefile_desk {
    const struct config *cfg;
    const struct config_provider *provider;
    struct zonefile *z;
    struct served *zones;
};

struct zonefile_desk *zonefile_desk_new(const struct config *cfg,
                                        const struct config_provider *p,
                                        struct err *e)
{
    const struct provider_env none = {.loop = NULL};
    struct zonefile_desk *d;
    struct provider *instance;

    if (strcmp(p->type, provider_zonefile.type) != 0) {
        (void)err_set(e, ERR_AUTH, "of type %s, which has no zone files",
                      p->type);
        return NULL;
    }
    if (provider_zonefile.open(&provider_zonefile, &none, p, &instance, e) != 0)
        return NULL;
    d = mem_alloc(sizeof *d);
    d->cfg = cfg;
    d->provider = p;
    d->z = (struct zonefile *)instance;
    return d;
}

void zonefile_desk_free(struct zonefile_desk *d)
{
    struct served *s, *next;

    if (d == NULL)
        return;
    LL_FOREACH_SAFE(d->zones, s, next)
    {
        zonefile_unstage(&s->tmp);
        free(s->zone);
        free(s->path);
        free(s->includes);
        free(s);
    }
    zonefile_free(d->z);
    free(d);
}

struct helper_identity zonefile_desk_identity(const struct stat *st)
{
    return (struct helper_identity){.dev = st->st_dev,
                                    .ino = st->st_ino,
                                    .mtime_s = (uint64_t)st->st_mtim.tv_sec,
                                    .mtime_ns = (uint64_t)st->st_mtim.tv_nsec,
                                    .size = st->st_size};
}

struct stat zonefile_desk_stat(const struct helper_identity *id)
{
    struct stat st;

    memset(&st, 0, sizeof st);
    st.st_dev = id->dev;
    st.st_ino = id->ino;
    st.st_mtim.tv_sec = (time_t)id->mtime_s;
    st.st_mtim.tv_nsec = (long)id->mtime_ns;
    st.st_size = id->size;
    return st;
}

static bool serves(const struct zonefile_desk *d, const char *zone)
{
    for (size_t i = 0; i < d->cfg->nzones; i++)
        if (config_zone_uses(&d->cfg->zones[i], d->provider) &&
            strcmp(d->cfg->zones[i].name, zone) == 0)
            return true;
    return false;
}

bool zonefile_desk_serves(const struct zonefile_desk *d, const char *zone)
{
    /* Only what the configuration spells out: "*" is no zone. */
    return strcmp(zone, "*") != 0 && serves(d, zone);
}

/* returns NULL with e set when that zone is not to be had here. */
static struct served *find(struct zonefile_desk *d, const char *zone,
                           struct err *e)
{
    struct served *s;

    if (!zonefile_desk_serves(d, zone)) {
        (void)err_set(e, ERR_AUTH, "the configuration gives it no zone %.100s",
                      zone);
        return NULL;
    }
    LL_FOREACH(d->zones, s)
    {
        if (strcmp(s->zone, zone) == 0)
            return s;
    }
    s = mem_alloc(sizeof *s);
    s->zone = mem_strdup(zone);
    s->path = zonefile_path(d->z, zone);
    LL_PREPEND(d->zones, s);
    return s;
}

/* Where the line at p ends. */
static const char *line_end(const char *p)
{
    return p + strcspn(p, "\r\n");
}

static bool has_line(const char *text, const char *line, size_t len)
{
    for (const char *p = text; *p != '\0';) {
        const char *end = line_end(p);

        if ((size_t)(end - p) == len && memcmp(p, line, len) == 0)
            return true;
        p = *end != '\0' ? end + 1 : end;
    }
    return false;
}

static bool names_include(const char *p, const char *end)
{
    static const char word[] = "$INCLUDE";

    while (p < end && strncasecmp(p, word, sizeof word - 1) != 0)
        p++;
    return p < end;
}

/* returns those lines, heap */
static char *include_lines(const char *text)
{
    struct buf b;

    buf_init(&b, MASTERFILE_MAX);
    for (const char *p = text; *p != '\0';) {
        const char *end = line_end(p);

        if (names_include(p, end)) {
            buf_add(&b, p, (size_t)(end - p));
            buf_char(&b, '\n');
        }
        p = *end != '\0' ? end + 1 : end;
    }
    return buf_take(&b);
}

/* --- reading -------------------------------------------------------------- */

struct reading {
    const char *dir;
    struct buf *names;
    int *fds;
    size_t *n;
};

static int add(struct reading *r, const char *name, int fd, struct err *e)
{
    r->fds[*r->n] = fd;
    ++*r->n;
    buf_add(r->names, name, strlen(name) + 1);
    if (!r->names->over)
        return 0;
    return err_set(e, ERR_LIMIT, "the names of its $INCLUDEs are too long");
}

static int read_include(void *arg, const char *path, char **data, size_t *len,
                        struct err *e)
{
    struct reading *r = arg;
    struct zonefile_copy c;
    char *full =
        path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", r->dir, path);
    int fd = -1, rc = -1;

    memset(&c, 0, sizeof c);
    if (*r->n >= HELPER_FILES_MAX)
        (void)err_set(e, ERR_LIMIT, "more than %d files are included",
                      HELPER_FILES_MAX);
    else
        fd = zonefile_file_open(full, &c, e);
    if (fd >= 0 && add(r, full, fd, e) == 0)
        rc = zonefile_read_open(fd, &c, e);
    if (rc == 0) {
        *data = c.text;
        *len = c.len;
        c.text = NULL;
    } else if (e->code == ERR_NOTFOUND && path[0] != '/') {
        (void)err_wrap(e, ZONEFILE_RELATIVE, r->dir);
    }
    zonefile_copy_fini(&c);
    free(full);
    return rc;
}

/* What a file includes is found by the same parser, which reads all of it. */
static int collect(struct zonefile_desk *d, const struct served *s,
                   struct zonefile_copy *c, int fd, struct reading *r,
                   struct err *e)
{
    struct masterfile_source src = {read_include, r};
    struct masterfile *m = NULL;
    int rc = add(r, c->path, fd, e);

    r->dir = zonefile_work_dir(d->z, c);
    if (rc == 0)
        rc = zonefile_read_open(fd, c, e);
    if (rc == 0)
        rc = masterfile_parse(s->zone, s->path, c->text, c->len, &src, &m, e);
    masterfile_free(m);
    return rc;
}

int zonefile_desk_read(struct zonefile_desk *d, const char *zone,
                       struct buf *names, int *fds, size_t *n, struct err *e)
{
    struct served *s = find(d, zone, e);
    struct reading r = {.names = names, .fds = fds, .n = n};
    struct zonefile_copy c;
    int fd, rc = -1;

    *n = 0;
    if (s == NULL)
        return -1;
    fd = zonefile_file_open(s->path, &c, e);
    if (fd >= 0)
        rc = collect(d, s, &c, fd, &r, e);
    if (rc == 0) {
        free(s->includes);
        s->includes = include_lines(c.text);
    }
    zonefile_copy_fini(&c);
    return rc;
}

int zonefile_desk_journal(struct zonefile_desk *d, const char *zone,
                          struct err *e)
{
    struct served *s = find(d, zone, e);
    struct zonefile_copy c;
    int fd, rc = -1;

    if (s == NULL)
        return -1;
    fd = zonefile_file_open(s->path, &c, e);
    if (fd >= 0) {
        (void)close(fd);
        rc = zonefile_journal_check(s->path, &c, e);
    }
    zonefile_copy_fini(&c);
    return rc;
}

/* --- writing -------------------------------------------------------------- */

/* An $INCLUDE more would hand out a file that the configuration does not name.
 * Looked for as text, whatever it may be part of: an edit leaves such lines
 * alone. */
static int check_includes(const struct served *s, const char *text, size_t len,
                          struct err *e)
{
    if (memchr(text, '\0', len) != NULL)
        return err_set(e, ERR_INPUT, "%s: the new text holds a NUL", s->path);
    for (const char *p = text; *p != '\0';) {
        const char *end = line_end(p);

        if (names_include(p, end) &&
            !has_line(s->includes, p, (size_t)(end - p)))
            return err_set(e, ERR_AUTH,
                           "%s: the new text includes a file that the old "
                           "one does not",
                           s->path);
        p = *end != '\0' ? end + 1 : end;
    }
    return 0;
}

static int read_memory(int fd, char **text, size_t *len, struct err *e)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & ZONEFILE_DESK_SEALS) != ZONEFILE_DESK_SEALS ||
        fstat(fd, &st) != 0)
        return err_set(e, ERR_INPUT, "the new text is no sealed memory file");
    if ((uintmax_t)st.st_size > MASTERFILE_MAX)
        return err_set(e, ERR_LIMIT, "the new text has more than %zu bytes",
                       MASTERFILE_MAX);
    *text = mem_alloc((size_t)st.st_size + 1);
    *len = 0;
    while (*len < (size_t)st.st_size) {
        ssize_t n =
            pread(fd, *text + *len, (size_t)st.st_size - *len, (off_t)*len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_LOCAL, "the new text: %s", strerror(errno));
        *len += (size_t)n;
    }
    return 0;
}

int zonefile_desk_stage(struct zonefile_desk *d, const char *zone, int fd,
                        const char **tmp, struct err *e)
{
    struct served *s = find(d, zone, e);
    struct zonefile_copy c;
    char *text = NULL;
    size_t len = 0;
    int old, rc = -1;

    if (s == NULL)
        return -1;
    if (s->includes == NULL)
        return err_set(e, ERR_INPUT, "%s: written before it was read", s->path);
    zonefile_unstage(&s->tmp);
    memset(&c, 0, sizeof c);
    if (read_memory(fd, &text, &len, e) == 0 &&
        check_includes(s, text, len, e) == 0) {
        old = zonefile_file_open(s->path, &c, e);
        if (old >= 0) {
            (void)close(old);
            rc = zonefile_stage(&c, text, len, &s->tmp, e);
        }
    }
    zonefile_copy_fini(&c);
    free(text);
    *tmp = s->tmp;
    return rc;
}

int zonefile_desk_unstage(struct zonefile_desk *d, const char *zone,
                          struct err *e)
{
    struct served *s = find(d, zone, e);

    if (s == NULL)
        return -1;
    zonefile_unstage(&s->tmp);
    return 0;
}

/* out: *c — without text; fini after both */
static int look_at(struct served *s, struct zonefile_copy *c, struct err *e)
{
    int fd;

    memset(c, 0, sizeof *c);
    if (s == NULL)
        return -1;
    fd = zonefile_file_open(s->path, c, e);
    if (fd < 0)
        return -1;
    (void)close(fd);
    return 0;
}

int zonefile_desk_unchanged(struct zonefile_desk *d, const char *zone,
                            const struct helper_identity *id, struct err *e)
{
    struct served *s = find(d, zone, e);
    struct zonefile_copy c;
    int rc = look_at(s, &c, e);

    if (s != NULL && (rc == 0 || e->code == ERR_NOTFOUND)) {
        if (c.path == NULL)
            c.path = mem_strdup(s->path);
        c.st = zonefile_desk_stat(id);
        rc = zonefile_unchanged(&c, e);
    }
    zonefile_copy_fini(&c);
    return rc;
}

int zonefile_desk_commit(struct zonefile_desk *d, const char *zone,
                         const struct helper_identity *id,
                         struct helper_identity *now, struct err *e)
{
    struct served *s = find(d, zone, e);
    struct zonefile_copy c;
    struct stat st;
    int rc;

    if (s != NULL && s->tmp == NULL)
        return err_set(e, ERR_INPUT, "%s: nothing is staged", s->path);
    rc = look_at(s, &c, e);
    if (rc == 0) {
        c.st = zonefile_desk_stat(id);
        rc = zonefile_commit(&c, &s->tmp, &st, e);
    } else if (s != NULL) {
        zonefile_unstage(&s->tmp);
    }
    if (rc == 0)
        *now = zonefile_desk_identity(&st);
    zonefile_copy_fini(&c);
    return rc;
}

/* --- commands ------------------------------------------------------------- */

int zonefile_desk_command(struct zonefile_desk *d, const char *zone, bool check,
                          char ***argv, char **dir, int64_t *timeout_ms,
                          struct err *e)
{
    struct served *s = find(d, zone, e);
    const char *command = check ? d->z->check : d->z->reload;
    struct zonefile_copy c;
    int rc;

    if (s == NULL)
        return -1;
    if (command == NULL || (check && s->tmp == NULL))
        return err_set(e, ERR_AUTH, "it has nothing to %s with",
                       check ? "check" : "reload");
    rc = look_at(s, &c, e);
    if (rc == 0)
        rc = zonefile_argv(command, zone, check ? s->tmp : c.path, argv, e);
    if (rc == 0) {
        *dir = mem_strdup(zonefile_work_dir(d->z, &c));
        *timeout_ms = d->z->timeout_ms;
    }
    zonefile_copy_fini(&c);
    return rc;
}
