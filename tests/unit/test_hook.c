/* A hook's section, what a change set comes to, requests and answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/hook/hook.h"

#define ZONE "example.org."
#define WWW "www.example.org."

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* ---- its section --------------------------------------------------------- */

static int read_section(const struct config_option *v, size_t n,
                        struct hook_command *c, struct err *e)
{
    const struct config_provider cfg = {
        .name = "own", .type = "hook", .options = v, .noptions = n};

    return hook_command_read(&cfg, c, e);
}

static void test_its_command(void **state)
{
    const struct config_option v[] = {
        {.name = "command", .value = "/bin/x 'a b' --zone"},
        {.name = "environment", .value = " HOOK_A  HOOK_ABSENT"}};
    struct hook_command c;
    struct err e;
    bool seen = false;

    (void)state;
    assert_int_equal(setenv("HOOK_A", "1", 1), 0);
    assert_int_equal(setenv("HOOK_B", "2", 1), 0);
    assert_int_equal(read_section(v, 2, &c, &e), 0);
    assert_string_equal(c.argv[0], "/bin/x");
    assert_string_equal(c.argv[1], "a b");
    assert_null(c.argv[3]);
    assert_string_equal(c.dir, "/");
    assert_int_equal(c.timeout_ms, 60000);
    for (size_t i = 0; c.env[i] != NULL; i++) {
        seen = seen || strcmp(c.env[i], "HOOK_A=1") == 0;
        assert_true(strncmp(c.env[i], "HOOK_B", 6) != 0);
        assert_true(strncmp(c.env[i], "HOOK_ABSENT", 11) != 0);
    }
    assert_true(seen);
    hook_command_fini(&c);
}

static void test_sections_that_are_wrong(void **state)
{
    static const struct {
        const char *name, *value, *text;
    } cases[] = {
        {"directory", "x", "directory: \"x\"; accepted: an absolute path"},
        {"timeout", "1ms", "timeout: \"1ms\"; accepted: 100ms to 1h"},
        {"timeout", "soon", "timeout: "},
        {"environment", "A B=1", "environment: \"B=1\"; accepted: "},
        {"environment", "1A", "environment: \"1A\"; accepted: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config_option v[] = {
            {.name = "command", .value = "/bin/x"},
            {.name = cases[i].name, .value = cases[i].value}};
        struct hook_command c;
        struct err e;

        assert_int_equal(read_section(v, 2, &c, &e), -1);
        assert_int_equal(e.code, ERR_INPUT);
        assert_non_null(strstr(e.msg, cases[i].text));
        hook_command_fini(&c);
    }
}

/* ---- the plan and its request -------------------------------------------- */

static void have(struct rrset_list *l)
{
    rrset_list_init(l);
    rrset_list_add(l, WWW, RR_A, "192.0.2.1", 300, true);
    rrset_list_add(l, WWW, RR_A, "192.0.2.9", 300, true);
    rrset_list_add(l, WWW, RR_A, "192.0.2.3", 300, false);
}

static void test_what_is_so_needs_no_request(void **state)
{
    const struct change v[] = {
        {CHANGE_PUBLISH, 0, WWW, RR_A, "192.0.2.1", -1, false},
        {CHANGE_PUBLISH, 0, WWW, RR_A, "192.0.2.9", 300, false},
        {CHANGE_WITHDRAW, 0, WWW, RR_A, "192.0.2.3", -1, false},
        {CHANGE_WITHDRAW, 0, WWW, RR_A, "192.0.2.4", -1, false},
    };
    const struct change_set set = {.zone = ZONE, .v = v, .n = 4};
    struct change_result r[4] = {{.state = CHANGE_UNKNOWN}};
    struct rrset_list l;
    struct hook_plan p;

    have(&l);
    hook_plan_make(&set, &l, true, *state, &p, r);
    assert_int_equal(p.nopen, 0);
    assert_int_equal(p.nsets, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(r[i].state, CHANGE_DONE);
    rrset_list_fini(&l);
}

static void test_a_set_as_a_whole(void **state)
{
    const struct change v[] = {
        {CHANGE_PUBLISH, 4, WWW, RR_A, "192.0.2.3", 60, false},
        {CHANGE_WITHDRAW, 4, WWW, RR_A, "192.0.2.1", -1, false},
        {CHANGE_WITHDRAW, 4, WWW, RR_A, "192.0.2.7", -1, true},
    };
    const struct change_set set = {
        .zone = ZONE, .v = v, .n = 3, .comment = "w\"hy"};
    struct change_result r[3] = {{.state = CHANGE_UNKNOWN}};
    const char *text;
    struct rrset_list l;
    struct hook_plan p;
    struct err e;

    have(&l);
    hook_plan_make(&set, &l, false, *state, &p, r);
    text = hook_ask_apply(&set, p.open, p.sets, p.nsets, *state, &e);
    assert_string_equal(
        text,
        "{\"version\":1,\"request\":\"apply\",\"zone\":\"example.org.\","
        "\"create\":false,\"comment\":\"w\\\"hy\",\"changes\":["
        "{\"op\":\"publish\",\"name\":\"www.example.org.\",\"type\":\"A\","
        "\"data\":\"192.0.2.3\",\"ttl\":60,\"set\":4},"
        "{\"op\":\"withdraw\",\"name\":\"www.example.org.\",\"type\":\"A\","
        "\"data\":\"192.0.2.1\",\"set\":4},"
        "{\"op\":\"withdraw\",\"name\":\"www.example.org.\",\"type\":\"A\","
        "\"data\":\"192.0.2.7\",\"set\":4,\"confirm\":true}],"
        "\"sets\":[{\"set\":4,\"name\":\"www.example.org.\",\"type\":\"A\","
        "\"ttl\":60,\"from\":[\"192.0.2.1\",\"192.0.2.9\"],"
        "\"to\":[\"192.0.2.9\",\"192.0.2.3\"]}]}");
    rrset_list_fini(&l);
}

static void test_a_value_that_is_not_held(void **state)
{
    const struct change v[] = {
        {CHANGE_PUBLISH, 0, WWW, RR_A, "192.0.2.5", -1, false},
        {CHANGE_WITHDRAW, 0, WWW, RR_A, "192.0.2.1", -1, false},
    };
    const struct change_set set = {.zone = ZONE, .v = v, .n = 2};
    struct change_result r[2] = {{.state = CHANGE_UNKNOWN},
                                 {.state = CHANGE_UNKNOWN}};
    struct rrset_list l;
    struct hook_plan p;

    have(&l);
    hook_plan_make(&set, &l, false, *state, &p, r);
    assert_int_equal(r[0].state, CHANGE_FAILED);
    assert_int_equal(r[0].err.code, ERR_NOTFOUND);
    assert_int_equal(r[1].state, CHANGE_SKIPPED);
    assert_int_equal(p.nopen, 0);
    r[0].state = r[1].state = CHANGE_UNKNOWN;
    hook_plan_make(&set, &l, true, *state, &p, r);
    assert_int_equal(p.nopen, 2);
    rrset_list_fini(&l);
}

static void test_a_text_with_a_nul_is_refused(void **state)
{
    const struct spec_write w = {
        .zone = ZONE, .owner = WWW, .text = "[\0]", .len = 3, .ttl_s = 60};
    struct err e;

    assert_null(hook_ask_spec(&w, *state, &e));
    assert_int_equal(e.code, ERR_INPUT);
}

/* ---- answers ------------------------------------------------------------- */

static cJSON *parse(const char *text)
{
    cJSON *root;
    struct err e;
    bool own;

    assert_int_equal(hook_answer_parse(text, strlen(text), &root, &own, &e), 0);
    assert_false(own);
    return root;
}

static void test_records(void **state)
{
    static const char *const names[] = {WWW};
    cJSON *root =
        parse("{\"version\":1,\"serial\":7,\"more\":{},\"records\":["
              "{\"name\":\"WWW.example.org\",\"type\":\"a\",\"ttl\":60,"
              "\"data\":\"192.0.2.1\",\"id\":3},"
              "{\"name\":\"www.example.org.\",\"type\":\"AAAA\",\"ttl\":60,"
              "\"data\":\"2001:DB8:0::1\",\"enabled\":false},"
              "{\"name\":\"mail.example.org.\",\"type\":\"A\"},"
              "{\"name\":\"www.example.org.\",\"type\":\"MX\"}]}");
    struct hook_serial serial;
    struct rrset_list l;
    struct err e;

    (void)state;
    rrset_list_init(&l);
    assert_int_equal(hook_answer_records(root, ZONE, names, 1, &l, &e), 0);
    assert_int_equal(hook_answer_serial(root, &serial, &e), 0);
    assert_true(serial.has && serial.serial == 7);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.sets[1].values[0].data, "2001:db8::1");
    assert_false(l.sets[1].values[0].enabled);
    rrset_list_fini(&l);
    cJSON_Delete(root);
}

static void test_errors_of_its_own(void **state)
{
    static const struct {
        const char *text;
        bool own;
        enum err_code code;
        const char *message;
    } cases[] = {
        {"{\"version\":1,\"error\":{\"message\":\"no\"}}", true, ERR_RETRY,
         "no"},
        {"{\"version\":1,\"error\":{\"code\":\"auth\",\"message\":\"n\\no\"}}",
         true, ERR_AUTH, "n?o"},
        {"{\"version\":1,\"error\":{\"code\":\"x\",\"message\":\"no\"}}", false,
         ERR_RETRY, "error.code: accepted: "},
        {"{\"version\":1,\"error\":true}", false, ERR_RETRY, "error: accepted"},
        {"{\"version\":\"1\"}", false, ERR_RETRY, "version: accepted: 1"},
        {"{\"version\":1", false, ERR_RETRY, "not JSON at byte"},
        {"", false, ERR_RETRY, "empty"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cJSON *root;
        struct err e;
        bool own;

        assert_int_equal(hook_answer_parse(cases[i].text, strlen(cases[i].text),
                                           &root, &own, &e),
                         -1);
        assert_null(root);
        assert_int_equal(own, cases[i].own);
        assert_int_equal(e.code, cases[i].code);
        assert_non_null(strstr(e.msg, cases[i].message));
    }
}

static void test_results(void **state)
{
    cJSON *root = parse("{\"version\":1,\"results\":[{\"state\":\"done\"},"
                        "{\"state\":\"failed\",\"code\":\"auth\","
                        "\"message\":\"no\"},{\"state\":\"unknown\"}]}");
    struct change_result r[4];
    struct err e;

    (void)state;
    memset(r, 0, sizeof r);
    assert_int_equal(hook_answer_results(root, 3, r, &e), 0);
    assert_int_equal(r[0].state, CHANGE_DONE);
    assert_int_equal(r[1].err.code, ERR_AUTH);
    assert_string_equal(r[1].err.msg, "no");
    assert_int_equal(r[2].err.code, ERR_UNKNOWN);
    assert_int_equal(hook_answer_results(root, 4, r, &e), -1);
    assert_non_null(strstr(e.msg, "results: 3 of them; accepted: 4"));
    cJSON_Delete(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_command),
        cmocka_unit_test(test_sections_that_are_wrong),
        cmocka_unit_test_setup_teardown(test_what_is_so_needs_no_request, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_set_as_a_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_value_that_is_not_held, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_text_with_a_nul_is_refused,
                                        setup, teardown),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_errors_of_its_own),
        cmocka_unit_test(test_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
