#include "tests/unit/property.h"

/* Random sets against the tiers written a second time. DNSFAILOVER_SEED and
 * DNSFAILOVER_CASES repeat a run. */

#define CASES 100000

static void test_decide(void **state)
{
    const uint64_t *seed = *state;
    uint64_t cases = 5 * env_number("DNSFAILOVER_CASES", CASES);
    struct rng r = {*seed};

    for (uint64_t c = 0; c < cases; c++) {
        struct decide_value v[5], f[3];
        struct decide_set set = {.values = v, .fallback = f};
        bool publish[8];
        struct decision got;
        struct naive want;

        set.nvalues = rng_below(&r, 6);
        set.nfallback = rng_below(&r, 4);
        set.order = (enum spec_order)rng_below(&r, 2);
        set.take = rng_below(&r, 4);
        set.single = rng_percent(&r, 20);
        set.all_down = (enum spec_all_down)rng_below(&r, 3);
        random_decide_list(&r, v, set.nvalues);
        random_decide_list(&r, f, set.nfallback);
        got = decide_set(&set, publish);
        want = naive_decide(&set);
        for (size_t i = 0; i < set.nvalues; i++)
            assert_int_equal(publish[i], want.values >> i & 1);
        for (size_t i = 0; i < set.nfallback; i++)
            assert_int_equal(publish[set.nvalues + i], want.fallback >> i & 1);
        assert_int_equal(got.tier, want.tier);
        assert_int_equal(got.rule, want.rule);
    }
}

int main(void)
{
    uint64_t seed = env_number("DNSFAILOVER_SEED", (uint64_t)time(NULL) << 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_decide, &seed),
    };

    (void)printf("DNSFAILOVER_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
