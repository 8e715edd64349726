/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_random.h"

/* Random valid specs: what is printed reads the same, in JSON and bare, and
 * neither the order of members nor of TXT records matters. */

#define RUNS 3000u

static char *copy_joined(struct rnd *r, const struct rnd_members *m)
{
    struct rnd_members copy = {.n = m->n};

    for (unsigned i = 0; i < m->n; i++)
        copy.text[i] = mem_strdup(m->text[i]);
    return rnd_join(r, &copy, '{');
}

/* Each member in a TXT record of its own, from the given one on. */
static struct spec *parse_split(const struct rnd_members *m, unsigned from)
{
    struct spec_string strings[24];
    struct spec_txt txts[24];
    struct spec *s = NULL;
    struct err e = {0};
    char *texts[24];

    for (unsigned i = 0; i < m->n; i++) {
        texts[i] = mem_printf("{%s}", m->text[(i + from) % m->n]);
        strings[i].data = texts[i];
        strings[i].len = strlen(texts[i]);
        txts[i].strings = &strings[i];
        txts[i].nstrings = 1;
    }
    if (spec_parse(txts, m->n, &help_www, &s, &e) != 0)
        fail_msg("split: %s", e.msg);
    for (unsigned i = 0; i < m->n; i++)
        free(texts[i]);
    return s;
}

static void one(uint64_t seed, unsigned *bare)
{
    struct rnd r = {.state = seed};
    struct rnd_members m = {.n = 0};
    char *first, *second, *printed;
    struct spec *s, *t;
    struct err e = {0};

    rnd_spec(&r, &m);
    first = copy_joined(&r, &m);
    second = copy_joined(&r, &m);
    s = help_good(&help_www, first);
    help_round_trip(&help_www, s);
    t = help_good(&help_www, second);
    help_same(s, t);
    spec_free(t);
    t = parse_split(&m, rnd_below(&r, m.n));
    help_same(s, t);
    spec_free(t);
    printed = spec_print_bare(s, &e);
    *bare += printed != NULL;
    free(printed);
    spec_free(s);
    free(first);
    free(second);
    for (unsigned i = 0; i < m.n; i++)
        free(m.text[i]);
}

static void test_random(void **state)
{
    unsigned bare = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++)
        one(seed, &bare);
    /* Most of them can be said in bare. */
    assert_in_range(bare, RUNS / 2, RUNS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
