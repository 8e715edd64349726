#include "providers/rest/rest_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_record.h"

struct planning {
    const struct rest_style *style;
    const struct change_set *set;
    const struct rest_records *have;
    rest_kept_fn *kept;
    void *kept_arg;
    struct change_result *results;
    struct rest_plan *out;
};

static bool is_open(const struct planning *pl, size_t i)
{
    return pl->results[i].state == CHANGE_UNKNOWN;
}

static bool is_record_of(const struct rest_record *r, const char *name,
                         enum rr_type t)
{
    return r->type == t && name_equal(r->name, name);
}

bool rest_plan_is_so(const struct change *c, const struct rest_records *have)
{
    bool is_there = false;

    for (size_t i = 0; i < have->n && !is_there; i++)
        is_there = is_record_of(&have->v[i], c->name, c->type) &&
                   have->v[i].enabled && strcmp(have->v[i].data, c->data) == 0;
    return is_there == (c->op == CHANGE_PUBLISH);
}

struct rest_item *rest_plan_add(struct arena *a, struct rest_set *s)
{
    s->items = arena_grow(a, s->items, &s->cap, s->n, sizeof *s->items);
    return &s->items[s->n++];
}

/* ---- TTLs ---------------------------------------------------------------- */

/* What the changes give the set; -1: nothing. */
static int64_t given_ttl(const struct planning *pl, const struct rest_set *s)
{
    int64_t ttl = -1;

    for (size_t i = 0; i < pl->set->n; i++) {
        const struct change *c = &pl->set->v[i];

        if (is_open(pl, i) && c->op == CHANGE_PUBLISH && c->type == s->type &&
            name_equal(c->name, s->name) && c->ttl_s >= 0 &&
            (ttl < 0 || c->ttl_s < ttl))
            ttl = c->ttl_s;
    }
    if (ttl >= 0 && ttl < (int64_t)pl->out->min_ttl_s)
        ttl = (int64_t)pl->out->min_ttl_s;
    return ttl;
}

/* What it has; -1: nothing. */
static int64_t present_ttl(const struct planning *pl, const struct rest_set *s)
{
    int64_t off = -1;

    for (size_t i = 0; i < pl->have->n; i++) {
        const struct rest_record *r = &pl->have->v[i];

        if (!is_record_of(r, s->name, s->type))
            continue;
        if (r->enabled)
            return r->ttl_s;
        off = r->ttl_s;
    }
    return off;
}

/* ---- records that are there ---------------------------------------------- */

static const struct change *change_of(const struct planning *pl,
                                      const struct rest_record *r)
{
    for (size_t i = 0; i < pl->set->n; i++)
        if (is_open(pl, i) &&
            is_record_of(r, pl->set->v[i].name, pl->set->v[i].type) &&
            strcmp(r->data, pl->set->v[i].data) == 0)
            return &pl->set->v[i];
    return NULL;
}

static void lay_down_record(struct planning *pl, struct rest_set *s,
                            const struct rest_record *r, int64_t ttl_s)
{
    const struct change *c = change_of(pl, r);
    struct rest_item *it = rest_plan_add(pl->out->a, s);

    *it = (struct rest_item){.record = r,
                             .data = r->data,
                             .len = r->len,
                             .ttl_s = r->ttl_s,
                             .enabled = r->enabled};
    if (c != NULL)
        it->enabled = c->op == CHANGE_PUBLISH;
    /* The values that stay share the set's TTL (RFC 2181 5.2). */
    if (it->enabled && ttl_s >= 0 && !r->proxied)
        it->ttl_s = (uint32_t)ttl_s;
    if (!it->enabled && r->enabled && pl->style->m.disabled == NULL)
        it->act = REST_REMOVE;
    else if (it->enabled != r->enabled || it->ttl_s != r->ttl_s)
        it->act = REST_UPDATE;
}

/* ---- records that are to be added ---------------------------------------- */

/* The member that all records of the set share, as an object of its own. */
static const char *shared_of(const struct planning *pl,
                             const struct rest_set *s)
{
    const char *name = pl->style->m.shared, *out = NULL;

    for (size_t i = 0; name != NULL && out == NULL && i < s->n; i++) {
        const struct rest_record *r = s->items[i].record;
        cJSON *o = r != NULL && r->kept != NULL ? cJSON_Parse(r->kept) : NULL;
        cJSON *v = cJSON_DetachItemFromObjectCaseSensitive(o, name);
        char *text = v != NULL ? cJSON_PrintUnformatted(v) : NULL;

        if (text != NULL)
            out = arena_printf(pl->out->a, "{\"%s\":%s}", name, text);
        cJSON_free(text);
        cJSON_Delete(v);
        cJSON_Delete(o);
    }
    return out;
}

static void lay_down_new(struct planning *pl, struct rest_set *s,
                         const struct change *c, int64_t ttl_s)
{
    const char *kept = pl->kept != NULL
                           ? pl->kept(pl->kept_arg, c->name, c->type, c->data)
                           : NULL;
    const char *shared = shared_of(pl, s);
    struct rest_item *it = rest_plan_add(pl->out->a, s);
    int64_t present = present_ttl(pl, s);
    char *end = NULL;

    *it = (struct rest_item){.act = REST_ADD,
                             .data = c->data,
                             .len = strlen(c->data),
                             .ttl_s = pl->style->new_ttl_s,
                             .ttl_given = ttl_s >= 0,
                             .enabled = true,
                             .kept = shared};
    if (kept != NULL) {
        it->ttl_s = (uint32_t)strtoul(kept, &end, 10);
        it->kept = arena_strdup(pl->out->a, *end == ' ' ? end + 1 : "{}");
    }
    if (present >= 0)
        it->ttl_s = (uint32_t)present;
    if (ttl_s >= 0)
        it->ttl_s = (uint32_t)ttl_s;
}

static void cannot_add(struct planning *pl, size_t i)
{
    const struct change *c = &pl->set->v[i];
    struct change_result *res = &pl->results[i];

    res->state = CHANGE_FAILED;
    (void)err_set(&res->err, ERR_NOTFOUND,
                  "%s is not at %s %s in %s; add it there (disabled is fine), "
                  "or set create = yes in zone \"%.*s\"",
                  c->data, c->name, rr_type_name(c->type), pl->style->label,
                  (int)strlen(pl->set->zone) - 1, pl->set->zone);
    provider_skip_after(pl->set, i, pl->results);
}

static bool is_there(const struct planning *pl, const struct change *c)
{
    for (size_t i = 0; i < pl->have->n; i++)
        if (is_record_of(&pl->have->v[i], c->name, c->type) &&
            strcmp(pl->have->v[i].data, c->data) == 0)
            return true;
    return false;
}

/* There is one CNAME at a name, on or off: another takes its place. */
static bool takes_a_place(const struct planning *pl, const struct change *c)
{
    for (size_t i = 0; i < pl->have->n && c->type == RR_CNAME; i++)
        if (is_record_of(&pl->have->v[i], c->name, c->type))
            return true;
    return false;
}

/* Before anything else: a set whose publish cannot be is not withdrawn from. */
static void fail_missing(struct planning *pl)
{
    if (pl->set->create || pl->style->ops->caps.creates_missing)
        return;
    for (size_t i = 0; i < pl->set->n; i++) {
        const struct change *c = &pl->set->v[i];

        if (is_open(pl, i) && c->op == CHANGE_PUBLISH && !is_there(pl, c) &&
            !takes_a_place(pl, c))
            cannot_add(pl, i);
    }
}

/* ---- a set --------------------------------------------------------------- */

/* One by one: the old CNAME becomes the new one. */
static void join_cname(struct rest_set *s)
{
    struct rest_item *old = NULL, *new = NULL;

    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i].act == REST_ADD)
            new = &s->items[i];
        else if (old == NULL && !s->items[i].enabled)
            old = &s->items[i];
    }
    if (old == NULL || new == NULL)
        return;
    old->act = REST_UPDATE;
    old->data = new->data;
    old->len = new->len;
    old->enabled = true;
    if (new->ttl_given && !old->record->proxied)
        old->ttl_s = new->ttl_s;
    *new = s->items[--s->n];
}

/* As a set: what is off makes room for the one that is on. */
static void make_room(struct rest_set *s)
{
    bool is_on = false;

    for (size_t i = 0; i < s->n; i++)
        is_on =
            is_on || (s->items[i].enabled && s->items[i].act != REST_REMOVE);
    for (size_t i = 0; i < s->n && is_on; i++)
        if (!s->items[i].enabled)
            s->items[i].act = REST_REMOVE;
}

static void lay_down(struct planning *pl, struct rest_set *s)
{
    int64_t ttl_s = given_ttl(pl, s), present = present_ttl(pl, s);

    for (size_t i = 0; i < pl->have->n; i++)
        if (is_record_of(&pl->have->v[i], s->name, s->type))
            lay_down_record(pl, s, &pl->have->v[i], ttl_s);
    for (size_t i = 0; i < pl->set->n; i++) {
        const struct change *c = &pl->set->v[i];

        if (is_open(pl, i) && c->op == CHANGE_PUBLISH && c->type == s->type &&
            name_equal(c->name, s->name) && !is_there(pl, c))
            lay_down_new(pl, s, c, ttl_s);
    }
    s->ttl_s = pl->style->new_ttl_s;
    for (size_t i = 0; i < s->n; i++) {
        s->is_changed = s->is_changed || s->items[i].act != REST_KEEP;
        if (s->items[i].act == REST_ADD)
            s->ttl_s = s->items[i].ttl_s;
    }
    if (present >= 0)
        s->ttl_s = (uint32_t)present;
    if (ttl_s >= 0)
        s->ttl_s = (uint32_t)ttl_s;
    if (s->type == RR_CNAME && pl->style->by_set)
        make_room(s);
    else if (s->type == RR_CNAME)
        join_cname(s);
}

static struct rest_set *set_of(struct planning *pl, const struct change *c)
{
    struct rest_plan *out = pl->out;
    struct rest_set *s;

    for (size_t i = 0; i < out->n; i++)
        if (out->sets[i].type == c->type &&
            name_equal(out->sets[i].name, c->name))
            return &out->sets[i];
    out->sets =
        arena_grow(out->a, out->sets, &out->cap, out->n, sizeof *out->sets);
    s = &out->sets[out->n++];
    memset(s, 0, sizeof *s);
    (void)snprintf(s->name, sizeof s->name, "%s", c->name);
    s->type = c->type;
    return s;
}

/* The change's own records need no write. */
static bool needs_nothing(const struct rest_set *s, const struct change *c)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].act != REST_KEEP &&
            (strcmp(s->items[i].data, c->data) == 0 ||
             (s->items[i].record != NULL &&
              strcmp(s->items[i].record->data, c->data) == 0)))
            return false;
    return true;
}

void rest_plan_make(const struct rest_style *style,
                    const struct change_set *set,
                    const struct rest_records *have, rest_kept_fn *kept,
                    void *kept_arg, struct change_result *results,
                    struct rest_plan *out)
{
    struct planning pl = {style, set, have, kept, kept_arg, results, out};

    fail_missing(&pl);
    for (size_t i = 0; i < set->n; i++)
        if (is_open(&pl, i))
            (void)set_of(&pl, &set->v[i]);
    for (size_t i = 0; i < out->n; i++)
        lay_down(&pl, &out->sets[i]);
    for (size_t i = 0; i < set->n; i++)
        if (is_open(&pl, i) &&
            needs_nothing(set_of(&pl, &set->v[i]), &set->v[i]))
            results[i].state = CHANGE_DONE;
}
