#ifndef AGENT_CLI_LINT_H
#define AGENT_CLI_LINT_H

#include "agent/base/mem.h"
#include "agent/cli/cli.h"
#include "specs/spec.h"

/* What `lint` found out about one text. */

struct lint_note {
    const char *id;   /* for programs: "ttl-long", "warning" */
    const char *text; /* "_failover.www.example.org /records/1: …" */
    bool info;        /* tells a fact, warns of nothing */
    bool error;       /* the text is valid, and the agent's file refuses it */
};

struct lint_subject {
    struct arena *arena;
    struct spec *spec; /* NULL: not valid, see err */
    struct err err;
    const struct spec_txt *txts; /* what it was read from */
    size_t ntxts;
    struct lint_note *notes; /* heap */
    size_t nnotes, cap;
};

void lint_init(struct lint_subject *s);
void lint_fini(struct lint_subject *s);
void lint_note_add(struct lint_subject *s, const char *id, bool info,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* What makes lint fail although the text is valid. */
void lint_error_add(struct lint_subject *s, const char *id, const char *fmt,
                    ...) __attribute__((format(printf, 3, 4)));

/* Adds what the spec's own text and the agent's file say of it: warnings,
 * advice, targets that the limits refuse, fallback without anchors, sizes
 * that the provider does not take, views that zone does not have. cfg and zone
 * may be NULL: not known. cron_ms: its interval; 0: a minute. source:
 * spec-language 10 */
void lint_advise(struct lint_subject *s, const struct config *cfg,
                 const struct config_zone *zone, int64_t cron_ms);

/* Reads the spec that DNS has for name, judged with its zone's apex spec, and
 * adds what DNS says of it: a wildcard that its name hides, the SOA minimum,
 * the TTLs that it leaves as they are. Zone, servers and limits come from cfg
 * where it has the zone; else from the recursive servers. On failure s->err
 * says why. */
void lint_dns(struct lint_subject *s, const struct config *cfg,
              const char *name, int64_t cron_ms);

/* The section of cfg that name (canonical) belongs to: of its zone, else the
 * only one for every zone ("*"); NULL: none. */
const struct config_zone *lint_section(const struct config *cfg,
                                       const char *name);

#endif
