#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/base/charstr.h"
#include "tests/unit/masterfile_edits.h"

/* A spec's TXT record in a master file: replaced in its place, the rest of
 * the file byte for byte as it was. */

#define SOA "@ 3600 IN SOA ns1 host 7 7200 1800 1209600 300\n"
#define SOA8 "@ 3600 IN SOA ns1 host 8 7200 1800 1209600 300\n"
#define TTL "$TTL 3600\n"
#define NAME "_failover.www.example.test."

/* *out: NULL when nothing was written. returns as masterfile_edit_txt */
static int put(const char *text, const struct memory_file *files,
               const char *txt, size_t len, char **out, struct err *e)
{
    struct masterfile_source src = {memory_read, (void *)(uintptr_t)files};
    struct masterfile *m;
    bool changed = false;
    struct buf b;
    int r;

    *out = NULL;
    if (masterfile_parse(ZONE, "db", text, strlen(text), &src, &m, e) != 0)
        return -1;
    buf_init(&b, MASTERFILE_MAX);
    r = masterfile_edit_txt(m, NAME, txt, len, 300, masterfile_serial(m) + 1,
                            &b, &changed, e);
    if (r == 0 && changed)
        *out = buf_take(&b);
    buf_fini(&b);
    masterfile_free(m);
    return r;
}

static void check(const char *text, const char *txt, const char *want)
{
    struct err e = {0};
    char *out, *again;

    if (put(text, NULL, txt, strlen(txt), &out, &e) != 0)
        fail_msg("%s", e.msg);
    assert_string_equal(out != NULL ? out : "", want);
    /* What was written is there: a second time changes nothing. */
    assert_int_equal(
        put(out != NULL ? out : text, NULL, txt, strlen(txt), &again, &e), 0);
    assert_null(again);
    free(out);
}

static void refuse(const char *text, const struct memory_file *files,
                   enum err_code code, const char *what)
{
    struct err e = {0};
    char *out;

    assert_int_equal(put(text, files, "[]", 2, &out, &e), -1);
    assert_int_equal(e.code, code);
    if (strstr(e.msg, what) == NULL)
        fail_msg("%s", e.msg);
    assert_null(out);
}

static void a_new_record_stands_at_the_end(void **state)
{
    (void)state;
    check(TTL SOA "www A 192.0.2.1", "[{\"a\":1}]",
          TTL SOA8 "www A 192.0.2.1\n" NAME
                   "\t300\tIN\tTXT\t\"[{\\\"a\\\":1}]\"\n");
}

static void line_ends_are_the_files(void **state)
{
    char text[301] = "[";
    struct err e = {0};
    char *out;

    (void)state;
    memset(text + 1, ' ', 298);
    text[299] = ']';
    assert_int_equal(
        put("$TTL 60\r\n@ SOA a b 7 1 1 1 1\r\n", NULL, text, 300, &out, &e),
        0);
    assert_non_null(strstr(out, NAME "\t300\tIN\tTXT\t( \"[  "));
    assert_non_null(strstr(out, "  \"\r\n\t\"   "));
    assert_non_null(strstr(out, "  ]\" )\r\n"));
    free(out);
}

static void it_is_replaced_in_its_place(void **state)
{
    (void)state;
    check(TTL SOA "_failover.www 60 IN TXT \"[]\" ; the spec; old\n"
                  "www A 192.0.2.1\n",
          "[1]",
          TTL SOA8 "_failover.www 60 IN TXT \"[1]\" ; the spec; old\n"
                   "www A 192.0.2.1\n");
    check(TTL SOA "_failover.www\tIN\tTXT\t[]\n  TXT v=other\nx A 192.0.2.1\n",
          "[1]",
          TTL SOA8
          "_failover.www\tIN\tTXT\t\"[1]\"\n  TXT v=other\nx A 192.0.2.1\n");
}

static void parentheses_stay_in_pairs(void **state)
{
    (void)state;
    check(TTL SOA "_failover.www TXT ( \"[\" ; one (\n   \"]\" ) ; two\nx A "
                  "192.0.2.1\n",
          "{}", TTL SOA8 "_failover.www TXT \"{}\" ; two\nx A 192.0.2.1\n");
    check(TTL SOA "_failover.www ( 60 ; ttl\n TXT \"[\"\n ; )\n \"]\" )\n",
          "{}", TTL SOA8 "_failover.www ( 60 ; ttl\n TXT \"{}\" )\n");
    check(TTL SOA "_failover.www TXT \"[\" ( \"]\"\n)\n", "{}",
          TTL SOA8 "_failover.www TXT \"{}\"\n");
    check(TTL SOA "_failover.www ( TXT ( \"[]\" ) )  ; c\n", "{}",
          TTL SOA8 "_failover.www ( TXT \"{}\" )  ; c\n");
}

static void others_at_the_name_stay(void **state)
{
    (void)state;
    check(TTL SOA "_failover.www 77 TXT \"v=other [\"\nwww A 192.0.2.1\n", "[]",
          TTL SOA8 "_failover.www 77 TXT \"v=other [\"\n" NAME
                   "\t77\tIN\tTXT\t\"[]\"\nwww A 192.0.2.1\n");
    check(TTL SOA "_failover.www TXT \"v=1\"\n  TXT \" {}\"\n  TXT \"\"\n",
          "[]",
          TTL SOA8 "_failover.www TXT \"v=1\"\n  TXT \"[]\"\n  TXT \"\"\n");
}

static void a_second_spec_goes(void **state)
{
    (void)state;
    check(TTL SOA "_failover.www TXT \"[1]\"\n  TXT \"[2]\"\n  TXT v=x\n"
                  "www A 192.0.2.1\n",
          "[3]",
          TTL SOA8 "_failover.www TXT \"[3]\"\n  TXT v=x\nwww A 192.0.2.1\n");
    /* The heir of its owner and TTL says both itself. */
    check("@ 3600 SOA a b 7 1 1 1 1\n_failover.www TXT \"[1]\"\nx A 192.0.2.9\n"
          "_failover.www 60 TXT \"[2]\"\n  TXT v=x\n",
          "[1]",
          "@ 3600 SOA a b 8 1 1 1 1\n_failover.www TXT \"[1]\"\nx A "
          "192.0.2.9\n_failover.www  60 TXT v=x\n");
}

static void it_is_read_however_it_is_written(void **state)
{
    (void)state;
    check(TTL SOA "_failover.www TXT \"[\\034\\065\" b\\\"\\]\n", "[\"Ab\"]",
          "");
    check(TTL SOA "_failover.www TYPE16 \\# 3 ( 02 5b\n5d )\n", "[]", "");
    check(TTL SOA "_failover.www TYPE16 \\# 3 025b5d\n", "[1]",
          TTL SOA8 "_failover.www TYPE16 \"[1]\"\n");
}

static void what_cannot_be_done_is_said(void **state)
{
    static const struct memory_file files[] = {
        {"inc", "_failover.www TXT \"[1]\"\n"}, {NULL, NULL}};

    (void)state;
    refuse(TTL SOA "$INCLUDE inc\n", files, ERR_UNSUPPORTED,
           "inc:1: the spec stands in an included file");
    refuse(TTL SOA "_failover.www CNAME x\n", NULL, ERR_INPUT,
           "db:3: a CNAME stands at");
    refuse(TTL SOA "_failover.www TXT \"\\300\"\n", NULL, ERR_UNSUPPORTED,
           "db:3: a TXT record whose data cannot be read");
    refuse(TTL SOA "_failover.www TXT \\# 3 0261\n", NULL, ERR_UNSUPPORTED,
           "cannot be read");
}

/* --- random --------------------------------------------------------------- */

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * UINT64_C(2685821657736338717);
}

/* Random layouts around it; masterfile_edit_txt itself reads its text again
 * and compares each record, so that success is the proof. */
static char *random_zone(uint64_t *seed)
{
    static const char *const lines[] = {
        "www A 192.0.2.1\n",
        "  A 192.0.2.2 ; c\n",
        "_failover.www 60 TXT \"[1]\"\n",
        "_failover.www TXT ( \"[\"\n \"2]\" )\n",
        "  TXT \"[3\" \"]\" ; x\n",
        "  120 TXT v=other\n",
        "$ORIGIN www.example.test.\n_failover.www TXT x\n$ORIGIN "
        "example.test.\n",
        ";dnsfailover lent-owner lent-ttl; www 30 A 192.0.2.3\n",
        "\n",
        "; comment (\n",
        "_failover.www ( TXT [4]\n)\n",
        "mail 300 IN MX ( 10 ; a\n mx )\n"};
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_str(&b, next(seed) % 2 == 0 ? TTL SOA : SOA);
    for (size_t k = next(seed) % 12; k > 0; k--)
        buf_str(&b, lines[next(seed) % (sizeof lines / sizeof lines[0])]);
    return buf_take(&b);
}

static void any_text_fits_into_any_file(void **state)
{
    uint64_t seed = 20264;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        char *zone = random_zone(&seed), *out, *again, text[2000];
        size_t n = next(&seed) % sizeof text;
        struct err e = {0};

        text[0] = '[';
        for (size_t k = 1; k < n; k++)
            text[k] = (char)(next(&seed) & 0xff);
        if (n == 0)
            n = 1;
        if (put(zone, NULL, text, n, &out, &e) != 0)
            fail_msg("%s\n%s", e.msg, zone);
        assert_non_null(out);
        assert_int_equal(put(out, NULL, text, n, &again, &e), 0);
        assert_null(again);
        free(out);
        free(zone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_record_stands_at_the_end),
        cmocka_unit_test(line_ends_are_the_files),
        cmocka_unit_test(it_is_replaced_in_its_place),
        cmocka_unit_test(parentheses_stay_in_pairs),
        cmocka_unit_test(others_at_the_name_stay),
        cmocka_unit_test(a_second_spec_goes),
        cmocka_unit_test(it_is_read_however_it_is_written),
        cmocka_unit_test(what_cannot_be_done_is_said),
        cmocka_unit_test(any_text_fits_into_any_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
