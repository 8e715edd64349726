#include "providers/rest/rest_read.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_page.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_zone.h"

/* Few names are asked for one by one, many by the whole zone; specs by the
 * provider's search. A search that found nothing at all is not believed before
 * the whole zone was seen. */
struct reading {
    struct rest *p;
    struct rest_zone *z;
    struct rest_wanted wanted;
    const struct rest_members *m; /* of the items of this answer */
    struct rest_records out;
    size_t name; /* asked for now */
    size_t items;
    bool whole;
    rest_records_cb *cb;
    void *arg;
};

struct err rest_as_read(const struct err *e)
{
    struct err out = *e;

    if (out.code == ERR_UNKNOWN)
        out.code = ERR_RETRY;
    return out;
}

static void finish(struct reading *rd, const struct err *e)
{
    struct rest *p = rd->p;
    struct err out = rest_as_read(e);

    if (out.code == ERR_NOTFOUND)
        rest_zone_forget(rd->z);
    rd->cb(rd->arg, &out, &rd->out);
    free(rd);
    rest_end(p);
}

static int on_item(void *arg, const cJSON *item, struct err *e)
{
    struct reading *rd = arg;

    return rest_record_read(rd->p->style, rd->m, item, rd->z->name, &rd->wanted,
                            &rd->out, e);
}

static void on_page(void *arg, const cJSON *root)
{
    struct reading *rd = arg;

    if (rd->whole && rd->p->style->on_page != NULL)
        rd->p->style->on_page(rd->z, root);
}

static void ask_name(struct reading *rd);
static void ask_whole(struct reading *rd);

static bool is_cut(const struct reading *rd)
{
    size_t max = rd->p->style->specs_max;

    return rd->wanted.specs && max > 0 && rd->items >= max;
}

static void on_answer(void *arg, const struct rest_reply *r, size_t items)
{
    struct reading *rd = arg;
    struct err e = r->err;

    rd->items += items;
    if (e.code != ERR_NONE) {
        finish(rd, &e);
    } else if (rd->whole) {
        if (rd->items == 0)
            (void)err_set(&e, ERR_RETRY,
                          "zone %s: the list of its records came back empty; "
                          "that is not taken for \"no records\"",
                          rd->z->name);
        finish(rd, &e);
    } else if (!rd->wanted.specs && ++rd->name < rd->wanted.n) {
        ask_name(rd);
    } else if (rd->out.n == 0 || is_cut(rd)) {
        rd->out.n = 0;
        ask_whole(rd);
    } else {
        finish(rd, &e);
    }
}

static void ask(struct reading *rd, const char *template, const char *items,
                const char *name)
{
    const struct rest_path_args args = {
        .zone = rd->z, .name = name, .type = "TXT"};
    const struct rest_pages pages = {
        .each = on_item, .page = on_page, .done = on_answer, .arg = rd};

    rest_pages_get(rd->p, rest_path(rd->p, rd->out.a, template, &args), items,
                   &pages);
}

static void ask_whole(struct reading *rd)
{
    const struct rest_style *style = rd->p->style;

    rd->whole = true;
    rd->items = 0;
    rd->m = &style->m;
    ask(rd, style->paths.records, style->paths.items, NULL);
}

static void ask_name(struct reading *rd)
{
    const struct rest_style *style = rd->p->style;

    ask(rd, style->paths.by_name, style->paths.items,
        rd->wanted.names[rd->name]);
}

static int in_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void copy_names(struct reading *rd, const struct rest_wanted *wanted)
{
    const char **names = arena_array(rd->out.a, wanted->n + 1, sizeof *names);

    for (size_t i = 0; i < wanted->n; i++)
        names[i] = arena_strdup(rd->out.a, wanted->names[i]);
    qsort(names, wanted->n, sizeof *names, in_order);
    rd->wanted = *wanted;
    rd->wanted.names = names;
}

void rest_read(struct rest *p, struct arena *a, struct rest_zone *z,
               const struct rest_wanted *wanted, rest_records_cb *cb, void *arg)
{
    const struct rest_paths *paths = &p->style->paths;
    struct reading *rd = mem_alloc(sizeof *rd);

    rest_begin(p);
    rd->p = p;
    rd->z = z;
    rd->out.a = a;
    rd->m = &p->style->m;
    rd->cb = cb;
    rd->arg = arg;
    copy_names(rd, wanted);
    if (wanted->specs && paths->specs != NULL) {
        if (p->style->specs_m.name != NULL)
            rd->m = &p->style->specs_m;
        ask(rd, paths->specs, paths->specs_items, NULL);
    } else if (!wanted->specs && paths->by_name != NULL && wanted->n > 0 &&
               wanted->n <= p->style->few) {
        ask_name(rd);
    } else {
        ask_whole(rd);
    }
}
