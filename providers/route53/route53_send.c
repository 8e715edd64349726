#include <stdlib.h>
#include <string.h>

#include "agent/base/log.h"
#include "providers/route53/route53.h"

/* One change batch, and, where it is wanted, the wait until every server of
 * Route 53 has it. The wait decides nothing: what was accepted is done. */

#define BODY_MAX ((size_t)2 * 1024 * 1024)

/* After the answer and after each look. source: facts of the field: a look
 * costs a request, and INSYNC takes less than a minute */
static const int64_t looks_ms[] = {2000, 5000, 10000, 10000, 10000, 10000};
#define LOOKS (sizeof looks_ms / sizeof looks_ms[0])

struct sending {
    struct route53 *p;
    char *zone_id, *change_id;
    size_t look;
    route53_sent_cb *cb;
    void *arg;
};

static void finish(struct sending *s, const struct err *e)
{
    struct route53 *p = s->p;

    s->cb(s->arg, e);
    free(s->zone_id);
    free(s->change_id);
    free(s);
    route53_end(p);
}

static void accepted(struct sending *s)
{
    struct err none = {0};

    finish(s, &none);
}

/* ---- until it is everywhere ---------------------------------------------- */

static void wait_insync(struct sending *s);

static void on_look(void *arg, const struct route53_reply *r)
{
    struct sending *s = arg;
    struct arena *a = arena_new();
    struct route53_change change = {0};
    struct err e;

    if (r->err.code == ERR_AUTH && !s->p->may_not_get_change) {
        s->p->may_not_get_change = true;
        log_line(LOG_WARN,
                 "provider %s: wait-insync: %s; the change was accepted, and "
                 "is not waited for",
                 s->p->title, r->err.msg);
    }
    if (r->err.code == ERR_NONE &&
        route53_read_change(a, r->body, r->len, &change, &e) != 0)
        log_line(LOG_DEBUG, "GetChange: %s", e.msg); /* the next look tells */
    /* A change that is not known any more is an old one: it is everywhere. */
    if (s->p->may_not_get_change || r->err.code == ERR_NOTFOUND ||
        change.in_sync)
        accepted(s);
    else
        wait_insync(s);
    arena_free(a);
}

static void look(void *arg)
{
    struct sending *s = arg;
    struct route53_ask ask = {.action = "GetChange", .query = ""};
    struct buf path;

    buf_init(&path, 256);
    buf_printf(&path, "change/%s", s->change_id);
    ask.path = buf_get(&path);
    route53_call(s->p, &ask, on_look, s);
    buf_fini(&path);
}

static void wait_insync(struct sending *s)
{
    if (s->look == LOOKS || s->p->closing)
        accepted(s);
    else
        (void)loop_timer_start(s->p->loop, looks_ms[s->look++], look, s);
}

/* ---- the batch ----------------------------------------------------------- */

static bool is_change_id(const char *id)
{
    return id[0] != '\0' && strlen(id) <= 32 &&
           strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                      "0123456789") == strlen(id);
}

static void on_answer(void *arg, const struct route53_reply *r)
{
    struct sending *s = arg;
    struct arena *a = arena_new();
    struct route53_change change = {0};
    struct err e = r->err;

    if (strcmp(r->code, "NoSuchHostedZone") == 0)
        route53_zone_forget(s->p, s->zone_id);
    if (e.code == ERR_NONE &&
        route53_read_change(a, r->body, r->len, &change, &e) != 0)
        e.code = ERR_UNKNOWN; /* HTTP 200, and cannot be read */
    if (e.code != ERR_NONE) {
        finish(s, &e);
    } else if (s->p->wait_insync && !s->p->may_not_get_change &&
               !change.in_sync && is_change_id(change.id)) {
        s->change_id = mem_strdup(change.id);
        wait_insync(s);
    } else {
        accepted(s);
    }
    arena_free(a);
}

static void add_edits(struct buf *body, const struct route53_edit *const *edits,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct route53_set *old = edits[i]->old;
        struct route53_records r = {edits[i]->name,
                                    rr_type_name(edits[i]->type), 0, NULL, 0};

        if (old == NULL)
            continue;
        r.ttl_s = old->ttl_s;
        r.values = old->values;
        r.n = old->n;
        r.before = old->before;
        r.after = old->after;
        route53_batch_change(body, "DELETE", &r);
    }
    for (size_t i = 0; i < n; i++) {
        const struct route53_set *old = edits[i]->old;
        struct route53_records r = {
            edits[i]->name, rr_type_name(edits[i]->type), edits[i]->ttl_s,
            edits[i]->values, edits[i]->n};

        if (edits[i]->n == 0)
            continue;
        r.before = old != NULL ? old->before : NULL;
        r.after = old != NULL ? old->after : NULL;
        route53_batch_change(body, "CREATE", &r);
    }
}

void route53_send(struct route53 *p, const struct route53_zone *z,
                  const struct route53_edit *const *edits, size_t n,
                  const char *comment, route53_sent_cb *cb, void *arg)
{
    struct sending *s = mem_alloc(sizeof *s);
    struct route53_ask ask = {.action = "ChangeResourceRecordSets",
                              .query = ""};
    struct buf body, path;

    s->p = p;
    s->zone_id = mem_strdup(z->id);
    s->cb = cb;
    s->arg = arg;
    route53_begin(p);
    buf_init(&body, BODY_MAX);
    buf_init(&path, 256);
    route53_batch_open(&body, comment);
    add_edits(&body, edits, n);
    route53_batch_close(&body);
    buf_printf(&path, "hostedzone/%s/rrset/", z->id);
    ask.path = buf_get(&path);
    ask.body = buf_get(&body);
    ask.body_len = body.len;
    route53_call(p, &ask, on_answer, s);
    buf_fini(&body);
    buf_fini(&path);
}
