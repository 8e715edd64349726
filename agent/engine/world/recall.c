#include "agent/engine/world/recall.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/world/override.h"
#include "agent/engine/world/txt.h"

/* --- the specs ----------------------------------------------------------- */

static const struct config_zone *zone_config(const struct config *cfg,
                                             const char *name)
{
    const struct config_zone *any = NULL;

    for (size_t i = 0; i < cfg->nzones; i++) {
        if (name_equal(cfg->zones[i].name, name))
            return &cfg->zones[i];
        if (strcmp(cfg->zones[i].name, "*") == 0)
            any = &cfg->zones[i];
    }
    return any;
}

/* The first nsorted are in order; the few behind them are not yet. */
struct recall_zone *recall_zone_find(struct recall *r, const char *name)
{
    for (size_t lo = 0, hi = r->nsorted; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        int c = name_compare(name, r->zones[mid].name);

        if (c == 0)
            return &r->zones[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    for (size_t i = r->nsorted; i < r->nzones; i++)
        if (name_equal(r->zones[i].name, name))
            return &r->zones[i];
    return NULL;
}

static void add_zone(struct recall *r, const char *name)
{
    struct recall_zone *z;

    r->zones = mem_grow(r->zones, &r->cap_zones, r->nzones, sizeof *r->zones);
    z = &r->zones[r->nzones++];
    z->name = arena_strdup(r->arena, name);
    z->cfg = zone_config(r->cfg, name);
}

static void add_owner(struct recall *r, struct state_spec *row)
{
    const char *bar = strchr(row->key, '|');
    struct recall_owner *o;
    struct recall_zone *z;
    char *zone;

    if (bar == NULL || !row->good)
        return;
    zone = arena_strndup(r->arena, row->key, (size_t)(bar - row->key));
    z = recall_zone_find(r, zone);
    if (z == NULL) {
        add_zone(r, zone);
        z = &r->zones[r->nzones - 1];
    }
    z->owners =
        mem_grow(z->owners, &z->cap_owners, z->nowners, sizeof *z->owners);
    o = &z->owners[z->nowners++];
    o->name = arena_strdup(r->arena, bar + 1);
    o->row = row;
}

static int by_owner(const void *pa, const void *pb)
{
    const struct recall_owner *a = pa, *b = pb;

    return name_compare(a->name, b->name);
}

static int by_zone(const void *pa, const void *pb)
{
    const struct recall_zone *a = pa, *b = pb;

    return name_compare(a->name, b->name);
}

static void sort_zones(struct recall *r)
{
    if (r->nzones > 0)
        qsort(r->zones, r->nzones, sizeof *r->zones, by_zone);
    r->nsorted = r->nzones;
}

/* In canonical order the apex comes before what is below it. */
static void parse_zone(struct recall *r, struct recall_zone *z)
{
    const struct spec *apex = NULL;

    qsort(z->owners, z->nowners, sizeof *z->owners, by_owner);
    for (size_t i = 0; i < z->nowners; i++) {
        struct recall_owner *o = &z->owners[i];
        bool is_apex = name_equal(o->name, z->name);
        struct spec_context ctx = {
            .owner = o->name,
            .zone = z->name,
            .apex = is_apex ? NULL : apex,
            .cross_names = z->cfg != NULL && z->cfg->cross_names,
            .allow_active = z->cfg != NULL && z->cfg->allow_active,
            .min_period_ms = r->cfg->min_period_ms,
            .max_targets = (size_t)r->cfg->max_targets};
        char *texts = state_spec_texts(r->state, o->row, &o->err);
        size_t n = 0;
        struct spec_txt *txts =
            texts != NULL ? txt_parse(r->arena, texts, &n) : NULL;

        if (texts == NULL || spec_parse(txts, n, &ctx, &o->spec, &o->err) != 0)
            o->spec = NULL;
        free(texts);
        if (is_apex)
            apex = o->spec;
    }
}

/* --- data centres -------------------------------------------------------- */

static bool has_dc(const struct recall *r, size_t first, const char *name)
{
    for (size_t i = first; i < r->ndcs; i++)
        if (r->dcs[i].shared && strcmp(r->dcs[i].name, name) == 0)
            return true;
    return false;
}

static void add_dcs(struct recall *r, struct recall_zone *z)
{
    size_t first = r->ndcs;

    for (size_t i = 0; i < z->nowners; i++) {
        const struct recall_owner *o = &z->owners[i];

        for (size_t k = 0; o->spec != NULL && k < o->spec->ndcs; k++) {
            const struct spec_dc *dc = &o->spec->dcs[k];
            bool shared = dc->from_apex || name_equal(o->name, z->name);
            struct recall_dc *d;

            if (shared && has_dc(r, first, dc->name))
                continue;
            r->dcs = mem_grow(r->dcs, &r->cap_dcs, r->ndcs, sizeof *r->dcs);
            d = &r->dcs[r->ndcs++];
            d->zone = z;
            d->owner = o;
            d->index = k;
            d->name = dc->name;
            d->shared = shared;
        }
    }
}

/* --- the whole ----------------------------------------------------------- */

struct recall *recall_new(const struct config *cfg, struct state *s)
{
    struct recall *r = mem_alloc(sizeof *r);
    struct state_spec *row;
    struct state_zone *zone;

    r->cfg = cfg;
    r->state = s;
    r->arena = arena_new();
    r->checks = checks_new(s);
    r->limits.allow = cfg->allow_targets;
    r->limits.nallow = cfg->nallow_targets;
    for (zone = state_zones(s); zone != NULL; zone = zone->hh.next)
        add_zone(r, zone->key);
    sort_zones(r);
    for (row = state_specs(s); row != NULL; row = row->next)
        add_owner(r, row);
    sort_zones(r);
    for (size_t i = 0; i < r->nzones; i++) {
        if (r->zones[i].nowners > 0)
            parse_zone(r, &r->zones[i]);
        add_dcs(r, &r->zones[i]);
    }
    return r;
}

void recall_free(struct recall *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->nzones; i++) {
        struct recall_zone *z = &r->zones[i];

        world_free(z->world);
        for (size_t k = 0; k < z->nowners; k++)
            spec_free(z->owners[k].spec);
        free(z->owners);
    }
    free(r->zones);
    free(r->dcs);
    free(r->refused);
    checks_free(r->checks);
    arena_free(r->arena);
    free(r);
}

bool recall_manages(const struct recall_zone *z, const char *name)
{
    for (size_t i = 0; i < z->nowners; i++) {
        const struct spec *s = z->owners[i].spec;

        for (size_t k = 0; s != NULL && k < s->nsets; k++)
            if (name_equal(s->sets[k].name, name))
                return true;
    }
    return false;
}

bool recall_knows(const struct recall_zone *z, const char *name)
{
    for (size_t i = 0; i < z->nowners; i++)
        if (name_equal(z->owners[i].name, name))
            return true;
    return recall_manages(z, name);
}

/* --- the world ----------------------------------------------------------- */

static void on_refused(void *arg, const char *where, const struct err *e)
{
    struct recall *r = arg;

    (void)where;
    r->refused =
        mem_grow(r->refused, &r->cap_refused, r->nrefused, sizeof *r->refused);
    r->refused[r->nrefused++] = arena_strdup(r->arena, e->msg);
}

static void on_conflict(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void on_opted_out(void *arg, const char *name, const char *data)
{
    (void)arg;
    (void)name;
    (void)data;
}

static bool had_problem(struct state *s, const char *key)
{
    struct state_problem *p = NULL;

    HASH_FIND_STR(state_problems(s), key, p);
    return p != NULL;
}

/* What the last round saw at the provider is what stands there. */
static void take_remembered(struct world *w)
{
    for (size_t i = 0; i < w->plan.nsets; i++) {
        struct plan_set *ps = &w->plan.sets[i];

        ps->observed = true;
        for (size_t k = 0; k < ps->nvalues; k++) {
            ps->values[k].published =
                state_value_of(ps->values[k].memory)->published;
            ps->values[k].memory->expected = ps->values[k].published;
        }
    }
}

static void plan(struct recall *r, struct world *w, int64_t now_ms)
{
    struct state_zone *row = NULL;

    HASH_FIND_STR(state_zones(r->state), w->zone, row);
    w->plan.now_ms = now_ms;
    w->plan.blind = r->cfg->nanchors > 0 && had_problem(r->state, "|anchors");
    if (row != NULL) {
        w->plan.withdrawn_ms = row->withdrawn_ms;
        while (w->plan.nwithdrawn <
                   sizeof row->withdrawn_ms / sizeof row->withdrawn_ms[0] &&
               row->withdrawn_ms[w->plan.nwithdrawn] != 0)
            w->plan.nwithdrawn++;
    }
    w->plan.alone = r->cfg->nanchors == 0 && checks_count(r->checks) > 0 &&
                    !checks_any_up(r->checks);
    plan_make(&w->plan);
}

static void build(struct recall *r, struct recall_zone *z, int64_t now_ms)
{
    const struct world_events ev = {on_refused, on_conflict, on_opted_out, r};
    const struct spec **specs =
        arena_array(r->arena, z->nowners, sizeof *specs);
    size_t n = 0;

    for (size_t i = 0; i < z->nowners; i++)
        if (z->owners[i].spec != NULL)
            specs[n++] = z->owners[i].spec;
    z->world =
        world_new(r->arena, z->name, specs, n, r->state, r->checks, &r->limits,
                  world_views_new(z->cfg, r->arena), r->cfg->dc, now_ms, &ev);
    if (n > 0 && name_equal(specs[0]->owner, z->name) &&
        specs[0]->top->max_change_pct >= 0)
        z->world->plan.max_change_pct = specs[0]->top->max_change_pct;
    take_remembered(z->world);
}

void recall_worlds(struct recall *r, int64_t now_ms)
{
    char *file = override_freeze_file(r->cfg->state);

    for (size_t i = 0; i < r->nzones; i++)
        build(r, &r->zones[i], now_ms);
    for (size_t i = 0; i < r->nzones; i++) {
        struct world *w = r->zones[i].world;

        (void)world_judge(w, now_ms);
        world_apply_freezes(w, now_ms);
        if (file != NULL)
            override_freeze_world(w);
        plan(r, w, now_ms);
    }
    free(file);
}
