#include "agent/engine/world/world_build.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/state/judge_text.h"
#include "agent/engine/world/world_views.h"
#include "specs/check.h"

/* From specs and state to a world. */

struct build {
    struct world *w;
    const struct probe_limits *limits;
    const struct world_events *ev;
    const struct world_views *views;
    const struct spec_set **origins; /* of claims: as their spec has them */
    int64_t now_ms;
    struct link { /* a leaf, and whose it is */
        size_t spec;
        struct world_leaf leaf;
    } * links;
    size_t nlinks, cap_links;
};

bool world_is_local(const struct spec_check *c)
{
    return spec_check_is_local(c);
}

/* --- checks -------------------------------------------------------------- */

/* A refused target is never "down": the check is left out and what depends on
 * it has no verdict. */
static bool is_allowed(struct build *b, const struct spec *s,
                       const struct spec_check *c,
                       const struct spec_record *rec)
{
    bool own = c->target.family != 0 || c->ntargets > 0;
    const struct addr *at = own ? &c->target : &rec->addr;
    size_t n = c->ntargets > 0 ? c->ntargets : 1;
    bool ok = true;
    char *where;

    if (b->limits == NULL || (!own && rec->type == SPEC_CNAME))
        return true;
    where =
        mem_printf("_failover.%.*s %s%s", (int)strlen(s->owner) - 1, s->owner,
                   own ? c->pointer : rec->pointer, own ? "" : "/data");
    for (size_t i = 0; i < n; i++) {
        const struct addr *a = c->ntargets > 0 ? &c->targets[i] : at;
        struct err e;

        if (probe_allowed(b->limits, a, where, &e) == 0)
            continue;
        ok = false;
        b->ev->refused(b->ev->arg, where, &e);
    }
    free(where);
    return ok;
}

static void need_check(struct build *b, size_t spec, size_t check,
                       const struct spec_record *rec, long place)
{
    struct world_spec *ws = &b->w->specs[spec];
    const struct spec_check *c = &ws->spec->checks[check];
    bool local = world_is_local(c);
    struct link *l;

    if ((local && rec == NULL) || !is_allowed(b, ws->spec, c, rec))
        return;
    b->links = mem_grow(b->links, &b->cap_links, b->nlinks, sizeof *b->links);
    l = &b->links[b->nlinks++];
    l->spec = spec;
    l->leaf.check = (uint32_t)check;
    l->leaf.place = local ? (uint32_t)place : 0;
    l->leaf.at = checks_add(b->w->checks, c, rec, b->now_ms);
}

static void need_cond(struct build *b, size_t spec, const struct spec_cond *c,
                      const struct spec_record *rec, long place)
{
    const struct spec *s = b->w->specs[spec].spec;

    switch (c->kind) {
    case SPEC_COND_CHECK:
        need_check(b, spec, c->ref, rec, place);
        break;
    case SPEC_COND_SCENARIO:
        need_cond(b, spec, &s->scenarios[c->ref].cond, rec, place);
        break;
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        for (size_t i = 0; i < c->n; i++)
            need_cond(b, spec, &c->of[i], rec, place);
        break;
    case SPEC_COND_DC:
    case SPEC_COND_DC_STATE:
    case SPEC_COND_DIMENSION:
    case SPEC_COND_MAINTENANCE:
        break;
    }
}

static void need_record(struct build *b, size_t spec,
                        const struct spec_record *rec, long place)
{
    const struct spec *s = b->w->specs[spec].spec;

    for (size_t i = 0; i < rec->nchecks; i++)
        need_check(b, spec, rec->checks[i], rec, place);
    if (spec_rare_of(rec)->when != NULL)
        need_cond(b, spec, spec_rare_of(rec)->when, rec, place);
    if (spec_rare_of(rec)->dr_cond != NULL)
        need_cond(b, spec, spec_rare_of(rec)->dr_cond, rec, place);
    if (rec->dc >= 0 && s->dcs[rec->dc].fresh != NULL)
        need_cond(b, spec, s->dcs[rec->dc].fresh, rec, place);
}

static void need_dcs(struct build *b, size_t spec)
{
    const struct spec *s = b->w->specs[spec].spec;

    for (size_t i = 0; i < s->ndcs; i++)
        for (int d = 0; d < SPEC_NDIMENSIONS; d++)
            for (size_t k = 0; k < s->dcs[i].dims[d].n; k++)
                need_check(b, spec, s->dcs[i].dims[d].checks[k], NULL, -1);
}

/* --- specs ---------------------------------------------------------------- */

/* Its judgement, as saved; NULL: there is none. */
static struct state_judge *remembered(struct world *w, const struct spec *s)
{
    char *key = mem_printf("%s|%s", w->zone, s->owner);
    struct state_judge *row = state_judge_find(w->state, key);

    free(key);
    if (row != NULL)
        row->used = true;
    return row;
}

/* room: for the numbers of its values */
static void build_spec(struct build *b, size_t i, const struct spec *s,
                       uint32_t *room)
{
    struct world *w = b->w;
    struct world_spec *ws = &w->specs[i];

    ws->spec = s;
    ws->nrecords = (uint32_t)judge_nrecords(s);
    ws->dcs = arena_array(w->arena, s->ndcs, sizeof *ws->dcs);
    ws->values = room;
    judge_memory_init(&ws->memory, s);
    ws->row = remembered(w, s);
    if (ws->row != NULL)
        judge_text_read(ws->row, s, &ws->memory);
    world_touch_spec(w, i);
    need_dcs(b, i);
}

static void build_specs(struct build *b, const struct spec *const *specs)
{
    struct world *w = b->w;
    uint32_t *room;
    size_t n = 0;

    for (size_t i = 0; i < w->nspecs; i++)
        n += judge_nrecords(specs[i]);
    room = arena_array(w->arena, n, sizeof *room);
    for (size_t i = 0; i < w->nspecs; i++) {
        build_spec(b, i, specs[i], room);
        room += w->specs[i].nrecords;
    }
}

/* --- sets ----------------------------------------------------------------- */

/* Under "A", or "A eu" in a view: sets of one name and type are told apart. */
static struct state_set *row_of(struct world *w, const struct spec_set *set)
{
    bool view = set->view != NULL;
    char *type = mem_printf("%s%s%s", spec_type_name(set->type),
                            view ? " " : "", view ? set->view : "");
    struct state_set *row = state_set_get(w->state, w->zone, set->name, type);

    free(type);
    return row;
}

static const char *label(struct arena *a, const struct spec_set *set)
{
    if (set->view == NULL)
        return spec_type_name(set->type);
    return arena_printf(a, "%s view %s", spec_type_name(set->type), set->view);
}

/* What is remembered of a set and no longer in its spec. */
struct dropped {
    const char **data;
    size_t n, cap;
};

static struct plan_value *add_value(struct world *w, struct world_set *set,
                                    const char *data)
{
    struct plan_set *ps = set->plan;
    struct plan_value *pv = &ps->values[ps->nvalues];
    struct world_value *wv = &set->values[ps->nvalues];
    struct state_value *row =
        state_value_get(w->state, state_set_of(ps->memory), data);

    for (size_t k = 0; k < ps->nvalues && pv->twin == 0; k++)
        if (strcmp(ps->values[k].data, data) == 0)
            pv->twin = (uint32_t)k + 1;
    ps->nvalues++;
    wv->place = -1;
    pv->memory = &row->memory;
    pv->data = data;
    pv->ttl_s = -1;
    pv->published = pv->memory->expected; /* until somebody looks */
    return pv;
}

static void add_record(struct build *b, struct world_set *set,
                       const struct spec_record *rec, long place)
{
    struct world_spec *ws = &b->w->specs[set->spec];
    struct world_value *wv = &set->values[set->plan->nvalues];
    struct plan_value *pv = add_value(b->w, set, rec->data);

    wv->record = rec;
    wv->place = (int32_t)place;
    wv->next = ws->values[place];
    ws->values[place] = (uint32_t)(wv - b->w->values) + 1;
    pv->fallback = rec->fallback;
    pv->ttl_s = (int32_t)set->claim->set->ttl_s;
    if (rec->dr)
        pv->class = DECIDE_DR;
    pv->dr_if_no_records = rec->dr_if_no_records;
    pv->return_after_ms = rec->return_after_ms;
    pv->return_manual = rec->return_manual;
    need_record(b, set->spec, rec, place);
}

/* Where the set's records begin in its spec's judge order. */
static long first_place(const struct spec *s, const struct spec_set *set)
{
    long n = 0;

    for (const struct spec_set *p = s->sets; p != set; p++)
        n += (long)(p->nrecords + p->nfallback);
    return n;
}

/* Specs by where they are, to find their numbers. */
struct numbered {
    const struct spec *spec;
    uint32_t number;
};

static int by_place(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    return x->spec < y->spec ? -1 : x->spec > y->spec;
}

/* out: of each set its spec, of each spec its sets */
static void number_sets(struct world *w)
{
    struct numbered *all = mem_array(w->nspecs, sizeof *all);
    uint32_t *room = arena_array(w->arena, w->nclaims, sizeof *room);

    for (size_t i = 0; i < w->nspecs; i++) {
        all[i].spec = w->specs[i].spec;
        all[i].number = (uint32_t)i;
    }
    qsort(all, w->nspecs, sizeof *all, by_place);
    for (size_t i = 0; i < w->nclaims; i++) {
        const struct numbered key = {w->claims[i].spec, 0};
        const struct numbered *at =
            bsearch(&key, all, w->nspecs, sizeof *all, by_place);

        w->sets[i].spec = at->number;
        w->specs[at->number].nsets++;
    }
    for (size_t i = 0; i < w->nspecs; i++) {
        w->specs[i].sets = room;
        room += w->specs[i].nsets;
        w->specs[i].nsets = 0;
    }
    for (size_t i = 0; i < w->nclaims; i++) {
        struct world_spec *ws = &w->specs[w->sets[i].spec];

        ws->sets[ws->nsets++] = (uint32_t)i;
    }
    free(all);
}

static size_t count_values(const struct world *w, size_t set,
                           const struct dropped *dropped)
{
    const struct spec_set *s = w->claims[set].set;

    return s->nrecords + s->nfallback + dropped[set].n;
}

/* from: the place of its first value among those of all sets */
static void build_set(struct build *b, size_t i, const struct dropped *dropped,
                      size_t from)
{
    struct world *w = b->w;
    const struct spec_claim *claim = &w->claims[i];
    const struct spec_set *set = claim->set;
    struct plan_set *ps = &w->plan.sets[i];
    struct world_set *ws = &w->sets[i];
    long place = first_place(claim->spec, b->origins[i]);
    long audience = world_views_find(b->views, set->view);

    ws->claim = claim;
    ws->plan = ps;
    ws->values = w->values + from;
    ws->label = label(w->arena, set);
    ps->view = set->view;
    ps->unmapped = audience < 0;
    ps->audience = audience > 0 ? (uint32_t)audience : 0;
    ps->name = set->name;
    ps->type = set->type;
    ps->order = set->order;
    ps->take = set->take;
    ps->all_down = set->all_down;
    ps->damping = set->damping;
    ps->values = w->plan_values + from;
    ps->memory = &row_of(w, set)->memory;
    for (size_t k = 0; k < set->nrecords; k++)
        add_record(b, ws, &set->records[k], place++);
    for (size_t k = 0; k < set->nfallback; k++)
        add_record(b, ws, &set->fallback[k], place++);
    for (size_t k = 0; k < dropped->n; k++)
        add_value(w, ws, dropped->data[k])->dropped = true;
}

static void build_sets(struct build *b, struct dropped *dropped)
{
    struct world *w = b->w;
    size_t n = 0, from = 0;

    for (size_t i = 0; i < w->nclaims; i++)
        n += count_values(w, i, dropped);
    w->values = arena_array(w->arena, n, sizeof *w->values);
    w->plan_values = arena_array(w->arena, n, sizeof *w->plan_values);
    for (size_t i = 0; i < w->nclaims; i++) {
        build_set(b, i, &dropped[i], from);
        from += count_values(w, i, dropped);
        free(dropped[i].data);
    }
}

/* --- what left the specs ----------------------------------------------------
 */

static bool is_in_set(const struct spec_set *set, const char *data)
{
    for (size_t i = 0; i < set->nrecords; i++)
        if (strcmp(set->records[i].data, data) == 0)
            return true;
    for (size_t i = 0; i < set->nfallback; i++)
        if (strcmp(set->fallback[i].data, data) == 0)
            return true;
    return false;
}

static int compare_type(const char *type, const struct spec_set *set)
{
    const char *have = spec_type_name(set->type);
    size_t n = strcspn(type, " ");
    int c = strncmp(type, have, n);

    if (c == 0)
        c = (int)(have[n] == '\0') - 1;
    if (c != 0)
        return c;
    return strcmp(type[n] == ' ' ? type + n + 1 : "",
                  set->view != NULL ? set->view : "");
}

static long find_claim(const struct world *w, const char *name,
                       const char *type)
{
    for (size_t lo = 0, hi = w->nclaims; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        const struct spec_set *set = w->claims[mid].set;
        int c = name_compare(name, set->name);

        if (c == 0)
            c = compare_type(type, set);
        if (c == 0)
            return (long)mid;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

/* claim: of the set called name that it was in; -1: nobody's any more */
static void sort_one(struct build *b, const struct state_value *row,
                     const char *name, long claim, struct dropped *dropped)
{
    struct world *w = b->w;
    struct dropped *d;

    if (claim >= 0 && is_in_set(w->claims[claim].set, row->data))
        return;
    if (row->memory.withdrawn)
        b->ev->opted_out(b->ev->arg, name, row->data);
    if (claim < 0 || !row->memory.created)
        return;
    d = &dropped[claim];
    d->data = mem_grow(d->data, &d->cap, d->n, sizeof *d->data);
    d->data[d->n++] = arena_strdup(w->arena, row->data);
}

static void sort_remembered(struct build *b, struct dropped *dropped)
{
    const char *zone = b->w->zone;
    size_t n = strlen(zone);
    const struct state_set *set;

    for (set = state_sets(b->w->state); set != NULL; set = set->next) {
        char *name, *type;
        long claim;

        if (strncmp(set->key, zone, n) != 0 || set->key[n] != '|')
            continue;
        name = mem_strdup(set->key + n + 1);
        type = strchr(name, '|');
        if (type != NULL) {
            *type++ = '\0';
            claim = find_claim(b->w, name, type);
            for (const struct state_value *v = set->values; v != NULL;
                 v = v->next)
                sort_one(b, v, name, claim, dropped);
        }
        free(name);
    }
}

/* --- dependents
 * --------------------------------------------------------------- */

static int by_leaf(const void *a, const void *b)
{
    const struct link *x = a, *y = b;

    if (x->spec != y->spec)
        return x->spec < y->spec ? -1 : 1;
    if (x->leaf.check != y->leaf.check)
        return x->leaf.check < y->leaf.check ? -1 : 1;
    return (x->leaf.place > y->leaf.place) - (x->leaf.place < y->leaf.place);
}

/* Each leaf once, those of a spec together. */
static void build_leaves(struct build *b)
{
    struct world *w = b->w;
    struct world_leaf *leaves;
    size_t n = 0;

    if (b->nlinks > 0)
        qsort(b->links, b->nlinks, sizeof *b->links, by_leaf);
    for (size_t i = 0; i < b->nlinks; i++)
        if (n == 0 || by_leaf(&b->links[n - 1], &b->links[i]) != 0)
            b->links[n++] = b->links[i];
    b->nlinks = n;
    leaves = arena_array(w->arena, n, sizeof *leaves);
    for (size_t i = 0; i < n; i++) {
        struct world_spec *ws = &w->specs[b->links[i].spec];

        leaves[i] = b->links[i].leaf;
        if (ws->nleaves++ == 0)
            ws->leaves = &leaves[i];
    }
}

static void build_dependents(struct build *b)
{
    struct world *w = b->w;
    size_t n = checks_count(w->checks);
    uint32_t *at;

    w->nchecks = n;
    w->first = arena_array(w->arena, n + 1, sizeof *w->first);
    w->dependents = arena_array(w->arena, b->nlinks, sizeof *w->dependents);
    for (size_t i = 0; i < b->nlinks; i++)
        w->first[b->links[i].leaf.at->id + 1]++;
    for (size_t i = 0; i < n; i++)
        w->first[i + 1] += w->first[i];
    at = mem_array(n + 1, sizeof *at);
    memcpy(at, w->first, (n + 1) * sizeof *at);
    for (size_t i = 0; i < b->nlinks; i++)
        w->dependents[at[b->links[i].leaf.at->id]++] =
            (uint32_t)b->links[i].spec;
    free(at);
}

/* --- the whole
 * -------------------------------------------------------------------- */

static void resolve_claims(struct build *b, const struct spec *const *specs,
                           size_t n)
{
    struct spec_note *notes = NULL;
    size_t nnotes = 0;

    spec_authority(specs, n, b->w->arena, &b->w->claims, &b->w->nclaims, &notes,
                   &nnotes);
    for (size_t i = 0; i < nnotes; i++)
        b->ev->conflict(b->ev->arg, notes[i].text);
    free(notes);
}

struct world *world_new(struct arena *arena, const char *zone,
                        const struct spec *const *specs, size_t nspecs,
                        struct state *state, struct checks *checks,
                        const struct probe_limits *limits,
                        const struct world_views *views, const char *agent_dc,
                        int64_t now_ms, const struct world_events *ev)
{
    struct world *w = arena_alloc(arena, sizeof *w);
    struct build b = {
        .w = w, .limits = limits, .ev = ev, .views = views, .now_ms = now_ms};
    struct dropped *dropped;
    size_t most = 0;

    w->zone = zone;
    w->agent_dc = agent_dc;
    w->state = state;
    w->checks = checks;
    w->arena = arena;
    w->nspecs = nspecs;
    w->specs = arena_array(arena, nspecs, sizeof *w->specs);
    w->dirty = arena_array(arena, nspecs, sizeof *w->dirty);
    build_specs(&b, specs);
    resolve_claims(&b, specs, nspecs);
    world_views_spread(views, arena, &w->claims, &w->nclaims, &b.origins);
    w->plan.max_change_pct = 50;
    w->plan.nsets = w->nclaims;
    w->plan.sets = arena_array(arena, w->nclaims, sizeof *w->plan.sets);
    w->sets = arena_array(arena, w->nclaims, sizeof *w->sets);
    w->judged = arena_array(arena, w->nclaims, sizeof *w->judged);
    number_sets(w);
    dropped = mem_array(w->nclaims, sizeof *dropped);
    sort_remembered(&b, dropped);
    build_sets(&b, dropped);
    free(dropped);
    free(b.origins);
    build_leaves(&b);
    build_dependents(&b);
    for (size_t i = 0; i < nspecs; i++)
        most = w->specs[i].nrecords > most ? w->specs[i].nrecords : most;
    w->records = arena_array(arena, most, sizeof *w->records);
    w->published = arena_array(arena, most, sizeof *w->published);
    free(b.links);
    return w;
}
