#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "agent/probes/deadline.h"

static void test_order(void **state)
{
    struct deadline_heap h;
    struct deadline_entry e;

    (void)state;
    deadline_init(&h);
    assert_false(deadline_first(&h, &e));
    deadline_add(&h, 5, 50);
    deadline_add(&h, 7, 20);
    deadline_add(&h, 0, 30);
    assert_true(deadline_first(&h, &e));
    assert_int_equal(e.id, 7);
    deadline_remove(&h, 7);
    deadline_remove(&h, 7);
    deadline_remove(&h, 1000);
    assert_true(deadline_first(&h, &e));
    assert_int_equal(e.id, 0);
    deadline_remove(&h, 5);
    deadline_remove(&h, 0);
    assert_false(deadline_first(&h, &e));
    deadline_fini(&h);
}

/* Against a plain array, over many random steps. */
static void test_random(void **state)
{
    enum { IDS = 300, STEPS = 100000 };
    static int64_t due[IDS]; /* 0: absent */
    struct deadline_heap h;
    struct deadline_entry e;
    uint64_t x = 88172645463325252u;

    (void)state;
    deadline_init(&h);
    for (int step = 0; step < STEPS; step++) {
        int64_t min = INT64_MAX;
        uint32_t id;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        id = (uint32_t)(x % IDS);
        if (due[id] != 0) {
            deadline_remove(&h, id);
            due[id] = 0;
        } else {
            due[id] = 1 + (int64_t)((x >> 20) % 1000);
            deadline_add(&h, id, due[id]);
        }
        for (size_t i = 0; i < IDS; i++)
            if (due[i] != 0 && due[i] < min)
                min = due[i];
        assert_int_equal(deadline_first(&h, &e), min != INT64_MAX);
        if (min != INT64_MAX) {
            assert_int_equal(e.due_ns, min);
            assert_int_equal(due[e.id], min);
        }
    }
    deadline_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
