#include "specs/pack.h"

#include <stdint.h>
#include <string.h>

#include "agent/base/mem.h"

#define TEXTS 128                   /* of most specs; others have more */
#define ALIGN _Alignof(struct spec) /* of all that a spec consists of */

const struct spec_dialog spec_no_dialog;
const struct spec_rare spec_no_rare;

/* The same walk twice: over what was read, to learn the sizes, and while it
 * is copied. */
struct pack {
    bool copies; /* the second time */
    unsigned char *things;
    char *texts;                     /* behind the things */
    size_t nthings, ntexts;          /* bytes taken so far */
    const struct spec_record **seen; /* by position */
    const size_t *checks;            /* of the last record */
    size_t nchecks;
    struct arena *scratch;
    size_t *lens; /* of the texts, in the order of the walk */
    size_t nlens, cap_lens, next_len;
};

/* n things of size bytes; NULL: none. The first time they stay. */
static void *put(struct pack *p, const void *from, size_t n, size_t size)
{
    size_t bytes = n * size;
    unsigned char *to = p->things + p->nthings;

    if (n == 0)
        return NULL;
    p->nthings += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return p->copies ? memcpy(to, from, bytes) : (void *)(uintptr_t)from;
}

static void put_text(struct pack *p, const char **s)
{
    size_t n;

    if (!p->copies) {
        n = strlen(*s) + 1;
        p->lens = arena_grow(p->scratch, p->lens, &p->cap_lens, p->nlens,
                             sizeof *p->lens);
        p->lens[p->nlens++] = n;
    } else {
        n = p->lens[p->next_len++];
        *s = memcpy(p->texts + p->ntexts, *s, n);
    }
    p->ntexts += n;
}

static inline void text(struct pack *p, const char **s)
{
    if (*s != NULL)
        put_text(p, s);
}

static void put_pairs(struct pack *p, const struct spec_pair **list, size_t n)
{
    struct spec_pair *pairs = put(p, *list, n, sizeof *pairs);

    for (size_t i = 0; i < n; i++) {
        text(p, &pairs[i].name);
        text(p, &pairs[i].value);
    }
    *list = pairs;
}

static void put_dialog(struct pack *p, struct spec_dialog *d)
{
    text(p, &d->path);
    text(p, &d->host);
    text(p, &d->server_name);
    text(p, &d->method);
    text(p, &d->body);
    text(p, &d->body_match);
    text(p, &d->send);
    text(p, &d->expect);
    text(p, &d->dns_name);
    text(p, &d->dns_type);
    text(p, &d->service);
    text(p, &d->command);
    d->status = put(p, d->status, d->nstatus, sizeof *d->status);
    put_pairs(p, &d->headers, d->nheaders);
    put_pairs(p, &d->json, d->njson);
}

/* A dialog that says nothing is none. */
static void put_check(struct pack *p, struct spec_check *c)
{
    bool talks = c->dialog != NULL &&
                 memcmp(c->dialog, &spec_no_dialog, sizeof spec_no_dialog) != 0;

    text(p, &c->name);
    text(p, &c->pointer);
    c->targets = put(p, c->targets, c->ntargets, sizeof *c->targets);
    c->dialog = put(p, c->dialog, talks, sizeof *c->dialog);
    if (c->dialog != NULL)
        put_dialog(p, c->dialog);
}

/* Depth of the calls: conditions nest as deep as their text. */
static void put_parts(struct pack *p, struct spec_cond *c)
{
    struct spec_cond *of = put(p, c->of, c->n, sizeof *of);

    text(p, &c->text);
    for (size_t i = 0; i < c->n; i++)
        put_parts(p, &of[i]);
    c->of = of;
}

/* c: one condition, or NULL. */
static void put_cond(struct pack *p, const struct spec_cond **c)
{
    struct spec_cond *copy = put(p, *c, *c != NULL, sizeof *copy);

    if (copy != NULL)
        put_parts(p, copy);
    *c = copy;
}

static void put_dc(struct pack *p, struct spec_dc *dc)
{
    text(p, &dc->name);
    text(p, &dc->pointer);
    for (size_t d = 0; d < SPEC_NDIMENSIONS; d++)
        dc->dims[d].checks = put(p, dc->dims[d].checks, dc->dims[d].n,
                                 sizeof *dc->dims[d].checks);
    put_cond(p, &dc->fresh);
}

/* Records one after the other mostly have the same checks. */
static void put_checks(struct pack *p, struct spec_record *r)
{
    if (r->nchecks > 0 && r->nchecks == p->nchecks &&
        memcmp(r->checks, p->checks, r->nchecks * sizeof *r->checks) == 0) {
        r->checks = p->checks;
        return;
    }
    r->checks = put(p, r->checks, r->nchecks, sizeof *r->checks);
    p->checks = r->checks;
    p->nchecks = r->nchecks;
}

static void put_rare(struct pack *p, const struct spec_set *set,
                     struct spec_record *r)
{
    bool says = r->rare != NULL &&
                memcmp(r->rare, &spec_no_rare, sizeof spec_no_rare) != 0;
    struct spec_rare *rare = put(p, r->rare, says, sizeof *rare);

    r->rare = rare;
    if (rare == NULL)
        return;
    if (rare->view != NULL && set->view != NULL &&
        strcmp(rare->view, set->view) == 0)
        rare->view = set->view;
    else
        text(p, &rare->view);
    put_cond(p, &rare->when);
    put_cond(p, &rare->dr_cond);
}

/* A record that stands in several views is written once. */
static void put_record(struct pack *p, const struct spec_set *set,
                       struct spec_record *r)
{
    const struct spec_record *seen = p->seen[r->position];

    if (seen != NULL) {
        *r = *seen;
        return;
    }
    if (strcmp(r->name, set->name) == 0)
        r->name = set->name;
    else
        text(p, &r->name);
    text(p, &r->data);
    text(p, &r->pointer);
    put_checks(p, r);
    put_rare(p, set, r);
    p->seen[r->position] = r;
}

/* The fallback records lie behind the records. */
static void put_set(struct pack *p, const struct spec *s, struct spec_set *set)
{
    size_t n = set->nrecords + set->nfallback;
    struct spec_record *recs = put(p, set->records, n, sizeof *recs);

    if (strcmp(set->name, s->owner) == 0)
        set->name = s->owner;
    else
        text(p, &set->name);
    text(p, &set->view);
    for (size_t i = 0; i < n; i++)
        put_record(p, set, &recs[i]);
    set->records = recs;
    set->fallback = recs + set->nrecords;
}

static struct spec *put_spec(struct pack *p, struct spec *from)
{
    struct spec *s = put(p, from, 1, sizeof *s);
    struct spec_check *checks = put(p, s->checks, s->nchecks, sizeof *checks);
    struct spec_dc *dcs = put(p, s->dcs, s->ndcs, sizeof *dcs);
    struct spec_scenario *scenarios =
        put(p, s->scenarios, s->nscenarios, sizeof *scenarios);
    struct spec_set *sets = put(p, s->sets, s->nsets, sizeof *sets);

    text(p, &s->owner);
    s->zone = s->owner + strlen(s->owner) - strlen(s->zone);
    for (size_t i = 0; i < s->nchecks; i++)
        put_check(p, &checks[i]);
    for (size_t i = 0; i < s->ndcs; i++)
        put_dc(p, &dcs[i]);
    for (size_t i = 0; i < s->nscenarios; i++) {
        text(p, &scenarios[i].name);
        text(p, &scenarios[i].pointer);
        put_parts(p, &scenarios[i].cond);
    }
    for (size_t i = 0; i < s->nsets; i++)
        put_set(p, s, &sets[i]);
    s->checks = checks;
    s->dcs = dcs;
    s->scenarios = scenarios;
    s->sets = sets;
    return s;
}

/* Positions that its records have, at most. */
static size_t count_positions(const struct spec *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nsets; i++) {
        const struct spec_set *set = &s->sets[i];

        for (size_t k = 0; k < set->nrecords + set->nfallback; k++)
            if (n <= set->records[k].position)
                n = set->records[k].position + 1;
    }
    return n;
}

/* Apart from the rest: whoever has told them lets go of them. */
static void pack_warnings(struct spec *s, const struct spec *from)
{
    struct spec_note *notes;
    size_t bytes = from->nwarnings * sizeof *notes;

    if (from->nwarnings == 0)
        return;
    for (size_t i = 0; i < from->nwarnings; i++)
        bytes += strlen(from->warnings[i].text) + 1;
    s->notes = arena_sized(bytes);
    notes = arena_array(s->notes, from->nwarnings, sizeof *notes);
    for (size_t i = 0; i < from->nwarnings; i++) {
        notes[i] = from->warnings[i];
        notes[i].text = arena_strdup(s->notes, from->warnings[i].text);
    }
    s->warnings = notes;
}

struct spec *spec_pack(struct spec *from, struct arena *scratch)
{
    size_t n = count_positions(from);
    struct pack p = {.scratch = scratch, .cap_lens = TEXTS};
    struct spec *s;

    p.lens = arena_room(scratch, TEXTS * sizeof *p.lens);
    p.seen = arena_array(scratch, n, sizeof(struct spec_record *));
    (void)put_spec(&p, from);
    memset(p.seen, 0, n * sizeof(struct spec_record *));
    p.things = mem_alloc(p.nthings + p.ntexts);
    p.texts = (char *)p.things + p.nthings;
    p.nthings = p.ntexts = p.nchecks = 0;
    p.copies = true;
    s = put_spec(&p, from);
    s->arena = NULL;
    s->doc = NULL;
    s->top = NULL;
    pack_warnings(s, from);
    return s;
}
