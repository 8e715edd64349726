#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/charstr.h"
#include "providers/route53/route53.h"

/* A spec's TXT record: read the set of its name, put the text in the place of
 * those that are ours, leave other tools' values as they are, send, and read
 * again where somebody else was faster or the answer was lost. */

#define READS_MAX 4

struct writing {
    struct route53 *p;
    struct arena *a;
    struct spec_write what; /* a copy */
    char name[NAME_SIZE];   /* canonical, _failover included */
    const char *value;      /* the text as Route 53 spells it */
    const struct route53_zone *z;
    struct route53_edit edit;
    size_t reads;
    struct err last; /* why it was read again */
    struct provider_written out;
    provider_written_cb *cb;
    void *arg;
};

static void read_set(struct writing *w);

static void finish(struct writing *w, const struct err *e)
{
    struct route53 *p = w->p;

    w->out.err = *e;
    if (e->code != ERR_NONE)
        (void)err_wrap(&w->out.err, "%s TXT", w->name);
    w->cb(w->arg, &w->out);
    arena_free(w->a);
    free(w);
    route53_end(p);
}

/* ---- what it becomes ----------------------------------------------------- */

/* The bytes are those of the text, however they are spelled. */
static bool is_text(const struct writing *w, const char *value)
{
    struct buf b;
    bool same;

    buf_init(&b, ROUTE53_MAX_ANSWER);
    same = route53_txt_decode(value, &b) && b.len == w->what.len &&
           memcmp(buf_get(&b), w->what.text, b.len) == 0;
    buf_fini(&b);
    return same;
}

/* A value that nobody can decode is not ours. */
static bool is_foreign(const char *value)
{
    struct buf b;
    bool foreign;

    buf_init(&b, ROUTE53_MAX_ANSWER);
    foreign = !route53_txt_decode(value, &b) ||
              provider_txt_is_foreign(buf_get(&b), b.len);
    buf_fini(&b);
    return foreign;
}

/* returns 1: to be written; 0: it is so; -1 with e set */
static int plan(struct writing *w, const struct route53_sets_found *found,
                struct err *e)
{
    struct route53_edit *edit = &w->edit;
    bool is_there = false, has_other = false;

    memset(edit, 0, sizeof *edit);
    for (size_t i = 0; i < found->n; i++)
        if (strcmp(found->v[i].type, "TXT") == 0)
            edit->old = &found->v[i];
    for (size_t i = 0; i < found->n; i++)
        if (strcmp(found->v[i].type, "TXT") == 0 && found->v[i].managed != NULL)
            return err_set(e, ERR_UNSUPPORTED,
                           "it has %s in Route 53: managed routing, not "
                           "touched",
                           found->v[i].managed);
    edit->type = RR_TXT;
    edit->name = edit->old != NULL ? edit->old->as_named : w->name;
    edit->ttl_s = edit->old != NULL ? edit->old->ttl_s : w->what.ttl_s;
    edit->values = arena_array(w->a, (edit->old != NULL ? edit->old->n : 0) + 1,
                               sizeof *edit->values);
    for (size_t i = 0; edit->old != NULL && i < edit->old->n; i++) {
        const char *value = edit->old->values[i];

        if (is_foreign(value))
            edit->values[edit->n++] = value;
        else if (is_text(w, value) && !is_there)
            is_there = true;
        else
            has_other = true;
    }
    edit->values[edit->n++] = w->value;
    return is_there && !has_other ? 0 : 1;
}

static void on_sent(void *arg, const struct err *e)
{
    struct writing *w = arg;

    if (e->code == ERR_NONE)
        w->out.changed = true;
    if ((e->code == ERR_CONFLICT || e->code == ERR_UNKNOWN) &&
        w->reads < READS_MAX) {
        w->last = *e;
        read_set(w);
        return;
    }
    finish(w, e);
}

static void on_sets(void *arg, const struct route53_sets_found *found)
{
    struct writing *w = arg;
    const struct route53_edit *edits[1] = {&w->edit};
    struct route53_set *before = NULL;
    const char *comment;
    struct err e = found->err;
    bool lost = w->last.code == ERR_UNKNOWN;
    int rc;

    if (e.code != ERR_NONE && lost)
        e = w->last; /* it may be there: nobody could look */
    if (e.code != ERR_NONE) {
        finish(w, &e);
        return;
    }
    if (w->edit.old != NULL) {
        before = arena_alloc(w->a, sizeof *before);
        *before = *w->edit.old;
    }
    rc = plan(w, found, &e);
    if (rc > 0 && strlen(w->value) > ROUTE53_VALUE_CHARS)
        rc = err_set(&e, ERR_LIMIT,
                     "the text takes %zu characters as a Route 53 value, and a "
                     "value has at most %u; the bare spelling needs fewer",
                     strlen(w->value), ROUTE53_VALUE_CHARS);
    if (rc == 0)
        w->out.changed = lost;
    if (rc <= 0) {
        finish(w, &e);
        return;
    }
    if (w->last.code == ERR_CONFLICT &&
        route53_set_equal(before, w->edit.old)) {
        finish(w, &w->last); /* nobody was faster: it is refused as such */
        return;
    }
    comment = arena_printf(w->a, "dnsfailover: publish %s", w->what.owner);
    route53_send(w->p, w->z, edits, 1, comment, on_sent, w);
}

static void read_set(struct writing *w)
{
    const char *names[1] = {w->name};

    w->reads++;
    route53_sets_of(w->p, w->a, w->z, names, 1, on_sets, w);
}

static void on_zone(void *arg, const struct route53_zone *z,
                    const struct err *e)
{
    struct writing *w = arg;

    if (z == NULL) {
        finish(w, e);
        return;
    }
    w->z = z;
    read_set(w);
}

static void refuse(void *arg)
{
    struct writing *w = arg;
    struct err e;

    (void)err_set(&e, ERR_UNSUPPORTED,
                  "it has a set-identifier, and specs are published in "
                  "simple sets: write it through a provider without one, or "
                  "add the printed record by hand");
    finish(w, &e);
}

void route53_write_spec(struct provider *p, const struct spec_write *what,
                        provider_written_cb *cb, void *arg)
{
    struct writing *w = mem_alloc(sizeof *w);
    struct buf value;

    w->p = (struct route53 *)p;
    w->a = arena_new();
    w->what = *what;
    w->what.zone = arena_strdup(w->a, what->zone);
    w->what.owner = arena_strdup(w->a, what->owner);
    w->what.text = arena_text(w->a, what->text, what->len);
    (void)snprintf(w->name, sizeof w->name, "_failover.%.240s", what->owner);
    buf_init(&value, ROUTE53_MAX_ANSWER);
    (void)charstr_add_text_octal(&value, what->text, what->len, " ");
    w->value = arena_strdup(w->a, buf_get(&value));
    buf_fini(&value);
    w->cb = cb;
    w->arg = arg;
    route53_begin(w->p);
    if (w->p->set_id != NULL)
        (void)loop_timer_start(w->p->loop, 0, refuse, w);
    else
        route53_zone_find(w->p, w->what.zone, on_zone, w);
}
