#ifndef AGENT_ENGINE_WORLD_OVERRIDE_H
#define AGENT_ENGINE_WORLD_OVERRIDE_H

#include "agent/engine/world/recall.h"

/* What the operator asked for: maintenance, freeze, readmit. The rows are the
 * state's (state_override_…); here is what they mean. */

/* A row's key taken apart; zone and what may be "*": all. */
struct override {
    char kind[16];        /* "maintenance" or "freeze" */
    char zone[NAME_SIZE]; /* canonical, or "*" */
    char what[NAME_SIZE]; /* a data centre, a name, or "*" */
};

/* returns false when the key is not ours. */
bool override_split(const struct state_override *row, struct override *out);
bool override_in_force(const struct state_override *row, int64_t now_ms);
/* When it ends, as wall time; 0: no end. */
int64_t override_until_wall_ms(const struct state_override *row,
                               int64_t now_ms);
/* "dc1 of example.org. is in maintenance", "www.example.org. is frozen",
 * "every zone is frozen". Heap, caller frees. */
char *override_subject(const struct override *o);
/* The same with "by root since … until …". Heap, caller frees. */
char *override_text(const struct state_override *row, int64_t now_ms);
/* Those in force, by key; *n of them. Heap, caller frees the array. */
struct state_override **override_list(struct state *s, int64_t now_ms,
                                      size_t *n);
/* The row that keeps name in zone frozen, the widest first; NULL: none. */
struct state_override *override_freeze_of(struct state *s, const char *zone,
                                          const char *name, int64_t now_ms);

/* The file `freeze` in the state's directory stops writes as long as it is
 * there, or its directory cannot be entered. returns its path, for messages
 * (then with the reason; heap, caller frees), or NULL: it is not there */
char *override_freeze_file(const char *state_path);
/* Freezes every set of w. */
void override_freeze_world(struct world *w);

/* Lets values of name in again (data NULL: all of the name; canonical).
 * returns how many are remembered */
size_t override_readmit_name(struct state *s, const char *zone,
                             const char *name, const char *data);
/* Lets the data centre and its records in again, in every spec of the zone
 * that has it. returns how many records it has */
size_t override_readmit_dc(struct state *s, const struct recall_zone *z,
                           const char *dc);

#endif
