#include "specs/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "specs/check.h"
#include "specs/cond.h"
#include "specs/dc.h"
#include "specs/object.h"
#include "specs/scope_names.h"

#define FORGOTTEN SPEC_CHECK_NKINDS /* the kind of a check that is not used */

/* A definition in use. */
struct ref {
    const struct spec_named *named;
    bool from_apex;
    enum { UNREAD, READING, READ } state;
    size_t id;
    unsigned height; /* levels of names below it */
};

struct patch {
    size_t *at;
    enum spec_named_kind kind;
};

struct spec_scope {
    const struct spec_named *own;
    size_t nown;
    struct ref *refs; /* of own, in the arena */
    const struct spec_doc *apex;
    struct ref **used; /* of the apex spec */
    size_t nused, cap_used;
    struct spec_check *checks;
    size_t nchecks, cap_checks, nforgotten;
    size_t ndistinct; /* when it is closed */
    struct spec_dc *dcs;
    size_t ndcs, cap_dcs;
    struct spec_scenario *scenarios;
    struct spec_cond **conds; /* of scenarios */
    size_t nscenarios, cap_scenarios, cap_conds;
    struct patch *patches;
    size_t npatches, cap_patches;
    size_t *map[SPEC_NNAMED]; /* id to index; NULL: the same */
    struct ref *path[SPEC_NAMED_DEPTH_MAX + 1]; /* being read */
    unsigned depth;
    const char *inherited; /* place of what is read from the apex spec */
};

void spec_scope_open(struct spec_reader *r, const struct spec_named *own,
                     size_t n)
{
    struct spec_scope *s = arena_alloc(r->arena, sizeof *s);

    s->own = own;
    s->nown = n;
    s->refs = arena_array(r->arena, n + 1, sizeof *s->refs);
    for (size_t i = 0; i < n; i++)
        s->refs[i].named = &own[i];
    if (!r->apex && r->ctx->apex != NULL)
        s->apex = r->ctx->apex->doc;
    r->scope = s;
}

static struct ref *look_up(struct spec_reader *r, const char *name)
{
    struct spec_scope *s = r->scope;
    const struct spec_named *n = spec_named_find(s->own, s->nown, name);
    struct ref *ref;

    if (n != NULL)
        return &s->refs[n - s->own];
    if (s->apex == NULL)
        return NULL;
    for (size_t i = 0; i < s->nused; i++)
        if (strcmp(s->used[i]->named->name, name) == 0)
            return s->used[i];
    n = spec_named_find(s->apex->named, s->apex->nnamed, name);
    if (n == NULL)
        return NULL;
    ref = arena_alloc(r->arena, sizeof *ref);
    ref->named = n;
    ref->from_apex = true;
    s->used = arena_grow(r->arena, s->used, &s->cap_used, s->nused,
                         sizeof(struct ref *));
    s->used[s->nused++] = ref;
    return ref;
}

size_t spec_scope_add_check(struct spec_reader *r, const struct spec_check *c)
{
    struct spec_scope *s = r->scope;

    s->checks = arena_grow(r->arena, s->checks, &s->cap_checks, s->nchecks,
                           sizeof *s->checks);
    s->checks[s->nchecks] = *c;
    return s->nchecks++;
}

void spec_scope_forget(struct spec_reader *r, size_t check)
{
    struct spec_check *c = &r->scope->checks[check];

    if (c->name == NULL && c->kind != FORGOTTEN) {
        c->kind = FORGOTTEN;
        r->scope->nforgotten++;
    }
}

static int read_check(struct spec_reader *r, struct ref *ref,
                      const struct spec_value *v, const char *name)
{
    struct spec_check c;

    if (spec_check_define(r, v, NULL, &r->own, &c) != 0)
        return -1;
    c.name = name;
    c.from_apex = ref->from_apex;
    ref->id = spec_scope_add_check(r, &c);
    return 0;
}

static int read_dc(struct spec_reader *r, struct ref *ref,
                   const struct spec_value *v, const char *name)
{
    struct spec_scope *s = r->scope;
    char ptr[SPEC_POINTER_SIZE];
    struct spec_dc dc;

    memset(&dc, 0, sizeof dc);
    dc.name = name;
    dc.from_apex = ref->from_apex;
    dc.pointer = arena_strdup(r->arena, spec_value_pointer(v, ptr));
    if (spec_dc_read(r, v, &dc) != 0)
        return -1;
    s->dcs = arena_grow(r->arena, s->dcs, &s->cap_dcs, s->ndcs, sizeof *s->dcs);
    s->dcs[s->ndcs] = dc;
    ref->id = s->ndcs++;
    return 0;
}

static int read_scenario(struct spec_reader *r, struct ref *ref,
                         const struct spec_value *v, const char *name)
{
    struct spec_scope *s = r->scope;
    struct spec_cond *cond = arena_alloc(r->arena, sizeof *cond);
    char ptr[SPEC_POINTER_SIZE];
    struct spec_scenario *sc;

    if (spec_cond_read(r, v, cond) != 0)
        return -1;
    s->conds = arena_grow(r->arena, s->conds, &s->cap_conds, s->nscenarios,
                          sizeof *s->conds);
    s->conds[s->nscenarios] = cond;
    s->scenarios = arena_grow(r->arena, s->scenarios, &s->cap_scenarios,
                              s->nscenarios, sizeof *s->scenarios);
    sc = &s->scenarios[s->nscenarios];
    sc->name = name;
    sc->from_apex = ref->from_apex;
    sc->pointer = arena_strdup(r->arena, spec_value_pointer(v, ptr));
    ref->id = s->nscenarios++;
    return 0;
}

/* "a → b → a"; the error stands where the cycle closes. */
static int cycle(struct spec_reader *r, const struct spec_value *v,
                 const struct ref *ref)
{
    const struct spec_scope *s = r->scope;
    unsigned from = s->depth;
    struct buf b;

    while (from > 0 && s->path[from - 1] != ref)
        from--;
    buf_init(&b, 300);
    for (unsigned i = from > 0 ? from - 1 : 0; i < s->depth; i++)
        buf_printf(&b, "%s → ", s->path[i]->named->name);
    buf_str(&b, ref->named->name);
    (void)spec_member_fail(r, v,
                           "a cycle: %s; accepted: scenarios and dcs that do "
                           "not come back to themselves",
                           buf_get(&b));
    buf_fini(&b);
    return -1;
}

static int too_deep(struct spec_reader *r, const struct ref *ref)
{
    return err_set(r->e, ERR_LIMIT,
                   "%s: \"%s\" names others through more than %u levels; "
                   "accepted: at most %u",
                   r->where, ref->named->name, SPEC_NAMED_DEPTH_MAX,
                   SPEC_NAMED_DEPTH_MAX);
}

/* What messages about the apex spec's names begin with. */
static const char *inherited(struct spec_reader *r)
{
    static const char between[] = ", inherited from _failover.";
    struct spec_scope *s = r->scope;
    size_t own = strlen(r->where), zone = strlen(r->ctx->zone) - 1;

    if (s->inherited == NULL) {
        char *text = arena_alloc(r->arena, own + sizeof between + zone);

        memcpy(text, r->where, own);
        memcpy(text + own, between, sizeof between - 1);
        memcpy(text + own + sizeof between - 1, r->ctx->zone, zone);
        s->inherited = text;
    }
    return s->inherited;
}

static int read_kind(struct spec_reader *r, struct ref *ref)
{
    const struct spec_value *v = ref->named->at;
    const char *name = ref->named->name, *where = r->where;
    int rc;

    if (ref->from_apex) {
        if (r->keeps_doc) /* longer than the apex spec lives */
            v = spec_value_copy(r->arena, v);
        name = v->name;
        r->where = inherited(r);
    }
    if (ref->named->kind == SPEC_NAMED_CHECK)
        rc = read_check(r, ref, v, name);
    else if (ref->named->kind == SPEC_NAMED_DC)
        rc = read_dc(r, ref, v, name);
    else
        rc = read_scenario(r, ref, v, name);
    r->where = where;
    return rc;
}

/* v: where it is used. */
static int read_ref(struct spec_reader *r, const struct spec_value *v,
                    struct ref *ref)
{
    struct spec_scope *s = r->scope;
    struct ref *above = s->depth > 0 ? s->path[s->depth - 1] : NULL;

    if (ref->state == READING)
        return cycle(r, v, ref);
    if (ref->state == UNREAD) {
        if (s->depth >= SPEC_NAMED_DEPTH_MAX)
            return too_deep(r, ref);
        ref->state = READING;
        s->path[s->depth++] = ref;
        if (read_kind(r, ref) != 0)
            return -1;
        s->depth--;
        ref->state = READ;
    }
    if (above != NULL && above->height < ref->height + 1)
        above->height = ref->height + 1;
    if (above != NULL && above->height >= SPEC_NAMED_DEPTH_MAX)
        return too_deep(r, above);
    return 0;
}

int spec_scope_read(struct spec_reader *r)
{
    struct spec_scope *s = r->scope;

    for (size_t i = 0; i < s->nown; i++)
        if (read_ref(r, s->own[i].at, &s->refs[i]) != 0)
            return -1;
    return 0;
}

int spec_scope_find(struct spec_reader *r, const struct spec_value *v,
                    const char *name, unsigned kinds,
                    enum spec_named_kind *kind, size_t *id)
{
    struct spec_scope *s = r->scope;
    struct ref *ref = look_up(r, name);

    if (ref == NULL)
        return spec_named_unknown(r, v, name, kinds, s->own, s->nown, s->apex);
    if ((kinds & (1u << ref->named->kind)) == 0)
        return spec_named_other(r, v, ref->named, kinds);
    if (read_ref(r, v, ref) != 0)
        return -1;
    *kind = ref->named->kind;
    *id = ref->id;
    return 0;
}

void spec_scope_note(struct spec_reader *r, enum spec_named_kind kind,
                     size_t *at)
{
    struct spec_scope *s = r->scope;

    s->patches = arena_grow(r->arena, s->patches, &s->cap_patches, s->npatches,
                            sizeof *s->patches);
    s->patches[s->npatches].at = at;
    s->patches[s->npatches++].kind = kind;
}

const struct spec_check *spec_scope_check(const struct spec_reader *r,
                                          size_t id)
{
    return &r->scope->checks[id];
}

const struct spec_cond *spec_scope_cond(const struct spec_reader *r,
                                        size_t scenario)
{
    return r->scope->conds[scenario];
}

bool spec_scope_has_dim(const struct spec_reader *r, size_t dc,
                        enum spec_dimension d)
{
    return r->scope->dcs[dc].dims[d].given;
}

size_t spec_scope_index(const struct spec_reader *r, enum spec_named_kind kind,
                        size_t id)
{
    const size_t *map = r->scope->map[kind];

    return map != NULL ? map[id] : id;
}

/* A name and its id, to sort by. */
struct place {
    const char *name; /* NULL: in place, behind the named ones */
    bool forgotten;   /* last */
    size_t id;
};

static int by_name(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int c = (int)x->forgotten - (int)y->forgotten;

    if (c == 0)
        c = (x->name == NULL) - (y->name == NULL);
    if (c == 0 && x->name != NULL)
        c = strcmp(x->name, y->name);
    if (c != 0)
        return c;
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t *make_map(struct spec_reader *r, struct place *p, size_t n)
{
    size_t *map = arena_array(r->arena, n + 1, sizeof *map);

    if (n > 0)
        qsort(p, n, sizeof *p, by_name);
    for (size_t i = 0; i < n; i++)
        map[p[i].id] = i;
    return map;
}

#define LOOK_BACK 8 /* equal checks stand close together */

/* Equal checks in place get one index. p: as map was made from it */
static void join_equal(struct spec_scope *s, const struct place *p, size_t *map)
{
    size_t kept = 0, first = 0, *ids;

    ids = mem_array(s->nchecks, sizeof *ids); /* by index */
    for (size_t i = 0; i < s->nchecks; i++) {
        const struct spec_check *c = &s->checks[p[i].id];
        size_t k = kept;

        if (p[i].forgotten) {
            map[p[i].id] = kept + i; /* beyond all */
            continue;
        }
        first = p[i].name != NULL ? kept + 1 : first;
        while (p[i].name == NULL && k > first && kept - k < LOOK_BACK &&
               !spec_check_equal(&s->checks[ids[k - 1]], c))
            k--;
        if (p[i].name == NULL && k > first && kept - k < LOOK_BACK) {
            map[p[i].id] = k - 1;
            continue;
        }
        ids[kept] = p[i].id;
        map[p[i].id] = kept++;
    }
    s->ndistinct = kept;
    free(ids);
}

static void make_maps(struct spec_reader *r)
{
    struct spec_scope *s = r->scope;
    bool joins = r->ctx->to_run && s->nchecks > 1;
    struct place *p;

    s->ndistinct = s->nchecks - s->nforgotten;
    /* Without names the order of reading is final. */
    if (s->nown == 0 && s->nused == 0 && s->nforgotten == 0 && !joins)
        return;
    p = mem_array(s->nchecks + s->ndcs, sizeof *p);
    for (size_t i = 0; i < s->nchecks; i++)
        p[i] = (struct place){s->checks[i].name, s->checks[i].kind == FORGOTTEN,
                              i};
    s->map[SPEC_NAMED_CHECK] = make_map(r, p, s->nchecks);
    if (joins)
        join_equal(s, p, s->map[SPEC_NAMED_CHECK]);
    for (size_t i = 0; i < s->ndcs; i++)
        p[i] = (struct place){s->dcs[i].name, false, i};
    s->map[SPEC_NAMED_DC] = make_map(r, p, s->ndcs);
    free(p);
    for (size_t i = 0; i < s->npatches; i++)
        *s->patches[i].at =
            spec_scope_index(r, s->patches[i].kind, *s->patches[i].at);
}

void spec_scope_close(struct spec_reader *r, struct spec *out)
{
    struct spec_scope *s = r->scope;
    struct spec_check *checks =
        arena_array(r->arena, s->nchecks + 1, sizeof *checks);
    struct spec_dc *dcs = arena_array(r->arena, s->ndcs + 1, sizeof *dcs);
    struct spec_scenario *scenarios =
        arena_array(r->arena, s->nscenarios + 1, sizeof *scenarios);

    make_maps(r);
    for (size_t i = s->nchecks; i-- > 0;) { /* the first of equal ones stays */
        size_t at = spec_scope_index(r, SPEC_NAMED_CHECK, i);

        if (at < s->ndistinct)
            checks[at] = s->checks[i];
    }
    for (size_t i = 0; i < s->ndcs; i++)
        dcs[spec_scope_index(r, SPEC_NAMED_DC, i)] = s->dcs[i];
    for (size_t i = 0; i < s->nscenarios; i++) {
        scenarios[i] = s->scenarios[i];
        scenarios[i].cond = *s->conds[i];
    }
    out->checks = checks;
    out->nchecks = (uint32_t)s->ndistinct;
    out->dcs = dcs;
    out->ndcs = (uint32_t)s->ndcs;
    out->scenarios = scenarios;
    out->nscenarios = (uint32_t)s->nscenarios;
}
