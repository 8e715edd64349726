#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_plan.h"
#include "providers/rest/rest_read.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_settle.h"
#include "providers/rest/rest_write.h"
#include "providers/rest/rest_zone.h"

/* A spec's TXT record, in these steps: the zone, the TXT records of the name,
 * the write, and a look at what is stored: an answer says little of that. */

struct speccing {
    struct rest *p;
    struct arena *a;
    struct rest_zone *z;
    struct spec_write what; /* a copy */
    char name[NAME_SIZE];   /* canonical, _failover included */
    const char *names[1];
    struct rest_wanted wanted;
    struct rest_set set;
    struct err why; /* what the write's answer said */
    struct provider_written out;
    provider_written_cb *cb;
    void *arg;
};

static void finish(struct speccing *sp, const struct err *e)
{
    struct rest *p = sp->p;

    if (e != NULL)
        sp->out.err = *e;
    if (sp->out.err.code != ERR_NONE)
        (void)err_wrap(&sp->out.err, "%s TXT", sp->name);
    sp->cb(sp->arg, &sp->out);
    arena_free(sp->a);
    free(sp);
    rest_end(p);
}

static void on_settled(void *arg, const struct rest_settled *s)
{
    struct speccing *sp = arg;

    sp->out.has_serial = s->has_serial;
    sp->out.serial = s->serial;
    finish(sp, sp->out.err.code == ERR_NONE ? &s->err : NULL);
}

static void end(struct speccing *sp)
{
    rest_settle(sp->p, sp->z, sp->out.changed, on_settled, sp);
}

/* ---- after the write ----------------------------------------------------- */

static bool has_text(const struct speccing *sp, const struct rest_record *r)
{
    return r->len == sp->what.len &&
           memcmp(r->data, sp->what.text, r->len) == 0;
}

static bool is_ours(const struct rest_record *r)
{
    return !provider_txt_is_foreign(r->data, r->len);
}

static void on_read_back(void *arg, const struct err *e,
                         const struct rest_records *r)
{
    struct speccing *sp = arg;
    size_t right = 0, others = 0;
    struct err doubt;

    if (e->code != ERR_NONE) {
        (void)err_set(&doubt, ERR_UNKNOWN, "%.400s%sreading it back: %.400s",
                      sp->why.msg, sp->why.code != ERR_NONE ? "; " : "",
                      e->msg);
        finish(sp, &doubt);
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        right += r->v[i].enabled && has_text(sp, &r->v[i]);
        others +=
            r->v[i].enabled && is_ours(&r->v[i]) && !has_text(sp, &r->v[i]);
    }
    if (right > 0)
        sp->out.changed = true;
    if (right > 0 && others == 0) {
        end(sp);
        return;
    }
    if (sp->why.code == ERR_NONE)
        (void)err_set(&sp->why, ERR_CONFLICT,
                      right > 0 ? "the text is stored, but another spec stands "
                                  "beside it"
                                : "%s accepted the text and stores another one",
                      sp->p->style->label);
    sp->why = rest_as_read(&sp->why); /* it was looked at */
    finish(sp, &sp->why);
}

static void on_written(void *arg, const struct rest_writing *w)
{
    struct speccing *sp = arg;

    for (size_t i = 0; i < w->n && sp->why.code == ERR_NONE; i++)
        sp->why = w->v[i].err;
    if (!w->wrote && sp->why.code != ERR_NONE && sp->why.code != ERR_INPUT &&
        sp->why.code != ERR_CONFLICT) {
        finish(sp, &sp->why);
        return;
    }
    rest_read(sp->p, sp->a, sp->z, &sp->wanted, on_read_back, sp);
}

/* ---- what is there ------------------------------------------------------- */

/* The record that gets the text: the one that has it, else the first that is
 * on, else the first; NULL: none is ours. */
static const struct rest_record *pick(const struct speccing *sp,
                                      const struct rest_records *r)
{
    const struct rest_record *best = NULL;
    int best_rank = -1;

    for (size_t i = 0; i < r->n; i++) {
        int rank = (r->v[i].enabled ? 2 : 0) + (has_text(sp, &r->v[i]) ? 1 : 0);

        if (is_ours(&r->v[i]) && rank > best_rank) {
            best = &r->v[i];
            best_rank = rank;
        }
    }
    return best;
}

/* Two specs at one name are one spec with members that contradict. */
static void lay_down_record(struct speccing *sp, const struct rest_record *r,
                            bool is_picked)
{
    struct rest_item *it = rest_plan_add(sp->a, &sp->set);

    *it = (struct rest_item){.record = r,
                             .data = r->data,
                             .len = r->len,
                             .ttl_s = r->ttl_s,
                             .enabled = r->enabled};
    if (is_picked) {
        it->data = sp->what.text;
        it->len = sp->what.len;
        it->enabled = true;
        it->act = has_text(sp, r) && r->enabled ? REST_KEEP : REST_UPDATE;
    } else if (is_ours(r) && r->enabled) {
        it->enabled = false;
        it->act = sp->p->style->m.disabled != NULL ? REST_UPDATE : REST_REMOVE;
    }
}

static void lay_down(struct speccing *sp, const struct rest_records *r)
{
    const struct rest_record *picked = pick(sp, r);
    uint32_t floor_s = rest_zone_min_ttl(sp->p, sp->z);

    memcpy(sp->set.name, sp->name, sizeof sp->set.name);
    sp->set.type = RR_TXT;
    sp->set.ttl_s = sp->what.ttl_s > floor_s ? sp->what.ttl_s : floor_s;
    for (size_t i = 0; i < r->n; i++) {
        lay_down_record(sp, &r->v[i], &r->v[i] == picked);
        sp->set.ttl_s = r->v[i].ttl_s;
    }
    if (picked == NULL)
        *rest_plan_add(sp->a, &sp->set) =
            (struct rest_item){.act = REST_ADD,
                               .data = sp->what.text,
                               .len = sp->what.len,
                               .ttl_s = sp->set.ttl_s,
                               .ttl_given = true,
                               .enabled = true};
    for (size_t i = 0; i < sp->set.n; i++)
        sp->set.is_changed =
            sp->set.is_changed || sp->set.items[i].act != REST_KEEP;
}

static void on_records(void *arg, const struct err *e,
                       const struct rest_records *r)
{
    struct speccing *sp = arg;

    if (e->code != ERR_NONE) {
        finish(sp, e);
        return;
    }
    lay_down(sp, r);
    if (sp->set.is_changed)
        rest_write(sp->p, sp->a, sp->z, &sp->set, 1, on_written, sp);
    else
        end(sp);
}

static void on_zone(void *arg, struct rest_zone *z, const struct err *e)
{
    struct speccing *sp = arg;

    sp->z = z;
    if (z == NULL)
        finish(sp, e);
    else
        rest_read(sp->p, sp->a, z, &sp->wanted, on_records, sp);
}

void rest_write_spec(struct provider *p, const struct spec_write *what,
                     provider_written_cb *cb, void *arg)
{
    struct speccing *sp = mem_alloc(sizeof *sp);

    sp->p = (struct rest *)p;
    sp->a = arena_new();
    sp->what = *what;
    sp->what.text = arena_text(sp->a, what->text, what->len);
    (void)snprintf(sp->name, sizeof sp->name, "_failover.%.240s", what->owner);
    sp->names[0] = sp->name;
    sp->wanted.names = sp->names;
    sp->wanted.n = 1;
    sp->wanted.txt = true;
    sp->cb = cb;
    sp->arg = arg;
    rest_begin(sp->p);
    rest_zone_get(sp->p, what->zone, on_zone, sp);
}
