#include "providers/zonefile/masterfile_impl.h"

#include <stdlib.h>
#include <string.h>

/* The check on the editor: its text is read again, and record for record
 * must say what was meant. */

/* $INCLUDE gives what it gave at the first reading, in the same order. */
struct replay {
    const struct masterfile *m;
    size_t next;
};

static int replay_read(void *arg, const char *path, char **data, size_t *len,
                       struct err *e)
{
    struct replay *p = arg;
    const struct masterfile_file *f;

    if (p->next >= p->m->nfiles)
        return err_set(e, ERR_BUG, "an $INCLUDE of %s that was not there",
                       path);
    f = &p->m->files[p->next++];
    *len = f->len;
    *data = mem_alloc(f->len + 1);
    memcpy(*data, f->text, f->len);
    return strcmp(f->path, path) == 0
               ? 0
               : err_set(e, ERR_BUG, "an $INCLUDE of %s in place of %s", path,
                         f->path);
}

static bool same_span(const struct masterfile_item *a, struct masterfile_span x,
                      const struct masterfile_item *b, struct masterfile_span y)
{
    return x.len == y.len &&
           memcmp(a->text + x.off, b->text + y.off, x.len) == 0;
}

/* But for the end of the line: the file's last may have got one. */
static bool same_line(const struct masterfile_item *a,
                      const struct masterfile_item *b)
{
    struct masterfile_span x = {0, a->len}, y = {0, b->len};

    while (x.len > 0 && strchr("\r\n", a->text[x.len - 1]) != NULL)
        x.len--;
    while (y.len > 0 && strchr("\r\n", b->text[y.len - 1]) != NULL)
        y.len--;
    return same_span(a, x, b, y);
}

static bool same_name(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

/* The data of two SOA records but for their serials. */
static bool same_soa(const struct masterfile_item *a,
                     const struct masterfile_item *b)
{
    struct masterfile_span x = a->rdata, y = b->rdata;

    x.len = a->serial.off - x.off;
    y.len = b->serial.off - y.off;
    if (!same_span(a, x, b, y))
        return false;
    x.off = a->serial.off + a->serial.len;
    y.off = b->serial.off + b->serial.len;
    x.len = a->rdata.off + a->rdata.len - x.off;
    y.len = b->rdata.off + b->rdata.len - y.off;
    return same_span(a, x, b, y);
}

static bool says(const struct masterfile *m, const struct masterfile_item *it,
                 const struct masterfile_txt *txt)
{
    struct buf b;
    bool same;

    buf_init(&b, MASTERFILE_MAX);
    same = it->type == RR_TXT && masterfile_txt_read(m, it, &b, NULL) == 0 &&
           b.len == txt->len && memcmp(buf_get(&b), txt->text, b.len) == 0;
    buf_fini(&b);
    return same;
}

static bool fits_item(const struct masterfile *m,
                      const struct masterfile_want *w,
                      const struct masterfile_item *got)
{
    const struct masterfile_item *it = w->item;

    if (got->file != it->file || got->type != it->type ||
        got->kind != (it->kind == MF_GENERATE ? MF_GENERATE
                      : w->active             ? MF_RECORD
                                              : MF_OFF) ||
        !same_name(got->owner, it->owner) ||
        !same_name(got->origin, it->origin))
        return false;
    if (it->kind == MF_GENERATE)
        return got->ttl == it->ttl && same_line(got, it);
    if (w->active && got->ttl != w->ttl)
        return false;
    if (!same_span(got, got->type_tok, it, it->type_tok))
        return false;
    if (it->type == MF_SOA)
        return same_soa(got, it);
    if (w->txt != NULL)
        return says(m, got, w->txt);
    return same_span(got, got->rdata, it, it->rdata);
}

static bool fits_fresh(const struct masterfile *m,
                       const struct masterfile_want *w,
                       const struct masterfile_item *got)
{
    const struct masterfile_fresh *f = w->fresh;
    bool same;
    char *data;

    if (got->kind != MF_RECORD || got->file != 0 ||
        got->type != (uint16_t)f->type || strcmp(got->owner, f->name) != 0 ||
        (f->ttl_s >= 0 && got->ttl != w->ttl))
        return false;
    if (f->txt != NULL)
        return says(m, got, f->txt);
    data = masterfile_data(got);
    same = strcmp(data, f->data) == 0;
    free(data);
    return same;
}

int masterfile_verify(const struct masterfile *m,
                      const struct masterfile_want *want, size_t n,
                      uint32_t serial, const struct buf *text, struct err *e)
{
    struct replay p = {m, 1};
    struct masterfile_source src = {replay_read, &p};
    struct masterfile *got = NULL;
    int r = -1;

    if (masterfile_parse(m->zone, m->files[0].path, buf_get(text), text->len,
                         &src, &got, e) != 0) {
        (void)err_wrap(e, "the edited text is damaged");
        e->code = ERR_BUG;
        goto out;
    }
    if (got->n != n || got->serial != serial) {
        (void)err_set(e, ERR_BUG,
                      "%s: the edited text has %zu records and serial %u; "
                      "meant: %zu and %u",
                      m->files[0].path, got->n, got->serial, n, serial);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const struct masterfile_item *it = &got->items[i];

        if (want[i].item != NULL ? fits_item(got, &want[i], it)
                                 : fits_fresh(got, &want[i], it))
            continue;
        (void)err_set(e, ERR_BUG,
                      "%s: line %u of the edited text is not what was meant",
                      m->files[0].path, it->line);
        goto out;
    }
    r = 0;
out:
    masterfile_free(got);
    return r;
}
