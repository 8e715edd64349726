#ifndef TESTS_UNIT_ZONEFILE_ROOM_H
#define TESTS_UNIT_ZONEFILE_ROOM_H

/* A directory with one zone file, a provider on it, and a stand-in for the
 * name server: its "reload" copies the file to `served`, and the serial that
 * is served is the one found there. */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "providers/provider.h"
#include "providers/zonefile/masterfile.h"

#define DEADLINE_MS 20000

struct room {
    char dir[64];
    struct loop *loop;
    struct provider *p;
    struct config_option options[8];
    size_t noptions;
    bool done;
    struct err err;
    struct change_result results[8];
    bool has_serial;
    uint32_t serial;
    bool force_served; /* serve this in place of the file `served` */
    uint32_t served;
    size_t asked;
};

static inline char *room_path(const struct room *r, const char *name)
{
    return mem_printf("%s/%s", r->dir, name);
}

static inline char *room_read(const struct room *r, const char *name)
{
    char *path = room_path(r, name);
    FILE *f = fopen(path, "rb");
    struct buf b;
    char chunk[4096];
    size_t n;

    free(path);
    if (f == NULL)
        return NULL;
    buf_init(&b, MASTERFILE_MAX);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        buf_add(&b, chunk, n);
    (void)fclose(f);
    return buf_take(&b);
}

static inline void room_write(const struct room *r, const char *name,
                              const char *text)
{
    char *path = room_path(r, name);
    FILE *f = fopen(path, "wb");

    if (f == NULL || fwrite(text, 1, strlen(text), f) != strlen(text) ||
        fclose(f) != 0)
        abort();
    free(path);
}

struct serial_answer {
    struct provider_serial s;
    provider_serial_cb *cb;
    void *arg;
};

static inline void answer_serial(void *arg)
{
    struct serial_answer *a = arg;

    a->cb(a->arg, &a->s);
    free(a);
}

static inline void room_served(void *arg, const char *zone,
                               provider_serial_cb *cb, void *cb_arg)
{
    struct serial_answer *a = mem_alloc(sizeof *a);
    struct room *r = arg;
    char *text = room_read(r, "served");
    struct masterfile *m = NULL;

    r->asked++;
    a->cb = cb;
    a->arg = cb_arg;
    if (r->force_served) {
        a->s = (struct provider_serial){true, r->served};
    } else if (text != NULL &&
               masterfile_parse(zone, "served", text, strlen(text), NULL, &m,
                                NULL) == 0) {
        a->s = (struct provider_serial){true, masterfile_serial(m)};
    }
    masterfile_free(m);
    free(text);
    (void)loop_timer_start(r->loop, 0, answer_serial, a);
}

static inline void room_option(struct room *r, const char *name,
                               const char *fmt)
{
    struct config_option *o = &r->options[r->noptions++];
    struct buf b;

    /* %D is the room's directory */
    buf_init(&b, 4096);
    for (; *fmt != '\0'; fmt++) {
        if (fmt[0] == '%' && fmt[1] == 'D') {
            buf_str(&b, r->dir);
            fmt++;
        } else {
            buf_char(&b, *fmt);
        }
    }
    o->name = name;
    o->value = buf_take(&b);
}

static inline struct room *room_new(const char *zone_text)
{
    struct room *r = mem_alloc(sizeof *r);
    const char *base = getenv("TMPDIR");

    (void)snprintf(r->dir, sizeof r->dir, "%.40s/zonefile.XXXXXX",
                   base != NULL ? base : "/tmp");
    if (mkdtemp(r->dir) == NULL)
        abort();
    r->loop = loop_new();
    room_option(r, "file", "%D/db.{zone}");
    if (zone_text != NULL) {
        room_write(r, "db.example.test", zone_text);
        room_write(r, "served", zone_text);
    }
    return r;
}

static inline int room_open(struct room *r, struct err *e)
{
    struct provider_env env = {
        .loop = r->loop, .served_serial = room_served, .arg = r};
    struct config_provider cfg = {.name = "files",
                                  .type = "zonefile",
                                  .options = r->options,
                                  .noptions = r->noptions};

    return provider_zonefile.open(&provider_zonefile, &env, &cfg, &r->p, e);
}

static inline void room_closed(void *arg)
{
    ((struct room *)arg)->done = true;
}

static inline void room_free(struct room *r)
{
    DIR *d = opendir(r->dir);
    struct dirent *f;

    if (r->p != NULL) {
        r->done = false;
        provider_zonefile.close(r->p, room_closed, r);
        if (!loop_wait(r->loop, &r->done, clock_mono_ms() + DEADLINE_MS))
            abort();
    }
    while (d != NULL && (f = readdir(d)) != NULL)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            (void)unlinkat(dirfd(d), f->d_name, 0);
    if (d != NULL)
        (void)closedir(d);
    (void)rmdir(r->dir);
    loop_free(r->loop);
    for (size_t i = 0; i < r->noptions; i++)
        free((char *)(uintptr_t)r->options[i].value);
    free(r);
}

/* Files of the directory whose names begin with '.': what an edit forgot. */
static inline size_t room_leftovers(const struct room *r)
{
    DIR *d = opendir(r->dir);
    struct dirent *f;
    size_t n = 0;

    while (d != NULL && (f = readdir(d)) != NULL)
        n += f->d_name[0] == '.' && strcmp(f->d_name, ".") != 0 &&
             strcmp(f->d_name, "..") != 0;
    if (d != NULL)
        (void)closedir(d);
    return n;
}

static inline void room_applied(void *arg, const struct provider_apply *a)
{
    struct room *r = arg;

    r->err = a->err;
    for (size_t i = 0; i < a->n && i < 8; i++)
        r->results[i] = a->results[i];
    r->has_serial = a->has_serial;
    r->serial = a->serial;
    r->done = true;
}

static inline void room_apply(struct room *r, const struct change *v, size_t n)
{
    struct change_set set = {.zone = "example.test.", .v = v, .n = n};

    r->done = false;
    provider_zonefile.apply(r->p, &set, room_applied, r);
    if (r->done || !loop_wait(r->loop, &r->done, clock_mono_ms() + DEADLINE_MS))
        abort();
}

/* One change; returns whether it was done. */
static inline bool room_one(struct room *r, enum change_op op, const char *name,
                            const char *data)
{
    struct change c = {op, 0, name, RR_A, data, -1};

    room_apply(r, &c, 1);
    return r->err.code == ERR_NONE && r->results[0].state == CHANGE_DONE;
}

#endif
