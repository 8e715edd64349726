#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/doctor.h"
#include "agent/cli/lint.h"

/* What the provider shows of each zone, the names with specs, and the specs
 * themselves. */

#define SPECS_MOST 500 /* of one zone; each costs some queries */

static const char *place_of(struct doctor *d, const struct doctor_zone *z)
{
    return doctor_at(d, z->cfg->line,
                     arena_printf(d->arena, "zone %s", z->name));
}

/* --- records ------------------------------------------------------------- */

struct records {
    struct err err;
    bool has_serial, done;
    uint32_t serial;
};

static void on_records(void *arg, const struct provider_records *r)
{
    struct records *out = arg;

    out->err = r->err;
    out->has_serial = r->has_serial;
    out->serial = r->serial;
    out->done = true;
}

/* What the provider says itself goes deeper: it comes first, and what fails
 * for the same reason is not told again. */
static void look_at_zone(struct doctor *d, struct doctor_zone *z)
{
    struct records *r = arena_alloc(d->arena, sizeof *r);
    const char *names[] = {z->name};
    size_t before = d->count[DOCTOR_ERROR];

    doctor_ask(d, z->provider, z->cfg->provider, z->name,
               z->cfg->discover != DISCOVER_NAMES);
    z->failed = z->failed || d->count[DOCTOR_ERROR] > before;
    (void)err_set(&r->err, ERR_RETRY, "no answer in time");
    z->provider->ops->list_records(z->provider, z->name, names, 1, on_records,
                                   r);
    (void)doctor_wait(d, &r->done, DOCTOR_LIST_MS);
    if (r->err.code == ERR_NONE)
        doctor_tell(d, DOCTOR_OK, place_of(d, z), NULL,
                    "provider %s shows its records", z->cfg->provider->name);
    else if (!z->failed)
        doctor_tell(d, DOCTOR_ERROR, place_of(d, z), NULL,
                    "records at provider %s: %s", z->cfg->provider->name,
                    r->err.msg);
    z->failed = z->failed || r->err.code != ERR_NONE;
}

void doctor_records(struct doctor *d)
{
    for (size_t i = 0; i < d->nzones; i++)
        if (d->zones[i]->provider != NULL)
            look_at_zone(d, d->zones[i]);
}

/* --- discovery ----------------------------------------------------------- */

struct owners {
    struct doctor *d;
    struct doctor_zone *z;
    const char **list;
    size_t n, cap;
    struct err err;
    bool done;
};

static void add_owner(struct owners *o, const char *name)
{
    for (size_t i = 0; i < o->n; i++)
        if (name_equal(o->list[i], name))
            return;
    o->list = arena_grow(o->d->arena, o->list, &o->cap, o->n, sizeof *o->list);
    o->list[o->n++] = arena_strdup(o->d->arena, name);
}

static void on_specs(void *arg, const struct provider_specs *specs)
{
    struct owners *o = arg;

    o->err = specs->err;
    for (size_t i = 0; i < specs->n; i++)
        add_owner(o, specs->specs[i].owner);
    o->done = true;
}

static void on_axfr(void *arg, const struct resolver_owners *owners)
{
    struct owners *o = arg;

    o->err = owners->err;
    for (size_t i = 0; i < owners->n; i++)
        add_owner(o, owners->owners[i].name);
    o->done = true;
}

/* Starts it. returns false: there is nothing to wait for */
static bool start(struct doctor *d, struct doctor_zone *z, struct owners *o)
{
    if (z->cfg->discover == DISCOVER_NAMES)
        return false;
    if (z->cfg->discover == DISCOVER_AXFR && z->nservers > 0)
        resolver_axfr_owners(
            d->resolver, z->servers, z->nservers, z->name,
            z->provider == NULL ? NULL : provider_transfer_key(z->provider),
            on_axfr, o);
    else if (z->cfg->discover == DISCOVER_AXFR || z->provider == NULL)
        return false; /* told already */
    else if (z->provider->ops->list_specs != NULL)
        z->provider->ops->list_specs(z->provider, z->name, on_specs, o);
    else
        doctor_tell(d, DOCTOR_ERROR, place_of(d, z),
                    "discover = axfr, or discover = names with names = {…}",
                    "provider %s cannot list the names with specs",
                    z->cfg->provider->name);
    return z->cfg->discover == DISCOVER_AXFR ||
           z->provider->ops->list_specs != NULL;
}

static void discover(struct doctor *d, struct doctor_zone *z)
{
    struct owners *o = arena_alloc(d->arena, sizeof *o);
    bool is_axfr = z->cfg->discover == DISCOVER_AXFR;

    o->d = d;
    o->z = z;
    for (size_t i = 0; i < z->cfg->nnames; i++)
        add_owner(o, z->cfg->names[i]);
    if (start(d, z, o)) {
        (void)err_set(&o->err, ERR_RETRY, "no answer in time");
        (void)doctor_wait(d, &o->done, DOCTOR_LIST_MS);
        if (o->err.code != ERR_NONE && !is_axfr && z->failed)
            return;
        if (o->err.code != ERR_NONE && is_axfr)
            doctor_tell(d, DOCTOR_ERROR, place_of(d, z),
                        "the server's allow-transfer, for this machine's "
                        "address; or discover = names",
                        "the names with specs: %s", o->err.msg);
        else if (o->err.code != ERR_NONE)
            doctor_tell(d, DOCTOR_ERROR, place_of(d, z), NULL,
                        "the names with specs at provider %s: %s",
                        z->cfg->provider->name, o->err.msg);
        else if (o->n == 0)
            doctor_tell(d, DOCTOR_WARNING, place_of(d, z),
                        "publish one: dnsfailover publish NAME FILE",
                        "no name in it has a spec");
        else
            doctor_tell(d, DOCTOR_OK, place_of(d, z), NULL,
                        "%zu names with specs", o->n);
    }
    z->owners = o->list;
    z->nowners = o->n;
}

void doctor_discover(struct doctor *d)
{
    for (size_t i = 0; i < d->nzones; i++)
        discover(d, d->zones[i]);
}

/* --- specs --------------------------------------------------------------- */

static void look_at_spec(struct doctor *d, const char *owner)
{
    struct lint_subject s;
    const char *subject = arena_printf(d->arena, "spec of %s", owner);

    lint_init(&s);
    lint_dns(&s, d->cfg, owner, 0);
    if (s.spec == NULL)
        doctor_tell(d, DOCTOR_ERROR, subject,
                    "the text at _failover of that name; dnsfailover lint "
                    "checks one before it is published",
                    "%s", s.err.msg);
    else
        doctor_tell(d, DOCTOR_OK, subject, NULL, "valid");
    for (size_t i = 0; i < s.nnotes; i++)
        if (!s.notes[i].info)
            doctor_tell(d, DOCTOR_WARNING, subject, NULL, "%s",
                        s.notes[i].text);
    lint_fini(&s);
}

void doctor_specs(struct doctor *d)
{
    for (size_t i = 0; i < d->nzones; i++) {
        const struct doctor_zone *z = d->zones[i];

        if (z->nservers == 0)
            continue;
        for (size_t k = 0; k < z->nowners && k < SPECS_MOST; k++)
            look_at_spec(d, z->owners[k]);
        if (z->nowners > SPECS_MOST)
            doctor_tell(d, DOCTOR_OK, place_of(d, z), NULL,
                        "the first %d of %zu specs were looked at", SPECS_MOST,
                        z->nowners);
    }
}
