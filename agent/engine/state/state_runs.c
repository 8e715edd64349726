#include <stdlib.h>
#include <string.h>

#include "agent/engine/state/state_internal.h"

/* How far apart the rounds are: cron's interval, as the state shows it. */

void state_run_note(struct state *s, int64_t now_ms)
{
    memmove(s->runs_ms + 1, s->runs_ms,
            (STATE_RUNS - 1) * sizeof s->runs_ms[0]);
    s->runs_ms[0] = now_ms != 0 ? now_ms : 1;
}

static int by_size(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return *a < *b ? -1 : *a > *b;
}

int64_t state_run_gap_ms(const struct state *s)
{
    int64_t gaps[STATE_RUNS];
    size_t n = 0;

    for (size_t i = 0; i + 1 < STATE_RUNS && s->runs_ms[i + 1] != 0; i++)
        gaps[n++] = s->runs_ms[i] - s->runs_ms[i + 1];
    if (n < 2)
        return 0;
    qsort(gaps, n, sizeof gaps[0], by_size);
    return gaps[n / 2];
}
