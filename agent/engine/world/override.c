#include "agent/engine/world/override.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/engine/state/judge_text.h"

/* --- rows ---------------------------------------------------------------- */

bool override_split(const struct state_override *row, struct override *out)
{
    const char *zone = strchr(row->key, '|'), *what;
    size_t n, nzone;

    if (zone == NULL)
        return false;
    n = (size_t)(zone++ - row->key);
    what = strchr(zone, '|');
    if (what == NULL)
        return false;
    nzone = (size_t)(what++ - zone);
    if (n >= sizeof out->kind || nzone >= sizeof out->zone ||
        strlen(what) >= sizeof out->what)
        return false;
    (void)snprintf(out->kind, sizeof out->kind, "%.*s", (int)n, row->key);
    (void)snprintf(out->zone, sizeof out->zone, "%.*s", (int)nzone, zone);
    (void)snprintf(out->what, sizeof out->what, "%s", what);
    return true;
}

bool override_in_force(const struct state_override *row, int64_t now_ms)
{
    return row->used && (row->until_ms == 0 || row->until_ms > now_ms);
}

int64_t override_until_wall_ms(const struct state_override *row, int64_t now_ms)
{
    if (row->until_ms == 0)
        return 0;
    return clock_wall_ms() + (row->until_ms - now_ms);
}

char *override_subject(const struct override *o)
{
    bool every = strcmp(o->zone, "*") == 0;

    if (strcmp(o->kind, "maintenance") == 0)
        return mem_printf("%s of %s is in maintenance", o->what,
                          every ? "every zone" : o->zone);
    if (strcmp(o->what, "*") != 0)
        return mem_printf("%s is frozen", o->what);
    return every ? mem_printf("every zone is frozen")
                 : mem_printf("zone %s is frozen", o->zone);
}

char *override_text(const struct state_override *row, int64_t now_ms)
{
    char since[32], until[48] = "", *subject, *text;
    struct override o;

    if (!override_split(row, &o))
        return mem_strdup(row->key);
    clock_format(row->since_wall_ms, since, sizeof since);
    if (row->until_ms != 0) {
        char t[32];

        clock_format(override_until_wall_ms(row, now_ms), t, sizeof t);
        (void)snprintf(until, sizeof until, " until %s", t);
    }
    subject = override_subject(&o);
    text = mem_printf("%s, by %s since %s%s", subject,
                      row->user != NULL ? row->user : "somebody", since, until);
    free(subject);
    return text;
}

static int by_key(const void *pa, const void *pb)
{
    const struct state_override *const *a = pa, *const *b = pb;

    return strcmp((*a)->key, (*b)->key);
}

struct state_override **override_list(struct state *s, int64_t now_ms,
                                      size_t *n)
{
    struct state_override **list, *row;

    list = mem_array(HASH_COUNT(state_overrides(s)), sizeof *list);
    *n = 0;
    for (row = state_overrides(s); row != NULL; row = row->hh.next)
        if (override_in_force(row, now_ms))
            list[(*n)++] = row;
    if (*n > 0)
        qsort(list, *n, sizeof *list, by_key);
    return list;
}

struct state_override *override_freeze_of(struct state *s, const char *zone,
                                          const char *name, int64_t now_ms)
{
    struct state_override *row =
        state_override_find(s, "freeze", "*", "*", now_ms);

    if (row == NULL)
        row = state_override_find(s, "freeze", zone, "*", now_ms);
    if (row == NULL)
        row = state_override_find(s, "freeze", zone, name, now_ms);
    return row;
}

/* --- the freeze file ----------------------------------------------------- */

char *override_freeze_file(const char *state_path)
{
    const char *slash = strrchr(state_path, '/');
    int dir = slash != NULL ? (int)(slash - state_path) + 1 : 0;
    char *path = mem_printf("%.*sfreeze", dir, state_path);

    char *unseen;
    int error;

    /* A link that points nowhere was made on purpose, too. */
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return path;
    error = errno;
    if (error == ENOENT || error == ENOTDIR) {
        free(path);
        return NULL;
    }
    /* Somebody may have made it: his word counts more than one failover. */
    unseen = mem_printf("%s (if it is there cannot be seen: %s)", path,
                        strerror(error));
    free(path);
    return unseen;
}

void override_freeze_world(struct world *w)
{
    for (size_t i = 0; i < w->plan.nsets; i++)
        w->plan.sets[i].frozen = true;
}

/* --- readmit ------------------------------------------------------------- */

size_t override_readmit_name(struct state *s, const char *zone,
                             const char *name, const char *data)
{
    char *prefix = mem_printf("%s|%s|", zone, name);
    size_t len = strlen(prefix), n = 0;
    struct state_set *set;

    for (set = state_sets(s); set != NULL; set = set->next) {
        if (strncmp(set->key, prefix, len) != 0)
            continue;
        for (struct state_value *v = set->values; v != NULL; v = v->next) {
            if (data != NULL && strcmp(v->data, data) != 0)
                continue;
            plan_readmit(&v->memory);
            n++;
        }
    }
    free(prefix);
    return n;
}

static size_t readmit_records(struct state *s, const struct recall_zone *z,
                              const struct spec *spec, const char *dc)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->nsets; i++)
        for (size_t k = 0; k < spec->sets[i].nrecords; k++) {
            const struct spec_record *rec = &spec->sets[i].records[k];

            if (rec->dc >= 0 && strcmp(spec->dcs[rec->dc].name, dc) == 0)
                n += override_readmit_name(s, z->name, rec->name, rec->data);
        }
    return n;
}

size_t override_readmit_dc(struct state *s, const struct recall_zone *z,
                           const char *dc)
{
    size_t n = 0;

    for (size_t i = 0; i < z->nowners; i++) {
        char *key = mem_printf("%s|%s", z->name, z->owners[i].name);
        struct state_judge *row = NULL;

        row = state_judge_find(s, key);
        if (row != NULL)
            (void)judge_text_readmit(row, dc);
        if (z->owners[i].spec != NULL)
            n += readmit_records(s, z, z->owners[i].spec, dc);
        free(key);
    }
    return n;
}
