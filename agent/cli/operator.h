#ifndef AGENT_CLI_OPERATOR_H
#define AGENT_CLI_OPERATOR_H

#include "agent/cli/cli.h"
#include "agent/engine/world/override.h"

/* What the operator's commands share: the state opened for a change, what is
 * known in it, who asks, and the history. */

struct operator_env {
    const struct cli_options *o;
    struct config *cfg;
    struct state *state;
    struct recall *recall;
    int64_t now_ms;   /* engine time */
    int64_t until_ms; /* engine time of the end; 0: none was asked for */
    char until[64];   /* " until 2026-…", or "" */
    char user[64];
    bool looks;       /* nothing is to be saved */
    struct cJSON *to; /* a service holds the state: what it is to do */
};

/* Configuration, lock (waits for it while another run holds it), state. A
 * service that holds the lock is asked through its control socket instead.
 * returns CLI_DONE, or the exit code after saying why */
int operator_begin(const struct cli_options *o, struct operator_env *env);
/* The same to look only: no lock, nothing is saved. */
int operator_look(const struct cli_options *o, struct operator_env *env);
/* Saves when code is CLI_DONE (not after a look), and frees. returns the exit
 * code */
int operator_end(struct operator_env *env, int code);

/* The --zone argument. out: canonical, "*" for every zone, "" when it was not
 * given. returns 0, or -1 after naming the zones that are known */
MUST_CHECK int operator_zone(const struct operator_env *env,
                             char out[NAME_SIZE]);
/* The zone of data centre dc, by --zone or because there is but one; "*":
 * every zone. returns 0, or -1 after naming what is known */
MUST_CHECK int operator_dc_zone(const struct operator_env *env, const char *dc,
                                char out[NAME_SIZE]);
/* A name that some spec manages: the nearest zone that has it, or NULL. */
struct recall_zone *operator_zone_of(const struct operator_env *env,
                                     const char *name);
bool operator_has_dc(const struct operator_env *env, const char *dc);
bool operator_has_zone(const struct operator_env *env, const char *zone);

/* What is known, for messages: "a, b, c and 3 more", "none yet: …". Heap,
 * caller frees. */
char *operator_dcs(const struct operator_env *env);
char *operator_zones(const struct operator_env *env);
char *operator_names(const struct operator_env *env);

/* As override_readmit_…, and the service is told, if one holds the state. */
size_t operator_readmit_name(struct operator_env *env, const char *zone,
                             const char *name, const char *data);
size_t operator_readmit_dc(struct operator_env *env,
                           const struct recall_zone *z, const char *dc);

/* A line of the history: "… by USER" is added to the text. */
void operator_event(struct operator_env *env, const char *event,
                    const char *zone, const char *name, const char *data,
                    const char *fmt, ...) __attribute__((format(printf, 6, 7)));

#endif
