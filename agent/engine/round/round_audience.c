#include <stdio.h>
#include <string.h>

#include "agent/engine/round/round_internal.h"

/* The views of a zone: each is kept by a provider of its own, and shown to
 * whom the name server takes for its audience. source: spec-language 9 */

static void fill(struct round_audience *a, struct round_zone *z,
                 const struct config_provider *cfg,
                 const struct config_view *view)
{
    const struct round *r = z->round;

    a->zone = z;
    a->cfg = cfg;
    a->view = view;
    a->provider = r->providers[cfg - r->cfg->providers].instance;
}

void round_add_audiences(struct round_zone *z)
{
    z->naudiences = 1 + z->cfg->nviews;
    z->audiences =
        arena_array(z->round->arena, z->naudiences, sizeof *z->audiences);
    fill(&z->audiences[0], z, z->cfg->provider, NULL);
    for (size_t i = 0; i < z->cfg->nviews; i++)
        fill(&z->audiences[1 + i], z, z->cfg->views[i].provider,
             &z->cfg->views[i]);
}

struct round_audience *round_audience_of(const struct round_zone *z, size_t set)
{
    return &z->audiences[z->world->plan.sets[set].audience];
}

bool round_observed_all(const struct round_zone *z)
{
    for (size_t i = 0; i < z->naudiences; i++)
        if (!z->audiences[i].observed)
            return false;
    return true;
}

void round_tell_view(struct round_zone *z, size_t set)
{
    const struct plan_set *ps = &z->world->plan.sets[set];
    const struct spec_claim *claim = z->world->sets[set].claim;
    char key[ROUND_KEY_SIZE];
    struct arena *a = z->round->arena;
    const char *known = world_views_list(world_views_new(z->cfg, a), a);

    round_set_key(key, "hold", ps);
    round_problem(z->round, z->name, key,
                  "%s %s held: _failover.%.*s %s/view: the section of zone %s "
                  "has no view \"%s\"; accepted: %s",
                  ps->name, z->world->sets[set].label,
                  round_plain_len(claim->spec->owner), claim->spec->owner,
                  claim->set->records[0].pointer, z->name, ps->view, known);
}

/* --- asking -------------------------------------------------------------- */

static const struct tsig_key *key_of(const struct round_audience *a)
{
    return a->view != NULL && a->provider != NULL
               ? provider_transfer_key(a->provider)
               : NULL;
}

/* A plain question to the zone's servers is answered from the view that the
 * agent itself is in: that says nothing of another one. */
const struct addr *round_audience_servers(const struct round_audience *a,
                                          size_t *n)
{
    if (a->view != NULL && a->view->nservers > 0) {
        *n = a->view->nservers;
        return a->view->servers;
    }
    *n = a->view == NULL || key_of(a) != NULL ? a->zone->nservers : 0;
    return a->zone->servers;
}

void round_audience_ask(const struct round_audience *a,
                        struct resolver *resolver, const struct addr *server,
                        const char *name, uint16_t type, resolver_cb *cb,
                        void *arg)
{
    const struct tsig_key *key = key_of(a);

    if (key != NULL)
        resolver_ask_signed(resolver, server, key, name, type, cb, arg);
    else
        resolver_ask(resolver, server, name, type, cb, arg);
}

/* --- keys ---------------------------------------------------------------- */

void round_key_type(char out[ROUND_TYPE_SIZE], const struct plan_set *ps)
{
    (void)snprintf(out, ROUND_TYPE_SIZE, "%s%s%s", spec_type_name(ps->type),
                   ps->view != NULL ? "@" : "",
                   ps->view != NULL ? ps->view : "");
}

void round_set_key(char out[ROUND_KEY_SIZE], const char *what,
                   const struct plan_set *ps)
{
    char type[ROUND_TYPE_SIZE];

    round_key_type(type, ps);
    (void)snprintf(out, ROUND_KEY_SIZE, "%s %s %s", what, ps->name, type);
}
