/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <dirent.h>

#include "tests/unit/spec_help.h"

/* Every file of tests/fixtures/specs and specs/examples: the good ones give
 * the canonical text in NAME.want (and, behind "warning: ", its warnings),
 * the bad ones the error in NAME.want. Files called apex-… are read as the
 * spec of the zone's apex, all others as that of www: those called child-…
 * below the apex spec apex-shared.json, those called active-… with
 * allow-active. */

static const char *const ns_names[] = {"ns1.example.org."};
static const char *const commands[] = {"disk", "pg"};

static bool begins(const char *s, const char *start)
{
    return strncmp(s, start, strlen(start)) == 0;
}

static struct spec_context context(const char *file, const struct spec *apex)
{
    struct spec_context ctx = {.owner = "www.example.org.",
                               .zone = "example.org.",
                               .ns_names = ns_names,
                               .nns_names = 1,
                               .min_period_ms = 500,
                               .max_targets = 200,
                               .commands = commands,
                               .ncommands = 2,
                               .keep_doc = true};

    if (begins(file, "apex-"))
        ctx.owner = ctx.zone;
    if (begins(file, "child-"))
        ctx.apex = apex;
    ctx.allow_active = begins(file, "active-");
    return ctx;
}

/* The spec that files called child-… inherit from; NULL: not theirs. */
static struct spec *shared_apex(const char *file)
{
    struct spec *s;
    size_t len = 0;
    char *text;

    if (!begins(file, "child-"))
        return NULL;
    text = help_read("tests/fixtures/specs/apex-shared.json", &len);
    assert_non_null(text);
    s = help_good(&help_apex, text);
    free(text);
    return s;
}

/* What lint would say, as one text. */
static char *verdict(const char *file, const char *text, size_t len)
{
    struct spec *s = NULL, *apex = shared_apex(file);
    struct spec_context ctx = context(file, apex);
    struct err e = {0};
    struct buf b;

    buf_init(&b, 1u << 20);
    if (spec_parse_text(text, len, &ctx, &s, &e) != 0) {
        buf_printf(&b, "%s: %s\n", err_code_name(e.code), e.msg);
    } else {
        char *printed = spec_print(s);

        help_round_trip(&ctx, s);
        buf_printf(&b, "%s: %s\n", spec_spelling_name(s->spelling), printed);
        for (size_t i = 0; i < s->nwarnings; i++)
            buf_printf(&b, "warning: %s\n", s->warnings[i].text);
        free(printed);
    }
    spec_free(s);
    spec_free(apex);
    return buf_take(&b);
}

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* DNSFAILOVER_REWRITE=1 writes the .want files anew, to be read in the
 * diff. */
static void check_want(const char *path, const char *got)
{
    char want_path[2048], *want;
    size_t len = 0;

    (void)snprintf(want_path, sizeof want_path, "%s.want", path);
    if (getenv("DNSFAILOVER_REWRITE") != NULL) {
        FILE *f = fopen(want_path, "w");

        assert_non_null(f);
        (void)fputs(got, f);
        assert_int_equal(fclose(f), 0);
    }
    want = help_read(want_path, &len);
    if (want == NULL)
        fail_msg("%s is missing; got: %s", want_path, got);
    if (strcmp(want, got) != 0)
        fail_msg("%s\nwant: %sgot:  %s", path, want, got);
    free(want);
}

static size_t check_folder(const char *folder, bool good, bool with_want)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    if (d == NULL)
        fail_msg("no %s here; run tests from the checkout's top", folder);
    while ((entry = readdir(d)) != NULL) {
        char path[1024], *text, *got;
        bool refused;
        size_t len = 0;

        if (entry->d_name[0] == '.' || ends(entry->d_name, ".want") ||
            ends(entry->d_name, ".md"))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        text = help_read(path, &len);
        assert_non_null(text);
        got = verdict(entry->d_name, text, len);
        refused = strstr(got, ": _failover.") != NULL &&
                  strstr(got, "warning: ") == NULL;
        if (refused == good)
            fail_msg("%s: %s", path, got);
        assert_true(good || strchr(got, '\n') == got + strlen(got) - 1);
        if (with_want)
            check_want(path, got);
        free(text);
        free(got);
        n++;
    }
    (void)closedir(d);
    return n;
}

static void test_good(void **state)
{
    (void)state;
    assert_true(check_folder("tests/fixtures/specs/good", true, true) >= 25);
}

static void test_bad(void **state)
{
    (void)state;
    assert_true(check_folder("tests/fixtures/specs/bad", false, true) >= 150);
}

static void test_examples(void **state)
{
    (void)state;
    assert_true(check_folder("specs/examples", true, false) >= 19);
}

/* Cut anywhere or with one byte changed, a good text gives a spec that
 * prints and reads the same, or one line of error; never a crash. */
static void damage(const char *text, size_t len)
{
    char *copy = mem_strndup(text, len);
    uint32_t seed = 1;

    for (size_t at = 0; at < len; at++) {
        free(verdict("x", text, at));
        seed = seed * 1664525u + 1013904223u;
        copy[at] = (char)(seed >> 24);
        free(verdict("x", copy, len));
        copy[at] = text[at];
    }
    free(copy);
}

static void test_damage(void **state)
{
    static const char *const files[] = {
        "tests/fixtures/specs/good/object-all.json",
        "tests/fixtures/specs/good/scenarios.json",
        "tests/fixtures/specs/good/language.bare",
        "tests/fixtures/specs/good/rows.bare",
        "tests/fixtures/specs/good/rows.escaped"};

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t len = 0;
        char *text = help_read(files[i], &len);

        assert_non_null(text);
        damage(text, len);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
