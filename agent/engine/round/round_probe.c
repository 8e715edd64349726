#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"

/* Fifth stage: probe until every check has a verdict, and tell what changed.
 */

static void on_progress(void *arg, size_t done, size_t all)
{
    struct round *r = arg;

    if (r->o->progress != NULL)
        r->o->progress(r->o->progress_arg, "probing", done, all);
}

/* Anchors are asked before and after: an uplink that fails in between must
 * not look like an outage of the targets. */
static bool is_blind(struct round *r, char note[PROBE_NOTE_SIZE])
{
    const struct config *cfg = r->cfg;

    return cfg->nanchors > 0 &&
           !check_run_anchors(r->loop, r->probes, r->run, cfg->anchors,
                              cfg->nanchors, r->end_ms, note);
}

static bool may_go_lower(const struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++)
        for (size_t s = 0; s < r->zones[i]->world->plan.nsets; s++) {
            const struct spec_set *set = r->zones[i]->world->claims[s].set;

            if (set->nfallback > 0 || set->all_down != SPEC_KEEP)
                return true;
        }
    return false;
}

/* Without anchors, when nothing at all is up any more, each check must fail
 * as often again. */
static void look_again(struct round *r)
{
    if (r->cfg->nanchors > 0 || checks_count(r->checks) == 0 ||
        checks_any_up(r->checks) || !may_go_lower(r))
        return;
    for (size_t i = 0; i < checks_count(r->checks); i++) {
        struct check *c = checks_at(r->checks, i);

        check_run_of(r->run, c)->want_streak = 2 * c->spec->required_failure;
    }
    check_run_go(r->run, round_share(r, 80), on_progress, r);
}

void round_tell_value(struct round_zone *z, size_t set, size_t value)
{
    const struct plan_set *ps = &z->world->plan.sets[set];
    const struct plan_value *pv = &ps->values[value];
    struct state_value *row = state_value_of(pv->memory);
    const char *type = z->world->sets[set].label;
    const char *why = world_note(z->world, &z->world->sets[set], value);
    bool first = !pv->memory->seen;

    if (pv->healthy == TRI_FALSE && (first || row->healthy || row->unknown))
        round_tell(z->round, ROUND_UNAVAILABLE, z->name, ps->name, type,
                   pv->data, false, why);
    else if (pv->healthy == TRI_TRUE && !first && !row->healthy &&
             !row->unknown)
        round_tell(z->round, ROUND_AVAILABLE, z->name, ps->name, type, pv->data,
                   false, why);
    row->healthy = pv->healthy == TRI_TRUE;
    row->unknown = pv->healthy == TRI_UNKNOWN;
    state_note(z->round->state, &row->note, why);
}

static void tell_zone(struct round_zone *z)
{
    for (size_t s = 0; s < z->world->plan.nsets; s++)
        for (size_t k = 0; k < z->world->plan.sets[s].nvalues; k++)
            if (z->world->sets[s].values[k].record != NULL)
                round_tell_value(z, s, k);
}

static void report_check(struct round *r, const struct check *c)
{
    const struct check_run_result *res = check_run_of(r->run, c);
    const struct health *h = &c->row->health;
    const char *note = c->row->note != NULL ? c->row->note : "no result";
    char where[NAME_SIZE];

    checks_where(c, where, sizeof where);
    round_detail(r, "", "check %s %s: %s%s", where, note,
                 health_state_name(h->state),
                 health_is_settled(h) ? "" : ", in transition");
    if (res->locals >= CHECK_RUN_LOCAL_TRIES)
        round_problem(r, "", c->row->key,
                      "%s could not be probed by this agent: %s; its state "
                      "stays %s",
                      where, note, health_state_name(h->state));
    else if (h->state == HEALTH_DOWN && !h->ever_up)
        round_warn(r, "", c->row->key,
                   "%s has never been up: %s (a typo? a firewall?)", where,
                   note);
}

static void judge_all(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++) {
        world_touch_all(r->zones[i]->world);
        (void)world_judge(r->zones[i]->world, state_now_ms());
        world_apply_freezes(r->zones[i]->world, state_now_ms());
    }
    round_overrides(r);
}

/* Whoever brings a spec for this very run means it, and sees a typo. */
static void trust_given(struct round *r)
{
    for (size_t i = 0; r->o->ngiven > 0 && i < checks_count(r->checks); i++)
        checks_at(r->checks, i)->row->health.ever_up = true;
}

void round_probe(struct round *r)
{
    struct check_run_env env = {r->loop,     r->probes,   r->resolver,
                                &r->limits,  r->commands, r->ncommands,
                                r->cfg->doer};
    char note[PROBE_NOTE_SIZE], text[200];
    bool blind;

    r->hooks = check_hooks_new(&env);
    r->run = check_run_new(&env, r->checks);
    blind = is_blind(r, note);
    trust_given(r);
    check_run_go(r->run, round_share(r, 75), on_progress, r);
    look_again(r);
    blind = blind || is_blind(r, note);
    if (blind)
        round_problem(r, "", "anchors", "%s", check_run_blind_text(note, text));
    judge_all(r);
    for (size_t i = 0; i < checks_count(r->checks); i++)
        report_check(r, checks_at(r->checks, i));
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        if (z->failed)
            continue;
        z->world->plan.blind = blind;
        z->world->plan.alone = r->cfg->nanchors == 0 &&
                               checks_count(r->checks) > 0 &&
                               !checks_any_up(r->checks);
        if (!blind)
            tell_zone(z);
    }
}
