#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/service_internal.h"

/* A blind agent does not act: the anchors are asked now and then, and again
 * before anything is written. When they answer again, what was found in the
 * dark is found anew before it counts. */

#define ASK_EVERY_MS 10000
#define ASK_BLIND_MS 2000
#define ASK_TIMEOUT_MS 2000
#define RETURN_MOST_MS 60000

static void ask(struct service *svc);

/* Every check that is not up has had a result in the light. */
static bool is_seen_anew(const struct service *svc)
{
    const struct state_check *row;

    for (size_t at = 0; (row = state_checks(svc->state, &at)) != NULL;) {
        const struct health *h = &row->health;

        if (row->entry != NULL && h->state != HEALTH_UP &&
            (h->last_ms <= svc->anchors.back_boot_ms || !health_is_settled(h)))
            return false;
    }
    return true;
}

static void set_blind(struct service *svc, bool blind)
{
    struct round *r = &svc->gen->round;
    char text[200];

    if (blind == svc->anchors.blind)
        return;
    service_work_before(svc);
    svc->anchors.blind = blind;
    if (blind)
        round_problem(r, "", "anchors", "%s",
                      check_run_blind_text(svc->anchors.note, text));
    else
        service_problem_over(svc, "", "anchors");
    service_work_after(svc);
    service_changed(svc);
}

static void take_answer(struct service *svc)
{
    struct service_anchors *a = &svc->anchors;

    a->asking = false;
    a->asked_ms = a->started_ms;
    a->next_ms = clock_mono_ms() + (a->answered ? ASK_EVERY_MS : ASK_BLIND_MS);
    if (!a->answered) {
        a->returning = false;
        set_blind(svc, true);
    } else if (a->blind && !a->returning) {
        a->returning = true;
        a->back_ms = clock_mono_ms();
        a->back_boot_ms = state_now_ms();
        service_probe_hurry(svc, false);
    }
    svc->woken = true;
}

/* source: an anchor that refuses answered over the network, too */
static void on_anchor(void *arg, const struct probe_result *r)
{
    struct service *svc = arg;
    struct service_anchors *a = &svc->anchors;

    if (r->verdict == PROBE_OK || r->reason == PROBE_CONNECT)
        a->answered = true;
    check_run_anchor_note(r, a->note);
    if (--a->waiting > 0)
        return;
    if (!a->answered && !a->again) {
        a->again = true; /* one lost packet is not an outage */
        ask(svc);
        return;
    }
    take_answer(svc);
}

/* An anchor at an address that was probed just now. */
struct service_turn {
    struct service *svc;
    struct probe_spec spec;
    struct loop_timer *timer;
    struct service_turn *prev, *next;
};

static void turn_free(struct service_turn *t)
{
    DL_DELETE(t->svc->anchors.turns, t);
    loop_timer_cancel(t->timer);
    free(t);
}

static void on_turn(void *arg)
{
    struct service_turn *t = arg;

    t->timer = NULL;
    probes_start(t->svc->probes, &t->spec, on_anchor, t->svc);
    turn_free(t);
}

void service_anchor_stop(struct service *svc)
{
    while (svc->anchors.turns != NULL)
        turn_free(svc->anchors.turns);
}

static void ask_one(struct service *svc, const struct addr *anchor)
{
    struct probe_spec spec = check_run_anchor(anchor, ASK_TIMEOUT_MS);
    int64_t ms = check_shots_turn_ms(svc->gen->shots, anchor);
    struct service_turn *t;

    if (ms <= 0) {
        probes_start(svc->probes, &spec, on_anchor, svc);
        return;
    }
    t = mem_alloc(sizeof *t);
    t->svc = svc;
    t->spec = spec;
    t->timer = loop_timer_start(svc->loop, ms, on_turn, t);
    DL_APPEND(svc->anchors.turns, t);
}

static void ask(struct service *svc)
{
    const struct config *cfg = svc->gen->cfg;

    svc->anchors.waiting = cfg->nanchors;
    for (size_t i = 0; i < cfg->nanchors; i++)
        ask_one(svc, &cfg->anchors[i]);
}

static void start(struct service *svc)
{
    struct service_anchors *a = &svc->anchors;

    a->asking = true;
    a->again = a->answered = false;
    a->note[0] = '\0';
    a->started_ms = clock_mono_ms();
    ask(svc);
}

bool service_anchor_sure(struct service *svc, int64_t since_ms)
{
    struct service_anchors *a = &svc->anchors;

    if (svc->gen->cfg->nanchors == 0)
        return true;
    if (a->asked_ms >= since_ms)
        return !a->blind;
    if (!a->asking)
        start(svc);
    return false;
}

void service_anchor_turn(struct service *svc, int64_t now_ms, int64_t *next_ms)
{
    struct service_anchors *a = &svc->anchors;

    if (svc->gen->cfg->nanchors == 0) {
        a->returning = false;
        set_blind(svc, false);
        return;
    }
    if (a->returning &&
        (is_seen_anew(svc) || now_ms - a->back_ms > RETURN_MOST_MS)) {
        a->returning = false;
        set_blind(svc, false);
    }
    if (!a->asking && now_ms >= a->next_ms && svc->stop == 0)
        start(svc);
    if (!a->asking && a->next_ms < *next_ms)
        *next_ms = a->next_ms;
}
