#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/service_internal.h"
#include "agent/engine/world/override.h"

/* Deciding, writing and verifying one zone.
 *
 *   IDLE ──new epoch, or looking for others' hands──▶ OBSERVE ──▶ IDLE
 *   IDLE ──changes have waited for debounce──▶ OBSERVE ──▶ APPLY ──▶ IDLE
 *
 * The servers are looked at beside it, as long as something that was written
 * is not seen at all of them. */

#define OBSERVE_EVERY_MS 600000
#define RETRY_FIRST_MS 5000
#define RETRY_MOST_MS 60000
#define LOOK_AFTER_MS 50
#define LOOK_PATIENCE_MS 5000
#define LOOK_FIRST_MS 1000
#define LOOK_MOST_MS 15000
#define SURE_MS 15000 /* an anchor's older answer says nothing */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- deciding ------------------------------------------------------------- */

static void tell_sets(struct service_zone *z)
{
    struct round_zone *rz = z->now->rz;
    size_t n = 0;
    const size_t *sets = live_sets(rz->live, &n);

    if (n == 0)
        return;
    service_problem_begin(z, SERVICE_PROBLEM_SETS);
    for (size_t i = 0; i < n; i++) {
        const struct world_set *set = &rz->world->sets[sets[i]];

        for (size_t k = 0; k < set->plan->nvalues && !z->svc->anchors.blind;
             k++)
            if (set->values[k].record != NULL)
                round_tell_value(rz, sets[i], k);
        round_report_set(rz, sets[i]);
    }
    service_problem_end(z, SERVICE_PROBLEM_SETS);
}

static void take_holds(struct service_zone *z)
{
    struct live *l = z->now->rz->live;

    z->held = false;
    for (int k = PLAN_FREE + 1; k <= PLAN_UNSEEN; k++)
        z->held = z->held || live_holds(l, (enum plan_hold)k);
    z->held_alone = live_holds(l, PLAN_ALONE);
}

/* returns true when there is something to be written */
static bool step(struct service_zone *z, int64_t now_ms)
{
    struct round_zone *rz = z->now->rz;
    int64_t boot_ms = state_now_ms(), next_ms;
    bool due = live_step(rz->live, z->svc->alone, boot_ms);

    z->svc->unsaved = true;
    z->step_now = false;
    tell_sets(z);
    take_holds(z);
    next_ms = live_next(rz->live);
    z->step_at_ms =
        next_ms == INT64_MAX ? SERVICE_NEVER : now_ms + (next_ms - boot_ms);
    if (rz->world->plan.learning) {
        rz->world->plan.learning = false; /* it has learnt */
        live_after_override(rz->live, boot_ms);
        z->step_now = true;
    }
    if (rz->cfg->observe) {
        round_would(rz);
        due = false;
    }
    if (!due)
        z->pending_ms = 0;
    else if (z->pending_ms == 0)
        z->pending_ms = now_ms;
    if (!due && service_problem_stands(z, SERVICE_PROBLEM_WRITE)) {
        service_problem_begin(z, SERVICE_PROBLEM_WRITE);
        service_problem_end(z, SERVICE_PROBLEM_WRITE);
    }
    return due;
}

/* --- writing -------------------------------------------------------------- */

static void retry_later(struct service_zone *z, int64_t now_ms)
{
    z->backoff_ms = z->backoff_ms == 0 ? RETRY_FIRST_MS : 2 * z->backoff_ms;
    if (z->backoff_ms > RETRY_MOST_MS)
        z->backoff_ms = RETRY_MOST_MS;
    z->retry_at_ms = now_ms + z->backoff_ms;
}

static void start_observe(struct service_zone *z, bool write)
{
    struct round_zone *rz = z->now->rz;

    service_round_fini(&z->work_round);
    service_round_init(z->now->gen, &z->work_round);
    rz->round = &z->work_round;
    rz->observed = rz->world->plan.nsets == 0;
    if (z->unseen) { /* what is seen first is how it stood, not a change */
        live_free(rz->live);
        rz->live = NULL;
        z->unseen = false;
    }
    z->write = write;
    z->work = SERVICE_OBSERVE;
    service_problem_begin(z, SERVICE_PROBLEM_OBSERVE);
    round_observe(rz);
}

static void start_apply(struct service_zone *z)
{
    struct round_zone *rz = z->now->rz;

    service_problem_begin(z, SERVICE_PROBLEM_WRITE);
    rz->nchanges = 0;
    round_prepare(rz);
    if (rz->nchanges == 0) {
        service_problem_end(z, SERVICE_PROBLEM_WRITE);
        retry_later(z, clock_mono_ms());
        return;
    }
    /* An end between the write and its save must not make our own change
     * look like somebody else's. */
    (void)service_save(z->svc, NULL);
    z->work = SERVICE_APPLY;
    round_send(rz);
}

/* Results may have come before the provider was looked at: that a value is
 * healthy at first contact is no news, that it is not is. */
static void meet_first(struct world *w)
{
    for (size_t i = 0; i < w->plan.nsets; i++)
        for (size_t k = 0; k < w->plan.sets[i].nvalues; k++)
            if (!w->plan.sets[i].values[k].memory->seen)
                state_value_of(w->plan.sets[i].values[k].memory)->unknown =
                    true;
}

static void make_live(struct service_zone *z)
{
    struct round_zone *rz = z->now->rz;
    struct service *svc = z->svc;
    int64_t boot_ms = state_now_ms();

    rz->world->plan.learning = state_is_lost(svc->state) && !z->learnt;
    z->learnt = rz->observed;
    z->unseen = !rz->observed;
    rz->world->plan.blind = svc->anchors.blind;
    meet_first(rz->world);
    world_apply_freezes(rz->world, boot_ms);
    if (svc->frozen_by_file)
        override_freeze_world(rz->world);
    /* Debounce is counted here: what is written is read again first. */
    rz->live = live_new(rz->world, rz->row, 0, boot_ms);
    z->look_at_ms = 0;
}

static void end_observe(struct service_zone *z, int64_t now_ms)
{
    struct round_zone *rz = z->now->rz;
    bool write = z->write;

    z->svc->unsaved = true;
    z->work = SERVICE_IDLE;
    z->write = false;
    service_problem_end(z, SERVICE_PROBLEM_OBSERVE);
    z->observe_at_ms = now_ms + OBSERVE_EVERY_MS;
    if (rz->live == NULL)
        make_live(z);
    z->step_now = true;
    if (!round_observed_all(rz)) {
        retry_later(z, now_ms);
        z->observe_at_ms = z->retry_at_ms;
    }
    if (!rz->observed)
        return;
    if (write && step(z, now_ms) && z->svc->stop == 0)
        start_apply(z);
    if (z->work == SERVICE_IDLE)
        service_round_clear(&z->work_round);
}

static void end_apply(struct service_zone *z, int64_t now_ms)
{
    struct round_zone *rz = z->now->rz;

    z->work = SERVICE_IDLE;
    rz->nchanges = 0;
    service_round_clear(&z->work_round);
    service_problem_end(z, SERVICE_PROBLEM_WRITE);
    if (service_problem_stands(z, SERVICE_PROBLEM_WRITE) ||
        !round_observed_all(rz))
        retry_later(z, now_ms);
    else
        z->backoff_ms = z->retry_at_ms = 0;
    z->applied++;
    z->pending_ms = 0;
    z->step_now = true;
    z->look_at_ms = now_ms + LOOK_AFTER_MS;
    z->look_pause_ms = LOOK_FIRST_MS;
    (void)service_save(z->svc, NULL);
}

static void turn_idle(struct service_zone *z, int64_t now_ms, int64_t *next_ms)
{
    struct round_zone *rz = z->now->rz;
    int64_t at_ms, since_ms;

    if (z->svc->stop > 0 || z->leaving || z->refresh == SERVICE_READY)
        return;
    if (now_ms >= z->observe_at_ms) {
        start_observe(z, false);
        return;
    }
    *next_ms = earlier(*next_ms, z->observe_at_ms);
    if (rz->live == NULL)
        return;
    if (z->step_now || now_ms >= z->step_at_ms)
        (void)step(z, now_ms);
    *next_ms = earlier(*next_ms, z->step_now ? now_ms : z->step_at_ms);
    if (z->pending_ms == 0)
        return;
    at_ms = z->pending_ms + z->now->debounce_ms;
    if (at_ms < z->retry_at_ms)
        at_ms = z->retry_at_ms;
    since_ms =
        z->pending_ms > now_ms - SURE_MS ? z->pending_ms : now_ms - SURE_MS;
    if (now_ms < at_ms)
        *next_ms = earlier(*next_ms, at_ms);
    else if (service_anchor_sure(z->svc, since_ms))
        start_observe(z, true);
}

/* --- verifying ------------------------------------------------------------ */

static bool is_pending(const struct world *w)
{
    for (size_t s = 0; s < w->plan.nsets; s++)
        for (size_t k = 0; k < w->plan.sets[s].nvalues; k++)
            if (w->plan.sets[s].values[k].memory->pending)
                return true;
    return false;
}

static void start_look(struct service_zone *z)
{
    const struct round_zone *rz = z->now->rz;
    bool slow = rz->provider->ops->caps.publish_ms > LOOK_PATIENCE_MS;

    z->look_at_ms = SERVICE_NEVER;
    if (!is_pending(rz->world))
        return;
    service_round_fini(&z->look_round);
    service_round_init(z->now->gen, &z->look_round);
    z->look_zone = *rz;
    z->look_zone.round = &z->look_round;
    z->look_zone.nchanges = 0;
    z->look_applied = z->applied;
    z->looks = round_look(&z->look_zone, slow ? 0 : LOOK_PATIENCE_MS);
}

static void end_look(struct service_zone *z, int64_t now_ms)
{
    struct round_looks *looks = z->looks;

    z->looks = NULL;
    if (z->look_applied != z->applied) {
        z->look_at_ms = now_ms; /* what was looked for is not what is there */
        return;
    }
    service_problem_begin(z, SERVICE_PROBLEM_LOOK);
    round_looked(&z->look_zone, looks);
    z->svc->unsaved = true;
    service_problem_end(z, SERVICE_PROBLEM_LOOK);
    service_round_clear(&z->look_round);
    if (!is_pending(z->now->rz->world)) {
        (void)service_save(z->svc, NULL);
        return;
    }
    if (z->look_pause_ms < LOOK_FIRST_MS)
        z->look_pause_ms = LOOK_FIRST_MS;
    z->look_at_ms = now_ms + z->look_pause_ms;
    z->look_pause_ms = earlier(2 * z->look_pause_ms, LOOK_MOST_MS);
}

static void turn_look(struct service_zone *z, int64_t now_ms, int64_t *next_ms)
{
    if (z->looks != NULL && z->look_round.waiting == 0)
        end_look(z, now_ms);
    if (z->looks != NULL || z->now->rz->live == NULL || z->svc->stop > 0 ||
        z->leaving || z->refresh == SERVICE_READY)
        return;
    if (now_ms >= z->look_at_ms)
        start_look(z);
    *next_ms = earlier(*next_ms, z->look_at_ms);
}

/* --- the whole ------------------------------------------------------------ */

void service_work_begin(struct service_zone *z)
{
    z->work = SERVICE_IDLE;
    z->observe_at_ms = 0;
    z->step_at_ms = SERVICE_NEVER;
    z->pending_ms = 0;
    z->held = z->held_alone = z->unseen = false;
    z->now->rz->round = &z->work_round;
}

bool service_work_rests(const struct service_zone *z)
{
    return z->work == SERVICE_IDLE && z->looks == NULL;
}

void service_work_turn(struct service_zone *z, int64_t now_ms, int64_t *next_ms)
{
    if (z->work == SERVICE_OBSERVE && z->work_round.waiting == 0)
        end_observe(z, now_ms);
    if (z->work == SERVICE_APPLY && z->work_round.waiting == 0)
        end_apply(z, now_ms);
    if (z->work == SERVICE_IDLE)
        turn_idle(z, now_ms, next_ms);
    if (z->work != SERVICE_IDLE && z->work_round.waiting == 0)
        z->svc->woken = true; /* nobody had to be asked */
    turn_look(z, now_ms, next_ms);
}

/* --- overrides and anchors ------------------------------------------------ */

void service_work_before(struct service *svc)
{
    struct service_zone *z;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        if (z->now != NULL && z->now->rz->live != NULL)
            live_before_override(z->now->rz->live, state_now_ms());
    }
}

void service_work_after(struct service *svc)
{
    struct service_zone *z;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        struct round_zone *rz = z->now != NULL ? z->now->rz : NULL;

        if (rz == NULL || rz->live == NULL)
            continue;
        live_after_override(rz->live, state_now_ms());
        if (svc->frozen_by_file)
            override_freeze_world(rz->world);
        rz->world->plan.blind = svc->anchors.blind;
        z->step_now = true;
    }
    svc->unsaved = true;
    svc->woken = true;
}
