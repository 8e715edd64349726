#ifndef AGENT_ENGINE_CHECKS_CHECK_KEY_H
#define AGENT_ENGINE_CHECKS_CHECK_KEY_H

#include "agent/base/buf.h"
#include "agent/engine/checks/checks.h"

/* What tells one check from another, as one text: the key of its row of the
 * state, one for each target. For people who read the file:
 *
 *   tcp 192.0.2.1:443 3s 3/3
 *   https [2001:db8::1]:443 path=/healthz status=200-399 1s+ 1/2
 *
 * Kind, targets, parameters, timeout ("+": repeated once), requiredSuccess and
 * requiredFailure. */

/* in: k — all but row
 * out: b — the key appended; its last word are the thresholds */
void check_key_write(const struct check *k, struct buf *b);

#endif
