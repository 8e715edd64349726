#ifndef TESTS_UNIT_JUDGE_HELP_H
#define TESTS_UNIT_JUDGE_HELP_H

#include "agent/engine/decide/judge.h"
#include "tests/unit/spec_help.h"

/* One spec, its checks as letters, and what is judged of it. cmocka.h is
 * included before. */

#define JH_CHECKS 24
#define JH_PLACES 12
#define JH_DCS 4

struct jh {
    struct spec *spec;
    struct judge_memory memory;
    /* T up, F down, N down and never up, else unknown; [place + 1], where 0
     * is of checks with a target of their own */
    char state[JH_CHECKS][JH_PLACES + 1];
    bool published[JH_PLACES];
    const char *maintenance; /* of the operator: names, each with a blank
                                behind; NULL: none */
    const char *agent_dc;
    int64_t now_ms;
    struct judge_dc dcs[JH_DCS];
    struct judge_record records[JH_PLACES];
};

static inline bool jh_is_local(const struct spec_check *c)
{
    return c->target.family == 0 && c->ntargets == 0;
}

static inline struct judge_leaf jh_leaf(void *arg, size_t check, long place)
{
    const struct jh *h = arg;
    bool local = jh_is_local(&h->spec->checks[check]);
    char c = h->state[check][local ? place + 1 : 0];
    struct judge_leaf l = {TRI_UNKNOWN, false, 1000, 3, 3, 10000};

    assert_true(!local || place >= 0);
    l.up = c == 'T' ? TRI_TRUE : c == 'F' || c == 'N' ? TRI_FALSE : TRI_UNKNOWN;
    l.never_up = c == 'N';
    return l;
}

static inline bool jh_maintenance(void *arg, const char *dc)
{
    const struct jh *h = arg;
    char word[80];

    (void)snprintf(word, sizeof word, "%s ", dc);
    return h->maintenance != NULL && strstr(h->maintenance, word) != NULL;
}

static inline void jh_open(struct jh *h, const char *text)
{
    memset(h, 0, sizeof *h);
    h->spec = help_good(&help_www, text);
    assert_true(h->spec->nchecks <= JH_CHECKS);
    assert_true(h->spec->ndcs <= JH_DCS);
    assert_true(judge_nrecords(h->spec) <= JH_PLACES);
    judge_memory_init(&h->memory, h->spec);
    h->now_ms = 1000000;
}

static inline void jh_close(struct jh *h)
{
    judge_memory_fini(&h->memory);
    spec_free(h->spec);
}

static inline struct judge_env jh_env(struct jh *h)
{
    struct judge_env env = {jh_leaf, jh_maintenance, h, h->agent_dc, h->now_ms};

    return env;
}

static inline void jh_judge(struct jh *h)
{
    struct judge_env env = jh_env(h);

    judge_spec(h->spec, &env, &h->memory, h->published, h->dcs, h->records);
}

/* Of all checks with that text: with a target the first letter, without one
 * a letter for each record, in judge order. */
static inline void jh_set(struct jh *h, const char *text, const char *letters)
{
    char got[200];
    bool found = false;

    for (size_t c = 0; c < h->spec->nchecks; c++) {
        const struct spec_check *check = &h->spec->checks[c];

        if (strcmp(spec_check_text(check, got, sizeof got), text) != 0)
            continue;
        found = true;
        if (!jh_is_local(check))
            h->state[c][0] = letters[0];
        else
            for (size_t i = 0; letters[i] != '\0'; i++)
                h->state[c][i + 1] = letters[i];
    }
    if (!found)
        fail_msg("no check %s", text);
}

static inline char jh_letter(enum tri t)
{
    return "UFT"[t];
}

/* Judges; wanted: a letter for each record: T F U as healthy, N: FALSE by
 * checks that were never up. */
static inline void jh_expect(struct jh *h, const char *want, int line)
{
    char got[JH_PLACES + 1];
    size_t n = judge_nrecords(h->spec);

    jh_judge(h);
    for (size_t i = 0; i < n; i++)
        got[i] =
            h->records[i].never_up ? 'N' : jh_letter(h->records[i].healthy);
    got[n] = '\0';
    if (strcmp(got, want) != 0)
        fail_msg("line %d: records are %s, wanted %s", line, got, want);
}
#define JH_EXPECT(h, want) jh_expect(h, want, __LINE__)

#endif
