#include <stdlib.h>
#include <string.h>

#include "providers/rfc2136/rfc2136.h"

/* Sets as the server holds them. A query cannot tell a name's own set from
 * what a wildcard makes of the name, so the wildcards above each name are
 * asked for too; where one has just the same set, an UPDATE that holds
 * nothing but "the name has such a set" settles it: prerequisites know no
 * wildcards. source: RFC 4592 3.3.1, RFC 2136 3.2 */

enum { NOERROR, NXDOMAIN = 3, NXRRSET = 8, TYPES_MAX = 4 };

/* One question: a set that was asked for, one of a wildcard, or the SOA. */
struct item {
    struct rfc2136_set *set; /* NULL: the SOA */
    bool asks;               /* by an UPDATE */
};

struct reading {
    struct rfc2136 *p;
    const char *zone;
    struct arena *arena;
    struct rfc2136_set *sets; /* that were asked for, then the wildcards' */
    size_t nsets, nwild;
    struct rfc2136_set *wild;
    struct item *items;
    size_t nitems, next, answered;
    size_t *again; /* items whose connection was lost */
    size_t nagain, again_next;
    bool progress; /* an answer came since the last loss */
    struct rfc2136_talk *talk;
    struct loop_timer *timer;
    struct rfc2136_read_result result;
    rfc2136_read_cb *cb;
    void *arg;
};

static void finish(struct reading *r)
{
    rfc2136_read_cb *cb = r->cb;
    void *cb_arg = r->arg;
    struct rfc2136_read_result result = r->result;

    rfc2136_talk_free(r->talk);
    loop_timer_cancel(r->timer);
    free(r->items);
    free(r->again);
    free(r);
    cb(cb_arg, &result);
}

/* The first thing that fails counts; the others would say the same. */
static void fail(struct reading *r, const struct err *e)
{
    if (r->result.err.code != ERR_NONE)
        return;
    r->result.err = *e;
    if (r->result.err.code == ERR_UNKNOWN)
        r->result.err.code = ERR_RETRY; /* nothing was to be changed */
}

/* ---- the wildcards above the names --------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "*.example.org." of each name at or below the zone, once. */
static const char **wildcards(struct reading *r, size_t *n)
{
    const char **v = NULL, *last = NULL;
    size_t cap = 0, kept = 0;

    *n = 0;
    for (size_t i = 0; i < r->nsets; i++) {
        const char *name = r->sets[i].name;

        if (last != NULL && strcmp(last, name) == 0)
            continue; /* the sets of a name follow each other */
        last = name;
        while (!name_equal(name, r->zone) && name_within(name, r->zone)) {
            name = name_parent(name);
            v = mem_grow(v, &cap, *n, sizeof *v);
            v[(*n)++] = name;
        }
    }
    if (*n > 1)
        qsort(v, *n, sizeof *v, by_text);
    for (size_t i = 0; i < *n; i++)
        if (i == 0 || strcmp(v[i], v[kept - 1]) != 0)
            v[kept++] = v[i];
    *n = kept;
    return v;
}

static size_t types_of(const struct reading *r, enum rr_type types[TYPES_MAX])
{
    static const enum rr_type all[TYPES_MAX] = {RR_A, RR_AAAA, RR_CNAME,
                                                RR_TXT};
    size_t n = 0;

    for (size_t k = 0; k < TYPES_MAX; k++) {
        bool used = false;

        for (size_t i = 0; i < r->nsets && !used; i++)
            used = r->sets[i].type == all[k];
        if (used)
            types[n++] = all[k];
    }
    return n;
}

static void add_wildcards(struct reading *r)
{
    enum rr_type types[TYPES_MAX];
    size_t nnames, ntypes = types_of(r, types);
    const char **names = wildcards(r, &nnames);

    r->wild = arena_array(r->arena, nnames * ntypes, sizeof *r->wild);
    for (size_t i = 0; i < nnames; i++) {
        const char *name = arena_printf(r->arena, "*.%s", names[i]);

        if (strlen(name) >= NAME_SIZE - 1)
            continue; /* longer than any name: there is none */
        for (size_t k = 0; k < ntypes; k++) {
            r->wild[r->nwild].name = name;
            r->wild[r->nwild++].type = types[k];
        }
    }
    free(names);
}

/* Of the type at "*." and the parent; sorted by the parent's text. */
static const struct rfc2136_set *
find_wild(const struct reading *r, const char *parent, enum rr_type type)
{
    size_t low = 0, high = r->nwild;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(r->wild[mid].name + 2, parent);

        if (c == 0)
            c = (int)r->wild[mid].type - (int)type;
        if (c == 0)
            return &r->wild[mid];
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static bool same_cname(const struct rfc2136_set *a, const struct rfc2136_set *b)
{
    return a->cname != NULL && b->cname != NULL &&
           rfc2136_rdata_equal(RR_CNAME, a->cname, b->cname);
}

/* Whether what was found may be a wildcard's. */
static bool is_doubtful(const struct reading *r, const struct rfc2136_set *s)
{
    const char *name = s->name;

    if (s->n == 0 && s->cname == NULL)
        return false;
    while (!name_equal(name, r->zone) && name_within(name, r->zone)) {
        const struct rfc2136_set *w;

        name = name_parent(name);
        w = find_wild(r, name, s->type);
        if (w == NULL || strcmp(w->name, s->name) == 0)
            continue;
        if (same_cname(s, w) ||
            (s->n > 0 && w->ttl_s == s->ttl_s && rfc2136_set_equal(s, w)))
            return true;
    }
    return false;
}

/* ---- answers ------------------------------------------------------------- */

static void copy_rdatas(struct reading *r, struct message *m,
                        struct rfc2136_set *s)
{
    struct rfc2136_set raw = {.name = s->name, .type = s->type};
    size_t ncname;

    raw.v = message_rdatas(m, s->name, (uint16_t)s->type, &raw.n);
    for (size_t i = 0; i < raw.n; i++)
        if (i == 0 || raw.v[i].ttl_s < raw.ttl_s)
            raw.ttl_s = raw.v[i].ttl_s;
    if (s->type != RR_CNAME) {
        raw.cname = message_rdatas(m, s->name, MESSAGE_CNAME, &ncname);
        raw.ttl_s = ncname > 0 && raw.n == 0 ? raw.cname->ttl_s : raw.ttl_s;
        raw.cname = ncname > 0 ? raw.cname : NULL;
    }
    rfc2136_set_copy(r->arena, &raw, s);
}

static int check_head(struct reading *r, const struct rfc2136_answer *a,
                      const char *name, uint16_t type, struct err *e)
{
    const struct rfc2136 *p = r->p;
    int rcode = message_rcode(a->m);

    if (!message_is_response(a->m, 0) || !message_answers(a->m, name, type))
        return err_set(e, ERR_RETRY, "%s answered another question than %s %s",
                       p->who, name, message_type_name(type));
    if (a->is_signed && a->tsig.verdict != TSIG_GOOD)
        return err_set(e, ERR_AUTH,
                       "%s answered the query for %s %s with %s%s%s, and the "
                       "answer is not believed: %s",
                       p->who, name, message_type_name(type),
                       message_rcode_name(rcode),
                       tsig_error_name(a->tsig.error) != NULL ? ", TSIG " : "",
                       tsig_error_name(a->tsig.error) != NULL
                           ? tsig_error_name(a->tsig.error)
                           : "",
                       tsig_verdict_text(a->tsig.verdict));
    if (rcode == 5 || rcode == 9)
        return err_set(e, ERR_AUTH, "%s says %s to the query for %s %s", p->who,
                       message_rcode_name(rcode), name,
                       message_type_name(type));
    if ((rcode != NOERROR && rcode != NXDOMAIN) || message_is_tc(a->m))
        return err_set(e, ERR_RETRY, "%s says %s to the query for %s %s",
                       p->who,
                       message_is_tc(a->m) ? "\"truncated\" over TCP"
                                           : message_rcode_name(rcode),
                       name, message_type_name(type));
    if (!message_is_aa(a->m))
        return err_set(e, ERR_NOTFOUND,
                       "%s does not hold %s: it is no server of its zone",
                       p->who, name);
    return 0;
}

static void take_soa(struct reading *r, const struct rfc2136_answer *a)
{
    const struct message_rdata *v;
    struct err e;
    size_t n;

    if (check_head(r, a, r->zone, MESSAGE_SOA, &e) != 0) {
        /* That zone, or this address: nothing is wrong with the key. */
        if (e.code == ERR_AUTH && !a->is_signed)
            e.code = ERR_NOTFOUND;
        fail(r, &e);
        return;
    }
    v = message_rdatas(a->m, r->zone, MESSAGE_SOA, &n);
    if (n == 0 || message_serial(a->m, &r->result.soa.serial) != 0) {
        (void)err_set(&e, ERR_NOTFOUND, "%s has no zone %s", r->p->who,
                      r->zone);
        fail(r, &e);
        return;
    }
    r->result.soa.ttl_s = v[0].ttl_s;
}

static void take_set(struct reading *r, struct rfc2136_set *s,
                     const struct rfc2136_answer *a)
{
    struct err e = {0};

    if (check_head(r, a, s->name, (uint16_t)s->type, &e) == 0)
        copy_rdatas(r, a->m, s);
    else if (e.code == ERR_NOTFOUND)
        s->err = e;
    else
        fail(r, &e);
}

static void take_asked(struct reading *r, struct rfc2136_set *s,
                       const struct rfc2136_answer *a)
{
    struct err e;

    switch (rfc2136_update_judge(r->p, r->zone, a, &e)) {
    case RFC2136_DONE:
        return; /* its own */
    case RFC2136_STALE:
        s->n = 0;
        s->cname = NULL;
        return;
    default:
        (void)err_wrap(&e, "whether %s %s is the name's own or a wildcard's",
                       s->name, rr_type_name(s->type));
        fail(r, &e);
    }
}

/* ---- asking -------------------------------------------------------------- */

static void go_on(struct reading *r);

static void begin(void *arg)
{
    struct reading *r = arg;

    r->timer = NULL;
    go_on(r);
}

/* A server may end a connection after some questions. returns false: this
 * was no such end */
static bool ask_again(struct reading *r, const struct rfc2136_answer *a)
{
    if (a->m != NULL || a->err.code != ERR_UNKNOWN ||
        (!r->progress && r->nagain == 0))
        return false;
    if (r->again == NULL)
        r->again = mem_array(r->nitems, sizeof *r->again);
    r->again[r->nagain++] = a->slot;
    r->progress = false;
    if (r->timer == NULL) /* when all that were lost are known */
        r->timer = loop_timer_start(r->p->env.loop, 0, begin, r);
    return true;
}

static void on_answer(void *arg, const struct rfc2136_answer *a)
{
    struct reading *r = arg;
    struct item *i = &r->items[a->slot];

    if (ask_again(r, a))
        return;
    r->answered++;
    r->progress = r->progress || a->m != NULL;
    if (a->m == NULL)
        fail(r, &a->err);
    else if (i->asks)
        take_asked(r, i->set, a);
    else if (i->set == NULL)
        take_soa(r, a);
    else
        take_set(r, i->set, a);
    go_on(r);
}

static int send_item(struct reading *r, size_t slot, struct err *e)
{
    const struct item *i = &r->items[slot];
    const struct rfc2136_set *s = i->set;
    uint8_t *wire;
    size_t len;
    int status;

    if (i->asks)
        status = rfc2136_update_ask(
            r->zone, s->name, s->n > 0 ? s->type : RR_CNAME, &wire, &len, e);
    else
        status =
            message_query_plain(s != NULL ? s->name : r->zone,
                                s != NULL ? (uint16_t)s->type : MESSAGE_SOA,
                                false, false, &wire, &len, e);
    if (status != 0)
        return -1;
    status = rfc2136_talk_send(r->talk, slot, wire, len,
                               i->asks || r->p->sign_queries, e);
    free(wire);
    return status;
}

/* What the wildcards leave open. returns whether there is something */
static bool ask_doubtful(struct reading *r)
{
    size_t first = r->nitems;

    if (r->items[0].asks)
        return false; /* that was this */
    for (size_t i = 0; i < r->nsets; i++) {
        if (r->sets[i].err.code != ERR_NONE || !is_doubtful(r, &r->sets[i]))
            continue;
        if (r->nitems == first) {
            first = r->nitems = r->next = r->answered = 0;
            r->nagain = r->again_next = 0;
        }
        r->items[r->nitems++] = (struct item){&r->sets[i], true};
    }
    return r->next == 0;
}

static void go_on(struct reading *r)
{
    struct err e = {0};

    if (r->result.err.code != ERR_NONE) {
        finish(r); /* frees the talk: nothing more is heard */
        return;
    }
    if (r->answered == r->nitems && !ask_doubtful(r)) {
        finish(r);
        return;
    }
    while (rfc2136_talk_room(r->talk) > 0 &&
           (r->next < r->nitems || r->again_next < r->nagain)) {
        size_t slot =
            r->again_next < r->nagain ? r->again[r->again_next++] : r->next++;

        if (send_item(r, slot, &e) != 0) {
            fail(r, &e);
            finish(r);
            return;
        }
    }
    if (r->again_next == r->nagain)
        r->nagain = r->again_next = 0;
}

void rfc2136_read(struct rfc2136 *p, const char *zone, struct arena *a,
                  struct rfc2136_set *sets, size_t n, rfc2136_read_cb *cb,
                  void *arg)
{
    struct reading *r = mem_alloc(sizeof *r);

    r->p = p;
    r->zone = zone;
    r->arena = a;
    r->sets = sets;
    r->nsets = n;
    r->cb = cb;
    r->arg = arg;
    add_wildcards(r);
    r->items = mem_array(1 + n + r->nwild, sizeof *r->items);
    r->nitems = 1;
    for (size_t i = 0; i < n; i++)
        r->items[r->nitems++].set = &sets[i];
    for (size_t i = 0; i < r->nwild; i++)
        r->items[r->nitems++].set = &r->wild[i];
    r->talk = rfc2136_talk_new(p, on_answer, r);
    r->timer = loop_timer_start(p->env.loop, 0, begin, r);
}
