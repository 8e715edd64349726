#ifndef AGENT_BASE_DOER_H
#define AGENT_BASE_DOER_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/proc.h"

/* Who opens the files and runs the commands that the configuration names:
 * this process itself (`once`, the operator's commands), or, for a service
 * that gave its rights up, the helper (helper.h). The helper is told names of
 * the configuration only and looks the rest up in its own reading of it; the
 * paths and words beside them are what this process itself would use. */

enum doer_kind {
    DOER_CHECK,
    DOER_RELOAD,
    DOER_NOTIFY,
    DOER_COMMAND,
    DOER_HOOK
};

#define DOER_NOTIFY_MS 10000 /* a notify command may take */

struct doer_command {
    enum doer_kind kind;
    const char *name; /* of the provider, or of the command; NOTIFY: NULL */
    const char *zone; /* CHECK, RELOAD: canonical */
    const struct addr *target; /* COMMAND */
    const char *input;         /* NULL: none */
    size_t input_len;
    int64_t timeout_ms;
    char *const *argv; /* as proc_run */
    const char *dir;   /* as proc_run */
    char *const *env;  /* as proc_run_in */
    const int *stdio;  /* HOOK: as proc_run_in; open until cb starts */
};

struct helper;
struct doer;
struct doer_task; /* a command that runs */

struct doer_ops {
    int (*open)(const struct doer *d, const char *provider, const char *option,
                const char *path, struct err *e);
    struct doer_task *(*run)(const struct doer *d, struct loop *l,
                             const struct doer_command *c, proc_cb *cb,
                             void *arg);
    void (*drop)(struct doer_task *t);
};

/* Goes with one reading of the configuration. */
struct doer {
    const struct doer_ops *ops;
    struct helper *helper; /* NULL: this process */
    uint32_t generation;   /* which reading the helper looks into */
};

/* Wherever a doer is taken, NULL is this process itself. */

/* Opens the file that option (NAME-file) of provider names, for reading, not
 * blocking.
 * in:  path — what the option comes to
 * returns the descriptor, or -1 with e set (ERR_AUTH: permissions and what
 * else the system says; ERR_LOCAL: no helper) */
MUST_CHECK int doer_open(const struct doer *d, const char *provider,
                         const char *option, const char *path, struct err *e);
/* As proc_run; the handle is valid until cb starts. d must live as long. */
struct doer_task *doer_run(const struct doer *d, struct loop *l,
                           const struct doer_command *c, proc_cb *cb, void *arg)
    __attribute__((returns_nonnull));
/* As proc_drop. d: who runs it */
void doer_drop(const struct doer *d, struct doer_task *t);

#endif
