#include "providers/masterfile_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Reading: text to items. */

#define INCLUDE_DEPTH 8
#define INCLUDE_FILES 1000

/* What holds at a line. Owner and origin belong to one file, the TTLs go on
 * through $INCLUDE, as BIND has it. */
struct place {
    const char *origin, *owner;
    const char *spelled, *spelled_origin; /* of owner */
    uint32_t spelled_len, file;
};
struct scan {
    struct masterfile *m;
    const struct masterfile_source *src;
    struct err *e;
    bool default_known, last_known;
    uint32_t default_ttl, last_ttl;
    const char *tok; /* the owner token read last, and what came of it */
    size_t tok_len;
    const char *tok_origin, *tok_owner;
};

static int scan_file(struct scan *s, uint32_t file, const char *origin,
                     const char *owner);

/* Names come in runs: the same token again costs a comparison. */
static const char *owner_of(struct scan *s, const char *tok, size_t n,
                            const char *origin)
{
    if (s->tok != NULL && s->tok_origin == origin && s->tok_len == n &&
        memcmp(s->tok, tok, n) == 0)
        return s->tok_owner;
    s->tok = tok;
    s->tok_len = n;
    s->tok_origin = origin;
    s->tok_owner = masterfile_name(s->m->arena, tok, n, origin);
    if (s->tok_owner == NULL) {
        s->tok = NULL;
        (void)err_set(s->e, ERR_INPUT, "a name longer than 255 bytes");
    }
    return s->tok_owner;
}

static void set_ttl(const struct scan *s, struct masterfile_item *it)
{
    it->has_default = s->default_known;
    it->default_ttl = s->default_ttl;
    if (it->ttl_tok.len > 0) {
        it->ttl_from = MF_TTL_TOKEN;
    } else if (s->default_known) {
        it->ttl_from = MF_TTL_DEFAULT;
        it->ttl = s->default_ttl;
    } else {
        it->ttl_from = MF_TTL_LAST;
        it->ttl = s->last_known ? s->last_ttl : MASTERFILE_TTL_UNSET;
    }
}

/* For the records below that have none. */
static void keep_ttl(struct scan *s, const struct masterfile_item *it)
{
    if (it->ttl_from == MF_TTL_TOKEN) {
        s->last_ttl = it->ttl;
        s->last_known = true;
    }
}

/* What follows the type. it->text is set; min: of a SOA.
 * returns 0, or -1 with e set */
static int take_rdata(const struct scan *s, struct masterfile_lexer *l,
                      struct masterfile_item *it, uint32_t *min)
{
    size_t base = (size_t)(it->text - l->s);
    struct masterfile_token t;
    int r;

    while ((r = masterfile_next(l, &t, s->e)) == 1) {
        uint32_t off = (uint32_t)(t.off - base) - t.quoted,
                 end = (uint32_t)(t.off + t.len - base) + t.quoted;

        if (it->ntokens == 0)
            it->rdata.off = off;
        it->rdata.len = end - it->rdata.off;
        if (it->type == MF_SOA && it->ntokens == 2)
            it->serial = (struct masterfile_span){off, end - off};
        if (it->type == MF_SOA && it->ntokens == 6 &&
            !masterfile_ttl_parse(l->s + t.off, t.len, min))
            return err_set(s->e, ERR_INPUT, "the SOA's minimum \"%.*s\"",
                           (int)(t.len < 40 ? t.len : 40), l->s + t.off);
        it->ntokens++;
    }
    return r;
}

/* One record; l stands after the owner, whose token is in it (or none).
 * returns 0, or -1 with e set */
static int take_record(struct scan *s, struct masterfile_lexer *l,
                       struct masterfile_item *it, uint32_t *min)
{
    size_t base = (size_t)(it->text - l->s);
    struct masterfile_token t;
    bool has_class = false, foreign = false;
    int r;

    while ((r = masterfile_next(l, &t, s->e)) == 1) {
        const char *w = l->s + t.off;
        int c = has_class ? 0 : masterfile_class_of(w, t.len);

        if (it->head == 0)
            it->head = (uint32_t)(t.off - base) - t.quoted;
        if (it->ttl_tok.len == 0 && masterfile_ttl_parse(w, t.len, &it->ttl)) {
            it->ttl_tok = (struct masterfile_span){(uint32_t)(t.off - base),
                                                   (uint32_t)t.len};
        } else if (c != 0) {
            has_class = true;
            foreign = c == 2;
        } else {
            break;
        }
    }
    if (r < 0)
        return -1;
    if (r == 0)
        return err_set(s->e, ERR_INPUT, "a record without type");
    if (l->s[t.off] >= '0' && l->s[t.off] <= '9')
        return err_set(s->e, ERR_INPUT,
                       "\"%.*s\" is neither a TTL nor a type; a TTL is seconds "
                       "or like 1h30m",
                       (int)(t.len < 40 ? t.len : 40), l->s + t.off);
    it->type_tok =
        (struct masterfile_span){(uint32_t)(t.off - base), (uint32_t)t.len};
    it->type = foreign ? MF_OTHER : masterfile_type_of(l->s + t.off, t.len);
    return take_rdata(s, l, it, min);
}

static struct masterfile_item *push(struct masterfile *m,
                                    const struct masterfile_item *it)
{
    m->items = mem_grow(m->items, &m->cap, m->n, sizeof *m->items);
    m->items[m->n] = *it;
    return &m->items[m->n++];
}

static void close_item(struct masterfile_item *it,
                       const struct masterfile_lexer *l)
{
    it->len = (uint32_t)(l->pos - (size_t)(it->text - l->s));
    it->raw_len = it->len;
}

static int take_soa(struct scan *s, struct masterfile_item *it)
{
    struct masterfile *m = s->m;
    uint64_t v = 0;

    if (strcmp(it->owner, m->zone) != 0)
        return err_set(s->e, ERR_INPUT,
                       "the SOA is that of %.200s; expected: of %s", it->owner,
                       m->zone);
    if (m->soa != SIZE_MAX)
        return err_set(s->e, ERR_INPUT, "a second SOA record");
    if (it->ntokens != 7)
        return err_set(s->e, ERR_INPUT, "the SOA has %u fields; expected: 7",
                       it->ntokens);
    for (uint32_t i = 0; i < it->serial.len; i++) {
        char c = it->text[it->serial.off + i];

        v = c >= '0' && c <= '9' && v <= UINT32_MAX
                ? v * 10 + (uint64_t)(c - '0')
                : UINT64_MAX;
    }
    if (it->serial.len == 0 || v > UINT32_MAX)
        return err_set(s->e, ERR_INPUT,
                       "the SOA's serial \"%.*s\" is not a number of 32 bits",
                       (int)(it->serial.len < 40 ? it->serial.len : 40),
                       it->text + it->serial.off);
    m->soa = m->n;
    m->serial = (uint32_t)v;
    return 0;
}

static int scan_record(struct scan *s, struct place *p,
                       struct masterfile_lexer *l, struct masterfile_item *it,
                       const struct masterfile_token *owner)
{
    size_t base = (size_t)(it->text - l->s);
    uint32_t min = 0;

    if (owner != NULL) {
        it->owner_tok = (struct masterfile_span){
            (uint32_t)(owner->off - base) - owner->quoted,
            (uint32_t)owner->len + 2u * owner->quoted};
        p->owner = owner_of(s, l->s + owner->off, owner->len, p->origin);
        if (p->owner == NULL)
            return -1;
        p->spelled = it->text + it->owner_tok.off;
        p->spelled_len = it->owner_tok.len;
        p->spelled_origin = p->origin;
    }
    it->spelled = p->spelled;
    it->spelled_len = p->spelled_len;
    it->spelled_origin = p->spelled_origin;
    it->owner = p->owner;
    it->origin = p->origin;
    if (take_record(s, l, it, &min) != 0)
        return -1;
    if (it->owner == NULL)
        return err_set(s->e, ERR_INPUT, "a record without owner");
    close_item(it, l);
    set_ttl(s, it);
    if (it->type == MF_SOA) {
        if (take_soa(s, it) != 0)
            return -1;
        if (it->ttl_from == MF_TTL_LAST && !s->last_known) {
            s->default_ttl = min;
            s->default_known = true;
            set_ttl(s, it);
        }
    }
    keep_ttl(s, it);
    (void)push(s->m, it);
    return 0;
}

/* The rest of a directive's line; words: up to 2 are wanted.
 * returns their number, or -1 */
static int take_words(struct scan *s, struct masterfile_lexer *l,
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

static int add_file(struct scan *s, uint32_t parent, const char *path)
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

static int scan_include(struct scan *s, const struct place *p,
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
        origin = owner_of(s, l->s + t[1].off, t[1].len, p->origin);
    if (origin == NULL ||
        add_file(s, p->file,
                 arena_strndup(s->m->arena, l->s + t[0].off, t[0].len)) != 0)
        return -1;
    return scan_file(s, (uint32_t)s->m->nfiles - 1, origin, p->owner);
}

/* returns 0, or -1 with e set; *inner: the text has its place already */
static int scan_directive(struct scan *s, struct place *p,
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
        set_ttl(s, it);
        if (masterfile_generate_add(s->m, l, it, s->e) != 0)
            return -1;
        keep_ttl(s, it);
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
        p->origin = owner_of(s, l->s + t.off, t.len, p->origin);
        return p->origin != NULL ? 0 : -1;
    }
    if (!masterfile_ttl_parse(l->s + t.off, t.len, &s->default_ttl))
        return err_set(s->e, ERR_INPUT,
                       "$TTL \"%.*s\"; accepted: seconds, or like 1h30m",
                       (int)(t.len < 40 ? t.len : 40), l->s + t.off);
    s->default_known = true;
    return 0;
}

/* The line of our own mark at text: takes its notes apart.
 * returns the offset of what stood there, or 0: not such a line */
static size_t off_head(struct scan *s, const char *text, size_t len,
                       struct masterfile_item *it)
{
    size_t p = strlen(MASTERFILE_MARK);

    while (p < len && text[p] == ' ') {
        const char *w = text + ++p;
        size_t n = 0;

        while (p + n < len && memchr(" ;\r\n", w[n], 5) == NULL)
            n++;
        if (masterfile_is_word(w, n, "lent-owner")) {
            it->lent_owner = true;
        } else if (masterfile_is_word(w, n, "lent-ttl")) {
            it->lent_ttl = true;
        } else if (n > 6 && memcmp(w, "owner=", 6) == 0) {
            it->owner = masterfile_name(s->m->arena, w + 6, n - 6, ".");
            it->noted_owner = it->owner != NULL;
        } else if (n > 4 && memcmp(w, "ttl=", 4) == 0 &&
                   masterfile_ttl_parse(w + 4, n - 4, &it->ttl)) {
            it->ttl_from = MF_TTL_NOTE;
        } else {
            return 0;
        }
        p += n;
    }
    return p + 1 < len && text[p] == ';' && text[p + 1] == ' ' ? p + 2 : 0;
}

/* Whether the record in joined goes on; l: how far that was looked at. */
static bool is_open(struct masterfile_lexer *l, const struct buf *joined)
{
    struct masterfile_token t;
    int r;

    l->s = buf_get(joined);
    l->len = joined->len;
    while ((r = masterfile_next(l, &t, NULL)) == 1)
        continue;
    return r < 0 && l->depth > 0;
}

/* The lines of a record that was switched off, put together. in: l at its
 * start; out: it->text, len, raw_len; l after its last line */
static bool off_text(struct scan *s, struct masterfile_lexer *l,
                     struct masterfile_item *it)
{
    static const char more[] = MASTERFILE_MARK "+; ";
    const char *from = l->s + l->pos;
    size_t head = off_head(s, from, l->len - l->pos, it);
    struct masterfile_lexer look = {.s = NULL};
    struct buf joined;

    if (head == 0)
        return false;
    buf_init(&joined, MASTERFILE_MAX);
    do {
        const char *at = l->s + l->pos;
        const char *nl = memchr(at, '\n', l->len - l->pos);
        size_t n = nl != NULL ? (size_t)(nl - at) + 1 : l->len - l->pos;

        buf_add(&joined, at + head, n - head);
        l->pos += n;
        l->line++;
        head = sizeof more - 1;
    } while (is_open(&look, &joined) && l->len - l->pos > head &&
             memcmp(l->s + l->pos, more, head) == 0);
    it->raw_len = (uint32_t)(l->s + l->pos - from);
    it->len = (uint32_t)joined.len;
    it->text = arena_strndup(s->m->arena, buf_get(&joined), joined.len);
    buf_fini(&joined);
    return true;
}

/* A comment of ours that does not hold exactly one record is a comment. */
static void scan_off(struct scan *s, const struct place *p,
                     struct masterfile_lexer *outer)
{
    struct masterfile_lexer l = {.line = outer->line};
    struct masterfile_item it = {.kind = MF_OFF,
                                 .ttl_from = MF_TTL_LAST,
                                 .line = outer->line,
                                 .origin = p->origin,
                                 .raw_off = (uint32_t)outer->pos};
    struct masterfile_token t;
    struct err ignored, *keep = s->e;
    uint32_t note, min;
    bool noted;

    if (!off_text(s, outer, &it))
        return;
    noted = it.ttl_from == MF_TTL_NOTE;
    note = it.ttl;
    l.s = it.text;
    l.len = it.len;
    s->e = &ignored;
    if (l.len > 0 && l.s[0] != ' ' && l.s[0] != '\t' && l.s[0] != '$') {
        if (masterfile_next(&l, &t, s->e) != 1)
            goto out;
        it.owner = masterfile_name(s->m->arena, l.s + t.off, t.len, p->origin);
        it.owner_tok = (struct masterfile_span){
            (uint32_t)t.off - t.quoted, (uint32_t)t.len + 2u * t.quoted};
        it.spelled = it.text + it.owner_tok.off;
        it.spelled_len = it.owner_tok.len;
        it.spelled_origin = p->origin;
    } else if (it.owner == NULL ||
               (p->owner != NULL && strcmp(it.owner, p->owner) == 0)) {
        it.owner = p->owner;
        it.spelled = p->spelled;
        it.spelled_len = p->spelled_len;
        it.spelled_origin = p->spelled_origin;
    }
    if (it.owner == NULL || take_record(s, &l, &it, &min) != 0 ||
        l.pos != l.len || !masterfile_type_is_ours(it.type))
        goto out;
    set_ttl(s, &it);
    if (noted && it.ttl_from != MF_TTL_TOKEN) {
        it.ttl = note;
        it.ttl_from = MF_TTL_NOTE;
    }
    (void)push(s->m, &it);
out:
    s->e = keep;
}

/* One line, or several in parentheses. returns 0, or -1 with e set */
static int scan_line(struct scan *s, struct place *p,
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
        scan_off(s, p, l);
        if (l->pos != look.pos)
            return 0;
    }
    r = masterfile_next(&look, &t, s->e);
    if (r <= 0) { /* blank, or a comment; keep its line for the message */
        *l = look;
        return r;
    }
    if (*at == ' ' || *at == '\t') {
        r = scan_record(s, p, l, &it, NULL);
    } else if (*at == '$' && !t.quoted) {
        *l = look;
        r = scan_directive(s, p, l, &it, &t, inner);
    } else {
        *l = look;
        r = scan_record(s, p, l, &it, &t);
    }
    return r;
}

static int scan_file(struct scan *s, uint32_t file, const char *origin,
                     const char *owner)
{
    const struct masterfile_file *f = &s->m->files[file];
    struct masterfile_lexer l = {.s = f->text, .len = f->len, .line = 1};
    struct place p = {.origin = origin, .owner = owner, .file = file};
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
    struct scan s = {.m = m, .src = src, .e = e};
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
