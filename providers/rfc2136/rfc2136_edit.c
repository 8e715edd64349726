#include <stdlib.h>
#include <string.h>

#include "providers/rfc2136/rfc2136.h"

/* Sets, from what they are to what they shall be: read (or remembered), sent
 * with "they are so" as the condition, read back. Many names go into one
 * message; one that the server refuses is halved until the name that is to
 * blame stands alone. */

#define NAMES_MAX 250u      /* in one message */
#define MESSAGES_AT_ONCE 8u /* without their answers */
#define PAUSE_MS 100        /* before another look */
#define TRIES_MAX 5         /* against somebody else's changes */
#define REFUSALS_MAX 64u    /* messages, while none was accepted */

/* The sets of one message. */
struct parcel {
    size_t *sets;
    size_t n, nnames;
};

struct editing {
    struct rfc2136 *p;
    struct rfc2136_edit_order o;
    struct rfc2136_talk *talk;
    struct rfc2136_set *reads; /* copies of those that are read */
    size_t *read_of, nreads;
    size_t *order;          /* the parcels' sets, one after the other */
    struct parcel *parcels; /* of this round of sending */
    size_t nparcels, parcels_cap, next, answered;
    size_t refusals;
    bool accepted;
    bool paused;     /* before what is read now */
    struct err stop; /* ERR_NONE, or why nothing more is sent */
    bool has_soa;
    struct rfc2136_soa soa;
    struct loop_timer *timer;
};

static void step(struct editing *d);

/* ---- the end ------------------------------------------------------------- */

static void remember(struct editing *d)
{
    for (size_t i = 0; i < d->o.n; i++) {
        const struct rfc2136_edit_set *s = &d->o.sets[i];
        bool known = s->is_fresh && s->result.state != CHANGE_UNKNOWN;

        rfc2136_memory_set(d->p->memory, d->o.zone, s->now.name, s->now.type,
                           known ? &s->now : NULL);
    }
}

static void finish(struct editing *d)
{
    struct rfc2136_edited r = {.err = d->stop,
                               .sets = d->o.sets,
                               .has_serial = d->has_soa,
                               .serial = d->soa.serial};
    struct rfc2136_edit_order o = d->o;

    for (size_t i = 0; i < o.n; i++)
        if (o.sets[i].state != RFC2136_SET_OVER)
            o.sets[i].result.state = CHANGE_SKIPPED;
    remember(d);
    rfc2136_talk_free(d->talk);
    loop_timer_cancel(d->timer);
    free(d->parcels);
    free(d->order);
    free(d->reads);
    free(d->read_of);
    free(d);
    o.done(o.arg, &r);
}

static void over(struct rfc2136_edit_set *s, enum change_state state,
                 const struct err *e)
{
    s->state = RFC2136_SET_OVER;
    s->result.state = state;
    s->result.err = *e;
}

/* ---- reading ------------------------------------------------------------- */

/* A write's outcome that cannot be looked at is what its answer said. */
static void read_failed(struct editing *d, struct rfc2136_edit_set *s,
                        const struct err *e)
{
    static const struct err none = {.code = ERR_NONE};

    if (s->state == RFC2136_SET_READ) {
        if (d->stop.code == ERR_NONE)
            d->stop = *e;
    } else if (s->verdict == RFC2136_DONE) {
        over(s, CHANGE_DONE, &none);
    } else {
        over(s, s->verdict == RFC2136_LOST ? CHANGE_UNKNOWN : CHANGE_FAILED,
             &s->why);
    }
    s->is_fresh = false;
}

static void on_read(void *arg, const struct rfc2136_read_result *r)
{
    struct editing *d = arg;

    d->paused = false;
    d->has_soa = r->err.code == ERR_NONE;
    d->soa = r->soa;
    for (size_t k = 0; k < d->nreads; k++) {
        size_t i = d->read_of[k];
        struct rfc2136_edit_set *s = &d->o.sets[i];

        if (r->err.code != ERR_NONE) {
            read_failed(d, s, &r->err);
            continue;
        }
        s->now = d->reads[k];
        s->is_fresh = true;
        rfc2136_settle(&d->o, i, &d->soa);
    }
    step(d);
}

static bool is_to_read(const struct editing *d,
                       const struct rfc2136_edit_set *s)
{
    return s->state == RFC2136_SET_CHECK ||
           (s->state == RFC2136_SET_READ && d->stop.code == ERR_NONE);
}

/* returns false: nothing is to be read */
static bool read_sets(struct editing *d)
{
    d->nreads = 0;
    for (size_t i = 0; i < d->o.n; i++) {
        const struct rfc2136_edit_set *s = &d->o.sets[i];

        if (!is_to_read(d, s))
            continue;
        d->reads[d->nreads] =
            (struct rfc2136_set){.name = s->now.name, .type = s->now.type};
        d->read_of[d->nreads++] = i;
    }
    if (d->nreads > 0)
        rfc2136_read(d->p, d->o.zone, d->o.arena, d->reads, d->nreads, on_read,
                     d);
    return d->nreads > 0;
}

/* ---- answers ------------------------------------------------------------- */

/* Another name of the message may be to blame. */
static void halve(struct editing *d, const struct parcel *c)
{
    for (size_t k = 0; k < c->n; k++)
        if (c->nnames > 1)
            d->o.sets[c->sets[k]].group_max = (c->nnames + 1) / 2;
}

static void take_stale(struct rfc2136_edit_set *s, const struct err *e)
{
    if (++s->tries < TRIES_MAX) {
        s->state = RFC2136_SET_READ;
        return;
    }
    over(s, CHANGE_FAILED, e);
    (void)err_wrap(&s->result.err, "%s %s, after %d attempts", s->now.name,
                   rr_type_name(s->now.type), TRIES_MAX);
}

static void take_refused(struct editing *d, const struct parcel *c,
                         struct rfc2136_edit_set *s)
{
    if (c->nnames > 1)
        s->state = RFC2136_SET_SEND;
    else
        s->state = RFC2136_SET_CHECK;
    if (!d->accepted && d->refusals >= REFUSALS_MAX && d->stop.code == ERR_NONE)
        d->stop = s->why;
}

static void take_answer(struct editing *d, const struct parcel *c,
                        enum rfc2136_verdict v, const struct err *e)
{
    d->refusals += v == RFC2136_REFUSED;
    d->accepted = d->accepted || v == RFC2136_DONE;
    for (size_t k = 0; k < c->n; k++) {
        struct rfc2136_edit_set *s = &d->o.sets[c->sets[k]];

        s->verdict = v;
        s->why = *e;
        s->state = RFC2136_SET_CHECK;
        s->changed = s->changed || v == RFC2136_DONE || v == RFC2136_LOST ||
                     v == RFC2136_DISBELIEVED;
        if (v == RFC2136_STALE)
            take_stale(s, e);
        else if (v == RFC2136_REFUSED)
            take_refused(d, c, s);
        else if (v == RFC2136_DISBELIEVED)
            over(s, CHANGE_UNKNOWN, e); /* whoever did it may do it again */
        else if (v == RFC2136_STOP)
            s->state = RFC2136_SET_SEND; /* and is not */
    }
    if (v == RFC2136_STALE || v == RFC2136_REFUSED)
        halve(d, c);
    if (v == RFC2136_STOP && d->stop.code == ERR_NONE)
        d->stop = *e;
}

static void send_more(struct editing *d);

static void on_answer(void *arg, const struct rfc2136_answer *a)
{
    struct editing *d = arg;
    struct err e;
    enum rfc2136_verdict v = rfc2136_update_judge(d->p, d->o.zone, a, &e);

    if (a->m == NULL && v == RFC2136_FAILED)
        v = RFC2136_STOP; /* there is no connection */
    d->answered++;
    take_answer(d, &d->parcels[a->slot], v, &e);
    send_more(d);
}

/* ---- sending ------------------------------------------------------------- */

static bool same_name(const struct editing *d, size_t i, size_t k)
{
    return strcmp(d->o.sets[i].now.name, d->o.sets[k].now.name) == 0;
}

static size_t next_to_send(const struct editing *d, size_t i)
{
    while (i < d->o.n && d->o.sets[i].state != RFC2136_SET_SEND)
        i++;
    return i;
}

/* Adds the sets of the name at i. returns where the next one begins */
static size_t add_name(struct editing *d, struct parcel *c, size_t i,
                       size_t *size)
{
    size_t first = i;

    while (i < d->o.n && same_name(d, first, i)) {
        const struct rfc2136_edit_set *s = &d->o.sets[i];
        struct rfc2136_step one = {&s->now, &s->want};

        if (s->state == RFC2136_SET_SEND) {
            *size += rfc2136_step_size(&one);
            c->sets[c->n++] = i;
        }
        i++;
    }
    c->nnames++;
    return next_to_send(d, i);
}

/* The next message's sets from i on. returns where the rest begins */
static size_t fill_parcel(struct editing *d, struct parcel *c, size_t i)
{
    size_t size = 0, most = NAMES_MAX;

    while (i < d->o.n && c->nnames < most) {
        size_t before = c->n, at = i;

        if (d->o.sets[i].group_max < most)
            most = d->o.sets[i].group_max;
        i = add_name(d, c, i, &size);
        if (size <= RFC2136_MESSAGE_MAX || before == 0)
            continue;
        c->n = before; /* that one goes into the next */
        c->nnames--;
        return at;
    }
    return i;
}

static void fill_parcels(struct editing *d)
{
    size_t *place = d->order;

    d->nparcels = d->next = d->answered = 0;
    for (size_t i = next_to_send(d, 0); i < d->o.n;) {
        struct parcel c = {.sets = place};

        i = fill_parcel(d, &c, i);
        place += c.n;
        d->parcels = mem_grow(d->parcels, &d->parcels_cap, d->nparcels,
                              sizeof *d->parcels);
        d->parcels[d->nparcels++] = c;
    }
}

static int send_parcel(struct editing *d, size_t slot, struct err *e)
{
    const struct parcel *c = &d->parcels[slot];
    struct rfc2136_step *steps = mem_array(c->n, sizeof *steps);
    uint8_t *wire = NULL;
    size_t len = 0;
    int rc;

    for (size_t k = 0; k < c->n; k++) {
        steps[k].now = &d->o.sets[c->sets[k]].now;
        steps[k].want = &d->o.sets[c->sets[k]].want;
    }
    rc = rfc2136_update_build(d->o.zone, steps, c->n, &wire, &len, e);
    if (rc == 0)
        rc = rfc2136_talk_send(d->talk, slot, wire, len, true, e);
    for (size_t k = 0; k < c->n && rc == 0; k++)
        d->o.sets[c->sets[k]].state = RFC2136_SET_SENT;
    free(wire);
    free(steps);
    return rc;
}

static void send_on(void *arg)
{
    struct editing *d = arg;

    d->timer = NULL;
    send_more(d);
}

/* One at a turn of the loop: the server works on it while the next is put
 * together. */
static void send_more(struct editing *d)
{
    struct err e = {0};

    while (d->timer == NULL && d->next < d->nparcels &&
           d->stop.code == ERR_NONE &&
           d->next - d->answered < MESSAGES_AT_ONCE) {
        size_t slot = d->next++;
        const struct parcel *c = &d->parcels[slot];

        if (send_parcel(d, slot, &e) == 0) {
            d->timer = loop_timer_start(d->p->env.loop, 0, send_on, d);
            continue;
        }
        d->answered++;
        for (size_t k = 0; k < c->n; k++)
            over(&d->o.sets[c->sets[k]], CHANGE_FAILED, &e);
    }
    if (d->timer == NULL && d->answered == d->next)
        step(d);
}

/* ---- the order of things ------------------------------------------------- */

static void resume(void *arg)
{
    struct editing *d = arg;

    d->timer = NULL;
    d->paused = true;
    step(d);
}

/* returns whether something is to be looked at once more, later */
static bool wait_first(struct editing *d)
{
    if (d->paused)
        return false;
    for (size_t i = 0; i < d->o.n; i++) {
        const struct rfc2136_edit_set *s = &d->o.sets[i];

        if (s->state != RFC2136_SET_CHECK || s->looks == 0)
            continue;
        d->timer = loop_timer_start(d->p->env.loop, PAUSE_MS, resume, d);
        return true;
    }
    return false;
}

static void step(struct editing *d)
{
    if (wait_first(d) || read_sets(d))
        return;
    if (d->stop.code == ERR_NONE) {
        fill_parcels(d);
        if (d->nparcels > 0) {
            send_more(d);
            return;
        }
    }
    finish(d);
}

static void begin(void *arg)
{
    struct editing *d = arg;

    d->timer = NULL;
    for (size_t i = 0; i < d->o.n; i++) {
        struct rfc2136_edit_set *s = &d->o.sets[i];

        s->group_max = NAMES_MAX;
        s->state = RFC2136_SET_READ;
        if (d->o.from_memory &&
            rfc2136_memory_get(d->p->memory, d->o.zone, d->o.arena, &s->now,
                               &d->soa))
            rfc2136_settle(&d->o, i, &d->soa);
    }
    step(d);
}

void rfc2136_edit(struct rfc2136 *p, const struct rfc2136_edit_order *o)
{
    struct editing *d = mem_alloc(sizeof *d);

    d->p = p;
    d->o = *o;
    d->reads = mem_array(o->n, sizeof *d->reads);
    d->read_of = mem_array(o->n, sizeof *d->read_of);
    d->order = mem_array(2 * o->n, sizeof *d->order);
    d->talk = rfc2136_talk_new(p, on_answer, d);
    d->timer = loop_timer_start(p->env.loop, 0, begin, d);
}
