#include "agent/engine/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"

/* One stream of probes, shared by the checks that want the same. */
struct group {
    char *key;
    struct checks *owner;
    struct probe_spec probe;
    bool repeat_timeout;
    bool repeated; /* the running probe is the repetition of a timeout */
    int64_t started_ms;
    struct loop_timer *timer;
    bool running; /* a probe is out, or a timer is set */
    struct check **checks;
    size_t n, cap;
    UT_hash_handle hh;
};

struct gate { /* one target address, and when it may be probed again */
    uint8_t key[17];
    int64_t next_ms;
    UT_hash_handle hh;
};

struct entry { /* finds a check by its key */
    struct check check;
    UT_hash_handle hh;
};

struct checks {
    struct loop *loop;
    struct probes *probes;
    struct state *state;
    struct group *groups;
    struct gate *gates;
    struct entry *by_key;
    struct check **list;
    size_t n, cap;
    size_t open; /* groups that are not finished */
    bool done;
    bool stopped; /* past the deadline: nothing new is started */
    checks_progress_fn *progress;
    void *progress_arg;
};

struct checks *checks_new(struct loop *l, struct probes *p, struct state *s)
{
    struct checks *c = mem_alloc(sizeof *c);

    c->loop = l;
    c->probes = p;
    c->state = s;
    return c;
}

void checks_free(struct checks *c)
{
    struct group *g, *gn;
    struct gate *t, *tn;
    struct entry *e, *en;

    if (c == NULL)
        return;
    HASH_ITER(hh, c->groups, g, gn)
    {
        HASH_DEL(c->groups, g);
        loop_timer_cancel(g->timer);
        free(g->checks);
        free(g->key);
        free(g);
    }
    HASH_ITER(hh, c->gates, t, tn)
    {
        HASH_DEL(c->gates, t);
        free(t);
    }
    HASH_ITER(hh, c->by_key, e, en)
    {
        HASH_DEL(c->by_key, e);
        free(e);
    }
    free(c->list);
    free(c);
}

/* --- adding -------------------------------------------------------------- */

static struct group *group_get(struct checks *c, const struct check *k,
                               bool repeat_timeout)
{
    char target[ADDR_TEXT_SIZE], key[160];
    struct group *g = NULL;

    (void)snprintf(key, sizeof key, "%s %s t%" PRId64 " r%d",
                   probe_kind_name(k->probe.kind),
                   addr_format_port(&k->probe.target, target),
                   k->probe.timeout_ms, repeat_timeout);
    HASH_FIND_STR(c->groups, key, g);
    if (g != NULL)
        return g;
    g = mem_alloc(sizeof *g);
    g->key = mem_strdup(key);
    g->owner = c;
    g->probe = k->probe;
    g->repeat_timeout = repeat_timeout;
    HASH_ADD_KEYPTR(hh, c->groups, g->key, strlen(g->key), g);
    return g;
}

struct check *checks_add(struct checks *c, const struct spec_check *spec,
                         const struct addr *record)
{
    const struct addr *at = spec->target.family != 0 ? &spec->target : record;
    char target[ADDR_TEXT_SIZE], key[200];
    struct probe_spec probe = {PROBE_TCP, *at, spec->timeout_ms};
    struct entry *e = NULL;
    struct group *g;

    probe.target.port = spec->port;
    (void)snprintf(
        key, sizeof key,
        "%s %s timeout=%" PRId64 " success=%" PRIu32 " failure=%" PRIu32 "%s",
        probe_kind_name(probe.kind), addr_format_port(&probe.target, target),
        probe.timeout_ms, spec->required_success, spec->required_failure,
        spec->repeat_timeout ? " repeat" : "");
    HASH_FIND_STR(c->by_key, key, e);
    if (e != NULL)
        return &e->check;
    e = mem_alloc(sizeof *e);
    e->check.row = state_check_get(c->state, key);
    e->check.key = e->check.row->key;
    e->check.probe = probe;
    e->check.rule.required_success = spec->required_success;
    e->check.rule.required_failure = spec->required_failure;
    e->check.rule.access_period_ms = spec->access_period_ms;
    e->check.retry_period_ms = spec->retry_period_ms;
    health_age(&e->check.row->health, &e->check.rule, state_now_ms());
    e->check.before = e->check.row->health.state;
    HASH_ADD_KEYPTR(hh, c->by_key, e->check.key, strlen(e->check.key), e);
    c->list = mem_grow(c->list, &c->cap, c->n, sizeof(struct check *));
    c->list[c->n++] = &e->check;
    g = group_get(c, &e->check, spec->repeat_timeout);
    g->checks = mem_grow(g->checks, &g->cap, g->n, sizeof(struct check *));
    g->checks[g->n++] = &e->check;
    return &e->check;
}

/* --- running ------------------------------------------------------------- */

static bool check_is_open(const struct check *k)
{
    const struct health *h = &k->row->health;

    if (k->locals >= CHECKS_LOCAL_TRIES)
        return false;
    if (k->results == 0 || !health_is_settled(h))
        return true;
    return h->state == HEALTH_DOWN && h->streak < k->want_streak;
}

/* When the group's next probe may start, by the pace of its checks. */
static bool group_next(const struct group *g, int64_t *at_ms)
{
    int64_t pace = INT64_MAX;

    for (size_t i = 0; i < g->n; i++)
        if (check_is_open(g->checks[i]) && g->checks[i]->retry_period_ms < pace)
            pace = g->checks[i]->retry_period_ms;
    if (pace == INT64_MAX)
        return false;
    *at_ms = g->started_ms + pace;
    return true;
}

static struct gate *gate_get(struct checks *c, const struct addr *a)
{
    struct gate *t = NULL;
    uint8_t key[17] = {a->family};

    memcpy(key + 1, a->bytes, 16);
    HASH_FIND(hh, c->gates, key, sizeof key, t);
    if (t == NULL) {
        t = mem_alloc(sizeof *t);
        memcpy(t->key, key, sizeof key);
        t->next_ms = INT64_MIN;
        HASH_ADD(hh, c->gates, key, sizeof t->key, t);
    }
    return t;
}

static void finish_group(struct group *g)
{
    struct checks *c = g->owner;

    g->running = false;
    c->open--;
    c->done = c->open == 0;
}

static void on_result(void *arg, const struct probe_result *r);

static void start_now(void *arg)
{
    struct group *g = arg;

    g->timer = NULL;
    if (g->owner->stopped) {
        finish_group(g);
        return;
    }
    g->started_ms = clock_mono_ms();
    probes_start(g->owner->probes, &g->probe, on_result, g);
}

static void start_at(struct group *g, int64_t at_ms)
{
    struct gate *t = gate_get(g->owner, &g->probe.target);
    int64_t now_ms = clock_mono_ms();

    if (at_ms < now_ms)
        at_ms = now_ms;
    if (at_ms < t->next_ms)
        at_ms = t->next_ms;
    t->next_ms = at_ms + CHECKS_ADDRESS_GAP_MS;
    g->running = true;
    if (at_ms <= now_ms)
        start_now(g);
    else
        g->timer =
            loop_timer_start(g->owner->loop, at_ms - now_ms, start_now, g);
}

static void count(struct check *k, const struct probe_spec *p,
                  const struct probe_result *r)
{
    char note[128];
    enum health_result h = r->verdict == PROBE_OK     ? HEALTH_OK
                           : r->verdict == PROBE_FAIL ? HEALTH_FAIL
                                                      : HEALTH_LOCAL;

    k->last = *r;
    if (h == HEALTH_LOCAL)
        k->locals++;
    else
        k->results++;
    (void)health_feed(&k->row->health, &k->rule, h, state_now_ms());
    state_text(&k->row->note, probe_describe(p, r, note));
}

static bool is_up_or_new(const struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->checks[i]->row->health.state != HEALTH_DOWN)
            return true;
    return false;
}

static void on_result(void *arg, const struct probe_result *r)
{
    struct group *g = arg;
    int64_t at_ms;

    /* One lost SYN is not an outage. */
    if (g->repeat_timeout && !g->repeated && r->verdict == PROBE_FAIL &&
        r->reason == PROBE_TIMEOUT && is_up_or_new(g) && !g->owner->stopped) {
        g->repeated = true;
        start_now(g);
        return;
    }
    g->repeated = false;
    for (size_t i = 0; i < g->n; i++)
        if (check_is_open(g->checks[i]))
            count(g->checks[i], &g->probe, r);
    if (!g->owner->stopped && group_next(g, &at_ms))
        start_at(g, at_ms);
    else
        finish_group(g);
}

void checks_run(struct checks *c, int64_t deadline_ms,
                checks_progress_fn *progress, void *arg)
{
    size_t all;
    int64_t at_ms;

    c->stopped = false;
    for (struct group *g = c->groups; g != NULL; g = g->hh.next) {
        if (g->running || !group_next(g, &at_ms))
            continue;
        c->open++;
        start_at(g, g->started_ms != 0 ? at_ms : clock_mono_ms());
    }
    all = c->open; /* those of an earlier run that are still out, too */
    c->done = all == 0;
    while (!c->done && clock_mono_ms() < deadline_ms) {
        int64_t step = clock_mono_ms() + 250;

        (void)loop_wait(c->loop, &c->done,
                        step < deadline_ms ? step : deadline_ms);
        if (progress != NULL)
            progress(arg, all - c->open, all);
    }
    c->stopped = true;
}

size_t checks_count(const struct checks *c)
{
    return c->n;
}

struct check *checks_at(struct checks *c, size_t i)
{
    return c->list[i];
}

bool checks_any_up(const struct checks *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i]->row->health.state == HEALTH_UP)
            return true;
    return false;
}

/* --- anchors ------------------------------------------------------------- */

struct anchors {
    size_t waiting;
    bool answered, ending, done;
};

static void on_anchor(void *arg, const struct probe_result *r)
{
    struct anchors *a = arg;

    if (r->verdict == PROBE_OK || r->reason == PROBE_CONNECT)
        a->answered = true;
    a->waiting--;
    a->done = a->waiting == 0 || (a->answered && !a->ending);
}

bool checks_anchors_answer(struct loop *l, struct probes *p,
                           const struct addr *anchors, size_t n,
                           int64_t deadline_ms)
{
    struct anchors a = {0, false, false, false};

    for (int round = 0; round < 2 && !a.answered; round++) {
        int64_t end_ms = clock_mono_ms() + 2500;

        a.done = a.ending = false;
        for (size_t i = 0; i < n; i++) {
            struct probe_spec spec = {PROBE_TCP, anchors[i], 2000};

            a.waiting++;
            probes_start(p, &spec, on_anchor, &a);
        }
        (void)loop_wait(l, &a.done,
                        end_ms < deadline_ms ? end_ms : deadline_ms);
        /* The callbacks hold a pointer to this frame. */
        a.ending = true;
        a.done = a.waiting == 0;
        (void)loop_wait(l, &a.done, clock_mono_ms() + 3000);
    }
    return a.answered;
}
