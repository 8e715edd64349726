#include "providers/zonefile/masterfile_impl.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/charstr.h"

/* TXT records of _failover names: read, and written anew. Their bytes are
 * what DNS serves, so escapes and quotes are undone and made here. */

#define INSIDE 1000000 /* so many '(' that no newline ends the record */

/* ---- reading ------------------------------------------------------------ */

static int unreadable(const struct masterfile *m,
                      const struct masterfile_item *it, struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED,
                   "%s:%u: a TXT record whose data cannot be read; accepted: "
                   "character-strings, each of at most %u bytes",
                   m->files[it->file].path, it->line, CHARSTR_MAX);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex_decode(const char *s, size_t n, struct buf *out)
{
    if (n % 2 != 0)
        return false;
    for (size_t i = 0; i < n; i += 2) {
        int hi = hex_value(s[i]), lo = hex_value(s[i + 1]);

        if (hi < 0 || lo < 0)
            return false;
        buf_char(out, (char)(unsigned char)(hi * 16 + lo));
    }
    return true;
}

/* Wire form, "\# 4 03616263": strings behind their lengths.
 * source: RFC 3597 5 */
static bool take_generic(const char *wire, size_t n, struct buf *out)
{
    while (n > 0) {
        size_t len = (unsigned char)wire[0];

        if (len > n - 1)
            return false;
        buf_add(out, wire + 1, len);
        wire += len + 1;
        n -= len + 1;
    }
    return true;
}

/* Adds one token's bytes. returns false: no character-string */
static bool take_string(const char *s, size_t n, struct buf *out)
{
    struct buf one;
    bool ok;

    buf_init(&one, CHARSTR_MAX);
    ok = charstr_decode(s, n, &one) && !one.over;
    buf_add(out, buf_get(&one), one.len);
    buf_fini(&one);
    return ok;
}

static bool is_generic(const struct masterfile_lexer *l,
                       const struct masterfile_token *t)
{
    return !t->quoted && t->len == 2 && memcmp(l->s + t->off, "\\#", 2) == 0;
}

int masterfile_txt_read(const struct masterfile *m,
                        const struct masterfile_item *it, struct buf *out,
                        struct err *e)
{
    struct masterfile_lexer l = {
        .s = it->text + it->rdata.off, .len = it->rdata.len, .depth = INSIDE};
    struct masterfile_token t;
    bool ok = it->ntokens > 0, generic = false;
    struct buf wire;

    buf_init(&wire, 65535);
    for (uint32_t i = 0; i < it->ntokens && ok; i++) {
        ok = masterfile_next(&l, &t, NULL) == 1;
        if (ok && i == 0)
            generic = is_generic(&l, &t);
        if (ok && !generic)
            ok = take_string(l.s + t.off, t.len, out);
        else if (ok && i > 1)
            ok = hex_decode(l.s + t.off, t.len, &wire);
    }
    if (ok && generic)
        ok = take_generic(buf_get(&wire), wire.len, out);
    buf_fini(&wire);
    return ok ? 0 : unreadable(m, it, e);
}

/* ---- writing ------------------------------------------------------------ */

static void add_strings(const struct masterfile_txt *txt, const char *eol,
                        struct buf *b)
{
    char sep[8];

    (void)snprintf(sep, sizeof sep, "%s\t", eol);
    (void)charstr_add_text(b, txt->text, txt->len, sep);
}

void masterfile_txt_data(const struct masterfile_txt *txt, const char *eol,
                         struct buf *b)
{
    bool several = charstr_count(txt->len) > 1;

    buf_str(b, several ? "( " : "");
    add_strings(txt, eol, b);
    buf_str(b, several ? " )" : "");
}

/* How many parentheses are open behind the type and behind the last token,
 * and where that one ends. */
static uint32_t measure(const struct masterfile_item *it, uint32_t *at_type)
{
    struct masterfile_lexer l = {.s = it->text, .len = it->len};
    size_t last = it->rdata.len > 0
                      ? (size_t)it->rdata.off + it->rdata.len
                      : (size_t)it->type_tok.off + it->type_tok.len;
    struct masterfile_token t;

    while (masterfile_next(&l, &t, NULL) == 1) {
        if (t.off == it->type_tok.off)
            *at_type = l.depth;
        if (t.off + t.len + t.quoted >= last)
            break;
    }
    return l.depth;
}

/* Where what follows the record begins: the blanks and the comment of its
 * last line. depth: open parentheses at p. */
static size_t find_tail(const struct masterfile_item *it, size_t p,
                        uint32_t depth)
{
    size_t tail = p;

    for (; p < it->len; p++) {
        char c = it->text[p];

        if (c == ';' && depth > 0) {
            while (p + 1 < it->len && it->text[p + 1] != '\n')
                p++;
        } else if (c == '(') {
            depth++;
        } else if (c == ')' && depth > 0) {
            if (--depth == 0)
                tail = p + 1;
        } else if (depth == 0 && (c == '\n' || c == ';')) {
            break;
        }
    }
    return tail;
}

void masterfile_txt_render(const struct masterfile_item *it,
                           const struct masterfile_txt *txt, const char *eol,
                           struct buf *b)
{
    uint32_t open = 0, depth = measure(it, &open);
    size_t end = (size_t)it->type_tok.off + it->type_tok.len;
    size_t tail = find_tail(
        it, it->rdata.len > 0 ? (size_t)it->rdata.off + it->rdata.len : end,
        depth);

    buf_char(b, end < it->len && it->text[end] == '\t' ? '\t' : ' ');
    if (open == 0)
        masterfile_txt_data(txt, eol, b);
    else
        add_strings(txt, eol, b);
    for (; open > 0; open--)
        buf_str(b, " )");
    buf_add(b, it->text + tail, it->len - tail);
}

/* ---- the plan ----------------------------------------------------------- */

struct txt_edit {
    const struct masterfile *m;
    const char *name;
    const struct masterfile_txt *txt;
    struct masterfile_plan *plan;
    size_t first, last; /* items: ours, and any TXT of the main file;
                           SIZE_MAX: none */
    int64_t ttl_s;      /* of the TXT set; -1: there is none */
    struct err *e;
};

static const char *path_of(const struct txt_edit *x,
                           const struct masterfile_item *it)
{
    return x->m->files[it->file].path;
}

static int plan_ours(struct txt_edit *x, size_t i, bool same)
{
    const struct masterfile_item *it = &x->m->items[i];
    struct masterfile_step *step = &x->plan->steps[i];

    if (it->file != 0)
        return err_set(x->e, ERR_UNSUPPORTED,
                       "%s:%u: the spec stands in an included file; only the "
                       "zone's main file is edited: move the record there",
                       path_of(x, it), it->line);
    if (x->first == SIZE_MAX) {
        x->first = i;
        step->txt = same ? NULL : x->txt;
    } else {
        step->removed = true;
    }
    x->plan->changed |= step->removed || step->txt != NULL;
    return 0;
}

static int plan_item(struct txt_edit *x, size_t i)
{
    const struct masterfile_item *it = &x->m->items[i];
    struct buf b;
    int r = 0;

    if (it->kind != MF_RECORD || strcmp(it->owner, x->name) != 0)
        return 0;
    if (it->type == RR_CNAME)
        return err_set(x->e, ERR_INPUT,
                       "%s:%u: a CNAME stands at %s, and nothing may stand "
                       "beside it",
                       path_of(x, it), it->line, x->name);
    if (it->type != RR_TXT)
        return 0;
    buf_init(&b, MASTERFILE_MAX);
    r = masterfile_txt_read(x->m, it, &b, x->e);
    if (r == 0 && !provider_txt_is_foreign(buf_get(&b), b.len))
        r = plan_ours(x, i,
                      b.len == x->txt->len &&
                          memcmp(buf_get(&b), x->txt->text, b.len) == 0);
    buf_fini(&b);
    if (it->file == 0)
        x->last = i;
    x->ttl_s = it->ttl;
    return r;
}

static void plan_fresh(struct txt_edit *x, uint32_t ttl_s)
{
    struct masterfile_fresh *f = arena_alloc(x->plan->arena, sizeof *f);

    f->name = x->name;
    f->type = RR_TXT;
    f->ttl_s = x->ttl_s >= 0 ? x->ttl_s : ttl_s;
    f->after = x->last;
    f->txt = x->txt;
    x->plan->fresh = f;
    x->plan->nfresh = 1;
    x->plan->changed = true;
}

int masterfile_edit_txt(const struct masterfile *m, const char *name,
                        const char *text, size_t len, uint32_t ttl_s,
                        uint32_t serial, struct buf *out, bool *changed,
                        struct err *e)
{
    struct masterfile_txt txt = {text, len};
    struct masterfile_plan plan = {.arena = arena_new()};
    struct txt_edit x = {m, name, &txt, &plan, SIZE_MAX, SIZE_MAX, -1, e};
    int r = 0;

    *changed = false;
    if (!name_within(name, m->zone))
        r = err_set(e, ERR_INPUT, "%s is not in the zone %s", name, m->zone);
    plan.steps = arena_array(plan.arena, m->n, sizeof *plan.steps);
    for (size_t i = 0; i < m->n && r == 0; i++) {
        plan.steps[i] =
            (struct masterfile_step){.active = m->items[i].kind == MF_RECORD,
                                     .ttl_s = MASTERFILE_TTL_KEEP};
        r = plan_item(&x, i);
    }
    if (r == 0 && x.first == SIZE_MAX)
        plan_fresh(&x, ttl_s);
    *changed = plan.changed;
    if (r == 0 && plan.changed)
        r = masterfile_edit_plan(m, &plan, serial, out, e);
    masterfile_plan_fini(&plan);
    return r;
}
