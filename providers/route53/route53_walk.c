#include <stdlib.h>
#include <string.h>

#include "providers/route53/route53.h"

/* Record sets. A list starts at a name and goes on to the zone's end, so the
 * first set of another name ends it; there is no way to ask for one name, nor
 * for a type. A few names are walked to one by one; for many the whole zone is
 * fewer pages. Nothing found at all is not believed before the zone has shown
 * its apex. */

#define PAGE_WHOLE "300" /* the most there is */
#define PAGE_NAME "30"
#define PAGES_UNKNOWN 20 /* what a zone of unknown size is taken for */
#define PAGES_MAX 20000

struct walk {
    struct route53 *p;
    struct arena *a;
    char *zone_id;
    const char **names; /* wanted; NULL: the TXT sets at _failover names */
    size_t n_names, at; /* the name walked to; n_names: the whole zone */
    bool whole, proving, saw_any;
    /* the page under way, and one passed before: a list that comes back to
     * it would never end */
    struct route53_place next, mark;
    size_t pages, mark_at;
    struct route53_set *v; /* heap while it grows */
    size_t n, cap;
    route53_sets_cb *cb;
    void *arg;
};

static void finish(struct walk *w, const struct err *e)
{
    struct route53_sets_found out = {.err = *e, .n = w->n};
    struct route53 *p = w->p;

    out.v = arena_array(w->a, w->n + 1, sizeof *out.v);
    if (w->n > 0)
        memcpy(out.v, w->v, w->n * sizeof *out.v);
    if (e->code != ERR_NONE)
        out.n = 0;
    w->cb(w->arg, &out);
    free(w->zone_id);
    free(w->v);
    free(w);
    route53_end(p);
}

/* ---- what is kept -------------------------------------------------------- */

static bool is_wanted(const struct walk *w, const struct route53_set *s)
{
    static const char failover[] = "_failover.";

    if (s->name[0] == '\0' || w->proving)
        return false;
    if (w->names == NULL)
        return strcmp(s->type, "TXT") == 0 &&
               strncmp(s->name, failover, strlen(failover)) == 0;
    if (!w->whole)
        return name_equal(s->name, w->names[w->at]);
    for (size_t i = 0; i < w->n_names; i++)
        if (name_equal(s->name, w->names[i]))
            return true;
    return false;
}

/* Out of the page's arena. */
static void keep(struct walk *w, const struct route53_set *s)
{
    struct route53_set *to;
    const char **texts[5];

    w->v = mem_grow(w->v, &w->cap, w->n, sizeof *w->v);
    to = &w->v[w->n++];
    *to = *s;
    to->as_named = arena_strdup(w->a, s->as_named);
    to->type = arena_strdup(w->a, s->type);
    texts[0] = &to->managed;
    texts[1] = &to->set_id;
    texts[2] = &to->fixed;
    texts[3] = &to->before;
    texts[4] = &to->after;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (*texts[i] != NULL)
            *texts[i] = arena_strdup(w->a, *texts[i]);
    to->values = arena_array(w->a, s->n + 1, sizeof *to->values);
    for (size_t i = 0; i < s->n; i++)
        to->values[i] = arena_strdup(w->a, s->values[i]);
}

/* returns false when the list has left the name that is walked to */
static bool take(struct walk *w, const struct route53_sets *page)
{
    for (size_t i = 0; i < page->n; i++) {
        w->saw_any = true;
        if (is_wanted(w, &page->v[i]))
            keep(w, &page->v[i]);
        else if (!w->whole && !w->proving)
            return false;
    }
    return true;
}

/* ---- page by page -------------------------------------------------------- */

static void ask(struct walk *w);

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same(const struct route53_place *a,
                    const struct route53_place *b)
{
    return is_same_text(a->name, b->name) && is_same_text(a->type, b->type) &&
           is_same_text(a->id, b->id);
}

static struct route53_place place_dup(struct arena *a,
                                      const struct route53_place *from)
{
    struct route53_place to = {NULL, NULL, NULL};

    if (from->name != NULL)
        to.name = arena_strdup(a, from->name);
    if (from->type != NULL)
        to.type = arena_strdup(a, from->type);
    if (from->id != NULL)
        to.id = arena_strdup(a, from->id);
    return to;
}

/* returns false when the list comes back to where it was; the mark moves on
 * at powers of two, so that a ring of any length is noticed (Brent). */
static bool go_on(struct walk *w, const struct route53_place *next)
{
    if (is_same(next, &w->next) || (w->pages > 0 && is_same(next, &w->mark)) ||
        ++w->pages > PAGES_MAX)
        return false;
    w->next = place_dup(w->a, next);
    if (w->pages >= w->mark_at) {
        w->mark = w->next;
        w->mark_at = w->pages * 2;
    }
    return true;
}

static void start_at(struct walk *w, const char *name)
{
    w->next = (struct route53_place){.name = name};
    w->mark = w->next;
    w->pages = 0;
    w->mark_at = 1;
    ask(w);
}

static void list_ended(struct walk *w)
{
    struct err e = {0};

    if (!w->whole && !w->proving && ++w->at < w->n_names) {
        start_at(w, w->names[w->at]);
        return;
    }
    if (w->saw_any || w->n > 0) {
        finish(w, &e);
        return;
    }
    if (!w->whole && !w->proving) {
        w->proving = true;
        start_at(w, NULL);
        return;
    }
    (void)err_set(&e, ERR_RETRY,
                  "the list of the zone's records came back empty; that is not "
                  "taken for \"no records\"");
    finish(w, &e);
}

static void on_page(void *arg, const struct route53_reply *r)
{
    struct walk *w = arg;
    struct arena *a = arena_new();
    struct route53_sets page = {0};
    struct err e = r->err;

    if (strcmp(r->code, "NoSuchHostedZone") == 0)
        route53_zone_forget(w->p, w->zone_id);
    if (e.code != ERR_NONE ||
        route53_read_sets(a, r->body, r->len, &page, &e) != 0) {
        finish(w, &e);
    } else if (!take(w, &page) || !page.truncated || w->proving) {
        list_ended(w);
    } else if (!go_on(w, &page.next)) {
        (void)err_set(&e, ERR_RETRY,
                      "the list of the zone's records comes back to where it "
                      "was (%.255s)",
                      page.next.name);
        finish(w, &e);
    } else {
        ask(w);
    }
    arena_free(a);
}

static void ask(struct walk *w)
{
    struct route53_ask what = {.action = "ListResourceRecordSets"};
    struct buf query, path;

    buf_init(&query, 4096);
    buf_init(&path, 256);
    buf_printf(&path, "hostedzone/%s/rrset", w->zone_id);
    if (w->next.id != NULL)
        route53_query_add(&query, "identifier", w->next.id);
    route53_query_add(&query, "maxitems",
                      w->proving ? "1"
                      : w->whole ? PAGE_WHOLE
                                 : PAGE_NAME);
    if (w->next.name != NULL)
        route53_query_add(&query, "name", w->next.name);
    if (w->next.type != NULL)
        route53_query_add(&query, "type", w->next.type);
    what.path = buf_get(&path);
    what.query = buf_get(&query);
    route53_call(w->p, &what, on_page, w);
    buf_fini(&query);
    buf_fini(&path);
}

/* ---- start --------------------------------------------------------------- */

static struct walk *walk_new(struct route53 *p, struct arena *a,
                             const struct route53_zone *z, route53_sets_cb *cb,
                             void *arg)
{
    struct walk *w = mem_alloc(sizeof *w);

    w->p = p;
    w->a = a;
    w->zone_id = mem_strdup(z->id);
    w->cb = cb;
    w->arg = arg;
    route53_begin(p);
    return w;
}

void route53_sets_of(struct route53 *p, struct arena *a,
                     const struct route53_zone *z, const char *const *names,
                     size_t n, route53_sets_cb *cb, void *arg)
{
    struct walk *w = walk_new(p, a, z, cb, arg);
    uint64_t pages = z->records > 0 ? (z->records + 299) / 300 : PAGES_UNKNOWN;

    w->names = arena_array(a, n + 1, sizeof *w->names);
    for (size_t i = 0; i < n; i++)
        w->names[i] = arena_strdup(a, names[i]);
    w->n_names = n;
    w->whole = n == 0 || n > pages;
    start_at(w, w->whole ? NULL : w->names[0]);
}

void route53_failover_sets(struct route53 *p, struct arena *a,
                           const struct route53_zone *z, route53_sets_cb *cb,
                           void *arg)
{
    struct walk *w = walk_new(p, a, z, cb, arg);

    w->whole = true;
    start_at(w, NULL);
}
