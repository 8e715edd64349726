#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "agent/engine/decide/decide.h"

/* Worlds as text: one word for each record in chain order, T F U for what is
 * known of its health, then p published, n never up, w waiting, h held off,
 * b barred; v of a passive data centre; DR: r drIfNoRecords, t f u its drCond
 * as known (none of the three: it has none). Wanted: one digit for each
 * record, those of the fallback after the bar. */

#define MOST 8

struct row {
    enum spec_order order;
    uint32_t take;
    enum spec_all_down all_down;
    const char *values, *fallback;
    int tier;
    enum decide_rule rule;
    const char *want;
};

static struct decide_value *read_dr(struct decide_value *v, enum tri cond)
{
    v->class = DECIDE_DR;
    v->dr_cond = cond;
    return v;
}

static size_t read_values(const char *text, struct decide_value *v)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        switch (*text) {
        case 'T':
        case 'F':
        case 'U':
            assert_true(n < MOST);
            memset(&v[n], 0, sizeof v[n]);
            v[n].dr_cond = TRI_FALSE;
            v[n++].healthy = *text == 'T'   ? TRI_TRUE
                             : *text == 'F' ? TRI_FALSE
                                            : TRI_UNKNOWN;
            break;
        case 'p':
            v[n - 1].published = true;
            break;
        case 'n':
            v[n - 1].never_up = true;
            break;
        case 'w':
            v[n - 1].waiting = true;
            break;
        case 'h':
            v[n - 1].held_off = true;
            break;
        case 'b':
            v[n - 1].barred = true;
            break;
        case 'v':
            v[n - 1].class = DECIDE_PASSIVE;
            break;
        case 'r':
            read_dr(&v[n - 1], v[n - 1].dr_cond)->dr_if_no_records = true;
            break;
        case 't':
            read_dr(&v[n - 1], TRI_TRUE);
            break;
        case 'f':
            read_dr(&v[n - 1], TRI_FALSE);
            break;
        case 'u':
            read_dr(&v[n - 1], TRI_UNKNOWN);
            break;
        default:
            assert_int_equal(*text, ' ');
        }
    }
    return n;
}

static void check_set(const struct row *r, bool single)
{
    struct decide_value v[MOST], f[MOST];
    struct decide_set set = {.order = r->order,
                             .take = r->take,
                             .single = single,
                             .all_down = r->all_down,
                             .values = v,
                             .fallback = f};
    bool publish[2 * MOST];
    char got[2 * MOST + 2];
    struct decision d;
    size_t n = 0;

    set.nvalues = read_values(r->values, v);
    set.nfallback = read_values(r->fallback, f);
    d = decide_set(&set, publish);
    for (size_t i = 0; i < set.nvalues + set.nfallback; i++) {
        if (i == set.nvalues)
            got[n++] = '|';
        got[n++] = publish[i] ? '1' : '0';
    }
    got[n] = '\0';
    if (strcmp(got, r->want) != 0 || d.tier != r->tier || d.rule != r->rule)
        fail_msg("values \"%s\" fallback \"%s\" order %d take %u allDown %d: "
                 "got %s, tier %d, %s; want %s, tier %d, %s",
                 r->values, r->fallback, (int)r->order, r->take,
                 (int)r->all_down, got, d.tier, decide_rule_text(d.rule),
                 r->want, r->tier, decide_rule_text(r->rule));
}

static void check_row(const struct row *r)
{
    check_set(r, false);
}

#define CHECK(rows)                                                            \
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows)[0]; i++)                \
    check_row(&(rows)[i])

static void test_tier_1(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_KEEP, "T", "", 1, DECIDE_HEALTHY, "1"},
        {SPEC_ALL, 0, SPEC_KEEP, "Tp T Fp F", "", 1, DECIDE_HEALTHY, "1100"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp T", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "F Tp", "", 1, DECIDE_HEALTHY, "01"},
        /* With somebody in tier 1 the fallback goes. */
        {SPEC_ALL, 0, SPEC_KEEP, "T F", "Tp T", 1, DECIDE_HEALTHY, "10|00"},
        {SPEC_PRIORITY, 0, SPEC_KEEP, "F T T", "Tp", 1, DECIDE_HEALTHY,
         "010|0"},
    };

    (void)state;
    CHECK(rows);
}

static void test_order_and_take(void **state)
{
    static const struct row rows[] = {
        {SPEC_PRIORITY, 0, SPEC_KEEP, "T Tp T", "", 1, DECIDE_HEALTHY, "100"},
        {SPEC_PRIORITY, 0, SPEC_KEEP, "Fp Tp T", "", 1, DECIDE_HEALTHY, "010"},
        {SPEC_PRIORITY, 2, SPEC_KEEP, "T F T T", "", 1, DECIDE_HEALTHY, "1010"},
        {SPEC_PRIORITY, 9, SPEC_KEEP, "T F T T", "", 1, DECIDE_HEALTHY, "1011"},
        {SPEC_ALL, 1, SPEC_KEEP, "F T T", "", 1, DECIDE_HEALTHY, "010"},
        {SPEC_ALL, 2, SPEC_KEEP, "T T T", "", 1, DECIDE_HEALTHY, "110"},
        {SPEC_ALL, 3, SPEC_KEEP, "T F T", "", 1, DECIDE_HEALTHY, "101"},
        {SPEC_ALL, 1, SPEC_NONE, "F", "T T", 5, DECIDE_FALLBACK, "0|10"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "F", "F T T", 5, DECIDE_FALLBACK,
         "0|010"},
        {SPEC_PRIORITY, 2, SPEC_NONE, "F", "T T T", 5, DECIDE_FALLBACK,
         "0|110"},
        /* allDown: all means every record. */
        {SPEC_PRIORITY, 1, SPEC_DOWN_ALL, "Fp F F", "", 6, DECIDE_ALL_DOWN_ALL,
         "111"},
        {SPEC_PRIORITY, 0, SPEC_KEEP, "Tw Tw", "", 4, DECIDE_WAITING, "10"},
        {SPEC_ALL, 0, SPEC_KEEP, "Tw Tw", "", 4, DECIDE_WAITING, "11"},
    };

    (void)state;
    CHECK(rows);
}

/* Up for what is published, down for what is not. */
static void test_unknown(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "Up", "T", 0, DECIDE_HOLD_UNKNOWN, "1|0"},
        {SPEC_ALL, 0, SPEC_NONE, "U", "T", 0, DECIDE_HOLD_UNKNOWN, "0|0"},
        {SPEC_ALL, 0, SPEC_NONE, "U", "Tp", 0, DECIDE_HOLD_UNKNOWN, "0|1"},
        {SPEC_ALL, 0, SPEC_NONE, "Up U", "", 0, DECIDE_HOLD_UNKNOWN, "10"},
        {SPEC_ALL, 0, SPEC_KEEP, "Up T", "", 1, DECIDE_HEALTHY, "11"},
        {SPEC_ALL, 0, SPEC_KEEP, "U Tp", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_KEEP, "Up Fp", "", 1, DECIDE_HEALTHY, "10"},
        /* The last one that counts is not taken out for an unknown one. */
        {SPEC_ALL, 0, SPEC_NONE, "U Fp", "T", 0, DECIDE_HOLD_UNKNOWN, "01|0"},
        {SPEC_ALL, 0, SPEC_NONE, "U F", "Tp", 0, DECIDE_HOLD_UNKNOWN, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "U Tw", "", 0, DECIDE_HOLD_UNKNOWN, "00"},
        /* Starting the agent changes nothing by itself: without any verdict
         * the chain is no reason either. */
        {SPEC_PRIORITY, 0, SPEC_KEEP, "Up Up", "", 0, DECIDE_HOLD_UNKNOWN,
         "11"},
        {SPEC_ALL, 1, SPEC_KEEP, "U Up Up", "", 0, DECIDE_HOLD_UNKNOWN, "011"},
        {SPEC_PRIORITY, 0, SPEC_KEEP, "Up", "Tp", 0, DECIDE_HOLD_UNKNOWN,
         "1|1"},
        /* With one it is. */
        {SPEC_PRIORITY, 0, SPEC_KEEP, "Up Tp", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_PRIORITY, 0, SPEC_KEEP, "T Up", "", 1, DECIDE_HEALTHY, "10"},
        /* The fallback, likewise. */
        {SPEC_ALL, 0, SPEC_NONE, "F", "U", 0, DECIDE_HOLD_UNKNOWN, "0|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp", "U", 0, DECIDE_HOLD_UNKNOWN, "1|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Up U", 5, DECIDE_FALLBACK, "0|10"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "U T", 5, DECIDE_FALLBACK, "0|01"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "F", "F U", 0, DECIDE_HOLD_UNKNOWN,
         "0|00"},
    };

    (void)state;
    CHECK(rows);
}

static void test_never_up(void **state)
{
    static const struct row rows[] = {
        /* Alone it takes nothing out, and is no reason for a lower tier. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp", "T", 0, DECIDE_HOLD_NEVER_UP, "1|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Fn", "T", 0, DECIDE_HOLD_NEVER_UP, "0|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Fnp", "T", 0, DECIDE_HOLD_NEVER_UP,
         "11|0"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "Fnp Fnp", "", 0, DECIDE_HOLD_NEVER_UP,
         "11"},
        {SPEC_ALL, 0, SPEC_NONE, "Fn Fp", "T", 0, DECIDE_HOLD_NEVER_UP, "01|0"},
        /* Another one that is surely up makes it count. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Tp", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Fnp T", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Fnp T", "", 1, DECIDE_HEALTHY, "001"},
        /* Unknown is not surely, neither is one that is held off or waits. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Up", "", 0, DECIDE_HOLD_UNKNOWN, "11"},
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Th", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Tw", "", 1, DECIDE_HEALTHY, "10"},
        /* A dead one beside it goes: this one may well be alive. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Fp", "T", 1, DECIDE_HEALTHY, "10|0"},
        /* A healthy fallback makes nobody count in the tiers above it. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp", "Tp", 0, DECIDE_HOLD_NEVER_UP, "1|1"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Fn", 0, DECIDE_HOLD_NEVER_UP, "0|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Fnp", 5, DECIDE_FALLBACK, "0|1"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Fnp T", 5, DECIDE_FALLBACK, "0|01"},
        {SPEC_ALL, 0, SPEC_NONE, "U Fn", "", 0, DECIDE_HOLD_UNKNOWN, "00"},
    };

    (void)state;
    CHECK(rows);
}

static void test_held_off(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "Th Tp", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "Th T", "", 1, DECIDE_HEALTHY, "01"},
        /* Everything was switched off: that is a wish, no outage. */
        {SPEC_ALL, 0, SPEC_NONE, "Th Th", "T", 0, DECIDE_HOLD_HANDS, "00|0"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "Uh", "T", 0, DECIDE_HOLD_HANDS, "0|0"},
        {SPEC_ALL, 0, SPEC_KEEP, "Th Fp", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "Th F", "", 6, DECIDE_ALL_DOWN_ALL, "01"},
        {SPEC_ALL, 0, SPEC_KEEP, "F", "Th T", 5, DECIDE_FALLBACK, "0|01"},
        {SPEC_ALL, 0, SPEC_KEEP, "Fp", "Th", 6, DECIDE_ALL_DOWN_KEEP, "1|0"},
    };

    (void)state;
    CHECK(rows);
}

static void test_waiting(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "Tw T", "T", 1, DECIDE_HEALTHY, "01|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Tw F", "T", 4, DECIDE_WAITING, "10|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Tw Fp", "T", 4, DECIDE_WAITING, "10|0"},
        /* What is published does not wait any more. */
        {SPEC_ALL, 0, SPEC_NONE, "Twp F", "T", 1, DECIDE_HEALTHY, "10|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Tw Up", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Twh Tw", "", 4, DECIDE_WAITING, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Tw", 5, DECIDE_FALLBACK, "0|1"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Tw T", 5, DECIDE_FALLBACK, "0|01"},
    };

    (void)state;
    CHECK(rows);
}

static void test_fallback(void **state)
{
    static const struct row rows[] = {
        /* Without a check a record is always healthy. */
        {SPEC_ALL, 0, SPEC_NONE, "Fp Fp", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp", "F T", 5, DECIDE_FALLBACK, "0|01"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Fp T", 5, DECIDE_FALLBACK, "0|01"},
        {SPEC_ALL, 0, SPEC_KEEP, "F", "F Fp", 6, DECIDE_ALL_DOWN_KEEP, "0|01"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp", "Fp", 6, DECIDE_ALL_DOWN_NONE, "0|0"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "F F", "Fp", 6, DECIDE_ALL_DOWN_ALL,
         "11|0"},
    };

    (void)state;
    CHECK(rows);
}

static void test_all_down(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_KEEP, "Fp F Fp", "", 6, DECIDE_ALL_DOWN_KEEP, "101"},
        {SPEC_ALL, 0, SPEC_KEEP, "F F", "", 6, DECIDE_ALL_DOWN_KEEP, "00"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "Fp F", "", 6, DECIDE_ALL_DOWN_ALL, "11"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp F", "", 6, DECIDE_ALL_DOWN_NONE, "00"},
        {SPEC_PRIORITY, 0, SPEC_KEEP, "Fp Fp", "", 6, DECIDE_ALL_DOWN_KEEP,
         "11"},
    };

    (void)state;
    CHECK(rows);
}

/* A set that names only fallback records, or nothing: left alone. */
static void test_empty(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "", "", 0, DECIDE_HOLD_EMPTY, ""},
        {SPEC_ALL, 0, SPEC_NONE, "", "Tp", 0, DECIDE_HOLD_EMPTY, "|1"},
        {SPEC_ALL, 0, SPEC_NONE, "", "T", 0, DECIDE_HOLD_EMPTY, "|0"},
    };

    (void)state;
    CHECK(rows);
}

/* noResponse data centres: silent while tier 1 has someone. */
static void test_passive(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "T Tv", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "Tvp Tp", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp Tv Tv", "T", 2, DECIDE_RESERVE, "011|0"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "F Tv Tv", "", 2, DECIDE_RESERVE, "010"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "Tv T", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 1, SPEC_NONE, "F Fv Tv Tv", "", 2, DECIDE_RESERVE, "0010"},
        {SPEC_ALL, 0, SPEC_NONE, "Tv", "", 2, DECIDE_RESERVE, "1"},
        /* No step down while a record above has no verdict. */
        {SPEC_ALL, 0, SPEC_NONE, "U Tv", "", 0, DECIDE_HOLD_UNKNOWN, "00"},
        {SPEC_ALL, 0, SPEC_NONE, "U Tvp", "", 0, DECIDE_HOLD_UNKNOWN, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Up Tv", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "F Uv", "T", 0, DECIDE_HOLD_UNKNOWN, "00|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F Uvp", "T", 2, DECIDE_RESERVE, "01|0"},
        {SPEC_ALL, 0, SPEC_NONE, "T Uv", "", 1, DECIDE_HEALTHY, "10"},
        /* Never up: gone while one of tiers 1 and 2 is surely up. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Tv", "", 2, DECIDE_RESERVE, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp Fnv", "T", 0, DECIDE_HOLD_NEVER_UP,
         "10|0"},
        /* Tier 4 comes after tier 2. */
        {SPEC_ALL, 0, SPEC_NONE, "Tw Tv", "", 2, DECIDE_RESERVE, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "F Twv", "T", 4, DECIDE_WAITING, "01|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Tw Twv", "T", 4, DECIDE_WAITING, "10|0"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "F Fv", "", 6, DECIDE_ALL_DOWN_ALL, "11"},
    };

    (void)state;
    CHECK(rows);
}

static void test_dr_if_no_records(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "T Tr", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "Tp Trp", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp Tr", "T", 3, DECIDE_RECOVERY, "01|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tv Tr", "", 2, DECIDE_RESERVE, "010"},
        {SPEC_ALL, 0, SPEC_NONE, "F Fv Tr Tr", "", 3, DECIDE_RECOVERY, "0011"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "F Tr Tr", "", 3, DECIDE_RECOVERY, "010"},
        {SPEC_ALL, 0, SPEC_NONE, "F Fr", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "U Tr", "", 0, DECIDE_HOLD_UNKNOWN, "00"},
        {SPEC_ALL, 0, SPEC_NONE, "F Uv Tr", "", 0, DECIDE_HOLD_UNKNOWN, "000"},
        {SPEC_ALL, 0, SPEC_NONE, "F Ur", "T", 0, DECIDE_HOLD_UNKNOWN, "00|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F Urp", "T", 3, DECIDE_RECOVERY, "01|0"},
        /* A check that has never been up causes no DR. */
        {SPEC_ALL, 0, SPEC_NONE, "Fnp Tr", "T", 1, DECIDE_HEALTHY, "10|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Fn Tr", "T", 0, DECIDE_HOLD_NEVER_UP, "00|0"},
        {SPEC_ALL, 0, SPEC_NONE, "Fn Trp", "", 0, DECIDE_HOLD_NEVER_UP, "01"},
        /* DR is better than waiting; among those that wait it is last. */
        {SPEC_ALL, 0, SPEC_NONE, "Tw Tr", "", 3, DECIDE_RECOVERY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Tw Twr", "", 4, DECIDE_WAITING, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "F Twr", "T", 4, DECIDE_WAITING, "01|0"},
        /* allDown: all is every record of tiers 1 and 2. */
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "F Fv Frp", "", 6, DECIDE_ALL_DOWN_ALL,
         "110"},
        {SPEC_ALL, 0, SPEC_NONE, "Tr", "", 3, DECIDE_RECOVERY, "1"},
        /* Without any the set stays: only allDown: none empties one. */
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "Frp Fr", "", 6, DECIDE_HOLD_NOBODY, "10"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "Fr", "Fp F", 6, DECIDE_HOLD_NOBODY,
         "0|10"},
    };

    (void)state;
    CHECK(rows);
}

static void test_dr_cond(void **state)
{
    static const struct row rows[] = {
        /* True: it stands in tier 1 with the others. */
        {SPEC_ALL, 0, SPEC_NONE, "T Tt", "", 1, DECIDE_HEALTHY, "11"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tt", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tv Tt", "", 1, DECIDE_HEALTHY, "001"},
        {SPEC_PRIORITY, 0, SPEC_NONE, "Tt T", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "F Ft", "T", 5, DECIDE_FALLBACK, "00|1"},
        /* False, and no drIfNoRecords: never. */
        {SPEC_ALL, 0, SPEC_NONE, "F Tf", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "T Tfp", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "F Twf", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "Fp Tf", "", 6, DECIDE_ALL_DOWN_NONE, "00"},
        /* Both are given: either. */
        {SPEC_ALL, 0, SPEC_NONE, "T Ttr", "", 1, DECIDE_HEALTHY, "11"},
        {SPEC_ALL, 0, SPEC_NONE, "T Tfr", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tfr", "", 3, DECIDE_RECOVERY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "F Twfr", "T", 4, DECIDE_WAITING, "01|0"},
        /* Unknown counts as up for what is published, as down else; and no
         * step down while it may still stand in tier 1. */
        {SPEC_ALL, 0, SPEC_NONE, "T Tu", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "T Tup", "", 1, DECIDE_HEALTHY, "11"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tup", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tu", "T", 0, DECIDE_HOLD_UNKNOWN, "00|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tur", "T", 0, DECIDE_HOLD_UNKNOWN, "00|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tu Tv", "", 0, DECIDE_HOLD_UNKNOWN, "000"},
        {SPEC_ALL, 0, SPEC_NONE, "F Fu", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "F Ut", "T", 0, DECIDE_HOLD_UNKNOWN, "00|0"},
        {SPEC_ALL, 0, SPEC_NONE, "F Uf", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "Twt F", "T", 4, DECIDE_WAITING, "10|0"},
    };

    (void)state;
    CHECK(rows);
}

/* Not let in: healthy, and as if it were down; only allDown: all takes it. */
static void test_barred(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "Tb T", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Tbp T", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Tb F", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_NONE, "Tb Tv", "", 2, DECIDE_RESERVE, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Tb Tr", "", 3, DECIDE_RECOVERY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Tbw Tw", "", 4, DECIDE_WAITING, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Ub T", "", 1, DECIDE_HEALTHY, "01"},
        {SPEC_ALL, 0, SPEC_NONE, "Ub F", "T", 5, DECIDE_FALLBACK, "00|1"},
        {SPEC_ALL, 0, SPEC_KEEP, "Tb Fp", "", 6, DECIDE_ALL_DOWN_KEEP, "01"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "Tb Fp", "", 6, DECIDE_ALL_DOWN_ALL, "11"},
        {SPEC_ALL, 0, SPEC_NONE, "Fn Tb", "", 0, DECIDE_HOLD_NEVER_UP, "00"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Tb T", 5, DECIDE_FALLBACK, "0|01"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "Tb", 6, DECIDE_ALL_DOWN_NONE, "0|0"},
    };

    (void)state;
    CHECK(rows);
}

/* A CNAME set publishes one value at most, whatever order and take say; to
 * keep is to keep. */
static void test_single(void **state)
{
    static const struct row rows[] = {
        {SPEC_ALL, 0, SPEC_NONE, "T T", "", 1, DECIDE_HEALTHY, "10"},
        {SPEC_ALL, 3, SPEC_NONE, "F T T", "", 1, DECIDE_HEALTHY, "010"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tv Tv", "", 2, DECIDE_RESERVE, "010"},
        {SPEC_ALL, 0, SPEC_NONE, "F Tr Tr", "", 3, DECIDE_RECOVERY, "010"},
        {SPEC_ALL, 0, SPEC_NONE, "Tw Tw", "", 4, DECIDE_WAITING, "10"},
        {SPEC_ALL, 0, SPEC_NONE, "F", "T T", 5, DECIDE_FALLBACK, "0|10"},
        {SPEC_ALL, 0, SPEC_DOWN_ALL, "F Fp", "", 6, DECIDE_ALL_DOWN_ALL, "10"},
        {SPEC_ALL, 0, SPEC_KEEP, "F Fp", "", 6, DECIDE_ALL_DOWN_KEEP, "01"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_set(&rows[i], true);
}

static void test_tri(void **state)
{
    static const enum tri all[] = {TRI_UNKNOWN, TRI_FALSE, TRI_TRUE};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(tri_and(all[i], TRI_FALSE), TRI_FALSE);
        assert_int_equal(tri_and(TRI_FALSE, all[i]), TRI_FALSE);
        assert_int_equal(tri_and(all[i], TRI_TRUE), all[i]);
        assert_int_equal(tri_and(TRI_TRUE, all[i]), all[i]);
    }
    assert_int_equal(tri_and(TRI_UNKNOWN, TRI_UNKNOWN), TRI_UNKNOWN);
}

static void test_texts(void **state)
{
    (void)state;
    for (int r = DECIDE_HEALTHY; r <= DECIDE_HOLD_NOBODY; r++) {
        const char *text = decide_rule_text((enum decide_rule)r);
        bool holds =
            strncmp(text, "held: ", 6) == 0 || r == (int)DECIDE_ALL_DOWN_KEEP;

        assert_true(strlen(text) > 0);
        assert_int_equal(decide_rule_holds((enum decide_rule)r), holds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tier_1),
        cmocka_unit_test(test_order_and_take),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_never_up),
        cmocka_unit_test(test_held_off),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_fallback),
        cmocka_unit_test(test_all_down),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_tri),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_passive),
        cmocka_unit_test(test_dr_if_no_records),
        cmocka_unit_test(test_dr_cond),
        cmocka_unit_test(test_barred),
        cmocka_unit_test(test_single),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
