#include "resolver/owners.h"

#include <stdio.h>
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

/* A TXT record at a _failover name. */
struct found {
    const char *name; /* without _failover */
    size_t nth;       /* in the transfer's order */
    const struct message_txt *txt;
};

struct owners {
    const char *zone;
    struct arena *arena;
    struct found *found;
    size_t nfound, found_cap, nnames;
    struct arena *texts; /* NULL: they became too many */
    size_t text_size;
    struct list cuts;
    struct resolver_owner *owners; /* what owners_get hands out */
    struct message_txt *txts;
    bool begun, ended;
    uint32_t serial;
    const char *who; /* during owners_take */
    struct err *err;
};

struct owners *owners_new(const char *zone)
{
    struct owners *o = mem_alloc(sizeof *o);

    o->arena = arena_new();
    o->texts = arena_new();
    o->zone = arena_strdup(o->arena, zone);
    return o;
}

void owners_free(struct owners *o)
{
    if (o == NULL)
        return;
    free(o->found);
    free(o->owners);
    free(o->txts);
    free(o->cuts.names);
    arena_free(o->texts);
    arena_free(o->arena);
    free(o);
}

/* Records of one set follow each other: its name is kept once. */
static int add_cut(struct owners *o, const char *name)
{
    struct list *l = &o->cuts;

    if (l->n > 0 && strcmp(l->names[l->n - 1], name) == 0)
        return 0;
    if (l->n >= OWNERS_CUTS_MAX)
        return err_set(o->err, ERR_LIMIT, "%s has more than %d zone cuts in %s",
                       o->who, OWNERS_CUTS_MAX, o->zone);
    l->names = mem_grow(l->names, &l->cap, l->n, sizeof *l->names);
    l->names[l->n++] = arena_strdup(o->arena, name);
    return 0;
}

static void drop_texts(struct owners *o)
{
    arena_free(o->texts);
    o->texts = NULL;
    for (size_t i = 0; i < o->nfound; i++)
        o->found[i].txt = NULL;
}

static void keep_text(struct owners *o, struct found *f,
                      const struct message_record *r)
{
    if (o->texts == NULL)
        return;
    f->txt = message_record_txt(r, o->texts);
    o->text_size += sizeof *f->txt;
    for (size_t i = 0; i < f->txt->nstrings; i++)
        o->text_size +=
            sizeof *f->txt->strings + f->txt->strings[i].len + sizeof(size_t);
    if (o->text_size > OWNERS_TEXT_MAX)
        drop_texts(o);
}

static int add_owner(struct owners *o, const struct message_record *r)
{
    const char *name = r->owner + sizeof PREFIX - 1;
    const struct found *last = o->nfound > 0 ? &o->found[o->nfound - 1] : NULL;
    bool same = last != NULL && name_equal(last->name, name);
    struct found *f;

    if (!same && ++o->nnames > OWNERS_MAX)
        return err_set(o->err, ERR_LIMIT,
                       "%s has more than %d _failover names in %s", o->who,
                       OWNERS_MAX, o->zone);
    if (same && o->texts == NULL)
        return 0;
    o->found = mem_grow(o->found, &o->found_cap, o->nfound, sizeof *o->found);
    f = &o->found[o->nfound];
    f->nth = o->nfound++;
    f->name = same ? f[-1].name : arena_strdup(o->arena, name);
    keep_text(o, f, r);
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
        return add_cut(o, r->owner) == 0;
    if (is_spec(o, r))
        return add_owner(o, r) == 0;
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

static int by_name(const void *pa, const void *pb)
{
    const struct found *a = pa, *b = pb;
    int order = name_compare(a->name, b->name);

    return order != 0 ? order : (a->nth > b->nth) - (a->nth < b->nth);
}

/* The _failover name itself, or one above it, is a cut: it belongs to the
 * child zone. */
static bool below_cut(const struct owners *o, const char *name)
{
    char full[NAME_SIZE + sizeof PREFIX];
    const char *at = full;

    if (o->cuts.n == 0)
        return false;
    (void)snprintf(full, sizeof full, PREFIX "%s", name);
    while (!name_equal(at, o->zone) && !name_equal(at, ".")) {
        if (bsearch(&at, o->cuts.names, o->cuts.n, sizeof at, by_text) != NULL)
            return true;
        at = name_parent(at);
    }
    return false;
}

/* One owner for each name of the sorted records. */
static size_t gather(struct owners *o)
{
    size_t n = 0;

    o->owners = mem_array(o->nfound, sizeof *o->owners);
    o->txts = mem_array(o->nfound, sizeof *o->txts);
    for (size_t i = 0; i < o->nfound; i++) {
        const struct found *f = &o->found[i];

        if (n == 0 || !name_equal(o->owners[n - 1].name, f->name)) {
            o->owners[n].name = f->name;
            o->owners[n++].txts = f->txt != NULL ? &o->txts[i] : NULL;
        }
        if (f->txt != NULL) {
            o->txts[i] = *f->txt;
            o->owners[n - 1].ntxts++;
        }
    }
    return n;
}

const struct resolver_owner *owners_get(struct owners *o, size_t *n,
                                        uint32_t *serial)
{
    size_t kept = 0;

    if (o->cuts.n > 1)
        qsort(o->cuts.names, o->cuts.n, sizeof *o->cuts.names, by_text);
    for (size_t i = 0; i < o->nfound; i++)
        if (!below_cut(o, o->found[i].name))
            o->found[kept++] = o->found[i];
    o->nfound = kept;
    if (kept > 1)
        qsort(o->found, kept, sizeof *o->found, by_name);
    *n = gather(o);
    *serial = o->serial;
    return o->owners;
}
