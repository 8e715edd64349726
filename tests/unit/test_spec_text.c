/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/spec_help.h"

/* From character-strings to a spec: spellings, cuts, several records. */

#define JSON                                                                   \
    "[{\"name\":\"www.example.org.\",\"data\":\"192.0.2.1\","                  \
    "\"check\":\"443\",\"ttl\":\"300\"},{\"name\":\"www.example.org.\","       \
    "\"data\":\"2001:db8::1\",\"check\":\"8080\",\"ttl\":\"300\"}]"
#define ESCAPED                                                                \
    "[{\\\"name\\\":\\\"www.example.org.\\\",\\\"data\\\":\\\"192.0.2.1\\\","  \
    "\\\"check\\\":\\\"443\\\",\\\"ttl\\\":\\\"300\\\"},"                      \
    "{\\\"name\\\":\\\"www.example.org.\\\","                                  \
    "\\\"data\\\":\\\"2001:db8::1\\\",\\\"check\\\":\\\"8080\\\","             \
    "\\\"ttl\\\":\\\"300\\\"}]"
#define BARE                                                                   \
    "[{name:www.example.org.,data:192.0.2.1,check:443,ttl:300},"               \
    "{name:www.example.org.,data:2001:db8::1,check:8080,ttl:300}]"

static struct spec *parse(const struct spec_txt *txts, size_t n)
{
    struct spec *s = NULL;
    struct err e = {0};

    if (spec_parse(txts, n, &help_www, &s, &e) != 0)
        fail_msg("%s", e.msg);
    return s;
}

static void refused(const struct spec_txt *txts, size_t n, enum err_code code,
                    const char *part)
{
    struct spec *s = NULL;
    struct err e = {0};

    assert_int_equal(spec_parse(txts, n, &help_www, &s, &e), -1);
    assert_null(s);
    if (e.code != code || strstr(e.msg, part) == NULL)
        fail_msg("%s: %s; expected %s", err_code_name(e.code), e.msg, part);
}

static const struct {
    const char *text;
    enum spec_spelling spelling;
} spellings[] = {
    {JSON, SPEC_JSON},
    {"  " JSON "\n", SPEC_JSON},
    {ESCAPED, SPEC_ESCAPED},
    {"\"" ESCAPED "\"", SPEC_ESCAPED},
    {"\"" JSON "\"", SPEC_ESCAPED},
    {BARE, SPEC_BARE},
    {"\"" BARE "\"", SPEC_BARE},
    {"[ { name : www.example.org. , data : 192.0.2.1 , check : 443 ,"
     "ttl:300 } ,\n{name:www.example.org.,data:2001:db8::1,check:8080,"
     "ttl:300}]",
     SPEC_BARE},
};

static void test_spellings(void **state)
{
    struct spec *want = help_good(&help_www, JSON);

    (void)state;
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        struct spec *s = help_good(&help_www, spellings[i].text);

        assert_int_equal(s->spelling, spellings[i].spelling);
        assert_int_equal(s->form, SPEC_ROWS);
        help_same(s, want);
        spec_free(s);
    }
    assert_string_equal(spec_spelling_name(SPEC_BARE), "bare");
    assert_string_equal(spec_spelling_name(SPEC_JSON), "JSON");
    spec_free(want);
}

/* T1: cut anywhere, with an empty string between; and byte by byte. */
static void test_cuts(void **state)
{
    struct spec *want = help_good(&help_www, JSON);

    (void)state;
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        const char *text = spellings[i].text;
        size_t len = strlen(text);
        struct spec_string *bytes = mem_array(len, sizeof *bytes);
        struct spec_txt all = {bytes, len};
        struct spec *s;

        for (size_t at = 0; at <= len; at++) {
            const struct spec_string parts[] = {
                {text, at}, {"", 0}, {text + at, len - at}};
            const struct spec_txt txt = {parts, 3};

            s = parse(&txt, 1);
            help_same(s, want);
            spec_free(s);
        }
        for (size_t k = 0; k < len; k++)
            bytes[k] = (struct spec_string){text + k, 1};
        s = parse(&all, 1);
        help_same(s, want);
        spec_free(s);
        free(bytes);
    }
    spec_free(want);
}

static struct spec_txt one(struct spec_string *s, const char *text)
{
    s->data = text;
    s->len = strlen(text);
    return (struct spec_txt){s, 1};
}

static void test_foreign(void **state)
{
    static const char *const foreign[] = {
        "v=spf1 -all", "", " ", "site-verify=k", "\\\"[", "\xef\xbb", "443"};
    static const char *const ours[] = {"[", "{", "\"", " \t{", "\xef\xbb\xbf{"};
    struct spec_string s[8];
    struct spec_txt txts[8];

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        txts[i] = one(&s[i], foreign[i]);
        assert_true(spec_is_foreign(&txts[i]));
    }
    refused(txts, 7, ERR_NOTFOUND, "no spec; 7 TXT records of others");
    refused(NULL, 0, ERR_NOTFOUND, "_failover.www.example.org: no spec");
    for (size_t i = 0; i < 5; i++) {
        txts[0] = one(&s[0], ours[i]);
        assert_false(spec_is_foreign(&txts[0]));
    }
    txts[0] = one(&s[0], "\xef\xbb\xbf" BARE);
    refused(txts, 1, ERR_INPUT, "a byte order mark");
}

#define ROW(n)                                                                 \
    "[{\"name\":\"www\",\"data\":\"192.0.2." n "\",\"check\":\"80\"}]"

/* T3: six specs, others' records beside them, one spec twice. */
static void test_several(void **state)
{
    static const char *const texts[] = {
        "v=spf1 -all",
        "site-verify=kkkk",
        ROW("10"),
        ROW("11"),
        ROW("12"),
        ROW("13"),
        ROW("14"),
        ROW("15"),
        "[ {\"data\":\"192.0.2.10\", \"check\": 80, \"name\":\"www\"} ]"};
    struct spec_string s[9];
    struct spec_txt txts[9];
    struct spec *want;

    (void)state;
    for (size_t i = 0; i < 9; i++)
        txts[i] = one(&s[i], texts[i]);
    want = parse(txts, 9);
    assert_int_equal(want->nsets, 1);
    assert_int_equal(want->sets[0].nrecords, 6);
    assert_int_equal(want->nwarnings, 0);
    help_round_trip(&help_www, want);
    for (size_t turn = 1; turn < 9; turn++) {
        struct spec_txt turned[9];
        struct spec *got;

        for (size_t i = 0; i < 9; i++)
            turned[i] =
                txts[turn % 2 != 0 ? (i + turn) % 9 : (9 + turn - i) % 9];
        got = parse(turned, 9);
        help_same(want, got);
        assert_int_equal(want->spelling, got->spelling);
        spec_free(got);
    }
    /* One bad document refuses all, with one text whatever the order. */
    txts[4] = one(&s[4], "[{\"name\":\"www\"}]");
    txts[7] = one(&s[7], "[{\"name\":\"www\",\"data\":1}]");
    refused(txts, 9, ERR_INPUT, "/0: \"data\" is missing");
    txts[7] = one(&s[4], "[{\"name\":\"www\"}]");
    txts[4] = one(&s[7], "[{\"name\":\"www\",\"data\":1}]");
    refused(txts, 9, ERR_INPUT, "/0: \"data\" is missing");
    spec_free(want);
}

static void test_merge(void **state)
{
    struct spec_string s[4];
    struct spec_txt txts[4];
    struct spec *got;

    (void)state;
    txts[0] = one(&s[0], "{\"order\":\"priority\",\"defaults\":{\"ttl\":60}}");
    txts[1] = one(&s[1], "{defaults:{ttl:1m,timeout:3},order:priority,"
                         "records:[{data:192.0.2.1,prio:2}]}");
    txts[2] = one(&s[2], "{\"records\":[{\"data\":\"192.0.2.2\",\"prio\":1}],"
                         "\"allDown\":\"none\"}");
    got = parse(txts, 3);
    assert_int_equal(got->sets[0].order, SPEC_PRIORITY);
    assert_int_equal(got->sets[0].all_down, SPEC_NONE);
    assert_int_equal(got->sets[0].ttl_s, 60);
    assert_int_equal(got->top->defaults.timeout_ms, 3000);
    assert_string_equal(got->sets[0].records[0].data, "192.0.2.2");
    assert_int_equal(got->sets[0].records[0].document, 2);
    assert_string_equal(got->sets[0].records[1].data, "192.0.2.1");
    spec_free(got);
    txts[3] = one(&s[3], "{\"records\":[{\"data\":\"192.0.2.3\"}]}");
    refused(txts, 4, ERR_INPUT, "this record has no \"prio\"");
    txts[3] = one(&s[3], "{\"allDown\":\"all\"}");
    refused(txts, 4, ERR_INPUT,
            "/allDown: found \"all\" in one TXT record and \"none\" in "
            "another; accepted: one value");
    txts[3] = one(&s[3], "{\"defaults\":{\"ttl\":61}}");
    refused(txts, 4, ERR_INPUT, "/defaults/ttl: found");
}

/* The limit is on the text of the owner, not of one record. */
static void test_size(void **state)
{
    char *text = mem_alloc(40001);
    struct spec_string s[3];
    struct spec_txt txts[3];
    struct spec *got;

    (void)state;
    memset(text, ' ', 40000);
    text[0] = '{';
    text[39999] = '}';
    txts[0] = one(&s[0], text);
    txts[1] = one(&s[1], "v=spf1 -all");
    got = parse(txts, 2);
    spec_free(got);
    txts[2] = txts[0];
    refused(txts, 3, ERR_LIMIT, "found 80000 bytes; accepted: at most 65000");
    free(text);
}

static void test_damaged(void **state)
{
    (void)state;
    help_bad(&help_www, "\"" JSON, ERR_INPUT, "quotes damaged on the way");
    help_bad(&help_www, "\"\"" JSON "\"\"", ERR_INPUT, "quotes damaged");
    help_bad(&help_www, "\"x\"", ERR_INPUT, "between the outer quotes");
    help_bad(&help_www, "\"", ERR_INPUT, "quotes damaged");
    help_bad(&help_www, "[{\\\"name\\\":\"www\"}]", ERR_INPUT,
             "(byte 11): found a plain quote");
    help_bad(&help_www, "[{\"name\":\"www,\"data\":\"192.0.2.1\"}]", ERR_INPUT,
             "an odd number of quotes");
    help_bad(&help_www, "[{\\\\\\\"name\\\\\\\":1}]", ERR_INPUT,
             "a member's name in quotes");
    help_bad(&help_www, "v=spf1", ERR_INPUT, "found \"v=spf1\"");
    help_bad(&help_www, "", ERR_INPUT, "found nothing");
    help_bad(&help_www, "[1]", ERR_INPUT, "/0: found 1; accepted: a row");
}

#define LOST "quotes lost: what was meant cannot be known"

static void test_bare(void **state)
{
    struct spec *s;

    (void)state;
    s = help_good(&help_apex,
                  "{ names: [www,@ ,a.b] , maxChange:50%,debounce:500ms,"
                  "comment:true,x-y.z|1:a=b&c?d!e*f+g~h/i@j,rows:[] }");
    assert_int_equal(s->top->nnames, 3);
    assert_int_equal(s->top->max_change_pct, 50);
    spec_free(s);
    help_bad(&help_www, "{comment:hello world}", ERR_INPUT, LOST);
    help_bad(&help_www, "{comment:it's}", ERR_INPUT, LOST);
    help_bad(&help_www, "{comment:caf\xc3\xa9}", ERR_INPUT, LOST);
    help_bad(&help_www, "{comment:a[b}", ERR_INPUT, LOST);
    help_bad(&help_www, "{names:[a,,b]}", ERR_INPUT, LOST);
    help_bad(&help_www, "{names:[a,]}", ERR_INPUT, LOST);
    help_bad(&help_www, "{names:[,]}", ERR_INPUT, LOST);
    help_bad(&help_www, "{order:all,}", ERR_INPUT, LOST);
    help_bad(&help_www, "{:all}", ERR_INPUT, LOST);
    help_bad(&help_www, "{or der:all}", ERR_INPUT, "in a member's name");
    help_bad(&help_www, "{order,all:b}", ERR_INPUT, "in a member's name");
    help_bad(&help_www, "{order:all", ERR_INPUT, "the end of the text");
    help_bad(&help_www, "{order:all}}", ERR_INPUT, "accepted: the end");
    help_bad(&help_www, "{order:all}]", ERR_INPUT, "accepted: the end");
    help_bad(&help_www, "[{a:1]}", ERR_INPUT, "\",\" or \"}\"");
    help_bad(&help_www, "{order:all,order:all}", ERR_INPUT,
             "/order: found this member twice");
    help_bad(&help_www, "{order:}", ERR_INPUT, "/order: found \"\"");
    help_bad(&help_www, "{checks:{x:{body:y}}}", ERR_INPUT, LOST);
    help_bad(&help_www, "{bodyMatch:y}", ERR_INPUT, LOST);
    help_bad(&help_www, "{json:y}", ERR_INPUT, LOST);
    help_bad(&help_www, "{send:y}", ERR_INPUT, LOST);
    help_bad(&help_www, "{expect:y}", ERR_INPUT, LOST);
    help_bad(&help_www, "{headers:{a:b}}", ERR_INPUT, LOST);
    help_bad(&help_www,
             "{a:[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
             ERR_LIMIT, "more than 32 levels");
}

/* --- the trace of ISPConfig's zone writer ------------------------------- */

/* data as ISPConfig writes it: between quotes, `" "` after every 255 bytes,
 * nothing escaped. */
static void zone_writer(const char *data, struct buf *out)
{
    size_t len = strlen(data);

    buf_char(out, '"');
    for (size_t i = 0; i < len; i += 255) {
        if (i > 0)
            buf_str(out, "\" \"");
        buf_add(out, data + i, len - i < 255 ? len - i : 255);
    }
    buf_char(out, '"');
}

/* The rdata of a TXT record as a master file's reader splits it: quoted
 * strings, and runs of other bytes up to a blank or a quote.
 * source: RFC 1035 5.1; that a quote ends such a run is BIND's and NSD's
 * reading */
static size_t master_file(const char *text, struct spec_string *out, size_t max)
{
    size_t n = 0;

    for (const char *p = text; *p != '\0';) {
        const char *from;

        if (*p == ' ') {
            p++;
            continue;
        }
        assert_true(n < max);
        if (*p == '"') {
            from = ++p;
            while (*p != '"')
                assert_true(*p++ != '\0');
            out[n++] = (struct spec_string){from, (size_t)(p - from)};
            p++;
        } else {
            from = p;
            while (*p != '\0' && *p != ' ' && *p != '"')
                p++;
            out[n++] = (struct spec_string){from, (size_t)(p - from)};
        }
        assert_true(out[n - 1].len <= 255);
    }
    return n;
}

static void rows_text(struct buf *b, size_t rows, size_t pad)
{
    buf_str(b, "[{\"x-pad\":\"");
    for (size_t i = 0; i < pad; i++)
        buf_char(b, 'p');
    buf_str(b, "\",");
    for (size_t i = 0; i < rows; i++)
        buf_printf(b,
                   "%s\"name\":\"www.example.org.\",\"data\":\"192.0.2.%zu\","
                   "\"check\":\"443\",\"ttl\":\"300\"}",
                   i > 0 ? ",{" : "", i + 1);
    buf_char(b, ']');
}

static void test_zone_writer(void **state)
{
    static const size_t sizes[] = {4, 7, 40};
    struct spec_string *strings = mem_array(4000, sizeof *strings);
    struct buf text, zone;
    size_t blanks = 0;

    (void)state;
    buf_init(&text, 1u << 16);
    buf_init(&zone, 1u << 16);
    for (size_t k = 0; k < 3; k++) {
        for (size_t pad = 0; pad < 255; pad++) {
            struct spec *want, *got;
            struct spec_txt txt = {strings, 0};

            buf_reset(&text);
            buf_reset(&zone);
            rows_text(&text, sizes[k], pad);
            zone_writer(buf_get(&text), &zone);
            txt.nstrings = master_file(buf_get(&zone), strings, 4000);
            for (size_t i = 0; i < txt.nstrings; i++)
                blanks += strings[i].len == 1 && strings[i].data[0] == ' ';
            want = help_good(&help_www, buf_get(&text));
            got = parse(&txt, 1);
            assert_int_equal(got->spelling, SPEC_BARE);
            assert_int_equal(got->sets[0].nrecords, sizes[k]);
            help_same(want, got);
            spec_free(want);
            spec_free(got);
        }
    }
    assert_true(blanks > 1000); /* the trace was really there */
    buf_fini(&text);
    buf_fini(&zone);
    free(strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),   cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_foreign),     cmocka_unit_test(test_several),
        cmocka_unit_test(test_merge),       cmocka_unit_test(test_size),
        cmocka_unit_test(test_damaged),     cmocka_unit_test(test_bare),
        cmocka_unit_test(test_zone_writer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
