#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/judge_help.h"

/* The truth of conditions, data centres and records. onlyNew and what is
 * remembered: test_judge_memory.c. */

static const enum tri all_tri[] = {TRI_UNKNOWN, TRI_FALSE, TRI_TRUE};

/* --- Kleene ------------------------------------------------------------------
 */

static void test_tables(void **state)
{
    /* rows and columns: U F T */
    static const char *const and_table[] = {"UFU", "FFF", "UFT"};
    static const char *const or_table[] = {"UUT", "UFT", "TTT"};

    (void)state;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            enum tri x = all_tri[a], y = all_tri[b];

            assert_int_equal(jh_letter(tri_and(x, y)), and_table[a][b]);
            assert_int_equal(jh_letter(tri_or(x, y)), or_table[a][b]);
            assert_int_equal(tri_or(x, y),
                             tri_not(tri_and(tri_not(x), tri_not(y))));
        }
    assert_int_equal(tri_not(TRI_TRUE), TRI_FALSE);
    assert_int_equal(tri_not(TRI_FALSE), TRI_TRUE);
    assert_int_equal(tri_not(TRI_UNKNOWN), TRI_UNKNOWN);
}

/* n of m: what holds however the unknown ones turn out. */
static void test_need(void **state)
{
    (void)state;
    for (size_t t = 0; t < 5; t++)
        for (size_t u = 0; u < 5; u++)
            for (size_t need = 1; need < 9; need++) {
                enum tri want = t >= need       ? TRI_TRUE
                                : t + u >= need ? TRI_UNKNOWN
                                                : TRI_FALSE;

                assert_int_equal(tri_need(need, t, u), want);
            }
    assert_int_equal(tri_need(0, 0, 0), TRI_TRUE); /* AND of nothing */
}

/* --- records and conditions --------------------------------------------------
 */

/* check, if and dc are ANDed; with none of them always healthy. */
static void test_record(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"checks\":{\"c\":\"tcp:1@192.0.2.9\"},"
                "\"dcs\":{\"d\":{\"wanAccess\":[\"tcp:2@192.0.2.9\"]}},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"check\":3,"
                "\"if\":[[\"c\"]],\"dc\":\"d\"},{\"data\":\"192.0.2.2\"}]}");
    JH_EXPECT(&h, "UT");
    for (int bits = 0; bits < 27; bits++) {
        char c[3] = {"UFT"[bits % 3], "UFT"[bits / 3 % 3], "UFT"[bits / 9]};
        char want[3] = "UT", three[2] = "";

        memset(h.memory.truth, 0, h.memory.ntruth * sizeof(enum tri));
        jh_set(&h, "tcp:1@192.0.2.9", &c[0]);
        jh_set(&h, "tcp:2@192.0.2.9", &c[1]);
        three[0] = c[2];
        jh_set(&h, "tcp:3", three);
        if (memchr(c, 'F', 3) != NULL)
            want[0] = 'F';
        else if (memchr(c, 'U', 3) == NULL)
            want[0] = 'T';
        JH_EXPECT(&h, want);
    }
    jh_close(&h);
}

/* All checks of a list must pass. */
static void test_check_list(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":[80,443]}]}");
    jh_set(&h, "tcp:80", "T");
    JH_EXPECT(&h, "U");
    jh_set(&h, "tcp:443", "F");
    JH_EXPECT(&h, "F");
    assert_int_equal(h.records[0].need_failure, 3);
    assert_int_equal(h.records[0].fail_streak, 3);
    jh_set(&h, "tcp:443", "T");
    JH_EXPECT(&h, "T");
    assert_int_equal(h.records[0].need_failure, 0);
    jh_close(&h);
}

/* A check without target is judged at the address of the record whose
 * condition is evaluated, through scenarios of scenarios too. */
static void test_local(void **state)
{
    struct jh h;

    (void)state;
    jh_open(
        &h,
        "{\"checks\":{\"web\":\"tcp:80\",\"db\":\"tcp:5@192.0.2.9\"},"
        "\"scenarios\":{\"in\":[[\"web\"]],\"out\":[[\"in\",\"db\"]]},"
        "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"out\"},"
        "{\"data\":\"192.0.2.2\",\"if\":\"out\"},"
        "{\"data\":\"192.0.2.3\",\"if\":\"!web\"}],"
        "\"fallbackRecords\":[{\"data\":\"192.0.2.4\",\"check\":\"web\"}]}");
    jh_set(&h, "tcp:5@192.0.2.9", "T");
    jh_set(&h, "tcp:80", "TFTF");
    JH_EXPECT(&h, "TFFF");
    jh_set(&h, "tcp:80", "FTFT");
    JH_EXPECT(&h, "FTTT");
    jh_set(&h, "tcp:5@192.0.2.9", "F");
    JH_EXPECT(&h, "FFTT");
    /* What was known at one address says nothing about another. */
    jh_set(&h, "tcp:5@192.0.2.9", "T");
    jh_set(&h, "tcp:80", "UUUU");
    JH_EXPECT(&h, "FTTU");
    jh_close(&h);
}

static void test_need_condition(void **state)
{
    static const char *const rows[] = {"TTF T", "TFF F", "TUF U",
                                       "TTU T", "FFU F", "UUT U",
                                       "NTT T", "NTF U", "NFF F"};
    struct jh h;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char want[2] = {rows[i][4], '\0'};

        jh_open(&h, "{\"checks\":{\"a\":\"tcp:1@192.0.2.9\","
                    "\"b\":\"tcp:2@192.0.2.9\",\"c\":\"tcp:3@192.0.2.9\"},"
                    "\"records\":[{\"data\":\"192.0.2.1\","
                    "\"if\":{\"need\":2,\"of\":[\"a\",\"b\",\"c\"]}}]}");
        jh_set(&h, "tcp:1@192.0.2.9", &rows[i][0]);
        jh_set(&h, "tcp:2@192.0.2.9", &rows[i][1]);
        jh_set(&h, "tcp:3@192.0.2.9", &rows[i][2]);
        /* Only where it is surely down, a check that was never up counts. */
        if (strcmp(rows[i], "NTF U") == 0)
            want[0] = 'N';
        JH_EXPECT(&h, want);
        jh_close(&h);
    }
}

/* (a AND b) OR c, each negated in turn, against all combinations. */
static void test_scenario(void **state)
{
    (void)state;
    for (int neg = 0; neg < 8; neg++)
        for (int bits = 0; bits < 27; bits++) {
            enum tri v[3] = {all_tri[bits % 3], all_tri[bits / 3 % 3],
                             all_tri[bits / 9]};
            char text[400], letter[3], want[2] = "U";
            struct jh h;

            for (int i = 0; i < 3; i++) {
                letter[i] = jh_letter(v[i]);
                v[i] = (neg >> i & 1) != 0 ? tri_not(v[i]) : v[i];
            }
            want[0] = jh_letter(tri_or(tri_and(v[0], v[1]), v[2]));
            (void)snprintf(text, sizeof text,
                           "{\"checks\":{\"a\":\"tcp:1@192.0.2.9\","
                           "\"b\":\"tcp:2@192.0.2.9\","
                           "\"c\":\"tcp:3@192.0.2.9\"},\"scenarios\":{\"s\":"
                           "[[\"%sa\",\"%sb\"],[\"%sc\"]]},\"records\":[{"
                           "\"data\":\"192.0.2.1\",\"if\":\"s\"}]}",
                           (neg & 1) != 0 ? "!" : "", (neg & 2) != 0 ? "!" : "",
                           (neg & 4) != 0 ? "!" : "");
            jh_open(&h, text);
            jh_set(&h, "tcp:1@192.0.2.9", &letter[0]);
            jh_set(&h, "tcp:2@192.0.2.9", &letter[1]);
            jh_set(&h, "tcp:3@192.0.2.9", &letter[2]);
            JH_EXPECT(&h, want);
            jh_close(&h);
        }
}

/* Never up: unknown in every condition, so that a typo causes no DR and no
 * negation; down only for the record that it is the check of. */
static void test_never_up(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"checks\":{\"a\":\"tcp:1@192.0.2.9\"},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"check\":\"a\"},"
                "{\"data\":\"192.0.2.2\",\"if\":\"!a\"},"
                "{\"data\":\"192.0.2.3\",\"if\":\"a\"},"
                "{\"data\":\"192.0.2.4\",\"drCond\":\"!a\"},"
                "{\"data\":\"192.0.2.5\",\"drCond\":[[\"a\"]]}]}");
    jh_set(&h, "tcp:1@192.0.2.9", "N");
    JH_EXPECT(&h, "NUNTT");
    assert_int_equal(h.records[3].dr_cond, TRI_UNKNOWN);
    assert_int_equal(h.records[4].dr_cond, TRI_UNKNOWN);
    jh_set(&h, "tcp:1@192.0.2.9", "F");
    JH_EXPECT(&h, "FTFTT");
    assert_int_equal(h.records[3].dr_cond, TRI_TRUE);
    assert_int_equal(h.records[4].dr_cond, TRI_FALSE);
    jh_set(&h, "tcp:1@192.0.2.9", "T");
    JH_EXPECT(&h, "TFTTT");
    jh_close(&h);
}

/* A dimension whose targets were never up is unknown, too. */
static void test_never_up_dimension(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"dcs\":{\"d\":{\"wanAccess\":[\"tcp:1@192.0.2.9\"]}},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"},"
                "{\"data\":\"192.0.2.2\",\"if\":\"!d\"},"
                "{\"data\":\"192.0.2.3\",\"if\":\"d.noWan\"}]}");
    jh_set(&h, "tcp:1@192.0.2.9", "N");
    JH_EXPECT(&h, "NUU");
    assert_int_equal(h.dcs[0].in_service, TRI_UNKNOWN);
    jh_set(&h, "tcp:1@192.0.2.9", "F");
    JH_EXPECT(&h, "FTT");
    jh_close(&h);
}

/* --- data centres ------------------------------------------------------------
 */

/* One dimension as a letter: - not given. */
static enum spec_dc_state first_that_applies(const char dims[5], bool here)
{
    bool wan = dims[SPEC_WAN] == 'F', lan = dims[SPEC_LAN] == 'F';

    if (here && dims[SPEC_INTERNET] == 'F')
        return SPEC_DC_NO_INTERNET;
    if (dims[SPEC_ACCESS] == 'F' || (wan && lan))
        return SPEC_DC_NO_ACCESS;
    if (wan)
        return SPEC_DC_NO_WAN;
    return lan ? SPEC_DC_NO_LAN : SPEC_DC_OK;
}

/* Every way in which the unknown dimensions may turn out.
 * out: a bit for each state that may be, and for in service (1) or not (2) */
static void possible(char dims[5], bool here, bool needs_lan, unsigned *states,
                     unsigned *service)
{
    char *u = memchr(dims, 'U', 4);
    enum spec_dc_state s;
    bool in;

    if (u != NULL) {
        *u = 'T';
        possible(dims, here, needs_lan, states, service);
        *u = 'F';
        possible(dims, here, needs_lan, states, service);
        *u = 'U';
        return;
    }
    s = first_that_applies(dims, here);
    *states |= 1u << s;
    in = s == SPEC_DC_OK || s == SPEC_DC_NO_LAN;
    /* needs: those that are given. */
    if (needs_lan && dims[SPEC_LAN] == 'F')
        in = false;
    *service |= in ? 1 : 2;
}

static void write_dc(char *text, size_t size, const char *dims, bool needs_lan)
{
    static const char *const names[] = {"wanAccess", "lanAccess", "access",
                                        "internet"};
    size_t n = 0;

    n += (size_t)snprintf(text, size, "{\"dcs\":{\"d\":{");
    for (int d = 0; d < 4; d++)
        if (dims[d] != '-')
            n += (size_t)snprintf(text + n, size - n,
                                  "\"%s\":[\"tcp:%d@192.0.2.9\"],", names[d],
                                  d + 1);
    if (needs_lan)
        n += (size_t)snprintf(text + n, size - n,
                              "\"needs\":[\"wanAccess\",\"lanAccess\"],");
    (void)snprintf(text + n, size - n,
                   "\"comment\":\"\"}},\"records\":[{\"data\":\"192.0.2.1\","
                   "\"dc\":\"d\"}]}");
}

static void check_dc(struct jh *h, const char *dims, bool needs_lan)
{
    unsigned states = 0, service = 0;
    char copy[5], want;

    memcpy(copy, dims, sizeof copy);
    possible(copy, h->agent_dc != NULL && strcmp(h->agent_dc, "d") == 0,
             needs_lan, &states, &service);
    jh_judge(h);
    for (int s = 0; s < SPEC_NDC_STATES; s++) {
        char got = jh_letter(h->dcs[0].states[s]);

        /* What is known is so in every case; without unknowns, all is. */
        want = states == 1u << s ? 'T' : (states >> s & 1) != 0 ? 'U' : 'F';
        if (got != want && !(got == 'U' && strchr(dims, 'U') != NULL))
            fail_msg("dimensions %s: %s is %c, wanted %c", dims,
                     spec_dc_state_name((enum spec_dc_state)s), got, want);
    }
    want = service == 1 ? 'T' : service == 2 ? 'F' : 'U';
    if (jh_letter(h->dcs[0].in_service) != want)
        fail_msg("dimensions %s: in service %c, wanted %c", dims,
                 jh_letter(h->dcs[0].in_service), want);
    assert_int_equal(h->records[0].healthy, h->dcs[0].in_service);
}

/* Every dimension given or not, up, down or unknown; the agent in that data
 * centre, in another one, or nowhere; the LAN needed or not. */
static void test_dc_states(void **state)
{
    static const char *const places[] = {"d", "other", NULL};

    (void)state;
    for (int bits = 0; bits < 256; bits++)
        for (int needs = 0; needs < 2; needs++) {
            char dims[5], text[500];
            struct jh h;

            for (int d = 0; d < 4; d++)
                dims[d] = "-UFT"[bits >> 2 * d & 3];
            dims[4] = '\0';
            if (needs == 1 && (dims[0] == '-' || dims[1] == '-'))
                continue;
            write_dc(text, sizeof text, dims, needs == 1);
            jh_open(&h, text);
            for (int d = 0; d < 4; d++) {
                (void)snprintf(text, sizeof text, "tcp:%d@192.0.2.9", d + 1);
                if (dims[d] != '-')
                    jh_set(&h, text, &dims[d]);
            }
            for (size_t p = 0; p < 3; p++) {
                h.agent_dc = places[p];
                check_dc(&h, dims, needs == 1);
            }
            jh_close(&h);
        }
}

/* need of a dimension: the default is one of its targets. */
static void test_dimension_need(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"dcs\":{\"d\":{\"wanAccess\":[\"tcp:1@192.0.2.8\","
                "\"tcp:1@192.0.2.9\"]},\"e\":{\"lanAccess\":{\"need\":2,"
                "\"of\":[\"tcp:1@192.0.2.8\",\"tcp:1@192.0.2.9\"]},"
                "\"needs\":[\"lanAccess\"]}},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"},"
                "{\"data\":\"192.0.2.2\",\"dc\":\"e\"}]}");
    jh_set(&h, "tcp:1@192.0.2.8", "T");
    jh_set(&h, "tcp:1@192.0.2.9", "F");
    JH_EXPECT(&h, "TF");
    jh_set(&h, "tcp:1@192.0.2.8", "U");
    JH_EXPECT(&h, "UF");
    jh_set(&h, "tcp:1@192.0.2.9", "T");
    JH_EXPECT(&h, "TU");
    jh_close(&h);
}

/* Each dimension, each state and maintenance is a condition. */
static void test_dc_conditions(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"dcs\":{\"d\":{\"wanAccess\":[\"tcp:1@192.0.2.9\"],"
                "\"lanAccess\":[\"tcp:2@192.0.2.9\"]}},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"if\":\"d\"},"
                "{\"data\":\"192.0.2.2\",\"if\":\"!d\"},"
                "{\"data\":\"192.0.2.3\",\"if\":\"d.ok\"},"
                "{\"data\":\"192.0.2.4\",\"if\":\"d.noLan\"},"
                "{\"data\":\"192.0.2.5\",\"if\":\"d.noWan\"},"
                "{\"data\":\"192.0.2.6\",\"if\":\"d.noAccess\"},"
                "{\"data\":\"192.0.2.7\",\"if\":\"auto|d|wanAccess\"},"
                "{\"data\":\"192.0.2.8\",\"if\":\"!auto|d|lanAccess\"},"
                "{\"data\":\"192.0.2.9\",\"if\":\"auto|d|maintenanceMode\"}]}");
    jh_set(&h, "tcp:1@192.0.2.9", "T");
    jh_set(&h, "tcp:2@192.0.2.9", "T");
    JH_EXPECT(&h, "TFTFFFTFF");
    jh_set(&h, "tcp:2@192.0.2.9", "F");
    JH_EXPECT(&h, "TFFTFFTTF");
    jh_set(&h, "tcp:1@192.0.2.9", "F");
    JH_EXPECT(&h, "FTFFFTFTF");
    jh_set(&h, "tcp:2@192.0.2.9", "T");
    JH_EXPECT(&h, "FTFFTFFFF");
    /* Out on purpose: not in service; what its dimensions say is as it is. */
    jh_set(&h, "tcp:1@192.0.2.9", "T");
    h.maintenance = "d ";
    JH_EXPECT(&h, "FTTFFFTFT");
    jh_close(&h);
}

/* Out at once, whatever the checks say; by the spec or by the operator. */
static void test_maintenance(void **state)
{
    static const char *const letters[] = {"T", "F", "U", "N"};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int by = 0; by < 2; by++) {
            char text[300];
            struct jh h;

            (void)snprintf(text, sizeof text,
                           "{\"dcs\":{\"d\":{\"wanAccess\":["
                           "\"tcp:1@192.0.2.9\"],\"maintenanceMode\":%s},"
                           "\"dd\":{\"wanAccess\":[\"tcp:1@192.0.2.9\"]}},"
                           "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"},"
                           "{\"data\":\"192.0.2.2\",\"dc\":\"dd\"}]}",
                           by == 0 ? "true" : "false");
            jh_open(&h, text);
            if (by == 1)
                h.maintenance = "d ";
            jh_set(&h, "tcp:1@192.0.2.9", letters[i]);
            jh_judge(&h);
            assert_int_equal(h.records[0].healthy, TRI_FALSE);
            assert_true(h.records[0].maintenance);
            assert_false(h.records[0].never_up);
            assert_true(h.dcs[0].maintenance);
            assert_false(h.records[1].maintenance);
            assert_int_equal(jh_letter(h.records[1].healthy),
                             letters[i][0] == 'N' ? 'F' : letters[i][0]);
            jh_close(&h);
        }
}

static void test_passive(void **state)
{
    struct jh h;

    (void)state;
    jh_open(&h, "{\"dcs\":{\"d\":{\"noResponse\":true},\"e\":{}},"
                "\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"d\"},"
                "{\"data\":\"192.0.2.2\",\"dc\":\"e\"}]}");
    JH_EXPECT(&h, "TT"); /* no dimension given: in service */
    assert_true(h.records[0].passive);
    assert_false(h.records[1].passive);
    jh_close(&h);
}

/* For explain: one condition, as last judged; nothing is remembered by it. */
static void test_judge_cond(void **state)
{
    struct jh h;
    struct judge_env env;

    (void)state;
    jh_open(&h, "{\"checks\":{\"a\":\"tcp:1\"},\"records\":["
                "{\"data\":\"192.0.2.1\",\"if\":\"!a\"},"
                "{\"data\":\"192.0.2.2\",\"if\":\"!a\"}]}");
    jh_set(&h, "tcp:1", "TF");
    JH_EXPECT(&h, "FT");
    env = jh_env(&h);
    for (long place = 0; place < 2; place++)
        assert_int_equal(
            judge_cond(h.spec, &env, &h.memory, h.dcs,
                       spec_rare_of(&h.spec->sets[0].records[place])->when,
                       place),
            place == 0 ? TRI_FALSE : TRI_TRUE);
    jh_close(&h);
}

/* For the brake: how long and how often the checks behind it have failed,
 * also those of data centres that a condition names; where none fails, one
 * period of what it names; nothing where no check stands behind it. */
static void test_blame(void **state)
{
    static const struct {
        const char *when;
        uint32_t need;
        int64_t period_ms;
    } rows[] = {
        {"\"a\"", 3, 10000},
        {"\"d\"", 3, 10000},
        {"\"d.ok\"", 3, 10000},
        {"\"auto|d|wanAccess\"", 3, 10000},
        {"\"s\"", 3, 10000},
        {"[[\"b\",\"d\"]]", 3, 10000},
        {"\"!b\"", 0, 10000},
        {"\"!e\"", 0, 10000},
        {"\"auto|d|maintenanceMode\"", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[500];
        struct jh h;

        (void)snprintf(text, sizeof text,
                       "{\"checks\":{\"a\":\"tcp:1@192.0.2.9\","
                       "\"b\":\"tcp:2@192.0.2.9\"},\"dcs\":{\"d\":{"
                       "\"wanAccess\":[\"tcp:3@192.0.2.9\"]},\"e\":{"
                       "\"wanAccess\":[\"tcp:2@192.0.2.9\"]}},"
                       "\"scenarios\":{\"s\":[[\"a\",\"!b\"]]},"
                       "\"records\":[{\"data\":\"192.0.2.1\",\"if\":%s}]}",
                       rows[i].when);
        jh_open(&h, text);
        for (size_t c = 0; c < h.spec->nchecks; c++)
            h.state[c][0] = h.spec->checks[c].port == 2 ? 'T' : 'F';
        JH_EXPECT(&h, "F");
        assert_int_equal(h.records[0].need_failure, rows[i].need);
        assert_int_equal(h.records[0].fail_streak, rows[i].need);
        assert_int_equal(h.records[0].access_period_ms, rows[i].period_ms);
        jh_close(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_check_list),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_need_condition),
        cmocka_unit_test(test_scenario),
        cmocka_unit_test(test_never_up),
        cmocka_unit_test(test_never_up_dimension),
        cmocka_unit_test(test_dc_states),
        cmocka_unit_test(test_dimension_need),
        cmocka_unit_test(test_dc_conditions),
        cmocka_unit_test(test_maintenance),
        cmocka_unit_test(test_passive),
        cmocka_unit_test(test_judge_cond),
        cmocka_unit_test(test_blame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
