#include "providers/rest/rest_zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_page.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_read.h"

/* One who waits for a zone: first for the account, then for the zone's id. */
struct rest_getting {
    struct rest *p;
    struct arena *a;
    struct rest_zone *z; /* NULL: the account is all that is wanted */
    struct err err;
    rest_zone_cb *cb;
    void *arg;
    struct rest_getting *next;
};

struct rest_zone *rest_zone_row(struct rest *p, const char *name)
{
    struct rest_zone *z = p->zones;

    while (z != NULL && !name_equal(z->name, name))
        z = z->next;
    if (z == NULL) {
        z = mem_alloc(sizeof *z);
        (void)snprintf(z->name, sizeof z->name, "%s", name);
        z->next = p->zones;
        p->zones = z;
    }
    return z;
}

void rest_zone_forget(struct rest_zone *z)
{
    z->is_known = false;
}

uint32_t rest_zone_min_ttl(const struct rest *p, const struct rest_zone *z)
{
    return z->has_min_ttl ? z->min_ttl_s : p->base.ops->caps.min_ttl_s;
}

void rest_zones_free(struct rest *p)
{
    while (p->zones != NULL) {
        struct rest_zone *z = p->zones;

        p->zones = z->next;
        free(z);
    }
}

static void deliver(void *arg)
{
    struct rest_getting *g = arg;
    struct rest *p = g->p;

    g->cb(g->arg, g->err.code == ERR_NONE ? g->z : NULL, &g->err);
    arena_free(g->a);
    free(g);
    rest_end(p);
}

static void fail(struct rest_getting *g, const struct err *e)
{
    g->err = rest_as_read(e);
    deliver(g);
}

/* ---- the zone's id ------------------------------------------------------- */

static int on_item(void *arg, const cJSON *item, struct err *e)
{
    struct rest_getting *g = arg;
    const struct rest_paths *paths = &g->p->style->paths;
    const cJSON *name = rest_json_at(item, paths->zones_name);
    char canon[NAME_SIZE];

    if (!cJSON_IsString(name) || name_canon(name->valuestring, canon, NULL) ||
        !name_equal(canon, g->z->name))
        return 0;
    if (g->z->is_known)
        return err_set(e, ERR_CONFLICT,
                       "there are two zones %s; say which by an id",
                       g->z->name);
    if (!rest_json_text(rest_json_at(item, paths->zone_id), g->z->id,
                        sizeof g->z->id))
        return err_set(e, ERR_RETRY, "zone %s has no %s in the answer",
                       g->z->name, paths->zone_id);
    g->z->is_known = true;
    if (g->p->style->on_zone != NULL)
        g->p->style->on_zone(g->z, item);
    return 0;
}

static void on_found(void *arg, const struct rest_reply *r, size_t items)
{
    struct rest_getting *g = arg;
    struct err e = r->err;

    (void)items;
    if (e.code == ERR_NONE && !g->z->is_known)
        (void)err_set(&e, ERR_NOTFOUND,
                      "%s shows no zone %s to these credentials",
                      g->p->style->label, g->z->name);
    if (e.code != ERR_NONE) {
        g->z->is_known = false;
        fail(g, &e);
        return;
    }
    deliver(g);
}

static void find_zone(struct rest_getting *g)
{
    const struct rest_path_args args = {.zone = g->z};
    const struct rest_style *style = g->p->style;
    const struct rest_pages pages = {
        .each = on_item, .done = on_found, .arg = g};

    if (g->z == NULL) {
        (void)loop_timer_start(g->p->env.loop, 0, deliver, g);
        return;
    }
    if (style->paths.zone_find == NULL || g->p->fixed_zone_id != NULL) {
        if (g->p->fixed_zone_id != NULL)
            (void)snprintf(g->z->id, sizeof g->z->id, "%s",
                           g->p->fixed_zone_id);
        g->z->is_known = true;
    }
    if (g->z->is_known)
        (void)loop_timer_start(g->p->env.loop, 0, deliver, g);
    else
        rest_pages_get(g->p,
                       rest_path(g->p, g->a, style->paths.zone_find, &args),
                       style->paths.zones_items, &pages);
}

/* ---- the account --------------------------------------------------------- */

void rest_account_is(struct rest *p, const char *account, const struct err *e)
{
    struct rest_getting *g = p->account_waiting;

    p->finding_account = false;
    p->account_waiting = NULL;
    if (account != NULL) {
        free(p->account);
        p->account = mem_strdup(account);
    }
    while (g != NULL) {
        struct rest_getting *next = g->next;

        if (account != NULL)
            find_zone(g);
        else
            fail(g, e);
        g = next;
    }
    rest_end(p);
}

static void getting_start(struct rest *p, struct rest_zone *z, rest_zone_cb *cb,
                          void *arg)
{
    struct rest_getting *g = mem_alloc(sizeof *g);

    rest_begin(p);
    g->p = p;
    g->a = arena_new();
    g->z = z;
    g->cb = cb;
    g->arg = arg;
    if (p->account != NULL || p->style->find_account == NULL) {
        find_zone(g);
        return;
    }
    g->next = p->account_waiting;
    p->account_waiting = g;
    if (p->finding_account)
        return;
    p->finding_account = true;
    rest_begin(p);
    p->style->find_account(p);
}

void rest_zone_get(struct rest *p, const char *zone, rest_zone_cb *cb,
                   void *arg)
{
    getting_start(p, rest_zone_row(p, zone), cb, arg);
}

void rest_account_get(struct rest *p, rest_zone_cb *cb, void *arg)
{
    getting_start(p, NULL, cb, arg);
}
