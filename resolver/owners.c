#include "resolver/owners.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"

#define PREFIX "_failover."

enum { RCODE_REFUSED = 5, RCODE_NOTAUTH = 9 };

struct list {
    const char **names;
    size_t n, cap;
};

struct owners {
    const char *zone;
    struct arena *arena;
    struct list owners; /* with _failover until owners_get */
    struct list cuts;
    bool begun, ended;
    uint32_t serial;
    const char *who; /* during owners_take */
    struct err *err;
};

struct owners *owners_new(const char *zone)
{
    struct owners *o = mem_alloc(sizeof *o);

    o->arena = arena_new();
    o->zone = arena_strdup(o->arena, zone);
    return o;
}

void owners_free(struct owners *o)
{
    if (o == NULL)
        return;
    free(o->owners.names);
    free(o->cuts.names);
    arena_free(o->arena);
    free(o);
}

/* Records of one set follow each other: its name is kept once. */
static int add(struct owners *o, struct list *l, const char *name, size_t max,
               const char *what)
{
    if (l->n > 0 && strcmp(l->names[l->n - 1], name) == 0)
        return 0;
    if (l->n >= max)
        return err_set(o->err, ERR_LIMIT, "%s has more than %zu %s in %s",
                       o->who, max, what, o->zone);
    l->names = mem_grow(l->names, &l->cap, l->n, sizeof *l->names);
    l->names[l->n++] = arena_strdup(o->arena, name);
    return 0;
}

static bool is_spec(const struct owners *o, const struct message_record *r)
{
    return r->type == MESSAGE_TXT &&
           strncmp(r->owner, PREFIX, sizeof PREFIX - 1) == 0 &&
           name_within(r->owner + sizeof PREFIX - 1, o->zone);
}

static int take_soa(struct owners *o, const struct message_record *r)
{
    if (!o->begun) {
        o->begun = true;
        o->serial = r->serial;
        return 0;
    }
    o->ended = true;
    if (r->serial == o->serial)
        return 0;
    return err_set(o->err, ERR_RETRY,
                   "%s changed %s during the transfer: serial %u, then %u",
                   o->who, o->zone, o->serial, r->serial);
}

static bool take_record(void *arg, const struct message_record *r)
{
    struct owners *o = arg;

    if (o->ended) {
        (void)err_set(o->err, ERR_RETRY,
                      "%s sent records after the last SOA of %s", o->who,
                      o->zone);
        return false;
    }
    if (r->owner != NULL && r->type == MESSAGE_SOA &&
        name_equal(r->owner, o->zone))
        return take_soa(o, r) == 0;
    if (!o->begun) {
        (void)err_set(o->err, ERR_RETRY,
                      "the transfer of %s from %s does not begin with its SOA",
                      o->zone, o->who);
        return false;
    }
    if (r->owner == NULL || !name_within(r->owner, o->zone))
        return true;
    if (r->type == MESSAGE_NS && !name_equal(r->owner, o->zone))
        return add(o, &o->cuts, r->owner, OWNERS_CUTS_MAX, "zone cuts") == 0;
    if (is_spec(o, r))
        return add(o, &o->owners, r->owner, OWNERS_MAX, "_failover names") == 0;
    return true;
}

static int check_head(const struct owners *o, const struct message *m)
{
    int rcode = message_rcode(m);

    if (rcode == RCODE_REFUSED || rcode == RCODE_NOTAUTH)
        return err_set(o->err, ERR_AUTH,
                       "%s does not grant the zone transfer of %s: it says %s",
                       o->who, o->zone, message_rcode_name(rcode));
    if (rcode != 0)
        return err_set(o->err, ERR_RETRY, "%s says %s to the transfer of %s",
                       o->who, message_rcode_name(rcode), o->zone);
    if (message_is_tc(m))
        return err_set(o->err, ERR_RETRY, "%s sent a truncated transfer of %s",
                       o->who, o->zone);
    /* Later messages may come without the question. */
    if (!o->begun && !message_answers(m, o->zone, MESSAGE_AXFR))
        return err_set(o->err, ERR_RETRY, "%s answered another question",
                       o->who);
    return 0;
}

int owners_take(struct owners *o, const struct message *m, const char *who,
                bool *done, struct err *e)
{
    struct err mine = {0};
    int status;

    o->who = who;
    o->err = &mine;
    status = check_head(o, m);
    if (status == 0)
        message_each(m, take_record, o);
    if (mine.code == ERR_NONE && !o->begun)
        (void)err_set(&mine, ERR_RETRY, "%s sent an empty transfer of %s", who,
                      o->zone);
    o->err = NULL;
    *done = o->ended;
    if (mine.code == ERR_NONE)
        return 0;
    if (e != NULL)
        *e = mine;
    return -1;
}

/* --- the result ---------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_name(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

static void sort(struct list *l, int (*compare)(const void *, const void *))
{
    if (l->n > 1)
        qsort(l->names, l->n, sizeof *l->names, compare);
}

/* name is at or below a cut: it belongs to the child zone. */
static bool below_cut(const struct owners *o, const char *name)
{
    if (o->cuts.n == 0)
        return false;
    while (!name_equal(name, o->zone) && !name_equal(name, ".")) {
        if (bsearch(&name, o->cuts.names, o->cuts.n, sizeof name, by_text) !=
            NULL)
            return true;
        name = name_parent(name);
    }
    return false;
}

const char *const *owners_get(struct owners *o, size_t *n, uint32_t *serial)
{
    struct list *l = &o->owners;
    size_t kept = 0;

    sort(&o->cuts, by_text);
    for (size_t i = 0; i < l->n; i++)
        if (!below_cut(o, l->names[i]))
            l->names[kept++] = l->names[i] + sizeof PREFIX - 1;
    l->n = kept;
    sort(l, by_name);
    kept = 0;
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || !name_equal(l->names[kept - 1], l->names[i]))
            l->names[kept++] = l->names[i];
    l->n = kept;
    *n = l->n;
    *serial = o->serial;
    return l->names;
}
