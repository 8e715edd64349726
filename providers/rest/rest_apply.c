#include <stdlib.h>
#include <string.h>

#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_read.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_settle.h"
#include "providers/rest/rest_write.h"
#include "providers/rest/rest_zone.h"

/* A change set, in these steps: the zone, the records of the names, the plan,
 * the writes. Where an answer was not plainly "done" the records are read once
 * more, and what is there decides: an identical record that is said to exist,
 * one to be removed that is said to be gone, a write whose answer was lost. */

struct applying {
    struct rest *p;
    struct arena *a;
    struct rest_zone *z;
    struct change_set set; /* a copy */
    struct rest_wanted wanted;
    struct change_result *results; /* CHANGE_UNKNOWN: open */
    struct rest_plan plan;
    struct rest_writing writing;
    bool confirm, wrote;
    bool is_second;   /* after an answer that was lost */
    bool is_doubtful; /* a write whose outcome could not be read back */
    struct err err;
    provider_apply_cb *cb;
    void *arg;
};

static void write_open(struct applying *ap, const struct rest_records *r);

/* ---- the end ------------------------------------------------------------- */

static void finish(struct applying *ap, const struct rest_settled *s)
{
    struct provider_apply out = {
        .err = ap->err, .results = ap->results, .n = ap->set.n};
    struct rest *p = ap->p;

    if (s != NULL) {
        out.has_serial = s->has_serial;
        out.serial = s->serial;
        if (out.err.code == ERR_NONE)
            out.err = s->err;
    }
    ap->cb(ap->arg, &out);
    arena_free(ap->a);
    free(ap);
    rest_end(p);
}

static void on_settled(void *arg, const struct rest_settled *s)
{
    finish(arg, s);
}

static void end(struct applying *ap)
{
    rest_settle(ap->p, ap->z, ap->wrote || ap->confirm, on_settled, ap);
}

static void give_up(struct applying *ap, const struct err *e)
{
    ap->err = *e;
    for (size_t i = 0; i < ap->set.n; i++)
        ap->results[i].state = CHANGE_SKIPPED;
    finish(ap, NULL);
}

static bool is_open(const struct applying *ap, size_t i)
{
    return ap->results[i].state == CHANGE_UNKNOWN;
}

/* ---- results ------------------------------------------------------------- */

static bool is_of(const struct applying *ap, const struct rest_written *w,
                  const struct change *c)
{
    const struct rest_set *s = &ap->plan.sets[w->set];

    if (s->type != c->type || !name_equal(s->name, c->name))
        return false;
    return w->item == NULL || strcmp(w->item->data, c->data) == 0 ||
           (w->item->record != NULL &&
            strcmp(w->item->record->data, c->data) == 0);
}

/* The worst of the writes that a change takes; NULL: all are done. */
static const struct rest_written *trouble_of(const struct applying *ap,
                                             const struct change *c)
{
    const struct rest_written *worst = NULL;

    for (size_t i = 0; i < ap->writing.n; i++) {
        const struct rest_written *w = &ap->writing.v[i];

        if (w->outcome != REST_DONE && is_of(ap, w, c) &&
            (worst == NULL || w->outcome > worst->outcome))
            worst = w;
    }
    return worst;
}

/* Ends what was tried. */
static void settle_change(struct applying *ap, size_t i,
                          const struct rest_records *now)
{
    const struct change *c = &ap->set.v[i];
    const struct rest_written *w = trouble_of(ap, c);
    struct change_result *res = &ap->results[i];

    if (res->state != CHANGE_UNKNOWN)
        return;
    if (w == NULL || (now != NULL && rest_plan_is_so(c, now))) {
        res->state = CHANGE_DONE;
        return;
    }
    if (w->outcome == REST_OPEN)
        return;
    if (w->outcome == REST_UNSURE && now == NULL)
        ap->is_doubtful = true;
    else
        res->state = CHANGE_FAILED;
    res->err = w->err;
    if (res->state == CHANGE_FAILED)
        res->err = rest_as_read(&res->err);
    (void)err_wrap(&res->err, "%s %s %s", c->name, rr_type_name(c->type),
                   c->data);
}

/* Of a set in which a publish was not done, nothing is withdrawn. */
static void skip_withdrawals(struct applying *ap, size_t publish)
{
    const struct change *p = &ap->set.v[publish];

    if (p->op != CHANGE_PUBLISH || ap->results[publish].state == CHANGE_DONE)
        return;
    for (size_t i = publish + 1; i < ap->set.n; i++)
        if (ap->set.v[i].set == p->set && ap->set.v[i].op == CHANGE_WITHDRAW &&
            is_open(ap, i))
            ap->results[i].state = CHANGE_SKIPPED;
}

static bool is_any_open(const struct applying *ap)
{
    for (size_t i = 0; i < ap->set.n; i++)
        if (is_open(ap, i))
            return true;
    return false;
}

/* A value that stays and did not get the set's TTL fails nothing. */
static void tell_side_writes(const struct applying *ap)
{
    for (size_t i = 0; i < ap->writing.n; i++) {
        const struct rest_written *w = &ap->writing.v[i];
        bool is_side = w->item != NULL && w->outcome >= REST_REFUSED;

        for (size_t k = 0; k < ap->set.n && is_side; k++)
            is_side = !is_of(ap, w, &ap->set.v[k]);
        if (is_side)
            log_line(LOG_WARN, "%s %s: the TTL could not be changed: %s",
                     ap->plan.sets[w->set].name, w->item->data, w->err.msg);
    }
}

/* now: read after the writes; NULL: it was not */
static void settle_all(struct applying *ap, const struct rest_records *now)
{
    tell_side_writes(ap);
    for (size_t i = 0; i < ap->set.n; i++)
        settle_change(ap, i, now);
    for (size_t i = 0; i < ap->set.n; i++)
        skip_withdrawals(ap, i);
    /* The answer was lost, and now it is known what came of it. */
    if (now != NULL && !ap->is_second && is_any_open(ap)) {
        ap->is_second = true;
        write_open(ap, now);
        return;
    }
    for (size_t i = 0; i < ap->set.n; i++)
        if (is_open(ap, i) && ap->results[i].err.code == ERR_NONE)
            ap->results[i].state = CHANGE_SKIPPED;
    if (is_any_open(ap) || ap->is_doubtful ||
        ap->writing.stop.code != ERR_UNKNOWN)
        ap->err = ap->writing.stop;
    end(ap);
}

static void on_read_back(void *arg, const struct err *e,
                         const struct rest_records *r)
{
    settle_all(arg, e->code == ERR_NONE ? r : NULL);
}

static void on_written(void *arg, const struct rest_writing *w)
{
    struct applying *ap = arg;
    bool clear = true;

    ap->writing = *w;
    ap->wrote = ap->wrote || w->wrote;
    for (size_t i = 0; i < w->n; i++)
        clear = clear &&
                (w->v[i].outcome == REST_DONE || w->v[i].outcome == REST_OPEN);
    if (clear || ap->writing.stop.code == ERR_AUTH)
        settle_all(ap, NULL);
    else
        rest_read(ap->p, ap->a, ap->z, &ap->wanted, on_read_back, ap);
}

static void write_open(struct applying *ap, const struct rest_records *r)
{
    ap->plan = (struct rest_plan){.a = ap->a};
    ap->plan.min_ttl_s = rest_zone_min_ttl(ap->p, ap->z);
    rest_plan_make(ap->p->style, &ap->set, r, rest_kept, ap->p, ap->results,
                   &ap->plan);
    rest_write(ap->p, ap->a, ap->z, ap->plan.sets, ap->plan.n, on_written, ap);
}

/* ---- before them --------------------------------------------------------- */

static void on_records(void *arg, const struct err *e,
                       const struct rest_records *r)
{
    struct applying *ap = arg;

    if (e->code != ERR_NONE) {
        give_up(ap, e);
        return;
    }
    write_open(ap, r);
}

static void on_zone(void *arg, struct rest_zone *z, const struct err *e)
{
    struct applying *ap = arg;

    ap->z = z;
    if (z == NULL)
        give_up(ap, e);
    else
        rest_read(ap->p, ap->a, z, &ap->wanted, on_records, ap);
}

static void copy_set(struct applying *ap, const struct change_set *set)
{
    struct change *v = arena_array(ap->a, set->n + 1, sizeof *v);
    const char **names = arena_array(ap->a, set->n + 1, sizeof *names);

    ap->results = arena_array(ap->a, set->n + 1, sizeof *ap->results);
    ap->wanted.names = names;
    for (size_t i = 0; i < set->n; i++) {
        bool again = false;

        v[i] = set->v[i];
        v[i].name = arena_strdup(ap->a, set->v[i].name);
        v[i].data = arena_strdup(ap->a, set->v[i].data);
        ap->confirm = ap->confirm || v[i].confirm;
        ap->results[i].state = CHANGE_UNKNOWN;
        for (size_t k = 0; k < ap->wanted.n && !again; k++)
            again = name_equal(names[k], v[i].name);
        if (!again)
            names[ap->wanted.n++] = v[i].name;
    }
    ap->set = *set;
    ap->set.v = v;
    ap->set.zone = arena_strdup(ap->a, set->zone);
    ap->set.comment = NULL;
}

void rest_apply(struct provider *p, const struct change_set *set,
                provider_apply_cb *cb, void *arg)
{
    struct applying *ap = mem_alloc(sizeof *ap);

    ap->p = (struct rest *)p;
    ap->a = arena_new();
    ap->cb = cb;
    ap->arg = arg;
    copy_set(ap, set);
    rest_begin(ap->p);
    rest_zone_get(ap->p, ap->set.zone, on_zone, ap);
}
