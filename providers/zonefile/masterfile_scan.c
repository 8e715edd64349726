#include "providers/zonefile/masterfile_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Reading: text to items. */

#define INCLUDE_DEPTH 8
#define INCLUDE_FILES 1000

static int scan_file(struct masterfile_scan *s, uint32_t file,
                     const char *origin, const char *owner);

/* The rest of a directive's line; words: up to 2 are wanted.
 * returns their number, or -1 */
static int take_words(struct masterfile_scan *s, struct masterfile_lexer *l,
                      struct masterfile_token *t, int max)
{
    struct masterfile_token more;
    int n = 0, r;

    while ((r = masterfile_next(l, n < max ? &t[n] : &more, s->e)) == 1) {
        if (n == max)
            return err_set(s->e, ERR_INPUT, "too many words after it");
        n++;
    }
    return r < 0 ? -1 : n;
}

static int add_file(struct masterfile_scan *s, uint32_t parent,
                    const char *path)
{
    struct masterfile *m = s->m;
    struct masterfile_file f = {
        .path = path, .parent = parent, .depth = m->files[parent].depth + 1};

    if (f.depth > INCLUDE_DEPTH || m->nfiles >= INCLUDE_FILES)
        return err_set(s->e, ERR_LIMIT,
                       "$INCLUDE: at most %d deep and %d in all", INCLUDE_DEPTH,
                       INCLUDE_FILES);
    if (s->src == NULL)
        return err_set(s->e, ERR_UNSUPPORTED, "$INCLUDE is not accepted here");
    if (s->src->read(s->src->arg, path, &f.owned, &f.len, s->e) != 0)
        return err_wrap(s->e, "$INCLUDE");
    f.text = f.owned;
    m->bytes += f.len;
    m->files = mem_grow(m->files, &m->files_cap, m->nfiles, sizeof *m->files);
    m->files[m->nfiles++] = f;
    if (m->bytes > MASTERFILE_MAX)
        return err_set(s->e, ERR_LIMIT, "more than %zu bytes with $INCLUDE",
                       MASTERFILE_MAX);
    return 0;
}

static int scan_include(struct masterfile_scan *s,
                        const struct masterfile_place *p,
                        struct masterfile_lexer *l)
{
    struct masterfile_token t[2];
    const char *origin = p->origin;
    int n = take_words(s, l, t, 2);

    if (n < 0)
        return -1;
    if (n == 0)
        return err_set(s->e, ERR_INPUT, "$INCLUDE without a file");
    if (n == 2)
        origin = masterfile_owner(s, l->s + t[1].off, t[1].len, p->origin);
    if (origin == NULL ||
        add_file(s, p->file,
                 arena_strndup(s->m->arena, l->s + t[0].off, t[0].len)) != 0)
        return -1;
    return scan_file(s, (uint32_t)s->m->nfiles - 1, origin, p->owner);
}

/* returns 0, or -1 with e set; *inner: the text has its place already */
static int scan_directive(struct masterfile_scan *s, struct masterfile_place *p,
                          struct masterfile_lexer *l,
                          struct masterfile_item *it,
                          const struct masterfile_token *word, bool *inner)
{
    const char *w = l->s + word->off;
    struct masterfile_token t;
    int n;

    if (masterfile_is_word(w, word->len, "$INCLUDE")) {
        size_t nfiles = s->m->nfiles;
        int r = scan_include(s, p, l);

        *inner = r != 0 && s->m->nfiles > nfiles;
        return r;
    }
    if (masterfile_is_word(w, word->len, "$GENERATE")) {
        it->origin = p->origin;
        masterfile_ttl_set(s, it);
        if (masterfile_generate_add(s->m, l, it, s->e) != 0)
            return -1;
        masterfile_ttl_keep(s, it);
        return 0;
    }
    if (masterfile_is_word(w, word->len,
                           "$DATE")) /* BIND's own, of transferred zones */
        return take_words(s, l, &t, 1) < 0 ? -1 : 0;
    if (!masterfile_is_word(w, word->len, "$ORIGIN") &&
        !masterfile_is_word(w, word->len, "$TTL"))
        return err_set(s->e, ERR_INPUT,
                       "unknown directive \"%.*s\"; accepted: $ORIGIN, $TTL, "
                       "$INCLUDE, $GENERATE",
                       (int)(word->len < 40 ? word->len : 40), w);
    n = take_words(s, l, &t, 1);
    if (n < 0)
        return -1;
    if (n == 0)
        return err_set(s->e, ERR_INPUT, "%.*s without a value", (int)word->len,
                       w);
    if (masterfile_is_word(w, word->len, "$ORIGIN")) {
        p->origin = masterfile_owner(s, l->s + t.off, t.len, p->origin);
        return p->origin != NULL ? 0 : -1;
    }
    if (!masterfile_ttl_parse(l->s + t.off, t.len, &s->default_ttl))
        return err_set(s->e, ERR_INPUT,
                       "$TTL \"%.*s\"; accepted: seconds, or like 1h30m",
                       (int)(t.len < 40 ? t.len : 40), l->s + t.off);
    s->default_known = true;
    return 0;
}

/* One line, or several in parentheses. returns 0, or -1 with e set */
static int scan_line(struct masterfile_scan *s, struct masterfile_place *p,
                     struct masterfile_lexer *l, bool *inner)
{
    const char *at = l->s + l->pos;
    struct masterfile_item it = {.text = at,
                                 .raw_off = (uint32_t)l->pos,
                                 .line = l->line,
                                 .file = p->file};
    struct masterfile_lexer look = *l;
    struct masterfile_token t;
    int r;

    if (*at == ';' && p->file == 0 &&
        l->len - l->pos > strlen(MASTERFILE_MARK) &&
        memcmp(at, MASTERFILE_MARK, strlen(MASTERFILE_MARK)) == 0) {
        masterfile_off_scan(s, p, l);
        if (l->pos != look.pos)
            return 0;
    }
    r = masterfile_next(&look, &t, s->e);
    if (r <= 0) { /* blank, or a comment; keep its line for the message */
        *l = look;
        return r;
    }
    if (*at == ' ' || *at == '\t') {
        r = masterfile_record_scan(s, p, l, &it, NULL);
    } else if (*at == '$' && !t.quoted) {
        *l = look;
        r = scan_directive(s, p, l, &it, &t, inner);
    } else {
        *l = look;
        r = masterfile_record_scan(s, p, l, &it, &t);
    }
    return r;
}

static int scan_file(struct masterfile_scan *s, uint32_t file,
                     const char *origin, const char *owner)
{
    const struct masterfile_file *f = &s->m->files[file];
    struct masterfile_lexer l = {.s = f->text, .len = f->len, .line = 1};
    struct masterfile_place p = {
        .origin = origin, .owner = owner, .file = file};
    const char *path = f->path;
    bool inner = false;
    uint32_t line = 1;

    if (f->len > 0 && memchr(f->text, '\0', f->len) != NULL)
        return err_set(s->e, ERR_INPUT,
                       "%s: not a text file (BIND's raw format?); accepted: "
                       "masterfile-format text",
                       path);
    while (l.pos < l.len) {
        line = l.line;
        if (scan_line(s, &p, &l, &inner) != 0) {
            if (!inner)
                (void)err_wrap(s->e, "%s:%u", path, line);
            return -1;
        }
    }
    return 0;
}

int masterfile_parse(const char *zone, const char *path, const char *text,
                     size_t len, const struct masterfile_source *src,
                     struct masterfile **out, struct err *e)
{
    struct masterfile *m = mem_alloc(sizeof *m);
    struct masterfile_scan s = {.m = m, .src = src, .e = e};
    int r = -1;

    m->arena = arena_new();
    m->zone = arena_strdup(m->arena, zone);
    m->soa = SIZE_MAX;
    m->files = mem_grow(NULL, &m->files_cap, 0, sizeof *m->files);
    m->files[0].path = arena_strdup(m->arena, path);
    m->files[0].text = text;
    m->files[0].len = m->bytes = len;
    m->nfiles = 1;
    if (len > MASTERFILE_MAX)
        (void)err_set(e, ERR_LIMIT, "%s: more than %zu bytes", path,
                      MASTERFILE_MAX);
    else
        r = scan_file(&s, 0, m->zone, NULL);
    if (r == 0 && m->soa == SIZE_MAX)
        r = err_set(e, ERR_INPUT, "%s: no SOA record", path);
    if (r != 0) {
        masterfile_free(m);
        m = NULL;
    }
    *out = m;
    return r;
}

void masterfile_free(struct masterfile *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->nfiles; i++)
        free(m->files[i].owned);
    free(m->files);
    free(m->items);
    free(m->gens);
    arena_free(m->arena);
    free(m);
}
