#include <stdlib.h>
#include <string.h>

#include "agent/engine/round/round_internal.h"

/* Seventh stage: the plan is carried out, or only told. The one place that
 * calls a provider's apply. */

#define WRITE_GRACE_MS 90000

static const char *reason_of(const struct round_zone *z, size_t s, size_t k)
{
    const struct plan_value *v = &z->world->plan.sets[s].values[k];

    if (v->publish == v->published)
        return "made sure of, after a write whose outcome was not known";
    if (!v->publish && v->dropped)
        return "no longer in the spec";
    if (!v->publish && v->healthy == TRI_FALSE)
        return "its checks fail";
    return plan_reason(&z->world->plan.sets[s]);
}

/* --- only told ----------------------------------------------------------- */

void round_would(struct round_zone *z)
{
    struct round *r = z->round;

    for (size_t s = 0; s < z->world->plan.nsets; s++) {
        const struct plan_set *ps = &z->world->plan.sets[s];

        for (size_t k = 0; k < ps->nvalues; k++) {
            const struct plan_value *v = &ps->values[k];
            struct state_value *row = state_value_of(v->memory);
            bool change = plan_is_change(v);

            r->result.changes += change;
            if (change && (r->o->plan_only || !row->would))
                round_tell(r, ROUND_WOULD, z->name, ps->name,
                           z->world->sets[s].label, v->data, v->publish,
                           reason_of(z, s, k));
            row->would = change;
        }
    }
}

/* --- carried out --------------------------------------------------------- */

static void collect(struct round_zone *z, size_t s, bool publish)
{
    const struct plan_set *ps = &z->world->plan.sets[s];
    struct round_audience *a = round_audience_of(z, s);

    for (size_t k = 0; k < ps->nvalues; k++) {
        const struct plan_value *v = &ps->values[k];
        struct change *c = &a->changes[a->nchanges];

        if (!a->observed || !plan_is_change(v) || v->publish != publish)
            continue;
        c->op = publish ? CHANGE_PUBLISH : CHANGE_WITHDRAW;
        c->set = s;
        c->name = ps->name;
        c->type = round_rr_type(ps->type);
        c->data = v->data;
        c->ttl_s = v->ttl_s;
        c->confirm = v->confirm;
        a->refs[a->nchanges].set = s;
        a->refs[a->nchanges].value = k;
        v->memory->uncertain = true;
        a->nchanges++;
        z->nchanges++;
    }
}

static void remember_withdrawal(struct round_zone *z)
{
    int64_t *t = z->row->withdrawn_ms;
    size_t n = sizeof z->row->withdrawn_ms / sizeof t[0];

    memmove(t + 1, t, (n - 1) * sizeof t[0]);
    t[0] = z->world->plan.now_ms != 0 ? z->world->plan.now_ms : 1;
}

/* whole: what is set beside a done change is what follows it (a serial that
 * did not rise): to be made sure of at the next look. */
static void on_done(struct round_zone *z, size_t s, size_t k,
                    const struct err *whole)
{
    struct plan_set *ps = &z->world->plan.sets[s];
    struct plan_value *v = &ps->values[k];

    const char *reason = reason_of(z, s, k); /* before it is done */

    if (whole->code != ERR_NONE && v->publish == v->published) {
        v->memory->uncertain = true; /* nothing new to tell yet */
        return;
    }
    if (z->live != NULL) {
        live_done(z->live, s, k, z->world->plan.now_ms);
    } else {
        if (plan_is_check_withdrawal(v))
            remember_withdrawal(z);
        plan_done(ps, v, z->world->plan.now_ms, false);
        if (v->dropped && !v->publish)
            v->memory->withdrawn = false; /* done with, not switched off */
    }
    v->memory->uncertain = whole->code != ERR_NONE;
    state_value_of(v->memory)->published = v->publish;
    state_value_of(v->memory)->would = false;
    z->round->result.changes++;
    round_tell(z->round, v->publish ? ROUND_PUBLISHED : ROUND_WITHDRAWN,
               z->name, ps->name, z->world->sets[s].label, v->data, v->publish,
               reason);
}

static void on_not_done(const struct round_audience *to, size_t s, size_t k,
                        const struct change_result *res,
                        const struct err *whole)
{
    struct round_zone *z = to->zone;
    struct plan_set *ps = &z->world->plan.sets[s];
    struct plan_value *v = &ps->values[k];
    const char *why = res->err.code != ERR_NONE ? res->err.msg
                      : whole->code != ERR_NONE ? whole->msg
                                                : "given up with its set";
    const char *view = ps->view != NULL ? ps->view : "";
    char key[NAME_SIZE + 192];

    (void)snprintf(key, sizeof key, "write %s %.60s%s%s", ps->name, v->data,
                   ps->view != NULL ? " view " : "", view);
    v->memory->uncertain = res->state == CHANGE_UNKNOWN || v->confirm;
    /* It may have happened: the brake counts it rather twice than never. */
    if (res->state == CHANGE_UNKNOWN && plan_is_check_withdrawal(v))
        remember_withdrawal(z);
    round_problem(z->round, z->name, key,
                  "%s (%s%s%s) could not be %s at provider %s: %s%s", ps->name,
                  v->data, ps->view != NULL ? ", view " : "", view,
                  v->publish ? "published" : "withdrawn", to->cfg->name, why,
                  res->state == CHANGE_UNKNOWN
                      ? "; whether it happened is read back at the next look"
                      : "");
}

static void on_applied(void *arg, const struct provider_apply *a)
{
    const struct round_audience *to = arg;
    struct round_zone *z = to->zone;
    struct round *r = z->round;
    char key[80];

    (void)snprintf(key, sizeof key, "apply%s%s",
                   to->view != NULL ? " view " : "",
                   to->view != NULL ? to->view->name : "");
    if (a->err.code != ERR_NONE)
        round_problem(r, z->name, key, "%s provider %s: %s", z->name,
                      to->cfg->name, a->err.msg);
    for (size_t i = 0; i < to->nchanges; i++) {
        struct change_result none = {CHANGE_UNKNOWN, a->err};
        const struct change_result *res = i < a->n ? &a->results[i] : &none;

        if (res->state == CHANGE_DONE)
            on_done(z, to->refs[i].set, to->refs[i].value, &a->err);
        else
            on_not_done(to, to->refs[i].set, to->refs[i].value, res, &a->err);
    }
    if (a->has_serial && to->view == NULL) {
        z->row->has_serial = true;
        z->row->serial = a->serial;
    }
    if (a->has_serial)
        round_detail(r, z->name, "%s provider %s: serial is now %u", z->name,
                     to->cfg->name, a->serial);
    round_end(r);
}

void round_prepare(struct round_zone *z)
{
    struct round *r = z->round;
    size_t most = 0;

    for (size_t s = 0; s < z->world->plan.nsets; s++)
        most += z->world->plan.sets[s].nchanges;
    if (most == 0)
        return;
    for (size_t i = 0; i < z->naudiences; i++) {
        struct round_audience *a = &z->audiences[i];

        a->nchanges = 0;
        a->changes = arena_array(r->arena, most, sizeof *a->changes);
        a->refs = arena_array(r->arena, most, sizeof *a->refs);
    }
    for (size_t s = 0; s < z->world->plan.nsets; s++) {
        collect(z, s, true);
        collect(z, s, false);
    }
}

/* A run that is ended between the write and its save must not take its own
 * change for somebody else's: what is about to be written is saved as
 * uncertain first. A full disk is told, but stops no failover. */
static void save_intent(struct round *r)
{
    struct err e;

    for (size_t i = 0; i < r->nzones; i++)
        world_save(r->zones[i]->world);
    if (state_save(r->state, &e) != 0)
        round_problem(r, "", "state", "%s", e.msg);
}

static void send_to(struct round_audience *a)
{
    struct change_set set = {.zone = a->zone->name,
                             .v = a->changes,
                             .n = a->nchanges,
                             .create = a->zone->cfg->create,
                             .comment = "dnsfailover: health checks"};

    round_begin(a->zone->round);
    a->provider->ops->apply(a->provider, &set, on_applied, a);
}

void round_send(struct round_zone *z)
{
    for (size_t i = 0; i < z->naudiences; i++)
        if (z->audiences[i].nchanges > 0)
            send_to(&z->audiences[i]);
}

void round_apply(struct round *r)
{
    size_t changes = 0;

    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        if (z->failed || !z->observed)
            continue;
        if (r->o->plan_only || z->cfg->observe)
            round_would(z);
        else
            round_prepare(z);
        changes += z->nchanges;
    }
    if (changes == 0)
        return;
    save_intent(r);
    for (size_t i = 0; i < r->nzones; i++)
        if (r->zones[i]->nchanges > 0)
            round_send(r->zones[i]);
    /* What is half written is brought to its end, past the deadline too. */
    if (r->waiting > 0 &&
        !loop_wait(r->loop, &r->idle, r->end_ms + WRITE_GRACE_MS))
        round_problem(r, "", "apply",
                      "some provider did not answer in time; what it did is "
                      "read back at the next look");
}
