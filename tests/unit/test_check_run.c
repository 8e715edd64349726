#include "tests/unit/check_world.h"

/* Probing within a round, with real probes of loopback targets. */

/* --- shared ----------------------------------------------------------------
 */

/* Thresholds are a check's own, the probes are shared: one target address
 * would have to wait 100 ms for each further probe. */
static void test_probes_are_shared(void **state)
{
    struct world w;
    struct addr at;
    struct check *k[4];
    int fd = target_bind("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    for (uint32_t i = 0; i < 4; i++)
        k[i] = add(&w, &at, i + 1);
    expect_ms(run(&w, 5000), 300, 390);
    for (uint32_t i = 0; i < 4; i++)
        expect_of(&w, k[i], HEALTH_DOWN, i + 1);
    world_fini(&w);
    (void)close(fd);
}

/* --- to the verdict --------------------------------------------------------
 */

static void test_until_the_threshold(void **state)
{
    struct world w;
    struct addr up, down;
    struct check *ku, *kd;
    int fd = target_listen("127.0.0.1", &up);
    int fd2 = target_bind("127.0.0.2", &down);

    (void)state;
    world_init(&w);
    ku = add(&w, &up, 2);
    kd = add(&w, &down, 4);
    expect_ms(run(&w, 5000), 300, 900);
    expect_of(&w, ku, HEALTH_UP, 2);
    expect_of(&w, kd, HEALTH_DOWN, 4);
    assert_true(ku->row->health.ever_up);
    assert_false(kd->row->health.ever_up);
    assert_non_null(strstr(kd->row->note, "refused"));
    assert_true(checks_any_up(w.checks));
    world_fini(&w);
    (void)close(fd);
    (void)close(fd2);
}

/* What agrees with its state needs one result; what does not is looked at
 * until it is sure. */
static void test_known_states(void **state)
{
    struct world w;
    struct addr at;
    struct check *k;
    int fd = target_listen("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    k = add(&w, &at, 3);
    k->row->health = (struct health){.state = HEALTH_UP,
                                     .ever_up = true,
                                     .last_ok = false,
                                     .streak = 2,
                                     .last_ms = state_now_ms()};
    expect_ms(run(&w, 5000), 0, 90);
    expect_of(&w, k, HEALTH_UP, 1);
    assert_int_equal(k->row->health.streak, 1);
    (void)close(fd);
    world_fini(&w);

    world_init(&w);
    k = add(&w, &at, 3);
    k->row->health = (struct health){.state = HEALTH_UP,
                                     .ever_up = true,
                                     .last_ok = false,
                                     .streak = 1,
                                     .last_ms = state_now_ms()};
    expect_ms(run(&w, 5000), 100, 400);
    expect_of(&w, k, HEALTH_DOWN, 2); /* the failure of the last run counts */
    assert_false(checks_any_up(w.checks));
    world_fini(&w);
}

static void test_want_streak(void **state)
{
    struct world w;
    struct addr at;
    struct check *k;
    int fd = target_bind("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    k = add(&w, &at, 2);
    (void)run(&w, 5000);
    expect_of(&w, k, HEALTH_DOWN, 2);
    (void)run(&w, 5000);
    expect_of(&w, k, HEALTH_DOWN, 2); /* nothing is open */
    check_run_of(running(&w), k)->want_streak = 5;
    expect_ms(run(&w, 5000), 200, 700);
    expect_of(&w, k, HEALTH_DOWN, 5);
    world_fini(&w);
    (void)close(fd);
}

static void test_nothing_to_do(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    expect_ms(run(&w, 5000), 0, 90);
    assert_false(checks_any_up(w.checks));
    world_fini(&w);
}

/* --- timeouts --------------------------------------------------------------
 */

static int64_t hang(bool repeat, enum health_state before, uint32_t results)
{
    struct world w;
    struct addr at;
    struct spec_check c;
    struct check *k;
    int fill[2], fd = target_hang(&at, fill);
    int64_t took_ms;

    world_init(&w);
    c = spec_of(at.port, 1);
    c.timeout_ms = 200;
    c.repeat_timeout = repeat;
    k = add_spec(&w, c, &at);
    if (before != HEALTH_UNKNOWN)
        k->row->health = (struct health){before, true, before == HEALTH_UP,
                                         1,      1,    state_now_ms()};
    took_ms = run(&w, 5000);
    expect_of(&w, k, HEALTH_DOWN, results);
    assert_non_null(strstr(k->row->note, "timeout"));
    world_fini(&w);
    unhang(fd, fill);
    return took_ms;
}

/* One lost SYN is no outage: a timeout of what is not down is repeated at
 * once, and only then counts, once. */
static void test_repeated_timeout(void **state)
{
    (void)state;
    expect_ms(hang(true, HEALTH_UNKNOWN, 1), 400, 590);
    expect_ms(hang(true, HEALTH_UP, 1), 400, 590);
    expect_ms(hang(true, HEALTH_DOWN, 1), 200, 390);
    expect_ms(hang(false, HEALTH_UP, 1), 200, 390);
}

static void test_refusal_is_not_repeated(void **state)
{
    struct world w;
    struct addr at;
    struct spec_check c;
    struct check *k;
    int fd = target_bind("127.0.0.1", &at);

    (void)state;
    world_init(&w);
    c = spec_of(at.port, 1);
    c.repeat_timeout = true;
    k = add_spec(&w, c, &at);
    expect_ms(run(&w, 5000), 0, 90);
    expect_of(&w, k, HEALTH_DOWN, 1);
    world_fini(&w);
    (void)close(fd);
}

/* --- local, deadline, gap --------------------------------------------------
 */

/* What the agent cannot probe keeps its state; it is tried three times. */
static void test_local(void **state)
{
    struct world w;
    struct addr at;
    struct check *k;

    (void)state;
    world_init(&w);
    assert_int_equal(addr_parse("255.255.255.255", &at), 0);
    at.port = 9;
    k = add(&w, &at, 1);
    k->row->health =
        (struct health){HEALTH_UP, true, true, 1, 1, state_now_ms()};
    (void)run(&w, 5000);
    if (strstr(k->row->note, "not probed") == NULL) {
        world_fini(&w);
        print_message("this machine has a way to 255.255.255.255\n");
        skip();
    }
    expect_of(&w, k, HEALTH_UP, 0);
    assert_int_equal(check_run_of(w.run, k)->locals, CHECK_RUN_LOCAL_TRIES);
    assert_non_null(strstr(k->row->note, "not probed"));
    world_fini(&w);
}

static void test_deadline(void **state)
{
    struct world w;
    struct addr at, hanging;
    struct spec_check c;
    struct check *k, *h;
    int fill[2], fd = target_bind("127.0.0.2", &at);
    int fd2 = target_hang(&hanging, fill);
    uint32_t seen;

    (void)state;
    world_init(&w);
    c = spec_of(at.port, 9);
    c.retry_period_ms = 200;
    k = add_spec(&w, c, &at);
    c = spec_of(hanging.port, 1);
    c.timeout_ms = 900;
    h = add_spec(&w, c, &hanging);
    expect_ms(run(&w, 500), 500, 700);
    seen = check_run_of(w.run, k)->results;
    assert_in_range(seen, 2, 3);
    expect_of(&w, k, HEALTH_UNKNOWN, seen);
    assert_int_equal(k->row->health.streak, seen);
    expect_of(&w, h, HEALTH_UNKNOWN, 0);
    /* Nothing new is started; what was out still counts. */
    idle(&w, 600);
    expect_of(&w, k, HEALTH_UNKNOWN, seen);
    expect_of(&w, h, HEALTH_DOWN, 1);
    /* Called again, it goes on where it was. */
    (void)run(&w, 5000);
    expect_of(&w, k, HEALTH_DOWN, 9);
    world_fini(&w);
    (void)close(fd);
    unhang(fd2, fill);
}

/* A second run while the first one's probes are still out. */
static void test_run_again(void **state)
{
    struct world w;
    struct addr at[4];
    struct spec_check c;
    int fill[4][2], fd[4];

    (void)state;
    world_init(&w);
    for (int i = 0; i < 4; i++) {
        fd[i] = target_hang(&at[i], fill[i]);
        c = spec_of(at[i].port, 1);
        c.timeout_ms = 600;
        (void)add_spec(&w, c, &at[i]);
    }
    (void)run(&w, 250);
    expect_ms(run(&w, 5000), 300, 1200);
    for (size_t i = 0; i < 4; i++) {
        expect_of(&w, checks_at(w.checks, i), HEALTH_DOWN, 1);
        (void)close(fd[i]);
        (void)close(fill[i][0]);
        (void)close(fill[i][1]);
    }
    world_fini(&w);
}

/* Ended while probes are out. */
static void test_end_with_probes_out(void **state)
{
    struct world w;
    struct addr at;
    struct spec_check c;
    int fill[2], fd = target_hang(&at, fill);

    (void)state;
    world_init(&w);
    c = spec_of(at.port, 1);
    c.timeout_ms = 300;
    (void)add_spec(&w, c, &at);
    (void)run(&w, 100);
    assert_int_equal(probes_in_flight(w.probes), 1);
    expect_of(&w, checks_at(w.checks, 0), HEALTH_UNKNOWN, 0);
    world_fini(&w); /* the sanitizers see what is left */
    unhang(fd, fill);
}

/* `need` of several targets; one probe of each. */
static void test_several_targets(void **state)
{
    struct world w;
    struct addr targets[3];
    struct check *k[3];
    int fd[3];

    (void)state;
    world_init(&w);
    fd[0] = target_listen("127.0.0.1", &targets[0]);
    fd[1] = target_listen("127.0.0.2", &targets[1]);
    fd[2] = target_bind("127.0.0.3", &targets[2]);
    for (uint32_t need = 1; need <= 3; need++) {
        struct spec_check c = spec_of(0, 2);

        c.targets = targets;
        c.ntargets = 3;
        c.need = need;
        k[need - 1] = add_spec(&w, c, &targets[0]);
    }
    (void)run(&w, 5000);
    expect_of(&w, k[0], HEALTH_UP, 2);
    expect_of(&w, k[1], HEALTH_UP, 2);
    expect_of(&w, k[2], HEALTH_DOWN, 2);
    world_fini(&w);
    for (size_t i = 0; i < 3; i++)
        (void)close(fd[i]);
}

/* A command that the agent's file does not define: no verdict. */
static void test_unknown_command(void **state)
{
    struct spec_dialog dialog = {.command = "x"};
    struct world w;
    struct addr at;
    struct spec_check c;
    struct check *k;

    (void)state;
    world_init(&w);
    assert_int_equal(addr_parse("127.0.0.1", &at), 0);
    c = spec_of(0, 1);
    c.kind = SPEC_CHECK_COMMAND;
    c.dialog = &dialog;
    k = add_spec(&w, c, &at);
    (void)run(&w, 5000);
    expect_of(&w, k, HEALTH_UNKNOWN, 0);
    assert_non_null(strstr(k->row->note, "command x is not defined"));
    world_fini(&w);
}

/* One address at most once in 100 ms, several at once. */
static void test_address_gap(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "127.0.0.1", "127.0.0.1",
                                        "127.0.0.1", "127.0.0.4", "127.0.0.5"};
    struct world w;
    struct addr at;
    int fd[6];

    (void)state;
    for (int same = 1; same >= 0; same--) {
        world_init(&w);
        for (size_t i = 0; i < 6; i++) {
            char host[16];

            (void)snprintf(host, sizeof host, "127.0.0.%d", 10 + (int)i);
            fd[i] = target_bind(same == 1 ? hosts[i] : host, &at);
            (void)add(&w, &at, 1);
        }
        if (same == 1)
            expect_ms(run(&w, 5000), 300, 600);
        else
            expect_ms(run(&w, 5000), 0, 90);
        for (size_t i = 0; i < 6; i++) {
            expect_of(&w, checks_at(w.checks, i), HEALTH_DOWN, 1);
            (void)close(fd[i]);
        }
        world_fini(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes_are_shared),
        cmocka_unit_test(test_until_the_threshold),
        cmocka_unit_test(test_known_states),
        cmocka_unit_test(test_want_streak),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_repeated_timeout),
        cmocka_unit_test(test_refusal_is_not_repeated),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_run_again),
        cmocka_unit_test(test_end_with_probes_out),
        cmocka_unit_test(test_several_targets),
        cmocka_unit_test(test_unknown_command),
        cmocka_unit_test(test_address_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
