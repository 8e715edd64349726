#include <stdlib.h>
#include <string.h>

#include "agent/engine/round/round_internal.h"
#include "agent/engine/world/txt.h"

/* Second stage: which owners have a spec, and the text of each, always from
 * the zone's authoritative servers. */

/* Where name is, or belongs, in the zone's owners. */
static size_t place_of(const struct round_zone *z, const char *name)
{
    size_t low = 0, high = z->nowners;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(z->owners[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* owners is kept sorted by plain text. */
struct round_owner *round_owner_get(struct round_zone *z, const char *name)
{
    struct arena *a = round_reading(z->round);
    size_t at = place_of(z, name);
    struct round_owner *o;

    if (at < z->nowners && strcmp(z->owners[at]->name, name) == 0)
        return z->owners[at];
    o = arena_alloc(a, sizeof *o);
    o->name = arena_strdup(a, name);
    o->zone = z;
    z->owners = mem_grow(z->owners, &z->owners_cap, z->nowners,
                         sizeof(struct round_owner *));
    memmove(z->owners + at + 1, z->owners + at,
            (z->nowners - at) * sizeof(struct round_owner *));
    z->owners[at] = o;
    z->nowners++;
    return o;
}

static void list_owner(struct round_zone *z, const char *name)
{
    round_owner_get(z, name)->listed = true;
}

/* --- text ---------------------------------------------------------------- */

/* trust = ad: what the authoritative servers gave must be what the
 * validating resolver gives with the AD bit. */
static bool same_txts(const struct round_owner *o, struct message *m)
{
    size_t n = 0;
    const struct message_txt *txts = message_txts(m, NULL, &n);
    bool same = n == o->ntxts;

    for (size_t i = 0; i < n && same; i++) {
        bool found = false;

        for (size_t k = 0; k < o->ntxts && !found; k++) {
            found = txts[i].nstrings == o->txts[k].nstrings;
            for (size_t s = 0; s < txts[i].nstrings && found; s++)
                found =
                    txts[i].strings[s].len == o->txts[k].strings[s].len &&
                    memcmp(txts[i].strings[s].data, o->txts[k].strings[s].data,
                           txts[i].strings[s].len) == 0;
        }
        same = found;
    }
    return same;
}

static void distrust(struct round_owner *o, const char *why)
{
    o->outcome = RESOLVER_FAILED;
    o->why =
        arena_printf(o->zone->round->reading,
                     "trust = ad: %s; the last good spec stays in force", why);
}

static void on_validated(void *arg, const struct resolver_answer *answer)
{
    struct round_owner *o = arg;

    if (answer->outcome == RESOLVER_FAILED)
        distrust(o, answer->err.msg);
    else if (answer->outcome != o->outcome ||
             (o->outcome == RESOLVER_FOUND && !same_txts(o, answer->message)))
        distrust(o, "the validating resolver still has another text");
    round_end(o->zone->round);
}

static void validate(struct round_owner *o)
{
    struct round *r = o->zone->round;
    char name[NAME_SIZE + 16];

    if (!r->cfg->trust_ad || o->outcome == RESOLVER_FAILED)
        return;
    (void)snprintf(name, sizeof name, "_failover.%s", o->name);
    round_begin(r);
    resolver_lookup(r->resolver, name, MESSAGE_TXT, true, on_validated, o);
}

static void ask_some(struct round_zone *z);

static void on_txt(void *arg, const struct resolver_txt *t)
{
    struct round_owner *o = arg;
    struct round *r = o->zone->round;

    o->outcome = t->outcome;
    o->asked = true;
    if (t->outcome == RESOLVER_FOUND)
        o->txts = txt_copy(r->reading, t->txts, t->ntxts);
    else
        o->why = arena_strdup(r->reading, t->err.msg);
    o->ttl_s = t->ttl_s;
    o->ntxts = t->outcome == RESOLVER_FOUND ? t->ntxts : 0;
    validate(o);
    o->zone->asking--;
    ask_some(o->zone);
    round_end(r);
}

/* A look-up takes some kB while it is out; the resolver sends a few at once. */
#define ASKING_MOST 1024

static void ask_some(struct round_zone *z)
{
    struct round *r = z->round;

    while (z->wanted != NULL && z->asking < ASKING_MOST) {
        struct round_owner *o = z->wanted;

        z->wanted = o->next_wanted;
        z->asking++;
        round_begin(r);
        resolver_find_txt(r->resolver, z->servers, z->nservers, o->name, on_txt,
                          o);
    }
}

/* The same from a transfer: what an authoritative server says as well. */
static void take_text(struct round_owner *o, const struct message_txt *txts,
                      size_t n)
{
    o->sent = o->asked = true;
    o->outcome = RESOLVER_FOUND;
    o->txts = txt_copy(o->zone->round->reading, txts, n);
    o->ntxts = n;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || txts[i].ttl_s < o->ttl_s)
            o->ttl_s = txts[i].ttl_s;
    validate(o);
}

static void ask(struct round_owner *o)
{
    struct round_zone *z = o->zone;

    if (o->sent)
        return;
    o->sent = true;
    o->outcome = RESOLVER_FAILED;
    o->why = "no answer in time";
    if (z->wanted == NULL)
        z->wanted = o;
    else
        z->last_wanted->next_wanted = o;
    z->last_wanted = o;
    ask_some(z);
}

/* --- owners -------------------------------------------------------------- */

static void ask_all(struct round_zone *z)
{
    for (size_t i = 0; i < z->nowners; i++)
        ask(z->owners[i]);
}

static void on_axfr(void *arg, const struct resolver_owners *owners)
{
    struct round_zone *z = arg;

    if (owners->err.code != ERR_NONE) {
        round_problem(z->round, z->name, "axfr", "%s transfer: %s", z->name,
                      owners->err.msg);
        ask_all(z);
    } else {
        z->listed = true;
        for (size_t i = 0; i < owners->n; i++) {
            const struct resolver_owner *found = &owners->owners[i];
            struct round_owner *o = round_owner_get(z, found->name);

            o->listed = true;
            if (found->ntxts > 0 && !o->sent)
                take_text(o, found->txts, found->ntxts);
        }
    }
    round_end(z->round);
}

static void on_specs(void *arg, const struct provider_specs *specs)
{
    struct round_zone *z = arg;
    struct arena *a = round_reading(z->round);

    if (specs->err.code != ERR_NONE) {
        round_problem(z->round, z->name, "list",
                      "%s list of _failover records at provider %s: %s",
                      z->name, z->cfg->provider->name, specs->err.msg);
    } else {
        z->listed = true;
        for (size_t i = 0; i < specs->n; i++) {
            const struct provider_spec *s = &specs->specs[i];
            struct round_owner *o = round_owner_get(z, s->owner);

            o->listed = true;
            if (s->text == NULL)
                continue;
            o->provider_text = arena_strndup(a, s->text, s->len);
            o->provider_len = s->len;
        }
    }
    round_end(z->round);
}

/* Owners that had a spec are asked in any case: a list that came back
 * without them proves nothing. */
static void list_remembered(struct round_zone *z)
{
    size_t n = strlen(z->name);
    struct state_spec *row;

    for (row = state_specs(z->round->state); row != NULL; row = row->next)
        if (strncmp(row->key, z->name, n) == 0 && row->key[n] == '|')
            round_owner_get(z, row->key + n + 1)->row = row;
}

/* --- the NS set of configured servers
 * ------------------------------------------------ */

/* Its targets' addresses are never managed: one server's answer will do. */
static void on_ns(void *arg, const struct resolver_answer *answer)
{
    struct round_zone *z = arg;
    struct arena *a = z->round->arena;

    if (answer->outcome == RESOLVER_FOUND && z->ns_names == NULL) {
        size_t n = 0;
        const char *const *names =
            message_targets(answer->message, z->name, MESSAGE_NS, &n);

        z->ns_names = arena_array(a, n, sizeof *z->ns_names);
        for (size_t i = 0; i < n; i++)
            z->ns_names[i] = arena_strdup(a, names[i]);
        z->nns_names = n;
    }
    round_end(z->round);
}

static void ask_ns(struct round_zone *z)
{
    struct round *r = z->round;

    for (size_t i = 0; i < z->nservers; i++) {
        round_begin(r);
        resolver_ask(r->resolver, &z->servers[i], z->name, MESSAGE_NS, on_ns,
                     z);
    }
}

static void take_given(struct round_zone *z)
{
    struct arena *a = z->round->arena;

    for (size_t i = 0; i < z->round->o->ngiven; i++) {
        const struct round_given *g = &z->round->o->given[i];
        struct round_owner *o = round_owner_get(z, g->owner);
        struct spec_string *s = arena_alloc(a, sizeof *s);

        s->data = g->text;
        s->len = strlen(g->text);
        o->txts = arena_alloc(a, sizeof *o->txts);
        o->txts->strings = s;
        o->txts->nstrings = o->ntxts = 1;
        o->listed = o->sent = o->asked = true;
        o->outcome = RESOLVER_FOUND;
    }
    z->listed = true;
}

static void discover_zone(struct round_zone *z)
{
    struct round *r = z->round;

    if (z->cfg->nservers > 0)
        ask_ns(z);
    z->apex = round_owner_get(z, z->name);
    if (r->o->ngiven > 0) {
        take_given(z);
        return;
    }
    list_remembered(z);
    for (size_t i = 0; i < z->cfg->nnames; i++)
        list_owner(z, z->cfg->names[i]);
    if (z->cfg->discover == DISCOVER_NAMES) {
        z->listed = true;
    } else if (z->cfg->discover == DISCOVER_AXFR) {
        round_begin(r);
        resolver_axfr_owners(r->resolver, z->servers, z->nservers, z->name,
                             provider_transfer_key(z->provider), on_axfr, z);
    } else if (z->provider->ops->list_specs == NULL) {
        round_problem(r, z->name, "discover",
                      "%s provider %s cannot list specs; set discover = axfr "
                      "or names",
                      z->name, z->cfg->provider->name);
    } else {
        round_begin(r);
        z->provider->ops->list_specs(z->provider, z->name, on_specs, z);
    }
    /* A transfer brings the texts with it: what it leaves is asked after. */
    if (z->cfg->discover == DISCOVER_AXFR)
        ask(z->apex);
    else
        ask_all(z);
}

/* The apex spec's `names`, read before the rest is asked. An apex that cannot
 * be read now lists by its last good text; round_specs.c judges it. */
static void list_apex_names(struct round_zone *z)
{
    struct spec_context ctx = {.owner = z->name, .zone = z->name};
    struct spec *apex = NULL;
    struct spec_txt *txts = z->apex->txts;
    size_t n = z->apex->ntxts;
    struct err e;

    if (z->cfg->discover != DISCOVER_NAMES)
        return;
    if (z->apex->outcome != RESOLVER_FOUND && z->apex->row != NULL &&
        z->apex->row->good) {
        char *texts = state_spec_texts(z->round->state, z->apex->row, &e);

        if (texts != NULL)
            txts = txt_parse(z->round->reading, texts, &n);
        free(texts);
    }
    if (n == 0 || spec_parse(txts, n, &ctx, &apex, &e) != 0)
        return;
    for (size_t i = 0; i < apex->top->nnames; i++)
        list_owner(z, apex->top->names[i]);
    spec_free(apex);
}

void round_discover_lists(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++)
        if (!r->zones[i]->failed)
            discover_zone(r->zones[i]);
}

void round_discover_rest(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        if (z->failed || r->o->ngiven > 0)
            continue;
        list_apex_names(z);
        ask_all(z);
    }
}

void round_discover(struct round *r)
{
    round_discover_lists(r);
    (void)round_wait(r, round_share(r, 40));
    round_discover_rest(r);
    (void)round_wait(r, round_share(r, 50));
}
