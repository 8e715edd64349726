#ifndef AGENT_ENGINE_CHECKS_GATE_H
#define AGENT_ENGINE_CHECKS_GATE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"

/* The pace per target address: at most one probe in gap_ms, whatever asks for
 * it. Pure: time is an argument. One look costs one place in memory, also
 * where there are thousands of addresses; those whose time is over are
 * forgotten when the table grows. */
struct gates;

struct gates *gates_new(void) __attribute__((returns_nonnull));
void gates_free(struct gates *g); /* NULL is fine */
/* When the address may be probed, now_ms or later; that time is taken. The
 * port does not matter. */
int64_t gates_take(struct gates *g, const struct addr *a, int64_t now_ms,
                   int64_t gap_ms);
size_t gates_count(const struct gates *g);

#endif
