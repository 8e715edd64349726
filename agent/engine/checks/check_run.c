#include "agent/engine/checks/check_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/checks/check_shot.h"

/* One stream of probes, shared by the checks that want the same. */
struct group {
    const char *key;
    struct check_run *owner;
    bool repeated; /* the running probe is the repetition of a timeout */
    int64_t started_ms;
    struct loop_timer *timer;
    bool running; /* a probe is out, or a timer is set */
    const struct check **checks;
    size_t n, cap;
    UT_hash_handle hh;
};

struct check_run {
    struct check_run_env env;
    struct checks *checks;
    struct check_run_result *results; /* by check.id */
    struct check_shots *shots;
    struct group *groups;
    size_t open; /* groups that are not finished */
    bool done;
    bool stopped; /* past the deadline: nothing new is started */
};

static void add_to_group(struct check_run *r, const struct check *k)
{
    struct group *g = NULL;
    size_t len = 0;
    const char *key = checks_probe_key(k, &len);

    HASH_FIND(hh, r->groups, key, len, g);
    if (g == NULL) {
        g = mem_alloc(sizeof *g);
        g->key = key;
        g->owner = r;
        HASH_ADD_KEYPTR(hh, r->groups, g->key, len, g);
    }
    g->checks = mem_grow(g->checks, &g->cap, g->n, sizeof(struct check *));
    g->checks[g->n++] = k;
}

struct check_run *check_run_new(const struct check_run_env *env,
                                struct checks *c)
{
    struct check_run *r = mem_alloc(sizeof *r);
    size_t n = checks_count(c);

    r->env = *env;
    r->checks = c;
    r->results = mem_array(n, sizeof *r->results);
    r->shots = check_shots_new(env);
    for (size_t i = 0; i < n; i++) {
        struct check *k = checks_at(c, i);

        r->results[i].before = k->row->health.state;
        add_to_group(r, k);
    }
    return r;
}

void check_run_free(struct check_run *r)
{
    struct group *g, *next;

    if (r == NULL)
        return;
    check_shots_free(r->shots);
    HASH_ITER(hh, r->groups, g, next)
    {
        HASH_DEL(r->groups, g);
        loop_timer_cancel(g->timer);
        free(g->checks);
        free(g);
    }
    free(r->results);
    free(r);
}

struct check_run_result *check_run_of(struct check_run *r,
                                      const struct check *c)
{
    return &r->results[c->id];
}

/* --- running ---------------------------------------------------------------
 */

static bool is_open(const struct check_run *r, const struct check *k)
{
    const struct check_run_result *res = &r->results[k->id];
    const struct health *h = &k->row->health;

    if (res->locals >= CHECK_RUN_LOCAL_TRIES)
        return false;
    if (res->results == 0 || !health_is_settled(h))
        return true;
    return h->state == HEALTH_DOWN && h->streak < res->want_streak;
}

/* When the group's next probe may start, by the pace of its checks. */
static bool group_next(const struct group *g, int64_t *at_ms)
{
    int64_t pace = INT64_MAX;

    for (size_t i = 0; i < g->n; i++)
        if (is_open(g->owner, g->checks[i]) &&
            g->checks[i]->spec->retry_period_ms < pace)
            pace = g->checks[i]->spec->retry_period_ms;
    if (pace == INT64_MAX)
        return false;
    *at_ms = g->started_ms + pace;
    return true;
}

static void finish_group(struct group *g)
{
    struct check_run *r = g->owner;

    g->running = false;
    r->open--;
    r->done = r->open == 0;
}

static void on_shot(void *arg, const struct check_shot_result *s);

static void start_now(void *arg)
{
    struct group *g = arg;

    g->timer = NULL;
    if (g->owner->stopped) {
        finish_group(g);
        return;
    }
    g->started_ms = clock_mono_ms();
    check_shot(g->owner->shots, g->checks[0], on_shot, g);
}

static void start_at(struct group *g, int64_t at_ms)
{
    int64_t now_ms = clock_mono_ms();

    g->running = true;
    if (at_ms <= now_ms)
        start_now(g);
    else
        g->timer =
            loop_timer_start(g->owner->env.loop, at_ms - now_ms, start_now, g);
}

static void count(struct check_run *r, const struct check *k,
                  const struct check_shot_result *s)
{
    struct check_run_result *res = &r->results[k->id];
    const struct health_rule rule = checks_rule(k);

    if (s->result == HEALTH_LOCAL)
        res->locals++;
    else
        res->results++;
    (void)health_feed(&k->row->health, &rule, s->result, state_now_ms());
    checks_note(r->checks, k->row, s->note);
}

static bool is_up_or_new(const struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->checks[i]->row->health.state != HEALTH_DOWN)
            return true;
    return false;
}

static void on_shot(void *arg, const struct check_shot_result *s)
{
    struct group *g = arg;
    int64_t at_ms;

    /* One lost SYN is not an outage. */
    if (g->checks[0]->repeat_timeout && !g->repeated && s->timed_out &&
        is_up_or_new(g) && !g->owner->stopped) {
        g->repeated = true;
        start_now(g);
        return;
    }
    g->repeated = false;
    for (size_t i = 0; i < g->n; i++)
        if (is_open(g->owner, g->checks[i]))
            count(g->owner, g->checks[i], s);
    if (!g->owner->stopped && group_next(g, &at_ms))
        start_at(g, at_ms);
    else
        finish_group(g);
}

void check_run_go(struct check_run *r, int64_t deadline_ms,
                  check_run_progress *progress, void *arg)
{
    size_t all;
    int64_t at_ms;

    r->stopped = false;
    for (struct group *g = r->groups; g != NULL; g = g->hh.next) {
        if (g->running || !group_next(g, &at_ms))
            continue;
        r->open++;
        start_at(g, g->started_ms != 0 ? at_ms : clock_mono_ms());
    }
    all = r->open; /* those of an earlier run that are still out, too */
    r->done = all == 0;
    while (!r->done && clock_mono_ms() < deadline_ms) {
        int64_t step = clock_mono_ms() + 250;

        (void)loop_wait(r->env.loop, &r->done,
                        step < deadline_ms ? step : deadline_ms);
        if (progress != NULL)
            progress(arg, all > r->open ? all - r->open : 0, all);
    }
    r->stopped = true;
}

/* --- anchors ---------------------------------------------------------------
 */

struct anchors {
    size_t waiting;
    bool answered, ending, done;
    char *note;
};

void check_run_anchor_note(const struct probe_result *r,
                           char note[PROBE_NOTE_SIZE])
{
    if (r->verdict == PROBE_LOCAL && r->note[0] != '\0')
        memcpy(note, r->note, PROBE_NOTE_SIZE);
}

const char *check_run_blind_text(const char *note, char out[200])
{
    (void)snprintf(out, 200,
                   "no anchor answers%s%s%s: the agent may be cut off and "
                   "changes nothing",
                   *note != '\0' ? " (to ask one " : "", note,
                   *note != '\0' ? ")" : "");
    return out;
}

static void on_anchor(void *arg, const struct probe_result *r)
{
    struct anchors *a = arg;

    if (r->verdict == PROBE_OK || r->reason == PROBE_CONNECT)
        a->answered = true;
    if (!a->ending)
        check_run_anchor_note(r, a->note);
    a->waiting--;
    a->done = a->waiting == 0 || (a->answered && !a->ending);
}

struct probe_spec check_run_anchor(const struct addr *anchor,
                                   int64_t timeout_ms)
{
    struct probe_spec spec = {.kind =
                                  anchor->port != 0 ? PROBE_TCP : PROBE_ICMP,
                              .target = *anchor,
                              .timeout_ms = timeout_ms};

    return spec;
}

/* An anchor that is asked, or waits for its turn. */
struct asking {
    struct anchors *all;
    struct probes *probes;
    struct probe_spec spec;
    struct loop_timer *timer;
};

static void ask_anchor(void *arg)
{
    struct asking *one = arg;

    one->timer = NULL;
    probes_start(one->probes, &one->spec, on_anchor, one->all);
}

static void ask_in_turn(struct asking *one, struct loop *l,
                        struct check_run *run)
{
    int64_t ms =
        run != NULL ? check_shots_turn_ms(run->shots, &one->spec.target) : 0;

    one->all->waiting++;
    if (ms > 0)
        one->timer = loop_timer_start(l, ms, ask_anchor, one);
    else
        ask_anchor(one);
}

static void give_turns_up(struct asking *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        v[i].all->waiting -= v[i].timer != NULL;
        loop_timer_cancel(v[i].timer);
        v[i].timer = NULL;
    }
}

bool check_run_anchors(struct loop *l, struct probes *p, struct check_run *run,
                       const struct addr *anchors, size_t n,
                       int64_t deadline_ms, char note[PROBE_NOTE_SIZE])
{
    struct anchors a = {.note = note};
    struct asking *v = mem_array(n, sizeof *v);

    note[0] = '\0';
    for (int round = 0; round < 2 && !a.answered; round++) {
        int64_t end_ms = clock_mono_ms() + 2500;

        a.ending = false;
        a.done = n == 0;
        for (size_t i = 0; i < n; i++) {
            v[i].all = &a;
            v[i].probes = p;
            v[i].spec = check_run_anchor(&anchors[i], 2000);
            ask_in_turn(&v[i], l, run);
        }
        (void)loop_wait(l, &a.done,
                        end_ms < deadline_ms ? end_ms : deadline_ms);
        /* The callbacks hold a pointer to this frame. */
        a.ending = true;
        give_turns_up(v, n);
        a.done = a.waiting == 0;
        (void)loop_wait(l, &a.done, clock_mono_ms() + 3000);
    }
    free(v);
    return a.answered;
}
