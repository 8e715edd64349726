/* Keys in BIND's syntax, signatures of requests, answers and streams. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/base/mem.h"
#include "resolver/tsig.h"

#define NOW 1796070364u

static const char SHA256[] =
    "key \"main\" { algorithm hmac-sha256; secret \"c2VjcmV0LW9mLXRlc3Rz\"; };";

static struct tsig_key *parse(const char *text, const char *name)
{
    struct tsig_key *key;
    struct err e = {0};

    if (tsig_key_parse(text, strlen(text), "f.key", name, &key, &e) != 0)
        fail_msg("%s", e.msg);
    return key;
}

/* ---- keys ---------------------------------------------------------------- */

static void test_key_forms(void **state)
{
    static const char *const same[] = {
        SHA256,
        "key main. {\n\tsecret c2VjcmV0LW9mLXRlc3Rz;\n\talgorithm "
        "\"HMAC-SHA256\";\n};\n",
        "# by hand\n// and\n/* over\n lines */ key MAIN { algorithm "
        "hmac-sha256.; secret \"c2VjcmV0LW9mLXRlc3Rz\"; } ; // end",
    };

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct tsig_key *key = parse(same[i], NULL);

        assert_string_equal(key->name, "main.");
        assert_int_equal(key->algorithm, TSIG_HMAC_SHA256);
        assert_int_equal(key->secret_len, 15);
        assert_memory_equal(key->secret, "secret-of-tests", 15);
        tsig_key_free(key);
    }
}

static void test_key_chosen_by_name(void **state)
{
    static const char two[] =
        "key a { algorithm hmac-sha512; secret \"YQ==\"; };\n"
        "key b.example { algorithm hmac-sha1; secret \"YWI=\"; };\n";
    struct tsig_key *key = parse(two, "b.example.");
    struct err e = {0};

    (void)state;
    assert_string_equal(key->name, "b.example.");
    assert_int_equal(key->algorithm, TSIG_HMAC_SHA1);
    assert_int_equal(key->secret_len, 2);
    tsig_key_free(key);
    assert_int_equal(
        tsig_key_parse(two, sizeof two - 1, "f.key", NULL, &key, &e), -1);
    assert_null(key);
    assert_string_equal(e.msg, "f.key: holds 2 keys (a., b.example.); say by "
                               "key-name which");
    assert_int_equal(
        tsig_key_parse(two, sizeof two - 1, "f.key", "c.", &key, &e), -1);
    assert_non_null(strstr(e.msg, "holds no key c.; it holds: a., b.example."));
}

static void test_key_refused(void **state)
{
    static const struct {
        const char *text, *why;
        enum err_code code;
    } bad[] = {
        {"", "holds no key", ERR_INPUT},
        {"key a { algorithm hmac-md5; secret \"YQ==\"; };",
         "hmac-md5 is broken and refused", ERR_UNSUPPORTED},
        {"key a { algorithm HMAC-MD5.SIG-ALG.REG.INT; secret \"YQ==\"; };",
         "broken and refused", ERR_UNSUPPORTED},
        {"key a { algorithm hmac-sha256-128; secret \"YQ==\"; };",
         "cuts the signature; accepted: hmac-sha256", ERR_UNSUPPORTED},
        {"key a { algorithm hmac-sha3; secret \"YQ==\"; };",
         "algorithm \"hmac-sha3\"; accepted: hmac-sha256", ERR_INPUT},
        {"key a { algorithm hmac-sha256; };", "a key without secret",
         ERR_INPUT},
        {"key a { secret \"YQ==\"; };", "a key without algorithm", ERR_INPUT},
        {"key a { secret \"YQ==\"; secret \"YQ==\"; };", "twice", ERR_INPUT},
        {"key a { secret \"Y\"; };", "is not base64", ERR_INPUT},
        {"key a { secret \"Y===\"; };", "is not base64", ERR_INPUT},
        {"key a { secret \"Y*==\"; };", "is not base64", ERR_INPUT},
        {"key a { secret \"\"; };", "an empty word", ERR_INPUT},
        {"options { };", "a word where the word key should be", ERR_INPUT},
        {"key a { algorithm hmac-sha256; secret \"YQ==\"; }", "ends where ';'",
         ERR_INPUT},
        {"key a { algorithm hmac-sha256 secret", "a word where ';'", ERR_INPUT},
        {"key a\n{\n/* ", "f.key:3: a comment without end", ERR_INPUT},
        {"key \"a\n\" {", "a quoted word with a line's end", ERR_INPUT},
        {"key \"a b\" {", "f.key:1: ", ERR_INPUT},
        {"key \"a", "a quoted word without end", ERR_INPUT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tsig_key *key = NULL;
        struct err e = {0};

        assert_int_equal(tsig_key_parse(bad[i].text, strlen(bad[i].text),
                                        "f.key", NULL, &key, &e),
                         -1);
        assert_null(key);
        assert_int_equal(e.code, bad[i].code);
        if (strstr(e.msg, bad[i].why) == NULL)
            fail_msg("%s: %s", bad[i].text, e.msg);
    }
}

/* A secret does not get into a message. */
static void test_key_is_not_told(void **state)
{
    static const char text[] =
        "key a { secret \"dG9wc2VjcmV0\" algorithm hmac-sha256; };";
    struct tsig_key *key;
    struct err e = {0};

    (void)state;
    assert_int_equal(
        tsig_key_parse(text, sizeof text - 1, "f.key", NULL, &key, &e), -1);
    assert_null(strstr(e.msg, "dG9w"));
}

/* ---- one request and its answer ------------------------------------------ */

struct bytes {
    uint8_t b[512];
    size_t len;
};

static struct bytes hex(const char *text)
{
    struct bytes out = {.len = strlen(text) / 2};

    for (size_t i = 0; i < out.len; i++) {
        char two[3] = {text[2 * i], text[2 * i + 1], '\0'};

        out.b[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    return out;
}

/* An update and its answer as exchanged with BIND 9.18. */
static const char OURS[] =
    "3dd028000001000100030001076578616d706c6504746573740000060001c00c00ff00ff00"
    "000000000003636170c00c000100ff000000000000c02a000100010000001e0004c0000207"
    "c02a000100010000001e0004c00002080d6661696c6f7665722d746573740000fa00ff0000"
    "0000003d0b686d61632d7368613235360000006b0d3bdc012c0020081a8773df241f217406"
    "6040ca98258220be7b0b17e76a3e498f36612ebdc7273dd000000000";
static const char THEIRS[] =
    "3dd0a8000001000000000001076578616d706c650474657374000006"
    "00010d6661696c6f7665722d746573740000fa00ff00000000003d0b686d61632d73686132"
    "35360000006b0d3bdc012c00207c02ffbfcc5188b42d4945eeaf1cdb6d4a91289e82afcd9f"
    "dd2aa348dcf7c6c53dd000000000";
static const char THEIR_KEY[] =
    "key failover-test { algorithm hmac-sha256; "
    "secret \"ZmFpbG92ZXItdGVzdC1rZXktMzItYnl0ZXMtbG9uZyE=\"; };";
#define THEIR_TIME 0x6b0d3bdcu

static void test_recorded(void **state)
{
    struct tsig_key *key = parse(THEIR_KEY, NULL);
    struct bytes ours = hex(OURS), theirs = hex(THEIRS), plain = ours;
    struct tsig_mac mac;
    struct tsig_check check;
    struct err e = {0};
    uint8_t *wire;
    size_t len;

    (void)state;
    plain.len -= 15 + 10 + 0x3d; /* the TSIG record */
    plain.b[11] = 0;
    assert_int_equal(
        tsig_sign(key, THEIR_TIME, plain.b, plain.len, &wire, &len, &mac, &e),
        0);
    assert_int_equal(len, ours.len);
    assert_memory_equal(wire, ours.b, len);
    free(wire);

    tsig_verify(key, &mac, theirs.b, theirs.len, THEIR_TIME + 300, &check);
    assert_int_equal(check.verdict, TSIG_GOOD);
    assert_int_equal(check.time_s, THEIR_TIME);
    tsig_verify(key, &mac, theirs.b, theirs.len, THEIR_TIME + 301, &check);
    assert_int_equal(check.verdict, TSIG_BAD_TIME);
    tsig_verify(key, &mac, theirs.b, theirs.len, THEIR_TIME - 301, &check);
    assert_int_equal(check.verdict, TSIG_BAD_TIME);
    mac.bytes[3] ^= 1; /* the answer to another request */
    tsig_verify(key, &mac, theirs.b, theirs.len, THEIR_TIME, &check);
    assert_int_equal(check.verdict, TSIG_BAD_MAC);
    tsig_key_free(key);
}

/* Whatever bit is turned over, but for the id's: it is not GOOD. */
static void test_every_byte_counts(void **state)
{
    struct tsig_key *key = parse(THEIR_KEY, NULL);
    struct bytes ours = hex(OURS), theirs = hex(THEIRS);
    struct tsig_mac mac = {.len = 32};
    struct tsig_check check;

    (void)state;
    memcpy(mac.bytes, ours.b + ours.len - 38, 32);
    for (size_t i = 2; i < theirs.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct bytes other = theirs;

            other.b[i] ^= (uint8_t)(1u << bit);
            tsig_verify(key, &mac, other.b, other.len, THEIR_TIME, &check);
            /* Letters of names count without their case. */
            if (bit == 5 && check.verdict == TSIG_GOOD)
                assert_in_range(theirs.b[i] | 0x20, 'a', 'z');
            else
                assert_int_not_equal(check.verdict, TSIG_GOOD);
        }
        tsig_verify(key, &mac, theirs.b, i, THEIR_TIME, &check);
        assert_int_not_equal(check.verdict, TSIG_GOOD);
    }
    tsig_key_free(key);
}

static void test_algorithms(void **state)
{
    static const struct {
        const char *name;
        size_t len;
    } all[] = {{"hmac-sha1", 20},
               {"hmac-sha224", 28},
               {"hmac-sha256", 32},
               {"hmac-sha384", 48},
               {"hmac-sha512", 64}};
    uint8_t plain[12] = {0x12, 0x34, 0x28};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char *text = mem_printf("key k { algorithm %s; secret \"YWJj\"; };",
                                all[i].name);
        struct tsig_key *key = parse(text, NULL);
        struct tsig_mac mac, none = {.len = 0};
        struct tsig_check check;
        struct err e = {0};
        uint8_t *wire;
        size_t len;

        assert_int_equal(
            tsig_sign(key, NOW, plain, sizeof plain, &wire, &len, &mac, &e), 0);
        assert_int_equal(mac.len, all[i].len);
        assert_string_equal(tsig_algorithm_name(key->algorithm), all[i].name);
        /* A request is no answer: the request's MAC is not in it. */
        tsig_verify(key, &none, wire, len, NOW, &check);
        assert_int_equal(check.verdict, TSIG_BAD_MAC);
        key->name[0] = 'j';
        tsig_verify(key, &none, wire, len, NOW, &check);
        assert_int_equal(check.verdict, TSIG_OTHER_KEY);
        free(wire);
        tsig_key_free(key);
        free(text);
    }
}

static void test_unsigned_and_odd(void **state)
{
    struct tsig_key *key = parse(SHA256, NULL);
    /* BIND's answer to a wrong secret: NOTAUTH, BADSIG, no MAC. */
    struct bytes badsig =
        hex("e042a8090001000000000001076578616d706c650474657374000006"
            "00010d6661696c6f7665722d746573740000fa00ff00000000001d0b686d61632d"
            "736861"
            "3235360000006b0d3bdc012c0000e04200100000");
    struct tsig_mac mac = {.len = 32};
    struct tsig_check check;
    uint8_t plain[12] = {0x12, 0x34, 0xa8};

    (void)state;
    tsig_verify(key, &mac, plain, sizeof plain, NOW, &check);
    assert_int_equal(check.verdict, TSIG_UNSIGNED);
    plain[11] = 1; /* a record that is not there */
    tsig_verify(key, &mac, plain, sizeof plain, NOW, &check);
    assert_int_equal(check.verdict, TSIG_MALFORMED);
    tsig_verify(key, &mac, plain, 3, NOW, &check);
    assert_int_equal(check.verdict, TSIG_MALFORMED);
    tsig_verify(key, &mac, badsig.b, badsig.len, NOW, &check);
    assert_int_equal(check.verdict, TSIG_UNSIGNED);
    assert_string_equal(tsig_error_name(check.error), "BADSIG");
    tsig_key_free(key);
}

/* A long message has no room for its signature. */
static void test_too_long(void **state)
{
    struct tsig_key *key = parse(SHA256, NULL);
    uint8_t *big = mem_alloc(65535), *wire;
    struct tsig_mac mac;
    struct err e = {0};
    size_t len;

    (void)state;
    assert_int_equal(tsig_sign(key, NOW, big, 65535, &wire, &len, &mac, &e),
                     -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_null(wire);
    free(big);
    tsig_key_free(key);
}

/* ---- streams ------------------------------------------------------------- */

static void test_stream_begins_signed(void **state)
{
    struct tsig_key *key = parse(THEIR_KEY, NULL);
    struct bytes ours = hex(OURS), theirs = hex(THEIRS);
    struct tsig_mac mac = {.len = 32};
    uint8_t plain[12] = {0x3d, 0xd0, 0x84};
    struct tsig_stream *s;
    struct err e = {0};

    (void)state;
    memcpy(mac.bytes, ours.b + ours.len - 38, 32);
    s = tsig_stream_new(key, &mac);
    assert_int_equal(
        tsig_stream_take(s, plain, sizeof plain, THEIR_TIME, false, &e), -1);
    assert_int_equal(e.code, ERR_AUTH);
    assert_non_null(strstr(e.msg, "it is not signed"));
    tsig_stream_free(s);

    s = tsig_stream_new(key, &mac);
    assert_int_equal(
        tsig_stream_take(s, theirs.b, theirs.len, THEIR_TIME, false, &e), 0);
    /* 99 unsigned ones may follow, the hundredth is signed, and the last. */
    for (int i = 0; i < 99; i++)
        assert_int_equal(
            tsig_stream_take(s, plain, sizeof plain, THEIR_TIME, false, &e), 0);
    assert_int_equal(
        tsig_stream_take(s, plain, sizeof plain, THEIR_TIME, false, &e), -1);
    tsig_stream_free(s);

    s = tsig_stream_new(key, &mac);
    assert_int_equal(
        tsig_stream_take(s, theirs.b, theirs.len, THEIR_TIME, false, &e), 0);
    assert_int_equal(
        tsig_stream_take(s, plain, sizeof plain, THEIR_TIME, true, &e), -1);
    tsig_stream_free(s);

    s = tsig_stream_new(key, &mac);
    assert_int_equal(
        tsig_stream_take(s, theirs.b, theirs.len, THEIR_TIME, false, &e), 0);
    /* The same once more is not what comes next. */
    assert_int_equal(
        tsig_stream_take(s, theirs.b, theirs.len, THEIR_TIME, true, &e), -1);
    assert_non_null(strstr(e.msg, "signature is wrong"));
    tsig_stream_free(s);
    tsig_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_forms),
        cmocka_unit_test(test_key_chosen_by_name),
        cmocka_unit_test(test_key_refused),
        cmocka_unit_test(test_key_is_not_told),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_unsigned_and_odd),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_stream_begins_signed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
