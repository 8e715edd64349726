#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service_internal.h"

/* Probes, continuously. A check that several zones name is one entry: it is
 * probed and counted once, and all of them are touched. */

#define TICK_MS 10 /* starts are gathered */

/* A probe that is out. */
struct service_flight {
    struct service *svc;
    struct sched_group *group;
    struct service_epoch *epoch; /* keeps check alive */
    const struct check *check;
    bool repeated; /* it is the repetition of a timeout */
    struct service_flight *prev, *next;
};

/* --- what a result says ----------------------------------------------------
 */

static void note(struct service_entry *n, const char *text)
{
    if (n->row->note == NULL || strcmp(n->row->note, text) != 0)
        state_text(&n->row->note, text);
}

static void touch(struct service_entry *n, bool changed)
{
    for (size_t i = 0; i < n->n; i++) {
        struct service_zone *z = n->users[i].epoch->zone;

        /* A held set waits for more failures of what is down already. */
        if (z->now != n->users[i].epoch || (!changed && !z->held))
            continue;
        world_touch(z->now->rz->world, n->users[i].check);
        z->step_now = true;
        n->svc->woken = true;
    }
}

static void tell_local(struct service_entry *n, enum health_result result)
{
    struct round *r = &n->svc->gen->round;
    char where[NAME_SIZE];

    if (result != HEALTH_LOCAL) {
        if (n->locals >= CHECK_RUN_LOCAL_TRIES)
            service_problem_over(n->svc, "", n->key);
        n->locals = 0;
        return;
    }
    if (++n->locals != CHECK_RUN_LOCAL_TRIES)
        return;
    checks_where(n->users[0].check, where, sizeof where);
    round_problem(r, "", n->key,
                  "%s could not be probed by this agent: %s; its state stays "
                  "%s",
                  where, n->row->note, health_state_name(n->row->health.state));
}

static void tell_change(struct service_entry *n)
{
    struct round *r = &n->svc->gen->round;
    const struct health *h = &n->row->health;
    char where[NAME_SIZE];

    checks_where(n->users[0].check, where, sizeof where);
    round_detail(r, "", "check %s %s: %s", where, n->row->note,
                 health_state_name(h->state));
    if (h->state == HEALTH_DOWN && !h->ever_up)
        round_warn(r, "", n->key,
                   "%s has never been up: %s (a typo? a firewall?)", where,
                   n->row->note);
    else
        service_problem_over(n->svc, "", n->key);
    service_changed(n->svc);
}

/* --- results ---------------------------------------------------------------
 */

static void count_up(struct service *svc)
{
    bool alone =
        svc->gen->cfg->nanchors == 0 && svc->nup == 0 && svc->entries != NULL;

    if (alone != svc->alone) {
        struct service_zone *z;

        DL_FOREACH2(svc->zones, z, next_zone)
        {
            z->step_now = true;
        }
        svc->woken = true;
    }
    svc->alone = alone;
}

struct taker {
    struct service *svc;
    const struct check_shot_result *shot;
};

/* No check at all is up: each that is down must fail as often again. */
static bool is_wanted(const struct service_entry *n)
{
    const struct health *h = &n->row->health;

    return n->svc->hurried && h->state == HEALTH_DOWN &&
           h->streak / 2 < n->users[0].check->rule.required_failure;
}

static bool take(void *arg, void *entry)
{
    const struct taker *t = arg;
    struct service_entry *n = entry;
    struct health *h = &n->row->health;
    bool was_up = h->state == HEALTH_UP;
    bool changed = health_feed(h, &n->users[0].check->rule, t->shot->result,
                               state_now_ms());

    note(n, t->shot->note);
    t->svc->nup -= was_up;
    t->svc->nup += h->state == HEALTH_UP;
    if (t->shot->result == HEALTH_LOCAL || n->locals > 0)
        tell_local(n, t->shot->result);
    touch(n, changed);
    if (changed) {
        tell_change(n);
        count_up(t->svc);
    }
    return sched_is_calm(h, t->shot->result) && !is_wanted(n);
}

static void arm(struct service *svc);

static void on_shot(void *arg, const struct check_shot_result *s)
{
    struct service_flight *f = arg;
    struct service *svc = f->svc;
    struct taker t = {svc, s};
    const struct service_entry *n = sched_arg(f->group);

    /* One lost SYN is not an outage. */
    if (n != NULL && f->check->spec->repeat_timeout && !f->repeated &&
        s->timed_out && svc->stop == 0 && n->row->health.state != HEALTH_DOWN) {
        f->repeated = true;
        check_shot(f->epoch->gen->shots, f->check, on_shot, f);
        return;
    }
    sched_result(svc->sched, f->group, take, &t);
    DL_DELETE(svc->flights, f);
    service_epoch_unref(f->epoch);
    free(f);
    arm(svc);
}

/* --- starts ----------------------------------------------------------------
 */

static void launch(struct service *svc, struct sched_group *g, int64_t now_ms)
{
    const struct service_entry *n = sched_arg(g);
    struct service_flight *f = mem_alloc(sizeof *f);

    f->svc = svc;
    f->group = g;
    f->epoch = n->users[0].epoch;
    f->epoch->refs++;
    f->check = n->users[0].check;
    DL_APPEND(svc->flights, f);
    sched_started(svc->sched, g, now_ms);
    check_shot(f->epoch->gen->shots, f->check, on_shot, f);
}

static void on_tick(uv_timer_t *h)
{
    struct service *svc = h->data;
    int64_t now_ms = clock_mono_ms(), at_ms;
    struct sched_group *g;

    svc->tick_at_ms = SERVICE_NEVER;
    while (svc->stop == 0 && (g = sched_next_due(svc->sched, &at_ms)) != NULL &&
           at_ms <= now_ms)
        launch(svc, g, now_ms);
    arm(svc);
}

static void arm(struct service *svc)
{
    int64_t now_ms = clock_mono_ms(), at_ms;

    if (svc->stop > 0 || sched_next_due(svc->sched, &at_ms) == NULL)
        return;
    at_ms = at_ms < now_ms ? now_ms : at_ms;
    at_ms = (at_ms + TICK_MS - 1) / TICK_MS * TICK_MS;
    if (at_ms >= svc->tick_at_ms)
        return;
    svc->tick_at_ms = at_ms;
    uv_update_time(loop_uv(svc->loop));
    (void)uv_timer_start(svc->tick, on_tick, (uint64_t)(at_ms - now_ms), 0);
}

void service_probe_hurry(struct service *svc, bool down_only)
{
    struct service_entry *n;

    for (n = svc->entries; n != NULL; n = n->hh.next)
        if (n->sched != NULL &&
            (!down_only || n->row->health.state == HEALTH_DOWN))
            sched_hurry(svc->sched, n->sched);
    arm(svc);
}

/* --- entries ---------------------------------------------------------------
 */

static struct sched_pace pace_of(const struct service_entry *n)
{
    struct sched_pace p = {INT64_MAX, INT64_MAX};

    for (size_t i = 0; i < n->n; i++) {
        const struct check *c = n->users[i].check;

        if (c->rule.access_period_ms < p.period_ms)
            p.period_ms = c->rule.access_period_ms;
        if (c->retry_period_ms < p.retry_ms)
            p.retry_ms = c->retry_period_ms;
    }
    return p;
}

static void schedule(struct service_entry *n)
{
    struct service *svc = n->svc;
    struct sched_pace p = pace_of(n);
    const struct check *c = n->users[0].check;

    if (n->sched != NULL && p.period_ms == n->pace.period_ms &&
        p.retry_ms == n->pace.retry_ms)
        return;
    if (n->sched != NULL)
        sched_remove(svc->sched, n->sched);
    n->pace = p;
    n->sched = sched_add(svc->sched, c->probe_key, &p, n, clock_mono_ms());
}

/* A problem of the last run stands until a result says otherwise. */
static void recall_problem(struct service_entry *n)
{
    const struct health *h = &n->row->health;
    struct state_problem *p = NULL;
    char *key = mem_printf("|%s", n->key);

    HASH_FIND_STR(state_problems(n->svc->state), key, p);
    free(key);
    if (p == NULL)
        return;
    p->used = true;
    if (h->state != HEALTH_DOWN || h->ever_up)
        n->locals = CHECK_RUN_LOCAL_TRIES;
}

static struct service_entry *entry_get(struct service *svc,
                                       const struct check *c)
{
    struct service_entry *n = NULL;

    HASH_FIND_STR(svc->entries, c->key, n);
    if (n != NULL)
        return n;
    n = mem_alloc(sizeof *n);
    n->svc = svc;
    n->row = c->row;
    n->key = c->row->key;
    HASH_ADD_KEYPTR(hh, svc->entries, n->key, strlen(n->key), n);
    svc->nup += n->row->health.state == HEALTH_UP;
    recall_problem(n);
    return n;
}

static void entry_drop(struct service_entry *n)
{
    struct service *svc = n->svc;

    if (n->sched != NULL)
        sched_remove(svc->sched, n->sched);
    HASH_DEL(svc->entries, n);
    svc->nup -= n->row->health.state == HEALTH_UP;
    if (svc->stop == 0)
        service_problem_over(svc, "", n->key);
    n->row->used = false;
    free(n->users);
    free(n);
}

/* First all users, then the pace: each entry is scheduled once. */
void service_probe_add(struct service_epoch *e)
{
    struct checks *checks = e->round.checks;

    e->nentries = checks_count(checks);
    e->entries = mem_array(e->nentries, sizeof(struct service_entry *));
    for (size_t i = 0; i < e->nentries; i++) {
        struct check *c = checks_at(checks, i);
        struct service_entry *n = entry_get(e->gen->svc, c);

        n->users = mem_grow(n->users, &n->cap, n->n, sizeof *n->users);
        n->users[n->n].epoch = e;
        n->users[n->n++].check = c;
        n->row->used = true;
        e->entries[i] = n;
        schedule(n);
    }
    count_up(e->gen->svc);
    arm(e->gen->svc);
}

void service_probe_remove(struct service_epoch *e)
{
    for (size_t i = 0; i < e->nentries; i++) {
        struct service_entry *n = e->entries[i];
        size_t k = 0;

        for (size_t j = 0; j < n->n; j++)
            if (n->users[j].epoch != e)
                n->users[k++] = n->users[j];
        n->n = k;
        if (n->n == 0)
            entry_drop(n);
        else
            schedule(n);
    }
    e->nentries = 0;
    count_up(e->gen->svc);
}

/* --- beginning and end -----------------------------------------------------
 */

void service_probe_start(struct service *svc)
{
    svc->sched = sched_new((uint64_t)clock_mono_ns());
    svc->tick = mem_alloc(sizeof *svc->tick);
    (void)uv_timer_init(loop_uv(svc->loop), svc->tick);
    svc->tick->data = svc;
    svc->tick_at_ms = SERVICE_NEVER;
}

static void free_handle(uv_handle_t *h)
{
    free(h);
}

void service_probe_drop(struct service *svc)
{
    struct service_flight *f, *next;

    DL_FOREACH_SAFE(svc->flights, f, next)
    {
        DL_DELETE(svc->flights, f);
        service_epoch_unref(f->epoch);
        free(f);
    }
}

void service_probe_stop(struct service *svc)
{
    struct service_entry *n, *next;

    if (svc->tick != NULL)
        uv_close((uv_handle_t *)svc->tick, free_handle);
    svc->tick = NULL;
    HASH_ITER(hh, svc->entries, n, next)
    {
        HASH_DEL(svc->entries, n);
        free(n->users);
        free(n);
    }
    sched_free(svc->sched);
    svc->sched = NULL;
}
