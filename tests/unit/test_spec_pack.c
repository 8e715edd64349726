#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/spec_help.h"

/* What is left of a spec when its document is not kept: help_good compares
 * that with the whole one for every text of the other tests. */

static const struct spec_context lean = {.owner = "www.example.org.",
                                         .zone = "example.org."};

static struct spec *read(const char *const *texts, size_t n,
                         const struct spec *apex)
{
    struct spec_context ctx = lean;
    struct spec_string strings[4];
    struct spec_txt txts[4];
    struct spec *s = NULL;
    struct err e = {0};

    assert_true(n <= 4);
    for (size_t i = 0; i < n; i++) {
        strings[i] = (struct spec_string){texts[i], strlen(texts[i])};
        txts[i] = (struct spec_txt){&strings[i], 1};
    }
    ctx.apex = apex;
    if (spec_parse(txts, n, &ctx, &s, &e) != 0)
        fail_msg("%s", e.msg);
    return s;
}

static uint64_t hash(const char *const *texts, size_t n,
                     const struct spec *apex)
{
    struct spec *s = read(texts, n, apex);
    uint64_t h = s->hash;

    spec_free(s);
    return h;
}

#define A "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":443}]}"
#define B "{\"checks\":{\"x\":\"tcp:80\"}}"
#define C "{\"checks\":{\"x\":\"tcp:81\"}}"

static void test_hash(void **state)
{
    static const char *const ab[] = {A, B}, *const ba[] = {B, A},
                             *const twice[] = {A, B, A},
                             *const foreign[] = {"v=spf1", B, A},
                             *const ac[] = {A, C};
    uint64_t h = hash(ab, 2, NULL);

    (void)state;
    assert_true(h == hash(ba, 2, NULL));
    assert_true(h == hash(twice, 3, NULL));
    assert_true(h == hash(foreign, 3, NULL));
    assert_true(h != hash(ac, 2, NULL));
    assert_true(h != hash(ab, 1, NULL));
}

/* Any byte counts, wherever it stands. */
static void test_hash_bytes(void **state)
{
    char text[2][200];
    const char *one = text[0], *two = text[1];

    (void)state;
    (void)snprintf(text[0], sizeof text[0],
                   "{\"records\":[{\"data\":\"192.0.2.1\"}],\"comment\":\"%s"
                   "%s\"}",
                   "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
                   "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
    for (char *p = strstr(text[0], "abc"); *p != '"'; p++) {
        memcpy(text[1], text[0], sizeof text[0]);
        text[1][p - text[0]] = '-';
        assert_true(hash(&one, 1, NULL) != hash(&two, 1, NULL));
    }
}

/* The apex spec counts where something of it is used. */
static void test_hash_apex(void **state)
{
    static const char *const uses[] = {
        "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":\"x\"}]}"};
    static const char *const alone[] = {A};
    struct spec *b = help_good(&help_apex, B), *c = help_good(&help_apex, C);
    struct spec *s;

    (void)state;
    assert_true(hash(uses, 1, b) != hash(uses, 1, c));
    assert_true(hash(alone, 1, b) == hash(alone, 1, c));
    /* What is read lives on when the apex spec does not. */
    s = read(uses, 1, b);
    spec_free(b);
    spec_free(c);
    assert_null(s->doc);
    assert_string_equal(s->checks[0].name, "x");
    assert_int_equal(s->checks[0].port, 80);
    assert_string_equal(s->checks[0].pointer, "/checks/x");
    spec_free(s);
}

/* A record of every view is kept once. */
static void test_views(void **state)
{
    static const char *const text[] = {
        "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":[443,80]},"
        "{\"data\":\"192.0.2.2\",\"view\":\"eu\",\"if\":\"tcp:1@192.0.2.9\"},"
        "{\"data\":\"192.0.2.3\",\"view\":\"us\"}],"
        "\"fallbackRecords\":[{\"data\":\"192.0.2.8\",\"view\":\"eu\"},"
        "{\"data\":\"192.0.2.8\",\"view\":\"us\"},{\"data\":\"192.0.2.8\"}]}"};
    struct spec *s = read(text, 1, NULL);

    (void)state;
    assert_int_equal(s->nsets, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct spec_set *set = &s->sets[i];

        assert_int_equal(set->nrecords, i == 0 ? 1 : 2);
        assert_int_equal(set->nfallback, 1);
        assert_string_equal(set->records[0].data, "192.0.2.1");
        assert_int_equal(set->records[0].nchecks, 2);
        assert_ptr_equal(set->records[0].checks, s->sets[0].records[0].checks);
        assert_string_equal(set->fallback[0].data, "192.0.2.8");
        help_same_text(spec_rare_of(&set->fallback[0])->view, set->view);
    }
    assert_string_equal(spec_rare_of(&s->sets[1].records[1])->when->text,
                        "tcp:1@192.0.2.9");
    spec_free(s);
}

/* Warnings lie apart: they can go, and the rest stays. */
static void test_forget_warnings(void **state)
{
    static const char *const text[] = {
        "[{\"name\":\"www.example.org.\",\"data\":\"192.0.2.1\","
        "\"check\":\"443\",\"other\":1}]"};
    struct spec *s = read(text, 1, NULL);

    (void)state;
    assert_int_equal(s->nwarnings, 1);
    assert_non_null(strstr(s->warnings[0].text, "/0/other"));
    spec_forget_warnings(s);
    assert_int_equal(s->nwarnings, 0);
    assert_string_equal(s->sets[0].records[0].data, "192.0.2.1");
    spec_forget_warnings(s);
    spec_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_hash_bytes),
        cmocka_unit_test(test_hash_apex),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_forget_warnings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
