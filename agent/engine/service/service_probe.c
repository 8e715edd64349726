#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/service_internal.h"

/* Probes, continuously. A check that several zones name is one entry: it is
 * probed and counted once, and all of them are touched. */

#define TICK_MS 10 /* starts are gathered */
/* After the loop stood still very many are due: they wait in the schedule,
 * where they take no room. */
#define BACKLOG_MOST 1024
#define STARTS_MOST 64 /* at a time */

/* A probe that is out. */
struct service_flight {
    struct service *svc;
    struct sched_entry *group;   /* stands for it */
    struct service_epoch *epoch; /* keeps check alive */
    const struct check *check;
    bool repeated; /* it is the repetition of a timeout */
    uint32_t id;   /* in flight_room */
    struct service_flight *prev, *next;
};

static struct service_user *users_of(struct service_entry *n)
{
    return n->n > 1 ? n->users.many : &n->users.one;
}

static struct state_check *row_of(struct service_entry *n)
{
    return users_of(n)->check->row;
}

/* --- what a result says ----------------------------------------------------
 */

static void touch(struct service *svc, struct service_entry *n, bool changed)
{
    struct service_user *users = users_of(n);

    for (size_t i = 0; i < n->n; i++) {
        struct service_zone *z = users[i].epoch->zone;

        /* A held set waits for more failures of what is down already. */
        if (z->now != users[i].epoch || (!changed && !z->held))
            continue;
        world_touch(z->now->rz->world, users[i].check);
        z->step_now = true;
        svc->woken = true;
    }
}

static void tell_local(struct service *svc, struct service_entry *n,
                       enum health_result result)
{
    struct round *r = &svc->gen->round;
    const struct state_check *row = row_of(n);
    char where[NAME_SIZE];

    if (result != HEALTH_LOCAL) {
        if (n->locals >= CHECK_RUN_LOCAL_TRIES)
            service_problem_over(svc, "", row->key);
        n->locals = 0;
        return;
    }
    if (++n->locals != CHECK_RUN_LOCAL_TRIES)
        return;
    checks_where(users_of(n)->check, where, sizeof where);
    round_problem(r, "", row->key,
                  "%s could not be probed by this agent: %s; its state stays "
                  "%s",
                  where, row->note, health_state_name(row->health.state));
}

static void tell_change(struct service *svc, struct service_entry *n)
{
    struct round *r = &svc->gen->round;
    const struct state_check *row = row_of(n);
    const struct health *h = &row->health;
    char where[NAME_SIZE];

    checks_where(users_of(n)->check, where, sizeof where);
    round_detail(r, "", "check %s %s: %s", where, row->note,
                 health_state_name(h->state));
    if (h->state == HEALTH_DOWN && !h->ever_up)
        round_warn(r, "", row->key,
                   "%s has never been up: %s (a typo? a firewall?)", where,
                   row->note);
    else
        service_problem_over(svc, "", row->key);
    service_changed(svc);
}

/* --- results ---------------------------------------------------------------
 */

static void count_up(struct service *svc)
{
    bool alone =
        svc->gen->cfg->nanchors == 0 && svc->nup == 0 && svc->nentries > 0;

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
static bool is_wanted(const struct service *svc, struct service_entry *n)
{
    const struct health *h = &row_of(n)->health;

    return svc->hurried && h->state == HEALTH_DOWN &&
           h->streak / 2 < users_of(n)->check->required_failure;
}

static bool take(void *arg, void *room)
{
    const struct taker *t = arg;
    struct service_entry *n = room;
    struct state_check *row = row_of(n);
    struct health *h = &row->health;
    const struct health_rule rule = checks_rule(users_of(n)->check);
    const char *note = row->note;
    bool was_up = h->state == HEALTH_UP;
    bool changed = health_feed(h, &rule, t->shot->result, state_now_ms());
    bool calm = sched_is_calm(h, t->shot->result);

    state_note(t->svc->state, &row->note, t->shot->note);
    t->svc->unsaved = t->svc->unsaved || !calm || note != row->note;
    t->svc->nup -= was_up;
    t->svc->nup += h->state == HEALTH_UP;
    if (t->shot->result == HEALTH_LOCAL || n->locals > 0)
        tell_local(t->svc, n, t->shot->result);
    touch(t->svc, n, changed);
    if (changed) {
        tell_change(t->svc, n);
        count_up(t->svc);
    }
    return calm && !is_wanted(t->svc, n);
}

static void arm(struct service *svc);

static void on_shot(void *arg, const struct check_shot_result *s)
{
    struct service_flight *f = arg;
    struct service *svc = f->svc;
    struct taker t = {svc, s};
    struct service_entry *n = sched_any_room(svc->sched, f->group);

    /* One lost SYN is not an outage. */
    if (n != NULL && f->check->repeat_timeout && !f->repeated && s->timed_out &&
        svc->stop == 0 && row_of(n)->health.state != HEALTH_DOWN) {
        f->repeated = true;
        check_shot(f->epoch->gen->shots, f->check, on_shot, f);
        return;
    }
    sched_result(svc->sched, f->group, take, &t);
    DL_DELETE(svc->flights, f);
    service_epoch_unref(f->epoch);
    slab_give(svc->flight_room, f->id);
    arm(svc);
}

/* --- starts ----------------------------------------------------------------
 */

static struct service_flight *
take_off(struct service *svc, struct sched_entry *group, int64_t now_ms)
{
    const struct service_user *u = users_of(sched_any_room(svc->sched, group));
    uint32_t id;
    struct service_flight *f = slab_take(svc->flight_room, &id);

    f->svc = svc;
    f->id = id;
    f->group = group;
    f->epoch = u->epoch;
    f->epoch->refs++;
    f->check = u->check;
    DL_APPEND(svc->flights, f);
    sched_started(svc->sched, group, now_ms);
    return f;
}

/* What is due, some of it. returns how many. */
static size_t take_due(struct service *svc, int64_t now_ms,
                       struct service_flight *out[STARTS_MOST])
{
    struct sched_entry *group;
    int64_t at_ms;
    size_t n = 0;

    while (n < STARTS_MOST && svc->stop == 0 &&
           probes_backlog(svc->probes) < BACKLOG_MOST &&
           (group = sched_next_due(svc->sched, &at_ms)) != NULL &&
           at_ms <= now_ms) {
        out[n] = take_off(svc, group, now_ms);
        __builtin_prefetch(out[n++]->check);
    }
    return n;
}

/* A check and its row are cold when it is due: they are asked for before the
 * first is started, so that one wait is enough for all. */
static void on_tick(uv_timer_t *h)
{
    struct service *svc = h->data;
    int64_t now_ms = clock_mono_ms();
    struct service_flight *due[STARTS_MOST];
    size_t n;

    svc->tick_at_ms = SERVICE_NEVER;
    do {
        n = take_due(svc, now_ms, due);
        for (size_t i = 0; i < n; i++)
            __builtin_prefetch(due[i]->check->row);
        for (size_t i = 0; i < n; i++)
            check_shot(due[i]->epoch->gen->shots, due[i]->check, on_shot,
                       due[i]);
    } while (n == STARTS_MOST);
    arm(svc);
}

static void arm(struct service *svc)
{
    int64_t now_ms, at_ms;

    if (svc->stop > 0 || sched_next_due(svc->sched, &at_ms) == NULL ||
        at_ms >= svc->tick_at_ms)
        return;
    now_ms = clock_mono_ms();
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
    const struct state_check *row;

    for (size_t at = 0; (row = state_checks(svc->state, &at)) != NULL;) {
        if (row->entry != NULL &&
            (!down_only || row->health.state == HEALTH_DOWN))
            sched_hurry(svc->sched, sched_of(row->entry));
    }
    arm(svc);
}

/* --- entries ---------------------------------------------------------------
 */

static struct sched_pace pace_of(struct service_entry *n)
{
    const struct service_user *users = users_of(n);
    struct sched_pace p = {INT64_MAX, INT64_MAX};

    for (size_t i = 0; i < n->n; i++) {
        const struct spec_check *c = users[i].check->spec;

        if (c->access_period_ms < p.period_ms)
            p.period_ms = c->access_period_ms;
        if (c->retry_period_ms < p.retry_ms)
            p.retry_ms = c->retry_period_ms;
    }
    return p;
}

static struct service_entry *
schedule(struct service *svc, const struct check *c, const struct sched_pace *p)
{
    size_t len = 0;
    const char *key = checks_probe_key(c, &len);

    return sched_room(sched_add(svc->sched, key, len, p, clock_mono_ms()));
}

/* Its users have changed, and with them the pace, maybe. */
static void schedule_anew(struct service *svc, struct service_entry *n)
{
    const struct sched_pace p = pace_of(n);
    const struct sched_pace had = sched_pace_of(sched_of(n));
    struct service_entry copy = *n;

    if (p.period_ms == had.period_ms && p.retry_ms == had.retry_ms)
        return;
    sched_remove(svc->sched, sched_of(n));
    n = schedule(svc, users_of(&copy)->check, &p);
    *n = copy;
    row_of(n)->entry = n;
}

/* A problem of the last run stands until a result says otherwise. */
static void recall_problem(struct service *svc, struct service_entry *n)
{
    const struct state_check *row = row_of(n);
    const struct health *h = &row->health;
    struct state_problem *p = NULL;
    char *key = mem_printf("|%s", row->key);

    HASH_FIND_STR(state_problems(svc->state), key, p);
    free(key);
    if (p == NULL)
        return;
    p->used = true;
    if (h->state != HEALTH_DOWN || h->ever_up)
        n->locals = CHECK_RUN_LOCAL_TRIES;
}

static void entry_new(struct service *svc, const struct service_user *u)
{
    const struct sched_pace p = {u->check->spec->access_period_ms,
                                 u->check->spec->retry_period_ms};
    struct service_entry *n = schedule(svc, u->check, &p);

    n->users.one = *u;
    n->n = 1;
    u->check->row->entry = n;
    svc->nentries++;
    svc->nup += u->check->row->health.state == HEALTH_UP;
    recall_problem(svc, n);
}

static void entry_drop(struct service *svc, struct state_check *row)
{
    sched_remove(svc->sched, sched_of(row->entry));
    svc->nup -= row->health.state == HEALTH_UP;
    if (svc->stop == 0)
        service_problem_over(svc, "", row->key);
    row->used = false;
    row->entry = NULL;
    svc->nentries--;
}

static void add_user(struct service_entry *n, const struct service_user *u)
{
    struct service_user *many = mem_array(n->n + 1, sizeof *many);

    memcpy(many, users_of(n), n->n * sizeof *many);
    many[n->n] = *u;
    if (n->n > 1)
        free(n->users.many);
    n->users.many = many;
    n->n++;
}

static void remove_user(struct service_entry *n, const struct service_epoch *e)
{
    struct service_user *users = users_of(n), *many = NULL;
    uint32_t k = 0;

    for (uint32_t j = 0; j < n->n; j++)
        if (users[j].epoch != e)
            users[k++] = users[j];
    if (n->n > 1 && k <= 1) {
        many = users;
        n->users.one = many[0];
    }
    n->n = k;
    free(many);
}

void service_probe_add(struct service_epoch *e)
{
    struct checks *checks = e->round.checks;
    struct service *svc = e->gen->svc;

    for (size_t i = 0; i < checks_count(checks); i++) {
        struct check *c = checks_at(checks, i);
        const struct service_user u = {e, c};

        if (c->row->entry == NULL) {
            entry_new(svc, &u);
        } else {
            add_user(c->row->entry, &u);
            schedule_anew(svc, c->row->entry);
        }
        c->row->used = true;
    }
    e->probed = true;
    count_up(svc);
    arm(svc);
}

void service_probe_remove(struct service_epoch *e)
{
    struct checks *checks = e->round.checks;
    struct service *svc = e->gen->svc;

    for (size_t i = 0; e->probed && i < checks_count(checks); i++) {
        struct state_check *row = checks_at(checks, i)->row;
        struct service_entry *n = row->entry;

        remove_user(n, e);
        if (n->n == 0)
            entry_drop(svc, row);
        else
            schedule_anew(svc, n);
    }
    e->probed = false;
    count_up(svc);
}

/* --- beginning and end -----------------------------------------------------
 */

void service_probe_start(struct service *svc)
{
    svc->sched =
        sched_new((uint64_t)clock_mono_ns(), sizeof(struct service_entry));
    svc->flight_room = slab_new(sizeof(struct service_flight));
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
    struct service_flight *f;

    DL_FOREACH(svc->flights, f)
    {
        service_epoch_unref(f->epoch);
    }
    svc->flights = NULL;
}

void service_probe_stop(struct service *svc)
{
    struct state_check *row;

    if (svc->tick != NULL)
        uv_close((uv_handle_t *)svc->tick, free_handle);
    svc->tick = NULL;
    for (size_t at = 0;
         svc->state != NULL && (row = state_checks(svc->state, &at)) != NULL;) {
        struct service_entry *n = row->entry;

        if (n != NULL && n->n > 1)
            free(n->users.many);
        row->entry = NULL;
    }
    sched_free(svc->sched);
    svc->sched = NULL;
    slab_free(svc->flight_room);
    svc->flight_room = NULL;
}
