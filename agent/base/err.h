#ifndef AGENT_BASE_ERR_H
#define AGENT_BASE_ERR_H

/* Errors as values. The code says what the caller does next, the text says
 * to a person what happened, where, and what is accepted. */

#define ERR_MSG_SIZE 1024

enum err_code {
    ERR_NONE = 0,
    ERR_INPUT,       /* somebody's input is wrong: tell them, go on without */
    ERR_UNSUPPORTED, /* right, but not in this version */
    ERR_NOTFOUND,    /* asked, and it is not there */
    ERR_RETRY,       /* failed for now: hold what we have, try next round */
    ERR_UNKNOWN,     /* a write whose outcome is not known: read back first */
    ERR_AUTH,        /* credentials or permissions: stop this account */
    ERR_CONFLICT,    /* somebody else changed it meanwhile: read again */
    ERR_LIMIT,       /* a limit of ours or theirs */
    ERR_LOCAL,       /* our own fault (descriptors, route): counts for nobody */
    ERR_BUSY,        /* another run holds the lock */
    ERR_BUG,         /* cannot happen */
};

struct err {
    enum err_code code;
    char msg[ERR_MSG_SIZE]; /* one line, no final newline */
};

/* Fills e (if not NULL) and returns -1, so that `return err_set(…)` reads
 * well. Control characters of the formatted text become '?': texts of
 * servers and specs pass through here. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the text of e, keeps the code; returns -1. */
int err_wrap(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The code's name for logs and JSON: "input", "retry", … */
const char *err_code_name(enum err_code code);

#define MUST_CHECK __attribute__((warn_unused_result))

#endif
