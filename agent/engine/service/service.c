#include "agent/engine/service/service.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/service_internal.h"
#include "agent/engine/state/state_owner.h"
#include "agent/engine/state/state_zone.h"
#include "agent/engine/world/override.h"

/* The service: its beginning, its turns, its end. */

#define LOCK_WAIT_MS 60000 /* a round of cron ends by itself */
#define LOCK_POLL_MS 250
#define SECOND_MS 1000
#define SAVE_SOON_MS 2000
#define SAVE_MOST_MS 60000
/* Where nothing but the times of results has changed: half of what counts may
 * be old (health.h). */
#define SAVE_TIMES_MS 300000

/* --- rounds of its own kind ------------------------------------------------
 */

void service_round_init(struct service_gen *gen, struct round *r)
{
    struct service *svc = gen->svc;

    memset(r, 0, sizeof *r);
    r->cfg = gen->cfg;
    r->o = &svc->ro;
    r->arena = arena_new();
    r->loop = svc->loop;
    r->http = svc->http;
    r->resolver = gen->round.resolver;
    r->probes = svc->probes;
    r->state = svc->state;
    r->providers = gen->round.providers;
    r->limits = gen->round.limits;
    r->start_ms = clock_mono_ms();
    r->end_ms = SERVICE_NEVER;
    r->idle = true;
    r->woken = &svc->woken;
    r->gone_apart_ms = SERVICE_GONE_MS;
}

void service_round_fini(struct round *r)
{
    free(r->zones);
    arena_free(r->reading);
    arena_free(r->arena);
    memset(r, 0, sizeof *r);
}

void service_round_clear(struct round *r)
{
    arena_free(r->arena);
    r->arena = arena_new();
    mem_trim();
}

/* --- the state --------------------------------------------------------------
 */

void service_changed(struct service *svc)
{
    int64_t at_ms = clock_mono_ms() + SAVE_SOON_MS;

    svc->unsaved = true;
    if (at_ms < svc->save_at_ms)
        svc->save_at_ms = at_ms;
}

int service_save(struct service *svc, struct err *e)
{
    struct service_zone *z;
    struct err why;
    int rc;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        if (z->now != NULL)
            world_save(z->now->rz->world);
    }
    rc = state_save(svc->state, &why);
    if (rc != 0)
        round_problem(&svc->gen->round, "", "state", "%s", why.msg);
    else
        service_problem_over(svc, "", "state");
    mem_trim(); /* events since the last time may be very many */
    svc->unsaved = rc != 0;
    svc->saved_ms = clock_mono_ms();
    svc->save_at_ms = svc->saved_ms + SAVE_MOST_MS;
    if (rc != 0 && e != NULL)
        *e = why;
    return rc;
}

static void sink(void *arg, const struct round_event *ev)
{
    struct service *svc = arg;

    svc->o->sink(svc->o->sink_arg, ev);
    if (ev->kind != ROUND_DETAIL)
        service_changed(svc);
}

/* --- signals ----------------------------------------------------------------
 */

static void on_signal(uv_signal_t *h, int number)
{
    struct service *svc = h->data;

    if (number == SIGHUP)
        svc->reload = true;
    else
        svc->stop++;
    svc->woken = true;
}

static void open_signals(struct service *svc)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < 3; i++) {
        svc->signals[i] = mem_alloc(sizeof *svc->signals[i]);
        (void)uv_signal_init(loop_uv(svc->loop), svc->signals[i]);
        svc->signals[i]->data = svc;
        (void)uv_signal_start(svc->signals[i], on_signal, numbers[i]);
    }
}

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static void close_signals(struct service *svc)
{
    for (size_t i = 0; i < 3; i++)
        if (svc->signals[i] != NULL)
            uv_close((uv_handle_t *)svc->signals[i], free_handle);
}

static const char *user_of(const struct config *cfg)
{
    return cfg->user != NULL ? cfg->user : "";
}

static void reload(struct service *svc)
{
    struct service_gen *gen = NULL, *old = svc->gen;
    struct config *cfg;
    struct err e;

    svc->reload = false;
    sd_notify_reloading(svc->sd);
    cfg = svc->o->load(svc->o->load_arg);
    if (cfg != NULL)
        gen = service_gen_new(svc, cfg, &e);
    if (gen == NULL) {
        if (cfg != NULL)
            round_note(&old->round, "", "the configuration stays as it was: %s",
                       e.msg);
        sd_notify_send(svc->sd, "READY=1\nSTATUS=the new configuration is "
                                "not valid: the old one is in force");
        return;
    }
    if (strcmp(cfg->state, old->cfg->state) != 0)
        round_note(&old->round, "",
                   "state stays %s until the service is started anew",
                   old->cfg->state);
    if (strcmp(user_of(cfg), user_of(old->cfg)) != 0)
        round_note(&old->round, "",
                   "user stays as it is until the service is started anew");
    svc->gen = gen;
    service_gen_unref(old);
}

/* --- every second ------------------------------------------------------------
 */

static void look_for_file(struct service *svc)
{
    struct round *r = &svc->gen->round;
    char *path = override_freeze_file(svc->gen->cfg->state);
    bool there = path != NULL;

    if (there != svc->frozen_by_file) {
        service_work_before(svc);
        svc->frozen_by_file = there;
        if (there)
            round_warn(r, "", "freeze",
                       "frozen by the file %s: checks go on, nothing is "
                       "written until it is removed",
                       path);
        else
            service_problem_over(svc, "", "freeze");
        service_work_after(svc);
    }
    free(path);
}

static void end_overrides(struct service *svc)
{
    int64_t now_ms = state_now_ms();
    struct state_override *row;
    bool over = false;

    for (row = state_overrides(svc->state); row != NULL; row = row->hh.next)
        over = over || (row->used && !override_in_force(row, now_ms));
    if (!over)
        return;
    service_work_before(svc);
    round_end_overrides(&svc->gen->round);
    service_work_after(svc);
}

static void look_for_holds(struct service *svc)
{
    struct service_zone *z;
    bool wanted = false;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        wanted = wanted || z->held_alone;
    }
    if (wanted && !svc->hurried) {
        svc->hurried = true;
        service_probe_hurry(svc, true);
    }
    svc->hurried = wanted;
}

static void turn_seconds(struct service *svc, int64_t now_ms, int64_t *next_ms)
{
    int64_t watchdog_ms = sd_notify_watchdog_ms(svc->sd);

    if (now_ms >= svc->second_ms) {
        svc->second_ms = now_ms + SECOND_MS;
        look_for_file(svc);
        end_overrides(svc);
    }
    if (watchdog_ms > 0 && now_ms >= svc->watchdog_at_ms) {
        sd_notify_send(svc->sd, "WATCHDOG=1");
        svc->watchdog_at_ms = now_ms + watchdog_ms;
    }
    if (now_ms >= svc->save_at_ms &&
        (svc->unsaved || now_ms >= svc->saved_ms + SAVE_TIMES_MS))
        (void)service_save(svc, NULL);
    if (watchdog_ms > 0 && svc->watchdog_at_ms < *next_ms)
        *next_ms = svc->watchdog_at_ms;
    if (svc->second_ms < *next_ms)
        *next_ms = svc->second_ms;
}

/* After the first look at every zone. */
static void sweep_once(struct service *svc)
{
    struct service_zone *z;

    if (svc->swept || !svc->gen->listed)
        return;
    DL_FOREACH2(svc->zones, z, next_zone)
    {
        if (z->failed_ms == 0 &&
            (z->now == NULL || z->now->rz->live == NULL || z->unseen))
            return;
    }
    svc->swept = true;
    service_problem_sweep(svc);
}

/* --- the turn ----------------------------------------------------------------
 */

static int64_t turn(struct service *svc)
{
    struct service_zone *z, *after;
    int64_t now_ms = clock_mono_ms(), next_ms = now_ms + SECOND_MS;

    if (svc->reload && svc->gen->listed && svc->stop == 0)
        reload(svc);
    service_gen_turn(svc, now_ms, &next_ms);
    service_anchor_turn(svc, now_ms, &next_ms);
    for (z = svc->zones; z != NULL; z = after) {
        after = z->next_zone;
        service_zone_turn(z, now_ms, &next_ms);
    }
    look_for_holds(svc);
    sweep_once(svc);
    turn_seconds(svc, now_ms, &next_ms);
    return next_ms;
}

static void run(struct service *svc)
{
    while (svc->stop == 0) {
        int64_t next_ms;

        svc->woken = false;
        next_ms = turn(svc);
        (void)loop_wait(svc->loop, &svc->woken, next_ms);
    }
}

/* --- the end
 * ------------------------------------------------------------------ */

static size_t count_applying(struct service *svc)
{
    struct service_zone *z;
    size_t n = 0;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        n += z->work == SERVICE_APPLY;
    }
    return n;
}

/* What is half written is brought to its end; a second signal does not wait
 * for it. */
static void finish_writes(struct service *svc)
{
    int64_t end_ms = clock_mono_ms() + SERVICE_STOP_MS;
    int first = svc->stop;

    while (count_applying(svc) > 0 && svc->stop == first &&
           clock_mono_ms() < end_ms) {
        int64_t next_ms;

        svc->woken = false;
        next_ms = turn(svc);
        if (count_applying(svc) > 0)
            (void)loop_wait(svc->loop, &svc->woken, next_ms);
    }
}

/* Callbacks may still be out: what calls back goes first. */
static void dispose(struct service *svc)
{
    struct service_zone *z, *after;

    service_control_close(svc);
    service_anchor_stop(svc);
    service_gens_close(svc);
    if (svc->probes != NULL)
        probes_free(svc->probes);
    service_serials_end(svc);
    service_probe_drop(svc);
    for (z = svc->zones; z != NULL; z = after) {
        after = z->next_zone;
        service_zone_free(z);
    }
    service_probe_stop(svc);
    service_gens_free(svc);
    if (svc->http != NULL)
        http_free(svc->http);
    close_signals(svc);
    state_close(svc->state);
    sd_notify_free(svc->sd);
    free(svc);
}

static int wait_for_state(struct service *svc, const char *path, struct err *e)
{
    int64_t end_ms = clock_mono_ms() + LOCK_WAIT_MS;
    int rc;

    while ((rc = state_open(path, false, &svc->state, e)) != 0 &&
           e->code == ERR_BUSY && svc->stop == 0 && clock_mono_ms() < end_ms) {
        svc->woken = false;
        (void)loop_wait(svc->loop, &svc->woken, clock_mono_ms() + LOCK_POLL_MS);
    }
    return rc;
}

static void on_helper_lost(void *arg)
{
    struct service *svc = arg;

    svc->stop++;
    svc->woken = true;
}

static int enter_sandbox(struct service *svc, const struct config *cfg,
                         struct err *e)
{
    const struct sandbox_user *u = svc->o->user;
    char *dir;
    int rc;

    if (u == NULL)
        return 0;
    probes_prepare(svc->probes);
    if (u->becomes &&
        state_owner_give(cfg->state, u->uid, u->gid, u->name, e) != 0)
        return -1;
    dir = state_owner_directory(cfg->state);
    rc = sandbox_enter(u, dir, e);
    free(dir);
    if (rc != 0 ||
        (u->becomes && state_owner_check(cfg->state, u->name, e) != 0))
        return -1;
    helper_attach(svc->o->helper, svc->loop, on_helper_lost, svc);
    return 0;
}

static int open_all(struct service *svc, struct config *cfg, struct err *e)
{
    /* Sockets for echoes, and their large buffers, are had with rights only. */
    if (probes_new(svc->loop, 0, &svc->probes, e) != 0 ||
        enter_sandbox(svc, cfg, e) != 0 ||
        wait_for_state(svc, cfg->state, e) != 0) {
        config_free(cfg);
        return -1;
    }
    state_zone_keep_all(svc->state);
    svc->http = http_new(svc->loop);
    service_probe_start(svc);
    svc->gen = service_gen_new(svc, cfg, e);
    return svc->gen != NULL ? 0 : -1;
}

int service_run(struct config *cfg, const struct service_options *o,
                struct err *e)
{
    struct service *svc = mem_alloc(sizeof *svc);
    int rc;

    svc->o = o;
    svc->loop = o->loop;
    svc->ro.detail = o->detail;
    svc->ro.sink = sink;
    svc->ro.sink_arg = svc;
    svc->sd = sd_notify_new();
    svc->saved_ms = clock_mono_ms();
    svc->save_at_ms = svc->saved_ms + SAVE_MOST_MS;
    open_signals(svc);
    rc = open_all(svc, cfg, e);
    if (rc == 0) {
        service_control_open(svc);
        run(svc);
        sd_notify_send(svc->sd, "STOPPING=1");
        finish_writes(svc);
        (void)service_save(svc, NULL);
    }
    if (rc == 0 && o->helper != NULL && helper_is_lost(o->helper, e))
        rc = -1;
    dispose(svc);
    return rc;
}
