#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine/state/judge_text.h"
#include "tests/unit/judge_help.h"

/* What a judgement remembers: unknown results, onlyNew, its text. */

#define MINUTE_MS (60 * 1000LL)

/* --- unknown keeps the previous result ---------------------------------------
 */

static void test_unknown_keeps(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"checks\":{\"a\":\"tcp:1@192.0.2.9\","
                "\"b\":\"tcp:2@192.0.2.9\"},"
                "\"scenarios\":{\"s\":[[\"a\",\"b\"]]},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"s\"},"
                "{\"data\":\"192.0.2.2\",\"if\":\"!s\"},"
                "{\"data\":\"192.0.2.3\",\"check\":\"a\"},"
                "{\"data\":\"192.0.2.4\",\"drCond\":\"!a\"}]}");
    JH_EXPECT(&h, "UUUT");
    assert_int_equal(h.records[3].dr_cond, TRI_UNKNOWN);
    jh_set(&h, "tcp:1@192.0.2.9", "T");
    JH_EXPECT(&h, "UUTT");
    jh_set(&h, "tcp:2@192.0.2.9", "T");
    JH_EXPECT(&h, "TFTT");
    assert_int_equal(h.records[3].dr_cond, TRI_FALSE);
    jh_set(&h, "tcp:1@192.0.2.9", "U");
    JH_EXPECT(&h, "TFUT"); /* a check is no scenario: it is unknown */
    assert_int_equal(h.records[3].dr_cond, TRI_FALSE);
    jh_set(&h, "tcp:2@192.0.2.9", "F");
    JH_EXPECT(&h, "FTUT"); /* known, whatever the other one is */
    jh_set(&h, "tcp:2@192.0.2.9", "U");
    JH_EXPECT(&h, "FTUT");
    jh_set(&h, "tcp:2@192.0.2.9", "T");
    JH_EXPECT(&h, "FTUT");
    jh_set(&h, "tcp:1@192.0.2.9", "F");
    JH_EXPECT(&h, "FTFT");
    assert_int_equal(h.records[3].dr_cond, TRI_TRUE);
    jh_set(&h, "tcp:1@192.0.2.9", "U");
    jh_judge(&h);
    assert_int_equal(h.records[3].dr_cond, TRI_TRUE);
    jh_close(&h);
}

/* Looking (explain) remembers nothing. */
static void test_looking_remembers_nothing(void **state)
{
    struct jh h;
    struct judge_env env;
    const struct spec_cond *when;

    (void)state;
    jh_open(&h, "{\"checks\":{\"a\":\"tcp:1@192.0.2.9\"},"
                "\"scenarios\":{\"s\":[[\"a\"]]},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"s\"}]}");
    jh_set(&h, "tcp:1@192.0.2.9", "T");
    JH_EXPECT(&h, "T");
    jh_set(&h, "tcp:1@192.0.2.9", "F");
    env = jh_env(&h);
    when = spec_rare_of(&h.spec->sets[0].records[0])->when;
    assert_int_equal(judge_cond(h.spec, &env, &h.memory, h.dcs, when, 0),
                     TRI_FALSE);
    jh_set(&h, "tcp:1@192.0.2.9", "U");
    JH_EXPECT(&h, "T");
    jh_close(&h);
}

/* --- onlyNew
 * ------------------------------------------------------------------
 */

#define ONLY_NEW                                                               \
    "{\"checks\":{\"f\":\"tcp:7@192.0.2.9\"},\"dcs\":{"                        \
    "\"d\":{\"wanAccess\":[\"tcp:1@192.0.2.9\"],\"onlyNew\":\"10m\","          \
    "\"fresh\":\"f\"},\"e\":{\"wanAccess\":[\"tcp:2@192.0.2.9\"]}},"           \
    "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"},"                      \
    "{\"data\":\"192.0.2.2\",\"dc\":\"d\"},"                                   \
    "{\"data\":\"192.0.2.3\",\"dc\":\"e\"},{\"data\":\"192.0.2.4\"}]}"

static void only_new_open(struct jh *h)
{
    jh_open(h, ONLY_NEW);
    jh_set(h, "tcp:1@192.0.2.9", "T");
    jh_set(h, "tcp:2@192.0.2.9", "T");
    jh_set(h, "tcp:7@192.0.2.9", "F");
    h->published[0] = h->published[2] = true;
    jh_judge(h);
}

static void go(struct jh *h, const char *d, int64_t ms)
{
    h->now_ms += ms;
    jh_set(h, "tcp:1@192.0.2.9", d);
    jh_judge(h);
}

static void expect_barred(const struct jh *h, bool want, int line)
{
    if (h->dcs[0].barred != want || h->records[0].barred != want ||
        h->records[1].barred != want || h->records[2].barred)
        fail_msg("line %d: barred %d %d %d %d, wanted %d", line,
                 h->dcs[0].barred, h->records[0].barred, h->records[1].barred,
                 h->records[2].barred, want);
}
#define BARRED(h, want) expect_barred(h, want, __LINE__)

/* Longer than asked for; whether judged at a pace or not at all. */
static void test_only_new(void **state)
{
    (void)state;
    for (int pace = 0; pace < 2; pace++)
        for (int64_t extra = -1; extra <= 1; extra++) {
            struct jh h;

            only_new_open(&h);
            go(&h, "F", 1000);
            for (int i = 0; i < 9 && pace == 1; i++)
                go(&h, "F", MINUTE_MS);
            go(&h, "T", (pace == 1 ? 1 : 10) * MINUTE_MS + extra);
            BARRED(&h, extra > 0);
            assert_int_equal(h.records[0].healthy, TRI_TRUE);
            go(&h, "T", 1000 * MINUTE_MS); /* time alone lets nobody in */
            BARRED(&h, extra > 0);
            go(&h, "F", 1000);
            go(&h, "T", 1000); /* nor does a short outage */
            BARRED(&h, extra > 0);
            judge_readmit(&h.memory, 0);
            go(&h, "T", 1000);
            BARRED(&h, false);
            jh_close(&h);
        }
}

/* No other data centre was published meanwhile: its data is the newest. What
 * has no data centre is none. */
static void test_only_new_alone(void **state)
{
    (void)state;
    for (int when = 0; when < 4; when++) {
        struct jh h;

        only_new_open(&h);
        h.published[2] = false;
        h.published[3] = true;
        go(&h, "F", 1000);
        h.published[2] = when == 1;
        go(&h, "F", MINUTE_MS);
        h.published[2] = when == 2;
        go(&h, "T", 20 * MINUTE_MS);
        BARRED(&h, when == 1 || when == 2);
        h.published[2] = when == 3; /* afterwards does not count */
        go(&h, "T", 1000);
        BARRED(&h, when == 1 || when == 2);
        jh_close(&h);
    }
}

/* Not asked for: never. */
static void test_only_new_not_given(void **state)
{
    struct jh h;

    (void)state;
    only_new_open(&h);
    jh_set(&h, "tcp:2@192.0.2.9", "F");
    go(&h, "T", 1000);
    jh_set(&h, "tcp:2@192.0.2.9", "T");
    go(&h, "T", 1000 * MINUTE_MS);
    assert_false(h.dcs[1].barred);
    assert_false(h.records[2].barred);
    jh_close(&h);
}

/* Time in maintenance does not count, exactly, even where nothing is judged
 * between its beginning and its end. */
static void test_only_new_maintenance(void **state)
{
    (void)state;
    for (int64_t extra = 0; extra <= 1; extra++) {
        struct jh h;

        only_new_open(&h);
        go(&h, "F", 1000);
        h.maintenance = "d ";
        go(&h, "F", 4 * MINUTE_MS);
        h.maintenance = NULL;
        go(&h, "F", 600 * MINUTE_MS);
        go(&h, "T", 6 * MINUTE_MS + extra);
        BARRED(&h, extra > 0);
        jh_close(&h);
    }
}

/* Only in maintenance: nothing has been out. */
static void test_maintenance_only(void **state)
{
    struct jh h;

    (void)state;
    only_new_open(&h);
    h.maintenance = "d ";
    go(&h, "T", MINUTE_MS);
    go(&h, "F", 60 * MINUTE_MS);
    go(&h, "T", 60 * MINUTE_MS);
    assert_int_equal(h.records[0].healthy, TRI_FALSE);
    h.maintenance = NULL;
    go(&h, "T", 60 * MINUTE_MS);
    BARRED(&h, false);
    assert_int_equal(h.records[0].healthy, TRI_TRUE);
    jh_close(&h);
}

/* Unknown is neither in nor out: the time of the outage runs on. */
static void test_only_new_unknown(void **state)
{
    struct jh h;

    (void)state;
    only_new_open(&h);
    go(&h, "F", 1000);
    go(&h, "U", 6 * MINUTE_MS);
    BARRED(&h, false);
    go(&h, "T", 5 * MINUTE_MS);
    BARRED(&h, true);
    jh_close(&h);
}

/* fresh lets the data centre in; it stays in when that is no longer true. */
static void test_fresh(void **state)
{
    static const char *const letters[] = {"T", "U", "F", "N"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct jh h;

        only_new_open(&h);
        go(&h, "F", 1000);
        go(&h, "T", 11 * MINUTE_MS);
        BARRED(&h, true);
        jh_set(&h, "tcp:7@192.0.2.9", letters[i]);
        jh_judge(&h);
        BARRED(&h, i > 0);
        jh_set(&h, "tcp:7@192.0.2.9", "F");
        jh_judge(&h);
        BARRED(&h, i > 0);
        jh_close(&h);
    }
}

/* Already fresh at its return: not for a moment out. */
static void test_fresh_at_once(void **state)
{
    struct jh h;

    (void)state;
    only_new_open(&h);
    go(&h, "F", 1000);
    jh_set(&h, "tcp:7@192.0.2.9", "T");
    go(&h, "T", 11 * MINUTE_MS);
    BARRED(&h, false);
    jh_close(&h);
}

/* Readmitted while it is out: its time begins anew. */
static void test_readmit_while_out(void **state)
{
    struct jh h;

    (void)state;
    only_new_open(&h);
    go(&h, "F", 1000);
    go(&h, "F", 30 * MINUTE_MS);
    judge_readmit(&h.memory, 0);
    go(&h, "F", 1000);
    go(&h, "T", 9 * MINUTE_MS);
    BARRED(&h, false);
    jh_close(&h);
}

/* --- as text -----------------------------------------------------------------
 */

static void expect_same(const struct judge_memory *a,
                        const struct judge_memory *b)
{
    assert_int_equal(a->ntruth, b->ntruth);
    assert_memory_equal(a->truth, b->truth, a->ntruth * sizeof *a->truth);
    assert_int_equal(a->ndcs, b->ndcs);
    for (size_t i = 0; i < a->ndcs; i++) {
        assert_int_equal(a->dcs[i].out_since_ms, b->dcs[i].out_since_ms);
        assert_int_equal(a->dcs[i].last_ms, b->dcs[i].last_ms);
        assert_int_equal(a->dcs[i].other_published, b->dcs[i].other_published);
        assert_int_equal(a->dcs[i].barred, b->dcs[i].barred);
        assert_int_equal(a->dcs[i].maintained, b->dcs[i].maintained);
    }
}

static void row_fini(struct state_judge *row)
{
    state_text(&row->print, NULL);
    state_text(&row->truth, NULL);
    state_text(&row->dcs, NULL);
}

static void test_text(void **state)
{
    struct jh h;
    struct judge_memory back;
    struct state_judge row;

    (void)state;
    only_new_open(&h);
    memset(&row, 0, sizeof row);
    for (size_t i = 0; i < h.memory.ntruth; i++)
        h.memory.truth[i] = (enum tri)(i % 3);
    for (int bits = 0; bits < 8; bits++) {
        h.memory.dcs[0].barred = (bits & 1) != 0;
        h.memory.dcs[0].other_published = (bits & 2) != 0;
        h.memory.dcs[0].maintained = (bits & 4) != 0;
        h.memory.dcs[0].out_since_ms = bits * 1234567890123;
        h.memory.dcs[1].last_ms = 1 + bits;
        judge_text_write(&h.memory, h.spec, &row);
        judge_memory_init(&back, h.spec);
        judge_text_read(&row, h.spec, &back);
        expect_same(&h.memory, &back);
        judge_memory_fini(&back);
    }
    row_fini(&row);
    jh_close(&h);
}

/* Another text of the spec: truths are dropped, data centres are found by
 * their names. */
static void test_text_of_another_spec(void **state)
{
    struct jh h, other;
    struct state_judge row;

    (void)state;
    only_new_open(&h);
    memset(&row, 0, sizeof row);
    h.memory.dcs[0].barred = true;
    h.memory.dcs[1].out_since_ms = 77;
    judge_text_write(&h.memory, h.spec, &row);
    jh_open(&other, "{\"checks\":{\"f\":\"tcp:7@192.0.2.9\"},"
                    "\"dcs\":{\"c\":{},\"d\":{},\"dd\":{},\"e\":{}},"
                    "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\","
                    "\"if\":\"f\"}]}");
    judge_text_read(&row, other.spec, &other.memory);
    for (size_t i = 0; i < other.memory.ntruth; i++)
        assert_int_equal(other.memory.truth[i], TRI_UNKNOWN);
    assert_false(other.memory.dcs[0].barred);
    assert_true(other.memory.dcs[1].barred);
    assert_false(other.memory.dcs[2].barred);
    assert_int_equal(other.memory.dcs[3].out_since_ms, 77);
    row_fini(&row);
    jh_close(&other);
    jh_close(&h);
}

/* After a reboot times are moved; 0 stays "none". */
static void test_text_moved(void **state)
{
    struct jh h;
    struct state_judge row;
    struct judge_memory back;

    (void)state;
    only_new_open(&h);
    memset(&row, 0, sizeof row);
    judge_text_move(&row, 5); /* nothing there */
    assert_null(row.dcs);
    h.memory.dcs[0].out_since_ms = 100;
    h.memory.dcs[0].last_ms = 500;
    h.memory.dcs[1].last_ms = 0;
    judge_text_write(&h.memory, h.spec, &row);
    judge_text_move(&row, -400);
    judge_memory_init(&back, h.spec);
    judge_text_read(&row, h.spec, &back);
    assert_int_equal(back.dcs[0].out_since_ms, -300);
    assert_int_equal(back.dcs[0].last_ms, 100);
    assert_int_equal(back.dcs[1].out_since_ms, 0);
    assert_int_equal(back.dcs[1].last_ms, 0);
    judge_memory_fini(&back);
    row_fini(&row);
    jh_close(&h);
}

static void test_text_readmit(void **state)
{
    struct jh h;
    struct state_judge row;

    (void)state;
    only_new_open(&h);
    memset(&row, 0, sizeof row);
    assert_false(judge_text_readmit(&row, "d"));
    go(&h, "F", 1000);
    go(&h, "T", 11 * MINUTE_MS);
    BARRED(&h, true);
    judge_text_write(&h.memory, h.spec, &row);
    assert_false(judge_text_readmit(&row, "dd"));
    assert_true(judge_text_readmit(&row, "d"));
    judge_text_read(&row, h.spec, &h.memory);
    go(&h, "T", 1000);
    BARRED(&h, false);
    row_fini(&row);
    jh_close(&h);
}

/* Whatever stands in the file: no crash, and what cannot be read is nothing. */
static void test_damaged_text(void **state)
{
    static const char *const texts[] = {"",
                                        ";",
                                        ";;;",
                                        "d",
                                        "d 1",
                                        "d 1 2 3",
                                        "d 1 2 x y z;",
                                        " 1 2 1 1 1;",
                                        "nobody 1 2 1 1 1;",
                                        "d 99999999999999999999 2 1 1;"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct jh h;
        struct state_judge row;

        only_new_open(&h);
        memset(&row, 0, sizeof row);
        state_text(&row.dcs, texts[i]);
        state_text(&row.print, "0");
        state_text(&row.truth, "210210");
        judge_text_read(&row, h.spec, &h.memory);
        assert_false(h.memory.dcs[0].barred);
        judge_text_move(&row, 5);
        (void)judge_text_readmit(&row, "d");
        row_fini(&row);
        jh_close(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_keeps),
        cmocka_unit_test(test_looking_remembers_nothing),
        cmocka_unit_test(test_only_new),
        cmocka_unit_test(test_only_new_alone),
        cmocka_unit_test(test_only_new_not_given),
        cmocka_unit_test(test_only_new_maintenance),
        cmocka_unit_test(test_maintenance_only),
        cmocka_unit_test(test_only_new_unknown),
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_fresh_at_once),
        cmocka_unit_test(test_readmit_while_out),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_of_another_spec),
        cmocka_unit_test(test_text_moved),
        cmocka_unit_test(test_text_readmit),
        cmocka_unit_test(test_damaged_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
