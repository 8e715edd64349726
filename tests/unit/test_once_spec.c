#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "agent/base/mem.h"
#include "agent/cli/once_records.h"

/* A record of the command line as the text of a spec. */

static struct config_zone zone = {.name = "example.org."};
static struct config cfg = {
    .zones = &zone, .nzones = 1, .max_targets = 200, .min_period_ms = 500};

static int setup(void **state)
{
    (void)state;
    cfg.arena = arena_new();
    zone.allow_active = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(cfg.arena);
    return 0;
}

static struct cli_record row(const char *targets, const char *check)
{
    const struct cli_record r = {.targets = targets,
                                 .check = check,
                                 .all_down = "none",
                                 .ttl = "600",
                                 .timeout = "10s"};
    return r;
}

static void expect(const struct cli_record *r, const char *want)
{
    struct err e = {0};
    const char *got = once_records_spec(r, "www.example.org.", &cfg, &e);

    if (got == NULL)
        fail_msg("%s", e.msg);
    assert_string_equal(got, want);
}

static void refuse(const struct cli_record *r, const char *start)
{
    struct err e = {0};

    assert_null(once_records_spec(r, "www.example.org.", &cfg, &e));
    assert_int_equal(e.code, ERR_INPUT);
    if (strncmp(e.msg, start, strlen(start)) != 0)
        fail_msg("%s", e.msg);
}

#define HEAD                                                                   \
    "{\"defaults\":{\"ttl\":\"600\",\"timeout\":\"10s\","                      \
    "\"requiredSuccess\":1,\"requiredFailure\":1},\"allDown\":\"none\","

static void test_http(void **state)
{
    struct cli_record r = row("192.0.2.1, 2001:db8::1", "http:80/");

    (void)state;
    expect(&r, HEAD "\"records\":[{\"data\":\"192.0.2.1\",\"check\":{"
                    "\"type\":\"http\",\"port\":80,\"path\":\"/\","
                    "\"status\":\"200\"}},{\"data\":\"2001:db8::1\",\"check\":"
                    "{\"type\":\"http\",\"port\":80,\"path\":\"/\","
                    "\"status\":\"200\"}}]}");
    r = row("192.0.2.1", "https://h.example:8443/x?y=1");
    expect(&r, HEAD "\"records\":[{\"data\":\"192.0.2.1\",\"check\":{"
                    "\"type\":\"https\",\"port\":8443,\"path\":\"/x?y=1\","
                    "\"host\":\"h.example\",\"status\":\"200\"}}]}");
    r = row("192.0.2.1", "http:8080/@192.0.2.9");
    expect(&r, HEAD "\"records\":[{\"data\":\"192.0.2.1\",\"check\":{"
                    "\"type\":\"http\",\"port\":8080,\"path\":\"/\","
                    "\"target\":\"192.0.2.9\",\"status\":\"200\"}}]}");
}

/* Other kinds, and checks in JSON, stay as they are. */
static void test_as_it_is(void **state)
{
    struct cli_record r = row("192.0.2.1", "tcp:443");

    (void)state;
    r.backup = "192.0.2.3 192.0.2.4";
    expect(&r, HEAD "\"records\":[{\"data\":\"192.0.2.1\",\"check\":"
                    "\"tcp:443\"}],\"fallbackRecords\":[{\"data\":"
                    "\"192.0.2.3\"},{\"data\":\"192.0.2.4\"}]}");
    r = row("192.0.2.1", "{\"type\":\"http\",\"port\":80,\"status\":\"204\"}");
    expect(&r, HEAD "\"records\":[{\"data\":\"192.0.2.1\",\"check\":{"
                    "\"type\":\"http\",\"port\":80,\"status\":\"204\"}}]}");
    r = row("192.0.2.1", "[\"http:80/\",443]");
    expect(&r, HEAD "\"records\":[{\"data\":\"192.0.2.1\",\"check\":["
                    "\"http:80/\",443]}]}");
}

/* The option is named, not a JSON pointer. */
static void test_refused(void **state)
{
    struct cli_record r = row("192.0.2.1", "http:0/");

    (void)state;
    refuse(&r, "--check: found ");
    r = row("192.0.2.1.2", "443");
    refuse(&r, "--targets: ");
    r = row(" , ", "443");
    refuse(&r, "--targets: ");
    r = row("192.0.2.1", "443");
    r.backup = "nobody..";
    refuse(&r, "--backup: ");
    r.backup = NULL;
    r.ttl = "-1";
    refuse(&r, "--ttl: ");
    r.ttl = "600";
    r.timeout = "1h";
    refuse(&r, "--timeout: ");
    r.timeout = "10s";
    r.all_down = "all dead";
    refuse(&r, "--all-down: ");
    r = row("192.0.2.1", "command:nobody");
    refuse(&r, "--check: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_http, setup, teardown),
        cmocka_unit_test_setup_teardown(test_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
