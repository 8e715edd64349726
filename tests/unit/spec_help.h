#ifndef TESTS_SPEC_HELP_H
#define TESTS_SPEC_HELP_H

/* What the spec tests share: a context, parsing that says why it failed,
 * comparing two specs, reading files. cmocka.h is included before. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "specs/spec.h"

#define HELP __attribute__((unused)) static

HELP const struct spec_context help_www = {.owner = "www.example.org.",
                                           .zone = "example.org."};
HELP const struct spec_context help_apex = {.owner = "example.org.",
                                            .zone = "example.org."};

/* The spec of text, which must be good. */
HELP struct spec *help_good(const struct spec_context *ctx, const char *text)
{
    struct spec *s = NULL;
    struct err e = {0};

    if (spec_parse_text(text, strlen(text), ctx, &s, &e) != 0)
        fail_msg("%s\n%s", text, e.msg);
    return s;
}

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

HELP void help_same_checks(const struct spec_record *a,
                           const struct spec_record *b)
{
    assert_int_equal(a->nchecks, b->nchecks);
    for (size_t i = 0; i < a->nchecks; i++) {
        const struct spec_check *x = &a->checks[i], *y = &b->checks[i];

        assert_int_equal(x->kind, y->kind);
        assert_memory_equal(&x->target, &y->target, sizeof x->target);
        assert_int_equal(x->port, y->port);
        assert_int_equal(x->timeout_ms, y->timeout_ms);
        assert_int_equal(x->access_period_ms, y->access_period_ms);
        assert_int_equal(x->retry_period_ms, y->retry_period_ms);
        assert_int_equal(x->required_success, y->required_success);
        assert_int_equal(x->required_failure, y->required_failure);
        assert_int_equal(x->repeat_timeout, y->repeat_timeout);
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
        help_same_checks(&a[i], &b[i]);
    }
}

/* All that a spec means; where it was written does not count. */
HELP void help_same(const struct spec *a, const struct spec *b)
{
    assert_string_equal(a->owner, b->owner);
    assert_int_equal(a->nsets, b->nsets);
    for (size_t i = 0; i < a->nsets; i++) {
        const struct spec_set *x = &a->sets[i], *y = &b->sets[i];

        assert_string_equal(x->name, y->name);
        assert_int_equal(x->type, y->type);
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
    assert_memory_equal(&a->defaults.ttl_s, &b->defaults.ttl_s, 8);
    assert_int_equal(a->defaults.timeout_ms, b->defaults.timeout_ms);
    assert_int_equal(a->defaults.access_period_ms,
                     b->defaults.access_period_ms);
    assert_int_equal(a->defaults.retry_period_ms, b->defaults.retry_period_ms);
    assert_int_equal(a->defaults.required_success,
                     b->defaults.required_success);
    assert_int_equal(a->defaults.required_failure,
                     b->defaults.required_failure);
    assert_int_equal(a->debounce_ms, b->debounce_ms);
    assert_int_equal(a->max_change_pct, b->max_change_pct);
    assert_int_equal(a->nnames, b->nnames);
    for (size_t i = 0; i < a->nnames; i++)
        assert_string_equal(a->names[i], b->names[i]);
}

/* parse(print(s)) is s. */
HELP void help_round_trip(const struct spec_context *ctx, const struct spec *s)
{
    char *text = spec_print(s), *again;
    struct spec *t = help_good(ctx, text);

    help_same(s, t);
    again = spec_print(t);
    assert_string_equal(text, again);
    free(text);
    free(again);
    spec_free(t);
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
