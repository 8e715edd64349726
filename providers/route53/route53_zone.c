#include <stdlib.h>
#include <string.h>

#include "providers/route53/route53.h"

/* Hosted zones. A list by name starts at the name asked for and goes on with
 * those behind it, so each is compared; several zones may have one name: a
 * public and private ones, or duplicates that nobody delegates to. */

#define PAGE "100"
#define PAGES_MAX 1000

static const char *plain(struct arena *a, const char *name)
{
    size_t n = strlen(name);

    return arena_strndup(a, name, n > 1 ? n - 1 : n);
}

/* ---- what is known ------------------------------------------------------- */

static const struct route53_zone *find_known(const struct route53 *p,
                                             const char *name)
{
    for (const struct route53_zone *z = p->zones; z != NULL; z = z->next)
        if (name_equal(z->name, name))
            return z;
    return NULL;
}

static const struct route53_zone *remember(struct route53 *p, const char *name,
                                           const char *id, uint64_t records)
{
    struct route53_zone *z = mem_alloc(sizeof *z);

    z->name = mem_strdup(name);
    z->id = mem_strdup(id);
    z->records = records;
    z->next = p->zones;
    p->zones = z;
    return z;
}

static void zone_free(struct route53_zone *z)
{
    free(z->name);
    free(z->id);
    free(z);
}

void route53_zone_forget(struct route53 *p, const char *id)
{
    for (struct route53_zone **at = &p->zones; *at != NULL;) {
        struct route53_zone *z = *at;

        if (strcmp(z->id, id) != 0) {
            at = &z->next;
            continue;
        }
        *at = z->next;
        zone_free(z);
    }
}

void route53_zones_free(struct route53 *p)
{
    while (p->zones != NULL) {
        struct route53_zone *z = p->zones;

        p->zones = z->next;
        zone_free(z);
    }
}

/* ---- finding one --------------------------------------------------------- */

struct finding {
    struct route53 *p;
    struct arena *a;
    const char *name;               /* canonical */
    struct route53_zone_row *found; /* public ones of that name */
    size_t n, cap, n_private, pages;
    const char *next_id; /* of the page under way; NULL: the first */
    route53_zone_cb *cb;
    void *arg;
};

static void finish(struct finding *f, const struct route53_zone *z,
                   const struct err *e)
{
    struct route53 *p = f->p;

    f->cb(f->arg, z, e);
    free(f->found);
    arena_free(f->a);
    free(f);
    route53_end(p);
}

static void choose(struct finding *f)
{
    const char *name = plain(f->a, f->name);
    const char *ids = "";
    struct err e;

    if (f->n == 1) {
        e.code = ERR_NONE;
        finish(f, remember(f->p, f->name, f->found[0].id, f->found[0].records),
               &e);
        return;
    }
    for (size_t i = 0; i < f->n; i++)
        ids = arena_printf(f->a, "%s%s%s", ids, i > 0 ? ", " : "",
                           f->found[i].id);
    if (f->n > 1)
        (void)err_set(&e, ERR_INPUT,
                      "%zu public hosted zones are named %s (%.300s); to say "
                      "which one is served, write zone-id = \"%s\" or another "
                      "of them",
                      f->n, name, ids, f->found[0].id);
    else if (f->n_private > 0)
        (void)err_set(&e, ERR_NOTFOUND,
                      "the hosted zone %s is private; to have it changed all "
                      "the same, name it by zone-id",
                      name);
    else
        (void)err_set(&e, ERR_NOTFOUND,
                      "the account of this key has no hosted zone %s", name);
    finish(f, NULL, &e);
}

static void ask_by_name(struct finding *f);

static int collect(struct finding *f, const struct route53_zones *page)
{
    bool beyond = false;

    for (size_t i = 0; i < page->n; i++) {
        const struct route53_zone_row *z = &page->v[i];

        if (!name_equal(z->name, f->name)) {
            beyond = true;
            continue;
        }
        if (z->is_private) {
            f->n_private++;
            continue;
        }
        f->found = mem_grow(f->found, &f->cap, f->n, sizeof *f->found);
        f->found[f->n] = *z;
        f->found[f->n++].id = arena_strdup(f->a, z->id);
    }
    return beyond;
}

static void on_by_name(void *arg, const struct route53_reply *r)
{
    struct finding *f = arg;
    struct route53_zones page;
    char next[NAME_SIZE];
    struct err e = r->err;
    bool beyond;

    if (e.code != ERR_NONE ||
        route53_read_zones(f->a, r->body, r->len, &page, &e) != 0) {
        (void)err_wrap(&e, "hosted zone %s", f->name);
        finish(f, NULL, &e);
        return;
    }
    beyond = collect(f, &page);
    if (beyond || !page.truncated || page.next_name == NULL ||
        route53_name(page.next_name, next) != 0 || !name_equal(next, f->name)) {
        choose(f);
        return;
    }
    if (++f->pages >= PAGES_MAX || page.next_id == NULL ||
        (f->next_id != NULL && strcmp(page.next_id, f->next_id) == 0)) {
        (void)err_set(&e, ERR_RETRY,
                      "hosted zone %s: the list comes back to where it was",
                      f->name);
        finish(f, NULL, &e);
        return;
    }
    f->next_id = page.next_id;
    ask_by_name(f);
}

static void ask_by_name(struct finding *f)
{
    struct route53_ask ask = {.action = "ListHostedZonesByName",
                              .path = "hostedzonesbyname"};
    struct buf query;

    buf_init(&query, 4096);
    route53_query_add(&query, "dnsname", f->name);
    if (f->next_id != NULL)
        route53_query_add(&query, "hostedzoneid", f->next_id);
    route53_query_add(&query, "maxitems", PAGE);
    ask.query = buf_get(&query);
    route53_call(f->p, &ask, on_by_name, f);
    buf_fini(&query);
}

/* ---- the configured one -------------------------------------------------- */

/* A zone's list begins with its apex, which no zone is without. Reading it is
 * what the key is allowed anyhow. */
static void on_apex(void *arg, const struct route53_reply *r)
{
    struct finding *f = arg;
    struct route53_sets page;
    struct err e = r->err;

    if (e.code == ERR_NONE &&
        route53_read_sets(f->a, r->body, r->len, &page, &e) == 0) {
        if (page.n == 0)
            (void)err_set(&e, ERR_RETRY,
                          "the list of its records came back empty");
        else if (!name_equal(page.v[0].name, f->name))
            (void)err_set(&e, ERR_INPUT,
                          "it is the zone %.255s; accepted here: the id of %s, "
                          "or no zone-id (and one provider section for each "
                          "zone that has one)",
                          page.v[0].as_named, f->name);
    }
    if (e.code != ERR_NONE) {
        (void)err_wrap(&e, "zone-id %s", f->p->zone_id);
        finish(f, NULL, &e);
        return;
    }
    finish(f, remember(f->p, f->name, f->p->zone_id, 0), &e);
}

static void ask_apex(struct finding *f)
{
    struct route53_ask ask = {.action = "ListResourceRecordSets",
                              .query = "maxitems=1"};

    ask.path = arena_printf(f->a, "hostedzone/%s/rrset", f->p->zone_id);
    route53_call(f->p, &ask, on_apex, f);
}

void route53_zone_find(struct route53 *p, const char *zone, route53_zone_cb *cb,
                       void *arg)
{
    const struct route53_zone *known = find_known(p, zone);
    struct err none = {0};
    struct finding *f;

    if (known != NULL) {
        cb(arg, known, &none);
        return;
    }
    f = mem_alloc(sizeof *f);
    f->p = p;
    f->a = arena_new();
    f->name = arena_strdup(f->a, zone);
    f->cb = cb;
    f->arg = arg;
    route53_begin(p);
    if (p->zone_id != NULL)
        ask_apex(f);
    else
        ask_by_name(f);
}

/* ---- all of them --------------------------------------------------------- */

struct naming {
    struct route53 *p;
    struct arena *a;
    const char **names; /* heap while it grows */
    size_t n, cap, pages;
    const char *marker; /* of the page under way; NULL: the first */
    provider_names_cb *cb;
    void *arg;
};

static void naming_end(struct naming *l, const struct err *e)
{
    struct provider_names out = {.err = *e, .names = l->names, .n = l->n};
    struct route53 *p = l->p;

    if (e->code != ERR_NONE)
        out.n = 0;
    l->cb(l->arg, &out);
    free(l->names);
    arena_free(l->a);
    free(l);
    route53_end(p);
}

static void naming_add(struct naming *l, const char *name)
{
    if (name[0] == '\0')
        return;
    for (size_t i = 0; i < l->n; i++)
        if (name_equal(l->names[i], name))
            return;
    l->names = mem_grow(l->names, &l->cap, l->n, sizeof *l->names);
    l->names[l->n++] = arena_strdup(l->a, name);
}

static void ask_zones(struct naming *l);

static void on_zones(void *arg, const struct route53_reply *r)
{
    struct naming *l = arg;
    struct route53_zones page;
    struct err e = r->err;

    if (e.code != ERR_NONE ||
        route53_read_zones(l->a, r->body, r->len, &page, &e) != 0) {
        naming_end(l, &e);
        return;
    }
    for (size_t i = 0; i < page.n; i++)
        if (!page.v[i].is_private)
            naming_add(l, page.v[i].name);
    if (!page.truncated) {
        naming_end(l, &e);
        return;
    }
    if (++l->pages >= PAGES_MAX || page.next_marker == NULL ||
        (l->marker != NULL && strcmp(l->marker, page.next_marker) == 0)) {
        (void)err_set(&e, ERR_RETRY,
                      "the list of hosted zones comes back to where it was");
        naming_end(l, &e);
        return;
    }
    l->marker = page.next_marker;
    ask_zones(l);
}

static void ask_zones(struct naming *l)
{
    struct route53_ask ask = {.action = "ListHostedZones",
                              .path = "hostedzone"};
    struct buf query;

    buf_init(&query, 4096);
    if (l->marker != NULL)
        route53_query_add(&query, "marker", l->marker);
    route53_query_add(&query, "maxitems", PAGE);
    ask.query = buf_get(&query);
    route53_call(l->p, &ask, on_zones, l);
    buf_fini(&query);
}

static void on_named_apex(void *arg, const struct route53_reply *r)
{
    struct naming *l = arg;
    struct route53_sets page;
    struct err e = r->err;

    if (e.code == ERR_NONE &&
        route53_read_sets(l->a, r->body, r->len, &page, &e) == 0) {
        if (page.n > 0 && page.v[0].name[0] != '\0')
            naming_add(l, page.v[0].name);
        else
            (void)err_set(&e, ERR_RETRY, "zone-id %s: its records show no name",
                          l->p->zone_id);
    }
    naming_end(l, &e);
}

void route53_list_zones(struct provider *base, provider_names_cb *cb, void *arg)
{
    struct naming *l = mem_alloc(sizeof *l);
    struct route53_ask ask = {.action = "ListResourceRecordSets",
                              .query = "maxitems=1"};

    l->p = (struct route53 *)base;
    l->a = arena_new();
    l->cb = cb;
    l->arg = arg;
    route53_begin(l->p);
    if (l->p->zone_id == NULL) {
        ask_zones(l);
        return;
    }
    ask.path = arena_printf(l->a, "hostedzone/%s/rrset", l->p->zone_id);
    route53_call(l->p, &ask, on_named_apex, l);
}
