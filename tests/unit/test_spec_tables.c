/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "specs/json.h"
#include "specs/tables.h"
#include "tests/unit/spec_help.h"

/* What is made from the tables. */

#define SCHEMA "specs/dnsfailover.schema.json"

/* The committed schema is the one that the tables give. DNSFAILOVER_REWRITE=1
 * writes it anew. */
static void test_schema(void **state)
{
    char *made = spec_schema(), *there;
    struct spec_value *root;
    struct arena *a = arena_new();
    struct err e = {0};
    size_t len = 0;

    (void)state;
    if (getenv("DNSFAILOVER_REWRITE") != NULL) {
        FILE *f = fopen(SCHEMA, "w");

        assert_non_null(f);
        (void)fputs(made, f);
        assert_int_equal(fclose(f), 0);
    }
    there = help_read(SCHEMA, &len);
    if (there == NULL)
        fail_msg("no " SCHEMA " here; run tests from the checkout's top");
    assert_string_equal(made, there);
    assert_int_equal(spec_json_parse(a, "schema", made, len, &root, &e), 0);
    arena_free(a);
    free(made);
    free(there);
}

/* Every member stands in the manual's lists, with what it takes. */
static void test_manual(void **state)
{
    char *text = spec_manual(), item[128];

    (void)state;
    for (const struct spec_tables_entry *t = spec_tables; t->name != NULL;
         t++) {
        for (size_t i = 0; i < t->table->n; i++) {
            (void)snprintf(item, sizeof item, "\n.It Cm %s\n",
                           t->table->members[i].name);
            if (strstr(text, item) == NULL)
                fail_msg("%s of %s is missing", item, t->name);
        }
    }
    assert_non_null(strstr(text, ".Ss Members of a check\n"));
    assert_non_null(strstr(text, "\n.It Cm minCertDays\n"
                                 "Days for which the certificate must still "
                                 "be valid.\n"
                                 "Accepted: a whole number from 0 to 3650.\n"
                                 "Kinds:\ntls,\nhttps,\nsmtps,\nimaps,\n"
                                 "pop3s,\nftps,\nldaps.\n"
                                 "Default: 0.\n"));
    free(text);
}

static void test_tables(void **state)
{
    (void)state;
    for (const struct spec_tables_entry *t = spec_tables; t->name != NULL;
         t++) {
        assert_string_equal(spec_tables_name(t->table), t->name);
        for (size_t i = 0; i < t->table->n; i++) {
            const struct spec_member *m = &t->table->members[i];

            assert_non_null(m->name);
            assert_non_null(m->help);
            assert_true(m->min <= m->max);
            if (m->kind == SPEC_MEMBER_CHOICE || m->kind == SPEC_MEMBER_CHOICES)
                assert_non_null(m->choices);
            if (m->kind == SPEC_MEMBER_OBJECT || m->kind == SPEC_MEMBER_LIST)
                assert_non_null(spec_tables_name(m->table));
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(m->name, t->table->members[k].name);
        }
    }
    assert_null(spec_tables_name(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_manual),
        cmocka_unit_test(test_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
