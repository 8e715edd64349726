#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/base/buf.h"
#include "agent/engine/sim/sim.h"

/* The clock, the trace and the incremental engine; what the language means
 * is in tests/simulate. */

#define ZONE "example.org."
#define START_MS 5000000000

/* --- traces --------------------------------------------------------------- */

struct world {
    struct arena *arena;
    struct trace_fact *facts;
    size_t n;
    struct err e;
    struct buf told;
};

static int begin(struct world *w, const char *trace)
{
    memset(w, 0, sizeof *w);
    w->arena = arena_new();
    buf_init(&w->told, 1u << 20);
    return trace_read(w->arena, trace, strlen(trace), &w->facts, &w->n, &w->e);
}

static void end(struct world *w)
{
    arena_free(w->arena);
    buf_fini(&w->told);
}

static void facts_are_sorted_and_read(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(
        begin(&w, "{\"comment\":\"a remark\"}\n\n  \r\n"
                  "{\"t\":\"1m\",\"readmit\":\"www\",\"data\":\"192.0.2.1\"}\n"
                  "{\"t\":1.5,\"check\":443,\"error\":\"local\"}\n"
                  "{\"t\":\"500ms\",\"freeze\":\"all\",\"for\":\"2h\"}\n"
                  "{\"t\":1.5,\"published\":\"www A\",\"data\":[]}"),
        0);
    assert_int_equal(w.n, 4);
    assert_int_equal(w.facts[0].kind, TRACE_FREEZE);
    assert_int_equal(w.facts[0].t_ms, 500);
    assert_int_equal(w.facts[0].for_ms, 7200000);
    assert_true(w.facts[0].on);
    assert_int_equal(w.facts[1].kind, TRACE_RESULT);
    assert_int_equal(w.facts[1].line, 5);
    assert_string_equal(w.facts[1].check, "443");
    assert_null(w.facts[1].target);
    assert_int_equal(w.facts[1].result, TRACE_LOCAL);
    assert_int_equal(w.facts[2].kind, TRACE_PUBLISHED);
    assert_int_equal(w.facts[2].ndata, 0);
    assert_int_equal(w.facts[3].kind, TRACE_READMIT);
    assert_string_equal(w.facts[3].data[0], "192.0.2.1");
    end(&w);
}

static void empty_trace(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(begin(&w, ""), 0);
    assert_int_equal(w.n, 0);
    end(&w);
}

static void mistakes_name_their_line(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(begin(&w, "{\"t\":0,\"end\":true}\n{\"t\":1,\"end\":2}\n"),
                     -1);
    assert_string_equal(w.e.msg, "line 2: end: found 2; accepted: true");
    assert_int_equal(w.e.code, ERR_INPUT);
    end(&w);
}

/* --- runs ----------------------------------------------------------------- */

static struct spec *spec_of(const char *owner, const char *text)
{
    const struct spec_context ctx = {.owner = owner, .zone = ZONE};
    struct spec *s = NULL;
    struct err e;

    if (spec_parse_text(text, strlen(text), &ctx, &s, &e) != 0)
        fail_msg("%s", e.msg);
    return s;
}

static void on_event(void *arg, const struct sim_event *ev)
{
    struct world *w = arg;

    if (ev->kind != SIM_SET)
        return;
    buf_printf(&w->told, "%lld %s", (long long)ev->t_ms, ev->name);
    for (size_t i = 0; i < ev->npublish; i++)
        buf_printf(&w->told, " %s", ev->publish[i]);
    buf_printf(&w->told, " %d;", ev->tier);
}

static int run(struct world *w, const struct spec *const *specs, size_t n,
               uint64_t seed, int64_t start_ms)
{
    const struct sim_options o = {.zone = ZONE,
                                  .specs = specs,
                                  .nspecs = n,
                                  .facts = w->facts,
                                  .nfacts = w->n,
                                  .seed = seed,
                                  .start_ms = start_ms,
                                  .sink = on_event,
                                  .sink_arg = w};

    return sim_run(&o, &w->e);
}

static const char two[] =
    "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":443},"
    "{\"data\":\"192.0.2.2\",\"check\":443}]}";
static const char outage[] =
    "{\"t\":0,\"published\":\"www A\",\"data\":[\"192.0.2.1\",\"192.0.2.2\"]}\n"
    "{\"t\":0,\"check\":443,\"ok\":true}\n"
    "{\"t\":60,\"target\":\"192.0.2.1\",\"ok\":false}\n"
    "{\"t\":120,\"target\":\"192.0.2.1\",\"ok\":true}\n"
    "{\"t\":200,\"end\":true}\n";

/* Every seed keeps the promise: accessPeriod, retries and debounce. */
static void any_seed_keeps_the_times(void **state)
{
    struct spec *s = spec_of("www." ZONE, two);

    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        const struct spec *const specs[] = {s};
        struct world w;
        long long out_ms = 0, back_ms = 0;

        assert_int_equal(begin(&w, outage), 0);
        assert_int_equal(run(&w, specs, 1, seed, START_MS), 0);
        assert_int_equal(
            sscanf(buf_get(&w.told),
                   "%lld www.example.org. 192.0.2.2 1;%lld www.example.org. "
                   "192.0.2.1 192.0.2.2 1;",
                   &out_ms, &back_ms),
            2);
        assert_in_range(out_ms, 65000, 75000);
        assert_in_range(back_ms, 125000, 135000);
        end(&w);
    }
    spec_free(s);
}

static void start_time_does_not_matter(void **state)
{
    struct spec *s = spec_of("www." ZONE, two);
    const struct spec *const specs[] = {s};
    struct world a, b;

    (void)state;
    assert_int_equal(begin(&a, outage), 0);
    assert_int_equal(begin(&b, outage), 0);
    assert_int_equal(run(&a, specs, 1, 1, START_MS), 0);
    assert_int_equal(run(&b, specs, 1, 1, 1), 0);
    assert_string_equal(buf_get(&a.told), buf_get(&b.told));
    assert_true(a.told.len > 0);
    end(&a);
    end(&b);
    spec_free(s);
}

static void nothing_happens_without_facts(void **state)
{
    struct spec *s = spec_of("www." ZONE, two);
    const struct spec *const specs[] = {s};
    struct world w;

    (void)state;
    assert_int_equal(begin(&w, "{\"t\":\"10d\",\"end\":true}"), -1);
    end(&w);
    assert_int_equal(begin(&w, "{\"t\":\"240h\",\"end\":true}"), 0);
    assert_int_equal(run(&w, specs, 1, 1, START_MS), 0);
    assert_string_equal(buf_get(&w.told), "");
    end(&w);
    spec_free(s);
}

static void no_specs_at_all(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(begin(&w, "{\"t\":5,\"freeze\":\"all\",\"for\":5}"), 0);
    assert_int_equal(run(&w, NULL, 0, 1, START_MS), 0);
    end(&w);
}

static void a_restart_needs_a_state(void **state)
{
    struct spec *s = spec_of("www." ZONE, two);
    const struct spec *const specs[] = {s};
    struct world w;

    (void)state;
    assert_int_equal(begin(&w, "{\"t\":5,\"restart\":true}"), 0);
    assert_int_equal(run(&w, specs, 1, 1, START_MS), -1);
    assert_string_equal(w.e.msg,
                        "line 1: a restart needs a state that is saved");
    end(&w);
    spec_free(s);
}

/* The order of specs changes nothing. */
static void order_of_specs(void **state)
{
    struct spec *s = spec_of("www." ZONE, two);
    struct spec *t = spec_of(
        "api." ZONE, "[{\"name\":\"api.example.org.\",\"data\":\"192.0.2.1\","
                     "\"check\":\"443\"},{\"name\":\"api.example.org.\","
                     "\"data\":\"192.0.2.9\",\"check\":\"443\"}]");
    const struct spec *const one[] = {s, t}, *const other[] = {t, s};
    struct world a, b;

    (void)state;
    assert_int_equal(begin(&a, outage), 0);
    assert_int_equal(begin(&b, outage), 0);
    assert_int_equal(run(&a, one, 2, 1, START_MS), 0);
    assert_int_equal(run(&b, other, 2, 1, START_MS), 0);
    assert_string_equal(buf_get(&a.told), buf_get(&b.told));
    assert_non_null(strstr(buf_get(&a.told), "api.example.org."));
    end(&a);
    end(&b);
    spec_free(s);
    spec_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_sorted_and_read),
        cmocka_unit_test(empty_trace),
        cmocka_unit_test(mistakes_name_their_line),
        cmocka_unit_test(any_seed_keeps_the_times),
        cmocka_unit_test(start_time_does_not_matter),
        cmocka_unit_test(nothing_happens_without_facts),
        cmocka_unit_test(no_specs_at_all),
        cmocka_unit_test(a_restart_needs_a_state),
        cmocka_unit_test(order_of_specs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
