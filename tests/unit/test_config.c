#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/config.h"
#include "agent/base/mem.h"

#define FIXTURES "tests/fixtures/config"

static const struct config_field ispconfig_fields[] = {
    {"url", CONFIG_STR, true, false, NULL, "address of the remote API"},
    {"user", CONFIG_STR, true, false, NULL, "remote user"},
    {"password", CONFIG_STR, false, false, NULL, "its password"},
    {"password-file", CONFIG_STR, false, false, NULL, "file with it"},
    {"ca-file", CONFIG_STR, false, false, NULL, "certificate to trust"},
    {"pin-sha256", CONFIG_STR, false, false, NULL, "key to trust"},
    {"timeout", CONFIG_INT, false, false, "30", "seconds for a call"},
    {"verbose", CONFIG_BOOL, false, false, "no", "say more"},
    {NULL, CONFIG_STR, false, false, NULL, NULL},
};
static const struct config_field zonefile_fields[] = {
    {"file", CONFIG_STR, true, false, NULL, "path of the master file"},
    {"check", CONFIG_STR, false, true, NULL, "command that checks it"},
    {"reload", CONFIG_STR, false, true, NULL, "command that loads it"},
    {"timeout", CONFIG_INT, false, false, "10", "seconds for a command"},
    {NULL, CONFIG_STR, false, false, NULL, NULL},
};
static const struct config_schema schemas[] = {
    {"ispconfig", ispconfig_fields},
    {"zonefile", zonefile_fields},
    {NULL, NULL},
};

static char start[4096]; /* the directory that the test began in */
static char scratch[] = "/tmp/test_config.XXXXXX";

static struct config *load_good(const char *file)
{
    struct config *c = NULL;
    struct err e = {0};

    if (config_load(file, schemas, &c, &e) != 0)
        fail_msg("%s", e.msg);
    assert_non_null(c);
    assert_string_equal(c->file, file);
    return c;
}

static void expect_error(const char *file, const char *code, const char *msg)
{
    struct config *c = NULL;
    struct err e = {0};

    assert_int_equal(config_load(file, schemas, &c, &e), -1);
    assert_null(c);
    assert_string_equal(e.msg, msg);
    assert_string_equal(err_code_name(e.code), code);
}

/* Writes a file of mode 0600 into the scratch directory. */
static void write_file(const char *name, const void *text, size_t len)
{
    int fd;

    (void)unlink(name);
    fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    assert_int_equal(close(fd), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void into(const char *dir)
{
    assert_int_equal(chdir(start), 0);
    if (chdir(dir) != 0)
        fail_msg("%s: run the tests in the repository's root", dir);
}

/* Every file of bad/ says in its first line what must come:
 * "# expect CODE: MESSAGE". */
static void check_bad(const char *name)
{
    char line[2048], *code, *msg;
    FILE *f = fopen(name, "re");

    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(fclose(f), 0);
    line[strcspn(line, "\n")] = '\0';
    assert_int_equal(strncmp(line, "# expect ", 9), 0);
    code = line + 9;
    msg = strstr(code, ": ");
    assert_non_null(msg);
    *msg = '\0';
    expect_error(name, code, msg + 2);
}

static void test_bad(void **state)
{
    const struct dirent *entry;
    size_t n = 0;
    DIR *d;

    (void)state;
    into(FIXTURES "/bad");
    d = opendir(".");
    assert_non_null(d);
    while ((entry = readdir(d)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        check_bad(entry->d_name);
        n++;
    }
    assert_int_equal(closedir(d), 0);
    assert_true(n >= 80);
}

static void expect_addr(const struct addr *a, const char *text)
{
    char out[ADDR_TEXT_SIZE];

    assert_string_equal(addr_format_port(a, out), text);
}

static void check_design_agent(const struct config *c)
{
    struct addr a;

    assert_string_equal(c->state, "/var/lib/dnsfailover/state.db");
    assert_string_equal(c->dc, "dc1");
    assert_int_equal(c->nanchors, 2);
    expect_addr(&c->anchors[0], "198.51.100.53:53");
    expect_addr(&c->anchors[1], "[2001:db8::53]:53");
    assert_int_equal(c->nallow_targets, 2);
    assert_int_equal(addr_parse("10.1.2.3", &a), 0);
    assert_true(cidr_contains(&c->allow_targets[0], &a));
    assert_false(cidr_contains(&c->allow_targets[1], &a));
    assert_string_equal(c->notify, "/usr/local/sbin/on-failover");
    assert_int_equal(c->max_targets, 200);
    assert_int_equal(c->min_period_ms, 500);
    assert_int_equal(c->nresolvers, 1);
    expect_addr(&c->resolvers[0], "127.0.0.1:53");
    assert_false(c->trust_ad);
}

static void check_design_providers(const struct config *c)
{
    const struct config_provider *p = &c->providers[0];

    assert_int_equal(c->nproviders, 2);
    assert_string_equal(p->name, "panel");
    assert_string_equal(p->type, "ispconfig");
    assert_int_equal(p->line, 10);
    assert_int_equal(p->noptions, 5);
    assert_string_equal(config_option_get(p, ispconfig_fields, "user"),
                        "failover");
    assert_string_equal(config_option_get(p, ispconfig_fields, "timeout"),
                        "30");
    assert_string_equal(config_option_get(p, ispconfig_fields, "verbose"),
                        "yes");
    assert_null(config_option_get(p, ispconfig_fields, "ca-file"));
    assert_null(config_option_get(p, ispconfig_fields, "no-such-option"));
    p = &c->providers[1];
    assert_string_equal(p->type, "zonefile");
    assert_int_equal(p->line, 18);
    assert_string_equal(config_option_get(p, zonefile_fields, "reload"),
                        "rndc reload {zone}");
    assert_string_equal(config_option_get(p, zonefile_fields, "timeout"), "10");
}

static void test_design(void **state)
{
    const struct config_zone *z;
    struct config *c;

    (void)state;
    into(FIXTURES "/good");
    c = load_good("design.conf");
    check_design_agent(c);
    check_design_providers(c);
    assert_int_equal(c->nzones, 1);
    z = &c->zones[0];
    assert_string_equal(z->name, "example.org.");
    assert_ptr_equal(z->provider, &c->providers[0]);
    assert_int_equal(z->discover, DISCOVER_PROVIDER);
    assert_int_equal(z->nnames, 2);
    assert_string_equal(z->names[0], "www.example.org.");
    assert_string_equal(z->names[1], "cache.example.org.");
    assert_int_equal(z->nservers, 4);
    expect_addr(&z->servers[0], "192.0.2.53:53");
    expect_addr(&z->servers[1], "192.0.2.54:5353");
    expect_addr(&z->servers[2], "[2001:db8::53]:5353");
    expect_addr(&z->servers[3], "[2001:db8::54]:53");
    assert_false(z->observe || z->create || z->cross_names || z->allow_active);
    assert_int_equal(z->line, 25);
    config_free(c);
}

static void test_small(void **state)
{
    static const char *const names[] = {
        "example.net.", "www.example.net.", "a.b.example.net.",
        "*.wild.example.net.", "late.example.net."};
    const struct config_zone *z;
    struct config *c;

    (void)state;
    into(FIXTURES "/good");
    c = load_good("small.conf");
    assert_string_equal(c->state, "/var/lib/dnsfailover/state.db");
    assert_null(c->dc);
    assert_null(c->notify);
    assert_int_equal(c->nresolvers, 0);
    z = &c->zones[0];
    assert_int_equal(z->line, 3);
    assert_string_equal(z->name, "example.net.");
    assert_int_equal(z->discover, DISCOVER_NAMES);
    assert_int_equal(z->nnames, 5);
    for (size_t i = 0; i < z->nnames; i++)
        assert_string_equal(z->names[i], names[i]);
    assert_int_equal(z->nservers, 0);
    assert_true(z->observe && z->create && z->cross_names);
    assert_false(z->allow_active);
    assert_int_equal(c->providers[0].line, 18);
    assert_string_equal(
        config_option_get(z->provider, zonefile_fields, "check"),
        "awk \"{print $1 ${ x}\" {file}");
    assert_string_equal(config_option_get(z->provider, zonefile_fields, "file"),
                        "/var/lib/bind/db.x");
    config_free(c);
}

static void test_more_good(void **state)
{
    struct config *c;

    (void)state;
    into(FIXTURES "/good");
    c = load_good("all-zones.conf");
    assert_true(c->trust_ad);
    assert_int_equal(c->nresolvers, 2);
    expect_addr(&c->resolvers[1], "[::1]:53");
    assert_int_equal(c->max_targets, 1000);
    assert_int_equal(c->min_period_ms, 2000);
    assert_int_equal(c->allow_targets[0].bits, 32);
    assert_int_equal(c->nzones, 2);
    assert_string_equal(c->zones[0].name, "*");
    assert_string_equal(c->zones[1].name, "special.example.");
    assert_int_equal(c->zones[1].discover, DISCOVER_AXFR);
    config_free(c);
    c = load_good("windows.conf");
    assert_string_equal(c->zones[0].name, "example.org.");
    assert_int_equal(c->zones[0].line, 6);
    config_free(c);
}

static void test_files(void **state)
{
    const size_t big = 1024 * 1024;
    static const unsigned char garbage[] = "zone \"\x7f"
                                           "ELF\x02\x01\0\0";
    char *text = mem_alloc(big + 1);

    (void)state;
    into(scratch);
    expect_error("absent.conf", "notFound",
                 "absent.conf: No such file or directory");
    expect_error(".", "input", ".: is a directory; accepted: a file");
    assert_int_equal(mkfifo("pipe.conf", 0600), 0);
    expect_error("pipe.conf", "input",
                 "pipe.conf: is not a file; accepted: a file");
    write_text("f.conf", "");
    expect_error("f.conf", "input",
                 "f.conf: no zone is configured; accepted: at least one "
                 "section zone \"NAME\" { provider = … }");
    write_file("f.conf", garbage, sizeof garbage);
    expect_error("f.conf", "input",
                 "f.conf:1: byte 0x7f; accepted: a text file");
    write_file("f.conf", "# a\n\nagent { dc = a\0b }\n", 22);
    expect_error("f.conf", "input",
                 "f.conf:3: byte 0x00; accepted: a text file");
    /* The limit itself is fine, and one more byte is not. */
    memset(text, ' ', big + 1);
    memcpy(text,
           "provider f { type = zonefile file = \"/x\" }\nzone a "
           "{ provider = f }\n",
           66);
    write_file("f.conf", text, big);
    config_free(load_good("f.conf"));
    write_file("f.conf", text, big + 1);
    expect_error("f.conf", "input",
                 "f.conf: larger than 1 MiB; accepted: up to 1 MiB");
    free(text);
}

/* After an error inside a string or a section the next file is read as if
 * nothing had been: libconfuse's scanner keeps state. */
static void test_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        into(FIXTURES "/bad");
        check_bad("octal-big.conf");
        check_bad("ends-early.conf");
        check_bad("list-no-comma.conf");
        into(FIXTURES "/good");
        config_free(load_good("design.conf"));
    }
}

static void test_unreadable(void **state)
{
    bool root = geteuid() == 0;
    struct config *c;
    struct err e = {0};
    int rc;

    (void)state;
    into(scratch);
    write_text("p.conf", "agent { }\n");
    assert_int_equal(chmod("p.conf", 0), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    rc = config_load("p.conf", schemas, &c, &e);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, -1);
    assert_string_equal(e.msg, "p.conf: Permission denied");
    assert_int_equal(e.code, ERR_AUTH);
}

static const char with_password[] =
    "provider panel {\n  type = ispconfig\n  url = \"https://h/\"\n"
    "  user = u\n  password = \"pass word\"\n}\n"
    "zone a { provider = panel }\n";

static void test_password_mode(void **state)
{
    static const mode_t bad[] = {0640, 0604, 0644, 0620, 0602, 0666};
    struct config *c;
    char *secret;

    (void)state;
    into(scratch);
    write_text("p.conf", with_password);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(chmod("p.conf", bad[i]), 0);
        expect_error("p.conf", "auth",
                     "p.conf:5: provider panel: password is written here and "
                     "others can read the file; accepted: password-file, or "
                     "chmod 600 p.conf");
    }
    assert_int_equal(chmod("p.conf", 0400), 0);
    c = load_good("p.conf");
    assert_int_equal(config_secret_get(&c->providers[0], ispconfig_fields,
                                       "password", &secret, NULL),
                     0);
    assert_string_equal(secret, "pass word");
    config_secret_free(secret);
    config_secret_free(NULL);
    config_free(c);
    config_free(NULL);
}

static void test_secret_blank(void **state)
{
    static const struct {
        const char *text, *secret, *want;
    } rows[] = {
        {"bad key s3cret-key, try another", "s3cret-key",
         "bad key **********, try another"},
        {"s3cret-keys3cret-key", "s3cret-key", "********************"},
        {"key \"s3cret…\" is bad", "s3cret-key", "key \"******…\" is bad"},
        {"to \"https://x/s3cret-\"", "s3cret-key", "to \"https://x/*******\""},
        {"of s3cr", "s3cret-key", "of ****"},
        {"of s3c", "s3cret-key", "of s3c"},
        {"s3cret words", "s3cret-key", "s3cret words"},
        {"ab ab", "ab", "** **"},
        {"aab", "ab", "a**"},
        {"text", "", "text"},
        {"text", NULL, "text"},
        {"", "s3cret-key", ""},
    };
    char text[80];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(text, sizeof text, "%s", rows[i].text);
        config_secret_blank(text, rows[i].secret);
        assert_string_equal(text, rows[i].want);
    }
}

static int get_secret(const char *option, const char *value, const char *env,
                      char **secret, struct err *e)
{
    const struct config_option o = {option, value};
    const struct config_provider p = {"panel", "ispconfig", &o, 1, 1};
    const struct config_field fields[] = {
        {.name = "password", .env = env}, {.name = "password-file"}, {0}};

    return config_secret_get(&p, fields, "password", secret, e);
}

static void expect_secret(const char *option, const char *value,
                          const char *env, const char *want)
{
    struct err e = {0};
    char *secret;

    if (get_secret(option, value, env, &secret, &e) != 0)
        fail_msg("%s", e.msg);
    assert_string_equal(secret, want);
    config_secret_free(secret);
}

static void expect_no_secret(const char *option, const char *value,
                             const char *env, enum err_code code,
                             const char *want)
{
    struct err e = {0};
    char *secret;

    assert_int_equal(get_secret(option, value, env, &secret, &e), -1);
    assert_null(secret);
    assert_string_equal(e.msg, want);
    assert_int_equal(e.code, code);
}

static void test_secret_file(void **state)
{
    (void)state;
    into(scratch);
    write_text("s", "first line \nsecond\n");
    expect_secret("password-file", "./s", "NO_ENV", "first line ");
    write_text("s", "crlf\r\n");
    expect_secret("password-file", "./s", NULL, "crlf");
    write_text("s", "no newline");
    expect_secret("password-file", "./s", NULL, "no newline");
    assert_int_equal(chmod("s", 0640), 0);
    expect_secret("password-file", "./s", NULL, "no newline");
    assert_int_equal(chmod("s", 0604), 0);
    expect_no_secret("password-file", "./s", NULL, ERR_AUTH,
                     "password-file: ./s: others can read it; "
                     "to keep it secret: chmod 600 ./s");
    expect_no_secret("password-file", "./absent", NULL, ERR_AUTH,
                     "password-file: ./absent: No such file "
                     "or directory");
    expect_no_secret("password-file", "./", NULL, ERR_AUTH,
                     "password-file: ./: is not a file");
    write_text("s", "\nsecond\n");
    expect_no_secret("password-file", "./s", NULL, ERR_AUTH,
                     "password-file: ./s: its first line is "
                     "empty");
    write_file("s", "a\0b\n", 4);
    expect_no_secret("password-file", "./s", NULL, ERR_AUTH,
                     "password-file: ./s: holds a NUL byte");
}

static void test_secret_length(void **state)
{
    char text[5000];

    (void)state;
    into(scratch);
    memset(text, 'x', sizeof text);
    text[4094] = '\n';
    write_file("s", text, sizeof text);
    text[4094] = '\0';
    expect_secret("password-file", "./s", NULL, text);
    text[4094] = 'x';
    write_file("s", text, sizeof text);
    expect_no_secret("password-file", "./s", NULL, ERR_AUTH,
                     "password-file: ./s: its first line is "
                     "longer than 4094 bytes");
}

static void test_secret_credential(void **state)
{
    char dir[4096];

    (void)state;
    into(scratch);
    assert_non_null(getcwd(dir, sizeof dir));
    write_text("cred", "from systemd\n");
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
    expect_no_secret("password-file", "cred", NULL, ERR_NOTFOUND,
                     "password-file: \"cred\" names a systemd "
                     "credential, and CREDENTIALS_DIRECTORY is not set; "
                     "accepted: a path, or LoadCredential= in the unit");
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", dir, 1), 0);
    expect_secret("password-file", "cred", NULL, "from systemd");
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

static void test_secret_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("TEST_CONFIG_SECRET", "from env", 1), 0);
    expect_secret("user", "u", "TEST_CONFIG_SECRET", "from env");
    expect_secret("password", "own", "TEST_CONFIG_SECRET", "own");
    assert_int_equal(setenv("TEST_CONFIG_SECRET", "", 1), 0);
    expect_no_secret("user", "u", "TEST_CONFIG_SECRET", ERR_NOTFOUND,
                     "no password; accepted: password-file, "
                     "password, or the environment's TEST_CONFIG_SECRET");
    expect_no_secret("user", "u", NULL, ERR_NOTFOUND,
                     "no password; accepted: password-file, "
                     "password");
    assert_int_equal(unsetenv("TEST_CONFIG_SECRET"), 0);
}

static void test_no_error_wanted(void **state)
{
    struct config *c;

    (void)state;
    into(FIXTURES "/bad");
    assert_int_equal(config_load("no-zone.conf", schemas, &c, NULL), -1);
    assert_int_equal(config_load("unknown-option.conf", schemas, &c, NULL), -1);
    assert_int_equal(config_load("absent.conf", schemas, &c, NULL), -1);
}

static int set_up(void **state)
{
    (void)state;
    return getcwd(start, sizeof start) == NULL || mkdtemp(scratch) == NULL;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"f.conf", "p.conf", "pipe.conf", "s",
                                        "cred"};

    (void)state;
    into(scratch);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        (void)unlink(files[i]);
    assert_int_equal(chdir(start), 0);
    return rmdir(scratch);
}

/* By name, each with a provider of its own. */
static void test_views(void **state)
{
    const struct config_zone *z;
    struct config *c;

    (void)state;
    into(FIXTURES "/good");
    c = load_good("views.conf");
    z = &c->zones[0];
    assert_int_equal(z->nviews, 2);
    assert_string_equal(z->views[0].name, "eu");
    assert_string_equal(z->views[0].provider->name, "eu");
    assert_string_equal(z->views[1].name, "us");
    assert_string_equal(z->views[1].provider->name, "us");
    assert_int_equal(z->views[1].nservers, 2);
    assert_int_equal(z->views[1].servers[1].port, 5353);
    assert_true(config_zone_uses(z, &c->providers[2]));
    config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_design),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_more_good),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_password_mode),
        cmocka_unit_test(test_secret_file),
        cmocka_unit_test(test_secret_length),
        cmocka_unit_test(test_secret_credential),
        cmocka_unit_test(test_secret_environment),
        cmocka_unit_test(test_secret_blank),
        cmocka_unit_test(test_no_error_wanted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
