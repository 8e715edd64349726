/* The engine. A probe is waiting (in the queue, no descriptor), running (in
 * the set and the deadline heap) or gone. The loop calls in at three places,
 * each with a bounded share of work so that a burst never delays the rest:
 *   on_idle   while something waits and there is room: start some
 *   on_ready  the set is readable: take in some answers
 *   on_timer  a deadline passed, or the heartbeat: end some, see whether the
 *             loop was late */
#include "agent/probes/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/probes/deadline.h"
#include "agent/probes/net.h"

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
    struct probe_spec spec;
    probe_cb *cb;
    void *arg;
    int64_t start_ns;
    uint32_t lost_ms; /* the engine's lost_ms at the start */
    uint32_t next;    /* in the queue or the free list */
    int fd;           /* -1: not running */
    uint16_t events;
    uint16_t generation; /* an event of an earlier user of the slot is not
                            this one's */
};

struct probes {
    uv_poll_t poll;
    uv_timer_t timer;
    uv_idle_t idle;
    int set, nhandles;
    bool freed;
    size_t max_in_flight, in_flight, waiting;
    struct probe *slots;
    size_t nslots, cap;
    uint32_t spare, first, last;
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

static void on_idle(uv_idle_t *h);

static void wake(struct probes *p)
{
    if (!p->freed && p->waiting > 0 && p->in_flight < p->max_in_flight)
        (void)uv_idle_start(&p->idle, on_idle);
}

/* Frees the slot and reports; the caller looks at p->freed afterwards. */
static void finish(struct probes *p, uint32_t id, struct probe_result *r,
                   int64_t now)
{
    struct probe *s = &p->slots[id];
    probe_cb *cb = s->cb;
    void *arg = s->arg;

    if (s->fd >= 0) {
        (void)close(s->fd);
        deadline_remove(&p->deadlines, id);
        p->in_flight--;
    }
    r->elapsed_us = now > s->start_ns ? (now - s->start_ns) / 1000 : 0;
    s->fd = -1;
    s->generation++;
    s->next = p->spare;
    p->spare = id;
    wake(p);
    cb(arg, r);
}

/* --- starting ------------------------------------------------------------ */

static uint64_t tag_of(uint32_t id, uint16_t generation)
{
    return ((uint64_t)generation << 32) | id;
}

static void launch(struct probes *p, uint32_t id)
{
    struct probe *s = &p->slots[id];
    struct probe_result r = {PROBE_LOCAL, PROBE_NO_FD, 0, 0};
    uint32_t events = 0;

    s->start_ns = clock_mono_ns();
    s->lost_ms = p->lost_ms;
    s->fd = probe_kinds[s->spec.kind]->start(&s->spec, &events, &r);
    if (s->fd < 0) {
        finish(p, id, &r, clock_mono_ns());
        return;
    }
    s->events = (uint16_t)events;
    p->in_flight++;
    deadline_add(&p->deadlines, id,
                 s->start_ns + probe_timeout_ms(&s->spec) * MS_NS);
    if (net_set_add(p->set, s->fd, events, tag_of(id, s->generation)) != 0) {
        r.sys_errno = errno;
        finish(p, id, &r, clock_mono_ns());
    }
}

static void on_idle(uv_idle_t *h)
{
    struct probes *p = h->data;
    int64_t now = turn(p);

    for (int i = 0; i < STARTS_PER_TURN && p->waiting > 0 &&
                    p->in_flight < p->max_in_flight;
         i++) {
        uint32_t id = p->first;

        p->first = p->slots[id].next;
        p->waiting--;
        launch(p, id);
        if (p->freed)
            return;
    }
    if (p->waiting == 0 || p->in_flight >= p->max_in_flight)
        (void)uv_idle_stop(&p->idle);
    arm(p, now);
}

void probes_start(struct probes *p, const struct probe_spec *spec, probe_cb *cb,
                  void *arg)
{
    uint32_t id = p->spare;
    struct probe *s;

    if (id != NONE) {
        p->spare = p->slots[id].next;
    } else {
        p->slots = mem_grow(p->slots, &p->cap, p->nslots, sizeof *p->slots);
        id = (uint32_t)p->nslots++;
    }
    s = &p->slots[id];
    s->spec = *spec;
    s->cb = cb;
    s->arg = arg;
    s->fd = -1;
    s->next = NONE;
    if (p->waiting++ == 0)
        p->first = id;
    else
        p->slots[p->last].next = id;
    p->last = id;
    wake(p);
}

/* --- ending -------------------------------------------------------------- */

static void on_ready(uv_poll_t *h, int status, int uv_events)
{
    struct probes *p = h->data;
    int64_t now = turn(p);
    struct net_event ev[NET_EVENTS];
    size_t n = net_set_ready(p->set, ev);

    (void)status;
    (void)uv_events;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = (uint32_t)ev[i].tag;
        struct probe *s = id < p->nslots ? &p->slots[id] : NULL;
        struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0};

        if (s == NULL || s->fd < 0 || tag_of(id, s->generation) != ev[i].tag ||
            !probe_kinds[s->spec.kind]->ready(&s->spec, s->fd, ev[i].events,
                                              &r))
            continue;
        finish(p, id, &r, now);
        if (p->freed)
            return;
    }
    arm(p, now);
}

/* The deadline has passed. The answer may have come meanwhile, or nobody
 * was there to ask in time. */
static void expire(struct probes *p, uint32_t id, int64_t now)
{
    struct probe *s = &p->slots[id];
    struct probe_result r = {PROBE_FAIL, PROBE_TIMEOUT, 0, 0};
    uint32_t events = net_ready(s->fd, s->events);
    int64_t limit_ms = probe_timeout_ms(&s->spec) / 4;

    if (events == 0 ||
        !probe_kinds[s->spec.kind]->ready(&s->spec, s->fd, events, &r)) {
        r = (struct probe_result){PROBE_FAIL, PROBE_TIMEOUT, 0, 0};
        if (limit_ms < LATE_MS)
            limit_ms = LATE_MS;
        if (p->lost_ms - s->lost_ms > limit_ms) {
            r.verdict = PROBE_LOCAL;
            r.reason = PROBE_LATE;
        }
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
         i < ENDS_PER_TURN && !p->freed &&
         deadline_first(&p->deadlines, &first) && first.due_ns <= now;
         i++)
        expire(p, first.id, now);
    if (!p->freed)
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
    p->set = set;
    p->max_in_flight = max_in_flight > 0 ? max_in_flight : IN_FLIGHT_DEFAULT;
    if (room > 0 && p->max_in_flight > room)
        p->max_in_flight = room;
    p->spare = p->first = p->last = NONE;
    deadline_init(&p->deadlines);
    if (uv_poll_init(loop_uv(l), &p->poll, set) != 0) {
        (void)close(set);
        free(p);
        return err_set(e, ERR_LOCAL, "probes: the loop refuses an epoll set");
    }
    (void)uv_timer_init(loop_uv(l), &p->timer);
    (void)uv_idle_init(loop_uv(l), &p->idle);
    p->poll.data = p->timer.data = p->idle.data = p;
    p->nhandles = 3;
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
    p->freed = true;
    uv_close((uv_handle_t *)&p->poll, on_closed);
    uv_close((uv_handle_t *)&p->timer, on_closed);
    uv_close((uv_handle_t *)&p->idle, on_closed);
    (void)close(p->set);
    for (size_t i = 0; i < p->nslots; i++)
        if (p->slots[i].fd >= 0)
            (void)close(p->slots[i].fd);
    free(p->slots);
    deadline_fini(&p->deadlines);
    p->slots = NULL;
    p->nslots = 0;
    p->waiting = p->in_flight = 0;
}

size_t probes_in_flight(const struct probes *p)
{
    return p->in_flight;
}

size_t probes_waiting(const struct probes *p)
{
    return p->waiting;
}
