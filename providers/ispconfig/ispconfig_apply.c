#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/log.h"
#include "providers/ispconfig/ispconfig.h"

/* A change set, in these steps: read the zone, try the permissions, list the
 * records of the names, lay down the writes, do them one after the other (the
 * last one asks for a new serial), look at the serial. A record that turns out
 * to be gone sends us back to the list, once. */

/* One call that is to be made. */
struct step {
    size_t change;
    const struct isp_row *row; /* NULL: add a record */
    int64_t ttl_s;
    bool active;
    bool is_side; /* a value that stays gets the set's new TTL */
};

struct applying {
    struct ispconfig *p;
    struct arena *a;
    struct change_set set; /* a copy */
    struct change *changes;
    struct change_result *results;
    bool *open; /* per change: no result yet */
    const struct isp_zone *z;
    const struct isp_row *rows;
    size_t n_rows;
    struct step *steps; /* heap while it grows */
    size_t n_steps, cap, at;
    bool relisted, wrote, given_up;
    struct err err;
    provider_apply_cb *cb;
    void *arg;
};

static void list_rows(struct applying *ap);
static void next_step(struct applying *ap);

/* ---- results
 * ----------------------------------------------------------------- */

static const struct change *change_of(const struct applying *ap,
                                      const struct step *s)
{
    return &ap->changes[s->change];
}

static void settle_change(struct applying *ap, size_t i,
                          enum change_state state, const struct err *e)
{
    if (!ap->open[i])
        return;
    ap->open[i] = false;
    ap->results[i].state = state;
    if (e != NULL)
        ap->results[i].err = *e;
    if ((state == CHANGE_FAILED || state == CHANGE_UNKNOWN) &&
        ap->changes[i].op == CHANGE_PUBLISH) {
        provider_skip_after(&ap->set, i, ap->results);
        for (size_t k = i + 1; k < ap->set.n; k++)
            if (ap->results[k].state == CHANGE_SKIPPED)
                ap->open[k] = false;
    }
}

/* The rest is not tried. */
static void give_up(struct applying *ap, const struct err *e)
{
    ap->given_up = true;
    if (ap->err.code == ERR_NONE)
        ap->err = *e;
    for (size_t i = 0; i < ap->set.n; i++)
        settle_change(ap, i, CHANGE_SKIPPED, NULL);
}

static void finish(struct applying *ap, const struct isp_serial *s)
{
    struct provider_apply out = {
        .err = ap->err, .results = ap->results, .n = ap->set.n};
    struct ispconfig *p = ap->p;

    if (s != NULL && s->known) {
        out.has_serial = true;
        out.serial = s->serial;
    }
    if (s != NULL && s->err.code != ERR_NONE && out.err.code == ERR_NONE)
        out.err = s->err;
    ap->cb(ap->arg, &out);
    arena_free(ap->a);
    free(ap->steps);
    free(ap);
    isp_end(p);
}

static void on_settled(void *arg, const struct isp_serial *s)
{
    finish(arg, s);
}

static void end(struct applying *ap)
{
    struct isp_serial as_before = {.known = ap->z != NULL};

    if (ap->wrote) {
        isp_serial_settle(ap->p, ap->z, on_settled, ap);
        return;
    }
    if (ap->z != NULL)
        as_before.serial = ap->z->serial;
    finish(ap, &as_before);
}

/* ---- which writes
 * -------------------------------------------------------------- */

static bool is_in_set(const struct isp_row *row, const struct change *c)
{
    return row->type == c->type && name_equal(row->name, c->name);
}

static bool is_row_of(const struct isp_row *row, const struct change *c)
{
    return is_in_set(row, c) && strcmp(row->data, c->data) == 0;
}

static void add_step(struct applying *ap, const struct step *s)
{
    ap->steps = mem_grow(ap->steps, &ap->cap, ap->n_steps, sizeof *ap->steps);
    ap->steps[ap->n_steps++] = *s;
}

/* Another change says what becomes of the row. */
static bool is_changed_itself(const struct applying *ap,
                              const struct isp_row *row)
{
    for (size_t i = 0; i < ap->set.n; i++)
        if (is_row_of(row, &ap->changes[i]))
            return true;
    return false;
}

static bool has_side_step(const struct applying *ap, const struct isp_row *row)
{
    for (size_t i = 0; i < ap->n_steps; i++)
        if (ap->steps[i].row == row)
            return true;
    return false;
}

/* The values that stay share the set's TTL (RFC 2181 5.2). */
static void lay_down_ttl(struct applying *ap, size_t change)
{
    const struct change *c = &ap->changes[change];

    if (c->ttl_s < 0)
        return;
    for (size_t i = 0; i < ap->n_rows; i++) {
        const struct isp_row *row = &ap->rows[i];
        struct step s = {.change = change,
                         .row = row,
                         .ttl_s = c->ttl_s,
                         .active = true,
                         .is_side = true};

        if (is_in_set(row, c) && row->active &&
            (int64_t)row->ttl_s != c->ttl_s && !is_changed_itself(ap, row) &&
            !has_side_step(ap, row))
            add_step(ap, &s);
    }
}

static void lay_down_missing(struct applying *ap, size_t change)
{
    const struct change *c = &ap->changes[change];
    struct step s = {.change = change, .ttl_s = c->ttl_s, .active = true};
    char zone[NAME_SIZE], name[NAME_SIZE];
    struct err e;

    if (c->op == CHANGE_WITHDRAW)
        return; /* not there is as good as switched off */
    if (ap->set.create) {
        add_step(ap, &s);
        return;
    }
    (void)snprintf(zone, sizeof zone, "%s", ap->z->name);
    (void)snprintf(name, sizeof name, "%s", c->name);
    if (strlen(zone) > 1)
        zone[strlen(zone) - 1] = '\0';
    (void)err_set(&e, ERR_NOTFOUND,
                  "%s is not in the panel at %s %s; add it there (inactive is "
                  "fine), or set create = yes in zone \"%s\"",
                  c->data, name, rr_type_name(c->type), zone);
    settle_change(ap, change, CHANGE_FAILED, &e);
}

/* The rows of one value that are not yet as wanted. returns how many rows the
 * panel holds of it. */
static size_t lay_down_rows(struct applying *ap, size_t change)
{
    const struct change *c = &ap->changes[change];
    bool publish = c->op == CHANGE_PUBLISH;
    size_t found = 0;

    for (size_t k = 0; k < ap->n_rows; k++) {
        const struct isp_row *row = &ap->rows[k];
        struct step s = {.change = change,
                         .row = row,
                         .ttl_s = publish ? c->ttl_s : -1,
                         .active = publish};

        if (!is_row_of(row, c))
            continue;
        found++;
        if (row->active != publish || c->confirm ||
            (s.ttl_s >= 0 && (int64_t)row->ttl_s != s.ttl_s))
            add_step(ap, &s);
    }
    return found;
}

static void lay_down(struct applying *ap)
{
    ap->n_steps = 0;
    ap->at = 0;
    for (size_t i = 0; i < ap->set.n; i++) {
        size_t before = ap->n_steps;

        if (!ap->open[i])
            continue;
        if (lay_down_rows(ap, i) == 0)
            lay_down_missing(ap, i);
        if (ap->n_steps == before)
            settle_change(ap, i, CHANGE_DONE, NULL);
        if (ap->changes[i].op == CHANGE_PUBLISH &&
            (ap->open[i] || ap->results[i].state == CHANGE_DONE))
            lay_down_ttl(ap, i);
    }
}

/* ---- doing them
 * ------------------------------------------------------------------ */

static bool is_due(const struct applying *ap, const struct step *s)
{
    /* A side step follows its change, which is settled by then. */
    if (s->is_side)
        return !ap->open[s->change] &&
               ap->results[s->change].state == CHANGE_DONE;
    return ap->open[s->change];
}

/* No later write is to come, as far as can be seen now. */
static bool is_last(const struct applying *ap)
{
    for (size_t i = ap->at + 1; i < ap->n_steps; i++) {
        const struct step *s = &ap->steps[i];

        if (is_due(ap, s) || (s->is_side && ap->open[s->change]))
            return false;
    }
    return true;
}

/* The change is done when its last row is. */
static void step_done(struct applying *ap)
{
    const struct step *s = &ap->steps[ap->at];

    for (size_t i = ap->at + 1; i < ap->n_steps; i++)
        if (ap->steps[i].change == s->change && !ap->steps[i].is_side)
            return;
    settle_change(ap, s->change, CHANGE_DONE, NULL);
}

static void step_failed(struct applying *ap, const struct step *s,
                        enum change_state state, const struct err *e)
{
    const struct change *c = change_of(ap, s);
    struct err named = *e;

    (void)err_wrap(&named, "%s %s %s", c->name, rr_type_name(c->type),
                   s->is_side ? s->row->data : c->data);
    if (s->is_side)
        log_line(LOG_WARN, "the TTL could not be changed: %s", named.msg);
    else
        settle_change(ap, s->change, state, &named);
}

static void on_step(void *arg, enum isp_outcome outcome, const struct err *e)
{
    struct applying *ap = arg;
    const struct step *s = &ap->steps[ap->at];

    switch (outcome) {
    case ISP_WRITTEN:
        ap->wrote = true;
        step_done(ap);
        break;
    case ISP_IS_SO:
        step_done(ap);
        break;
    case ISP_GONE:
        if (!ap->relisted) {
            ap->relisted = true;
            list_rows(ap);
            return;
        }
        step_failed(ap, s, CHANGE_FAILED, e);
        break;
    case ISP_REFUSED:
        step_failed(ap, s, CHANGE_FAILED, e);
        break;
    case ISP_UNKNOWN:
        step_failed(ap, s, CHANGE_UNKNOWN, e);
        give_up(ap, e);
        break;
    case ISP_UNREACHED:
        step_failed(ap, s, CHANGE_FAILED, e);
        give_up(ap, e);
        break;
    }
    ap->at++;
    next_step(ap);
}

/* Where the spec gives none, a new value takes the TTL of its set. */
static const struct change *change_to_add(struct applying *ap,
                                          const struct step *s)
{
    const struct change *c = change_of(ap, s);
    struct change *own;

    for (size_t i = 0; i < ap->n_rows && c->ttl_s < 0; i++) {
        if (!is_in_set(&ap->rows[i], c) || !ap->rows[i].active)
            continue;
        own = arena_alloc(ap->a, sizeof *own);
        *own = *c;
        own->ttl_s = ap->rows[i].ttl_s;
        return own;
    }
    return c;
}

static void next_step(struct applying *ap)
{
    const struct step *s;
    struct isp_write w = {.zone = ap->z};

    while (ap->at < ap->n_steps && !is_due(ap, &ap->steps[ap->at]))
        ap->at++;
    if (ap->at >= ap->n_steps || ap->given_up) {
        end(ap);
        return;
    }
    s = &ap->steps[ap->at];
    if (s->row == NULL) {
        isp_add(ap->p, ap->z, change_to_add(ap, s), is_last(ap), on_step, ap);
        return;
    }
    w.row = s->row;
    w.active = s->active;
    w.ttl_s = s->ttl_s;
    w.new_serial = is_last(ap);
    w.anyway = w.new_serial && change_of(ap, s)->confirm;
    isp_write(ap->p, &w, on_step, ap);
}

/* ---- before them
 * ------------------------------------------------------------------- */

static void on_rows(void *arg, const struct isp_rows *rows)
{
    struct applying *ap = arg;

    if (rows->err.code != ERR_NONE) {
        give_up(ap, &rows->err);
        end(ap);
        return;
    }
    ap->rows = rows->v;
    ap->n_rows = rows->n;
    lay_down(ap);
    next_step(ap);
}

static void list_rows(struct applying *ap)
{
    const char **names = arena_array(ap->a, ap->set.n + 1, sizeof *names);
    size_t n = 0;

    for (size_t i = 0; i < ap->set.n; i++) {
        bool again = false;

        for (size_t k = 0; k < n && !again; k++)
            again = name_equal(names[k], ap->changes[i].name);
        if (!again)
            names[n++] = ap->changes[i].name;
    }
    isp_rows_list(ap->p, ap->a, ap->z, names, n, on_rows, ap);
}

static void on_permissions(void *arg, const struct err *e)
{
    struct applying *ap = arg;

    if (e->code != ERR_NONE) {
        give_up(ap, e);
        end(ap);
        return;
    }
    list_rows(ap);
}

static void on_zone(void *arg, const struct isp_zone *z, const struct err *e)
{
    static const enum rr_type all[] = {RR_A, RR_AAAA, RR_CNAME};
    struct applying *ap = arg;
    enum rr_type types[4] = {0};
    size_t n = 0;

    if (z == NULL) {
        give_up(ap, e);
        end(ap);
        return;
    }
    ap->z = z;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < ap->set.n; i++)
            if (ap->changes[i].type == all[t]) {
                types[n++] = all[t];
                break;
            }
    isp_permissions(ap->p, types, on_permissions, ap);
}

static void copy_set(struct applying *ap, const struct change_set *set)
{
    ap->changes = arena_array(ap->a, set->n + 1, sizeof *ap->changes);
    ap->results = arena_array(ap->a, set->n + 1, sizeof *ap->results);
    ap->open = arena_array(ap->a, set->n + 1, sizeof *ap->open);
    for (size_t i = 0; i < set->n; i++) {
        struct change *c = &ap->changes[i];

        *c = set->v[i];
        c->name = arena_strdup(ap->a, c->name);
        c->data = arena_strdup(ap->a, c->data);
        if (c->ttl_s >= 0 && c->ttl_s < 60)
            c->ttl_s = 60; /* the form takes no less */
        ap->open[i] = true;
    }
    ap->set = *set;
    ap->set.v = ap->changes;
    ap->set.zone = arena_strdup(ap->a, set->zone);
    ap->set.comment = NULL;
}

void isp_apply(struct provider *p, const struct change_set *set,
               provider_apply_cb *cb, void *arg)
{
    struct applying *ap = mem_alloc(sizeof *ap);

    ap->p = (struct ispconfig *)p;
    ap->a = arena_new();
    ap->cb = cb;
    ap->arg = arg;
    copy_set(ap, set);
    isp_begin(ap->p);
    isp_zone_find(ap->p, ap->a, ap->set.zone, on_zone, ap);
}
