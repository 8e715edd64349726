#ifndef AGENT_PROBES_DNS_H
#define AGENT_PROBES_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/probes/kind.h"

/* The dns probe's question and its verdict on an answer; pure but for the
 * random id. source: RFC 1035 4, RFC 6891 6 */

/* out: a message of *len bytes, freed by the caller with free()
 * returns 0, or -1 with r filled in (LOCAL: no such name or type) */
int dns_question(const char *name, const char *type, uint8_t **out, size_t *len,
                 struct probe_result *r);
/* OTHER: an answer to another question, wait on; CUT: ask again over TCP
 * (only where over_tcp is false); JUDGED: r is filled in. */
enum dns_verdict { DNS_OTHER, DNS_CUT, DNS_JUDGED };
enum dns_verdict dns_judge(const uint8_t *question, size_t question_len,
                           const uint8_t *answer, size_t len, bool over_tcp,
                           struct probe_result *r);

#endif
