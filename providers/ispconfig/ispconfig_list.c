#include <stdlib.h>
#include <string.h>

#include "providers/ispconfig/ispconfig.h"

/* One name is searched for in each spelling and type: the server has an index
 * for that. For more names the whole zone in one answer is cheaper, unless it
 * cannot be read. A search that found nothing at all is not believed before
 * the whole zone was seen. */

static const enum rr_type searched[] = {RR_A, RR_AAAA, RR_CNAME};
#define N_SEARCHED (sizeof searched / sizeof searched[0])

struct listing {
    struct ispconfig *p;
    struct arena *a;
    const struct isp_zone *z;
    const char **names;
    size_t n_names;
    size_t name, variant, type; /* of the search under way */
    bool no_whole; /* the whole zone cannot be read: searching is all we can */
    struct err unread; /* why, when that does not prove that it has records */
    struct isp_row *v; /* heap while it grows */
    size_t n, cap;
    isp_rows_cb *cb;
    void *arg;
};

static void ask_zone(struct listing *l);

static void finish(struct listing *l, const struct err *e)
{
    struct isp_rows rows = {.err = *e, .n = l->n};
    isp_rows_cb *cb = l->cb;
    void *arg = l->arg;

    if (e->code == ERR_UNKNOWN) /* of a read: nothing is in doubt */
        rows.err.code = ERR_RETRY;
    rows.v = arena_array(l->a, l->n + 1, sizeof *rows.v);
    if (l->n > 0)
        memcpy(rows.v, l->v, l->n * sizeof *rows.v);
    free(l->v);
    free(l);
    cb(arg, &rows);
}

static bool is_wanted(const struct listing *l, const char *name)
{
    for (size_t i = 0; i < l->n_names; i++)
        if (name_equal(l->names[i], name))
            return true;
    return false;
}

static bool has_id(const struct listing *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].id, id) == 0)
            return true;
    return false;
}

static int collect(struct listing *l, const struct soap_value *items, size_t n,
                   struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const char *stored = soap_get_text(&items[i], "name");
        char name[NAME_SIZE];
        struct isp_row row;
        int rc;

        if (stored != NULL &&
            (isp_name_of(stored, l->z, name) != 0 || !is_wanted(l, name)))
            continue;
        rc = isp_row_read(&items[i], l->z, l->a, &row, e);
        if (rc < 0)
            return -1;
        if (rc == 0 || !is_wanted(l, row.name) || has_id(l, row.id))
            continue;
        l->v = mem_grow(l->v, &l->cap, l->n, sizeof *l->v);
        l->v[l->n++] = row;
    }
    return 0;
}

/* ---- search by search -----------------------------------------------------
 */

static void ask_next(struct listing *l);

/* Moves on to the next search. returns false when that was the last. */
static bool advance(struct listing *l)
{
    char variants[4][NAME_SIZE];
    size_t n = isp_name_variants(l->names[l->name], l->z, variants);

    if (++l->type < N_SEARCHED)
        return true;
    l->type = 0;
    if (++l->variant < n)
        return true;
    l->variant = 0;
    return ++l->name < l->n_names;
}

static void on_search(void *arg, const struct isp_reply *r)
{
    struct listing *l = arg;
    const struct soap_value *items;
    struct err e = r->err;
    size_t n;

    /* No right to read this type, or an answer that is no list: the whole
     * zone needs another right and is another call. */
    if (!l->no_whole &&
        (strcmp(r->fault, "permission_denied") == 0 ||
         (e.code == ERR_NONE && !isp_records_of(r->value, &items, &n)))) {
        ask_zone(l);
        return;
    }
    if (e.code == ERR_NONE && !isp_records_of(r->value, &items, &n))
        (void)err_set(&e, ERR_RETRY, "the answer to a search is no list");
    if (e.code != ERR_NONE || collect(l, items, n, &e) != 0)
        finish(l, &e);
    else if (advance(l))
        ask_next(l);
    else if (l->n == 0 && !l->no_whole)
        ask_zone(l);
    else
        finish(l, l->n == 0 ? &l->unread : &e);
}

static void ask_next(struct listing *l)
{
    char variants[4][NAME_SIZE];
    struct soap_args args;
    enum rr_type t = searched[l->type];

    (void)isp_name_variants(l->names[l->name], l->z, variants);
    soap_args_init(&args);
    soap_open_map(&args);
    soap_put_member(&args, "zone", l->z->id);
    soap_put_member(&args, "type", rr_type_name(t));
    soap_put_member(&args, "name", variants[l->variant]);
    soap_close_map(&args);
    isp_call(l->p, isp_method(l->a, t, "get"), &args, false, on_search, l);
}

/* ---- the whole zone --------------------------------------------------------
 */

/* Too large for us, or (HTTP 500) for the panel's own memory; or one value in
 * it makes the whole answer unreadable. */
static bool is_unreadable(const struct isp_reply *r)
{
    return r->err.code == ERR_LIMIT ||
           (r->err.code == ERR_RETRY && r->was_sent && r->fault[0] == '\0');
}

static void on_all(void *arg, const struct isp_reply *r)
{
    struct listing *l = arg;
    const struct soap_value *items;
    struct err e = r->err;
    size_t n;

    if (is_unreadable(r) && l->name < l->n_names) {
        l->no_whole = true;
        if (e.code != ERR_LIMIT)
            l->unread = e;
        ask_next(l);
        return;
    }
    if (e.code == ERR_LIMIT) /* searched before, and found nothing */
        e.code = ERR_NONE;
    else if (e.code == ERR_NONE && !isp_records_of(r->value, &items, &n))
        (void)err_set(&e, ERR_RETRY,
                      "zone %s: the answer to dns_rr_get_all_by_zone is no "
                      "list",
                      l->z->name);
    else if (e.code == ERR_NONE && n == 0)
        (void)err_set(&e, ERR_RETRY,
                      "zone %s: the list of its records came back empty; that "
                      "is not taken for \"no records\"",
                      l->z->name);
    else if (e.code == ERR_NONE)
        (void)collect(l, items, n, &e);
    finish(l, &e);
}

static void ask_zone(struct listing *l)
{
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, l->z->id);
    isp_call(l->p, "dns_rr_get_all_by_zone", &args, false, on_all, l);
}

void isp_rows_list(struct ispconfig *p, struct arena *a,
                   const struct isp_zone *z, const char *const *names, size_t n,
                   isp_rows_cb *cb, void *arg)
{
    struct listing *l = mem_alloc(sizeof *l);

    l->p = p;
    l->a = a;
    l->z = z;
    l->names = arena_array(a, n + 1, sizeof *l->names);
    for (size_t i = 0; i < n; i++)
        l->names[i] = arena_strdup(a, names[i]);
    l->n_names = n;
    l->cb = cb;
    l->arg = arg;
    if (n == 1)
        ask_next(l);
    else
        ask_zone(l);
}
