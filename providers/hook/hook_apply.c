#include <stdlib.h>
#include <string.h>

#include "providers/hook/hook.h"

/* A change set, in these steps: the records of the names, what is left to do,
 * the request. Where the command did not say what came of a change, the
 * records are read once more, and what is there decides. */

struct applying {
    struct hook *h;
    struct arena *a;
    struct change_set set; /* a copy */
    const char **names;
    size_t n;
    struct change_result *results; /* CHANGE_UNKNOWN: open */
    struct hook_plan plan;
    struct hook_serial serial;
    struct err lost; /* why the command's answer does not count */
    struct err err;  /* the whole was given up */
    provider_apply_cb *cb;
    void *arg;
};

/* ---- the end ------------------------------------------------------------- */

static void finish(struct applying *ap)
{
    const struct provider_apply out = {.err = ap->err,
                                       .results = ap->results,
                                       .n = ap->set.n,
                                       .has_serial = ap->serial.has,
                                       .serial = ap->serial.serial};
    struct hook *h = ap->h;

    ap->cb(ap->arg, &out);
    arena_free(ap->a);
    free(ap);
    hook_leave(h);
}

/* Nothing was changed by us. */
static void give_up(struct applying *ap, const struct err *e)
{
    ap->err = *e;
    for (size_t i = 0; i < ap->set.n; i++)
        ap->results[i].state = CHANGE_SKIPPED;
    finish(ap);
}

static void place(const struct change *c, struct err *e)
{
    (void)err_wrap(e, "%s %s %s", c->name, rr_type_name(c->type), c->data);
}

/* ---- what came of it ----------------------------------------------------- */

static bool is_any_unknown(const struct applying *ap)
{
    for (size_t i = 0; i < ap->set.n; i++)
        if (ap->results[i].state == CHANGE_UNKNOWN)
            return true;
    return false;
}

/* Read after a change of which nothing is known: it is as wanted, or the
 * command did not get to it. */
static void settle(struct applying *ap, size_t i, const struct rrset_list *now)
{
    struct change_result *r = &ap->results[i];

    if (r->err.code == ERR_NONE)
        r->err = ap->lost;
    if (hook_plan_is_so(&ap->set.v[i], now)) {
        r->state = CHANGE_DONE;
        r->err = (struct err){.code = ERR_NONE};
    } else {
        r->state = CHANGE_FAILED;
        if (r->err.code == ERR_UNKNOWN)
            r->err.code = ERR_RETRY; /* it is known now */
        place(&ap->set.v[i], &r->err);
    }
}

static void on_read_back(void *arg, const struct provider_records *r)
{
    struct applying *ap = arg;

    for (size_t i = 0; i < ap->set.n; i++) {
        struct change_result *res = &ap->results[i];

        if (res->state != CHANGE_UNKNOWN)
            continue;
        if (r->err.code == ERR_NONE) {
            settle(ap, i, r->sets);
            continue;
        }
        (void)err_set(&res->err, ERR_UNKNOWN, "%.400s; reading it back: %.400s",
                      res->err.code != ERR_NONE ? res->err.msg : ap->lost.msg,
                      r->err.msg);
        place(&ap->set.v[i], &res->err);
    }
    if (r->err.code == ERR_NONE && r->has_serial)
        ap->serial = (struct hook_serial){true, r->serial};
    else if (r->err.code != ERR_NONE)
        (void)err_set(&ap->err, ERR_UNKNOWN, "%.800s", r->err.msg);
    finish(ap);
}

/* The answer's results to those that were asked for. */
static int take_results(struct applying *ap, const cJSON *root, struct err *e)
{
    struct change_result *v = arena_array(ap->a, ap->plan.nopen + 1, sizeof *v);
    size_t k = 0;

    if (hook_answer_results(root, ap->plan.nopen, v, e) != 0 ||
        hook_answer_serial(root, &ap->serial, e) != 0)
        return -1;
    for (size_t i = 0; i < ap->set.n; i++) {
        if (!ap->plan.open[i])
            continue;
        ap->results[i] = v[k++];
        if (ap->results[i].state == CHANGE_FAILED)
            place(&ap->set.v[i], &ap->results[i].err);
    }
    return 0;
}

static void on_applied(void *arg, const struct hook_reply *r)
{
    struct applying *ap = arg;

    ap->lost = r->err;
    if (r->root != NULL)
        (void)take_results(ap, r->root, &ap->lost);
    if (r->is_refused || (r->root == NULL && !r->is_started)) {
        for (size_t i = 0; i < ap->set.n; i++) {
            if (!ap->plan.open[i])
                continue;
            ap->results[i].state = CHANGE_FAILED;
            ap->results[i].err = ap->lost;
        }
        ap->err = ap->lost;
        finish(ap);
    } else if (is_any_unknown(ap)) {
        hook_list_records(&ap->h->base, ap->set.zone, ap->names, ap->n,
                          on_read_back, ap);
    } else {
        finish(ap);
    }
}

/* ---- before it ----------------------------------------------------------- */

static void on_records(void *arg, const struct provider_records *r)
{
    struct applying *ap = arg;
    const char *text;
    struct err e;

    if (r->err.code != ERR_NONE) {
        give_up(ap, &r->err);
        return;
    }
    ap->serial = (struct hook_serial){r->has_serial, r->serial};
    hook_plan_make(&ap->set, r->sets,
                   ap->set.create || ap->h->ops.caps.creates_missing, ap->a,
                   &ap->plan, ap->results);
    if (ap->plan.nopen == 0) {
        finish(ap);
        return;
    }
    text = hook_ask_apply(&ap->set, ap->plan.open, ap->plan.sets,
                          ap->plan.nsets, ap->a, &e);
    if (text != NULL)
        hook_call(ap->h, text, on_applied, ap);
    else
        give_up(ap, &e);
}

static void copy_set(struct applying *ap, const struct change_set *set)
{
    struct change *v = arena_array(ap->a, set->n + 1, sizeof *v);

    ap->results = arena_array(ap->a, set->n + 1, sizeof *ap->results);
    ap->names = arena_array(ap->a, set->n + 1, sizeof *ap->names);
    for (size_t i = 0; i < set->n; i++) {
        bool again = false;

        v[i] = set->v[i];
        v[i].name = arena_strdup(ap->a, set->v[i].name);
        v[i].data = arena_strdup(ap->a, set->v[i].data);
        ap->results[i].state = CHANGE_UNKNOWN;
        for (size_t k = 0; k < ap->n && !again; k++)
            again = name_equal(ap->names[k], v[i].name);
        if (!again)
            ap->names[ap->n++] = v[i].name;
    }
    ap->set = *set;
    ap->set.v = v;
    ap->set.zone = arena_strdup(ap->a, set->zone);
    ap->set.comment =
        set->comment != NULL ? arena_strdup(ap->a, set->comment) : NULL;
}

void hook_apply(struct provider *p, const struct change_set *set,
                provider_apply_cb *cb, void *arg)
{
    struct applying *ap = mem_alloc(sizeof *ap);

    ap->h = (struct hook *)p;
    ap->a = arena_new();
    ap->cb = cb;
    ap->arg = arg;
    copy_set(ap, set);
    hook_enter(ap->h);
    hook_list_records(p, ap->set.zone, ap->names, ap->n, on_records, ap);
}
