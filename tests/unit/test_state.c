#include "tests/unit/state_room.h"
#include "tests/unit/memory_help.h"
#include "tests/unit/state_count.h"

#include "agent/base/clock.h"

/* What is kept from run to run: rows, times, history. Opening, locks and
 * damage are in test_state_file.c. */

#define HOUR_MS (3600 * 1000LL)
#define DAY_MS (24 * HOUR_MS)

/* --- round trip ------------------------------------------------------------
 */

static void fill_value(struct state *s, struct state_value *v)
{
    struct memory_value *m = &v->memory;

    m->seen = m->expected = m->uncertain = m->put_in = true;
    m->held_off = m->created = m->withdrawn = m->pending = true;
    m->damp = 7;
    m->healthy_since_ms = 11;
    for (size_t i = 0; i < MEMORY_EVENTS; i++) {
        memory_writes(m)->withdrawals_ms[i] = 1000 - (int64_t)i;
        memory_writes(m)->reclaims_ms[i] = 2000 - (int64_t)i;
    }
    m->brake_streak = UINT32_MAX;
    memory_writes(m)->last_ms = 13;
    v->published = v->healthy = v->unknown = v->would = true;
    state_note(s, &v->note, "tcp:443 refused");
}

static void fill(struct state *s)
{
    struct state_check *c = state_check_get(s, "tcp 192.0.2.1:443 …");
    struct state_set *set = state_set_get(s, "z.", "www.z.", "A");
    struct state_spec *spec = state_spec_get(s, "z.", "www.z.");
    struct state_zone *z = state_zone_get(s, "z.");

    c->health = (struct health){HEALTH_DOWN, true, true, 5, 6, 7};
    state_note(s, &c->note, "tcp:443 timeout after 1s");
    fill_value(s, value_get(s, "z.", "www.z.", "A", "192.0.2.1"));
    set->memory.brake_since_ms = 17;
    set->memory.tier = 5;
    state_note(s, &set->reason, "held: 'quoted' \"text\" %s ü");
    state_spec_put(s, spec, "\"[{name:x}]\"\n\"more\"\n");
    spec->good_wall_ms = 19;
    spec->gone_ms = 23;
    state_text(&spec->stale, "SERVFAIL");
    for (size_t i = 0; i < 256; i++)
        z->withdrawn_ms[i] = INT64_MAX / 2 - (int64_t)i;
    z->has_serial = true;
    z->serial = UINT32_MAX;
    assert_true(state_problem(s, "z.|records", false, "first"));
}

/* What the state gives back for it, from memory or the file. */
static void expect_texts(struct state *s, const struct state_spec *row,
                         const char *want)
{
    struct err e;
    char *texts = state_spec_texts(s, row, &e);

    assert_string_equal(texts, want);
    free(texts);
}

static void expect_same_value(struct state *s, const struct state_value *got)
{
    struct state_value want;

    memset(&want, 0, sizeof want);
    fill_value(s, &want);
    assert_true(memory_equal(&got->memory, &want.memory));
    assert_true(got->published && got->healthy && got->unknown && got->would);
    assert_string_equal(got->note, want.note);
    state_note(s, &want.note, NULL);
    memory_value_fini(&want.memory);
}

static void expect_filled(struct state *s)
{
    const struct state_check *c = state_check_get(s, "tcp 192.0.2.1:443 …");
    const struct state_set *set = state_set_get(s, "z.", "www.z.", "A");
    const struct state_spec *spec = state_spec_get(s, "z.", "www.z.");
    const struct state_zone *z = state_zone_get(s, "z.");

    assert_int_equal(c->health.state, HEALTH_DOWN);
    assert_true(c->health.ever_up && c->health.last_ok);
    assert_int_equal(c->health.streak, 5);
    assert_int_equal(c->health.since_ms, 6);
    assert_int_equal(c->health.last_ms, 7);
    assert_string_equal(c->note, "tcp:443 timeout after 1s");
    expect_same_value(s, value_get(s, "z.", "www.z.", "A", "192.0.2.1"));
    assert_int_equal(set->memory.brake_since_ms, 17);
    assert_int_equal(set->memory.tier, 5);
    assert_string_equal(set->reason, "held: 'quoted' \"text\" %s ü");
    assert_true(spec->good);
    expect_texts(s, spec, "\"[{name:x}]\"\n\"more\"\n");
    assert_int_equal(spec->good_wall_ms, 19);
    assert_int_equal(spec->gone_ms, 23);
    assert_string_equal(spec->stale, "SERVFAIL");
    for (size_t i = 0; i < 256; i++)
        assert_int_equal(z->withdrawn_ms[i], INT64_MAX / 2 - (int64_t)i);
    assert_true(z->has_serial);
    assert_int_equal(z->serial, UINT32_MAX);
    assert_int_equal(count_checks(s), 1);
    assert_int_equal(count_values(s), 1);
    assert_int_equal(count_sets(s), 1);
    assert_int_equal(count_specs(s), 1);
    assert_int_equal(HASH_COUNT(state_zones(s)), 1);
    assert_int_equal(HASH_COUNT(state_problems(s)), 1);
}

static void test_round_trip(void **state)
{
    struct room r;
    struct state *s;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    assert_false(state_is_lost(s));
    fill(s);
    room_save(s);
    expect_filled(s);
    for (int i = 0; i < 3; i++) {
        state_close(s);
        s = room_state(&r);
        assert_false(state_is_lost(s));
        expect_filled(s);
        assert_false(state_problem(s, "z.|records", false, "first"));
        room_save(s);
    }
    state_close(s);
    room_close(&r);
}

/* Zeroes and NULLs come back as such: nothing known is not something. */
static void test_nothing_known(void **state)
{
    struct room r;
    struct state *s;
    const struct state_value *v;
    const struct memory_value zero = {0};

    (void)state;
    room_open(&r);
    s = room_state(&r);
    (void)value_get(s, "z.", "www.z.", "A", "192.0.2.1");
    (void)state_zone_get(s, "z.");
    (void)state_check_get(s, "k")->health;
    room_save(s);
    state_close(s);
    room_sql(&r, "UPDATE meta SET value='another' WHERE key='boot_id'");
    s = room_state(&r);
    v = value_get(s, "z.", "www.z.", "A", "192.0.2.1");
    assert_memory_equal(&v->memory, &zero, sizeof zero);
    assert_null(v->note);
    assert_false(state_zone_get(s, "z.")->has_serial);
    assert_int_equal(state_zone_get(s, "z.")->withdrawn_ms[0], 0);
    assert_int_equal(state_check_get(s, "k")->health.since_ms, 0);
    state_close(s);
    room_close(&r);
}

static void test_in_memory(void **state)
{
    struct state *s = NULL;
    struct err e;

    (void)state;
    assert_int_equal(state_open(NULL, false, &s, &e), 0);
    assert_false(state_is_lost(s));
    fill(s);
    assert_int_equal(state_save(s, &e), 0);
    expect_filled(s);
    state_close(s);
}

/* --- times -----------------------------------------------------------------
 */

/* Saves times, makes the file one of another boot whose clocks stood
 * elsewhere, loads. wall_ms: how long ago it was saved by the wall clock
 * returns the age, in milliseconds, of a time that was 5 minutes old */
static int64_t age_after_reboot(int64_t wall_ms, int64_t boot_ms)
{
    struct room r;
    struct state *s;
    struct state_value *v;
    char *sql;
    int64_t age;

    room_open(&r);
    s = room_state(&r);
    v = value_get(s, "z.", "www.z.", "A", "192.0.2.1");
    v->memory.healthy_since_ms = boot_ms - 300000;
    memory_writes(&v->memory)->withdrawals_ms[0] = boot_ms - 300000;
    memory_writes(&v->memory)->withdrawals_ms[1] = boot_ms - 400000;
    state_set_get(s, "z.", "www.z.", "A")->memory.brake_since_ms =
        boot_ms - 300000;
    state_spec_get(s, "z.", "www.z.")->gone_ms = boot_ms - 300000;
    state_spec_put(s, state_spec_get(s, "z.", "www.z."), "x");
    state_zone_get(s, "z.")->withdrawn_ms[0] = boot_ms - 300000;
    state_check_get(s, "k")->health.last_ms = boot_ms - 300000;
    state_check_get(s, "k")->health.since_ms = boot_ms - 300000;
    room_save(s);
    state_close(s);
    sql =
        mem_printf("UPDATE meta SET value='another' WHERE key='boot_id';"
                   "UPDATE meta SET value=%lld WHERE key='boot_ms';"
                   "UPDATE meta SET value=%lld WHERE key='wall_ms';",
                   (long long)boot_ms, (long long)(clock_wall_ms() - wall_ms));
    room_sql(&r, sql);
    free(sql);
    s = room_state(&r);
    v = value_get(s, "z.", "www.z.", "A", "192.0.2.1");
    age = state_now_ms() - v->memory.healthy_since_ms;
    assert_int_equal(v->memory.writes->withdrawals_ms[0],
                     v->memory.healthy_since_ms);
    assert_int_equal(v->memory.writes->withdrawals_ms[1],
                     v->memory.healthy_since_ms - 100000);
    assert_int_equal(v->memory.writes->withdrawals_ms[2], 0);
    assert_int_equal(
        state_set_get(s, "z.", "www.z.", "A")->memory.brake_since_ms,
        v->memory.healthy_since_ms);
    assert_int_equal(state_spec_get(s, "z.", "www.z.")->gone_ms,
                     v->memory.healthy_since_ms);
    assert_int_equal(state_zone_get(s, "z.")->withdrawn_ms[0],
                     v->memory.healthy_since_ms);
    assert_int_equal(state_check_get(s, "k")->health.last_ms,
                     v->memory.healthy_since_ms);
    assert_int_equal(state_check_get(s, "k")->health.since_ms,
                     v->memory.healthy_since_ms);
    state_close(s);
    room_close(&r);
    return age;
}

static void expect_age(int64_t got_ms, int64_t want_ms)
{
    if (got_ms < want_ms || got_ms > want_ms + 60000)
        fail_msg("age %lld ms, wanted %lld", (long long)got_ms,
                 (long long)want_ms);
}

static void test_reboot(void **state)
{
    (void)state;
    expect_age(age_after_reboot(0, 900 * DAY_MS), 300000);
    expect_age(age_after_reboot(HOUR_MS, 900 * DAY_MS), 300000 + HOUR_MS);
    expect_age(age_after_reboot(HOUR_MS, 400001), 300000 + HOUR_MS);
    expect_age(age_after_reboot(30 * DAY_MS, 5000), 300000 + 30 * DAY_MS);
}

/* A wall clock that was set back does not make anything younger. */
static void test_clock_set_back(void **state)
{
    (void)state;
    expect_age(age_after_reboot(-10 * HOUR_MS, 900 * DAY_MS), 300000);
    expect_age(age_after_reboot(-3000 * DAY_MS, 400001), 300000);
}

/* Within one boot the wall clock is of no matter. */
static void test_same_boot(void **state)
{
    struct room r;
    struct state *s;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    state_set_get(s, "z.", "www.z.", "A")->memory.brake_since_ms = 12345;
    room_save(s);
    state_close(s);
    room_sql(&r, "UPDATE meta SET value=1 WHERE key='wall_ms'");
    s = room_state(&r);
    assert_int_equal(
        state_set_get(s, "z.", "www.z.", "A")->memory.brake_since_ms, 12345);
    state_close(s);
    room_close(&r);
}

/* --- rows that go, rows that stay ------------------------------------------
 */

static void test_unused_rows_go(void **state)
{
    struct room r;
    struct state *s;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    fill(s);
    (void)value_get(s, "other.", "www.other.", "A", "192.0.2.1");
    (void)state_set_get(s, "other.", "www.other.", "A");
    (void)state_zone_get(s, "other.");
    state_spec_put(s, state_spec_get(s, "other.", "www.other."), "x");
    room_save(s);
    state_close(s);
    s = room_state(&r);
    state_keep_zone(s, "other.");
    state_keep_zone(s, "never.seen.");
    room_save(s);
    state_close(s);
    s = room_state(&r);
    assert_int_equal(count_values(s), 1);
    assert_int_equal(count_sets(s), 1);
    assert_string_equal(state_sets(s)->key, "other.|www.other.|A");
    assert_string_equal(state_sets(s)->values->data, "192.0.2.1");
    assert_int_equal(count_specs(s), 1);
    assert_int_equal(HASH_COUNT(state_zones(s)), 1);
    assert_null(state_problems(s));
    state_drop_spec(s, state_specs(s));
    assert_null(state_specs(s));
    state_close(s);
    room_close(&r);
}

/* Memory has a text until the file has it, and again once the file has not. */
static void test_texts_of_specs(void **state)
{
    struct room r;
    struct state *s;
    struct state_spec *row;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    row = state_spec_get(s, "z.", "www.z.");
    assert_false(row->good);
    state_spec_put(s, row, "first");
    assert_non_null(row->texts);
    expect_texts(s, row, "first");
    room_save(s);
    assert_null(row->texts);
    expect_texts(s, row, "first");
    state_spec_put(s, row, "first");
    assert_null(row->texts);
    state_spec_put(s, row, "second");
    expect_texts(s, row, "second");
    row->good_wall_ms = 7;
    room_save(s);
    row->used = false;
    room_save(s);
    expect_texts(s, row, "second");
    row->used = true;
    room_save(s);
    room_save(s);
    state_close(s);
    s = room_state(&r);
    row = state_specs(s);
    assert_true(row->good);
    assert_null(row->texts);
    assert_int_equal(row->good_wall_ms, 7);
    expect_texts(s, row, "second");
    state_drop_spec(s, row);
    room_save(s);
    state_close(s);
    s = room_state(&r);
    assert_null(state_specs(s));
    state_close(s);
    room_close(&r);
}

/* A transaction that fails lets go of nothing; a file that has lost the text
 * is told of. */
static void test_texts_without_a_file(void **state)
{
    struct room r;
    struct state *s;
    struct state_spec *row;
    struct err e;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    row = state_spec_get(s, "z.", "www.z.");
    state_spec_put(s, row, "text");
    room_sql(&r, "DROP TABLE specs");
    assert_int_equal(state_save(s, &e), -1);
    expect_texts(s, row, "text");
    room_sql(&r, "CREATE TABLE specs(key TEXT PRIMARY KEY, texts TEXT, "
                 "good_wall_ms INT, gone_ms INT, stale TEXT)");
    room_save(s);
    room_sql(&r, "DELETE FROM specs");
    assert_null(state_spec_texts(s, row, &e));
    assert_int_equal(e.code, ERR_LOCAL);
    assert_non_null(strstr(e.msg, "z.|www.z."));
    state_close(s);
    room_close(&r);
}

/* A zone is not kept by one whose name only begins alike. */
static void test_keep_zone_is_exact(void **state)
{
    struct room r;
    struct state *s;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    (void)state_set_get(s, "a.org.", "www.a.org.", "A");
    (void)state_set_get(s, "a.org.uk.", "www.a.org.uk.", "A");
    room_save(s);
    state_close(s);
    s = room_state(&r);
    state_keep_zone(s, "a.org.");
    room_save(s);
    state_close(s);
    s = room_state(&r);
    assert_int_equal(count_sets(s), 1);
    state_close(s);
    room_close(&r);
}

/* A zone may fail for a while: its checks wait a week for it. */
static void test_checks_wait_a_week(void **state)
{
    struct room r;
    struct state *s;
    int64_t now = state_now_ms();

    (void)state;
    room_open(&r);
    s = room_state(&r);
    state_check_get(s, "young")->health.last_ms = now - 6 * DAY_MS;
    state_check_get(s, "old")->health.last_ms = now - 8 * DAY_MS;
    room_save(s);
    state_close(s);
    s = room_state(&r);
    assert_int_equal(count_checks(s), 2);
    room_save(s);
    assert_int_equal(count_checks(s), 1); /* nor does a service keep it */
    state_close(s);
    s = room_state(&r);
    assert_int_equal(count_checks(s), 1);
    assert_string_equal(the_check(s)->key, "young");
    state_close(s);
    room_close(&r);
}

static void test_problems_are_news_once(void **state)
{
    struct room r;
    struct state *s;
    int64_t since;

    (void)state;
    room_open(&r);
    s = room_state(&r);
    assert_true(state_problem(s, "a", false, "text"));
    assert_false(state_problem(s, "a", false, "text"));
    since = state_problems(s)->since_wall_ms;
    assert_true(since > 0);
    room_save(s);
    state_close(s);
    s = room_state(&r);
    assert_false(state_problems(s)->used);
    assert_false(state_problem(s, "a", false, "text"));
    assert_true(state_problem(s, "a", false, "other text"));
    assert_int_equal(state_problems(s)->since_wall_ms, since);
    state_close(s);
    room_close(&r);
}

/* --- history ---------------------------------------------------------------
 */

struct told {
    char text[512];
    size_t n, stop_at;
};

static bool on_event(void *arg, const struct state_event *ev)
{
    struct told *t = arg;
    size_t used = strlen(t->text);

    (void)snprintf(t->text + used, sizeof t->text - used, "%s%s", ev->name,
                   ev->reason);
    t->n++;
    return t->n != t->stop_at;
}

static void add(struct state *s, int64_t wall_ms, const char *name,
                const char *reason)
{
    const struct state_event ev = {wall_ms,     "z.",        name,  "A",
                                   "192.0.2.1", "withdrawn", reason};

    state_event_add(s, &ev);
}

static void expect_history(struct state *s, const char *name, size_t limit,
                           const char *want)
{
    struct told t = {"", 0, 0};
    struct err e;

    assert_int_equal(state_history(s, name, limit, on_event, &t, &e), 0);
    assert_string_equal(t.text, want);
}

static void test_history(void **state)
{
    struct room r;
    struct state *s;
    struct told t = {"", 0, 2};
    struct err e;
    int64_t now = clock_wall_ms();

    (void)state;
    room_open(&r);
    s = room_state(&r);
    add(s, now, "z.", "1 ");
    add(s, now, "www.z.", "2 ");
    add(s, now, "a.www.z.", "3 ");
    add(s, now, "awww.z.", "4 ");
    add(s, now, "a_b.z.", "5 ");
    add(s, now, "x.acb.z.", "6 ");
    add(s, now, "x.a_b.z.", "7 ");
    expect_history(s, NULL, 10, ""); /* not before it is saved */
    room_save(s);
    room_save(s); /* and once */
    expect_history(s, NULL, 10,
                   "x.a_b.z.7 x.acb.z.6 a_b.z.5 awww.z.4 a.www.z.3 www.z.2 "
                   "z.1 ");
    expect_history(s, NULL, 2, "x.a_b.z.7 x.acb.z.6 ");
    expect_history(s, "www.z.", 10, "a.www.z.3 www.z.2 ");
    expect_history(s, "a_b.z.", 10, "x.a_b.z.7 a_b.z.5 ");
    expect_history(s, "%.z.", 10, "");
    expect_history(s, "z.", 3, "x.a_b.z.7 x.acb.z.6 a_b.z.5 ");
    expect_history(s, "nothing.z.", 3, "");
    assert_int_equal(state_history(s, NULL, 9, on_event, &t, &e), 0);
    assert_int_equal(t.n, 2);
    state_close(s);
    s = room_state(&r);
    expect_history(s, "www.z.", 1, "a.www.z.3 ");
    state_close(s);
    room_close(&r);
}

static void test_history_is_pruned(void **state)
{
    struct room r;
    struct state *s;
    int64_t now = clock_wall_ms();

    (void)state;
    room_open(&r);
    s = room_state(&r);
    add(s, now - 401 * DAY_MS, "old.z.", "");
    add(s, now - 399 * DAY_MS, "young.z.", "");
    room_save(s);
    room_save(s);
    expect_history(s, NULL, 10, "young.z.");
    state_close(s);
    room_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_in_memory),
        cmocka_unit_test(test_reboot),
        cmocka_unit_test(test_clock_set_back),
        cmocka_unit_test(test_same_boot),
        cmocka_unit_test(test_unused_rows_go),
        cmocka_unit_test(test_texts_of_specs),
        cmocka_unit_test(test_texts_without_a_file),
        cmocka_unit_test(test_keep_zone_is_exact),
        cmocka_unit_test(test_checks_wait_a_week),
        cmocka_unit_test(test_problems_are_news_once),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_history_is_pruned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
