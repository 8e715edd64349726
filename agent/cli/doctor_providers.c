#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/cli/doctor.h"
#include "agent/cli/served_serial.h"

/* The providers: do they open, and what do they say themselves? */

#define CLOSE_MS 5000

/* --- what is handed to them ---------------------------------------------- */

static void served_serial(void *arg, const char *zone, provider_serial_cb *cb,
                          void *cb_arg)
{
    struct doctor *d = arg;
    const struct doctor_zone *z = NULL;

    for (size_t i = 0; i < d->nzones; i++)
        if (name_equal(d->zones[i]->name, zone))
            z = d->zones[i];
    served_serial_ask(d->arena, d->loop, d->resolver,
                      z != NULL ? z->servers : NULL,
                      z != NULL ? z->nservers : 0, zone, cb, cb_arg);
}

/* Many servers lock out who keeps trying a refused login: what an earlier
 * run was told holds here, too. */
static bool is_stopped(void *arg, const char *provider, uint32_t print,
                       struct err *e)
{
    const struct doctor *d = arg;
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
static bool is_news(struct doctor *d, const struct provider_finding *f)
{
    if (f->level == PROVIDER_OK)
        return true;
    for (size_t i = 0; i < d->ntold; i++)
        if (strcmp(d->told[i], f->text) == 0)
            return false;
    d->told =
        arena_grow(d->arena, d->told, &d->told_cap, d->ntold, sizeof *d->told);
    d->told[d->ntold++] = arena_strdup(d->arena, f->text);
    return true;
}

static void on_checked(void *arg, const struct provider_checked *r)
{
    static const enum doctor_level levels[] = {[PROVIDER_OK] = DOCTOR_OK,
                                               [PROVIDER_WARNING] =
                                                   DOCTOR_WARNING,
                                               [PROVIDER_ERROR] = DOCTOR_ERROR};
    struct asking *a = arg;

    for (size_t i = 0; i < r->n; i++) {
        if (!is_news(a->d, &r->findings[i]))
            continue;
        doctor_tell(a->d, levels[r->findings[i].level],
                    place_of(a, &r->findings[i]), r->findings[i].remedy, "%s",
                    r->findings[i].text);
    }
    a->done = true;
}

void doctor_ask(struct doctor *d, struct provider *p,
                const struct config_provider *cfg, const char *zone)
{
    struct asking *a = arena_alloc(d->arena, sizeof *a);

    if (p->ops->check == NULL)
        return;
    a->d = d;
    a->cfg = cfg;
    a->zone = zone;
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
    struct provider_env env = {.loop = d->loop,
                               .http = d->http,
                               .served_serial = served_serial,
                               .stopped = is_stopped,
                               .arg = d};
    const struct config_provider *cfg = &d->cfg->providers[i];
    const struct provider_ops *ops = provider_find(cfg->type);
    const char *place = doctor_at(
        d, cfg->line, arena_printf(d->arena, "provider %s", cfg->name));
    size_t before = d->count[DOCTOR_ERROR];
    struct err e;

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
    doctor_ask(d, d->providers[i], cfg, NULL);
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
