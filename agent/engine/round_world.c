#include <stdlib.h>
#include <string.h>

#include "agent/engine/round_internal.h"

/* Fourth stage: specs become the sets of the zone, with their checks and
 * what is remembered about each value. */

/* --- checks -------------------------------------------------------------- */

static const struct addr *target_of(const struct spec_check *c,
                                    const struct spec_record *rec)
{
    return c->target.family != 0 ? &c->target : &rec->addr;
}

/* A refused target is never "down": the check is left out and the record
 * has no verdict. returns false then. */
static bool is_allowed(struct round_zone *z, const struct spec_claim *claim,
                       const struct spec_record *rec,
                       const struct spec_check *c)
{
    struct round *r = z->round;
    struct probe_limits limits = {r->cfg->allow_targets,
                                  r->cfg->nallow_targets};
    bool own = c->target.family != 0;
    char *where =
        mem_printf("_failover.%.*s %s%s", round_plain_len(claim->spec->owner),
                   claim->spec->owner, own ? c->pointer : rec->pointer,
                   own ? "" : "/data");
    struct err e;
    int rc;

    rc = probe_allowed(&limits, target_of(c, rec), where, &e);
    if (rc != 0)
        round_problem(r, z->name, where, "%s", e.msg);
    free(where);
    return rc == 0;
}

static void add_checks(struct round_zone *z, const struct spec_claim *claim,
                       struct round_value *v)
{
    const struct spec_record *rec = v->record;
    struct round *r = z->round;

    v->nchecks = rec->nchecks;
    v->checks = arena_array(r->arena, rec->nchecks, sizeof *v->checks);
    for (size_t i = 0; i < rec->nchecks; i++)
        if (is_allowed(z, claim, rec, &rec->checks[i]))
            v->checks[i] = checks_add(r->checks, &rec->checks[i], &rec->addr);
}

/* --- sets ---------------------------------------------------------------- */

static void add_value(struct round_zone *z, struct plan_set *ps,
                      struct round_set *rs, const struct spec_record *rec,
                      const char *data)
{
    struct plan_value *pv = &ps->values[ps->nvalues];
    struct round_value *rv = &rs->values[ps->nvalues];

    for (size_t k = 0; k < ps->nvalues && pv->twin == 0; k++)
        if (strcmp(ps->values[k].data, data) == 0)
            pv->twin = k + 1;
    ps->nvalues++;
    rv->row = state_value_get(z->round->state, z->name, ps->name,
                              spec_type_name(ps->type), data);
    pv->memory = &rv->row->memory;
    pv->data = data;
    pv->ttl_s = -1;
    if (rec == NULL) {
        pv->dropped = true;
        return;
    }
    rv->record = rec;
    pv->fallback = rec->fallback;
    pv->ttl_s = rs->claim->set->ttl_s;
    add_checks(z, rs->claim, rv);
}

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

/* What is remembered of this set and no longer in its spec. */
struct dropped {
    const char **data;
    size_t n, cap;
};

static void build_set(struct round_zone *z, size_t i,
                      const struct dropped *dropped)
{
    struct round *r = z->round;
    const struct spec_set *set = z->claims[i].set;
    struct plan_set *ps = &z->plan.sets[i];
    struct round_set *rs = &z->sets[i];
    size_t n = set->nrecords + set->nfallback + dropped->n;

    rs->claim = &z->claims[i];
    rs->values = arena_array(r->arena, n, sizeof *rs->values);
    rs->row =
        state_set_get(r->state, z->name, set->name, spec_type_name(set->type));
    ps->name = set->name;
    ps->type = set->type;
    ps->order = set->order;
    ps->take = set->take;
    ps->all_down = set->all_down;
    ps->damping = set->damping;
    ps->values = arena_array(r->arena, n, sizeof *ps->values);
    ps->memory = &rs->row->memory;
    for (size_t k = 0; k < set->nrecords; k++)
        add_value(z, ps, rs, &set->records[k], set->records[k].data);
    for (size_t k = 0; k < set->nfallback; k++)
        add_value(z, ps, rs, &set->fallback[k], set->fallback[k].data);
    for (size_t k = 0; k < dropped->n; k++)
        add_value(z, ps, rs, NULL, dropped->data[k]);
}

/* --- what left the specs ------------------------------------------------- */

static long find_claim(const struct round_zone *z, const char *name, size_t len,
                       const char *type, size_t type_len)
{
    for (size_t lo = 0, hi = z->nclaims; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        const struct spec_set *set = z->claims[mid].set;
        char *n = mem_strndup(name, len);
        int c = name_compare(n, set->name);

        free(n);
        if (c == 0) {
            const char *have = spec_type_name(set->type);
            char *t = mem_strndup(type, type_len);
            enum spec_type want = strcmp(t, "A") == 0      ? SPEC_A
                                  : strcmp(t, "AAAA") == 0 ? SPEC_AAAA
                                                           : SPEC_CNAME;

            free(t);
            if (strlen(have) == type_len && memcmp(have, type, type_len) == 0)
                return (long)mid;
            c = want < set->type ? -1 : 1;
        }
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

static void note_opt_out(struct round_zone *z, const struct state_value *row,
                         const char *name, size_t len, const char *data)
{
    if (row->memory.withdrawn)
        round_note(z->round, z->name,
                   "%.*s (%s) is no longer managed; it was switched off by "
                   "dnsfailover and stays so",
                   (int)len, name, data);
}

/* A value that the agent created may still be published. */
static bool is_left_over(const struct memory_value *m)
{
    return m->expected || m->uncertain || m->pending;
}

static void sort_remembered(struct round_zone *z, struct dropped *dropped)
{
    size_t n = strlen(z->name);
    struct state_value *row;

    for (row = state_values(z->round->state); row != NULL; row = row->hh.next) {
        const char *name = row->key + n + 1, *type, *data;
        struct dropped *d;
        long at;

        if (strncmp(row->key, z->name, n) != 0 || row->key[n] != '|')
            continue;
        type = strchr(name, '|');
        data = type != NULL ? strchr(type + 1, '|') : NULL;
        if (data == NULL)
            continue;
        at = find_claim(z, name, (size_t)(type - name), type + 1,
                        (size_t)(data - type - 1));
        data++;
        if (at >= 0 && is_in_set(z->claims[at].set, data))
            continue;
        note_opt_out(z, row, name, (size_t)(type - name), data);
        if (at < 0 || !row->memory.created || !is_left_over(&row->memory))
            continue;
        d = &dropped[at];
        d->data = mem_grow(d->data, &d->cap, d->n, sizeof *d->data);
        d->data[d->n++] = arena_strdup(z->round->arena, data);
    }
}

/* --- a zone -------------------------------------------------------------- */

static int gather_specs(const struct round_zone *z, const struct spec ***out)
{
    const struct spec **specs = mem_array(z->nowners, sizeof *specs);
    int n = 0;

    for (size_t i = 0; i < z->nowners; i++)
        if (z->owners[i]->spec != NULL)
            specs[n++] = z->owners[i]->spec;
    *out = specs;
    return n;
}

static void build_zone(struct round_zone *z)
{
    struct round *r = z->round;
    const struct spec **specs = NULL;
    const struct spec *apex = z->apex->spec;
    struct spec_note *notes = NULL;
    struct dropped *dropped;
    size_t nnotes = 0;
    int n = gather_specs(z, &specs);

    spec_authority(specs, (size_t)n, r->arena, &z->claims, &z->nclaims, &notes,
                   &nnotes);
    for (size_t i = 0; i < nnotes; i++)
        round_problem(r, z->name, notes[i].text, "%s", notes[i].text);
    free(notes);
    free(specs);
    z->plan.max_change_pct =
        apex != NULL && apex->max_change_pct >= 0 ? apex->max_change_pct : 50;
    z->plan.sets = arena_array(r->arena, z->nclaims, sizeof *z->plan.sets);
    z->plan.nsets = z->nclaims;
    z->sets = arena_array(r->arena, z->nclaims, sizeof *z->sets);
    dropped = mem_array(z->nclaims, sizeof *dropped);
    sort_remembered(z, dropped);
    for (size_t i = 0; i < z->nclaims; i++) {
        build_set(z, i, &dropped[i]);
        free(dropped[i].data);
    }
    free(dropped);
}

void round_build(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++) {
        if (r->zones[i]->failed)
            state_keep_zone(r->state, r->zones[i]->name);
        else
            build_zone(r->zones[i]);
    }
}

/* --- verdicts ------------------------------------------------------------ */

static void judge_check(const struct check *c, struct plan_value *v,
                        enum tri *all)
{
    const struct health *h;

    if (c == NULL) { /* refused by the limits */
        *all = tri_and(*all, TRI_UNKNOWN);
        return;
    }
    h = &c->row->health;
    if (h->state == HEALTH_UNKNOWN) {
        *all = tri_and(*all, TRI_UNKNOWN);
        return;
    }
    if (h->state == HEALTH_UP)
        return;
    v->never_up = (*all != TRI_FALSE || v->never_up) && !h->ever_up;
    if (*all != TRI_FALSE || h->since_ms < v->decided_ms)
        v->decided_ms = h->since_ms;
    if (*all != TRI_FALSE || h->streak < v->fail_streak)
        v->fail_streak = h->streak;
    if (c->rule.required_failure > v->need_failure)
        v->need_failure = c->rule.required_failure;
    if (c->rule.access_period_ms > v->access_period_ms)
        v->access_period_ms = c->rule.access_period_ms;
    *all = TRI_FALSE;
}

void round_judge(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        for (size_t s = 0; !z->failed && s < z->plan.nsets; s++) {
            struct plan_set *ps = &z->plan.sets[s];

            for (size_t k = 0; k < ps->nvalues; k++) {
                const struct round_value *rv = &z->sets[s].values[k];
                struct plan_value *pv = &ps->values[k];
                enum tri all = TRI_TRUE;

                pv->never_up = false;
                pv->need_failure = 0;
                pv->access_period_ms = 0;
                for (size_t c = 0; c < rv->nchecks; c++)
                    judge_check(rv->checks[c], pv, &all);
                pv->healthy = all;
            }
        }
    }
}
