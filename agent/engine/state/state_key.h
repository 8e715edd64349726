#ifndef AGENT_ENGINE_STATE_STATE_KEY_H
#define AGENT_ENGINE_STATE_STATE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/buf.h"

/* How the key of a check's row ends (checks/check_key.h has its beginning), and
 * keys as older files have them. */

/* Appends " 3s", with "+" where a timeout is repeated once. */
void state_key_add_timeout(struct buf *b, int64_t timeout_ms, bool repeated);
/* Appends " 3/3": requiredSuccess and requiredFailure. */
void state_key_add_thresholds(struct buf *b, uint32_t success,
                              uint32_t failure);
/* A key as it used to be written, with "timeout=3000 success=3 failure=3" at
 * its end: as it is now. Heap; NULL: it is none of those. */
char *state_key_modern(const char *key);

#endif
