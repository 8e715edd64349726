#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "providers/rrset.h"

static void types_by_name(void **state)
{
    enum rr_type t;
    struct err e = {0};

    (void)state;
    assert_int_equal(rr_type_parse("aaaa", &t, &e), 0);
    assert_int_equal(t, RR_AAAA);
    assert_string_equal(rr_type_name(RR_CNAME), "CNAME");
    assert_int_equal(rr_type_parse("MX", &t, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
}

static void check_canon(enum rr_type t, const char *in, const char *want)
{
    struct err e = {0};
    char *out = NULL;
    int r = rr_data_canon(t, in, "example.test.", &out, &e);

    if (want == NULL) {
        assert_int_equal(r, -1);
        assert_int_equal(e.code, ERR_INPUT);
        return;
    }
    assert_int_equal(r, 0);
    assert_string_equal(out, want);
    free(out);
}

/* A13: one address, many spellings; and what is none. */
static void data_by_meaning(void **state)
{
    (void)state;
    check_canon(RR_A, "192.0.2.1", "192.0.2.1");
    check_canon(RR_A, "192.0.2.010", NULL);
    check_canon(RR_A, "192.0.2", NULL);
    check_canon(RR_A, "2001:db8::1", NULL);
    check_canon(RR_AAAA, "2001:DB8::1", "2001:db8::1");
    check_canon(RR_AAAA, "2001:db8:0:0:0:0:0:1", "2001:db8::1");
    check_canon(RR_AAAA, "2001:0db8:0000:0000:0001:0000:0000:0001",
                "2001:db8::1:0:0:1");
    check_canon(RR_AAAA, "2001:db8::1::", NULL);
    check_canon(RR_AAAA, "192.0.2.1", NULL);
    check_canon(RR_CNAME, "WWW", "www.example.test.");
    check_canon(RR_CNAME, "@", "example.test.");
    check_canon(RR_CNAME, "a.example.net.", "a.example.net.");
    check_canon(RR_CNAME, "", NULL);
    check_canon(RR_CNAME, "a b", NULL);
    check_canon(RR_TXT, "As it Is", "As it Is");
}

static void equal_rows_join(void **state)
{
    struct rrset_list l;
    struct rrset *s;

    (void)state;
    rrset_list_init(&l);
    assert_null(rrset_find(&l, "a.example.test.", RR_A));
    rrset_list_add(&l, "a.example.test.", RR_A, "192.0.2.1", 30, false);
    s = rrset_find(&l, "a.example.test.", RR_A);
    assert_non_null(s);
    assert_int_equal(s->ttl_s, 30);
    rrset_list_add(&l, "a.example.test.", RR_A, "192.0.2.2", 600, true);
    rrset_list_add(&l, "a.example.test.", RR_A, "192.0.2.2", 60, true);
    rrset_list_add(&l, "a.example.test.", RR_A, "192.0.2.3", 5, false);
    assert_int_equal(l.n, 1);
    s = &l.sets[0];
    assert_int_equal(s->n, 3);
    assert_int_equal(s->ttl_s, 60);
    assert_false(rrset_value_find(s, "192.0.2.1")->enabled);
    assert_true(rrset_value_find(s, "192.0.2.2")->enabled);
    assert_int_equal(rrset_value_find(s, "192.0.2.2")->rows, 2);
    assert_null(rrset_value_find(s, "192.0.2.9"));
    assert_null(rrset_find(&l, "a.example.test.", RR_AAAA));
    rrset_list_fini(&l);
}

static void many_sets_are_found(void **state)
{
    struct rrset_list l;
    char name[NAME_SIZE];

    (void)state;
    rrset_list_init(&l);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "h%d.example.test.", i);
        rrset_list_add(&l, name, i % 2 ? RR_A : RR_CNAME, "x", 1, true);
    }
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "h%d.example.test.", i);
        assert_string_equal(rrset_find(&l, name, i % 2 ? RR_A : RR_CNAME)->name,
                            name);
        assert_null(rrset_find(&l, name, RR_AAAA));
    }
    rrset_list_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_by_name),
        cmocka_unit_test(data_by_meaning),
        cmocka_unit_test(equal_rows_join),
        cmocka_unit_test(many_sets_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
