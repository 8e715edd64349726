#ifndef AGENT_CLI_ONCE_RECORDS_H
#define AGENT_CLI_ONCE_RECORDS_H

#include "agent/cli/cli.h"
#include "agent/engine/round/round.h"

/* `once` and `plan` for one zone that the command line and the environment
 * name: its provider, and, where they are given, the records to keep there
 * instead of the specs in DNS. */

struct once_records {
    struct config *cfg;
    struct round_given *given; /* NULL: the specs of DNS */
    size_t ngiven;
};

/* Whether the command line asks for it. */
bool once_records_wanted(const struct cli_options *o);
/* Reads the options, the environment, and the configuration where there is
 * one; says what is wrong with them.
 * writes: the state's place may be made
 * out: freed by once_records_fini in any case
 * returns 0, or -1 */
MUST_CHECK int once_records_read(const struct cli_options *o, bool writes,
                                 struct once_records *out);
void once_records_fini(struct once_records *r);

/* The spec of one record, as JSON text in the arena of cfg: each target
 * checked, the backup when all are dead. r: complete (targets, check …),
 * members that were not given are NULL owner: canonical, in the zone of cfg, by
 * which the text is judged returns NULL with e set (ERR_INPUT: "--targets: …")
 */
char *once_records_spec(const struct cli_record *r, const char *owner,
                        const struct config *cfg, struct err *e);

#endif
