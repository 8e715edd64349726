#include <string.h>

#include "agent/cli/doctor.h"

/* Views: what the provider of each says itself and shows, and whether anybody
 * can be asked what its audience sees. */

struct shown {
    struct err err;
    bool done;
};

static void on_records(void *arg, const struct provider_records *r)
{
    struct shown *s = arg;

    s->err = r->err;
    s->done = true;
}

/* Plain questions show the view that the agent itself is in. */
static void look_at_ways(struct doctor *d, const struct config_view *v,
                         const struct provider *p, const char *place)
{
    const struct config_option *sign =
        config_option_find(v->provider, "sign-queries");

    if (strcmp(v->provider->type, "rfc2136") == 0 && v->nservers == 0 &&
        (sign == NULL || strcmp(sign->value, "yes") != 0))
        doctor_tell(d, DOCTOR_WARNING, place, "sign-queries = yes",
                    "provider %s reads with plain queries: if the server "
                    "chooses the view by the key, they show another view",
                    v->provider->name);
    if (v->nservers == 0 && provider_transfer_key(p) == NULL)
        doctor_tell(d, DOCTOR_WARNING, place,
                    "key-file of its provider, or servers = {…}",
                    "nobody can be asked what the audience sees: changes are "
                    "not looked for in DNS%s",
                    p->ops->caps.needs_reload
                        ? ", and the served serial is not known"
                        : "");
}

static void look_at(struct doctor *d, const struct doctor_zone *z,
                    const struct config_view *v)
{
    struct provider *p = d->providers[v->provider - d->cfg->providers];
    struct shown *s = arena_alloc(d->arena, sizeof *s);
    size_t before = d->count[DOCTOR_ERROR];
    const char *names[] = {z->name};
    const char *place =
        doctor_at(d, v->line,
                  arena_printf(d->arena, "zone %s view %s", z->name, v->name));

    if (p == NULL)
        return; /* told by the examination of providers */
    look_at_ways(d, v, p, place);
    doctor_ask(d, p, v->provider, z->name, false);
    (void)err_set(&s->err, ERR_RETRY, "no answer in time");
    p->ops->list_records(p, z->name, names, 1, on_records, s);
    (void)doctor_wait(d, &s->done, DOCTOR_LIST_MS);
    if (s->err.code == ERR_NONE)
        doctor_tell(d, DOCTOR_OK, place, NULL, "provider %s shows its records",
                    v->provider->name);
    else if (d->count[DOCTOR_ERROR] == before &&
             !d->has_errors[v->provider - d->cfg->providers])
        doctor_tell(d, DOCTOR_ERROR, place, NULL, "records at provider %s: %s",
                    v->provider->name, s->err.msg);
}

void doctor_views(struct doctor *d)
{
    for (size_t i = 0; i < d->nzones; i++)
        for (size_t k = 0; k < d->zones[i]->cfg->nviews; k++)
            look_at(d, d->zones[i], &d->zones[i]->cfg->views[k]);
}
