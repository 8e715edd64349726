#include "providers/zonefile/masterfile_impl.h"

#include <string.h>

/* One record, from its owner to the end of its data. */

/* Names come in runs: the same token again costs a comparison. */
const char *masterfile_owner(struct masterfile_scan *s, const char *tok,
                             size_t n, const char *origin)
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

void masterfile_ttl_set(const struct masterfile_scan *s,
                        struct masterfile_item *it)
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
void masterfile_ttl_keep(struct masterfile_scan *s,
                         const struct masterfile_item *it)
{
    if (it->ttl_from == MF_TTL_TOKEN) {
        s->last_ttl = it->ttl;
        s->last_known = true;
    }
}

/* What follows the type. it->text is set; min: of a SOA.
 * returns 0, or -1 with e set */
static int take_rdata(const struct masterfile_scan *s,
                      struct masterfile_lexer *l, struct masterfile_item *it,
                      uint32_t *min)
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
int masterfile_record_take(struct masterfile_scan *s,
                           struct masterfile_lexer *l,
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

void masterfile_push(struct masterfile *m, const struct masterfile_item *it)
{
    m->items = mem_grow(m->items, &m->cap, m->n, sizeof *m->items);
    m->items[m->n++] = *it;
}

static void close_item(struct masterfile_item *it,
                       const struct masterfile_lexer *l)
{
    it->len = (uint32_t)(l->pos - (size_t)(it->text - l->s));
    it->raw_len = it->len;
}

static int take_soa(struct masterfile_scan *s, struct masterfile_item *it)
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

int masterfile_record_scan(struct masterfile_scan *s,
                           struct masterfile_place *p,
                           struct masterfile_lexer *l,
                           struct masterfile_item *it,
                           const struct masterfile_token *owner)
{
    size_t base = (size_t)(it->text - l->s);
    uint32_t min = 0;

    if (owner != NULL) {
        it->owner_tok = (struct masterfile_span){
            (uint32_t)(owner->off - base) - owner->quoted,
            (uint32_t)owner->len + 2u * owner->quoted};
        p->owner =
            masterfile_owner(s, l->s + owner->off, owner->len, p->origin);
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
    if (masterfile_record_take(s, l, it, &min) != 0)
        return -1;
    if (it->owner == NULL)
        return err_set(s->e, ERR_INPUT, "a record without owner");
    close_item(it, l);
    masterfile_ttl_set(s, it);
    if (it->type == MF_SOA) {
        if (take_soa(s, it) != 0)
            return -1;
        if (it->ttl_from == MF_TTL_LAST && !s->last_known) {
            s->default_ttl = min;
            s->default_known = true;
            masterfile_ttl_set(s, it);
        }
    }
    masterfile_ttl_keep(s, it);
    masterfile_push(s->m, it);
    return 0;
}
