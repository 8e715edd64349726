#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/doctor.h"

/* The zones, their authoritative servers, and what serials these tell. */

/* --- which --------------------------------------------------------------- */

static bool is_asked_for(const struct doctor *d, const char *zone)
{
    char name[NAME_SIZE];

    for (size_t i = 0; d->names[i] != NULL; i++)
        if (cli_name(d->names[i], name) == 0 && name_equal(name, zone))
            return true;
    return d->names[0] == NULL;
}

static bool has_section(const struct doctor *d, const char *name)
{
    for (size_t i = 0; i < d->cfg->nzones; i++)
        if (name_equal(d->cfg->zones[i].name, name))
            return true;
    return false;
}

static void add_zone(struct doctor *d, const struct config_zone *cfg,
                     const char *name)
{
    struct doctor_zone *z;

    if (!is_asked_for(d, name))
        return;
    z = arena_alloc(d->arena, sizeof *z);
    z->cfg = cfg;
    z->name = arena_strdup(d->arena, name);
    z->provider = d->providers[cfg->provider - d->cfg->providers];
    z->failed = d->has_errors[cfg->provider - d->cfg->providers];
    d->zones = mem_grow(d->zones, &d->cap, d->nzones, sizeof z);
    d->zones[d->nzones++] = z;
}

struct listing {
    struct doctor *d;
    const struct config_zone *cfg;
    struct err err;
    bool done;
};

static void on_zones(void *arg, const struct provider_names *names)
{
    struct listing *l = arg;

    l->err = names->err;
    for (size_t i = 0; i < names->n; i++)
        if (!has_section(l->d, names->names[i]))
            add_zone(l->d, l->cfg, names->names[i]);
    l->done = true;
}

static void list_zones(struct doctor *d, const struct config_zone *cfg)
{
    struct provider *p = d->providers[cfg->provider - d->cfg->providers];
    struct listing *l = arena_alloc(d->arena, sizeof *l);
    const char *place = doctor_at(d, cfg->line, "zone \"*\"");
    size_t before = d->nzones;

    if (p == NULL)
        return;
    if (p->ops->list_zones == NULL) {
        doctor_tell(d, DOCTOR_ERROR, place, "zone \"NAME\" { … } for each",
                    "provider %s cannot list zones", cfg->provider->name);
        return;
    }
    l->d = d;
    l->cfg = cfg;
    (void)err_set(&l->err, ERR_RETRY, "no answer in time");
    p->ops->list_zones(p, on_zones, l);
    (void)doctor_wait(d, &l->done, DOCTOR_LIST_MS);
    if (l->err.code != ERR_NONE)
        doctor_tell(d, DOCTOR_ERROR, place, NULL,
                    "list of zones at provider %s: %s", cfg->provider->name,
                    l->err.msg);
    else
        doctor_tell(d, DOCTOR_OK, place, NULL, "%zu zones", d->nzones - before);
}

void doctor_zones(struct doctor *d)
{
    for (size_t i = 0; i < d->cfg->nzones; i++) {
        const struct config_zone *cfg = &d->cfg->zones[i];

        if (strcmp(cfg->name, "*") == 0)
            list_zones(d, cfg);
        else
            add_zone(d, cfg, cfg->name);
    }
}

/* --- servers ------------------------------------------------------------- */

struct finding {
    struct doctor *d;
    struct doctor_zone *z;
    struct err err;
    bool done;
};

static void on_servers(void *arg, const struct resolver_zone *found)
{
    struct finding *f = arg;
    struct addr *list;

    f->err = found->err;
    f->done = true;
    if (found->err.code != ERR_NONE)
        return;
    list = arena_array(f->d->arena, found->nservers + 1, sizeof *list);
    memcpy(list, found->servers, found->nservers * sizeof *list);
    f->z->servers = list;
    f->z->nservers = found->nservers;
}

static const char *place_of(struct doctor *d, const struct doctor_zone *z)
{
    return doctor_at(d, z->cfg->line,
                     arena_printf(d->arena, "zone %s", z->name));
}

static void find_servers(struct doctor *d, struct doctor_zone *z)
{
    struct finding *f = arena_alloc(d->arena, sizeof *f);

    z->servers = z->cfg->servers;
    z->nservers = z->cfg->nservers;
    if (z->nservers > 0)
        return;
    f->d = d;
    f->z = z;
    (void)err_set(&f->err, ERR_RETRY, "no answer in time");
    resolver_find_servers(d->resolver, z->name, d->cfg->trust_ad, on_servers,
                          f);
    (void)doctor_wait(d, &f->done, DOCTOR_ANSWER_MS);
    if (f->err.code != ERR_NONE)
        doctor_tell(d, DOCTOR_ERROR, place_of(d, z),
                    "servers = {\"…\"}, or the zone's delegation",
                    "authoritative servers: %s", f->err.msg);
}

struct soa {
    enum resolver_outcome outcome;
    struct err err;
    uint32_t serial;
    bool known, done;
};

static void on_soa(void *arg, const struct resolver_answer *answer)
{
    struct soa *s = arg;

    s->outcome = answer->outcome;
    s->err = answer->err;
    s->known = answer->outcome == RESOLVER_FOUND &&
               message_serial(answer->message, &s->serial) == 0;
    s->done = true;
}

static void tell_serials(struct doctor *d, const struct doctor_zone *z,
                         const struct soa *s)
{
    uint32_t low = 0, high = 0;
    size_t known = 0;

    for (size_t i = 0; i < z->nservers; i++) {
        if (!s[i].known)
            continue;
        if (known == 0 || (int32_t)(s[i].serial - high) > 0)
            high = s[i].serial;
        if (known == 0 || (int32_t)(s[i].serial - low) < 0)
            low = s[i].serial;
        known++;
    }
    if (known == 0)
        doctor_tell(d, DOCTOR_ERROR, place_of(d, z), "servers = {\"…\"}",
                    "no authoritative server answers for it");
    else if (low != high)
        doctor_tell(d, DOCTOR_WARNING, place_of(d, z),
                    "the transfers (NOTIFY, allow-transfer) of the one that "
                    "stays behind",
                    "its servers serve different serials, from %u to %u", low,
                    high);
    else
        doctor_tell(d, DOCTOR_OK, place_of(d, z), NULL,
                    "%zu of %zu servers serve serial %u", known, z->nservers,
                    high);
}

static void look_at_servers(struct doctor *d, const struct doctor_zone *z)
{
    struct soa *s = arena_array(d->arena, z->nservers + 1, sizeof *s);
    char text[ADDR_TEXT_SIZE];

    for (size_t i = 0; i < z->nservers; i++) {
        (void)err_set(&s[i].err, ERR_RETRY, "no answer in time");
        resolver_ask(d->resolver, &z->servers[i], z->name, MESSAGE_SOA, on_soa,
                     &s[i]);
    }
    for (size_t i = 0; i < z->nservers; i++) {
        (void)doctor_wait(d, &s[i].done, DOCTOR_ANSWER_MS);
        if (!s[i].known)
            doctor_tell(d, DOCTOR_WARNING, place_of(d, z),
                        "the server, or servers = {\"…\"}", "server %s: %s",
                        addr_format_port(&z->servers[i], text),
                        s[i].err.code != ERR_NONE ? s[i].err.msg
                                                  : "no SOA in its answer");
    }
    tell_serials(d, z, s);
}

void doctor_servers(struct doctor *d)
{
    for (size_t i = 0; i < d->nzones; i++) {
        find_servers(d, d->zones[i]);
        if (d->zones[i]->nservers > 0)
            look_at_servers(d, d->zones[i]);
    }
}
