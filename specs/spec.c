#include "specs/spec.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "specs/merge.h"
#include "specs/pack.h"
#include "specs/sets.h"
#include "specs/text.h"

#define READ_BYTES 32768u /* that reading a usual text takes */

const char *spec_type_name(enum spec_type t)
{
    static const char *const names[] = {
        [SPEC_A] = "A", [SPEC_AAAA] = "AAAA", [SPEC_CNAME] = "CNAME"};

    return (size_t)t < SPEC_NTYPES ? names[t] : "?";
}

const char *spec_spelling_name(enum spec_spelling s)
{
    static const char *const names[] = {[SPEC_JSON] = "JSON",
                                        [SPEC_ESCAPED] =
                                            "JSON with escaped quotes",
                                        [SPEC_BARE] = "bare"};

    return (size_t)s < 3 ? names[s] : "?";
}

/* A TXT record with its text joined, to sort by. */
struct joined {
    const struct spec_txt *txt;
    size_t index, len;
    const char *text;
};

static int by_text(const void *a, const void *b)
{
    const struct joined *x = a, *y = b;
    size_t n = x->len < y->len ? x->len : y->len;
    int c = n > 0 ? memcmp(x->text, y->text, n) : 0;

    if (c == 0 && x->len != y->len)
        c = x->len < y->len ? -1 : 1;
    if (c != 0)
        return c;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* "_failover.www.example.org" of "www.example.org." */
static const char *where_of(struct arena *a, const char *owner)
{
    static const char before[] = "_failover.";
    size_t n = strlen(owner);
    char *out = arena_alloc(a, sizeof before + n);

    memcpy(out, before, sizeof before - 1);
    if (n > 0)
        memcpy(out + sizeof before - 1, owner, n - 1);
    return out;
}

/* A step of a hash that nobody gains by breaking: what was remembered about
 * another text would be taken for this one's. */
static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

#define LANES 4 /* that do not wait for each other */

static uint64_t hash_text(uint64_t h, const char *text, size_t len)
{
    uint64_t lanes[LANES] = {h, 1, 2, 3}, part[LANES] = {0};
    size_t at = 0;

    for (; len - at >= sizeof part; at += sizeof part) {
        memcpy(part, text + at, sizeof part);
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = mix(lanes[i], part[i]);
    }
    memset(part, 0, sizeof part);
    memcpy(part, text + at, len - at);
    h = len;
    for (size_t i = 0; i < LANES; i++)
        h = mix(h, mix(lanes[i], part[i]));
    return h;
}

/* Equal texts count once. */
static uint64_t hash_texts(const struct joined *j, size_t n)
{
    uint64_t h = 0;

    for (size_t i = 0; i < n; i++)
        if (i == 0 || j[i].len != j[i - 1].len ||
            memcmp(j[i].text, j[i - 1].text, j[i].len) != 0)
            h = hash_text(h, j[i].text, j[i].len);
    return h;
}

static bool inherits(const struct spec *s)
{
    for (size_t i = 0; i < s->nchecks; i++)
        if (s->checks[i].from_apex)
            return true;
    for (size_t i = 0; i < s->ndcs; i++)
        if (s->dcs[i].from_apex)
            return true;
    for (size_t i = 0; i < s->nscenarios; i++)
        if (s->scenarios[i].from_apex)
            return true;
    return false;
}

/* The records that are ours, in an order that depends on content alone: a
 * server that rotates its answer must not change what is reported.
 * out: *out — n of them, in the arena
 * returns 0, or -1 with r->e set */
static int pick(struct spec_reader *r, const struct spec_txt *txts, size_t n,
                struct joined **out, size_t *nout)
{
    struct joined *j = arena_array(r->arena, n + 1, sizeof *j);
    size_t used = 0, total = 0;

    for (size_t i = 0; i < n; i++) {
        if (spec_is_foreign(&txts[i]))
            continue;
        j[used].txt = &txts[i];
        j[used].index = i;
        j[used].len = spec_text_len(&txts[i]);
        total += j[used++].len;
    }
    if (used == 0)
        return err_set(r->e, ERR_NOTFOUND,
                       "%s: no spec; %zu TXT records of others", r->where, n);
    if (total > SPEC_TEXT_MAX)
        return err_set(r->e, ERR_LIMIT,
                       "%s: found %zu bytes; accepted: at most %u", r->where,
                       total, SPEC_TEXT_MAX);
    for (size_t i = 0; i < used; i++)
        j[i].text = spec_text_join(r->arena, j[i].txt, false, &j[i].len);
    qsort(j, used, sizeof *j, by_text);
    *out = j;
    *nout = used;
    return 0;
}

static int read_doc(struct spec_reader *r, const struct joined *j,
                    struct spec_doc *d)
{
    struct spec_value *root;

    if (spec_text_parse(r->arena, r->where, j->txt, &root, &d->spelling,
                        r->e) != 0)
        return -1;
    d->root = root;
    d->document = j->index;
    return spec_object_read(r, d);
}

static void fill_apex(const struct spec_reader *r, const struct spec_doc *d,
                      struct spec_apex *top)
{
    const struct spec_scalar *debounce = &d->top[SPEC_TOP_DEBOUNCE];
    const struct spec_scalar *brake = &d->top[SPEC_TOP_MAX_CHANGE];

    top->debounce_ms = debounce->at != NULL ? debounce->value : -1;
    top->max_change_pct = brake->at != NULL ? (int32_t)brake->value : -1;
    top->names = d->names;
    top->nnames = d->nnames;
    top->vantage_need = r->vantage_need;
}

/* Names, records, sets of the merged document. */
static int build(struct spec_reader *r, const struct spec_doc *docs, size_t n,
                 struct spec_doc *d, struct spec *s)
{
    const struct spec *apex = r->apex ? NULL : r->ctx->apex;
    struct spec_apex *top = arena_alloc(r->arena, sizeof *top);

    s->top = top;
    s->form = d->form;
    s->spelling = d->spelling;
    s->doc = d;
    r->vantage_need = (uint32_t)d->top[SPEC_TOP_VANTAGE].value;
    if (apex != NULL)
        r->vantage_need = apex->top->vantage_need;
    fill_apex(r, d, top);
    spec_sets_defaults(r, d, top);
    spec_scope_open(r, d->named, d->nnamed);
    if (spec_scope_read(r) != 0 || spec_merge_items(r, docs, n, d) != 0 ||
        spec_sets_drop_equal(r, d) != 0)
        return -1;
    spec_scope_close(r, s);
    if (spec_sets_build(r, d, s) != 0)
        return -1;
    if (s->nsets == 0 && !r->apex)
        spec_member_warn(r, NULL, "no records: this spec does nothing");
    return 0;
}

static int read_all(struct spec_reader *r, const struct spec_txt *txts,
                    size_t n, struct spec *s)
{
    struct spec_doc *docs, *merged = arena_alloc(r->arena, sizeof *merged);
    struct spec_note *notes;
    struct joined *j = NULL;
    size_t ndocs = 0, used = 0;

    if (pick(r, txts, n, &j, &ndocs) != 0)
        return -1;
    docs = arena_array(r->arena, ndocs, sizeof *docs);
    for (size_t i = 0; i < ndocs; i++)
        if (read_doc(r, &j[i], &docs[i]) != 0)
            return -1;
    if (spec_merge_docs(r, docs, ndocs, merged, &used) != 0 ||
        build(r, docs, used, merged, s) != 0)
        return -1;
    s->hash = hash_texts(j, ndocs);
    if (inherits(s))
        s->hash = mix(s->hash, r->ctx->apex->hash);
    notes = arena_array(r->arena, r->nwarnings + 1, sizeof *notes);
    if (r->nwarnings > 0)
        memcpy(notes, r->warnings, r->nwarnings * sizeof *notes);
    s->warnings = notes;
    s->nwarnings = (uint32_t)r->nwarnings;
    return 0;
}

/* in: a — for everything; a copy is kept unless the document is */
static int parse(const struct spec_txt *txts, size_t n,
                 const struct spec_context *ctx, bool keeps_doc,
                 struct arena *a, struct spec **spec, struct err *e)
{
    struct spec_context own = *ctx; /* names live as long as the spec */
    struct spec_reader r = {
        .arena = a, .ctx = &own, .keeps_doc = keeps_doc, .e = e};
    struct spec *s = arena_alloc(a, sizeof *s);
    int rc;

    own.owner = arena_strdup(a, ctx->owner);
    own.zone = arena_strdup(a, ctx->zone);
    r.where = where_of(a, own.owner);
    r.apex = name_equal(own.owner, own.zone);
    s->arena = a;
    s->owner = own.owner;
    s->zone = own.zone;
    rc = read_all(&r, txts, n, s);
    free(r.warnings);
    if (rc == 0)
        *spec = keeps_doc ? s : spec_pack(s, a);
    return rc;
}

int spec_parse(const struct spec_txt *txts, size_t n,
               const struct spec_context *ctx, struct spec **spec,
               struct err *e)
{
    bool keeps_doc = ctx->keep_doc || name_equal(ctx->owner, ctx->zone);
    alignas(max_align_t) unsigned char place[READ_BYTES];
    struct arena *a =
        keeps_doc ? arena_new() : arena_within(place, sizeof place);
    int rc;

    *spec = NULL;
    rc = parse(txts, n, ctx, keeps_doc, a, spec, e);
    if (rc != 0 || !keeps_doc)
        arena_free(a);
    return rc;
}

int spec_parse_text(const char *text, size_t len,
                    const struct spec_context *ctx, struct spec **spec,
                    struct err *e)
{
    struct spec_string string = {text, len};
    struct spec_txt txt = {&string, 1};

    *spec = NULL;
    if (spec_is_foreign(&txt)) {
        char what[SPEC_QUOTE_SIZE];
        size_t n = strlen(ctx->owner);

        return err_set(
            e, ERR_INPUT,
            "_failover.%.*s (byte 0): found %s; accepted: a text "
            "that begins with [ { or \" (any other is another "
            "tool's TXT record)",
            (int)(n > 0 ? n - 1 : 0), ctx->owner,
            len == 0 ? "nothing"
                     : spec_value_quote_bytes(text, len < 12 ? len : 12, what));
    }
    return spec_parse(&txt, 1, ctx, spec, e);
}

void spec_free(struct spec *s)
{
    if (s == NULL)
        return;
    spec_forget_warnings(s);
    if (s->arena != NULL)
        arena_free(s->arena);
    else
        free(s);
}

void spec_forget_warnings(struct spec *s)
{
    arena_free(s->notes);
    s->notes = NULL;
    s->warnings = NULL;
    s->nwarnings = 0;
}
