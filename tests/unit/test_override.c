#include <inttypes.h>

#include "agent/engine/state/judge_text.h"
#include "agent/engine/world/override.h"
#include "tests/unit/state_count.h"
#include "tests/unit/state_room.h"

/* The operator's overrides: rows, their end, the freeze file, readmit, and
 * what surrounds a command that changes the state. */

#define HOUR_MS (3600 * 1000LL)

/* --- rows ---------------------------------------------------------------- */

static struct state *memory(void)
{
    struct state *s = NULL;
    struct err e;

    assert_int_equal(state_open(NULL, false, &s, &e), 0);
    return s;
}

static void test_split(void **state)
{
    struct state *s = memory();
    struct override o;
    struct state_override *row;

    (void)state;
    state_override_set(s, "maintenance", "example.org.", "dc1", 0, "alice");
    row = state_override_find(s, "maintenance", "example.org.", "dc1", 1);
    assert_non_null(row);
    assert_true(override_split(row, &o));
    assert_string_equal(o.kind, "maintenance");
    assert_string_equal(o.zone, "example.org.");
    assert_string_equal(o.what, "dc1");
    state_close(s);
}

static void test_split_refuses_others(void **state)
{
    static const char *const keys[] = {"", "freeze", "freeze|*",
                                       "a-kind-that-is-too-long|*|*"};
    char long_zone[NAME_SIZE + 40];

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct state_override row = {.used = true};
        struct override o;

        row.key = mem_strdup(keys[i]);
        assert_false(override_split(&row, &o));
        free(row.key);
    }
    memset(long_zone, 'a', sizeof long_zone);
    memcpy(long_zone, "freeze|", 7);
    memcpy(long_zone + sizeof long_zone - 3, "|*", 3);
    {
        struct state_override row = {.key = long_zone, .used = true};
        struct override o;

        assert_false(override_split(&row, &o));
    }
}

static void test_texts(void **state)
{
    static const struct {
        const char *kind, *zone, *what, *want;
    } rows[] = {
        {"maintenance", "example.org.", "dc1",
         "dc1 of example.org. is in maintenance"},
        {"maintenance", "*", "dc1", "dc1 of every zone is in maintenance"},
        {"freeze", "example.org.", "www.example.org.",
         "www.example.org. is frozen"},
        {"freeze", "example.org.", "*", "zone example.org. is frozen"},
        {"freeze", "*", "*", "every zone is frozen"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct override o = {"", "", ""};
        char *text;

        (void)snprintf(o.kind, sizeof o.kind, "%s", rows[i].kind);
        (void)snprintf(o.zone, sizeof o.zone, "%s", rows[i].zone);
        (void)snprintf(o.what, sizeof o.what, "%s", rows[i].what);
        text = override_subject(&o);
        assert_string_equal(text, rows[i].want);
        free(text);
    }
}

static void test_ends(void **state)
{
    struct state *s = memory();
    struct state_override **list;
    size_t n = 9;

    (void)state;
    state_override_set(s, "freeze", "*", "*", 2000, "alice");
    state_override_set(s, "freeze", "b.", "*", 0, NULL);
    state_override_set(s, "freeze", "a.", "*", 0, "bob");
    list = override_list(s, 1999, &n);
    assert_int_equal(n, 3);
    assert_string_equal(list[0]->key, "freeze|*|*");
    assert_string_equal(list[1]->key, "freeze|a.|*");
    assert_true(override_in_force(list[0], 1999));
    assert_false(override_in_force(list[0], 2000));
    assert_int_equal(override_until_wall_ms(list[1], 0), 0);
    assert_ptr_equal(override_freeze_of(s, "a.", "www.a.", 1999), list[0]);
    assert_ptr_equal(override_freeze_of(s, "a.", "www.a.", 2000), list[1]);
    assert_null(override_freeze_of(s, "c.", "www.c.", 2000));
    free(list);
    list = override_list(s, 2000, &n);
    assert_int_equal(n, 2);
    free(list);
    state_close(s);
}

/* --- the state edited ---------------------------------------------------- */

static struct state *edit(const struct room *r)
{
    struct state *s = NULL;
    struct err e;

    assert_int_equal(state_edit(r->path, &s, &e), 0);
    return s;
}

static void save(struct state *s)
{
    struct err e;

    assert_int_equal(state_save(s, &e), 0);
    state_close(s);
}

/* A round's rows survive a command that touches none of them. */
static void test_edit_keeps_rows(void **state)
{
    struct room r;
    struct state *s = NULL;
    struct err e;
    char *texts;

    (void)state;
    room_open(&r);
    assert_int_equal(state_open(r.path, false, &s, &e), 0);
    value_get(s, "z.", "www.z.", "A", "192.0.2.1")->memory.damp = 4;
    state_set_get(s, "z.", "www.z.", "A")->memory.tier = 2;
    state_spec_put(s, state_spec_get(s, "z.", "www.z."), "\"{}\"\n");
    state_text(&state_judge_get(s, "z.", "www.z.")->dcs, "dc1 5 6 1 1 0;");
    state_check_get(s, "tcp 192.0.2.1:80")->health.streak = 3;
    (void)state_zone_get(s, "z.");
    (void)state_problem(s, "z.|x", false, "a problem");
    save(s);
    for (int i = 0; i < 2; i++) {
        s = edit(&r);
        state_override_set(s, "freeze", "*", "*", 0, "alice");
        save(s);
    }
    s = edit(&r);
    assert_int_equal(state_sets(s)->values->memory.damp, 4);
    assert_int_equal(state_sets(s)->memory.tier, 2);
    texts = state_spec_texts(s, state_specs(s), &e);
    assert_string_equal(texts, "\"{}\"\n");
    free(texts);
    assert_string_equal(state_judges(s)->dcs, "dc1 5 6 1 1 0;");
    assert_int_equal(the_check(s)->health.streak, 3);
    assert_non_null(state_zones(s));
    assert_string_equal(state_problems(s)->text, "a problem");
    assert_string_equal(state_overrides(s)->user, "alice");
    state_close(s);
    room_close(&r);
}

static void test_edit_drops_what_is_over(void **state)
{
    struct room r;
    struct state *s;
    int64_t now_ms = state_now_ms();

    (void)state;
    room_open(&r);
    s = edit(&r);
    state_override_set(s, "freeze", "*", "*", now_ms - 1, "alice");
    state_override_set(s, "freeze", "a.", "*", now_ms + HOUR_MS, "alice");
    state_override_set(s, "freeze", "b.", "*", 0, "alice");
    assert_true(state_override_clear(s, "freeze", "b.", "*", now_ms));
    assert_false(state_override_clear(s, "freeze", "b.", "*", now_ms));
    save(s);
    s = edit(&r);
    assert_int_equal(HASH_COUNT(state_overrides(s)), 1);
    assert_string_equal(state_overrides(s)->key, "freeze|a.|*");
    state_close(s);
    room_close(&r);
}

static void test_edit_leaves_damage(void **state)
{
    static const char noise[] = "this is no database";
    char back[sizeof noise] = "";
    struct room r;
    struct state *s = NULL;
    struct err e;
    FILE *f;

    (void)state;
    room_open(&r);
    f = fopen(r.path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(noise, sizeof noise, 1, f), 1);
    (void)fclose(f);
    assert_int_equal(state_edit(r.path, &s, &e), -1);
    assert_int_equal(e.code, ERR_INPUT);
    assert_null(s);
    f = fopen(r.path, "r");
    assert_non_null(f);
    assert_int_equal(fread(back, sizeof back, 1, f), 1);
    (void)fclose(f);
    assert_string_equal(back, noise);
    assert_int_equal(room_files(&r, "state.db.damaged"), 0);
    room_close(&r);
}

static void test_edit_takes_the_lock(void **state)
{
    struct room r;
    struct state *s, *second = NULL;
    struct err e;

    (void)state;
    room_open(&r);
    s = edit(&r);
    assert_int_equal(state_edit(r.path, &second, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    state_close(s);
    s = edit(&r);
    state_close(s);
    room_close(&r);
}

static void reboot(const struct room *r)
{
    static const char sql[] =
        "UPDATE meta SET value = 'another' WHERE key = 'boot_id';"
        "UPDATE meta SET value = value - 500000 WHERE key = 'boot_ms'";
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
}

/* What the clock of the last boot said is moved once, also by a command that
 * asks for nothing but another row. */
static void test_reboot(void **state)
{
    int64_t now_ms = state_now_ms(), out_ms = 0;
    struct room r;
    struct state *s;
    char *dcs = mem_printf("dc1 %lld 0 1 0 0;", (long long)now_ms);

    (void)state;
    room_open(&r);
    s = edit(&r);
    state_override_set(s, "freeze", "*", "*", now_ms + HOUR_MS, "alice");
    state_text(&state_judge_get(s, "z.", "www.z.")->dcs, dcs);
    save(s);
    reboot(&r);
    for (int i = 0; i < 2; i++) {
        s = edit(&r);
        assert_in_range(state_overrides(s)->until_ms,
                        now_ms + HOUR_MS + 500000 - 5000,
                        now_ms + HOUR_MS + 500000 + 5000);
        assert_int_equal(sscanf(state_judges(s)->dcs, "dc1 %" SCNd64, &out_ms),
                         1);
        assert_in_range(out_ms, now_ms + 500000 - 5000, now_ms + 500000 + 5000);
        save(s);
    }
    free(dcs);
    room_close(&r);
}

/* --- how far apart rounds are --------------------------------------------- */

static void test_run_gap(void **state)
{
    static const int64_t minute[] = {0, 60100, 119900, 125000, 180000, 240000};
    struct room r;
    struct state *s;

    (void)state;
    room_open(&r);
    s = edit(&r);
    assert_int_equal(state_run_gap_ms(s), 0);
    state_run_note(s, 1000000);
    state_run_note(s, 1060000);
    assert_int_equal(state_run_gap_ms(s), 0); /* one gap says nothing yet */
    save(s);
    s = edit(&r);
    for (size_t i = 0; i < sizeof minute / sizeof minute[0]; i++)
        state_run_note(s, 1120000 + minute[i]);
    assert_in_range(state_run_gap_ms(s), 59000, 61000);
    state_close(s);
    room_close(&r);
}

/* --- the memory of data centres ------------------------------------------- */

static struct state_judge *judge(struct state *s, const char *dcs)
{
    struct state_judge *row = state_judge_get(s, "z.", "www.z.");

    state_text(&row->dcs, dcs);
    return row;
}

static void test_times_move(void **state)
{
    struct state *s = memory();
    struct state_judge *row =
        judge(s, "dc1 5000 7000 1 0 0;dc2 0 7000 0 0 0;dc3 2000 0 0 1 0;");

    (void)state;
    judge_text_move(row, 0);
    assert_string_equal(
        row->dcs, "dc1 5000 7000 1 0 0;dc2 0 7000 0 0 0;dc3 2000 0 0 1 0;");
    judge_text_move(row, -2000);
    assert_string_equal(row->dcs,
                        "dc1 3000 5000 1 0 0;dc2 0 5000 0 0 0;dc3 1 0 0 1 0;");
    state_close(s);
}

static void test_damaged_memory(void **state)
{
    struct state *s = memory();
    struct state_judge *row = judge(s, ";;dc1;dc2 x y;dc3 1 2 0 1 1");

    (void)state;
    judge_text_move(row, 10);
    assert_string_equal(row->dcs, "dc3 11 12 0 1 1;");
    state_text(&row->dcs, NULL);
    judge_text_move(row, 10);
    assert_false(judge_text_readmit(row, "dc1"));
    state_close(s);
}

static void test_readmit_row(void **state)
{
    struct state *s = memory();
    struct state_judge *row = judge(s, "dc1 5 6 1 1 0;dc10 5 6 1 1 0;");

    (void)state;
    assert_false(judge_text_readmit(row, "dc"));
    assert_true(judge_text_readmit(row, "dc1"));
    assert_string_equal(row->dcs, "dc1 0 6 0 0 0;dc10 5 6 1 1 0;");
    state_close(s);
}

/* --- readmit -------------------------------------------------------------- */

static struct memory_value *shut(struct state *s, const char *name,
                                 const char *data)
{
    struct memory_value *m = &value_get(s, "z.", name, "A", data)->memory;

    m->shut = m->held_off = m->returning = true;
    m->damp = 3;
    memory_writes(m)->withdrawals_ms[0] = 17;
    return m;
}

static bool is_free(const struct memory_value *m)
{
    return !m->shut && !m->held_off && !m->returning && m->damp == 0 &&
           memory_written(m)->withdrawals_ms[0] == 0;
}

static void test_readmit_name(void **state)
{
    struct state *s = memory();
    struct memory_value *a = shut(s, "www.z.", "192.0.2.1");
    struct memory_value *b = shut(s, "www.z.", "192.0.2.10");
    struct memory_value *c = shut(s, "w.z.", "192.0.2.1");

    (void)state;
    assert_int_equal(override_readmit_name(s, "z.", "www.z.", "192.0.2.1"), 1);
    assert_true(is_free(a) && !is_free(b) && !is_free(c));
    assert_int_equal(override_readmit_name(s, "z.", "www.z.", NULL), 2);
    assert_true(is_free(b) && !is_free(c));
    assert_int_equal(override_readmit_name(s, "z.", "www.z.", "192.0.2.9"), 0);
    assert_int_equal(override_readmit_name(s, "y.", "w.z.", NULL), 0);
    state_close(s);
}

static void put_spec(struct state *s, const char *owner, const char *text)
{
    struct state_spec *row = state_spec_get(s, "z.", owner);
    char *quoted = mem_alloc(2 * strlen(text) + 4), *to = quoted;

    *to++ = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"')
            *to++ = '\\';
        *to++ = *text;
    }
    memcpy(to, "\"\n", 3);
    state_spec_put(s, row, quoted);
    free(quoted);
}

static void test_readmit_dc(void **state)
{
    const struct config cfg = {.state = "/nowhere/state.db",
                               .max_targets = 200};
    struct state *s = memory();
    struct memory_value *a, *b, *c;
    struct state_judge *row;
    struct recall *r;

    (void)state;
    put_spec(s, "z.", "{\"dcs\":{\"dc1\":{\"noResponse\":true}}}");
    put_spec(s, "www.z.",
             "{\"records\":[{\"data\":\"192.0.2.1\",\"dc\":\"dc1\"},"
             "{\"data\":\"192.0.2.2\"}]}");
    put_spec(s, "mail.z.",
             "{\"dcs\":{\"dc1\":{}},\"records\":["
             "{\"data\":\"192.0.2.1\",\"dc\":\"dc1\"}]}");
    a = shut(s, "www.z.", "192.0.2.1");
    b = shut(s, "www.z.", "192.0.2.2");
    c = shut(s, "mail.z.", "192.0.2.1");
    row = judge(s, "dc1 5 6 1 1 0;");
    r = recall_new(&cfg, s);
    assert_int_equal(r->nzones, 1);
    assert_int_equal(r->ndcs, 2); /* the apex's, and the one of mail */
    assert_true(r->dcs[0].shared && !r->dcs[1].shared);
    assert_true(recall_manages(&r->zones[0], "www.z."));
    assert_false(recall_manages(&r->zones[0], "z."));
    assert_true(recall_knows(&r->zones[0], "z."));
    assert_int_equal(override_readmit_dc(s, &r->zones[0], "dc1"), 2);
    assert_true(is_free(a) && !is_free(b) && is_free(c));
    assert_string_equal(row->dcs, "dc1 0 6 0 0 0;");
    assert_int_equal(override_readmit_dc(s, &r->zones[0], "dc9"), 0);
    recall_free(r);
    state_close(s);
}

/* A spec that is valid no longer is remembered with its error. */
static void test_recall_of_the_invalid(void **state)
{
    const struct config cfg = {.state = "/nowhere/state.db",
                               .max_targets = 200};
    struct state *s = memory();
    struct recall *r;

    (void)state;
    put_spec(s, "www.z.",
             "{\"records\":[{\"data\":\"192.0.2.1\","
             "\"dc\":\"gone\"}]}");
    r = recall_new(&cfg, s);
    assert_int_equal(r->zones[0].nowners, 1);
    assert_null(r->zones[0].owners[0].spec);
    assert_non_null(strstr(r->zones[0].owners[0].err.msg, "gone"));
    recall_worlds(r, 1000);
    assert_int_equal(r->zones[0].world->plan.nsets, 0);
    assert_true(recall_knows(&r->zones[0], "www.z."));
    recall_free(r);
    state_close(s);
}

/* --- the freeze file ------------------------------------------------------ */

static void test_freeze_file(void **state)
{
    struct room r;
    char *file, *found;
    FILE *f;

    (void)state;
    room_open(&r);
    assert_null(override_freeze_file(r.path));
    file = mem_printf("%s/freeze", r.dir);
    f = fopen(file, "w");
    assert_non_null(f);
    (void)fclose(f);
    found = override_freeze_file(r.path);
    assert_string_equal(found, file);
    free(found);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(symlink("nowhere", file), 0);
    found = override_freeze_file(r.path);
    assert_non_null(found);
    free(found);
    free(file);
    room_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_refuses_others),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_edit_keeps_rows),
        cmocka_unit_test(test_edit_drops_what_is_over),
        cmocka_unit_test(test_edit_leaves_damage),
        cmocka_unit_test(test_edit_takes_the_lock),
        cmocka_unit_test(test_reboot),
        cmocka_unit_test(test_run_gap),
        cmocka_unit_test(test_times_move),
        cmocka_unit_test(test_damaged_memory),
        cmocka_unit_test(test_readmit_row),
        cmocka_unit_test(test_readmit_name),
        cmocka_unit_test(test_readmit_dc),
        cmocka_unit_test(test_recall_of_the_invalid),
        cmocka_unit_test(test_freeze_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
