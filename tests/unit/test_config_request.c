#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/config.h"

/* Options of the environment, and configurations without a file. */

static const struct config_field panel_fields[] = {
    {"url", CONFIG_STR, true, false, NULL, "the API", "TCR_URL"},
    {"token", CONFIG_STR, false, false, NULL, "secret", "TCR_OLD TCR_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL, "file", "TCR_TOKEN_FILE"},
    {"timeout", CONFIG_INT, false, false, "30", "seconds", "TCR_TIMEOUT"},
    {0},
};
static const struct config_field plain_fields[] = {
    {"file", CONFIG_STR, true, false, NULL, "path", NULL},
    {0},
};
static const struct config_schema schemas[] = {
    {"panel", panel_fields}, {"plain", plain_fields}, {NULL, NULL}};

static char scratch[] = "/tmp/test_config_request.XXXXXX";

static void set(const char *name, const char *value)
{
    if (value != NULL)
        assert_int_equal(setenv(name, value, 1), 0);
    else
        assert_int_equal(unsetenv(name), 0);
}

static int setup(void **state)
{
    static const char *const names[] = {"TCR_URL", "TCR_OLD", "TCR_TOKEN",
                                        "TCR_TOKEN_FILE", "TCR_TIMEOUT"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        set(names[i], NULL);
    return 0;
}

static void write_conf(const char *text)
{
    FILE *f = fopen("t.conf", "we");

    assert_non_null(f);
    assert_int_equal(fchmod(fileno(f), 0600), 0);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static struct config *load(const struct config_request *req)
{
    struct config *c = NULL;
    struct err e = {0};

    if (config_load_for(req, schemas, &c, &e) != 0)
        fail_msg("%s", e.msg);
    return c;
}

static void refuse(const struct config_request *req, const char *want)
{
    struct config *c = NULL;
    struct err e = {0};

    assert_int_equal(config_load_for(req, schemas, &c, &e), -1);
    assert_null(c);
    assert_string_equal(e.msg, want);
    assert_int_equal(e.code, ERR_INPUT);
}

static const char *option(const struct config *c, const char *name)
{
    return config_option_get(c->zones[0].provider, panel_fields, name);
}

static void expect_token(const struct config *c, const char *want)
{
    struct err e = {0};
    char *token;

    if (config_secret_get(c->zones[0].provider, panel_fields, "token", &token,
                          &e) != 0)
        fail_msg("%s", e.msg);
    assert_string_equal(token, want);
    config_secret_free(token);
}

/* No file at all: everything comes from the environment. */
static void test_environment(void **state)
{
    const struct config_request req = {NULL, "panel", "Example.org", NULL};
    struct config *c;

    (void)state;
    refuse(&req, "environment: provider panel: url is missing, which type "
                 "panel needs (the API); the environment may give it: "
                 "TCR_URL");
    set("TCR_URL", "https://h/");
    set("TCR_TOKEN", "second");
    set("TCR_TIMEOUT", "x");
    refuse(&req, "environment: provider panel: the environment's TCR_TIMEOUT: "
                 "\"x\"; accepted: a whole number from 0 to 1000000000000");
    set("TCR_TIMEOUT", "");
    c = load(&req);
    assert_int_equal(c->nzones, 1);
    assert_string_equal(c->zones[0].name, "example.org.");
    assert_string_equal(c->zones[0].provider->type, "panel");
    assert_string_equal(option(c, "url"), "https://h/");
    assert_string_equal(option(c, "timeout"), "30");
    assert_string_equal(config_option_find(c->zones[0].provider, "url")->env,
                        "TCR_URL");
    expect_token(c, "second");
    config_free(c);
    set("TCR_OLD", "first");
    c = load(&req);
    expect_token(c, "first");
    config_free(c);
}

/* The file rules; a token-file there keeps the environment's token out. */
static void test_beside_file(void **state)
{
    const struct config_request req = {"t.conf", "p", "example.org",
                                       "127.0.0.1:5300, [::1]"};
    struct config *c;
    FILE *f = fopen("token", "we");

    (void)state;
    assert_non_null(f);
    assert_int_equal(fchmod(fileno(f), 0600), 0);
    assert_true(fputs("from file\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    write_conf("agent { state = \"/x/state.db\" }\n"
               "provider p { type = panel url = \"https://own/\"\n"
               " token-file = \"./token\" }\n");
    set("TCR_URL", "https://h/");
    set("TCR_TOKEN", "second");
    set("TCR_TIMEOUT", "5");
    c = load(&req);
    assert_string_equal(c->state, "/x/state.db");
    assert_string_equal(option(c, "url"), "https://own/");
    assert_string_equal(option(c, "timeout"), "5");
    assert_int_equal(config_option_find(c->zones[0].provider, "url")->line, 2);
    expect_token(c, "from file");
    assert_int_equal(c->zones[0].nservers, 2);
    assert_int_equal(c->zones[0].servers[0].port, 5300);
    assert_int_equal(c->zones[0].servers[1].port, 53);
    config_free(c);
}

/* The zone's section is taken where it fits, and no other zone with it. */
static void test_section(void **state)
{
    struct config_request req = {"t.conf", NULL, "example.org", NULL};
    struct config *c;

    (void)state;
    write_conf("provider p { type = plain file = \"/f\" }\n"
               "provider q { type = plain file = \"/g\" }\n"
               "zone a { provider = p }\n"
               "zone \"example.org\" { provider = q create = yes }\n");
    c = load(&req);
    assert_int_equal(c->nzones, 1);
    assert_string_equal(c->zones[0].provider->name, "q");
    assert_true(c->zones[0].create);
    config_free(c);
    req.provider = "p";
    c = load(&req);
    assert_string_equal(c->zones[0].provider->name, "p");
    assert_false(c->zones[0].create);
    config_free(c);
    req.zone = "example.net";
    req.provider = NULL;
    refuse(&req, "--zone example.net. has no section in t.conf; accepted: a "
                 "zone that has, or --provider with it");
    req.provider = "nobody";
    refuse(&req, "--provider nobody; accepted: p, q, panel, plain");
    req.provider = "p";
    req.servers = "127.0.0.1,x";
    refuse(&req, "--servers: \"x\" is not an address; accepted: 192.0.2.1, "
                 "192.0.2.1:53, 2001:db8::1 or [2001:db8::1]:53");
    req.servers = NULL;
    req.zone = "*.example.net";
    refuse(&req, "--zone *.example.net: a wildcard is no zone");
}

static int into_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) != NULL && chdir(scratch) == 0 ? 0 : -1;
}

static int out_of_scratch(void **state)
{
    (void)state;
    (void)unlink("t.conf");
    (void)unlink("token");
    return rmdir(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_environment, setup),
        cmocka_unit_test_setup(test_beside_file, setup),
        cmocka_unit_test_setup(test_section, setup),
    };

    return cmocka_run_group_tests(tests, into_scratch, out_of_scratch);
}
