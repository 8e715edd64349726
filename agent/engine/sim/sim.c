#include "agent/engine/sim/sim.h"

#include <stdlib.h>

#include "agent/engine/sim/sim_internal.h"

/* The virtual clock. */

#define STEPS_MAX 100 /* of one moment; no spec needs more than three */

int64_t sim_t(const struct sim *s)
{
    return s->now_ms - s->o->start_ms;
}

void sim_tell(struct sim *s, struct sim_event *ev)
{
    ev->t_ms = sim_t(s);
    s->o->sink(s->o->sink_arg, ev);
}

/* --- probes ------------------------------------------------------------------
 */

/* As the prober counts the targets of one check. */
static enum health_result meet(const struct sim *s, const struct check *c)
{
    size_t ok = 0, local = 0;

    for (size_t i = 0; i < sim_targets(c); i++) {
        enum sim_met met = s->met[c->id][i];

        ok += met == SIM_OK;
        local += met == SIM_LOCAL || met == SIM_NOTHING;
    }
    if (ok >= c->need)
        return HEALTH_OK;
    return ok + local < c->need ? HEALTH_FAIL : HEALTH_LOCAL;
}

static void tell_check(struct sim *s, const struct check *c)
{
    char text[256], where[NAME_SIZE];
    struct sim_event ev = {.kind = SIM_CHECK,
                           .check = checks_text(c, text, sizeof text),
                           .where = checks_where(c, where, sizeof where),
                           .state = c->row->health.state};

    sim_tell(s, &ev);
}

struct taker {
    struct sim *s;
    enum health_result result;
};

/* While no check at all is up, each is to fail as often again, soon. */
static bool is_wanted(const struct sim *s, const struct check *c)
{
    const struct health *h = &c->row->health;

    return s->hurried && h->state == HEALTH_DOWN &&
           h->streak / 2 < c->required_failure;
}

static bool take(void *arg, void *room)
{
    const struct taker *t = arg;
    struct check *c = *(struct check **)room;
    enum health_state before = c->row->health.state;

    if (live_result(t->s->live, c, t->result, t->s->now_ms)) {
        t->s->nup -= before == HEALTH_UP;
        t->s->nup += c->row->health.state == HEALTH_UP;
        tell_check(t->s, c);
    }
    return sched_is_calm(&c->row->health, t->result) && !is_wanted(t->s, c);
}

static void probe_due(struct sim *s)
{
    struct sched_entry *g;
    int64_t at_ms;

    while ((g = sched_next_due(s->sched, &at_ms)) != NULL &&
           at_ms <= s->now_ms) {
        struct check **c = sched_any_room(s->sched, g);
        struct taker t = {s, meet(s, *c)};

        sched_started(s->sched, g, s->now_ms);
        sched_result(s->sched, g, take, &t);
    }
}

static void hurry(struct sim *s)
{
    bool wanted = live_holds(s->live, PLAN_ALONE);

    if (wanted && !s->hurried)
        for (size_t i = 0; i < s->nchecks; i++)
            if (checks_at(s->checks, i)->row->health.state == HEALTH_DOWN)
                sched_hurry(s->sched, s->entries[i]);
    s->hurried = wanted;
}

/* --- one moment --------------------------------------------------------------
 */

static void tell_holds(struct sim *s)
{
    size_t n;
    const size_t *sets = live_sets(s->live, &n);

    for (size_t i = 0; i < n; i++) {
        const struct plan_set *ps = &s->w->plan.sets[sets[i]];
        struct sim_event ev = {.kind = SIM_HELD,
                               .name = ps->name,
                               .type = ps->type,
                               .view = s->w->sets[sets[i]].claim->set->view,
                               .reason = ps->hold != PLAN_FREE ? plan_reason(ps)
                                                               : NULL};

        if (ps->hold != s->told[sets[i]])
            sim_tell(s, &ev);
        s->told[sets[i]] = ps->hold;
    }
}

static void settle(struct sim *s)
{
    for (int i = 0; i < STEPS_MAX; i++) {
        bool alone = s->nchecks > 0 && s->nup == 0;
        bool due = live_step(s->live, alone, s->now_ms);

        tell_holds(s);
        hurry(s);
        if (!due)
            return;
        sim_agent_write(s);
    }
}

/* When the first override that has an end ends. */
static int64_t next_expiry(const struct sim *s)
{
    int64_t next_ms = INT64_MAX;

    for (struct state_override *r = state_overrides(s->state); r != NULL;
         r = r->hh.next)
        if (r->used && r->until_ms > s->now_ms && r->until_ms < next_ms)
            next_ms = r->until_ms;
    return next_ms;
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_event(const struct sim *s, size_t fact)
{
    int64_t next_ms = earliest(live_next(s->live), next_expiry(s)), at_ms;

    if (fact < s->o->nfacts)
        next_ms = earliest(next_ms, s->o->start_ms + s->o->facts[fact].t_ms);
    if (sched_next_due(s->sched, &at_ms) != NULL)
        next_ms = earliest(next_ms, at_ms);
    return next_ms;
}

/* --- the run -----------------------------------------------------------------
 */

static int64_t end_of(const struct sim_options *o)
{
    int64_t last_ms = 0;

    for (size_t i = 0; i < o->nfacts; i++) {
        if (o->facts[i].kind == TRACE_END)
            return o->start_ms + o->facts[i].t_ms;
        last_ms = o->facts[i].t_ms;
    }
    return o->start_ms + last_ms + SIM_AFTER_MS;
}

static int begin_facts(struct sim *s, size_t *fact, struct err *e)
{
    for (; *fact < s->o->nfacts; (*fact)++) {
        const struct trace_fact *f = &s->o->facts[*fact];

        if (s->o->start_ms + f->t_ms > s->now_ms)
            return 0;
        if (f->kind == TRACE_END) {
            *fact = s->o->nfacts;
            return 0;
        }
        if (f->kind != TRACE_RESTART)
            sim_facts_apply(s, *fact);
        else if (sim_agent_restart(s, e) != 0)
            return -1;
    }
    return 0;
}

static int run(struct sim *s, struct err *e)
{
    int64_t end_ms = end_of(s->o);
    size_t fact = 0;

    for (int64_t next_ms = s->now_ms; next_ms <= end_ms && next_ms != INT64_MAX;
         next_ms = next_event(s, fact)) {
        int64_t expiry_ms = next_expiry(s);

        /* Until then it was in force. */
        if (next_ms == expiry_ms)
            live_before_override(s->live, next_ms - 1);
        s->now_ms = next_ms;
        if (next_ms == expiry_ms)
            live_after_override(s->live, s->now_ms);
        if (begin_facts(s, &fact, e) != 0)
            return -1;
        probe_due(s);
        settle(s);
    }
    return 0;
}

static void fini(struct sim *s)
{
    sim_agent_stop(s);
    for (size_t i = 0; i < s->nsets; i++) {
        for (size_t k = 0; k < s->shown[i].n; k++)
            free(s->shown[i].data[k]);
        free(s->shown[i].data);
    }
    for (size_t i = 0; i < s->nchecks; i++)
        free(s->met[i]);
    for (size_t i = 0; s->bounds != NULL && i < s->o->nfacts; i++)
        free(s->bounds[i].aims);
    free(s->bounds);
    arena_free(s->facts);
    free(s->shown);
    free(s->told);
    free(s->met);
}

int sim_run(const struct sim_options *o, struct err *e)
{
    struct sim s = {.o = o, .now_ms = o->start_ms};
    int rc = sim_agent_start(&s, e);

    if (rc == 0)
        rc = sim_facts_bind(&s, e);
    if (rc == 0)
        rc = run(&s, e);
    fini(&s);
    return rc;
}
