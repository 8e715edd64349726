#ifndef PROVIDERS_SHARED_FINDINGS_H
#define PROVIDERS_SHARED_FINDINGS_H

#include "agent/base/mem.h"
#include "providers/provider.h"

/* A growing list of findings, for the op `check`. Texts live in its arena. */
struct findings {
    struct arena *arena;
    struct provider_finding *v;
    size_t n, cap;
};

void findings_init(struct findings *f);
void findings_fini(struct findings *f);
/* option: borrowed for ever, of the type's table; NULL: none. remedy: copied;
 * NULL: none */
void findings_add(struct findings *f, enum provider_finding_level level,
                  const char *option, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* For the answer; borrowed from f. */
struct provider_checked findings_get(const struct findings *f);

#endif
