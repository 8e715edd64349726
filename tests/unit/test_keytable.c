#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/base/keytable.h"

/* Rows by their text, against a plain list of what must be in. */

#define ROWS 3000

struct row {
    int number;
    char key[];
};

static struct row *row_new(int number)
{
    char key[32];
    struct row *r;

    (void)snprintf(key, sizeof key, "row %d of many", number);
    r = keytable_row(offsetof(struct row, key), key);
    r->number = number;
    return r;
}

static void check_all(const struct keytable *t, struct row *const *in)
{
    size_t n = 0, seen = 0;

    for (int i = 0; i < ROWS; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "row %d of many", i);
        assert_ptr_equal(keytable_find(t, key), in[i]);
        n += in[i] != NULL;
    }
    assert_int_equal(t->n, n);
    for (size_t at = 0; keytable_next(t, &at) != NULL;)
        seen++;
    assert_int_equal(seen, n);
}

static void test_random(void **state)
{
    static struct row *in[ROWS];
    struct keytable t = {.key_at = offsetof(struct row, key)};
    uint32_t chance = 1;

    (void)state;
    assert_null(keytable_find(&t, ""));
    for (int turn = 0; turn < 20000; turn++) {
        uint32_t i = (chance = chance * 1664525u + 1013904223u) >> 8;

        i %= ROWS;
        if (in[i] == NULL) {
            in[i] = row_new((int)i);
            keytable_add(&t, in[i]);
        } else {
            keytable_remove(&t, in[i]);
            free(in[i]);
            in[i] = NULL;
        }
        if (turn % 2000 == 0)
            check_all(&t, in);
    }
    check_all(&t, in);
    for (int i = 0; i < ROWS; i++) {
        if (in[i] != NULL)
            keytable_remove(&t, in[i]);
        free(in[i]);
        in[i] = NULL;
    }
    check_all(&t, in);
    keytable_fini(&t);
}

/* Rows that go while all are looked at: none is passed over. */
static void test_sweep(void **state)
{
    static struct row *in[ROWS];
    struct keytable t = {.key_at = offsetof(struct row, key)};
    struct row *r;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        in[i] = row_new(i);
        keytable_add(&t, in[i]);
    }
    for (int part = 2; part >= 1; part--) {
        for (size_t at = 0; (r = keytable_next(&t, &at)) != NULL;) {
            if (r->number % part != 0)
                continue;
            keytable_remove(&t, r);
            at--;
            in[r->number] = NULL;
            free(r);
        }
        for (int i = 0; i < ROWS; i++)
            assert_true((in[i] == NULL) == (i % part == 0));
        check_all(&t, in);
    }
    keytable_fini(&t);
}

/* The key lies behind the row, whatever the size of that. */
static void test_row(void **state)
{
    struct row *r = keytable_row(offsetof(struct row, key), "");

    (void)state;
    assert_string_equal(r->key, "");
    assert_int_equal(r->number, 0);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
