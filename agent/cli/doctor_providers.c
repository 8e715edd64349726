#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/cli/doctor.h"
#include "agent/cli/served_serial.h"

/* The providers: do they open, and what do they say themselves? */

#define CLOSE_MS 5000

/* --- what is handed to them ---------------------------------------------- */

/* What is handed to one of them. */
struct opened {
    struct doctor *d;
    const struct config_provider *cfg;
};

static const struct config_view *view_of(const struct doctor_zone *z,
                                         const struct config_provider *cfg)
{
    for (size_t i = 0; i < z->cfg->nviews; i++)
        if (z->cfg->views[i].provider == cfg)
            return &z->cfg->views[i];
    return NULL;
}

/* Of the provider of a view: what its audience sees, which servers of the
 * view's own tell, or the zone's under its key. */
static void served_serial(void *arg, const char *zone, provider_serial_cb *cb,
                          void *cb_arg)
{
    const struct opened *o = arg;
    struct doctor *d = o->d;
    const struct addr *servers = NULL;
    const struct tsig_key *key = NULL;
    size_t n = 0;

    for (size_t i = 0; i < d->nzones; i++) {
        const struct doctor_zone *z = d->zones[i];
        const struct config_view *v = view_of(z, o->cfg);

        if (!name_equal(z->name, zone))
            continue;
        if (v != NULL)
            key =
                provider_transfer_key(d->providers[o->cfg - d->cfg->providers]);
        servers = v != NULL && v->nservers > 0 ? v->servers : z->servers;
        n = v != NULL && v->nservers > 0 ? v->nservers
            : v == NULL || key != NULL   ? z->nservers
                                         : 0;
    }
    served_serial_ask(d->arena, d->loop, d->resolver, servers, n, key, zone, cb,
                      cb_arg);
}

/* Many servers lock out who keeps trying a refused login: what an earlier
 * run was told holds here, too. */
static bool is_stopped(void *arg, const char *provider, uint32_t print,
                       struct err *e)
{
    const struct opened *o = arg;
    const struct doctor *d = o->d;
    struct state_stop *row = NULL;

    if (d->state != NULL)
        HASH_FIND_STR(state_stops(d->state), provider, row);
    if (row == NULL || row->text == NULL || row->print != print ||
        row->until_ms <= state_now_ms())
        return false;
    (void)err_set(e, ERR_AUTH, "%s; not tried again for a few minutes",
                  row->text);
    return true;
}

/* --- their own findings -------------------------------------------------- */

struct asking {
    struct doctor *d;
    const struct config_provider *cfg;
    const char *zone;
    bool has_specs; /* it is asked for the zone's specs */
    bool done;
};

/* The line of the option, else of the section. */
static const char *place_of(const struct asking *a,
                            const struct provider_finding *f)
{
    const struct config_option *o =
        f->option != NULL ? config_option_find(a->cfg, f->option) : NULL;
    struct arena *arena = a->d->arena;
    const char *what = arena_printf(arena, "provider %s", a->cfg->name);

    if (o != NULL && o->env != NULL)
        return arena_printf(arena, "%s: %s of the environment", what, o->env);
    if (o != NULL)
        return doctor_at(a->d, o->line,
                         arena_printf(arena, "%s: %s", what, f->option));
    return doctor_at(a->d, a->cfg->line, what);
}

/* A refused login is the same for the account and for each of its zones. */
static bool is_news(const struct asking *a, const struct provider_finding *f)
{
    struct doctor *d = a->d;
    const char *text;

    if (f->level == PROVIDER_OK)
        return true;
    if (f->level == PROVIDER_NO_SPECS && !a->has_specs)
        return false;
    text = arena_printf(d->arena, "%s %s", a->cfg->name, f->text);
    for (size_t i = 0; i < d->ntold; i++)
        if (strcmp(d->told[i], text) == 0)
            return false;
    d->told =
        arena_grow(d->arena, d->told, &d->told_cap, d->ntold, sizeof *d->told);
    d->told[d->ntold++] = text;
    return true;
}

static void on_checked(void *arg, const struct provider_checked *r)
{
    static const enum doctor_level levels[] = {
        [PROVIDER_OK] = DOCTOR_OK,
        [PROVIDER_WARNING] = DOCTOR_WARNING,
        [PROVIDER_NO_SPECS] = DOCTOR_WARNING,
        [PROVIDER_ERROR] = DOCTOR_ERROR};
    struct asking *a = arg;

    for (size_t i = 0; i < r->n; i++) {
        if (!is_news(a, &r->findings[i]))
            continue;
        doctor_tell(a->d, levels[r->findings[i].level],
                    place_of(a, &r->findings[i]), r->findings[i].remedy, "%s",
                    r->findings[i].text);
    }
    a->done = true;
}

void doctor_ask(struct doctor *d, struct provider *p,
                const struct config_provider *cfg, const char *zone,
                bool has_specs)
{
    struct asking *a = arena_alloc(d->arena, sizeof *a);

    if (p->ops->check == NULL)
        return;
    a->d = d;
    a->cfg = cfg;
    a->zone = zone;
    a->has_specs = has_specs;
    p->ops->check(p, zone, on_checked, a);
    if (!doctor_wait(d, &a->done, DOCTOR_LIST_MS))
        doctor_tell(d, DOCTOR_ERROR,
                    doctor_at(d, cfg->line,
                              arena_printf(d->arena, "provider %s", cfg->name)),
                    NULL, "%s: no answer in time",
                    zone != NULL ? zone : "account");
}

/* --- opening and closing ------------------------------------------------- */

static bool is_used(const struct config *cfg, const struct config_provider *p)
{
    for (size_t i = 0; i < cfg->nzones; i++)
        if (config_zone_uses(&cfg->zones[i], p))
            return true;
    return false;
}

static void look_at(struct doctor *d, size_t i)
{
    struct opened *o = arena_alloc(d->arena, sizeof *o);
    struct provider_env env = {.loop = d->loop,
                               .http = d->http,
                               .served_serial = served_serial,
                               .stopped = is_stopped,
                               .arg = o};
    const struct config_provider *cfg = &d->cfg->providers[i];
    const struct provider_ops *ops = provider_find(cfg->type);
    const char *place = doctor_at(
        d, cfg->line, arena_printf(d->arena, "provider %s", cfg->name));
    size_t before = d->count[DOCTOR_ERROR];
    struct err e;

    o->d = d;
    o->cfg = cfg;
    if (!is_used(d->cfg, cfg)) {
        doctor_tell(d, DOCTOR_WARNING, place, "provider = … of a zone",
                    "no zone uses it");
        return;
    }
    if (ops == NULL || ops->open(ops, &env, cfg, &d->providers[i], &e) != 0) {
        doctor_tell(d, DOCTOR_ERROR, place, NULL, "%s",
                    ops == NULL ? "no such type" : e.msg);
        d->providers[i] = NULL;
        return;
    }
    doctor_tell(d, DOCTOR_OK, place, NULL, "its options can be used");
    doctor_ask(d, d->providers[i], cfg, NULL, false);
    d->has_errors[i] = d->count[DOCTOR_ERROR] > before;
}

void doctor_providers(struct doctor *d)
{
    size_t n = d->cfg->nproviders;

    d->providers = arena_array(d->arena, n + 1, sizeof *d->providers);
    d->has_errors = arena_array(d->arena, n + 1, sizeof *d->has_errors);
    for (size_t i = 0; i < n; i++)
        look_at(d, i);
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

void doctor_close(struct doctor *d)
{
    for (size_t i = 0; d->providers != NULL && i < d->cfg->nproviders; i++) {
        struct provider *p = d->providers[i];
        bool *done = arena_alloc(d->arena, sizeof *done);

        if (p == NULL)
            continue;
        d->providers[i] = NULL;
        p->ops->close(p, on_closed, done);
        (void)doctor_wait(d, done, CLOSE_MS);
    }
}
