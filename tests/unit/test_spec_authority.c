/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"

/* Which owner speaks for which set. */

static struct spec *make(const char *owner, const char *text)
{
    struct spec_context ctx = {
        .owner = owner, .zone = "example.org.", .cross_names = true};

    return help_good(&ctx, text);
}

static const struct spec_claim *find(const struct spec_claim *claims, size_t n,
                                     const char *name, enum spec_type type)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(claims[i].set->name, name) == 0 &&
            claims[i].set->type == type)
            return &claims[i];
    fail_msg("no claim for %s", name);
    return NULL;
}

#define NAMED(name) "{\"name\":\"" name "\",\"data\":\"192.0.2.1\"}"

static void test_claims(void **state)
{
    struct spec *specs[] = {
        make("example.org.",
             "{\"records\":[" NAMED("a.www") "," NAMED("www") "," NAMED(
                 "far") "," NAMED("other") ",{\"name\":\"www\",\"data\":\"2001:"
                                           "db8::1\"}]}"),
        make("www.example.org.", "{\"records\":[" NAMED("a.www") "," NAMED(
                                     "www") "," NAMED("third") "]}"),
        make("a.www.example.org.", "{\"records\":[" NAMED("a.www") "," NAMED(
                                       "far") "," NAMED("third") "]}"),
    };
    struct arena *a = arena_new();
    /* whatever the order of the specs */
    static const size_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};

    (void)state;
    for (size_t o = 0; o < 3; o++) {
        const struct spec *list[3];
        struct spec_claim *claims;
        struct spec_note *notes;
        size_t n, nnotes;

        for (size_t i = 0; i < 3; i++)
            list[i] = specs[orders[o][i]];
        spec_authority(list, 3, a, &claims, &n, &notes, &nnotes);
        assert_int_equal(n, 6);
        /* its own _failover.<name> */
        assert_ptr_equal(find(claims, n, "a.www.example.org.", SPEC_A)->spec,
                         specs[2]);
        assert_ptr_equal(find(claims, n, "www.example.org.", SPEC_A)->spec,
                         specs[1]);
        /* A and AAAA are two sets */
        assert_ptr_equal(find(claims, n, "www.example.org.", SPEC_AAAA)->spec,
                         specs[0]);
        /* the nearest above, here the apex, before one at the side */
        assert_ptr_equal(find(claims, n, "far.example.org.", SPEC_A)->spec,
                         specs[0]);
        /* nobody above: the first in canonical order (www < a.www) */
        assert_ptr_equal(find(claims, n, "third.example.org.", SPEC_A)->spec,
                         specs[1]);
        for (size_t i = 1; i < n; i++)
            assert_true(name_compare(claims[i - 1].set->name,
                                     claims[i].set->name) <= 0);
        assert_int_equal(nnotes, 5);
        for (size_t i = 0; i < nnotes; i++) {
            assert_int_equal(notes[i].level, SPEC_NOTE_ERROR);
            assert_non_null(strstr(notes[i].text, "is claimed by _failover."));
        }
        assert_string_equal(
            notes[0].text,
            "_failover.a.www.example.org /records/1: far.example.org. A is "
            "claimed by _failover.example.org too, which comes before this "
            "one; this claim has no effect");
        free(claims);
        free(notes);
    }
    arena_free(a);
    for (size_t i = 0; i < 3; i++)
        spec_free(specs[i]);
}

static void test_none(void **state)
{
    struct arena *a = arena_new();
    struct spec_claim *claims;
    struct spec_note *notes;
    size_t n, nnotes;

    (void)state;
    spec_authority(NULL, 0, a, &claims, &n, &notes, &nnotes);
    assert_int_equal(n, 0);
    assert_int_equal(nnotes, 0);
    free(claims);
    free(notes);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
