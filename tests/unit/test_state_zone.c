#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/engine/service/control.h"
#include "agent/engine/state/state_zone.h"
#include "tests/unit/state_count.h"

/* A state that stays: rows that go while the process runs; and the path of
 * the control socket. */

static struct state *fresh(void)
{
    struct state *s = NULL;
    struct err e;

    assert_int_equal(state_open(NULL, true, &s, &e), 0);
    return s;
}

static void test_sweep(void **state)
{
    struct state *s = fresh();
    struct state_value *kept;

    (void)state;
    kept = value_get(s, "a.", "www.a.", "A", "192.0.2.1");
    (void)value_get(s, "a.", "www.a.", "A", "192.0.2.2");
    (void)value_get(s, "aa.", "www.aa.", "A", "192.0.2.1");
    (void)value_get(s, "a.", "gone.a.", "A", "192.0.2.3");
    (void)state_set_get(s, "a.", "empty.a.", "A");
    (void)state_judge_get(s, "a.", "www.a.");
    state_zone_unmark(s, "a.");
    assert_ptr_equal(value_get(s, "a.", "www.a.", "A", "192.0.2.1"), kept);
    state_zone_sweep(s, "a.");
    assert_int_equal(count_values(s), 2); /* one, and of aa. */
    assert_int_equal(count_sets(s), 2);
    assert_null(state_judges(s));
    state_close(s);
}

static void test_leave(void **state)
{
    struct state *s = fresh();

    (void)state;
    (void)value_get(s, "a.", "www.a.", "A", "192.0.2.1");
    (void)state_spec_get(s, "a.", "www.a.");
    (void)state_zone_get(s, "a.");
    (void)state_zone_get(s, "b.");
    (void)state_spec_get(s, "b.", "www.b.");
    state_zone_leave(s, "a.");
    state_zone_leave(s, "c.");
    assert_null(state_sets(s));
    assert_int_equal(HASH_COUNT(state_zones(s)), 1);
    assert_int_equal(count_specs(s), 1);
    state_close(s);
}

static void test_keep_all(void **state)
{
    struct state *s = fresh();
    struct state_check *c = state_check_get(s, "tcp 192.0.2.1:443");

    (void)state;
    c->used = false;
    assert_true(state_problem(s, "a.|records", false, "not there"));
    state_zone_keep_all(s);
    assert_true(c->used);
    assert_false(state_problems(s)->used);
    state_zone_drop_problem(s, state_problems(s));
    assert_null(state_problems(s));
    assert_true(state_problem(s, "a.|records", false, "not there"));
    state_close(s);
}

static void test_control_path(void **state)
{
    char *path = control_path("/var/lib/dnsfailover/state.db");
    char longest[300];
    struct err e;

    (void)state;
    assert_string_equal(path, "/var/lib/dnsfailover/control");
    free(path);
    path = control_path("state.db");
    assert_string_equal(path, "control");
    free(path);
    memset(longest, '/', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(control_path(longest));
    assert_int_equal(control_ask(longest, "{}", &e), -1);
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_int_equal(control_ask("/nonexistent/state.db", "{}", &e), -1);
    assert_int_equal(e.code, ERR_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_keep_all),
        cmocka_unit_test(test_control_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
