#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/ispconfig/ispconfig.h"
#include "tests/unit/soap_captures.h"

static const struct isp_zone zone = {.id = "1",
                                     .server_id = "1",
                                     .origin = "example.org.",
                                     .name = "example.org.",
                                     .serial = 2026113001,
                                     .ttl_s = 3600};

/* ---- names ------------------------------------------------------------------
 */

static void test_names(void **state)
{
    static const char *const cases[][2] = {
        {"www", "www.example.org."},
        {"www.example.org.", "www.example.org."},
        {"WWW.Example.ORG.", "www.example.org."},
        {"", "example.org."},
        {"@", "example.org."},
        {"*", "*.example.org."},
        {"www.example.org", "www.example.org.example.org."},
        {"elsewhere.example.", "elsewhere.example."},
    };
    char out[NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(isp_name_of(cases[i][0], &zone, out), 0);
        assert_string_equal(out, cases[i][1]);
    }
    assert_int_equal(isp_name_of("a b", &zone, out), -1);
}

static void test_variants(void **state)
{
    char v[4][NAME_SIZE];

    (void)state;
    assert_int_equal(isp_name_variants("www.example.org.", &zone, v), 2);
    assert_string_equal(v[0], "www.example.org.");
    assert_string_equal(v[1], "www");
    assert_int_equal(isp_name_variants("example.org.", &zone, v), 3);
    assert_string_equal(v[0], "example.org.");
    assert_string_equal(v[1], "");
    assert_string_equal(v[2], "@");
    assert_int_equal(isp_name_variants("*.example.org.", &zone, v), 2);
    assert_string_equal(v[1], "*");
    /* the mistake is found where DNS has it */
    assert_int_equal(
        isp_name_variants("www.example.org.example.org.", &zone, v), 2);
    assert_string_equal(v[1], "www.example.org");
}

/* Case A8: most labels win, on label borders. */
static void test_zone_of_a_name(void **state)
{
    static const char *const zones[] = {"test.", "example.test.", "ample.test.",
                                        "eu.example.test.",
                                        "longexample.test."};
    static const struct {
        const char *name;
        long want;
    } cases[] = {
        {"www.eu.example.test", 3}, {"www-eu.example.test", 1},
        {"x.longexample.test", 4},  {"EU.Example.Test.", 3},
        {"a.b.example.test", 1},    {"nope.invalid", -1},
    };
    char name[NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(name_canon(cases[i].name, name, NULL), 0);
        assert_int_equal(name_find_zone(name, zones, 5), cases[i].want);
    }
}

/* ---- rows -------------------------------------------------------------------
 */

static struct soap_answer load(struct arena *a, const char *name)
{
    char *path = mem_printf("tests/fixtures/ispconfig/%s", name);
    size_t len = 0;
    char *text = captures_read(path, &len);
    struct soap_answer out;
    struct err e = {0};

    assert_non_null(text);
    if (soap_parse(a, text, len, ISPCONFIG_MAX_ANSWER, &out, &e) != 0)
        fail_msg("%s", e.msg);
    free(text);
    free(path);
    return out;
}

static void test_rows(void **state)
{
    struct arena *a = arena_new();
    struct soap_answer s = load(a, "records.xml");
    const struct soap_value *items;
    struct isp_row row;
    struct err e;
    size_t n;

    (void)state;
    assert_true(isp_records_of(&s.value, &items, &n));
    assert_int_equal(n, 3);
    assert_int_equal(isp_row_read(&items[0], &zone, a, &row, &e), 1);
    assert_string_equal(row.id, "5");
    assert_string_equal(row.name, "www.example.org.");
    assert_int_equal(row.type, RR_A);
    assert_int_equal(row.ttl_s, 300);
    assert_true(row.active);
    assert_string_equal(isp_row_get(&row, "sys_perm_user"), "riud");
    assert_int_equal(isp_row_read(&items[1], &zone, a, &row, &e), 1);
    assert_string_equal(row.data, "2001:db8::1");
    /* for writing: as stored */
    assert_string_equal(isp_row_get(&row, "data"), "2001:DB8:0:0::1");
    assert_string_equal(isp_row_get(&row, "name"), "WWW.Example.org.");
    assert_null(isp_row_get(&row, "stamp"));
    assert_false(row.active);
    assert_int_equal(isp_row_read(&items[2], &zone, a, &row, &e), 0);
    /* one record is as good as a list of one */
    s = load(a, "record.xml");
    assert_true(isp_records_of(&s.value, &items, &n));
    assert_int_equal(n, 1);
    s = load(a, "empty-list.xml");
    assert_true(isp_records_of(&s.value, &items, &n));
    assert_int_equal(n, 0);
    s = load(a, "missing.xml");
    assert_false(isp_records_of(&s.value, &items, &n));
    s = load(a, "logout.xml");
    assert_false(isp_records_of(&s.value, &items, &n));
    arena_free(a);
}

/* A row of one text for each of these columns. */
static int read_row(struct arena *a, const char *id, const char *of_zone,
                    const char *type, const char *data, struct isp_row *row)
{
    const char *keys[] = {"id",   "zone",   "type", "data",
                          "name", "active", "ttl"};
    const char *texts[] = {id, of_zone, type, data, "www", "Y", "x"};
    struct soap_value items[7] = {0};
    struct soap_value v = {.kind = SOAP_MAP, .keys = keys, .items = items};
    struct err e;

    v.n = 7;
    for (size_t i = 0; i < 7; i++) {
        items[i].kind = texts[i] != NULL ? SOAP_STRING : SOAP_NIL;
        items[i].text = texts[i] != NULL ? texts[i] : "";
    }
    return isp_row_read(&v, &zone, a, row, &e);
}

static void test_strange_rows(void **state)
{
    struct arena *a = arena_new();
    struct isp_row row;

    (void)state;
    assert_int_equal(read_row(a, "7", "1", "A", "192.0.2.1", &row), 1);
    assert_int_equal(row.ttl_s, 0);
    assert_int_equal(read_row(a, "7", "2", "A", "192.0.2.1", &row), 0);
    assert_int_equal(read_row(a, "7", "1", "MX", "x", &row), 0);
    assert_int_equal(read_row(a, "7", "1", "", "x", &row), 0);
    assert_int_equal(read_row(a, "7", "1", "A", "192.0.2.010", &row), 0);
    assert_int_equal(read_row(a, "7", "1", "A", NULL, &row), 0);
    /* ids that nobody gave out */
    assert_int_equal(read_row(a, "false}", "1", "A", "192.0.2.1", &row), -1);
    assert_int_equal(read_row(a, "0", "1", "A", "192.0.2.1", &row), -1);
    assert_int_equal(read_row(a, "-1", "1", "A", "192.0.2.1", &row), -1);
    assert_int_equal(read_row(a, NULL, "1", "A", "192.0.2.1", &row), -1);
    assert_int_equal(read_row(a, "7", "1", NULL, "192.0.2.1", &row), -1);
    arena_free(a);
}

/* ---- answers
 * ------------------------------------------------------------------ */

static struct isp_reply answer(struct arena *a, long status, const char *type,
                               const char *body)
{
    struct http_response h = {
        .status = status, .content_type = type, .body = body};
    struct isp_reply r;

    h.body_len = strlen(body);
    isp_answer_read(&h, "dns_a_update", a, &r);
    assert_true(r.was_sent);
    assert_true((r.value != NULL) == (r.err.code == ERR_NONE));
    return r;
}

static void test_pages(void **state)
{
    struct arena *a = arena_new();
    struct isp_reply r;

    (void)state;
    r = answer(a, 200, "text/html",
               "Remote API is disabled in security settings.");
    assert_int_equal(r.err.code, ERR_AUTH);
    r = answer(a, 200, "text/html", "<div>\n<li>Primary ID fehlt!</li></div>");
    assert_int_equal(r.err.code, ERR_UNKNOWN);
    assert_string_equal(r.fault, ISPCONFIG_NO_ID);
    r = answer(a, 200, "text/html", "");
    assert_int_equal(r.err.code, ERR_RETRY);
    r = answer(a, 404, "text/html", "<h1>Not Found</h1>");
    assert_int_equal(r.err.code, ERR_INPUT);
    assert_non_null(strstr(r.err.msg, "/remote/index.php"));
    r = answer(a, 403, "text/html", "<h1>no</h1>");
    assert_int_equal(r.err.code, ERR_AUTH);
    r = answer(a, 502, "text/html", "<html><h1>Bad Gateway</h1></html>");
    assert_int_equal(r.err.code, ERR_RETRY);
    assert_non_null(strstr(r.err.msg, "Bad Gateway"));
    assert_null(strchr(r.err.msg, '<'));
    r = answer(a, 302, "text/html", "");
    assert_int_equal(r.err.code, ERR_INPUT);
    arena_free(a);
}

static void test_nothing_came_back(void **state)
{
    struct http_response h = {.content_type = "", .body = ""};
    struct arena *a = arena_new();
    struct isp_reply r;

    (void)state;
    (void)err_set(&h.err, ERR_RETRY, "refused");
    isp_answer_read(&h, "login", a, &r);
    assert_false(r.was_sent);
    assert_string_equal(r.err.msg, "login: refused");
    (void)err_set(&h.err, ERR_UNKNOWN, "timeout");
    isp_answer_read(&h, "login", a, &r);
    assert_true(r.was_sent);
    arena_free(a);
}

static void test_checkboxes(void **state)
{
    (void)state;
    assert_string_equal(isp_checkbox("dns_a_update"), "DNS a functions");
    assert_string_equal(isp_checkbox("dns_aaaa_get"), "DNS aaaa functions");
    assert_string_equal(isp_checkbox("dns_cname_get"), "DNS cname functions");
    assert_string_equal(isp_checkbox("dns_txt_get"), "DNS txt functions");
    assert_string_equal(isp_checkbox("dns_rr_get_all_by_zone"),
                        "DNS zone functions");
    assert_string_equal(isp_checkbox("dns_zone_update"), "DNS zone functions");
}

/* Each recorded answer: a value, or the fault that its text names. */
static void check_capture(const char *name, const char *text, size_t len)
{
    bool is_fault = strstr(text, ":Fault>") != NULL;
    struct http_response h = {
        .status = is_fault ? 500 : 200, .content_type = "", .body = text};
    struct arena *a = arena_new();
    struct isp_reply r;

    h.body_len = len;
    isp_answer_read(&h, "dns_a_get", a, &r);
    if (is_fault) {
        char *code = mem_printf("<faultcode>%s</faultcode>", r.fault);

        if (r.err.code == ERR_NONE || strstr(text, code) == NULL)
            fail_msg("%s: fault %s", name, r.fault);
        free(code);
    } else if (strstr(text, "Envelope") != NULL && r.err.code != ERR_NONE) {
        fail_msg("%s: %s", name, r.err.msg);
    } else if (strstr(text, "Envelope") == NULL && r.err.code == ERR_NONE) {
        fail_msg("%s is a page, and was taken for an answer", name);
    }
    if (strlen(r.err.msg) > 500 || strstr(r.err.msg, "<br") != NULL)
        fail_msg("%s: %s", name, r.err.msg);
    arena_free(a);
}

static void test_captures(void **state)
{
    (void)state;
    if (captures_each(check_capture) == 0) {
        print_message("no ../shared/ispconfig/captures\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_zone_of_a_name),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_strange_rows),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_nothing_came_back),
        cmocka_unit_test(test_checkboxes),
        cmocka_unit_test(test_captures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
