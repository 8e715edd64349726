#ifndef TESTS_SPEC_HELP_H
#define TESTS_SPEC_HELP_H

/* What the spec tests share: a context, parsing that says why it failed,
 * comparing two specs, reading files. cmocka.h is included before. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "specs/check.h"
#include "specs/spec.h"

#define HELP __attribute__((unused)) static

HELP const struct spec_context help_www = {
    .owner = "www.example.org.", .zone = "example.org.", .keep_doc = true};
HELP const struct spec_context help_apex = {
    .owner = "example.org.", .zone = "example.org.", .keep_doc = true};

/* text must be refused with this code; part (may be "") must be in the
 * message, which must be one line. */
HELP void help_bad(const struct spec_context *ctx, const char *text,
                   enum err_code code, const char *part)
{
    struct spec *s = NULL;
    struct err e = {0};

    if (spec_parse_text(text, strlen(text), ctx, &s, &e) == 0)
        fail_msg("accepted: %.200s", text);
    assert_null(s);
    if (e.code != code || strstr(e.msg, part) == NULL)
        fail_msg("%.200s\n%s: %s\nexpected %s: %s", text, err_code_name(e.code),
                 e.msg, err_code_name(code), part);
    assert_null(strchr(e.msg, '\n'));
}

HELP void help_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL)
        assert_string_equal(a, b);
}

HELP void help_same_checks(const struct spec *a, const struct spec *b)
{
    char x[300], y[300];

    assert_int_equal(a->nchecks, b->nchecks);
    for (size_t i = 0; i < a->nchecks; i++) {
        const struct spec_check *c = &a->checks[i], *d = &b->checks[i];

        help_same_text(c->name, d->name);
        assert_string_equal(spec_check_text(c, x, sizeof x),
                            spec_check_text(d, y, sizeof y));
        if (!spec_check_equal(c, d))
            fail_msg("%s: %s differs", a->owner, x);
        assert_int_equal(c->from_apex, d->from_apex);
    }
}

HELP void help_same_cond(const struct spec_cond *a, const struct spec_cond *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a == NULL)
        return;
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->negate, b->negate);
    assert_int_equal(a->ref, b->ref);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->dimension, b->dimension);
    assert_int_equal(a->need, b->need);
    assert_int_equal(a->local, b->local);
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        help_same_cond(&a->of[i], &b->of[i]);
}

HELP void help_same_dcs(const struct spec *a, const struct spec *b)
{
    assert_int_equal(a->ndcs, b->ndcs);
    for (size_t i = 0; i < a->ndcs; i++) {
        const struct spec_dc *x = &a->dcs[i], *y = &b->dcs[i];

        assert_string_equal(x->name, y->name);
        for (int d = 0; d < SPEC_NDIMENSIONS; d++) {
            assert_int_equal(x->dims[d].given, y->dims[d].given);
            assert_int_equal(x->dims[d].need, y->dims[d].need);
            assert_int_equal(x->dims[d].n, y->dims[d].n);
            for (size_t k = 0; k < x->dims[d].n; k++)
                assert_int_equal(x->dims[d].checks[k], y->dims[d].checks[k]);
            assert_int_equal(x->needs[d], y->needs[d]);
        }
        assert_int_equal(x->maintenance, y->maintenance);
        assert_int_equal(x->no_response, y->no_response);
        assert_int_equal(x->only_new_ms, y->only_new_ms);
        help_same_cond(x->fresh, y->fresh);
    }
    assert_int_equal(a->nscenarios, b->nscenarios);
    for (size_t i = 0; i < a->nscenarios; i++) {
        assert_string_equal(a->scenarios[i].name, b->scenarios[i].name);
        help_same_cond(&a->scenarios[i].cond, &b->scenarios[i].cond);
    }
}

HELP void help_same_records(const struct spec_record *a,
                            const struct spec_record *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(a[i].name, b[i].name);
        assert_int_equal(a[i].type, b[i].type);
        assert_string_equal(a[i].data, b[i].data);
        assert_int_equal(a[i].ttl_s, b[i].ttl_s);
        assert_int_equal(a[i].prio, b[i].prio);
        assert_int_equal(a[i].position, b[i].position);
        assert_int_equal(a[i].fallback, b[i].fallback);
        assert_int_equal(a[i].nchecks, b[i].nchecks);
        for (size_t k = 0; k < a[i].nchecks; k++)
            assert_int_equal(a[i].checks[k], b[i].checks[k]);
        help_same_cond(spec_rare_of(&a[i])->when, spec_rare_of(&b[i])->when);
        help_same_cond(spec_rare_of(&a[i])->dr_cond,
                       spec_rare_of(&b[i])->dr_cond);
        assert_int_equal(a[i].dc, b[i].dc);
        assert_int_equal(a[i].dr, b[i].dr);
        assert_int_equal(a[i].dr_if_no_records, b[i].dr_if_no_records);
        assert_int_equal(a[i].return_after_ms, b[i].return_after_ms);
        assert_int_equal(a[i].return_manual, b[i].return_manual);
        help_same_text(spec_rare_of(&a[i])->view, spec_rare_of(&b[i])->view);
    }
}

HELP void help_same_sets(const struct spec *a, const struct spec *b)
{
    assert_int_equal(a->nsets, b->nsets);
    for (size_t i = 0; i < a->nsets; i++) {
        const struct spec_set *x = &a->sets[i], *y = &b->sets[i];

        assert_string_equal(x->name, y->name);
        assert_int_equal(x->type, y->type);
        help_same_text(x->view, y->view);
        assert_int_equal(x->order, y->order);
        assert_int_equal(x->take, y->take);
        assert_int_equal(x->all_down, y->all_down);
        assert_int_equal(x->damping, y->damping);
        assert_int_equal(x->ttl_s, y->ttl_s);
        assert_int_equal(x->nrecords, y->nrecords);
        assert_int_equal(x->nfallback, y->nfallback);
        help_same_records(x->records, y->records, x->nrecords);
        help_same_records(x->fallback, y->fallback, x->nfallback);
    }
}

HELP void help_same_top(const struct spec_apex *a, const struct spec_apex *b)
{
    const struct spec_defaults *x = &a->defaults, *y = &b->defaults;

    assert_int_equal(x->ttl_s, y->ttl_s);
    assert_int_equal(x->timeout_ms, y->timeout_ms);
    assert_int_equal(x->access_period_ms, y->access_period_ms);
    assert_int_equal(x->retry_period_ms, y->retry_period_ms);
    assert_int_equal(x->required_success, y->required_success);
    assert_int_equal(x->required_failure, y->required_failure);
    assert_int_equal(a->debounce_ms, b->debounce_ms);
    assert_int_equal(a->max_change_pct, b->max_change_pct);
    assert_int_equal(a->vantage_need, b->vantage_need);
    assert_int_equal(a->nnames, b->nnames);
    for (size_t i = 0; i < a->nnames; i++)
        assert_string_equal(a->names[i], b->names[i]);
}

/* All that a spec means; where it was written does not count. */
HELP void help_same(const struct spec *a, const struct spec *b)
{
    bool apex = strcmp(a->owner, a->zone) == 0;

    assert_string_equal(a->owner, b->owner);
    help_same_checks(a, b);
    help_same_dcs(a, b);
    help_same_sets(a, b);
    assert_true(!apex || (a->top != NULL && b->top != NULL));
    if (a->top != NULL && b->top != NULL) /* one was packed */
        help_same_top(a->top, b->top);
}

/* Where everything was written, too. */
HELP void help_same_places(const struct spec *a, const struct spec *b)
{
    assert_string_equal(a->zone, b->zone);
    assert_int_equal(a->hash, b->hash);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->spelling, b->spelling);
    assert_int_equal(a->nwarnings, b->nwarnings);
    for (size_t i = 0; i < a->nwarnings; i++)
        assert_string_equal(a->warnings[i].text, b->warnings[i].text);
    for (size_t i = 0; i < a->nchecks; i++)
        assert_string_equal(a->checks[i].pointer, b->checks[i].pointer);
    for (size_t i = 0; i < a->ndcs; i++) {
        assert_string_equal(a->dcs[i].pointer, b->dcs[i].pointer);
        assert_int_equal(a->dcs[i].from_apex, b->dcs[i].from_apex);
    }
    for (size_t i = 0; i < a->nscenarios; i++) {
        assert_string_equal(a->scenarios[i].pointer, b->scenarios[i].pointer);
        assert_int_equal(a->scenarios[i].from_apex, b->scenarios[i].from_apex);
    }
    for (size_t i = 0; i < a->nsets; i++) {
        const struct spec_set *x = &a->sets[i], *y = &b->sets[i];

        for (size_t k = 0; k < x->nrecords + x->nfallback; k++) {
            const struct spec_record *r = &x->records[k], *q = &y->records[k];

            assert_string_equal(r->pointer, q->pointer);
            assert_int_equal(r->document, q->document);
            assert_true(addr_equal(&r->addr, &q->addr));
        }
    }
}

/* The spec of text, which must be good; without its document it says the
 * same. */
HELP struct spec *help_good(const struct spec_context *ctx, const char *text)
{
    struct spec *s = NULL, *packed = NULL;
    struct spec_context lean = *ctx;
    struct err e = {0};

    if (spec_parse_text(text, strlen(text), ctx, &s, &e) != 0)
        fail_msg("%s\n%s", text, e.msg);
    lean.keep_doc = false;
    assert_int_equal(spec_parse_text(text, strlen(text), &lean, &packed, &e),
                     0);
    help_same(s, packed);
    help_same_places(s, packed);
    spec_free(packed);
    return s;
}

/* parse(print(s)) is s, in JSON and, where bare can say it, in bare. */
HELP void help_round_trip(const struct spec_context *ctx, const struct spec *s)
{
    struct err e = {0};
    char *text = spec_print(s), *bare = spec_print_bare(s, &e), *again;
    struct spec *t = help_good(ctx, text);

    help_same(s, t);
    again = spec_print(t);
    assert_string_equal(text, again);
    free(again);
    spec_free(t);
    if (bare != NULL && strchr(bare, ':') != NULL) {
        t = help_good(ctx, bare);
        assert_int_equal(t->spelling, SPEC_BARE);
        help_same(s, t);
        again = spec_print(t);
        assert_string_equal(text, again);
        free(again);
        spec_free(t);
    } else if (bare == NULL) {
        assert_non_null(strstr(e.msg, "the bare spelling cannot say"));
    }
    free(text);
    free(bare);
}

/* The whole file, heap, NUL behind it; NULL when it cannot be read. */
HELP char *help_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    struct buf b;
    char part[4096];
    size_t n;

    if (f == NULL)
        return NULL;
    buf_init(&b, 1u << 20);
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_add(&b, part, n);
    (void)fclose(f);
    *len = b.len;
    return buf_take(&b);
}

/* The folder of the shared cases: DNSFAILOVER_SHARED or beside the
 * checkout; tests run from the checkout's top. */
HELP const char *help_shared(void)
{
    const char *dir = getenv("DNSFAILOVER_SHARED");

    return dir != NULL ? dir : "../shared";
}

#endif
