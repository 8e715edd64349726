#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/base/mdoc.h"
#include "agent/base/proc.h"
#include "providers/describe.h"
#include "providers/shared/findings.h"

/* What providers say of themselves, and where programs are found. */

static void test_findings(void **state)
{
    struct findings f;
    struct provider_checked r;

    (void)state;
    findings_init(&f);
    assert_int_equal(findings_get(&f).n, 0);
    for (int i = 0; i < 40; i++)
        findings_add(&f, i % 2 == 0 ? PROVIDER_OK : PROVIDER_ERROR, "url",
                     i == 7 ? "url = x" : NULL, "text %d\n", i);
    r = findings_get(&f);
    assert_int_equal(r.n, 40);
    assert_string_equal(r.findings[7].text, "text 7?"); /* one line */
    assert_string_equal(r.findings[7].remedy, "url = x");
    assert_int_equal(r.findings[7].level, PROVIDER_ERROR);
    assert_null(r.findings[8].remedy);
    findings_fini(&f);
}

static void test_facts(void **state)
{
    struct arena *a = arena_new();

    (void)state;
    for (size_t i = 0; providers[i] != NULL; i++) {
        struct describe_fact *facts;
        size_t n = describe_facts(providers[i], a, &facts);
        char *text = describe_manual(providers[i]);

        assert_true(n > 5);
        for (const struct config_field *f = providers[i]->fields;
             f->name != NULL; f++) {
            char *item = mem_printf("\n.It Cm %s\n", f->name);

            assert_non_null(strstr(text, item));
            /* What tells one section from another has no variable: that would
             * be every section's. All else may come from the environment. */
            if (strcmp(f->name, "set-identifier") != 0)
                assert_non_null(f->env);
            assert_non_null(f->help);
            free(item);
        }
        free(text);
    }
    arena_free(a);
}

static void sentence(const char *text, const char *want)
{
    struct buf b;

    buf_init(&b, 1000);
    mdoc_sentence(&b, text);
    assert_string_equal(buf_get(&b), want);
    buf_fini(&b);
}

static void test_mdoc(void **state)
{
    (void)state;
    sentence("a file", "A file.\n");
    sentence("A file. It is \"one\". e.g. this", "A file.\nIt is "
                                                 "\\(dqone\\(dq. e.g. this.\n");
    sentence("A \\ b. .Not a macro", "A \\e b. .Not a macro.\n");
    sentence("One. 'Two", "One. 'Two.\n");
    sentence("", "");
}

static void test_proc_find(void **state)
{
    struct err e;

    (void)state;
    assert_int_equal(proc_find("sh", &e), 0);
    assert_int_equal(proc_find("/bin/sh", &e), 0);
    assert_int_equal(proc_find("no-such-program-here", &e), -1);
    assert_string_equal(e.msg, "no-such-program-here: no such program in PATH");
    assert_int_equal(proc_find("/bin", &e), -1);
    assert_int_equal(proc_find("/etc/passwd", &e), -1);
    assert_string_equal(e.msg, "/etc/passwd: Permission denied");
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(proc_find("sh", &e), -1);
    assert_int_equal(setenv("PATH", "/nowhere:/bin", 1), 0);
    assert_int_equal(proc_find("sh", &e), 0);
    assert_int_equal(unsetenv("PATH"), 0);
    assert_int_equal(proc_find("sh", &e), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_mdoc),
        cmocka_unit_test(test_proc_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
