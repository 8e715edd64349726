#ifndef AGENT_BASE_PROC_H
#define AGENT_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/base/loop.h"

/* Commands of the configuration file: run without a shell, in a process
 * group of their own, with a time limit and limited output. */

#define PROC_OUTPUT_MAX 4096

struct proc_result {
    bool started;   /* false: could not be run, see err */
    bool timed_out; /* the whole group was ended */
    int exit_code;  /* -1 when ended by a signal or timed out */
    int signal;     /* 0: none */
    char output[PROC_OUTPUT_MAX + 1]; /* stdout and stderr, cut, NUL */
    struct err err; /* set unless exit_code is 0: one line saying why, with
                       the last line of output; ERR_LOCAL when it could not
                       be started, else ERR_RETRY */
};
typedef void proc_cb(void *arg, const struct proc_result *r);

/* Splits a command template at blanks ('…' and "…" keep blanks, no other
 * shell syntax) and replaces {key} in each word by its value: a value never
 * becomes two words, and never none. Only {word} of letters, digits, '-' and
 * '_' is a placeholder; other braces stay. keys and values: nvars each.
 * out: *argv — NULL-terminated, heap; freed by proc_argv_free
 * returns 0, or -1 with e set (ERR_INPUT: empty, open quote, unknown {key}) */
MUST_CHECK int proc_split(const char *command, const char *const *keys,
                          const char *const *values, size_t nvars, char ***argv,
                          struct err *e);
void proc_argv_free(char **argv);
/* Whether program is there and may be run by us: as a path, or in PATH.
 * returns 0, or -1 with e set (ERR_LOCAL). source: execvp(3) */
MUST_CHECK int proc_find(const char *program, struct err *e);

/* Of this process' environment what a command gets: PATH, HOME, USER, LOGNAME,
 * SHELL, LANG, LANGUAGE, LC_*, TZ and TMPDIR. The rest may hold secrets.
 * returns "NAME=value" strings, ends with NULL; the list is heap (free), the
 * strings are the environment's. source: environ(7) */
char **proc_env_new(void) __attribute__((returns_nonnull));

/* What a command gets beside its words. */
struct proc_setting {
    const char *dir;  /* NULL: as is */
    char *const *env; /* "NAME=value", ends with NULL; its PATH is searched;
                         NULL: proc_env_new's */
    const int *stdio; /* two descriptors, its standard input and output, which
                         are not read or written here; output then is stderr
                         alone; NULL: input and output as with proc_run */
};

/* Starts argv[0] (PATH is searched) in directory dir (NULL: as is), feeds
 * it input (NULL: /dev/null) and calls cb once, always later, and before
 * loop_free. After timeout_ms (more than 0) the group gets SIGTERM, a second
 * later SIGKILL. A process that outlives the command (a service that it
 * started) is let live; its output is not waited for. argv, dir and input are
 * copied where they are needed later; the environment is that of proc_env_new.
 * The handle is valid until cb starts.
 * source: uv_spawn(3), setsid(2), kill(2) */
struct proc;
struct proc *proc_run(struct loop *l, char *const *argv, const char *dir,
                      const char *input, size_t input_len, int64_t timeout_ms,
                      proc_cb *cb, void *arg) __attribute__((returns_nonnull));
/* The same in a setting, which is copied where it is needed later; with stdio
 * there is no input. */
struct proc *proc_run_in(struct loop *l, char *const *argv,
                         const struct proc_setting *s, const char *input,
                         size_t input_len, int64_t timeout_ms, proc_cb *cb,
                         void *arg) __attribute__((returns_nonnull));
/* Ends the whole group at once (SIGKILL) and forgets the call; cb will not
 * come. Only before cb has started. */
void proc_drop(struct proc *p);

#endif
