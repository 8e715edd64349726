#include "agent/engine/decide/judge.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

/* What one judgement goes through. */
struct judge {
    const struct spec *s;
    const struct judge_env *env;
    struct judge_memory *memory;
    struct judge_dc *dcs;
    bool remember; /* unknown results keep, known ones replace the memory */
};

/* A condition's place of evaluation. */
struct at {
    long place;  /* of the record, in judge order; -1: none */
    bool strict; /* checks that were never up count as down */
};

enum tri tri_not(enum tri a)
{
    return a == TRI_UNKNOWN ? TRI_UNKNOWN
           : a == TRI_TRUE  ? TRI_FALSE
                            : TRI_TRUE;
}

enum tri tri_or(enum tri a, enum tri b)
{
    return tri_not(tri_and(tri_not(a), tri_not(b)));
}

enum tri tri_need(size_t need, size_t t, size_t u)
{
    if (t >= need)
        return TRI_TRUE;
    return t + u >= need ? TRI_UNKNOWN : TRI_FALSE;
}

size_t judge_nrecords(const struct spec *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nsets; i++)
        n += s->sets[i].nrecords + s->sets[i].nfallback;
    return n;
}

/* Most specs have none. */
static bool has_conditions(const struct spec *s)
{
    for (size_t i = 0; i < s->nsets; i++) {
        const struct spec_set *set = &s->sets[i];

        for (size_t k = 0; k < set->nrecords; k++)
            if (spec_rare_of(&set->records[k])->when != NULL ||
                spec_rare_of(&set->records[k])->dr_cond != NULL)
                return true;
        for (size_t k = 0; k < set->nfallback; k++)
            if (spec_rare_of(&set->fallback[k])->when != NULL ||
                spec_rare_of(&set->fallback[k])->dr_cond != NULL)
                return true;
    }
    return s->nscenarios > 0;
}

size_t judge_ntruth(const struct spec *s)
{
    size_t n = judge_nrecords(s);

    if (!has_conditions(s))
        return 0;
    return s->nscenarios * (1 + n) + 2 * n;
}

/* --- conditions ----------------------------------------------------------- */

static enum tri check_truth(const struct judge *j, size_t check,
                            const struct at *at)
{
    struct judge_leaf leaf = j->env->leaf(j->env->arg, check, at->place);

    return leaf.never_up && !at->strict ? TRI_UNKNOWN : leaf.up;
}

/* A known result is remembered, an unknown one is what was last known. */
static enum tri settle(struct judge *j, size_t slot, enum tri t,
                       const struct at *at)
{
    if (slot >= j->memory->ntruth)
        return t;
    if (t == TRI_UNKNOWN)
        return j->memory->truth[slot];
    if (j->remember && !at->strict)
        j->memory->truth[slot] = t;
    return t;
}

static enum tri cond_truth(struct judge *j, const struct spec_cond *c,
                           const struct at *at);

static enum tri scenario_truth(struct judge *j, size_t i, const struct at *at)
{
    const struct spec_scenario *sc = &j->s->scenarios[i];
    size_t place = sc->cond.local && at->place >= 0 ? (size_t)at->place + 1 : 0;
    size_t slot = i * (1 + judge_nrecords(j->s)) + place;

    return settle(j, slot, cond_truth(j, &sc->cond, at), at);
}

static enum tri parts_truth(struct judge *j, const struct spec_cond *c,
                            const struct at *at)
{
    size_t t = 0, u = 0;

    for (size_t i = 0; i < c->n; i++) {
        enum tri v = cond_truth(j, &c->of[i], at);

        t += v == TRI_TRUE;
        u += v == TRI_UNKNOWN;
    }
    if (c->kind == SPEC_COND_ALL)
        return tri_need(c->n, t, u);
    if (c->kind == SPEC_COND_ANY)
        return tri_need(1, t, u);
    return tri_need(c->need, t, u);
}

static enum tri cond_truth(struct judge *j, const struct spec_cond *c,
                           const struct at *at)
{
    enum tri t = TRI_UNKNOWN;

    switch (c->kind) {
    case SPEC_COND_CHECK:
        t = check_truth(j, c->ref, at);
        break;
    case SPEC_COND_DC:
        t = j->dcs[c->ref].in_service;
        break;
    case SPEC_COND_DC_STATE:
        t = j->dcs[c->ref].states[c->state];
        break;
    case SPEC_COND_DIMENSION:
        t = j->dcs[c->ref].dims[c->dimension];
        break;
    case SPEC_COND_MAINTENANCE:
        t = j->dcs[c->ref].maintenance ? TRI_TRUE : TRI_FALSE;
        break;
    case SPEC_COND_SCENARIO:
        t = scenario_truth(j, c->ref, at);
        break;
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        t = parts_truth(j, c, at);
        break;
    }
    return c->negate ? tri_not(t) : t;
}

/* --- data centres --------------------------------------------------------- */

static enum tri dimension_truth(const struct judge *j, const struct spec_dc *dc,
                                enum spec_dimension d, bool strict)
{
    const struct at nowhere = {-1, strict};
    size_t t = 0, u = 0;

    for (size_t i = 0; i < dc->dims[d].n; i++) {
        enum tri v = check_truth(j, dc->dims[d].checks[i], &nowhere);

        t += v == TRI_TRUE;
        u += v == TRI_UNKNOWN;
    }
    return tri_need(dc->dims[d].need, t, u);
}

static enum tri is_down(const struct spec_dc *dc, const struct judge_dc *out,
                        enum spec_dimension d)
{
    return dc->dims[d].given ? tri_not(out->dims[d]) : TRI_FALSE;
}

/* The first state that applies; in_service is asked of the parts, not of the
 * states: whether it is ok or noLan may be unknown, that it is one of them
 * need not be. */
static void judge_states(const struct judge *j, const struct spec_dc *dc,
                         struct judge_dc *out)
{
    bool here =
        j->env->agent_dc != NULL && strcmp(j->env->agent_dc, dc->name) == 0;
    enum tri internet = here ? is_down(dc, out, SPEC_INTERNET) : TRI_FALSE;
    enum tri wan = is_down(dc, out, SPEC_WAN);
    enum tri lan = is_down(dc, out, SPEC_LAN);
    enum tri access = tri_or(is_down(dc, out, SPEC_ACCESS), tri_and(wan, lan));
    enum tri rest = tri_not(internet);

    out->states[SPEC_DC_NO_INTERNET] = internet;
    out->states[SPEC_DC_NO_ACCESS] = tri_and(rest, access);
    rest = tri_and(rest, tri_not(access));
    out->states[SPEC_DC_NO_WAN] = tri_and(rest, wan);
    rest = tri_and(rest, tri_not(wan));
    out->in_service = rest;
    out->states[SPEC_DC_NO_LAN] = tri_and(rest, lan);
    out->states[SPEC_DC_OK] = tri_and(rest, tri_not(lan));
    for (int d = 0; d < SPEC_NDIMENSIONS; d++)
        if (dc->needs[d] && dc->dims[d].given)
            out->in_service = tri_and(out->in_service, out->dims[d]);
    if (out->maintenance)
        out->in_service = TRI_FALSE;
}

static bool in_maintenance(const struct judge *j, const struct spec_dc *dc)
{
    return dc->maintenance || (j->env->maintenance != NULL &&
                               j->env->maintenance(j->env->arg, dc->name));
}

static void judge_dc(const struct judge *j, size_t i, bool strict,
                     struct judge_dc *out)
{
    const struct spec_dc *dc = &j->s->dcs[i];

    out->maintenance = in_maintenance(j, dc);
    for (int d = 0; d < SPEC_NDIMENSIONS; d++)
        out->dims[d] =
            dc->dims[d].given
                ? dimension_truth(j, dc, (enum spec_dimension)d, strict)
                : TRI_TRUE;
    judge_states(j, dc, out);
}

/* --- onlyNew ----------------------------------------------------------------
 */

/* Some value of another data centre is published. */
static bool others_serve(const struct spec *s, size_t dc, const bool *published)
{
    size_t k = 0;

    for (size_t i = 0; i < s->nsets; i++) {
        const struct spec_set *set = &s->sets[i];

        for (size_t r = 0; r < set->nrecords; r++, k++)
            if (published[k] && set->records[r].dc >= 0 &&
                (size_t)set->records[r].dc != dc)
                return true;
        k += set->nfallback;
    }
    return false;
}

/* Time in maintenance does not count. What was seen at the last look holds
 * until this one: a spec is judged when something has changed, not at a
 * pace. */
static void count_absence(struct judge *j, size_t i, const bool *published)
{
    struct judge_dc_memory *m = &j->memory->dcs[i];
    const struct spec_dc *dc = &j->s->dcs[i];
    const struct judge_dc *now = &j->dcs[i];
    int64_t t = j->env->now_ms;

    if (m->maintained && m->out_since_ms != 0)
        m->out_since_ms += t - m->last_ms;
    m->maintained = now->maintenance;
    m->last_ms = t != 0 ? t : 1;
    if (!now->maintenance && now->in_service == TRI_FALSE &&
        m->out_since_ms == 0)
        m->out_since_ms = m->last_ms;
    if (m->out_since_ms == 0)
        return;
    m->other_published = m->other_published || others_serve(j->s, i, published);
    if (now->maintenance || now->in_service != TRI_TRUE)
        return;
    m->barred = m->barred ||
                (dc->only_new_ms >= 0 &&
                 t - m->out_since_ms > dc->only_new_ms && m->other_published);
    m->out_since_ms = 0;
    m->other_published = false;
}

/* Always looked at: what a scenario remembers must not depend on whether
 * somebody waited for it. No record's address stands for its checks. */
static void let_in_fresh(struct judge *j, size_t i)
{
    const struct at nowhere = {-1, false};
    const struct spec_cond *fresh = j->s->dcs[i].fresh;

    if (fresh != NULL && cond_truth(j, fresh, &nowhere) == TRI_TRUE)
        j->memory->dcs[i].barred = false;
}

/* --- records ----------------------------------------------------------------
 */

/* What took a record out, for the brake: how long and how often its checks
 * have failed. any: none of them fails (a negation): then one period of what
 * it names is waited for. */
struct blame {
    const struct judge *j;
    struct judge_record *out;
    bool any;
};

static void take_leaf(const struct blame *b, size_t check, long place)
{
    struct judge_leaf leaf = b->j->env->leaf(b->j->env->arg, check, place);
    struct judge_record *out = b->out;

    if (leaf.up != TRI_FALSE && !b->any)
        return;
    if (leaf.access_period_ms > out->access_period_ms)
        out->access_period_ms = leaf.access_period_ms;
    if (b->any) {
        if (leaf.decided_ms > out->decided_ms)
            out->decided_ms = leaf.decided_ms;
        return;
    }
    if (out->need_failure == 0 || leaf.decided_ms < out->decided_ms)
        out->decided_ms = leaf.decided_ms;
    if (out->need_failure == 0 || leaf.fail_streak < out->fail_streak)
        out->fail_streak = leaf.fail_streak;
    if (leaf.need_failure > out->need_failure)
        out->need_failure = leaf.need_failure;
}

static void take_dimension(const struct blame *b, const struct spec_dc *dc,
                           int d)
{
    for (size_t i = 0; i < dc->dims[d].n; i++)
        take_leaf(b, dc->dims[d].checks[i], -1);
}

static void take_dc(const struct blame *b, const struct spec_dc *dc)
{
    for (int d = 0; d < SPEC_NDIMENSIONS; d++)
        take_dimension(b, dc, d);
}

static void take_cond(const struct blame *b, const struct spec_cond *c,
                      long place)
{
    const struct spec *s = b->j->s;

    switch (c->kind) {
    case SPEC_COND_CHECK:
        take_leaf(b, c->ref, place);
        break;
    case SPEC_COND_SCENARIO:
        take_cond(b, &s->scenarios[c->ref].cond, place);
        break;
    case SPEC_COND_ALL:
    case SPEC_COND_ANY:
    case SPEC_COND_NEED:
        for (size_t i = 0; i < c->n; i++)
            take_cond(b, &c->of[i], place);
        break;
    case SPEC_COND_DC:
    case SPEC_COND_DC_STATE:
        take_dc(b, &s->dcs[c->ref]);
        break;
    case SPEC_COND_DIMENSION:
        take_dimension(b, &s->dcs[c->ref], (int)c->dimension);
        break;
    case SPEC_COND_MAINTENANCE:
        break;
    }
}

static void take_record(const struct blame *b, const struct spec_record *rec,
                        long place)
{
    for (size_t i = 0; i < rec->nchecks; i++)
        take_leaf(b, rec->checks[i], place);
    if (spec_rare_of(rec)->when != NULL)
        take_cond(b, spec_rare_of(rec)->when, place);
    if (rec->dc >= 0)
        take_dc(b, &b->j->s->dcs[rec->dc]);
}

static enum tri record_truth(struct judge *j, const struct spec_record *rec,
                             long place, bool strict)
{
    const struct at at = {place, strict};
    size_t n = judge_nrecords(j->s);
    size_t slot = j->s->nscenarios * (1 + n) + (size_t)place;
    enum tri t = TRI_TRUE;

    for (size_t i = 0; i < rec->nchecks; i++)
        t = tri_and(t, check_truth(j, rec->checks[i], &at));
    if (spec_rare_of(rec)->when != NULL)
        t = tri_and(
            t,
            settle(j, slot, cond_truth(j, spec_rare_of(rec)->when, &at), &at));
    if (rec->dc >= 0)
        t = tri_and(t, j->dcs[rec->dc].in_service);
    return t;
}

static void judge_dr(struct judge *j, const struct spec_record *rec, long place,
                     struct judge_record *out)
{
    const struct at at = {place, false};
    size_t n = judge_nrecords(j->s);
    size_t slot = j->s->nscenarios * (1 + n) + n + (size_t)place;

    out->dr_cond = TRI_FALSE;
    if (spec_rare_of(rec)->dr_cond != NULL)
        out->dr_cond = settle(
            j, slot, cond_truth(j, spec_rare_of(rec)->dr_cond, &at), &at);
}

static void judge_one(struct judge *j, const struct judge_dc *strict_dcs,
                      const struct spec_record *rec, long place,
                      struct judge_record *out)
{
    struct judge_dc *dcs = j->dcs;
    struct blame b = {j, out, false};

    memset(out, 0, sizeof *out);
    out->healthy = record_truth(j, rec, place, false);
    judge_dr(j, rec, place, out);
    if (rec->dc >= 0) {
        out->maintenance = dcs[rec->dc].maintenance;
        out->passive = j->s->dcs[rec->dc].no_response;
        out->barred = j->memory->dcs[rec->dc].barred;
    }
    if (out->healthy == TRI_UNKNOWN) {
        union {
            const struct judge_dc *in;
            struct judge_dc *out;
        } u = {.in = strict_dcs};

        j->dcs = u.out;
        if (record_truth(j, rec, place, true) == TRI_FALSE) {
            out->healthy = TRI_FALSE;
            out->never_up = true;
        }
        j->dcs = dcs;
    }
    if (out->healthy != TRI_FALSE)
        return;
    take_record(&b, rec, place);
    b.any = out->need_failure == 0;
    if (b.any)
        take_record(&b, rec, place);
}

/* --- the whole --------------------------------------------------------------
 */

void judge_spec(const struct spec *s, const struct judge_env *env,
                struct judge_memory *memory, const bool *published,
                struct judge_dc *dcs, struct judge_record *records)
{
    struct judge j = {s, env, memory, dcs, true};
    struct judge_dc *strict = mem_array(s->ndcs, sizeof *strict);
    long place = 0;

    for (size_t i = 0; i < s->ndcs; i++) {
        judge_dc(&j, i, false, &dcs[i]);
        judge_dc(&j, i, true, &strict[i]);
    }
    for (size_t i = 0; i < s->ndcs; i++) {
        count_absence(&j, i, published);
        let_in_fresh(&j, i);
        dcs[i].barred = memory->dcs[i].barred;
    }
    for (size_t i = 0; i < s->nsets; i++) {
        const struct spec_set *set = &s->sets[i];

        for (size_t k = 0; k < set->nrecords; k++, place++)
            judge_one(&j, strict, &set->records[k], place, &records[place]);
        for (size_t k = 0; k < set->nfallback; k++, place++)
            judge_one(&j, strict, &set->fallback[k], place, &records[place]);
    }
    free(strict);
}

enum tri judge_cond(const struct spec *s, const struct judge_env *env,
                    const struct judge_memory *memory,
                    const struct judge_dc *dcs, const struct spec_cond *cond,
                    long place)
{
    union {
        const struct judge_memory *in;
        struct judge_memory *out;
    } m = {.in = memory};
    union {
        const struct judge_dc *in;
        struct judge_dc *out;
    } d = {.in = dcs};
    struct judge j = {s, env, m.out, d.out, false};
    const struct at at = {place, false};

    return cond_truth(&j, cond, &at);
}

void judge_memory_init(struct judge_memory *m, const struct spec *s)
{
    m->ntruth = (uint32_t)judge_ntruth(s);
    m->ndcs = s->ndcs;
    m->truth = m->ntruth > 0 ? mem_array(m->ntruth, sizeof *m->truth) : NULL;
    m->dcs = m->ndcs > 0 ? mem_array(m->ndcs, sizeof *m->dcs) : NULL;
}

bool judge_memory_is_empty(const struct judge_memory *m)
{
    for (size_t i = 0; i < m->ntruth; i++)
        if (m->truth[i] != TRI_UNKNOWN)
            return false;
    return m->ndcs == 0;
}

void judge_memory_fini(struct judge_memory *m)
{
    free(m->truth);
    free(m->dcs);
    memset(m, 0, sizeof *m);
}

void judge_readmit(struct judge_memory *m, size_t dc)
{
    m->dcs[dc].barred = false;
    m->dcs[dc].out_since_ms = 0;
    m->dcs[dc].other_published = false;
}
