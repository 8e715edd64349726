#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "specs/advise.h"
#include "specs/spec.h"

static const char *const ns_names[] = {"ns.example.org."};

/* The input as one string, or (cut > 0) as strings of cut bytes. */
static struct spec *read_cut(const struct spec_context *ctx, const char *text,
                             size_t len, size_t cut, struct err *e)
{
    size_t n = cut > 0 ? len / cut + 1 : 1;
    struct spec_string *strings = mem_array(n, sizeof *strings);
    struct spec_txt txt = {strings, n};
    struct spec *s = NULL;

    for (size_t i = 0; i < n; i++) {
        size_t from = i * cut;

        strings[i].data = text + from;
        strings[i].len = cut > 0 && len - from > cut ? cut : len - from;
    }
    if (spec_parse(&txt, 1, ctx, &s, e) != 0 && (s != NULL || !e->msg[0]))
        abort();
    free(strings);
    return s;
}

static void check_cond(const struct spec *s, const struct spec_cond *c)
{
    if (c->text == NULL)
        abort();
    if ((c->kind == SPEC_COND_CHECK && c->ref >= s->nchecks) ||
        (c->kind == SPEC_COND_SCENARIO && c->ref >= s->nscenarios) ||
        (c->kind >= SPEC_COND_DC && c->kind <= SPEC_COND_MAINTENANCE &&
         c->ref >= s->ndcs) ||
        (c->kind == SPEC_COND_NEED && (c->need == 0 || c->need > c->n)))
        abort();
    for (size_t i = 0; i < c->n; i++)
        check_cond(s, &c->of[i]);
}

static void check_record(const struct spec *s, const struct spec_record *r)
{
    for (size_t i = 0; i < r->nchecks; i++)
        if (r->checks[i] >= s->nchecks)
            abort();
    if (r->dc >= 0 && (size_t)r->dc >= s->ndcs)
        abort();
    if (spec_rare_of(r)->when != NULL)
        check_cond(s, spec_rare_of(r)->when);
    if (spec_rare_of(r)->dr_cond != NULL)
        check_cond(s, spec_rare_of(r)->dr_cond);
}

/* Every index stands for something; scenarios come after what they name. */
static void check_indices(const struct spec *s)
{
    for (size_t i = 0; i < s->nchecks; i++)
        if (s->checks[i].kind >= SPEC_CHECK_NKINDS)
            abort();
    for (size_t i = 0; i < s->nscenarios; i++)
        check_cond(s, &s->scenarios[i].cond);
    for (size_t i = 0; i < s->ndcs; i++)
        for (int d = 0; d < SPEC_NDIMENSIONS; d++)
            for (size_t k = 0; k < s->dcs[i].dims[d].n; k++)
                if (s->dcs[i].dims[d].checks[k] >= s->nchecks)
                    abort();
    for (size_t i = 0; i < s->nsets; i++) {
        for (size_t k = 0; k < s->sets[i].nrecords; k++)
            check_record(s, &s->sets[i].records[k]);
        for (size_t k = 0; k < s->sets[i].nfallback; k++)
            check_record(s, &s->sets[i].fallback[k]);
    }
}

/* Prints text, reads it, and prints it as JSON once more: as want. */
static void again(const struct spec_context *ctx, const char *text,
                  const char *want)
{
    struct spec *t = NULL;
    struct err e = {0};
    char *q;

    if (spec_parse_text(text, strlen(text), ctx, &t, &e) != 0) {
        if (e.code != ERR_LIMIT) /* longer than what it came from */
            abort();
        return;
    }
    q = spec_print(t);
    if (strcmp(want, q) != 0)
        abort();
    free(q);
    spec_free(t);
}

/* What is accepted prints to a text that prints the same, in JSON and in
 * bare; a cut changes nothing, nor does leaving the document behind; an error
 * is one line. */
static void run(const struct spec_context *ctx, const char *text, size_t len)
{
    struct err e = {0}, e2 = {0};
    struct spec_context lean = *ctx;
    struct spec *s = read_cut(ctx, text, len, 0, &e), *u;
    struct spec_advise_context advise = {.debounce_ms = -1};
    struct spec_string string = {text, len};
    struct spec_txt txt = {&string, 1};
    struct spec_advice *advice;
    struct arena *a;
    char *p, *bare;
    size_t n;

    lean.keep_doc = false;
    u = read_cut(&lean, text, len, 255, &e2);
    if ((s == NULL) != (u == NULL) || strchr(e.msg, '\n') != NULL ||
        (s != NULL && s->hash != u->hash))
        abort();
    if (u != NULL)
        check_indices(u);
    spec_free(u);
    if (s == NULL)
        return;
    check_indices(s);
    p = spec_print(s);
    again(ctx, p, p);
    bare = spec_print_bare(s, &e);
    if (bare != NULL && strchr(bare, ':') != NULL)
        again(ctx, bare, p);
    a = arena_new();
    spec_advise(s, &txt, 1, &advise, a, &advice, &n);
    arena_free(a);
    free(p);
    free(bare);
    spec_free(s);
}

/* Names that the input may inherit. */
static const char apex_text[] =
    "{\"checks\":{\"web\":\"https://www.example.org/\",\"a\":80},"
    "\"dcs\":{\"dc1\":{\"wanAccess\":[\"192.0.2.1:443\"]},"
    "\"dc9\":{\"onlyNew\":true,\"fresh\":\"tcp:1@192.0.2.9\"}},"
    "\"scenarios\":{\"s\":[[\"web\",\"dc1\"]],\"t\":\"!s\"},"
    "\"defaults\":{\"ttl\":60}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec_context ctx = {.owner = "example.org.",
                               .zone = "example.org.",
                               .ns_names = ns_names,
                               .nns_names = 1,
                               .max_targets = 200,
                               .allow_active = true,
                               .keep_doc = true};
    struct spec *apex = NULL;
    struct err e = {0};

    run(&ctx, (const char *)data, size);
    if (spec_parse_text(apex_text, sizeof apex_text - 1, &ctx, &apex, &e) != 0)
        abort();
    ctx.owner = "www.example.org.";
    run(&ctx, (const char *)data, size);
    ctx.apex = apex;
    run(&ctx, (const char *)data, size);
    spec_free(apex);
    return 0;
}
