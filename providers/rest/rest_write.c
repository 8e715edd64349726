#include "providers/rest/rest_write.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_action.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_form.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_set.h"
#include "providers/rest/rest_zone.h"

#define ALL_PARTS (REST_PART_NAME | REST_PART_TTL | REST_PART_VALUES)

struct writing {
    struct rest *p;
    struct arena *a;
    struct rest_zone *z;
    const struct rest_set *sets;
    struct rest_written *v; /* removals last */
    size_t n;
    size_t at, to; /* under way: v[at] … v[to - 1] */
    size_t call;   /* of the set under way: style->set_calls[call] */
    size_t singly; /* before v[singly] no batch: one was refused */
    bool wrote;
    struct err stop;
    rest_writing_cb *cb;
    void *arg;
};

/* ---- bodies -------------------------------------------------------------- */

static void set_number(cJSON *o, const char *name, double value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(o, name);
    (void)cJSON_AddNumberToObject(o, name, value);
}

static void set_string(cJSON *o, const char *name, const char *value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(o, name);
    (void)cJSON_AddStringToObject(o, name, value);
}

/* The TTL of a new record: 1 where the provider's own rules. */
static void put_new_ttl(const struct rest_style *style,
                        const struct rest_item *it, cJSON *o)
{
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(o, style->m.ttl);
    bool is_auto = cJSON_IsNumber(kept) && kept->valuedouble < 2;

    if (style->is_proxied != NULL && style->is_proxied(o))
        set_number(o, style->m.ttl, 1);
    else if (!is_auto || it->ttl_given)
        set_number(o, style->m.ttl, it->ttl_s);
}

static cJSON *new_record(const struct rest_style *style,
                         const struct rest_zone *z, const struct rest_set *s,
                         const struct rest_item *it)
{
    cJSON *o = it->kept != NULL ? cJSON_Parse(it->kept) : NULL;

    if (!cJSON_IsObject(o)) {
        cJSON_Delete(o);
        o = cJSON_CreateObject();
    }
    rest_set_put_name(style, z, s, o);
    put_new_ttl(style, it, o);
    cJSON_DeleteItemFromObjectCaseSensitive(o, style->m.data);
    (void)cJSON_AddItemToObject(o, style->m.data,
                                rest_set_data(style, s->type, it));
    return o;
}

/* Only what changes: the rest of the record stays as it is. */
static cJSON *changed_record(const struct rest_style *style,
                             const struct rest_set *s,
                             const struct rest_item *it)
{
    const struct rest_record *r = it->record;
    cJSON *o = cJSON_CreateObject();

    if (it->ttl_s != r->ttl_s)
        set_number(o, style->m.ttl, it->ttl_s);
    if (it->len != r->len || memcmp(it->data, r->data, it->len) != 0)
        (void)cJSON_AddItemToObject(o, style->m.data,
                                    rest_set_data(style, s->type, it));
    if (style->m.disabled != NULL && it->enabled != r->enabled)
        (void)cJSON_AddBoolToObject(o, style->m.disabled, !it->enabled);
    return o;
}

static void put_id(const struct rest_style *style, const struct rest_item *it,
                   cJSON *o)
{
    if (style->m.id_is_number)
        (void)cJSON_AddRawToObject(o, style->m.id, it->record->id);
    else
        set_string(o, style->m.id, it->record->id);
}

static cJSON *batch_by_id(const struct rest_style *style,
                          const struct rest_zone *z,
                          const struct rest_set *sets,
                          const struct rest_written *v, size_t n)
{
    cJSON *all = cJSON_CreateObject();

    for (size_t i = 0; i < n; i++) {
        const struct rest_item *it = v[i].item;
        const struct rest_set *s = &sets[v[i].set];
        const char *list = it->act == REST_ADD      ? style->creates
                           : it->act == REST_UPDATE ? style->updates
                                                    : style->deletes;
        cJSON *to = cJSON_GetObjectItemCaseSensitive(all, list), *o;

        if (to == NULL)
            to = cJSON_AddArrayToObject(all, list);
        o = it->act == REST_ADD      ? new_record(style, z, s, it)
            : it->act == REST_UPDATE ? changed_record(style, s, it)
                                     : cJSON_CreateObject();
        if (it->act != REST_ADD)
            put_id(style, it, o);
        (void)cJSON_AddItemToArray(to, o);
    }
    return all;
}

static cJSON *batch_by_set(const struct rest_style *style,
                           const struct rest_zone *z,
                           const struct rest_set *sets,
                           const struct rest_written *v, size_t n)
{
    cJSON *list = cJSON_CreateArray(), *all;

    for (size_t i = 0; i < n; i++)
        (void)cJSON_AddItemToArray(
            list, rest_set_json(style, z, &sets[v[i].set], ALL_PARTS));
    if (style->sets == NULL)
        return list;
    all = cJSON_CreateObject();
    (void)cJSON_AddItemToObject(all, style->sets, list);
    return all;
}

char *rest_write_body(const struct rest *p, const struct rest_zone *z,
                      const struct rest_set *sets, const struct rest_written *v,
                      size_t n, bool batch)
{
    const struct rest_style *style = p->style;
    const struct rest_set *s = &sets[v->set];
    cJSON *o;
    char *text, *out;

    if (style->form != NULL)
        return rest_form_body(style, z, s, v->item);
    if (batch && style->by_set)
        o = batch_by_set(style, z, sets, v, n);
    else if (batch)
        o = batch_by_id(style, z, sets, v, n);
    else if (style->by_set)
        o = rest_set_json(style, z, s, ALL_PARTS);
    else if (v->item->act == REST_REMOVE)
        return NULL;
    else
        o = v->item->act == REST_ADD ? new_record(style, z, s, v->item)
                                     : changed_record(style, s, v->item);
    text = cJSON_PrintUnformatted(o);
    out = mem_strdup(text);
    cJSON_free(text);
    cJSON_Delete(o);
    return out;
}

/* ---- one after the other ------------------------------------------------- */

static bool is_removal(const struct rest_written *w)
{
    return w->item != NULL && w->item->act == REST_REMOVE;
}

/* What ends a value's being served: it comes after the rest. */
static bool is_withdrawal(const struct rest_item *it)
{
    return it->act == REST_REMOVE || (it->record != NULL && !it->enabled);
}

static bool withdraws(const struct rest_written *w)
{
    return w->item != NULL && is_withdrawal(w->item);
}

static void finish(struct writing *w)
{
    const struct rest_writing out = {
        .stop = w->stop, .v = w->v, .n = w->n, .wrote = w->wrote};
    rest_writing_cb *cb = w->cb;
    void *arg = w->arg;
    struct rest *p = w->p;

    free(w);
    cb(arg, &out);
    rest_end(p);
}

/* A removal waits for what goes before it in its set, unless it is in the same
 * batch. */
static bool is_barred(const struct writing *w, size_t i)
{
    if (!withdraws(&w->v[i]))
        return false;
    for (size_t k = 0; k < w->at; k++)
        if (w->v[k].set == w->v[i].set && !withdraws(&w->v[k]) &&
            w->v[k].outcome != REST_DONE)
            return true;
    return false;
}

/* As many from w->at as one call takes. */
static void choose(struct writing *w)
{
    const struct rest_style *style = w->p->style;
    size_t most = style->batch_max;

    if (style->paths.batch == NULL || w->p->no_batch || w->at < w->singly)
        most = 1;
    for (w->to = w->at; w->to < w->n && w->to - w->at < most; w->to++)
        if (is_barred(w, w->to) ||
            (style->batch_splits &&
             is_removal(&w->v[w->to]) != is_removal(&w->v[w->at])))
            break;
}

static void keep_removed(struct writing *w)
{
    for (size_t i = w->at; i < w->to; i++) {
        const struct rest_set *s = &w->sets[w->v[i].set];

        for (size_t k = 0; k < s->n; k++)
            if (s->items[k].act == REST_REMOVE &&
                (w->v[i].item == NULL || w->v[i].item == &s->items[k]))
                rest_keep(w->p, s->items[k].record);
    }
}

static void next_write(struct writing *w);

/* A batch that is refused may be so because of one of it, or because the plan
 * has none. */
static bool splits_up(struct writing *w, const struct rest_reply *r)
{
    if (r->err.code == ERR_NONE || !r->is_sure || r->status < 400 ||
        r->err.code == ERR_AUTH || r->status == 429 || w->to - w->at < 2)
        return false;
    if (r->err.code == ERR_UNSUPPORTED)
        w->p->no_batch = true;
    w->singly = w->to;
    return true;
}

static void on_written(void *arg, const struct rest_reply *r)
{
    struct writing *w = arg;
    enum rest_outcome outcome = r->err.code == ERR_NONE ? REST_DONE
                                : r->is_sure            ? REST_REFUSED
                                                        : REST_UNSURE;

    w->wrote = w->wrote || outcome != REST_REFUSED;
    w->z->is_written = w->z->is_written || outcome == REST_DONE;
    if (splits_up(w, r)) {
        next_write(w);
        return;
    }
    for (size_t i = w->at; i < w->to; i++) {
        w->v[i].outcome = outcome;
        w->v[i].err = r->err;
        if (outcome == REST_UNSURE)
            w->v[i].err.code = ERR_UNKNOWN;
    }
    /* What was not answered, or not at all for now, ends the rest. */
    if (outcome == REST_UNSURE ||
        (outcome == REST_REFUSED &&
         (r->status == 0 || r->status == 429 || r->err.code == ERR_AUTH)))
        w->stop = r->err;
    w->at = w->to;
    next_write(w);
}

static void send_batch(struct writing *w)
{
    const struct rest_style *style = w->p->style;
    const struct rest_path_args args = {.zone = w->z};
    char *body =
        rest_write_body(w->p, w->z, w->sets, &w->v[w->at], w->to - w->at, true);

    rest_action_call(w->p, style->batch_method,
                     rest_path(w->p, w->a, style->paths.batch, &args), body,
                     on_written, w);
    free(body);
}

static void send_one(struct writing *w)
{
    const struct rest_style *style = w->p->style;
    const struct rest_written *one = &w->v[w->at];
    const struct rest_set *s = &w->sets[one->set];
    struct rest_path_args args = {
        .zone = w->z, .name = s->name, .type = rr_type_name(s->type)};
    const char *method = style->change_method, *path = style->paths.change;
    char *body = rest_write_body(w->p, w->z, w->sets, one, 1, false);

    if (one->item != NULL && one->item->record != NULL)
        args.record = one->item->record->id;
    if (one->item != NULL && one->item->act == REST_ADD) {
        method = "POST";
        path = style->paths.add;
    } else if (is_removal(one)) {
        method = style->form != NULL ? "POST" : "DELETE";
        path = style->paths.remove;
    }
    rest_action_call(w->p, method, rest_path(w->p, w->a, path, &args), body,
                     on_written, w);
    free(body);
}

static void send_set(struct writing *w);

static void on_set_call(void *arg, const struct rest_reply *r)
{
    struct writing *w = arg;
    const struct rest_set *s = &w->sets[w->v[w->at].set];
    const struct rest_set_call *c = &w->p->style->set_calls[++w->call];
    unsigned due = rest_set_due(s);

    while (c->method != NULL && (c->due & due) == 0)
        c = &w->p->style->set_calls[++w->call];
    if (r->err.code != ERR_NONE || c->method == NULL) {
        w->call = 0;
        on_written(w, r);
        return;
    }
    w->wrote = true;
    send_set(w);
}

/* The first call that is due, from w->call on. */
static void send_set(struct writing *w)
{
    const struct rest_style *style = w->p->style;
    const struct rest_set *s = &w->sets[w->v[w->at].set];
    const struct rest_path_args args = {
        .zone = w->z, .name = s->name, .type = rr_type_name(s->type)};
    const struct rest_set_call *c = &style->set_calls[w->call];
    const struct rest_reply nothing = {0};
    cJSON *o;
    char *body;

    while (c->method != NULL && (c->due & rest_set_due(s)) == 0)
        c = &style->set_calls[++w->call];
    if (c->method == NULL) {
        w->call = 0;
        on_written(w, &nothing);
        return;
    }
    o = rest_set_json(style, w->z, s, c->parts);
    body = cJSON_PrintUnformatted(o);
    rest_action_call(w->p, c->method, rest_path(w->p, w->a, c->path, &args),
                     c->parts != 0 ? body : NULL, on_set_call, w);
    cJSON_free(body);
    cJSON_Delete(o);
}

static void next_write(struct writing *w)
{
    while (w->at < w->n && is_barred(w, w->at))
        w->at++;
    if (w->at >= w->n || w->stop.code != ERR_NONE) {
        finish(w);
        return;
    }
    choose(w);
    keep_removed(w);
    /* Where one set has no path of its own, it is a batch of one. */
    if (w->to - w->at == 1 && w->p->style->set_calls[0].method != NULL)
        send_set(w);
    else if (w->to - w->at > 1 || w->p->style->by_set)
        send_batch(w);
    else
        send_one(w);
}

static void add_write(struct writing *w, size_t set,
                      const struct rest_item *item)
{
    w->v[w->n].set = set;
    w->v[w->n++].item = item;
}

static void lay_out(struct writing *w, size_t nsets)
{
    size_t most = nsets;

    for (size_t s = 0; s < nsets; s++)
        most += w->sets[s].n;
    w->v = arena_array(w->a, most + 1, sizeof *w->v);
    for (int removals = 0; removals < 2; removals++)
        for (size_t s = 0; s < nsets; s++) {
            const struct rest_set *set = &w->sets[s];

            if (w->p->style->by_set && set->is_changed && removals == 0)
                add_write(w, s, NULL);
            for (size_t i = 0; i < set->n && !w->p->style->by_set; i++)
                if (set->items[i].act != REST_KEEP &&
                    is_withdrawal(&set->items[i]) == (removals != 0))
                    add_write(w, s, &set->items[i]);
        }
}

void rest_write(struct rest *p, struct arena *a, struct rest_zone *z,
                const struct rest_set *sets, size_t n, rest_writing_cb *cb,
                void *arg)
{
    struct writing *w = mem_alloc(sizeof *w);

    rest_begin(p);
    w->p = p;
    w->a = a;
    w->z = z;
    w->sets = sets;
    w->cb = cb;
    w->arg = arg;
    z->serial_before = z->serial;
    z->is_written = false;
    lay_out(w, n);
    next_write(w);
}
