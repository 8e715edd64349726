#ifndef AGENT_ENGINE_STATE_JUDGE_TEXT_H
#define AGENT_ENGINE_STATE_JUDGE_TEXT_H

#include "agent/engine/decide/judge.h"
#include "agent/engine/state/state.h"

/* The memory of judgements, as the state keeps it. */

/* Reads row into m, which is initialised for s. Truth of another text of the
 * spec is dropped; data centres are found by their names. */
void judge_text_read(const struct state_judge *row, const struct spec *s,
                     struct judge_memory *m);
/* Adds shift_ms to the times in row: after a reboot. */
void judge_text_move(struct state_judge *row, int64_t shift_ms);
/* The operator lets a data centre in again (judge_readmit, on the row).
 * returns false when nothing is remembered of it */
bool judge_text_readmit(struct state_judge *row, const char *dc);
/* Writes m into row. */
void judge_text_write(const struct judge_memory *m, const struct spec *s,
                      struct state_judge *row);

#endif
