#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/masterfile_edits.h"

#define SOA "@ 3600 IN SOA ns1 host 7 7200 1800 1209600 300\n"
#define SOA8 "@ 3600 IN SOA ns1 host 8 7200 1800 1209600 300\n"
#define TTL "$TTL 3600\n"

static struct change change(enum change_op op, const char *name,
                            enum rr_type type, const char *data, int64_t ttl_s)
{
    return (struct change){op, 0, name, type, data, ttl_s};
}

/* The text after one change, which must be accepted; "" for no change. */
static char *one(const char *text, enum change_op op, const char *name,
                 const char *data, int64_t ttl_s)
{
    enum rr_type type = strchr(data, ':') != NULL       ? RR_AAAA
                        : data[strlen(data) - 1] == '.' ? RR_CNAME
                                                        : RR_A;
    struct change c = change(op, name, type, data, ttl_s);
    struct change_result r;
    struct err e = {0};
    char *out;

    if (edit_all(text, NULL, &c, 1, 0, &r, &out, &e) != 0)
        fail_msg("%s", e.msg);
    if (r.state != CHANGE_DONE)
        fail_msg("%s", r.err.msg);
    return out != NULL ? out : mem_strdup("");
}

static void check(char *got, const char *want)
{
    assert_string_equal(got, want);
    free(got);
}

/* Out and back, and the bytes between. */
static void check_out_and_back(const char *text, const char *name,
                               const char *data, const char *between)
{
    char *off = one(text, CHANGE_WITHDRAW, name, data, -1);
    char *on, *back;
    const char *soa = strstr(text, " 7 7200");

    assert_string_equal(off, between);
    on = one(off, CHANGE_PUBLISH, name, data, -1);
    back = mem_strdup(text);
    back[soa - text + 1] = '9';
    assert_string_equal(on, back);
    free(off);
    free(on);
    free(back);
}

static void a_line_becomes_a_comment(void **state)
{
    (void)state;
    check_out_and_back(
        TTL SOA "www 60 IN A 192.0.2.10 ; keep me\nwww 60 IN A 192.0.2.20\n",
        "www.example.test.", "192.0.2.10",
        TTL SOA8 ";dnsfailover; www 60 IN A 192.0.2.10 ; keep me\n"
                 "www 60 IN A 192.0.2.20\n");
}

static void the_heir_gets_the_owner(void **state)
{
    (void)state;
    check_out_and_back(TTL SOA "www\tA 192.0.2.10\n\tA 192.0.2.20\n"
                               "    TXT \"; ( \"\n",
                       "www.example.test.", "192.0.2.10",
                       TTL SOA8 ";dnsfailover lent-owner; www\tA 192.0.2.10\n"
                                "www\tA 192.0.2.20\n    TXT \"; ( \"\n");
    check_out_and_back(TTL SOA "www\tA 192.0.2.10\n\tA 192.0.2.20\n",
                       "www.example.test.", "192.0.2.20",
                       TTL SOA8 "www\tA 192.0.2.10\n;dnsfailover "
                                "owner=www.example.test.; \tA 192.0.2.20\n");
    check_out_and_back(TTL SOA "$ORIGIN b.example.test.\nx A 192.0.2.1\n"
                               "$ORIGIN example.test.\n  A 192.0.2.2\n",
                       "x.b.example.test.", "192.0.2.1",
                       TTL SOA8 "$ORIGIN b.example.test.\n"
                                ";dnsfailover lent-owner; x A 192.0.2.1\n"
                                "$ORIGIN example.test.\nx.b  A 192.0.2.2\n");
}

/* RFC 1035 5.1: without $TTL a record has the TTL of the one before. */
static void the_heir_gets_the_ttl(void **state)
{
    (void)state;
    check_out_and_back(
        SOA "www 60 A 192.0.2.10\n A 192.0.2.20\nftp A 192.0.2.3\n",
        "www.example.test.", "192.0.2.10",
        SOA8 ";dnsfailover lent-owner lent-ttl; www 60 A 192.0.2.10\n"
             "www 60 A 192.0.2.20\nftp A 192.0.2.3\n");
}

/* A whole chain out and back, in another order. */
static void a_chain_comes_back(void **state)
{
    const char *text = SOA "www 60 A 192.0.2.1\n A 192.0.2.2\n A 192.0.2.3\n"
                           "  TXT x\nftp A 192.0.2.9\n";
    static const char *const out[] = {"192.0.2.1", "192.0.2.2", "192.0.2.3"};
    static const char *const in[][3] = {
        {"192.0.2.1", "192.0.2.2", "192.0.2.3"},
        {"192.0.2.3", "192.0.2.2", "192.0.2.1"},
        {"192.0.2.2", "192.0.2.1", "192.0.2.3"},
        {"192.0.2.1", "192.0.2.3", "192.0.2.2"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof in / sizeof in[0]; k++) {
        char *t = mem_strdup(text), *want = mem_strdup(text), *next;
        char *soa = strstr(want, " 7 7200");

        for (size_t i = 0; i < 6; i++) {
            next = one(t, i < 3 ? CHANGE_WITHDRAW : CHANGE_PUBLISH,
                       "www.example.test.", i < 3 ? out[i] : in[k][i - 3], -1);
            free(t);
            t = next;
        }
        next = mem_printf("%.*s 13%s", (int)(soa - want), want, soa + 2);
        assert_string_equal(t, next);
        free(next);
        free(want);
        free(t);
    }
}

static void parentheses_over_lines(void **state)
{
    (void)state;
    check_out_and_back(
        TTL SOA "www ( 60 ; \"not a quote\n   IN A ; x\n\n 192.0.2.10 )\n"
                "  A 192.0.2.20\n",
        "www.example.test.", "192.0.2.10",
        TTL SOA8 ";dnsfailover lent-owner; www ( 60 ; \"not a quote\n"
                 ";dnsfailover+;    IN A ; x\n;dnsfailover+; \n"
                 ";dnsfailover+;  192.0.2.10 )\nwww  A 192.0.2.20\n");
}

static void crlf_and_no_final_newline(void **state)
{
    const char *text = "$TTL 60\r\n@ SOA ns1 host 7 7200 1800 1209600 300\r\n"
                       "www A 192.0.2.1\r\nlast A 192.0.2.9";

    (void)state;
    check_out_and_back(text, "www.example.test.", "192.0.2.1",
                       "$TTL 60\r\n@ SOA ns1 host 8 7200 1800 1209600 300\r\n"
                       ";dnsfailover; www A 192.0.2.1\r\nlast A 192.0.2.9");
    check_out_and_back(text, "last.example.test.", "192.0.2.9",
                       "$TTL 60\r\n@ SOA ns1 host 8 7200 1800 1209600 300\r\n"
                       "www A 192.0.2.1\r\n;dnsfailover; last A 192.0.2.9");
    check(one(text, CHANGE_PUBLISH, "new.example.test.", "2001:db8::1", 30),
          "$TTL 60\r\n@ SOA ns1 host 8 7200 1800 1209600 300\r\n"
          "www A 192.0.2.1\r\nlast A 192.0.2.9\r\n"
          "new.example.test.\t30\tIN\tAAAA\t2001:db8::1\r\n");
    check(one(text, CHANGE_PUBLISH, "last.example.test.", "192.0.2.8", -1),
          "$TTL 60\r\n@ SOA ns1 host 8 7200 1800 1209600 300\r\n"
          "www A 192.0.2.1\r\nlast A 192.0.2.9\r\n"
          "last.example.test.\t60\tIN\tA\t192.0.2.8\r\n");
}

static void a_new_value_follows_its_set(void **state)
{
    (void)state;
    check(one(TTL SOA "www 60 A 192.0.2.1\n  MX 0 m\nftp A 192.0.2.2\n",
              CHANGE_PUBLISH, "www.example.test.", "192.0.2.7", -1),
          TTL SOA8 "www 60 A 192.0.2.1\nwww.example.test.\t60\tIN\tA\t"
                   "192.0.2.7\n  MX 0 m\nftp A 192.0.2.2\n");
    check(one(SOA "www 60 A 192.0.2.1\n  MX 0 m\n", CHANGE_PUBLISH,
              "new.example.test.", "a.example.net.", -1),
          SOA8 "www 60 A 192.0.2.1\n  MX 0 m\n"
               "new.example.test.\tIN\tCNAME\ta.example.net.\n");
}

/* R6: letters do not make a second record. Z5: neither do spellings. */
static void case_and_spelling(void **state)
{
    const char *text =
        TTL SOA "WWW.Example.TEST. in aaaa 2001:DB8:0::1\n"
                "www IN 5m AAAA 2001:0db8:0:0:1:0:0:1\n"
                "w\\119w 1h AAAA 2001:db8::3\nt TYPE28 \\# 16 20010db8 "
                "000000000000000000000009\n";

    (void)state;
    check(one(text, CHANGE_PUBLISH, "www.example.test.", "2001:db8::1", -1),
          "");
    check(one(text, CHANGE_PUBLISH, "www.example.test.", "2001:db8::3", -1),
          "");
    check(one(text, CHANGE_PUBLISH, "t.example.test.", "2001:db8::9", -1), "");
    check_out_and_back(text, "www.example.test.", "2001:db8::1:0:0:1",
                       TTL SOA8
                       "WWW.Example.TEST. in aaaa 2001:DB8:0::1\n"
                       ";dnsfailover; www IN 5m AAAA 2001:0db8:0:0:1:0:0:1\n"
                       "w\\119w 1h AAAA 2001:db8::3\nt TYPE28 \\# 16 20010db8 "
                       "000000000000000000000009\n");
}

static void a_ttl_is_given_to_the_set(void **state)
{
    const char *off = TTL SOA "www 5m IN A 192.0.2.1\n IN A 192.0.2.2\n"
                              " A 192.0.2.3\n;dnsfailover; www 1D A 192.0.2.4\n"
                              " TXT x\n";

    (void)state;
    check(one(off, CHANGE_PUBLISH, "www.example.test.", "192.0.2.4", 60),
          TTL SOA8 "www 60 IN A 192.0.2.1\n 60 IN A 192.0.2.2\n"
                   " 60 A 192.0.2.3\nwww 60 A 192.0.2.4\n TXT x\n");
    /* the value of a token stays in its spelling */
    check(one(off, CHANGE_PUBLISH, "www.example.test.", "192.0.2.4", 300),
          TTL SOA8 "www 5m IN A 192.0.2.1\n 300 IN A 192.0.2.2\n"
                   " 300 A 192.0.2.3\nwww 300 A 192.0.2.4\n TXT x\n");
    /* never alone a reason to write; none for a withdrawal */
    check(one(off, CHANGE_PUBLISH, "www.example.test.", "192.0.2.2", 60), "");
    check(one(off, CHANGE_WITHDRAW, "www.example.test.", "192.0.2.3", 60),
          TTL SOA8 "www 5m IN A 192.0.2.1\n IN A 192.0.2.2\n"
                   ";dnsfailover owner=www.example.test.;  A 192.0.2.3\n"
                   ";dnsfailover; www 1D A 192.0.2.4\n TXT x\n");
}

static void equal_rows_go_together(void **state)
{
    (void)state;
    check_out_and_back(TTL SOA
                       "w A 192.0.2.1\n  A 192.0.2.2\nw 60 A 192.0.2.1\n",
                       "w.example.test.", "192.0.2.1",
                       TTL SOA8 ";dnsfailover lent-owner; w A 192.0.2.1\n"
                                "w  A 192.0.2.2\n"
                                ";dnsfailover; w 60 A 192.0.2.1\n");
}

/* A person moved the line: what it says now is not what is wanted. */
static void a_moved_comment_is_not_trusted(void **state)
{
    (void)state;
    check(one(TTL SOA "$ORIGIN sub.example.test.\n"
                      ";dnsfailover; www A 192.0.2.1\nx A 192.0.2.2\n",
              CHANGE_PUBLISH, "www.example.test.", "192.0.2.1", -1),
          TTL SOA8 "$ORIGIN sub.example.test.\n"
                   ";dnsfailover; www A 192.0.2.1\nx A 192.0.2.2\n"
                   "www.example.test.\tIN\tA\t192.0.2.1\n");
    check(one(TTL SOA "x A 192.0.2.2\n"
                      ";dnsfailover owner=www.example.test.;  A 192.0.2.1\n"
                      " TXT y\n",
              CHANGE_PUBLISH, "www.example.test.", "192.0.2.1", -1),
          TTL SOA8 "x A 192.0.2.2\nwww A 192.0.2.1\nx TXT y\n");
    /* not ours, or not one record */
    check(one(TTL SOA ";dnsfailover looks after this; www A 192.0.2.1\n"
                      ";dnsfailover; www A ( 192.0.2.1\n"
                      ";dnsfailover; www TXT 192.0.2.1\n;dnsfailover\n",
              CHANGE_WITHDRAW, "www.example.test.", "192.0.2.1", -1),
          "");
}

static void serial_in_any_dress(void **state)
{
    (void)state;
    check(one("$TTL 60\n@ IN SOA ns1 h ( 0000000007 ; 7 \"\n\t1 2 ; )\n 3 4 )\n"
              "w A 192.0.2.1\n",
              CHANGE_WITHDRAW, "w.example.test.", "192.0.2.1", -1),
          "$TTL 60\n@ IN SOA ns1 h ( 0000000008 ; 7 \"\n\t1 2 ; )\n 3 4 )\n"
          ";dnsfailover; w A 192.0.2.1\n");
}

static void expect_result(const char *text, const struct memory_file *files,
                          struct change c, const char *words)
{
    struct change_result r;
    struct err e = {0};
    char *out;

    assert_int_equal(edit_all(text, files, &c, 1, 0, &r, &out, &e), 0);
    assert_null(out);
    assert_int_equal(r.state, CHANGE_FAILED);
    if (strstr(r.err.msg, words) == NULL)
        fail_msg("%s", r.err.msg);
}

static void included_files(void **state)
{
    static const struct memory_file files[] = {
        {"inc", "i A 192.0.2.1\n$INCLUDE deep sub\n  A 192.0.2.3\n"},
        {"deep", "$TTL 5\nd A 192.0.2.2\n"},
        {NULL, NULL},
    };
    const char *text = TTL SOA "w A 192.0.2.8\n$INCLUDE inc\n  A 192.0.2.9\n";
    struct masterfile_source src = {memory_read, (void *)(uintptr_t)files};
    const char *names[] = {"i.example.test.", "d.sub.example.test.",
                           "w.example.test."};
    struct change c = change(CHANGE_WITHDRAW, names[2], RR_A, "192.0.2.8", -1);
    struct change_result r;
    struct rrset_list l;
    struct masterfile *m;
    struct err e = {0};
    char *out;

    (void)state;
    assert_int_equal(
        masterfile_parse(ZONE, "db", text, strlen(text), &src, &m, &e), 0);
    rrset_list_init(&l);
    assert_int_equal(masterfile_list(m, names, 3, &l, &e), 0);
    assert_int_equal(rrset_find(&l, names[0], RR_A)->n, 2);
    assert_int_equal(rrset_find(&l, names[1], RR_A)->ttl_s, 5);
    assert_int_equal(rrset_find(&l, names[2], RR_A)->n, 2);
    rrset_list_fini(&l);
    masterfile_free(m);
    expect_result(text, files,
                  change(CHANGE_WITHDRAW, names[0], RR_A, "192.0.2.3", -1),
                  "included file at inc:3");
    expect_result(text, files,
                  change(CHANGE_PUBLISH, names[0], RR_A, "192.0.2.4", 10),
                  "inc:3 has a record of the set with TTL 5");
    assert_int_equal(edit_all(text, files, &c, 1, 0, &r, &out, &e), 0);
    assert_string_equal(out, TTL SOA8 ";dnsfailover; w A 192.0.2.8\n"
                                      "$INCLUDE inc\nw  A 192.0.2.9\n");
    free(out);
}

/* The included file would have to be mended: nothing is written. */
static void an_included_heir_is_refused(void **state)
{
    static const struct memory_file files[] = {{"inc", "  TXT x\n"}, {0}};
    struct change c =
        change(CHANGE_WITHDRAW, "w.example.test.", RR_A, "192.0.2.8", -1);
    struct change_result r;
    struct err e = {0};
    char *out;

    (void)state;
    assert_int_equal(edit_all(TTL SOA "w A 192.0.2.8\n$INCLUDE inc\n", files,
                              &c, 1, 0, &r, &out, &e),
                     -1);
    assert_int_equal(e.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(e.msg, "inc:1"));
    assert_null(out);
}

/* R16 */
static void generate_lines(void **state)
{
    const char *text =
        TTL SOA "$GENERATE 0-2147483647 h$ A 192.0.2.1\n"
                "$GENERATE 1-100/3 n${-1,3,d} 60 IN A 192.0.2.$\n"
                "$GENERATE 1-2147483647 same A 192.0.2.1\n"
                "$GENERATE 1-3 few A 192.0.2.$\n"
                "$GENERATE 10-20 x${0,2,x} CNAME t$.example.net.\n"
                "$GENERATE 1-9 $ PTR host$\nh5 A 192.0.2.7\n";
    const char *names[] = {"h77.example.test.",  "n003.example.test.",
                           "n004.example.test.", "few.example.test.",
                           "x0f.example.test.",  "h5.example.test."};
    const char *too_many[] = {"same.example.test."};
    struct masterfile *m;
    struct rrset_list l;
    struct err e = {0};

    (void)state;
    assert_int_equal(
        masterfile_parse(ZONE, "db", text, strlen(text), NULL, &m, &e), 0);
    rrset_list_init(&l);
    assert_int_equal(masterfile_list(m, names, 6, &l, &e), 0);
    assert_non_null(rrset_find(&l, names[0], RR_A));
    assert_string_equal(rrset_find(&l, names[1], RR_A)->values[0].data,
                        "192.0.2.4");
    assert_int_equal(rrset_find(&l, names[1], RR_A)->ttl_s, 60);
    assert_null(rrset_find(&l, names[2], RR_A));
    assert_int_equal(rrset_find(&l, names[3], RR_A)->n, 3);
    assert_string_equal(rrset_find(&l, names[4], RR_CNAME)->values[0].data,
                        "t15.example.net.");
    assert_int_equal(rrset_find(&l, names[5], RR_A)->n, 2);
    assert_int_equal(masterfile_list(m, too_many, 1, &l, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    rrset_list_fini(&l);
    masterfile_free(m);
    expect_result(text, NULL,
                  change(CHANGE_WITHDRAW, names[0], RR_A, "192.0.2.1", -1),
                  "$GENERATE at db:3");
    expect_result(text, NULL,
                  change(CHANGE_WITHDRAW, too_many[0], RR_A, "192.0.2.1", -1),
                  "$GENERATE");
}

static void cname_stands_alone(void **state)
{
    const char *text = TTL SOA "a CNAME b\nw A 192.0.2.1\n";
    struct change swap[] = {
        {CHANGE_PUBLISH, 1, "a.example.test.", RR_CNAME, "c.example.test.", -1},
        {CHANGE_WITHDRAW, 1, "a.example.test.", RR_CNAME, "b.example.test.",
         -1}};
    struct change_result r[2];
    struct err e = {0};
    char *out;

    (void)state;
    expect_result(
        text, NULL,
        change(CHANGE_PUBLISH, "example.test.", RR_CNAME, "x.example.net.", -1),
        "apex"); /* R8 */
    expect_result(text, NULL,
                  change(CHANGE_PUBLISH, "w.example.test.", RR_CNAME,
                         "x.example.net.", -1),
                  "beside");
    expect_result(
        text, NULL,
        change(CHANGE_PUBLISH, "a.example.test.", RR_A, "192.0.2.1", -1),
        "beside");
    assert_int_equal(edit_all(text, NULL, swap, 2, 0, r, &out, &e), 0);
    assert_string_equal(out, TTL SOA8
                        ";dnsfailover; a CNAME b\n"
                        "a.example.test.\t3600\tIN\tCNAME\tc.example.test.\n"
                        "w A 192.0.2.1\n");
    free(out);
}

/* One set that cannot be taken does not stop the others. */
static void sets_fail_alone(void **state)
{
    static const struct memory_file files[] = {{"inc", "i 9 A 192.0.2.1\n"},
                                               {0}};
    struct change v[] = {
        {CHANGE_PUBLISH, 1, "i.example.test.", RR_A, "192.0.2.2", 60},
        {CHANGE_WITHDRAW, 1, "i.example.test.", RR_A, "192.0.2.5", -1},
        {CHANGE_PUBLISH, 2, "w.example.test.", RR_A, "192.0.2.3", 60},
        {CHANGE_WITHDRAW, 2, "w.example.test.", RR_A, "192.0.2.4", -1},
        {CHANGE_PUBLISH, 3, "w.example.org.", RR_A, "192.0.2.4", -1},
    };
    struct change_result r[5];
    struct err e = {0};
    char *out;

    (void)state;
    assert_int_equal(edit_all(TTL SOA "$INCLUDE inc\ni 9 A 192.0.2.5\n"
                                      "w A 192.0.2.4\n",
                              files, v, 5, 0, r, &out, &e),
                     0);
    assert_int_equal(r[0].state, CHANGE_FAILED);
    assert_int_equal(r[1].state, CHANGE_SKIPPED);
    assert_int_equal(r[2].state, CHANGE_DONE);
    assert_int_equal(r[3].state, CHANGE_DONE);
    assert_int_equal(r[4].state, CHANGE_FAILED);
    assert_string_equal(out,
                        TTL SOA8 "$INCLUDE inc\ni 9 A 192.0.2.5\n"
                                 ";dnsfailover; w A 192.0.2.4\n"
                                 "w.example.test.\t60\tIN\tA\t192.0.2.3\n");
    free(out);
}

static void specs_are_found(void **state)
{
    const char *text =
        TTL SOA "_failover TXT x\n_Failover.www IN TXT \"{}\"\n TXT \"more\"\n"
                "_failover.a\\.b TXT x\n_failover.example.org. TXT x\n"
                "_failover.w A 192.0.2.1\n";
    struct arena *a = arena_new();
    struct masterfile *m;
    struct err e = {0};
    const char **owners;
    size_t n;

    (void)state;
    assert_int_equal(
        masterfile_parse(ZONE, "db", text, strlen(text), NULL, &m, &e), 0);
    masterfile_specs(m, a, &owners, &n);
    assert_int_equal(n, 2);
    assert_string_equal(owners[0], "example.test.");
    assert_string_equal(owners[1], "www.example.test.");
    masterfile_free(m);
    arena_free(a);
}

static void damaged_files_name_the_line(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "db: no SOA"},
        {TTL, "db: no SOA"},
        {TTL SOA SOA, "db:3: a second SOA"},
        {"example.org. 60 SOA a b 1 1 1 1 1\n", "db:1: the SOA is that of"},
        {"@ 60 SOA a b x1 1 1 1 1\n", "db:1: the SOA's serial"},
        {"@ 60 SOA a b 4294967296 1 1 1 1\n", "db:1: the SOA's serial"},
        {"@ 60 SOA a b 1 1 1\n", "db:1: the SOA has 5 fields"},
        {SOA "w A ( 192.0.2.1\n", "db:2: a '(' is not closed"},
        {SOA "w A 192.0.2.1 )\n", "db:2: a ')' without"},
        {SOA "\nw TXT \"abc\nx A 192.0.2.1\n", "db:3: a quote"},
        {SOA "w\n", "db:2: a record without type"},
        {SOA "w 60x A 192.0.2.1\n", "neither a TTL nor a type"},
        {"  A 192.0.2.1\n" SOA, "db:1: a record without owner"},
        {"$TTL 1h30\n" SOA, "db:1: $TTL"},
        {"$TTL\n" SOA, "db:1: $TTL without"},
        {"$FOO x\n" SOA, "db:1: unknown directive"},
        {SOA "$INCLUDE none\n", "db:2: $INCLUDE: none: no such file"},
        {SOA "$GENERATE 1-x a$ A 192.0.2.$\n", "db:2: $GENERATE"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct masterfile_source src = {memory_read, NULL};
        struct masterfile *m;
        struct err e = {0};

        assert_int_equal(masterfile_parse(ZONE, "db", rows[i].text,
                                          strlen(rows[i].text), &src, &m, &e),
                         -1);
        assert_null(m);
        if (strstr(e.msg, rows[i].words) == NULL)
            fail_msg("%zu: %s", i, e.msg);
    }
}

static void loops_of_includes_end(void **state)
{
    static const struct memory_file files[] = {{"db", "$INCLUDE db\n"}, {0}};
    struct masterfile_source src = {memory_read, (void *)(uintptr_t)files};
    struct masterfile *m;
    struct err e = {0};

    (void)state;
    assert_int_equal(
        masterfile_parse(ZONE, "db", "$INCLUDE db\n", 12, &src, &m, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(masterfile_parse(ZONE, "db", "a\0b\n", 4, &src, &m, &e),
                     -1);
    assert_non_null(strstr(e.msg, "not a text file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_becomes_a_comment),
        cmocka_unit_test(the_heir_gets_the_owner),
        cmocka_unit_test(the_heir_gets_the_ttl),
        cmocka_unit_test(a_chain_comes_back),
        cmocka_unit_test(parentheses_over_lines),
        cmocka_unit_test(crlf_and_no_final_newline),
        cmocka_unit_test(a_new_value_follows_its_set),
        cmocka_unit_test(case_and_spelling),
        cmocka_unit_test(a_ttl_is_given_to_the_set),
        cmocka_unit_test(equal_rows_go_together),
        cmocka_unit_test(a_moved_comment_is_not_trusted),
        cmocka_unit_test(serial_in_any_dress),
        cmocka_unit_test(included_files),
        cmocka_unit_test(an_included_heir_is_refused),
        cmocka_unit_test(generate_lines),
        cmocka_unit_test(cname_stands_alone),
        cmocka_unit_test(sets_fail_alone),
        cmocka_unit_test(specs_are_found),
        cmocka_unit_test(damaged_files_name_the_line),
        cmocka_unit_test(loops_of_includes_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
