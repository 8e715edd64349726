#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cmocka.h>

#include "agent/base/core.h"

static void test_no_core(void **state)
{
    struct rlimit now;

    (void)state;
    core_forbid();
    assert_int_equal(getrlimit(RLIMIT_CORE, &now), 0);
    assert_int_equal(now.rlim_cur, 0);
    assert_int_equal(now.rlim_max, 0);
#if defined __linux__ && !defined __SANITIZE_ADDRESS__
    assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_core)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
