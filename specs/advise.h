#ifndef SPECS_ADVISE_H
#define SPECS_ADVISE_H

#include "specs/spec.h"

/* What can be said of a valid spec from its text alone: risks, and how long
 * a failover takes. source: spec-language 10 */

enum spec_advice_id {
    SPEC_ADVICE_SPELLING,
    SPEC_ADVICE_TXT_SIZE,
    SPEC_ADVICE_PANEL,
    SPEC_ADVICE_TTL_LONG,
    SPEC_ADVICE_TTL_DETECTION,
    SPEC_ADVICE_OWN_NAME,
    SPEC_ADVICE_VERIFY_OFF,
    SPEC_ADVICE_SINGLE,
    SPEC_ADVICE_INTERNET,
    SPEC_ADVICE_FAILOVER_TIME,
    SPEC_NADVICE
};

struct spec_advice_kind {
    const char *id;   /* for programs: "ttl-long" */
    const char *help; /* one line, for the manual */
    bool info;        /* tells a fact, warns of nothing */
};
extern const struct spec_advice_kind spec_advice_kinds[SPEC_NADVICE];

struct spec_advice {
    enum spec_advice_id kind;
    const char *text; /* "_failover.www.example.org /records/1: …" */
};

/* What the agent's side adds; 0 and NULL where it is not known. */
struct spec_advise_context {
    const char *dc;           /* where the agent stands; NULL: nowhere */
    int64_t cron_interval_ms; /* 0: the agent runs as a service */
    int64_t provider_ms;      /* until a change is published */
    int64_t debounce_ms;      /* of the zone; -1: the default */
};

/* All advice for s, in the order of spec_advice_kinds.
 * in:  txts — what s was read from; n 0: not known
 * out: *out — *nout of them, all in arena a */
void spec_advise(const struct spec *s, const struct spec_txt *txts, size_t n,
                 const struct spec_advise_context *ctx, struct arena *a,
                 struct spec_advice **out, size_t *nout);

/* The longest time from a failure to the moment when no resolver hands out
 * the value any more: accessPeriod (cron: its interval) + (requiredFailure -
 * 1) × the longer of retryPeriod and timeout + timeout + debounce + provider
 * + TTL, of the slowest check that a record of the set depends on; a TTL that
 * is not given counts as 0.
 * returns ms, or -1: it depends on no check. source: spec-language 10 */
int64_t spec_worst_case_ms(const struct spec *s, const struct spec_set *set,
                           int64_t cron_interval_ms, int64_t provider_ms,
                           int64_t debounce_ms);

#endif
