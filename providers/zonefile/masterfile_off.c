#include "providers/zonefile/masterfile_impl.h"

#include <string.h>

/* The comments in which switched-off records stay. */

/* The line of our own mark at text: takes its notes apart.
 * returns the offset of what stood there, or 0: not such a line */
static size_t off_head(struct masterfile_scan *s, const char *text, size_t len,
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
static bool off_text(struct masterfile_scan *s, struct masterfile_lexer *l,
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
void masterfile_off_scan(struct masterfile_scan *s,
                         const struct masterfile_place *p,
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
    if (it.owner == NULL || masterfile_record_take(s, &l, &it, &min) != 0 ||
        l.pos != l.len || !masterfile_type_is_ours(it.type))
        goto out;
    masterfile_ttl_set(s, &it);
    if (noted && it.ttl_from != MF_TTL_TOKEN) {
        it.ttl = note;
        it.ttl_from = MF_TTL_NOTE;
    }
    masterfile_push(s->m, &it);
out:
    s->e = keep;
}
