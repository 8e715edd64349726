#include <stdlib.h>
#include <string.h>

#include "providers/route53/route53.h"

/* A change set, in these steps: find the zone, read the names, plan each set,
 * send batches of sets. A batch is carried out as a whole or not at all, and
 * names the sets as they were read, so what somebody else changed meanwhile
 * refuses it. Then:
 *   refused, several names in it   its first half goes, and so on until the
 *                                  name that is meant stands alone
 *   refused, one name              read again; changed: plan and send again;
 *                                  as it was: the refusal stands
 *   answer lost                    read again: what is so now is done, the
 *                                  rest is sent once more
 * Results are those of the last reading. */

#define REREADS_MAX 3
#define LOST_MAX 2

/* One set that is to be written. */
struct job {
    size_t first; /* change that it begins with */
    struct route53_edit edit;
};

struct applying {
    struct route53 *p;
    struct arena *a;
    struct change_set set; /* a copy */
    struct change_result *results;
    bool *open;                   /* per change: no result yet */
    const struct route53_zone *z; /* borrowed; not kept over a forget */
    struct job *jobs;             /* by name */
    size_t n_jobs, at, sent;      /* of the batch under way: at … at + sent */
    size_t names;                 /* in it */
    size_t bad_end;    /* jobs at … bad_end, not all of them, were refused */
    bool looked_again; /* for the zone itself */
    size_t rereads, lost;
    struct err last; /* why a batch was refused or lost; NONE: first reading */
    struct job *before;
    size_t n_before;
    struct err err;
    provider_apply_cb *cb;
    void *arg;
};

static void find_zone(struct applying *ap);
static void read_names(struct applying *ap);
static void send_next(struct applying *ap);

/* ---- results ------------------------------------------------------------- */

static void settle(struct applying *ap, size_t i, enum change_state state,
                   const struct err *e)
{
    if (!ap->open[i])
        return;
    ap->open[i] = false;
    ap->results[i].state = state;
    if (e != NULL)
        ap->results[i].err = *e;
}

static bool is_same_set(const struct applying *ap, size_t i, size_t k)
{
    const struct change *a = &ap->set.v[i], *b = &ap->set.v[k];

    return a->type == b->type && name_equal(a->name, b->name);
}

/* All changes of the set that begins with change `first`. They are one
 * request: where its publishes fail, its withdrawals were not done either. */
static void settle_set(struct applying *ap, size_t first,
                       enum change_state state, const struct err *e)
{
    struct err named;

    if (e != NULL) {
        named = *e;
        (void)err_wrap(&named, "%s %s", ap->set.v[first].name,
                       rr_type_name(ap->set.v[first].type));
    }
    for (size_t i = first; i < ap->set.n; i++)
        if (is_same_set(ap, i, first))
            settle(ap, i, state, e != NULL ? &named : NULL);
}

static void settle_batch(struct applying *ap, enum change_state state,
                         const struct err *e)
{
    for (size_t i = ap->at; i < ap->at + ap->sent; i++)
        settle_set(ap, ap->jobs[i].first, state, e);
}

static void end(struct applying *ap)
{
    struct provider_apply out = {
        .err = ap->err, .results = ap->results, .n = ap->set.n};
    struct route53 *p = ap->p;

    ap->cb(ap->arg, &out);
    arena_free(ap->a);
    free(ap);
    route53_end(p);
}

/* The rest is not tried. */
static void give_up(struct applying *ap, const struct err *e)
{
    ap->err = *e;
    for (size_t i = 0; i < ap->set.n; i++)
        settle(ap, i, CHANGE_SKIPPED, NULL);
    end(ap);
}

/* ---- planning ------------------------------------------------------------ */

/* A set that goes takes its TTL with it: it is kept for the day when the set
 * is made anew by a spec that says none. */
static char *keep_key(const struct applying *ap, const struct job *job)
{
    const struct change *c = &ap->set.v[job->first];

    return mem_printf("%s|%s", c->name, rr_type_name(c->type));
}

static void keep_ttl(const struct applying *ap, const struct job *job)
{
    struct provider_env *env = &ap->p->env;
    char *key, *text;

    if (job->edit.n > 0 || job->edit.old == NULL || env->keep == NULL)
        return;
    key = keep_key(ap, job);
    text = mem_printf("%u", job->edit.old->ttl_s);
    env->keep(env->arg, ap->p->title, key, text);
    free(text);
    free(key);
}

static void use_kept_ttl(const struct applying *ap, struct job *job)
{
    struct provider_env *env = &ap->p->env;
    const char *text;
    char *key;

    if (job->edit.ttl_given || env->kept == NULL)
        return;
    key = keep_key(ap, job);
    text = env->kept(env->arg, ap->p->title, key);
    if (text != NULL)
        job->edit.ttl_s = (uint32_t)strtoul(text, NULL, 10);
    free(key);
}

static int by_name(const void *pa, const void *pb)
{
    const struct job *a = pa, *b = pb;
    int order = strcmp(a->edit.name, b->edit.name);

    if (order != 0)
        return order;
    return a->first < b->first ? -1 : a->first > b->first;
}

static void plan(struct applying *ap, const struct route53_sets_found *found)
{
    ap->jobs = arena_array(ap->a, ap->set.n + 1, sizeof *ap->jobs);
    ap->n_jobs = ap->at = ap->sent = ap->bad_end = 0;
    for (size_t i = 0; i < ap->set.n; i++) {
        struct job *job = &ap->jobs[ap->n_jobs];
        bool seen = false;
        struct err e;

        for (size_t k = 0; k < ap->n_jobs && !seen; k++)
            seen = is_same_set(ap, i, ap->jobs[k].first);
        if (!ap->open[i] || seen)
            continue;
        job->first = i;
        switch (route53_plan_set(ap->a, &ap->set, ap->open, i, found->v,
                                 found->n, ap->p->set_id, &job->edit, &e)) {
        case ROUTE53_AS_WANTED:
            settle_set(ap, i, CHANGE_DONE, NULL);
            break;
        case ROUTE53_REFUSED:
            settle_set(ap, i, CHANGE_FAILED, &e);
            break;
        case ROUTE53_TO_WRITE:
            use_kept_ttl(ap, job);
            ap->n_jobs++;
            break;
        }
    }
    qsort(ap->jobs, ap->n_jobs, sizeof *ap->jobs, by_name);
}

/* The sets of the batch that was refused are as they were when it was made. */
static bool is_as_before(const struct applying *ap)
{
    for (size_t i = 0; i < ap->n_before; i++) {
        const struct job *was = &ap->before[i];
        bool same = false;

        for (size_t k = 0; k < ap->n_jobs && !same; k++)
            same = is_same_set(ap, ap->jobs[k].first, was->first) &&
                   route53_set_equal(ap->jobs[k].edit.old, was->edit.old);
        if (!same)
            return false;
    }
    return true;
}

/* After a second reading: what a refusal or a lost answer comes to. */
static void judge(struct applying *ap)
{
    bool lost = ap->last.code == ERR_UNKNOWN;

    if (ap->last.code == ERR_NONE)
        return;
    if (lost ? ap->lost < LOST_MAX
             : !is_as_before(ap) && ap->rereads < REREADS_MAX)
        return; /* once more */
    for (size_t i = 0; i < ap->n_before; i++)
        settle_set(ap, ap->before[i].first,
                   lost ? CHANGE_UNKNOWN : CHANGE_FAILED, &ap->last);
}

static void on_sets(void *arg, const struct route53_sets_found *found)
{
    struct applying *ap = arg;

    if (found->err.code != ERR_NONE) {
        if (ap->last.code == ERR_UNKNOWN)
            for (size_t i = 0; i < ap->n_before; i++)
                settle_set(ap, ap->before[i].first, CHANGE_UNKNOWN, &ap->last);
        give_up(ap, &found->err);
        return;
    }
    plan(ap, found);
    judge(ap);
    ap->last.code = ERR_NONE;
    send_next(ap);
}

/* ---- sending ------------------------------------------------------------- */

static bool is_open(const struct applying *ap, size_t job)
{
    return ap->open[ap->jobs[job].first];
}

/* The jobs of one name from `from` on, and what they need in a request. */
static size_t name_end(const struct applying *ap, size_t from, size_t *records,
                       size_t *chars)
{
    size_t to = from;

    *records = *chars = 0;
    while (to < ap->n_jobs &&
           strcmp(ap->jobs[to].edit.name, ap->jobs[from].edit.name) == 0) {
        size_t r, c;

        route53_edit_size(&ap->jobs[to++].edit, &r, &c);
        *records += r;
        *chars += c;
    }
    return to;
}

/* Half of the names that were refused together; 0: no limit. */
static size_t names_max(const struct applying *ap)
{
    size_t n = 0, records, chars;

    for (size_t i = ap->at; i < ap->bad_end;
         i = name_end(ap, i, &records, &chars))
        n++;
    return n > 1 ? n / 2 : n;
}

/* As many names as fit and may go together; a name whose sets do not fit goes
 * set by set. */
static void cut_batch(struct applying *ap)
{
    size_t all_records = 0, all_chars = 0, records, chars, to;
    size_t most = names_max(ap);

    ap->names = 0;
    for (size_t from = ap->at; from < ap->n_jobs && is_open(ap, from);
         from = to) {
        to = name_end(ap, from, &records, &chars);
        all_records += records;
        all_chars += chars;
        if (all_records > ROUTE53_REQUEST_RECORDS ||
            all_chars > ROUTE53_REQUEST_CHARS)
            break;
        ap->sent = to - ap->at;
        if (++ap->names == most)
            break;
    }
    if (ap->sent == 0)
        ap->sent = 1;
}

static void read_again(struct applying *ap, const struct err *why)
{
    ap->last = *why;
    ap->n_before = ap->sent;
    ap->before = ap->jobs + ap->at; /* the arena keeps them */
    read_names(ap);
}

static void on_refused(struct applying *ap, const struct err *e)
{
    if (ap->names > 1) {
        ap->bad_end = ap->at + ap->sent;
        send_next(ap);
    } else if (e->code == ERR_CONFLICT) {
        ap->rereads++;
        read_again(ap, e);
    } else {
        settle_batch(ap, CHANGE_FAILED, e);
        ap->at += ap->sent;
        ap->bad_end = 0;
        send_next(ap);
    }
}

static void on_sent(void *arg, const struct err *e)
{
    struct applying *ap = arg;

    switch (e->code) {
    case ERR_NONE:
        for (size_t i = ap->at; i < ap->at + ap->sent; i++)
            keep_ttl(ap, &ap->jobs[i]);
        settle_batch(ap, CHANGE_DONE, NULL);
        ap->at += ap->sent;
        send_next(ap);
        break;
    case ERR_CONFLICT:
    case ERR_INPUT:
    case ERR_LIMIT:
        on_refused(ap, e);
        break;
    case ERR_UNKNOWN:
        ap->lost++;
        read_again(ap, e);
        break;
    case ERR_NOTFOUND: /* the zone was made anew, and has another id */
        if (!ap->looked_again) {
            ap->looked_again = true;
            find_zone(ap);
            break;
        }
        /* fallthrough */
    default:
        settle_batch(ap, CHANGE_FAILED, e);
        give_up(ap, e);
    }
}

/* Says what and why, where the change log of the account is read. */
static const char *comment_of(const struct applying *ap,
                              const struct route53_edit *const *edits, size_t n)
{
    const char *text = arena_printf(
        ap->a, "%.120s", ap->set.comment != NULL ? ap->set.comment : "");

    for (size_t i = 0; i < n && strlen(text) < 400; i++)
        text = arena_printf(ap->a, "%s%s%.300s", text,
                            i > 0             ? "; "
                            : text[0] != '\0' ? ": "
                                              : "",
                            edits[i]->what);
    return text;
}

static void send_next(struct applying *ap)
{
    const struct route53_edit **edits;

    while (ap->at < ap->n_jobs && !is_open(ap, ap->at))
        ap->at++;
    ap->sent = 0;
    if (ap->at == ap->n_jobs) {
        end(ap);
        return;
    }
    cut_batch(ap);
    edits = arena_array(ap->a, ap->sent, sizeof *edits);
    for (size_t i = 0; i < ap->sent; i++)
        edits[i] = &ap->jobs[ap->at + i].edit;
    route53_send(ap->p, ap->z, edits, ap->sent, comment_of(ap, edits, ap->sent),
                 on_sent, ap);
}

/* ---- reading ------------------------------------------------------------- */

static void read_names(struct applying *ap)
{
    const char **names = arena_array(ap->a, ap->set.n + 1, sizeof *names);
    size_t n = 0;

    for (size_t i = 0; i < ap->set.n; i++) {
        bool again = !ap->open[i];

        for (size_t k = 0; k < n && !again; k++)
            again = name_equal(names[k], ap->set.v[i].name);
        if (!again)
            names[n++] = ap->set.v[i].name;
    }
    route53_sets_of(ap->p, ap->a, ap->z, names, n, on_sets, ap);
}

static void on_zone(void *arg, const struct route53_zone *z,
                    const struct err *e)
{
    struct applying *ap = arg;

    if (z == NULL) {
        give_up(ap, e);
        return;
    }
    ap->z = z;
    read_names(ap);
}

static void find_zone(struct applying *ap)
{
    route53_zone_find(ap->p, ap->set.zone, on_zone, ap);
}

static void copy_set(struct applying *ap, const struct change_set *set)
{
    struct change *v = arena_array(ap->a, set->n + 1, sizeof *v);

    ap->results = arena_array(ap->a, set->n + 1, sizeof *ap->results);
    ap->open = arena_array(ap->a, set->n + 1, sizeof *ap->open);
    for (size_t i = 0; i < set->n; i++) {
        v[i] = set->v[i];
        v[i].name = arena_strdup(ap->a, v[i].name);
        v[i].data = arena_strdup(ap->a, v[i].data);
        ap->open[i] = true;
    }
    ap->set = *set;
    ap->set.v = v;
    ap->set.zone = arena_strdup(ap->a, set->zone);
    ap->set.comment =
        set->comment != NULL ? arena_strdup(ap->a, set->comment) : NULL;
}

void route53_apply(struct provider *p, const struct change_set *set,
                   provider_apply_cb *cb, void *arg)
{
    struct applying *ap = mem_alloc(sizeof *ap);

    ap->p = (struct route53 *)p;
    ap->a = arena_new();
    ap->cb = cb;
    ap->arg = arg;
    copy_set(ap, set);
    route53_begin(ap->p);
    find_zone(ap);
}
