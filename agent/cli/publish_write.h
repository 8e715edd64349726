#ifndef AGENT_CLI_PUBLISH_WRITE_H
#define AGENT_CLI_PUBLISH_WRITE_H

#include "agent/cli/publish_net.h"
#include "specs/publish.h"

/* `publish --write`: what would change is shown, the text is written through
 * the provider, and read back from every authoritative server. */

struct publish_write {
    struct publish_net *net; /* with provider, servers and apex */
    const struct spec *spec; /* what is meant */
    const struct publish_text *text;
    bool dry_run;
    int64_t wait_ms; /* for the servers, from the write on */
};

/* Prints what is done. returns an exit code, see cli.h */
int publish_write(const struct cli_options *o, const struct publish_write *w);

/* The difference between two specs of one owner, one line for each set that
 * is added (+), removed (-) or has other values (~), on standard output.
 * old: NULL: none */
void publish_print_diff(const struct spec *old, const struct spec *now);

#endif
