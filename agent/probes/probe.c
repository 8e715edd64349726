/* The engine. A probe is waiting (in the queue, no descriptor), running (in
 * the set and the deadline heap) or gone. The loop calls in at three places,
 * each with a bounded share of work so that a burst never delays the rest:
 *   on_first, on_idle   while something waits and there is room: start some
 *   on_ready  the set is readable: take in some answers
 *   on_timer  a deadline passed, or the heartbeat: end some, see whether the
 *             loop was late */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/probes/deadline.h"
#include "agent/probes/icmp.h"
#include "agent/probes/kind.h"
#include "agent/probes/net.h"
#include "agent/probes/tls.h"

#define NONE UINT32_MAX
#define MS_NS INT64_C(1000000)

enum {
    STARTS_PER_TURN = 64,
    ENDS_PER_TURN = 256,
    /* While probes run the timer fires at least this often, so that a loop
     * that stands still is noticed whatever the timeouts are. */
    HEARTBEAT_MS = 100,
    STALL_MS = 50, /* less is an ordinary busy turn */
    LATE_MS = 100,
    FDS_OF_OTHERS = 256,
    IN_FLIGHT_DEFAULT = 16384,
};

struct probe {
    struct probe_run run;
    probe_cb *cb;
    void *arg;
    int64_t start_ns;
    uint32_t lost_ms; /* the engine's lost_ms at the start */
    uint32_t next;    /* in a line or the free list */
    bool running;
    uint8_t lane;
    uint16_t generation; /* an event of an earlier user of the slot is not
                            this one's */
};

/* Probes that wait for the same thing. */
struct lane {
    uint32_t first, last;
    size_t waiting, running, max;
};

struct probes {
    struct probe_env env;
    uv_poll_t poll;
    uv_timer_t timer;
    uv_timer_t first; /* the first starts, at once */
    uv_idle_t idle;   /* what is left of them, turn by turn */
    int nhandles;
    size_t max_in_flight, in_flight, running;
    struct lane lanes[PROBE_NLANES];
    unsigned turn; /* the lane that is next */
    struct probe *slots;
    size_t nslots, cap;
    uint32_t spare;
    struct deadline_heap deadlines;
    int64_t seen_ns;  /* the engine's last turn */
    int64_t armed_ns; /* the timer; 0: not armed */
    uint32_t lost_ms; /* sum of the times in which the loop stood still */
};

/* --- turns --------------------------------------------------------------- */

/* Every entry from the loop begins here. returns now. */
static int64_t turn(struct probes *p)
{
    int64_t now = clock_mono_ns();
    int64_t due = p->armed_ns > p->seen_ns ? p->armed_ns : p->seen_ns;

    if (p->armed_ns != 0 && now - due >= STALL_MS * MS_NS)
        p->lost_ms += (uint32_t)((now - due) / MS_NS);
    p->seen_ns = now;
    return now;
}

static void on_timer(uv_timer_t *h);

/* Sets the timer to the first deadline or the heartbeat. */
static void arm(struct probes *p, int64_t now)
{
    struct deadline_entry first;
    int64_t due = now + HEARTBEAT_MS * MS_NS;

    if (!deadline_first(&p->deadlines, &first)) {
        if (p->armed_ns != 0)
            (void)uv_timer_stop(&p->timer);
        p->armed_ns = 0;
        return;
    }
    if (first.due_ns < due)
        due = first.due_ns;
    /* Too early does no harm and saves setting it for each probe. */
    if (p->armed_ns != 0 && p->armed_ns <= due)
        return;
    p->armed_ns = due;
    uv_update_time(p->timer.loop);
    now = clock_mono_ns();
    due = due > now ? (due - now + MS_NS - 1) / MS_NS : 0;
    (void)uv_timer_start(&p->timer, on_timer, (uint64_t)due, 0);
}

static void on_first(uv_timer_t *h);

static bool lane_can_start(const struct probes *p, unsigned lane)
{
    const struct lane *l = &p->lanes[lane];

    return l->waiting > 0 && l->running < l->max &&
           (lane == PROBE_LANE_NONE ? !icmp_is_full(&p->env)
                                    : p->in_flight < p->max_in_flight);
}

/* An idle handle would do, but where one is active libuv looks at the
 * descriptors once more before it sleeps: with a few starts every 10 ms that
 * counts. */
static void wake(struct probes *p, unsigned lane)
{
    if (!p->env.freed && lane_can_start(p, lane) &&
        !uv_is_active((uv_handle_t *)&p->idle) &&
        !uv_is_active((uv_handle_t *)&p->first))
        (void)uv_timer_start(&p->first, on_first, 0, 0);
}

/* Frees the slot and reports; the caller looks at freed afterwards. */
/* What was not tried may answer: without it nothing is down. */
static void excuse_partly(const struct probe_run *run, struct probe_result *r)
{
    if (run->partly &&
        (r->reason == PROBE_ROUTE || r->reason == PROBE_CONNECT ||
         r->reason == PROBE_TIMEOUT))
        (void)probe_local(r, PROBE_UNABLE,
                          "not all addresses could be looked up");
}

static void finish(struct probes *p, uint32_t id, struct probe_result *r,
                   int64_t now)
{
    struct probe *s = &p->slots[id];
    const struct probe_ops *ops = probe_kinds[s->run.spec.kind];
    probe_cb *cb = s->cb;
    void *arg = s->arg;

    excuse_partly(&s->run, r);
    if (ops->end != NULL)
        ops->end(&s->run);
    if (s->run.fd >= 0)
        (void)close(s->run.fd);
    deadline_remove(&p->deadlines, id);
    p->lanes[s->lane].running--;
    p->running--;
    if (s->lane != PROBE_LANE_NONE)
        p->in_flight--;
    r->elapsed_us = now > s->start_ns ? (now - s->start_ns) / 1000 : 0;
    s->run.fd = -1;
    s->running = false;
    s->generation++;
    s->next = p->spare;
    p->spare = id;
    /* What was given back may be what another lane waits for. */
    for (unsigned i = 0; i < PROBE_NLANES; i++)
        wake(p, i);
    cb(arg, r);
}

/* --- what the kinds ask of the engine ------------------------------------- */

/* A timeout while nobody was there to see the answer means nothing. */
static void excuse(const struct probes *p, const struct probe *s,
                   struct probe_result *r)
{
    int64_t limit_ms = probe_timeout_ms(&s->run.spec) / 4;

    if (limit_ms < LATE_MS)
        limit_ms = LATE_MS;
    if (p->lost_ms - s->lost_ms <= limit_ms)
        return;
    r->verdict = PROBE_LOCAL;
    r->reason = PROBE_LATE;
}

static uint64_t tag_of(uint32_t id, uint16_t generation)
{
    return ((uint64_t)generation << 32) | id;
}

struct probe_run *probe_run_find(struct probe_env *env, uint64_t tag)
{
    struct probes *p = env->probes;
    uint32_t id = (uint32_t)tag;

    if (env->freed || id >= p->nslots || !p->slots[id].running ||
        tag_of(id, p->slots[id].generation) != tag)
        return NULL;
    return &p->slots[id].run;
}

void probe_run_finish(struct probe_env *env, uint64_t tag,
                      struct probe_result *r)
{
    struct probes *p = env->probes;

    if (probe_run_find(env, tag) == NULL)
        return;
    if (r->reason == PROBE_TIMEOUT)
        excuse(p, &p->slots[(uint32_t)tag], r);
    finish(p, (uint32_t)tag, r, clock_mono_ns());
}

/* --- starting ------------------------------------------------------------ */

static void launch(struct probes *p, uint32_t id)
{
    struct probe *s = &p->slots[id];
    const struct probe_ops *ops = probe_kinds[s->run.spec.kind];
    struct probe_result r = {PROBE_LOCAL, PROBE_NO_FD, 0, 0, ""};

    s->start_ns = clock_mono_ns();
    s->lost_ms = p->lost_ms;
    s->running = true;
    s->run.env = &p->env;
    s->run.tag = tag_of(id, s->generation);
    s->run.u.state = NULL;
    s->run.partly = false;
    p->lanes[s->lane].running++;
    p->running++;
    if (s->lane != PROBE_LANE_NONE)
        p->in_flight++;
    if (ops->start(&s->run, &r) != 0 ||
        (s->run.fd >= 0 && probe_run_watch(&s->run, &r) != 0)) {
        finish(p, id, &r, clock_mono_ns());
        return;
    }
    deadline_add(&p->deadlines, id,
                 s->start_ns +
                     (probe_timeout_ms(&s->run.spec) + ops->grace_ms) * MS_NS);
}

/* returns the next probe of the lanes in turn, taken out; NONE: none may
 * start. */
static uint32_t next_to_start(struct probes *p)
{
    for (unsigned i = 0; i < PROBE_NLANES; i++) {
        unsigned lane = (p->turn + i) % PROBE_NLANES;
        struct lane *l = &p->lanes[lane];
        uint32_t id = l->first;

        if (!lane_can_start(p, lane))
            continue;
        l->first = p->slots[id].next;
        l->waiting--;
        p->turn = lane + 1;
        return id;
    }
    return NONE;
}

static void take_in(struct probes *p, int64_t now);
static void on_idle(uv_idle_t *h);

/* What is answered within its own connect is taken in at once: the loop need
 * not go to sleep and be woken for it. */
static void start_some(struct probes *p)
{
    int64_t now = turn(p);
    uint32_t id = NONE;
    bool more;

    for (int i = 0; i < STARTS_PER_TURN; i++) {
        id = next_to_start(p);
        if (id == NONE)
            break;
        launch(p, id);
        if (p->env.freed)
            return;
    }
    more = icmp_flush(&p->env);
    if (!p->env.freed)
        take_in(p, turn(p));
    if (p->env.freed)
        return;
    for (unsigned i = 0; i < PROBE_NLANES; i++)
        more = more || lane_can_start(p, i);
    (void)uv_timer_stop(&p->first);
    if (more)
        (void)uv_idle_start(&p->idle, on_idle);
    else
        (void)uv_idle_stop(&p->idle);
    arm(p, now);
}

static void on_first(uv_timer_t *h)
{
    start_some(h->data);
}

static void on_idle(uv_idle_t *h)
{
    start_some(h->data);
}

/* What may speak TLS, after a redirect too, waits for a share of that. */
static enum probe_lane lane_of(const struct probe_spec *s)
{
    enum probe_lane l = probe_kinds[s->kind]->lane;

    if (l == PROBE_LANE_FD && s->params != NULL &&
        (s->params->tls || s->params->follow_redirects > 0))
        return PROBE_LANE_TLS;
    return l;
}

void probes_start(struct probes *p, const struct probe_spec *spec, probe_cb *cb,
                  void *arg)
{
    uint32_t id = p->spare;
    struct probe *s;
    struct lane *l;

    if (id != NONE) {
        p->spare = p->slots[id].next;
    } else {
        p->slots = mem_grow(p->slots, &p->cap, p->nslots, sizeof *p->slots);
        id = (uint32_t)p->nslots++;
    }
    s = &p->slots[id];
    s->run.spec = *spec;
    s->run.fd = -1;
    s->cb = cb;
    s->arg = arg;
    s->next = NONE;
    s->lane = (uint8_t)lane_of(spec);
    l = &p->lanes[s->lane];
    if (l->waiting++ == 0)
        l->first = id;
    else
        p->slots[l->last].next = id;
    l->last = id;
    wake(p, s->lane);
}

/* --- ending -------------------------------------------------------------- */

/* The answers that are there. */
static void take_in(struct probes *p, int64_t now)
{
    struct net_event ev[NET_EVENTS];
    size_t n = net_set_ready(p->env.set, ev);

    for (size_t i = 0; i < n && !p->env.freed; i++) {
        struct probe_run *run = probe_run_find(&p->env, ev[i].tag);
        struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

        if (ev[i].tag == ICMP_TAG(4u))
            icmp_read(&p->env, 4);
        else if (ev[i].tag == ICMP_TAG(6u))
            icmp_read(&p->env, 6);
        else if (run != NULL && run->fd >= 0 &&
                 probe_kinds[run->spec.kind]->ready(run, ev[i].events, &r))
            finish(p, (uint32_t)ev[i].tag, &r, now);
    }
}

static void on_ready(uv_poll_t *h, int status, int uv_events)
{
    struct probes *p = h->data;
    int64_t now = turn(p);

    (void)status;
    (void)uv_events;
    take_in(p, now);
    if (!p->env.freed)
        arm(p, now);
}

/* The answer may have come meanwhile. */
static bool last_look(struct probe_run *run, struct probe_result *r)
{
    const struct probe_ops *ops = probe_kinds[run->spec.kind];
    uint32_t events;

    if (run->fd < 0 || ops->ready == NULL)
        return false;
    events = net_ready(run->fd, run->events);
    return events != 0 && ops->ready(run, events, r);
}

/* The deadline has passed: the target was slow, or nobody was there to ask in
 * time. */
static void expire(struct probes *p, uint32_t id, int64_t now)
{
    struct probe *s = &p->slots[id];
    const struct probe_ops *ops = probe_kinds[s->run.spec.kind];
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};

    if (!last_look(&s->run, &r)) {
        r = (struct probe_result){PROBE_FAIL, PROBE_TIMEOUT, 0, 0, ""};
        if (ops->awaits != NULL)
            (void)probe_fail(&r, PROBE_TIMEOUT, "%s", ops->awaits(&s->run));
        excuse(p, s, &r);
    }
    finish(p, id, &r, now);
}

static void on_timer(uv_timer_t *h)
{
    struct probes *p = h->data;
    int64_t now = turn(p);
    struct deadline_entry first;

    p->armed_ns = 0;
    for (int i = 0;
         i < ENDS_PER_TURN && !p->env.freed &&
         deadline_first(&p->deadlines, &first) && first.due_ns <= now;
         i++)
        expire(p, first.id, now);
    if (!p->env.freed)
        arm(p, now);
}

/* --- birth and end ------------------------------------------------------- */

/* The descriptors that probes may use; 0: no limit. */
static size_t descriptor_room(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) != 0)
        return 0;
    if (rl.rlim_cur != rl.rlim_max) {
        struct rlimit up = {rl.rlim_max, rl.rlim_max};

        if (setrlimit(RLIMIT_NOFILE, &up) == 0)
            rl = up;
    }
    if (rl.rlim_cur == RLIM_INFINITY)
        return 0;
    if (rl.rlim_cur < 2 * FDS_OF_OTHERS)
        return rl.rlim_cur > 2 ? (size_t)rl.rlim_cur / 2 : 1;
    return (size_t)rl.rlim_cur - FDS_OF_OTHERS;
}

int probes_new(struct loop *l, size_t max_in_flight, struct probes **out,
               struct err *e)
{
    struct probes *p;
    size_t room = descriptor_room();
    int set = net_set_new();

    if (set < 0)
        return err_set(e, ERR_LOCAL, "probes: %s", strerror(errno));
    p = mem_alloc(sizeof *p);
    p->env.set = set;
    p->env.loop = l;
    p->env.probes = p;
    p->max_in_flight = max_in_flight > 0 ? max_in_flight : IN_FLIGHT_DEFAULT;
    if (room > 0 && p->max_in_flight > room)
        p->max_in_flight = room;
    p->spare = NONE;
    for (unsigned i = 0; i < PROBE_NLANES; i++)
        p->lanes[i] = (struct lane){NONE, NONE, 0, 0, SIZE_MAX};
    p->lanes[PROBE_LANE_TLS].max = PROBE_TLS_MAX;
    p->lanes[PROBE_LANE_CHILD].max = PROBE_CHILDREN_MAX;
    deadline_init(&p->deadlines);
    if (uv_poll_init(loop_uv(l), &p->poll, set) != 0) {
        (void)close(set);
        free(p);
        return err_set(e, ERR_LOCAL, "probes: the loop refuses an epoll set");
    }
    (void)uv_timer_init(loop_uv(l), &p->timer);
    (void)uv_timer_init(loop_uv(l), &p->first);
    (void)uv_idle_init(loop_uv(l), &p->idle);
    p->poll.data = p->timer.data = p->first.data = p->idle.data = p;
    p->nhandles = 4;
    (void)uv_poll_start(&p->poll, UV_READABLE, on_ready);
    *out = p;
    return 0;
}

static void on_closed(uv_handle_t *h)
{
    struct probes *p = h->data;

    if (--p->nhandles == 0)
        free(p);
}

void probes_free(struct probes *p)
{
    if (p == NULL)
        return;
    p->env.freed = true;
    uv_close((uv_handle_t *)&p->poll, on_closed);
    uv_close((uv_handle_t *)&p->timer, on_closed);
    uv_close((uv_handle_t *)&p->first, on_closed);
    uv_close((uv_handle_t *)&p->idle, on_closed);
    (void)close(p->env.set);
    for (size_t i = 0; i < p->nslots; i++) {
        struct probe_run *run = &p->slots[i].run;

        if (!p->slots[i].running)
            continue;
        if (probe_kinds[run->spec.kind]->end != NULL)
            probe_kinds[run->spec.kind]->end(run);
        if (run->fd >= 0)
            (void)close(run->fd);
    }
    probe_tickets_void(&p->env);
    icmp_free(p->env.icmp[0]);
    icmp_free(p->env.icmp[1]);
    tls_free(p->env.tls);
    p->env.icmp[0] = p->env.icmp[1] = NULL;
    p->env.tls = NULL;
    free(p->slots);
    deadline_fini(&p->deadlines);
    p->slots = NULL;
    p->nslots = 0;
    p->in_flight = p->running = 0;
    for (unsigned i = 0; i < PROBE_NLANES; i++)
        p->lanes[i].waiting = 0;
}

void probes_set_hooks(struct probes *p, const struct probe_hooks *h)
{
    p->env.hooks = *h;
}

void probes_prepare(struct probes *p)
{
    struct probe_result r;

    (void)icmp_get(&p->env, 4);
    (void)icmp_get(&p->env, 6);
    (void)tls_get(&p->env, true, &r);
}

size_t probes_in_flight(const struct probes *p)
{
    return p->in_flight;
}

size_t probes_running(const struct probes *p)
{
    return p->running;
}

size_t probes_backlog(const struct probes *p)
{
    size_t n = 0;

    for (unsigned i = 0; i < PROBE_NLANES; i++)
        n += lane_can_start(p, i) ? p->lanes[i].waiting : 0;
    return n;
}

size_t probes_waiting(const struct probes *p)
{
    size_t n = 0;

    for (unsigned i = 0; i < PROBE_NLANES; i++)
        n += p->lanes[i].waiting;
    return n;
}
