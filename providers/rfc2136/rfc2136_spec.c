#include <stdlib.h>
#include <string.h>

#include "providers/rfc2136/rfc2136.h"

/* A spec's TXT record: the texts of others at the name stay. */

struct writing {
    struct rfc2136 *p;
    struct arena *arena;
    struct rfc2136_edit_set set;
    struct message_rdata text;
    uint32_t ttl_s;
    provider_written_cb *cb;
    void *arg;
};

static bool is_foreign(struct arena *a, const struct message_rdata *r)
{
    size_t len;
    const char *text = rfc2136_rdata_txt_text(a, r, &len);

    return provider_txt_is_foreign(text, len);
}

static int want(void *arg, size_t i, const struct rfc2136_set *now,
                const struct rfc2136_soa *soa, struct arena *a,
                struct rfc2136_set *out, struct err *e)
{
    const struct writing *w = arg;
    struct message_rdata *v = arena_array(a, now->n + 1, sizeof *v);

    (void)i;
    (void)soa;
    (void)e;
    for (size_t k = 0; k < now->n; k++)
        if (is_foreign(a, &now->v[k]))
            v[out->n++] = now->v[k];
    v[out->n++] = w->text;
    out->v = v;
    out->ttl_s = now->n > 0 ? now->ttl_s : w->ttl_s;
    return 0;
}

static void finish(void *arg, const struct rfc2136_edited *d)
{
    struct writing *w = arg;
    struct rfc2136 *p = w->p;
    const struct change_result *r = &w->set.result;
    struct provider_written out = {.err = d->err,
                                   .changed = w->set.changed &&
                                              r->state != CHANGE_FAILED,
                                   .has_serial = d->has_serial,
                                   .serial = d->serial};

    if (r->state == CHANGE_FAILED || r->state == CHANGE_UNKNOWN)
        out.err = r->err;
    if (r->state == CHANGE_UNKNOWN)
        out.err.code = ERR_UNKNOWN;
    else if (r->state == CHANGE_DONE)
        out.err.code = ERR_NONE;
    w->cb(w->arg, &out);
    arena_free(w->arena);
    free(w);
    rfc2136_leave(p);
}

void rfc2136_write_spec(struct provider *base, const struct spec_write *spec,
                        provider_written_cb *cb, void *arg)
{
    struct rfc2136 *p = (struct rfc2136 *)base;
    struct writing *w = mem_alloc(sizeof *w);
    struct rfc2136_edit_order o = {
        .sets = &w->set, .n = 1, .want = want, .done = finish, .arg = w};

    rfc2136_enter(p);
    w->p = p;
    w->arena = arena_new();
    w->ttl_s = spec->ttl_s;
    w->cb = cb;
    w->arg = arg;
    rfc2136_rdata_txt(w->arena, arena_text(w->arena, spec->text, spec->len),
                      spec->len, &w->text);
    w->set.now.name = arena_printf(w->arena, "_failover.%s", spec->owner);
    w->set.now.type = RR_TXT;
    o.zone = arena_strdup(w->arena, spec->zone);
    o.arena = w->arena;
    rfc2136_edit(p, &o);
}
