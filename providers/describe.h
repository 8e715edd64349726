#ifndef PROVIDERS_DESCRIBE_H
#define PROVIDERS_DESCRIBE_H

#include "agent/base/mem.h"
#include "providers/provider.h"

/* What a provider's tables say, for people: `dnsfailover providers` and
 * dnsfailover.conf(5). */

/* One thing that a type can, or one of its limits. */
struct describe_fact {
    const char *id;   /* for programs: "min-ttl" */
    const char *help; /* one line: "the smallest TTL, in seconds" */
    bool is_number;   /* else yes or no */
    long long number; /* of this type; 0: no limit of its own */
    bool yes;         /* of this type */
    const char *unit; /* of a number; "" */
};
/* All of them, in a fixed order.
 * out: *facts — n, in arena a; returns n */
size_t describe_facts(const struct provider_ops *ops, struct arena *a,
                      struct describe_fact **facts);

/* The options of a type as a list of mdoc(7), heap; and a paragraph of what
 * it can. */
char *describe_manual(const struct provider_ops *ops);

#endif
