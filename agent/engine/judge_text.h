#ifndef AGENT_ENGINE_JUDGE_TEXT_H
#define AGENT_ENGINE_JUDGE_TEXT_H

#include "agent/engine/judge.h"
#include "agent/engine/state.h"

/* The memory of judgements, as the state keeps it. */

/* Reads row into m, which is initialised for s. Truth of another text of the
 * spec is dropped; data centres are found by their names. shift_ms is added to
 * times (state_shift_ms). */
void judge_text_read(const struct state_judge *row, const struct spec *s,
                     int64_t shift_ms, struct judge_memory *m);
/* Writes m into row. */
void judge_text_write(const struct judge_memory *m, const struct spec *s,
                      struct state_judge *row);

#endif
