#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/clock.h"
#include "agent/base/duration.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/mem.h"
#include "agent/base/slab.h"

static void test_err(void **state)
{
    char big[3 * ERR_MSG_SIZE];
    struct err e = {0};

    (void)state;
    assert_int_equal(err_set(&e, ERR_RETRY, "line %d\n\t\x1b[0m\x7f é", 7), -1);
    assert_int_equal(e.code, ERR_RETRY);
    assert_string_equal(e.msg, "line 7???[0m? é");
    assert_int_equal(err_wrap(&e, "zone %s\n", "x"), -1);
    assert_int_equal(e.code, ERR_RETRY);
    assert_string_equal(e.msg, "zone x?: line 7???[0m? é");
    assert_int_equal(err_set(NULL, ERR_INPUT, "x"), -1);
    assert_int_equal(err_wrap(NULL, "x"), -1);
    /* Too long: cut, and still a string. */
    memset(big, 'y', sizeof big);
    big[sizeof big - 1] = '\0';
    (void)err_set(&e, ERR_INPUT, "%s", big);
    assert_int_equal(strlen(e.msg), ERR_MSG_SIZE - 1);
    (void)err_wrap(&e, "ctx");
    assert_int_equal(strlen(e.msg), ERR_MSG_SIZE - 1);
    assert_int_equal(strncmp(e.msg, "ctx: yyy", 8), 0);
    (void)err_wrap(&e, "%s", big);
    assert_int_equal(strlen(e.msg), ERR_MSG_SIZE - 1);
}

static void test_err_names(void **state)
{
    (void)state;
    assert_string_equal(err_code_name(ERR_NONE), "none");
    assert_string_equal(err_code_name(ERR_NOTFOUND), "notFound");
    assert_string_equal(err_code_name(ERR_BUG), "bug");
    assert_string_equal(err_code_name((enum err_code)99), "bug");
    for (int i = ERR_NONE; i <= ERR_BUG; i++)
        for (int j = ERR_NONE; j < i; j++)
            assert_string_not_equal(err_code_name((enum err_code)i),
                                    err_code_name((enum err_code)j));
}

static void test_mem(void **state)
{
    unsigned char *z = mem_alloc(100);
    int *a = mem_array(10, sizeof *a), *v = NULL;
    size_t cap = 0;
    char *s;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(z[i], 0);
    assert_int_equal(a[9], 0);
    free(z);
    free(a);
    free(mem_alloc(0));
    free(mem_array(0, 8));
    s = mem_strdup("abc");
    assert_string_equal(s, "abc");
    free(s);
    s = mem_strndup("abc", 2);
    assert_string_equal(s, "ab");
    free(s);
    s = mem_printf("%d-%s", 5, "x");
    assert_string_equal(s, "5-x");
    free(s);
    for (size_t i = 0; i < 1000; i++) {
        v = mem_grow(v, &cap, i, sizeof *v);
        assert_true(cap > i);
        assert_int_equal(v[i], 0); /* new room is zeroed */
        v[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(v[i], (int)i);
    free(v);
}

static void test_arena(void **state)
{
    struct arena *a = arena_new();
    unsigned char *p, *big;
    char *first, *text;

    (void)state;
    first = arena_strdup(a, "first");
    for (size_t size = 0; size < 300; size++) {
        p = arena_alloc(a, size);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(p[i], 0);
            p[i] = 0xff;
        }
    }
    big = arena_alloc(a, 100000);
    assert_int_equal(big[99999], 0);
    memset(big, 1, 100000);
    assert_string_equal(first, "first");
    assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(a, "ab", 30), "ab");
    assert_non_null(arena_array(a, 0, sizeof(int)));
    text = arena_printf(a, "%s/%zu", "x", (size_t)7);
    assert_string_equal(text, "x/7");
    arena_free(a);
    arena_free(NULL);
}

/* A place of the caller's, one that fits, and what comes behind them. */
static void test_arena_sized(void **state)
{
    alignas(max_align_t) unsigned char place[256];
    struct arena *arenas[] = {arena_within(place, sizeof place),
                              arena_sized(40), arena_sized(0)};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct arena *a = arenas[i];
        size_t cap = 0, *list = NULL;
        char *text;

        text = arena_text(a, "abc", 2);
        for (size_t n = 0; n < 1000; n++) {
            list = arena_grow(a, list, &cap, n, sizeof *list);
            assert_true(cap > n);
            assert_int_equal((uintptr_t)list % alignof(max_align_t), 0);
            assert_int_equal(list[n], 0);
            list[n] = n;
            if (n % 100 == 0)
                memset(arena_room(a, 70000), 0xff, 70000);
        }
        for (size_t n = 0; n < 1000; n++)
            assert_int_equal(list[n], n);
        assert_string_equal(text, "ab");
        arena_free(a);
    }
}

/* Items stay where they are; what was given back is taken next, and clean. */
static void test_slab(void **state)
{
    enum { N = 1000 };
    struct slab *s = slab_new(12);
    uint32_t id[N], again;
    unsigned char *at[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        at[i] = slab_take(s, &id[i]);
        memset(at[i], i & 0xff, 12);
    }
    for (int i = 0; i < N; i++) {
        assert_ptr_equal(slab_at(s, id[i]), at[i]);
        assert_int_equal((uintptr_t)at[i] % sizeof(void *), 0);
        assert_int_equal(at[i][11], i & 0xff);
    }
    slab_give(s, id[3]);
    slab_give(s, id[700]);
    assert_ptr_equal(slab_take(s, &again), at[700]);
    assert_int_equal(again, id[700]);
    assert_int_equal(at[700][0], 0);
    assert_int_equal(at[700][11], 0);
    assert_ptr_equal(slab_take(s, &again), at[3]);
    assert_int_equal(at[4][0], 4);
    slab_free(s);
    slab_free(NULL);
}

static void test_buf(void **state)
{
    struct buf b;
    char *s;

    (void)state;
    buf_init(&b, 10);
    assert_string_equal(buf_get(&b), "");
    s = buf_take(&b);
    assert_string_equal(s, "");
    free(s);
    buf_add(&b, "", 0);
    assert_string_equal(buf_get(&b), "");
    buf_str(&b, "abc");
    buf_char(&b, '-');
    buf_printf(&b, "%d", 42);
    assert_string_equal(buf_get(&b), "abc-42");
    assert_int_equal(b.len, 6);
    buf_str(&b, "1234"); /* exactly full */
    assert_false(b.over);
    buf_char(&b, 'x');
    assert_true(b.over);
    assert_string_equal(buf_get(&b), "abc-421234");
    /* Once over, nothing more is taken, be it as short as it may. */
    buf_str(&b, "");
    buf_char(&b, 'y');
    assert_string_equal(buf_get(&b), "abc-421234");
    buf_reset(&b);
    assert_false(b.over);
    assert_string_equal(buf_get(&b), "");
    buf_add(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    assert_int_equal(b.data[3], '\0');
    s = buf_take(&b);
    assert_memory_equal(s, "a\0b", 4);
    free(s);
    assert_int_equal(b.len, 0);
    assert_int_equal(b.max, 10);
    buf_str(&b, "again");
    buf_fini(&b);
    assert_int_equal(b.len, 0);
}

static void test_buf_huge(void **state)
{
    struct buf b;
    char *piece = mem_alloc(65536);

    (void)state;
    buf_init(&b, 1000000);
    for (int i = 0; i < 20; i++)
        buf_add(&b, piece, 65536);
    assert_true(b.over);
    assert_int_equal(b.len, 15 * 65536);
    buf_add(&b, piece, SIZE_MAX);
    buf_fini(&b);
    free(piece);
}

static void test_duration_good(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
        const char *back;
    } t[] = {
        {"0", 0, "0s"},
        {"500ms", 500, "500ms"},
        {"10s", 10000, "10s"},
        {"10", 10000, "10s"},
        {"1.5", 1500, "1500ms"},
        {"0.001", 1, "1ms"},
        {"0.0019", 1, "1ms"},
        {"1.25m", 75000, "75s"},
        {"2m", 120000, "2m"},
        {"60", 60000, "1m"},
        {"90m", 5400000, "90m"},
        {"1h", 3600000, "1h"},
        {"0.5h", 1800000, "30m"},
        {"007s", 7000, "7s"},
        {"8784h", 31622400000, "8784h"}, /* 366 days */
        {"31622400", 31622400000, "8784h"},
    };
    char out[32];

    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        struct err e = {0};
        int64_t ms = -1;

        if (duration_parse(t[i].text, &ms, &e) != 0)
            fail_msg("%s", e.msg);
        assert_int_equal(ms, t[i].ms);
        assert_string_equal(duration_format(ms, out), t[i].back);
        assert_int_equal(duration_parse(out, &ms, &e), 0);
        assert_int_equal(ms, t[i].ms);
    }
}

static void test_duration_bad(void **state)
{
    static const char *const bad[] = {
        "",         " ",
        "s",        "ms",
        "-1",       "+1",
        "1 s",      " 1",
        "1s ",      "1d",
        "1M",       "1S",
        "1.",       ".5",
        "1.s",      "1..5",
        "1,5",      "1e3",
        "0x10",     "1s1s",
        "1m30s",    "8785h",
        "1/2",      "inf",
        "31622401", "999999999999999999999999",
        "1min",     "1sec",
        "\x01",     "1\n",
        "١s",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err e = {0};
        int64_t ms = -7;

        if (duration_parse(bad[i], &ms, &e) == 0)
            fail_msg("\"%s\" was taken as %lld ms", bad[i], (long long)ms);
        assert_int_equal(e.code, ERR_INPUT);
        assert_non_null(strstr(e.msg, "is not a duration; accepted: "));
    }
}

static void test_clock(void **state)
{
    int64_t mono = clock_mono_ms(), boot = clock_boot_ms();
    char text[32], id[CLOCK_BOOT_ID_SIZE], again[CLOCK_BOOT_ID_SIZE];

    (void)state;
    assert_true(clock_mono_ms() >= mono);
    assert_true(clock_mono_ns() / 1000000 >= mono);
    assert_true(clock_boot_ms() >= boot);
    assert_true(clock_wall_ms() > 1700000000000);
    clock_format(1796040007999, text, sizeof text);
    assert_string_equal(text, "2026-11-30T12:00:07Z");
    clock_format(0, text, sizeof text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    clock_boot_id(id);
    clock_boot_id(again);
    assert_string_equal(id, again);
    assert_true(strlen(id) < sizeof id);
    assert_null(strchr(id, '\n'));
}

struct counter {
    struct loop *l;
    unsigned calls;
    bool done;
    struct loop_timer *other;
};

static void on_tick(void *arg)
{
    struct counter *c = arg;

    c->calls++;
    c->done = true;
}

static void on_cancel_other(void *arg)
{
    struct counter *c = arg;

    loop_timer_cancel(c->other);
    c->calls++;
}

static void on_chain(void *arg)
{
    struct counter *c = arg;

    if (++c->calls == 5)
        c->done = true;
    else
        (void)loop_timer_start(c->l, 0, on_chain, c);
}

static void test_loop(void **state)
{
    struct loop *l = loop_new();
    struct counter a = {.l = l}, b = {.l = l};
    int64_t from = clock_mono_ms();

    (void)state;
    (void)loop_timer_start(l, 20, on_tick, &a);
    assert_int_equal(a.calls, 0);
    assert_true(loop_wait(l, &a.done, from + 10000));
    assert_true(clock_mono_ms() - from >= 19);
    assert_int_equal(a.calls, 1);
    /* Nothing there: the deadline ends it. */
    from = clock_mono_ms();
    assert_false(loop_wait(l, &b.done, from + 30));
    assert_true(clock_mono_ms() - from >= 29);
    assert_int_equal(a.calls, 1);
    /* A deadline in the past, and what is done already. */
    assert_false(loop_wait(l, &b.done, from - 1));
    assert_true(loop_wait(l, &a.done, from - 1));
    /* Timers that start timers, delay 0. */
    (void)loop_timer_start(l, -5, on_chain, &b);
    assert_true(loop_wait(l, &b.done, clock_mono_ms() + 10000));
    assert_int_equal(b.calls, 5);
    loop_free(l);
    loop_free(NULL);
}

static void test_loop_cancel(void **state)
{
    struct loop *l = loop_new();
    struct counter a = {.l = l}, b = {.l = l}, end = {.l = l};

    (void)state;
    loop_timer_cancel(NULL);
    loop_timer_cancel(loop_timer_start(l, 0, on_tick, &a));
    /* Cancelled by a callback that runs before it. */
    b.other = loop_timer_start(l, 2, on_tick, &a);
    (void)loop_timer_start(l, 1, on_cancel_other, &b);
    (void)loop_timer_start(l, 10, on_tick, &end);
    assert_true(loop_wait(l, &end.done, clock_mono_ms() + 10000));
    assert_int_equal(b.calls, 1);
    assert_int_equal(a.calls, 0);
    /* Left running: freed with the loop, never called. */
    (void)loop_timer_start(l, 60000, on_tick, &a);
    (void)loop_timer_start(l, 0, on_tick, &a);
    loop_free(l);
    assert_int_equal(a.calls, 0);
}

static void test_loop_order(void **state)
{
    struct loop *l = loop_new();
    struct counter c = {.l = l}, end = {.l = l};

    (void)state;
    for (int i = 0; i < 2000; i++)
        (void)loop_timer_start(l, (i * 7919) % 20, on_tick, &c);
    (void)loop_timer_start(l, 25, on_tick, &end);
    assert_true(loop_wait(l, &end.done, clock_mono_ms() + 10000));
    assert_int_equal(c.calls, 2000);
    loop_free(l);
}

static void on_due(uv_timer_t *h)
{
    bool *done = h->data;

    *done = true;
}

static void keep(uv_handle_t *h)
{
    (void)h;
}

/* What is waited for happens before the loop sleeps the first time. */
static void test_loop_no_sleep(void **state)
{
    struct loop *l = loop_new();
    int64_t begin_ms = clock_mono_ms();
    bool done = false;
    uv_timer_t t;

    (void)state;
    (void)uv_timer_init(loop_uv(l), &t);
    t.data = &done;
    (void)uv_timer_start(&t, on_due, 0, 0);
    assert_true(loop_wait(l, &done, begin_ms + 20000));
    assert_in_range(clock_mono_ms() - begin_ms, 0, 5000);
    uv_close((uv_handle_t *)&t, keep);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_err),
        cmocka_unit_test(test_err_names),
        cmocka_unit_test(test_mem),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_sized),
        cmocka_unit_test(test_slab),
        cmocka_unit_test(test_buf),
        cmocka_unit_test(test_buf_huge),
        cmocka_unit_test(test_duration_good),
        cmocka_unit_test(test_duration_bad),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_loop),
        cmocka_unit_test(test_loop_cancel),
        cmocka_unit_test(test_loop_order),
        cmocka_unit_test(test_loop_no_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
