#ifndef PROVIDERS_HOOK_HOOK_COMMAND_H
#define PROVIDERS_HOOK_HOOK_COMMAND_H

#include <stdint.h>

#include "agent/base/config.h"
#include "agent/base/err.h"

/* What a section of type hook comes to: the same for the provider and for the
 * helper that runs its command. */

extern const struct config_field hook_fields[];

struct hook_command {
    char **argv; /* by proc_argv_free */
    char **env;  /* "NAME=value", ends with NULL; by proc_argv_free */
    char *dir;   /* heap */
    int64_t timeout_ms;
};
/* out: *c — emptied by hook_command_fini, also after an error
 * returns 0, or -1 with e set (ERR_INPUT, "NAME: …" of the option) */
MUST_CHECK int hook_command_read(const struct config_provider *cfg,
                                 struct hook_command *c, struct err *e);
void hook_command_fini(struct hook_command *c);

#endif
