#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/engine/round_internal.h"

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
static bool is_blind(struct round *r)
{
    const struct config *cfg = r->cfg;

    return cfg->nanchors > 0 &&
           !checks_anchors_answer(r->loop, r->probes, cfg->anchors,
                                  cfg->nanchors, r->end_ms);
}

static bool may_go_lower(const struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++)
        for (size_t s = 0; s < r->zones[i]->plan.nsets; s++) {
            const struct spec_set *set = r->zones[i]->claims[s].set;

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

        c->want_streak = 2 * c->rule.required_failure;
    }
    checks_run(r->checks, round_share(r, 80), on_progress, r);
}

static void tell_value(struct round_zone *z, const struct plan_set *ps,
                       const struct plan_value *pv, struct round_value *rv)
{
    const char *type = spec_type_name(ps->type), *why = "";
    bool first = !pv->memory->seen;

    for (size_t c = 0; c < rv->nchecks; c++) {
        const struct check *k = rv->checks[c];

        if (k != NULL && (*why == '\0' || k->row->health.state == HEALTH_DOWN))
            why = k->row->note != NULL ? k->row->note : "";
    }
    if (pv->healthy == TRI_FALSE &&
        (first || rv->row->healthy || rv->row->unknown))
        round_tell(z->round, ROUND_UNAVAILABLE, z->name, ps->name, type,
                   pv->data, false, why);
    else if (pv->healthy == TRI_TRUE && !first && !rv->row->healthy &&
             !rv->row->unknown)
        round_tell(z->round, ROUND_AVAILABLE, z->name, ps->name, type, pv->data,
                   false, why);
    rv->row->healthy = pv->healthy == TRI_TRUE;
    rv->row->unknown = pv->healthy == TRI_UNKNOWN;
    state_text(&rv->row->note, why);
}

static void tell_zone(struct round_zone *z)
{
    for (size_t s = 0; s < z->plan.nsets; s++) {
        const struct plan_set *ps = &z->plan.sets[s];

        for (size_t k = 0; k < ps->nvalues; k++) {
            struct round_value *rv = &z->sets[s].values[k];

            if (rv->record != NULL)
                tell_value(z, ps, &ps->values[k], rv);
        }
    }
}

static void report_checks(struct round *r)
{
    for (size_t i = 0; i < checks_count(r->checks); i++) {
        const struct check *c = checks_at(r->checks, i);
        const struct health *h = &c->row->health;
        const char *note = c->row->note != NULL ? c->row->note : "no result";
        char target[ADDR_TEXT_SIZE];

        addr_format(&c->probe.target, target);
        round_detail(r, "", "check %s %s: %s%s", target, note,
                     health_state_name(h->state),
                     health_is_settled(h) ? "" : ", in transition");
        if (c->locals >= CHECKS_LOCAL_TRIES)
            round_problem(r, "", c->key,
                          "%s could not be probed by this agent: %s; its state "
                          "stays %s",
                          target, note, health_state_name(h->state));
        else if (h->state == HEALTH_DOWN && !h->ever_up)
            round_warn(r, "", c->key,
                       "%s has never been up: %s (a typo? a firewall?)", target,
                       note);
    }
}

void round_probe(struct round *r)
{
    bool blind = is_blind(r);

    checks_run(r->checks, round_share(r, 75), on_progress, r);
    look_again(r);
    blind = blind || is_blind(r);
    if (blind)
        round_problem(r, "", "anchors",
                      "no anchor answers: the agent may be cut off and "
                      "changes nothing");
    round_judge(r);
    report_checks(r);
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        if (z->failed)
            continue;
        z->plan.blind = blind;
        z->plan.alone = r->cfg->nanchors == 0 && checks_count(r->checks) > 0 &&
                        !checks_any_up(r->checks);
        if (!blind)
            tell_zone(z);
    }
}
