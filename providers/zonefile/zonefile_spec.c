#include "providers/zonefile/zonefile_impl.h"

#include <stdlib.h>

/* A spec's TXT record as one rewrite of the zone file. */

struct writing {
    char *name, *text;
    size_t len;
    uint32_t ttl_s;
    provider_written_cb *cb;
    void *arg;
};

static int edit(void *arg, const struct masterfile *m, uint32_t serial,
                struct buf *out, bool *changed, struct err *e)
{
    const struct writing *w = arg;

    return masterfile_edit_txt(m, w->name, w->text, w->len, w->ttl_s, serial,
                               out, changed, e);
}

static void done(void *arg, const struct zonefile_rewritten *r)
{
    struct writing *w = arg;
    struct provider_written out = {.err = r->err,
                                   .changed =
                                       r->changed && r->state != CHANGE_FAILED,
                                   .has_serial = r->has_serial,
                                   .serial = r->serial};

    if (r->state == CHANGE_UNKNOWN)
        out.err.code = ERR_UNKNOWN;
    w->cb(w->arg, &out);
    free(w->name);
    free(w->text);
    free(w);
}

void zonefile_write_spec(struct provider *p, const struct spec_write *spec,
                         provider_written_cb *cb, void *arg)
{
    struct writing *w = mem_alloc(sizeof *w);
    /* The file may hold it already while the server does not serve it. */
    struct zonefile_rewrite what = {.zone = spec->zone,
                                    .edit = edit,
                                    .done = done,
                                    .confirm = true,
                                    .arg = w};

    w->name = mem_printf("_failover.%s", spec->owner);
    w->text = mem_strndup(spec->text, spec->len);
    w->len = spec->len;
    w->ttl_s = spec->ttl_s;
    w->cb = cb;
    w->arg = arg;
    zonefile_rewrite((struct zonefile *)p, &what);
}
