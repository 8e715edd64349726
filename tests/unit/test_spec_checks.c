/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"

/* Checks: every kind, shorthand, URL and member; defaults by kind. */

#define CHECKS(list)                                                           \
    "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":" list "}]}"

static const char *const disk[] = {"disk"};

static struct spec *read_check(const char *check)
{
    char text[600];

    (void)snprintf(text, sizeof text, CHECKS("%s"), check);
    return help_good(&help_www, text);
}

static void refuse(const struct spec_context *ctx, const char *check,
                   const char *part)
{
    char text[600];

    (void)snprintf(text, sizeof text, CHECKS("%s"), check);
    help_bad(ctx, text, ERR_INPUT, part);
}

static void test_shorthands(void **state)
{
    static const struct {
        const char *text;
        enum spec_check_kind kind;
        unsigned port;
        const char *want; /* for people */
        int64_t timeout_ms;
    } all[] = {
        {"443", SPEC_CHECK_TCP, 443, "tcp:443", 2000},
        {"\"443\"", SPEC_CHECK_TCP, 443, "tcp:443", 2000},
        {"\"tcp:443@2001:DB8::1\"", SPEC_CHECK_TCP, 443, "tcp:443@2001:db8::1",
         2000},
        {"\"tls:8443\"", SPEC_CHECK_TLS, 8443, "tls:8443", 5000},
        {"\"http:8080\"", SPEC_CHECK_HTTP, 8080, "http:8080", 5000},
        {"\"http:8080/a@b?c\"", SPEC_CHECK_HTTP, 8080, "http:8080/a@b?c", 5000},
        {"\"https:443/a@192.0.2.7\"", SPEC_CHECK_HTTPS, 443,
         "https:443/a@192.0.2.7", 5000},
        {"\"http://WWW.example.org\"", SPEC_CHECK_HTTP, 80,
         "http://www.example.org/", 5000},
        {"\"https://www.example.org:8443?x=1\"", SPEC_CHECK_HTTPS, 8443,
         "https://www.example.org:8443/?x=1", 5000},
        {"\"icmp\"", SPEC_CHECK_ICMP, 0, "icmp", 2000},
        {"\"icmp@192.0.2.9\"", SPEC_CHECK_ICMP, 0, "icmp@192.0.2.9", 2000},
        {"\"udp:53\"", SPEC_CHECK_UDP, 53, "udp:53", 5000},
        {"\"dns:53/Example.org/SOA\"", SPEC_CHECK_DNS, 53,
         "dns:53/example.org./SOA", 5000},
        {"\"smtp:25\"", SPEC_CHECK_SMTP, 25, "smtp:25", 5000},
        {"\"imap:143\"", SPEC_CHECK_IMAP, 143, "imap:143", 5000},
        {"\"pop3:110\"", SPEC_CHECK_POP3, 110, "pop3:110", 5000},
        {"\"ftp:21\"", SPEC_CHECK_FTP, 21, "ftp:21", 5000},
        {"\"ldap:389\"", SPEC_CHECK_LDAP, 389, "ldap:389", 5000},
        {"\"smtps:465\"", SPEC_CHECK_SMTPS, 465, "smtps:465", 5000},
        {"\"imaps:993\"", SPEC_CHECK_IMAPS, 993, "imaps:993", 5000},
        {"\"pop3s:995\"", SPEC_CHECK_POP3S, 995, "pop3s:995", 5000},
        {"\"ftps:990\"", SPEC_CHECK_FTPS, 990, "ftps:990", 5000},
        {"\"ldaps:636\"", SPEC_CHECK_LDAPS, 636, "ldaps:636", 5000},
        {"\"grpc:50051\"", SPEC_CHECK_GRPC, 50051, "grpc:50051", 5000},
        {"\"grpc:50051/a.B\"", SPEC_CHECK_GRPC, 50051, "grpc:50051/a.B", 5000},
        {"\"command:pg\"", SPEC_CHECK_COMMAND, 0, "command:pg", 5000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct spec *s = read_check(all[i].text);
        const struct spec_check *c = &s->checks[0];
        char text[200];

        assert_int_equal(s->nchecks, 1);
        assert_int_equal(c->kind, all[i].kind);
        assert_int_equal(c->port, all[i].port);
        assert_string_equal(spec_check_text(c, text, sizeof text), all[i].want);
        assert_int_equal(c->timeout_ms, all[i].timeout_ms);
        assert_int_equal(c->access_period_ms, 10000);
        assert_int_equal(c->retry_period_ms, 1000);
        assert_int_equal(c->required_success, 3);
        assert_int_equal(c->required_failure, 3);
        assert_null(c->name);
        assert_string_equal(c->pointer, "/records/0/check");
        help_round_trip(&help_www, s);
        spec_free(s);
    }
}

static void test_web_defaults(void **state)
{
    struct spec *s = read_check("\"https:443\"");
    const struct spec_check *c = &s->checks[0];
    const struct spec_dialog *d = spec_dialog_of(c);

    (void)state;
    assert_string_equal(d->path, "/");
    assert_string_equal(d->method, "GET");
    assert_true(c->verify);
    assert_null(d->host);
    assert_null(d->server_name);
    assert_int_equal(d->nstatus, 1);
    assert_int_equal(d->status[0].from, 200);
    assert_int_equal(d->status[0].to, 399);
    assert_int_equal(d->follow_redirects, 0);
    assert_true(spec_check_wants_host(c));
    assert_true(spec_check_is_local(c));
    spec_free(s);
}

static void test_object(void **state)
{
    struct spec *s = read_check(
        "{\"type\":\"https\",\"port\":8443,\"target\":\"2001:DB8::7\","
        "\"path\":\"/h\",\"host\":\"A.example.org.\",\"serverName\":\"b\","
        "\"verify\":false,\"method\":\"HEAD\",\"headers\":{\"B\":\"2\","
        "\"A\":\"1\"},\"status\":[200,\"204-206\"],\"body\":\"x\","
        "\"bodyMatch\":\"^y\",\"json\":{\"/a\":\"q\\\"\",\"/b\":1.50,"
        "\"/c\":null},\"minCertDays\":14,\"followRedirects\":\"2\","
        "\"timeout\":\"3s\",\"accessPeriod\":30,\"retryPeriod\":\"500ms\","
        "\"requiredSuccess\":1,\"requiredFailure\":2,\"vantage\":{\"need\":2},"
        "\"comment\":1}");
    const struct spec_check *c = &s->checks[0];
    const struct spec_dialog *d = spec_dialog_of(c);

    (void)state;
    assert_int_equal(c->port, 8443);
    assert_int_equal(c->target.family, 6);
    assert_string_equal(d->path, "/h");
    assert_string_equal(d->host, "a.example.org");
    assert_string_equal(d->server_name, "b");
    assert_false(c->verify);
    assert_string_equal(d->method, "HEAD");
    assert_int_equal(d->nheaders, 2);
    assert_string_equal(d->headers[0].name, "A");
    assert_string_equal(d->headers[1].value, "2");
    assert_int_equal(d->nstatus, 2);
    assert_int_equal(d->status[1].to, 206);
    assert_string_equal(d->body, "x");
    assert_string_equal(d->body_match, "^y");
    assert_int_equal(d->njson, 3);
    assert_string_equal(d->json[0].value, "\"q\\\"\"");
    assert_string_equal(d->json[1].value, "1.50");
    assert_string_equal(d->json[2].value, "null");
    assert_int_equal(d->min_cert_days, 14);
    assert_int_equal(d->follow_redirects, 2);
    assert_int_equal(c->timeout_ms, 3000);
    assert_int_equal(c->access_period_ms, 30000);
    assert_int_equal(c->retry_period_ms, 500);
    assert_int_equal(c->required_success, 1);
    assert_int_equal(c->required_failure, 2);
    assert_int_equal(c->vantage_need, 2);
    assert_false(spec_check_is_local(c));
    help_round_trip(&help_www, s);
    spec_free(s);
}

static void test_targets(void **state)
{
    struct spec *s =
        read_check("{\"port\":5432,\"targets\":[\"10.0.0.1\",\"10.0.0.2:5433\","
                   "\"2001:db8::1\",\"[2001:db8::2]:1\"],\"need\":3}");
    const struct spec_check *c = &s->checks[0];

    (void)state;
    assert_int_equal(c->ntargets, 4);
    assert_int_equal(c->need, 3);
    assert_int_equal(c->targets[0].port, 5432);
    assert_int_equal(c->targets[1].port, 5433);
    assert_int_equal(c->targets[2].port, 5432);
    assert_int_equal(c->targets[3].port, 1);
    assert_false(spec_check_is_local(c));
    spec_free(s);
    s = read_check("{\"type\":\"icmp\",\"targets\":[\"10.0.0.1\"]}");
    assert_int_equal(s->checks[0].need, 1);
    spec_free(s);
    refuse(&help_www, "{\"type\":\"icmp\",\"targets\":[\"10.0.0.1:1\"]}",
           "an address without port");
}

/* The shorthand in `type`, and a port of the protocol's own. */
static void test_type(void **state)
{
    static const struct {
        const char *text, *want;
    } all[] = {
        {"{\"type\":\"https://www.example.org/x\",\"timeout\":1}",
         "https://www.example.org/x"},
        {"{\"type\":\"tcp:25@192.0.2.9\"}", "tcp:25@192.0.2.9"},
        {"{\"type\":\"smtp\"}", "smtp:25"},
        {"{\"type\":\"ldaps\"}", "ldaps:636"},
        {"{\"type\":\"dns\",\"path\":\"/example.org/NS\"}",
         "dns:53/example.org./NS"},
        {"{\"type\":\"grpc\",\"port\":1,\"path\":\"/s\"}", "grpc:1/s"},
        {"{\"type\":\"command:pg\",\"target\":\"192.0.2.9\"}",
         "command:pg@192.0.2.9"},
        {"{\"port\":7}", "tcp:7"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct spec *s = read_check(all[i].text);
        char text[200];

        assert_string_equal(spec_check_text(&s->checks[0], text, sizeof text),
                            all[i].want);
        help_round_trip(&help_www, s);
        spec_free(s);
    }
    refuse(&help_www, "{\"type\":\"command\"}", "\"command:name\"");
    refuse(&help_www, "{\"type\":\"https://www.example.org/\",\"port\":1}",
           "said by the shorthand");
}

static void test_active(void **state)
{
    static const char *const active[] = {
        "{\"type\":\"udp\",\"port\":53,\"send\":\"\\u0001\"}",
        "{\"type\":\"http\",\"method\":\"PUT\"}",
        "{\"type\":\"http\",\"headers\":{\"Cookie\":\"a=b\"}}",
        "{\"type\":\"http\",\"headers\":{\"proxy-authorization\":\"x\"}}"};
    struct spec_context ctx = help_www;

    (void)state;
    for (size_t i = 0; i < sizeof active / sizeof active[0]; i++) {
        char text[300];

        refuse(&help_www, active[i], "needs allow-active = yes");
        ctx.allow_active = true;
        (void)snprintf(text, sizeof text, CHECKS("%s"), active[i]);
        spec_free(help_good(&ctx, text));
    }
    spec_free(read_check("{\"type\":\"http\",\"headers\":{\"Accept\":\"x\"}}"));
}

static void test_commands(void **state)
{
    struct spec_context ctx = help_www;

    (void)state;
    ctx.commands = disk;
    ctx.ncommands = 1;
    spec_free(help_good(&ctx, CHECKS("\"command:disk\"")));
    refuse(&ctx, "\"command:pg\"", "the command \"pg\" is not one that");
    refuse(&ctx, "\"command:disk -a\"", "found \"command:disk -a\"");
}

/* Own before apex before built-in, and the check's own before all. */
static void test_defaults(void **state)
{
    struct spec *apex = help_good(
        &help_apex, "{\"defaults\":{\"timeout\":4,\"requiredFailure\":7},"
                    "\"checks\":{\"web\":\"http:80/\",\"slow\":{\"port\":1,"
                    "\"timeout\":9}},\"vantage\":{\"need\":2}}");
    struct spec_context ctx = help_www;
    struct spec *s;

    (void)state;
    ctx.apex = apex;
    s = help_good(&ctx, "{\"defaults\":{\"requiredSuccess\":5,"
                        "\"requiredFailure\":6},\"records\":[{\"data\":"
                        "\"192.0.2.1\",\"check\":[\"web\",\"slow\",443]}]}");
    assert_int_equal(s->nchecks, 3);
    assert_string_equal(s->checks[0].name, "slow");
    assert_true(s->checks[0].from_apex);
    assert_int_equal(s->checks[0].timeout_ms, 9000);
    assert_string_equal(s->checks[1].name, "web");
    assert_int_equal(s->checks[1].timeout_ms, 4000);
    assert_int_equal(s->checks[1].required_success, 5);
    assert_int_equal(s->checks[1].required_failure, 6);
    assert_int_equal(s->checks[1].vantage_need, 2);
    assert_string_equal(s->checks[1].pointer, "/checks/web");
    assert_null(s->checks[2].name);
    assert_false(s->checks[2].from_apex);
    help_round_trip(&ctx, s);
    /* nothing of the apex spec is held on to */
    spec_free(apex);
    assert_string_equal(s->checks[1].name, "web");
    assert_string_equal(spec_dialog_of(&s->checks[1])->path, "/");
    spec_free(s);
}

static void test_wildcard(void **state)
{
    (void)state;
    spec_free(help_good(
        &help_www,
        "{\"records\":[{\"name\":\"*.www\",\"data\":\"192.0.2.1\","
        "\"check\":[443,\"http://www.example.org/\","
        "{\"type\":\"tls\",\"port\":443,\"serverName\":\"www\"}]}]}"));
    help_bad(&help_www,
             "{\"records\":[{\"name\":\"*.www\",\"data\":\"192.0.2.1\","
             "\"check\":\"imaps:993\"}]}",
             ERR_INPUT, "the wildcard *.www.example.org. gives no host");
}

/* Read to be run: equal checks in place are one; whoever names one, in
 * whatever way, still gets the same. */
static void test_joined(void **state)
{
    static const char text[] =
        "{\"checks\":{\"a\":\"443\",\"z\":\"tcp:443\"},"
        "\"records\":["
        "{\"data\":\"192.0.2.1\",\"check\":\"443\"},"
        "{\"data\":\"192.0.2.2\",\"check\":[\"80\",\"tcp:443\"]},"
        "{\"data\":\"192.0.2.3\",\"check\":\"a\"},"
        "{\"data\":\"192.0.2.4\",\"check\":\"z\"},"
        "{\"data\":\"192.0.2.5\",\"check\":[\"443\",\"http:80/x\"]},"
        "{\"data\":\"192.0.2.6\",\"check\":\"80\"}]}";
    struct spec_context run = {
        .owner = "www.example.org.", .zone = "example.org.", .to_run = true};
    struct spec *joined = NULL, *plain = help_good(&help_www, text);
    struct err e;

    (void)state;
    if (spec_parse_text(text, strlen(text), &run, &joined, &e) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(plain->nchecks, 8);
    assert_int_equal(joined->nchecks, 5); /* a, z, 443, 80, http */
    assert_string_equal(joined->checks[0].name, "a");
    assert_string_equal(joined->checks[1].name, "z");
    assert_string_equal(joined->checks[2].pointer, "/records/0/check");
    for (size_t i = 0; i < 6; i++) {
        const struct spec_record *x = &plain->sets[0].records[i];
        const struct spec_record *y = &joined->sets[0].records[i];

        assert_int_equal(x->nchecks, y->nchecks);
        for (size_t k = 0; k < x->nchecks; k++) {
            const struct spec_check *c = &plain->checks[x->checks[k]];
            const struct spec_check *d = &joined->checks[y->checks[k]];

            assert_true(spec_check_equal(c, d));
            help_same_text(c->name, d->name);
        }
    }
    assert_int_equal(joined->sets[0].records[0].checks[0],
                     joined->sets[0].records[4].checks[0]);
    spec_free(plain);
    spec_free(joined);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined),       cmocka_unit_test(test_shorthands),
        cmocka_unit_test(test_web_defaults), cmocka_unit_test(test_object),
        cmocka_unit_test(test_targets),      cmocka_unit_test(test_type),
        cmocka_unit_test(test_active),       cmocka_unit_test(test_commands),
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_wildcard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
