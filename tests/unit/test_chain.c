#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/chain.h"

/* Random specs as text, worlds, operators and restarts through the whole
 * chain. DNSFAILOVER_SEED and DNSFAILOVER_CASES repeat a run: a failure names
 * the seed of its case, with DNSFAILOVER_CASES=1. */

#ifdef __SANITIZE_ADDRESS__
#define CASES 10000
#else
#define CASES 100000
#endif
#define TICKS_MOST 24

struct trial {
    uint64_t seed;
    struct state *state; /* in memory */
    struct rs made;
    char *text[RS_DOCS];
    struct spec *spec;
    struct chain ch;
    bool restarts; /* the second run of the same */
    size_t ticks, tick;
    bool first[TICKS_MOST][CH_SETS][CH_VALUES]; /* what the first run showed */
};

static void broken(struct trial *t, const char *what)
{
    const struct plan_zone *z = &t->ch.world->plan;

    for (size_t i = 0; i < t->made.ndocs; i++)
        print_message("%s\n", t->text[i]);
    for (size_t s = 0; s < z->nsets; s++) {
        const struct plan_set *ps = &z->sets[s];

        print_message("%s %s tier %d, hold %d: %s\n", ps->name,
                      spec_type_name(ps->type), ps->decision.tier,
                      (int)ps->hold, plan_reason(ps));
        for (size_t k = 0; k < ps->nvalues; k++) {
            const struct plan_value *v = &ps->values[k];

            print_message("  %s%s healthy %c never_up %d maintenance %d away "
                          "%d shut %d waiting %d held_off %d on %d published "
                          "%d publish %d\n",
                          v->data, v->fallback ? " (fallback)" : "",
                          "UFT"[v->healthy], v -> never_up, v -> maintenance,
                          v -> away, v -> memory -> shut, v -> waiting,
                          v -> memory -> held_off, t -> ch.on[s][k],
                          v->published, v->publish);
        }
    }
    fail_msg("DNSFAILOVER_SEED=%llu DNSFAILOVER_CASES=1: tick %zu%s: not so: "
             "%s",
             (unsigned long long)t->seed, t->tick,
             t->restarts ? " with restarts" : "", what);
}

#define MUST(t, what)                                                          \
    do {                                                                       \
        if (!(what))                                                           \
            broken(t, #what);                                                  \
    } while (0)

/* --- reading -----------------------------------------------------------------
 */

/* In this order of documents; members as texts say. */
static struct spec *parse(struct trial *t, char *const *text,
                          const size_t *order)
{
    struct spec_string strings[RS_DOCS];
    struct spec_txt txts[RS_DOCS];
    struct spec *spec = NULL;
    struct err e;

    for (size_t i = 0; i < t->made.ndocs; i++) {
        strings[i].data = text[order[i]];
        strings[i].len = strlen(text[order[i]]);
        txts[i].strings = &strings[i];
        txts[i].nstrings = 1;
    }
    if (spec_parse(txts, t->made.ndocs, &help_www, &spec, &e) != 0) {
        for (size_t i = 0; i < t->made.ndocs; i++)
            print_message("%s\n", text[i]);
        fail_msg("DNSFAILOVER_SEED=%llu: %s", (unsigned long long)t->seed,
                 e.msg);
    }
    return spec;
}

static void write_all(const struct trial *t, struct rng *r, char **text)
{
    for (size_t i = 0; i < t->made.ndocs; i++) {
        struct buf b;

        buf_init(&b, SPEC_TEXT_MAX);
        rs_write(&t->made.docs[i], r, &b);
        text[i] = buf_take(&b);
    }
}

static void free_texts(const struct trial *t, char **text)
{
    for (size_t i = 0; i < t->made.ndocs; i++)
        free(text[i]);
}

/* The order of documents, of members and of the answer does not matter. */
static void check_order(struct trial *t, struct rng *r)
{
    char *text[RS_DOCS], *a, *b;
    size_t order[RS_DOCS];
    struct spec *other;

    write_all(t, r, text);
    rs_order(r, order, t->made.ndocs);
    other = parse(t, text, order);
    help_same(t->spec, other);
    a = spec_print(t->spec);
    b = spec_print(other);
    if (strcmp(a, b) != 0)
        fail_msg("DNSFAILOVER_SEED=%llu: the order matters:\n%s\n%s",
                 (unsigned long long)t->seed, a, b);
    free(a);
    free(b);
    spec_free(other);
    free_texts(t, text);
}

/* Only what the spec names, at its owner and below. */
static void check_authority(struct trial *t)
{
    const struct plan_zone *z = &t->ch.world->plan;

    for (size_t s = 0; s < z->nsets; s++) {
        const char *tail = strstr(z->sets[s].name, "www.example.org.");

        MUST(t, tail != NULL && strlen(tail) == strlen("www.example.org."));
        for (size_t k = 0; k < z->sets[s].nvalues; k++) {
            char quoted[80];
            bool named = false;

            (void)snprintf(quoted, sizeof quoted, "\"data\":\"%s\"",
                           z->sets[s].values[k].data);
            for (size_t d = 0; d < t->made.ndocs; d++)
                named = named || strstr(t->text[d], quoted) != NULL;
            MUST(t, named);
        }
    }
}

/* --- what always holds
 * --------------------------------------------------------
 */

static void check_reason(struct trial *t, const struct plan_set *ps)
{
    const char *reason = plan_reason(ps);

    MUST(t, reason != NULL && *reason != '\0');
    if (ps->hold != PLAN_FREE || ps->decision.tier == 0)
        MUST(t, strncmp(reason, "held: ", 6) == 0);
    else if (strncmp(reason, "every data centre is in maintenance", 35) != 0)
        MUST(t, strcmp(reason, decide_rule_text(ps->decision.rule)) == 0);
}

static void check_set(struct trial *t, const struct plan_set *ps)
{
    check_reason(t, ps);
    MUST(t, ps->hold == PLAN_FREE || ps->nchanges == 0);
    for (size_t k = 0; k < ps->nvalues; k++) {
        const struct plan_value *v = &ps->values[k];
        int tier = ps->decision.tier;

        MUST(t, v->published == v->publish);
        /* In maintenance, or not let in: only tiers 5 and 6 publish it; a
         * set that is held stays as it is. */
        if (v->published && ps->hold == PLAN_FREE && !v->reclaim_held &&
            v->twin == 0 && !v->fallback && v->maintenance)
            MUST(t, tier == 6 || tier == 0 || tier == 5);
    }
}

static void check_all(struct trial *t)
{
    const struct plan_zone *z = &t->ch.world->plan;

    if (t->ch.broken[0] != '\0')
        broken(t, t->ch.broken);
    for (size_t s = 0; s < z->nsets; s++)
        check_set(t, &z->sets[s]);
}

/* --- running
 * ------------------------------------------------------------------
 */

static void begin(struct trial *t, struct rng *r)
{
    struct chain *ch = &t->ch;

    memset(ch, 0, sizeof *ch);
    ch->spec = t->spec;
    ch->now_ms = CH_START_MS;
    for (size_t i = 0; i < CH_TARGETS; i++)
        ch->target[i] = "TTTTFFL"[rng_below(r, 7)];
    if (t->spec->ndcs > 0 && rng_percent(r, 30))
        ch->agent_dc = t->spec->dcs[0].name;
    ch->state = t->state;
    ch_forget(ch->state);
    for (size_t s = 0; s < CH_SETS; s++)
        for (size_t k = 0; k < CH_VALUES; k++)
            ch->on[s][k] = rng_percent(r, 50);
    ch_build(ch);
    /* Values that are one have one switch. */
    for (size_t s = 0; s < ch->world->plan.nsets; s++)
        for (size_t k = 0; k < ch->world->plan.sets[s].nvalues; k++)
            if (ch->world->plan.sets[s].values[k].twin == 0)
                ch_switch(ch, s, k, ch->on[s][k]);
    ch_drop(ch);
    ch_build(ch);
}

/* What happens before a tick; the same in both runs of a trial. */
static void happen(struct trial *t, struct rng *r)
{
    struct chain *ch = &t->ch;
    uint32_t flips = rng_percent(r, 50) ? rng_below(r, 12) : 0;
    size_t set = rng_below(r, (uint32_t)ch->world->plan.nsets);
    size_t value = rng_below(r, (uint32_t)ch->world->plan.sets[set].nvalues);
    size_t dc = t->spec->ndcs > 0 ? rng_below(r, (uint32_t)t->spec->ndcs) : 0;
    uint32_t what = rng_below(r, 100);

    while (flips-- > 0)
        ch->target[rng_below(r, CH_TARGETS)] = "TTTTFFFFFL"[rng_below(r, 10)];
    if (what < 8)
        ch_hand(ch, set, value);
    else if (what < 14 && t->spec->ndcs > 0)
        ch_maintenance(ch, dc);
    else if (what < 18)
        ch_freeze(ch);
    else if (what < 24 && t->spec->ndcs > 0)
        ch_readmit(ch, dc);
    ch->now_ms += rng_percent(r, 85) ? 10000 : 1000 * (1 + rng_below(r, 500));
}

static void remember_or_compare(struct trial *t)
{
    if (!t->restarts)
        memcpy(t->first[t->tick], t->ch.on, sizeof t->ch.on);
    else
        MUST(t, memcmp(t->first[t->tick], t->ch.on, sizeof t->ch.on) == 0);
}

static void run(struct trial *t, struct rng *r, struct rng *own)
{
    struct chain *ch = &t->ch;

    for (t->tick = 0; t->tick < t->ticks; t->tick++) {
        happen(t, r);
        if (t->restarts && rng_percent(own, 25) && !ch_is_stale(ch))
            ch_restart(ch);
        ch_probe(ch);
        if (t->restarts && rng_percent(own, 25))
            ch_check_whole(ch);
        check_all(t);
        remember_or_compare(t);
    }
}

/* --- when nothing happens
 * -------------------------------------------------------
 */

static bool is_calm(const struct chain *ch)
{
    for (size_t i = 0; i < checks_count(ch->checks); i++)
        if (!health_is_settled(&checks_at(ch->checks, i)->row->health))
            return false;
    for (size_t s = 0; s < ch->world->plan.nsets; s++)
        if (ch->world->plan.sets[s].hold != PLAN_FREE)
            return false;
    return live_next(ch->live) == INT64_MAX;
}

/* A flap that is shorter than the threshold changes nothing. */
static void check_flaps(struct trial *t, struct rng *r)
{
    struct chain *ch = &t->ch;
    size_t n = checks_count(ch->checks), writes = ch->writes;

    if (n == 0 || !is_calm(ch))
        return;
    for (int i = 0; i < 6; i++) {
        struct check *c = checks_at(ch->checks, rng_below(r, (uint32_t)n));
        bool up = c->row->health.state == HEALTH_UP;
        uint32_t need =
            up ? c->spec->required_failure : c->spec->required_success;

        for (uint32_t k = 1; k < need; k++) {
            MUST(t, !live_result(ch->live, c, up ? HEALTH_FAIL : HEALTH_OK,
                                 ch->now_ms));
            ch_step(ch);
            ch->now_ms += 1000;
        }
        MUST(t, !live_result(ch->live, c, up ? HEALTH_OK : HEALTH_FAIL,
                             ch->now_ms));
        ch_step(ch);
    }
    MUST(t, ch->writes == writes);
}

/* The world stands still: after the waits that the spec names nothing changes
 * any more. */
static void check_quiet(struct trial *t)
{
    size_t last = 0, writes;

    for (t->tick = 0; t->tick < 70; t->tick++) {
        writes = t->ch.writes;
        t->ch.now_ms += 120000;
        ch_probe(&t->ch);
        check_all(t);
        last = t->ch.writes != writes ? t->tick : last;
    }
    MUST(t, last < 50);
    ch_check_whole(&t->ch);
    check_all(t);
}

static void remove_file(char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm", ".lock"};

    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char file[96];

        (void)snprintf(file, sizeof file, "%s%s", path, tails[i]);
        (void)unlink(file);
    }
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void play(struct trial *t, bool through_file)
{
    struct rng made = {t->seed}, world = {t->seed ^ 0x5555}, own = {~t->seed};
    struct rng again = world;
    size_t order[RS_DOCS] = {0, 1, 2};
    char dir[] = "/tmp/chain-XXXXXX";

    t->restarts = false;
    rs_make(&t->made, &made);
    write_all(t, NULL, t->text);
    t->spec = parse(t, t->text, order);
    check_order(t, &own);
    t->ticks = 4 + rng_below(&own, TICKS_MOST - 4);
    begin(t, &world);
    check_authority(t);
    run(t, &world, &own);
    check_flaps(t, &own);
    if (t->seed % 8 == 0)
        check_quiet(t);
    ch_close(&t->ch);
    t->restarts = true;
    begin(t, &again);
    if (through_file) {
        ch_drop(&t->ch);
        assert_non_null(mkdtemp(dir));
        (void)snprintf(t->ch.path, sizeof t->ch.path, "%s/state.db", dir);
        ch_open_state(&t->ch);
        ch_build(&t->ch);
    }
    run(t, &again, &own);
    ch_close(&t->ch);
    if (through_file)
        remove_file(t->ch.path);
    spec_free(t->spec);
    free_texts(t, t->text);
}

static void test_chain(void **state)
{
    static struct trial t;
    const uint64_t *seed = *state;
    uint64_t cases = env_number("DNSFAILOVER_CASES", CASES);
    struct err e;

    assert_int_equal(state_open(NULL, false, &t.state, &e), 0);
    for (uint64_t c = 0; c < cases; c++) {
        t.seed = *seed + c;
        play(&t, t.seed % 1000 == 0);
    }
    state_close(t.state);
}

int main(void)
{
    uint64_t seed = env_number("DNSFAILOVER_SEED", (uint64_t)time(NULL) << 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_chain, &seed),
    };

    (void)printf("DNSFAILOVER_SEED=%llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
