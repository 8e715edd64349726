#include "providers/zonefile/masterfile_impl.h"

#include <stdlib.h>
#include <string.h>

/* Writing: first what each record needs in its new surroundings (resolve),
 * then the text (render), then a second reading of it (masterfile_verify).
 *
 * A line from whose comment we know that we wrote its owner or TTL (lent-…)
 * counts as if it had none: it is written again only where it must be. */

enum owner_way { OWNER_KEEP, OWNER_WRITE, OWNER_DROP };
enum ttl_way { TTL_KEEP, TTL_WRITE, TTL_DROP };

struct out {
    bool active;
    bool base_owner, base_ttl; /* it has one of its own */
    uint8_t owner, ttl;        /* owner_way, ttl_way */
    bool lent_owner, lent_ttl; /* of a comment of ours, */
    bool note_owner;           /* which gets the note owner=… */
    uint32_t ttl_s;
};
struct edit {
    const struct masterfile *m;
    const struct masterfile_plan *plan;
    struct arena *arena;
    struct out *outs;
    struct masterfile_want *want;
    size_t nwant, nfresh;
    uint32_t serial;
    /* the surroundings: owner by depth of $INCLUDE */
    const char *owner[16];
    uint32_t file[16];
    bool last_known;
    uint32_t last_ttl;
    size_t before; /* the main file's item before; SIZE_MAX: none, or fresh */
    struct buf *text;
    const char *eol;
    size_t copied;
    struct err *e;
};

/* How an item's owner is written: as it was, where that says the same. */
static const char *owner_text(struct arena *a, const struct masterfile_item *it)
{
    const char *owner = it->owner, *origin = it->origin;
    size_t n = strlen(owner), o = strlen(origin);

    if (it->spelled != NULL && strcmp(it->spelled_origin, origin) == 0)
        return arena_strndup(a, it->spelled, it->spelled_len);
    if (strcmp(owner, origin) == 0)
        return "@";
    if (o > 1 && n > o + 1 && strcmp(owner + n - o, origin) == 0 &&
        owner[n - o - 1] == '.')
        return arena_strndup(a, owner, n - o - 1);
    return owner;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What of an item is its own, and what we once wrote there. */
static void set_base(struct edit *x, size_t i, struct out *o)
{
    const struct masterfile_item *it = &x->m->items[i], *p;

    o->base_owner = it->owner_tok.len > 0;
    o->base_ttl = it->ttl_tok.len > 0;
    if (i == 0 || it->file != 0 || it->kind != MF_RECORD)
        return;
    p = &x->m->items[i - 1];
    if (p->kind != MF_OFF)
        return;
    if (p->lent_owner && o->base_owner)
        o->base_owner = strcmp(p->owner, it->owner) != 0 ||
                        !is_blank(it->text[it->owner_tok.len]);
    if (p->lent_ttl && o->base_ttl && !it->has_default)
        o->base_ttl = it->ttl_tok.off != it->head ||
                      !is_blank(it->text[it->ttl_tok.off + it->ttl_tok.len]);
}

/* The owner that a line without one would have; an $INCLUDE starts with that
 * of the line before it and leaves it as it was. */
static const char **current_owner(struct edit *x, uint32_t file)
{
    const struct masterfile_file *f = &x->m->files[file];

    if (file != 0 && x->file[f->depth] != file) {
        const char *owner = *current_owner(x, f->parent);

        x->file[f->depth] = file;
        x->owner[f->depth] = owner;
    }
    return &x->owner[f->depth];
}

/* The TTL that a line without one would have where no $TTL holds. */
static uint32_t current_ttl(const struct edit *x)
{
    return x->last_known ? x->last_ttl : MASTERFILE_TTL_UNSET;
}

static int needs_change(const struct edit *x, const struct masterfile_item *it)
{
    if (it->file == 0)
        return 0;
    return err_set(x->e, ERR_UNSUPPORTED,
                   "%s:%u: the record takes its owner or TTL from a line that "
                   "would change, and only the zone's main file is edited; "
                   "write both into it",
                   x->m->files[it->file].path, it->line);
}

static int resolve_owner(struct edit *x, const struct masterfile_item *it,
                         struct out *o)
{
    const char **owner = current_owner(x, it->file);

    if (!o->base_owner && (*owner == NULL || strcmp(*owner, it->owner) != 0)) {
        o->owner = it->owner_tok.len > 0 ? OWNER_KEEP : OWNER_WRITE;
        if (x->before != SIZE_MAX && it->file == 0)
            x->outs[x->before].lent_owner = true;
        if (o->owner == OWNER_WRITE && needs_change(x, it) != 0)
            return -1;
    } else if (!o->base_owner && it->owner_tok.len > 0) {
        o->owner = OWNER_DROP;
    }
    *owner = it->owner;
    return 0;
}

static int resolve_ttl(struct edit *x, const struct masterfile_item *it,
                       const struct masterfile_step *step, struct out *o)
{
    bool free_ttl = it->kind == MF_OFF && it->ttl_from == MF_TTL_LAST;
    bool given = step->ttl_s != MASTERFILE_TTL_KEEP;
    uint32_t now = it->has_default ? it->default_ttl : current_ttl(x);

    o->ttl_s = given ? (uint32_t)step->ttl_s : it->ttl;
    if (free_ttl && !given)
        o->ttl_s = now;
    if (o->base_ttl) {
        o->ttl = o->ttl_s == it->ttl ? TTL_KEEP : TTL_WRITE;
    } else if (o->ttl_s == now && it->ttl_from != MF_TTL_TOKEN) {
        o->ttl = TTL_KEEP;
    } else if (o->ttl_s == now) {
        o->ttl = TTL_DROP;
    } else {
        o->ttl =
            it->ttl_tok.len > 0 && o->ttl_s == it->ttl ? TTL_KEEP : TTL_WRITE;
        if (x->before != SIZE_MAX && it->file == 0 && !given)
            x->outs[x->before].lent_ttl = true;
    }
    if (o->ttl != TTL_KEEP && needs_change(x, it) != 0)
        return -1;
    if (o->ttl == TTL_WRITE || (o->ttl == TTL_KEEP && it->ttl_tok.len > 0)) {
        x->last_ttl = o->ttl_s;
        x->last_known = true;
    }
    return 0;
}

/* These lines stay as they are. */
static int resolve_generate(struct edit *x, const struct masterfile_item *it)
{
    if (it->ttl_from == MF_TTL_TOKEN) {
        x->last_ttl = it->ttl;
        x->last_known = true;
    } else if (it->ttl_from == MF_TTL_LAST && current_ttl(x) != it->ttl) {
        return err_set(x->e, ERR_UNSUPPORTED,
                       "%s:%u: $GENERATE takes its TTL from a line above that "
                       "would change; write the TTL into it, or a $TTL line",
                       x->m->files[it->file].path, it->line);
    }
    return 0;
}

static void resolve_fresh(struct edit *x, size_t after)
{
    for (; x->nfresh < x->plan->nfresh; x->nfresh++) {
        const struct masterfile_fresh *f = &x->plan->fresh[x->nfresh];

        if (f->after != after)
            break;
        x->want[x->nwant++] = (struct masterfile_want){
            .fresh = f,
            .active = true,
            .ttl = f->ttl_s >= 0 ? (uint32_t)f->ttl_s : 0};
        x->owner[0] = f->name;
        x->before = SIZE_MAX;
        if (f->ttl_s >= 0) {
            x->last_ttl = (uint32_t)f->ttl_s;
            x->last_known = true;
        }
    }
}

/* A comment of ours whose note somebody took away: it means the owner above. */
static bool loses_owner(struct edit *x, const struct masterfile_item *it)
{
    const char *owner = *current_owner(x, it->file);

    return it->owner_tok.len == 0 &&
           (owner == NULL || strcmp(owner, it->owner) != 0);
}

static int resolve_item(struct edit *x, size_t i)
{
    const struct masterfile_item *it = &x->m->items[i];
    const struct masterfile_step *step = &x->plan->steps[i];
    struct out *o = &x->outs[i];

    o->active = step->active;
    if (step->removed) {
        x->before = SIZE_MAX;
        if (it->file == 0)
            resolve_fresh(x, i);
        return 0;
    }
    if (it->kind == MF_GENERATE) {
        if (resolve_generate(x, it) != 0)
            return -1;
    } else {
        set_base(x, i, o);
        if (it->kind == MF_OFF && !o->active)
            o->note_owner = it->noted_owner || loses_owner(x, it);
        if (o->active &&
            (resolve_owner(x, it, o) != 0 || resolve_ttl(x, it, step, o) != 0))
            return -1;
    }
    x->want[x->nwant++] = (struct masterfile_want){
        .item = it, .active = o->active, .ttl = o->ttl_s, .txt = step->txt};
    x->before = it->kind != MF_GENERATE && !o->active ? i : SIZE_MAX;
    if (it->file == 0)
        resolve_fresh(x, i);
    return 0;
}

static int resolve(struct edit *x)
{
    x->before = SIZE_MAX;
    for (size_t i = 0; i < x->m->n; i++)
        if (resolve_item(x, i) != 0)
            return -1;
    resolve_fresh(x, SIZE_MAX);
    return 0;
}

/* The item's text with what was decided for it. */
static void render_lines(struct edit *x, const struct masterfile_item *it,
                         const struct out *o, const struct masterfile_txt *txt,
                         struct buf *b)
{
    uint32_t at = 0, ttl_at = it->ttl_tok.off, ttl_len = it->ttl_tok.len;

    if (o->owner == OWNER_WRITE)
        buf_str(b, owner_text(x->arena, it));
    else if (o->owner == OWNER_DROP)
        at = it->owner_tok.len;
    if (o->ttl == TTL_WRITE && ttl_len > 0) {
        buf_add(b, it->text + at, ttl_at - at);
        buf_printf(b, "%u", o->ttl_s);
        at = ttl_at + ttl_len;
    } else if (o->ttl == TTL_WRITE) {
        char sep =
            is_blank(it->text[it->head - 1]) ? it->text[it->head - 1] : ' ';

        buf_add(b, it->text + at, it->head - at);
        buf_printf(b, "%u%c", o->ttl_s, sep);
        at = it->head;
    } else if (o->ttl == TTL_DROP) {
        buf_add(b, it->text + at, ttl_at - at);
        at = ttl_at + ttl_len + 1;
    }
    if (it->type == MF_SOA) {
        int width = it->text[it->serial.off] == '0' ? (int)it->serial.len : 0;

        buf_add(b, it->text + at, it->serial.off - at);
        buf_printf(b, "%0*u", width, x->serial);
        at = it->serial.off + it->serial.len;
    }
    if (txt != NULL) {
        uint32_t end = it->type_tok.off + it->type_tok.len;

        buf_add(b, it->text + at, end - at);
        masterfile_txt_render(it, txt, x->eol, b);
        return;
    }
    buf_add(b, it->text + at, it->len - at);
}

/* The item as a comment of ours. */
static void render_off(struct edit *x, const struct masterfile_item *it,
                       struct out *o)
{
    bool owner = it->kind == MF_OFF ? o->note_owner : !o->base_owner;
    bool ttl = it->kind == MF_OFF
                   ? it->ttl_from == MF_TTL_NOTE
                   : !o->base_ttl && it->ttl_from != MF_TTL_DEFAULT;
    const char *p, *end;
    struct buf b;

    buf_str(x->text, MASTERFILE_MARK);
    if (owner)
        buf_printf(x->text, " owner=%s", it->owner);
    if (ttl)
        buf_printf(x->text, " ttl=%u", it->ttl);
    if (o->lent_owner)
        buf_str(x->text, " lent-owner");
    if (o->lent_ttl)
        buf_str(x->text, " lent-ttl");
    buf_str(x->text, "; ");
    buf_init(&b, MASTERFILE_MAX * 2);
    o->owner =
        !o->base_owner && it->owner_tok.len > 0 ? OWNER_DROP : OWNER_KEEP;
    o->ttl = !o->base_ttl && it->ttl_tok.len > 0 ? TTL_DROP : TTL_KEEP;
    render_lines(x, it, o, NULL, &b);
    p = buf_get(&b);
    for (end = p + b.len; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *next = nl != NULL ? nl + 1 : end;

        buf_add(x->text, p, (size_t)(next - p));
        if (next < end)
            buf_str(x->text, MASTERFILE_MARK "+; ");
        p = next;
    }
    buf_fini(&b);
}

static void render_fresh(struct edit *x, const struct masterfile_fresh *f)
{
    if (x->text->len > 0 && x->text->data[x->text->len - 1] != '\n')
        buf_str(x->text, x->eol);
    buf_printf(x->text, "%s\t", f->name);
    if (f->ttl_s >= 0)
        buf_printf(x->text, "%lld\t", (long long)f->ttl_s);
    buf_printf(x->text, "IN\t%s\t", rr_type_name(f->type));
    if (f->txt != NULL)
        masterfile_txt_data(f->txt, x->eol, x->text);
    else
        buf_str(x->text, f->data);
    buf_str(x->text, x->eol);
}

static void copy_to(struct edit *x, size_t end)
{
    buf_add(x->text, x->m->files[0].text + x->copied, end - x->copied);
    x->copied = end;
}

static void render_item(struct edit *x, size_t i)
{
    const struct masterfile_item *it = &x->m->items[i];
    const struct masterfile_step *step = &x->plan->steps[i];
    struct out *o = &x->outs[i];
    size_t end = (size_t)it->raw_off + it->raw_len;
    bool was_active = it->kind == MF_RECORD;

    copy_to(x, it->raw_off);
    if (step->removed) {
        x->copied = end;
        return;
    }
    if (it->kind == MF_GENERATE ||
        (o->active == was_active && o->owner == OWNER_KEEP &&
         o->ttl == TTL_KEEP && it->type != MF_SOA && step->txt == NULL &&
         (o->active ||
          (o->note_owner == it->noted_owner &&
           o->lent_owner == it->lent_owner && o->lent_ttl == it->lent_ttl)))) {
        copy_to(x, end);
        return;
    }
    if (o->active)
        render_lines(x, it, o, step->txt, x->text);
    else
        render_off(x, it, o);
    x->copied = end;
}

static void render(struct edit *x)
{
    size_t fresh = 0;

    for (size_t i = 0; i < x->m->n; i++) {
        if (x->m->items[i].file != 0)
            continue;
        render_item(x, i);
        while (fresh < x->plan->nfresh && x->plan->fresh[fresh].after == i)
            render_fresh(x, &x->plan->fresh[fresh++]);
    }
    copy_to(x, x->m->files[0].len);
    while (fresh < x->plan->nfresh)
        render_fresh(x, &x->plan->fresh[fresh++]);
}

static const char *eol_of(const struct masterfile_file *f)
{
    const char *nl = f->len > 0 ? memchr(f->text, '\n', f->len) : NULL;

    return nl != NULL && nl > f->text && nl[-1] == '\r' ? "\r\n" : "\n";
}

int masterfile_edit_plan(const struct masterfile *m,
                         const struct masterfile_plan *plan, uint32_t serial,
                         struct buf *out, struct err *e)
{
    struct edit x = {.m = m,
                     .plan = plan,
                     .arena = plan->arena,
                     .serial = serial,
                     .text = out,
                     .e = e,
                     .eol = eol_of(&m->files[0])};

    if (m->items[m->soa].file != 0)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s:%u: the SOA stands in an included file; it must be "
                       "in the zone's main file for its serial to be raised",
                       m->files[m->items[m->soa].file].path,
                       m->items[m->soa].line);
    x.outs = arena_array(x.arena, m->n, sizeof *x.outs);
    x.want = arena_array(x.arena, m->n + plan->nfresh, sizeof *x.want);
    if (resolve(&x) != 0)
        return -1;
    render(&x);
    if (out->over)
        return err_set(e, ERR_LIMIT, "%s: more than %zu bytes after the change",
                       m->files[0].path, out->max);
    return masterfile_verify(m, x.want, x.nwant, serial, out, e);
}

int masterfile_edit(const struct masterfile *m, const struct change *v,
                    size_t n, uint32_t serial, struct change_result *results,
                    struct buf *out, bool *changed, struct err *e)
{
    struct masterfile_plan plan;
    int r = 0;

    masterfile_plan_make(m, v, n, results, &plan);
    *changed = plan.changed;
    if (plan.changed)
        r = masterfile_edit_plan(m, &plan, serial, out, e);
    masterfile_plan_fini(&plan);
    return r;
}
