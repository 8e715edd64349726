#include "tests/unit/property_trial.h"

/* Random specs and worlds, round after round, against spec-language 4 and 7.
 * DNSFAILOVER_SEED and DNSFAILOVER_CASES repeat a run: a failure names the
 * seed of its case, with DNSFAILOVER_CASES=1. */

/* --- decide against its second version --------------------------------------
 */

/* Healthy or not: not let in. */
static bool is_barred(const struct plan_value *v)
{
    return v->away || v->memory->shut;
}

/* Value i, or one with equal data, is to be published. */
static bool wanted(const struct plan_set *ps, const struct described *d,
                   const struct naive *want, size_t i)
{
    uint32_t mask = want->values | want->fallback << d->set.nvalues;
    bool on = false;

    for (size_t k = 0; k < d->set.nvalues + d->set.nfallback; k++)
        if (ps->values[d->at[k]].memory == ps->values[i].memory)
            on = on || (mask >> k & 1) != 0;
    return on;
}

static void check_decision(const struct trial *t, size_t s)
{
    const struct plan_set *ps = &t->w.sets[s];
    struct described d;
    struct naive want;

    describe(ps, &d);
    want = naive_decide(&d.set);
    MUST(t, s, ps->decision.tier == want.tier);
    MUST(t, s, ps->decision.rule == want.rule);
    for (size_t k = 0; k < d.set.nvalues + d.set.nfallback; k++) {
        const struct plan_value *v = &ps->values[d.at[k]];
        bool on = wanted(ps, &d, &want, d.at[k]);

        if (v->reclaim_held)
            MUST(t, s, !on && v->publish && v->published);
        else if (ps->hold == PLAN_FREE)
            MUST(t, s, v->publish == on);
    }
}

/* --- what holds in every plan -----------------------------------------------
 */

/* The highest tier that it may be of; 0: none. */
static int best_tier(const struct plan_value *v)
{
    if (v->class == DECIDE_NORMAL)
        return 1;
    if (v->class == DECIDE_PASSIVE)
        return 2;
    if (v->dr_cond != TRI_FALSE)
        return 1;
    return v->dr_if_no_records ? 3 : 0;
}

static bool is_sure(const struct plan_value *v)
{
    return !v->dropped && v->healthy == TRI_TRUE && !v->waiting &&
           !v->memory->held_off && !is_barred(v) &&
           (v->fallback || v->class != DECIDE_DR || v->dr_cond == TRI_TRUE);
}

/* No verdict: unknown, or down by checks that have never been up while
 * nobody else of its list is surely up. */
static bool is_open(const struct plan_set *ps, size_t i)
{
    const struct plan_value *v = &ps->values[i];

    if (v->healthy == TRI_TRUE)
        return v->class == DECIDE_DR && v->dr_cond == TRI_UNKNOWN;
    if (v->healthy != TRI_FALSE || !v->never_up)
        return v->healthy == TRI_UNKNOWN;
    for (size_t k = 0; k < ps->nvalues; k++)
        if (k != i && ps->values[k].fallback == v->fallback &&
            is_sure(&ps->values[k]))
            return false;
    return true;
}

/* A published value without verdict goes only for the chain's sake: as many
 * as the set takes come before it; or when a tier above its own has someone.
 */
static void check_open_withdrawal(const struct trial *t, size_t s, size_t i)
{
    const struct plan_set *ps = &t->w.sets[s];
    const struct plan_value *v = &ps->values[i];
    uint32_t before = 0, most = ps->take;

    if (v->fallback && ps->decision.tier <= 4 && ps->decision.tier > 0)
        return;
    if (!v->fallback && ps->decision.tier > 0 &&
        ps->decision.tier < best_tier(v))
        return;
    MUST(t, s,
         ps->take > 0 || ps->order == SPEC_PRIORITY || ps->type == SPEC_CNAME);
    MUST(t, s, ps->decision.tier == (v->fallback ? 5 : best_tier(v)));
    for (size_t k = 0; k < i; k++)
        before += ps->values[k].publish && !ps->values[k].reclaim_held &&
                  !ps->values[k].dropped &&
                  ps->values[k].fallback == v->fallback;
    MUST(t, s, before == (ps->type == SPEC_CNAME ? 1 : most > 0 ? most : 1));
}

static void check_dropped(const struct trial *t, size_t s,
                          const struct plan_value *v)
{
    const struct plan_set *ps = &t->w.sets[s];
    bool served = false;

    for (size_t k = 0; k < ps->nvalues; k++)
        served = served ||
                 (!ps->values[k].dropped && ps->values[k].publish &&
                  ps->values[k].published && ps->values[k].healthy == TRI_TRUE);
    MUST(t, s,
         v->publish == v->published ||
             (v->published && v->memory->created && served));
}

/* A fallback record with equal data may want it published. */
static bool has_twin(const struct plan_set *ps, size_t i)
{
    for (size_t k = 0; k < ps->nvalues; k++)
        if (ps->values[k].twin == i + 1)
            return true;
    return false;
}

/* Who is not let in, waits, or has no verdict. */
static void check_value(const struct trial *t, size_t s, size_t i)
{
    const struct plan_set *ps = &t->w.sets[s];
    const struct plan_value *v = &ps->values[i];
    const struct shadow *sh = &t->v[s][i];
    int64_t well_ms = t->w.now_ms - sh->healthy_since_ms;
    int64_t wait_ms = ps->damping ? plan_damp_wait_ms(v->memory->damp) : 0;
    int tier = ps->decision.tier;
    bool placed = v->fallback || best_tier(v) > 0;

    if (v->twin > 0)
        return;
    if (v->twin > 0)
        return;
    if (v->dropped) {
        check_dropped(t, s, v);
        return;
    }
    if (placed && is_open(ps, i) && !v->memory->held_off && !is_barred(v)) {
        MUST(t, s, v->fallback || tier <= best_tier(v));
        if (!v->published)
            MUST(t, s, tier != 6);
        if (v->published && !v->publish)
            check_open_withdrawal(t, s, i);
    }
    if (placed && tier >= 4 && !v->fallback && !is_barred(v))
        MUST(t, s, v->healthy != TRI_FALSE || !v->never_up);
    MUST(t, s, sh->off == v->memory->held_off);
    MUST(t, s, !sh->off || !v->publish);
    MUST(t, s, !v->waiting || (v->healthy == TRI_TRUE && !v->published));
    if (sh->returning && v->return_after_ms > wait_ms)
        wait_ms = v->return_after_ms;
    if (v->publish && !v->published && v->healthy == TRI_TRUE &&
        well_ms < wait_ms && !has_twin(ps, i))
        MUST(t, s,
             tier == (v->fallback ? 5 : 4) || (tier == 6 && is_barred(v)));
    if ((v->maintenance || is_barred(v)) && v->publish && !has_twin(ps, i) &&
        ps->hold == PLAN_FREE && !v->reclaim_held)
        MUST(t, s, tier >= 6 || (v->published && tier == 0));
}

static void check_brake(struct trial *t)
{
    const struct plan_zone *z = &t->w.zone;
    size_t stood = 0, now = 0, before = 0, allowed, last = 0;

    for (size_t s = 0; s < t->w.n; s++)
        for (size_t i = 0; i < t->w.s[s].n; i++) {
            const struct plan_value *v = &t->w.values[s][i];
            int64_t changed = t->v[s][i].changed_ms;

            stood += v->published && v->twin == 0 &&
                     (changed == 0 || z->now_ms - changed >= WINDOW_MS);
            if (plan_is_check_withdrawal(v) && !t->was_braked[s]) {
                now++;
                last = s;
            }
        }
    for (size_t i = 0; i < t->nall; i++)
        stood += z->now_ms - t->all_ms[i] < WINDOW_MS;
    for (size_t i = 0; i < t->nfree; i++)
        before += z->now_ms - t->free_ms[i] < WINDOW_MS;
    allowed = stood * (size_t)t->w.pct / 100;
    if (allowed < 3)
        allowed = 3;
    MUST(t, last, now == 0 || now + before <= allowed);
}

static void check_plan(struct trial *t)
{
    for (size_t s = 0; s < t->w.n; s++) {
        const struct plan_set *ps = &t->w.sets[s];
        size_t changes = 0;

        for (size_t i = 0; i < ps->nvalues; i++) {
            const struct plan_value *v = &ps->values[i];

            changes += plan_is_change(v);
            /* What is as wanted is written only to make sure of it. */
            MUST(t, s,
                 plan_is_change(v) == (v->publish != v->published) ||
                     v->confirm || v->twin > 0);
        }
        MUST(t, s, changes == ps->nchanges);
        MUST(t, s, ps->hold == PLAN_FREE || changes == 0);
        MUST(t, s, !t->w.blind || changes == 0);
        MUST(t, s, !t->w.s[s].frozen || changes == 0);
        MUST(t, s, !t->w.learning || changes == 0);
        if (t->w.s[s].unseen) {
            MUST(t, s, ps->hold == PLAN_UNSEEN);
            continue;
        }
        check_decision(t, s);
        for (size_t i = 0; i < ps->nvalues; i++)
            check_value(t, s, i);
    }
    check_brake(t);
}

/* --- the same again ---------------------------------------------------------
 */

static void same_plan(struct trial *t, const struct pw *other, size_t s,
                      size_t os, bool mirrored)
{
    const struct plan_set *a = &t->w.sets[s], *b = &other->sets[os];
    size_t main = 0;

    while (main < a->nvalues && !a->values[main].fallback)
        main++;
    MUST(t, s, a->decision.tier == b->decision.tier);
    MUST(t, s, a->decision.rule == b->decision.rule);
    MUST(t, s, a->hold == b->hold);
    for (size_t i = 0; i < a->nvalues; i++) {
        size_t k = mirrored && i < main ? main - 1 - i : i;

        MUST(t, s, a->values[i].publish == b->values[k].publish);
        MUST(t, s, memory_equal(a->values[i].memory, b->values[k].memory));
    }
}

/* Now, or until now: what goes at last uses up what the brake allows. */
static bool any_braked(const struct pw *w, const struct pw *before)
{
    for (size_t s = 0; s < w->n; s++)
        if (w->sets[s].hold == PLAN_BRAKE ||
            before->s[s].memory.brake_since_ms != 0)
            return true;
    return false;
}

static void mirror_values(struct pw_set *s)
{
    size_t main = 0;

    while (main < s->n && !s->v[main].fallback)
        main++;
    for (size_t i = 0; i < main / 2; i++) {
        struct pw_value v = s->v[i];

        s->v[i] = s->v[main - 1 - i];
        s->v[main - 1 - i] = v;
    }
    for (size_t i = main; i < s->n; i++)
        if (s->v[i].twin > 0)
            s->v[i].twin = main + 1 - s->v[i].twin;
}

static bool takes_all(const struct pw_set *s)
{
    return s->order == SPEC_ALL && s->take == 0 && s->type != SPEC_CNAME;
}

/* The same state and the same world give the same plan; where nothing is
 * held by the brake the order of sets is of no matter, and where a set takes
 * all, neither is the order of its values. before: as it was before the plan
 */
static void check_same(struct trial *t, const struct pw *before)
{
    static struct pw other;

    other = *before;
    pw_plan(&other);
    for (size_t s = 0; s < t->w.n; s++)
        same_plan(t, &other, s, s, false);
    if (any_braked(&t->w, before))
        return;
    other = *before;
    for (size_t s = 0; s < other.n; s++) {
        other.s[s] = before->s[other.n - 1 - s];
        if (takes_all(&other.s[s]))
            mirror_values(&other.s[s]);
    }
    pw_plan(&other);
    for (size_t s = 0; s < t->w.n; s++)
        same_plan(t, &other, s, t->w.n - 1 - s, takes_all(&t->w.s[s]));
}

/* Right after a round in which every write went well there is nothing more
 * to do, but for a dropped value that may go now. */
static void check_nothing_left(struct trial *t)
{
    static struct pw again;

    again = t->w;
    pw_plan(&again);
    for (size_t s = 0; s < again.n; s++)
        for (size_t i = 0; i < again.s[s].n; i++) {
            const struct plan_value *v = &again.values[s][i];

            MUST(t, s, v->publish == v->published || v->dropped);
        }
}

/* --- rounds -----------------------------------------------------------------
 */

static void lose_state(struct trial *t)
{
    for (size_t s = 0; s < t->w.n; s++) {
        memset(&t->w.s[s].memory, 0, sizeof t->w.s[s].memory);
        for (size_t i = 0; i < t->w.s[s].n; i++) {
            memset(&t->w.s[s].v[i].memory, 0, sizeof t->w.s[s].v[i].memory);
            memset(&t->w.s[s].v[i].writes, 0, sizeof t->w.s[s].v[i].writes);
            memset(&t->w.s[s].v[i].health, 0, sizeof t->w.s[s].v[i].health);
        }
    }
    memset(t->w.withdrawn_ms, 0, sizeof t->w.withdrawn_ms);
    memset(t->v, 0, sizeof t->v);
    t->nall = t->nfree = 0;
}

/* The operator, and what judge says of data centres and drCond. */
static void operate(struct rng *r, struct pw_value *v, struct shadow *sh)
{
    if (rng_percent(r, 3))
        v->maintenance = !v->maintenance;
    if (rng_percent(r, 2) && !v->fallback)
        v->away = !v->away;
    if (v->class == DECIDE_DR && rng_percent(r, 10))
        v->dr_cond = (enum tri)rng_below(r, 3);
    if (rng_percent(r, 3)) {
        plan_readmit(&v->memory);
        v->away = sh->off = sh->returning = false;
    }
}

/* What happens between two rounds. */
static void happen(struct trial *t)
{
    struct rng *r = &t->rng;
    struct pw *w = &t->w;

    w->blind = w->anchors && rng_percent(r, 10);
    w->learning = !t->flappy && rng_percent(r, 3);
    if (w->learning)
        lose_state(t);
    w->step_ms = t->flappy || rng_percent(r, 60) ? 10000
                 : rng_percent(r, 90) ? 1000 * (1 + rng_below(r, 120))
                                      : 1000 * (1 + rng_below(r, 7200));
    for (size_t s = 0; s < w->n; s++) {
        struct pw_set *set = &w->s[s];

        set->unseen = rng_percent(r, 4);
        set->frozen = rng_percent(r, 3);
        if (rng_percent(r, 3))
            random_order(r, set);
        for (size_t i = 0; i < set->n; i++) {
            struct pw_value *v = &set->v[i];

            if (v->target != PW_NO_CHECK &&
                rng_percent(r, t->flappy && i == 0 ? 60 : 25))
                v->target = (enum pw_target)rng_below(r, 3);
            if (v->twin > 0)
                continue;
            if (rng_percent(r, 4))
                v->on = !v->on;
            v->present = v->present || v->on;
            v->write =
                rng_percent(r, 92) ? PW_DONE : (enum pw_write)rng_below(r, 4);
            v->dropped = v->dropped ||
                         (set->v[set->n - 1].twin == 0 && rng_percent(r, 1));
            operate(r, v, &t->v[s][i]);
        }
    }
}

/* A new process: only what is saved is left. */
static void restart(struct pw *w)
{
    memset(&w->zone, 0xaa, sizeof w->zone);
    memset(w->sets, 0xaa, sizeof w->sets);
    memset(w->values, 0xaa, w->n * sizeof w->values[0]);
}

static void watch(struct trial *t)
{
    for (size_t s = 0; s < t->w.n; s++)
        for (size_t i = 0; i < t->w.s[s].n && !t->w.s[s].unseen; i++) {
            const struct plan_value *v = &t->w.values[s][i];
            struct shadow *sh = &t->v[s][i];

            if (sh->seen && !sh->uncertain && sh->was_on && !v->published)
                sh->off = true;
            if (v->published || v->healthy == TRI_FALSE)
                sh->off = false;
            if (v->healthy == TRI_FALSE && !v->maintenance)
                sh->returning = true;
            else if (v->published)
                sh->returning = false;
            if (v->maintenance)
                ;
            else if (v->healthy == TRI_FALSE)
                sh->healthy_since_ms = 0;
            else if (v->healthy == TRI_TRUE && sh->healthy_since_ms == 0)
                sh->healthy_since_ms = t->w.now_ms;
            sh->seen = true;
            sh->was_on = v->published;
            sh->uncertain = v->memory->uncertain; /* held: still so */
            sh->put_in = v->memory->put_in;
        }
}

static void log_add(int64_t *log, size_t *n, int64_t now_ms)
{
    assert_true(*n < LOG_MOST);
    log[(*n)++] = now_ms;
}

static void on_reclaimed(struct trial *t, size_t s, struct shadow *sh)
{
    int64_t *at = sh->reclaims_ms;

    memmove(at + 1, at, 3 * sizeof *at);
    at[0] = t->w.now_ms;
    MUST(t, s,
         at[3] == 0 || at[0] - at[3] >= HOUR_MS ||
             t->w.s[s].type == SPEC_CNAME);
}

static void on_written(struct trial *t, size_t s, size_t i)
{
    const struct plan_value *v = &t->w.values[s][i];
    const struct pw_value *at = &t->w.s[s].v[i];
    struct shadow *sh = &t->v[s][i];

    if (v->twin > 0)
        return;
    sh->uncertain = at->memory.uncertain;
    if (v->publish == v->published) { /* nothing, or made sure of */
        sh->changed_ms = at->writes.last_ms;
        return;
    }
    t->clean = t->clean && at->write == PW_DONE && at->on == v->publish;
    sh->was_on = at->on;
    if (at->write != PW_DONE || at->on != v->publish)
        return;
    sh->changed_ms = t->w.now_ms;
    sh->switches++;
    sh->returning = sh->returning && !v->publish;
    if (!v->publish && sh->put_in)
        on_reclaimed(t, s, sh);
    if (plan_is_check_withdrawal(v)) {
        log_add(t->all_ms, &t->nall, t->w.now_ms);
        if (!t->was_braked[s])
            log_add(t->free_ms, &t->nfree, t->w.now_ms);
    }
}

static void play(struct trial *t)
{
    static struct pw before;
    bool twice = t->seed % 8 == 0;

    t->w.now_ms += t->w.step_ms;
    pw_probe(&t->w);
    if (twice)
        before = t->w;
    for (size_t s = 0; s < t->w.n; s++) {
        t->was_braked[s] = t->w.s[s].memory.brake_since_ms != 0;
    }
    pw_plan(&t->w);
    watch(t);
    check_plan(t);
    if (twice)
        check_same(t, &before);
    pw_apply(&t->w);
    t->clean = true;
    for (size_t s = 0; s < t->w.n; s++) {
        for (size_t i = 0; i < t->w.s[s].n; i++)
            on_written(t, s, i);
        MUST(t, s,
             !t->w.s[s].emptied ||
                 t->w.sets[s].decision.rule == DECIDE_ALL_DOWN_NONE);
    }
    if (twice && t->clean)
        check_nothing_left(t);
}

/* The world stands still: after the waits that the spec names nothing
 * changes any more, and nothing goes to and fro. */
static void check_quiet(struct trial *t)
{
    size_t last = 0;

    t->w.blind = t->w.learning = false;
    for (size_t s = 0; s < t->w.n; s++) {
        t->w.s[s].unseen = t->w.s[s].frozen = false;
        for (size_t i = 0; i < t->w.s[s].n; i++) {
            t->w.s[s].v[i].write = PW_DONE;
            t->v[s][i].switches = 0;
        }
    }
    for (t->round = 100; t->round < 180; t->round++) {
        t->w.step_ms = t->round < 120 ? 10000 : 90000;
        play(t);
        last = t->w.done > 0 ? (size_t)t->round : last;
    }
    for (size_t s = 0; s < t->w.n; s++)
        for (size_t i = 0; i < t->w.s[s].n; i++)
            MUST(t, s, t->v[s][i].switches <= 2);
    MUST(t, 0, last < 170);
}

static void test_plan(void **state)
{
    static struct trial t;
    const uint64_t *seed = *state;
    uint64_t cases = env_number("DNSFAILOVER_CASES", CASES);

    for (uint64_t c = 0; c < cases; c++) {
        int rounds;

        memset(&t, 0, sizeof t);
        t.seed = *seed + c;
        t.rng.at = t.seed;
        random_world(&t.rng, &t.w);
        t.flappy = rng_percent(&t.rng, 10);
        rounds = (t.flappy ? 30 : 3) + (int)rng_below(&t.rng, 12);
        for (t.round = 0; t.round < rounds; t.round++) {
            happen(&t);
            if (rng_percent(&t.rng, 10))
                restart(&t.w);
            play(&t);
        }
        if (t.seed % (CASES / 20) == 0)
            pw_through_file(&t.w);
        if (t.seed % 8 == 0)
            check_quiet(&t);
    }
}

int main(void)
{
    uint64_t seed = env_number("DNSFAILOVER_SEED", (uint64_t)time(NULL) << 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_plan, &seed),
    };

    (void)printf("DNSFAILOVER_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
