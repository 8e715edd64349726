#ifndef AGENT_ENGINE_WORLD_TXT_H
#define AGENT_ENGINE_WORLD_TXT_H

#include <stddef.h>

#include "agent/base/mem.h"
#include "resolver/message.h"
#include "specs/spec.h"

/* TXT records on their way from the resolver to the specs and to the state.
 */

/* Copies what the resolver lent; lives in a. */
struct spec_txt *txt_copy(struct arena *a, const struct message_txt *txts,
                          size_t n);
/* The records in presentation form (RFC 1035 5.1), one a line: what the
 * state keeps. Heap, caller frees. */
char *txt_print(const struct spec_txt *txts, size_t n);
/* The way back; lives in a. *n: how many records. */
struct spec_txt *txt_parse(struct arena *a, const char *text, size_t *n);

#endif
