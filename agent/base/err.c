#include "agent/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[] = {
    [ERR_NONE] = "none",         [ERR_INPUT] = "input",
    [ERR_NOTFOUND] = "notFound", [ERR_UNSUPPORTED] = "unsupported",
    [ERR_RETRY] = "retry",       [ERR_UNKNOWN] = "unknown",
    [ERR_AUTH] = "auth",         [ERR_CONFLICT] = "conflict",
    [ERR_LIMIT] = "limit",       [ERR_LOCAL] = "local",
    [ERR_BUSY] = "busy",         [ERR_BUG] = "bug",
};

static void one_line(char *s)
{
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == 0x7f)
            *s = '?';
    }
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    if (e == NULL)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    (void)vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    one_line(e->msg);
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char context[ERR_MSG_SIZE];
    size_t n, rest;
    va_list ap;

    if (e == NULL)
        return -1;
    va_start(ap, fmt);
    (void)vsnprintf(context, sizeof context - 2, fmt, ap);
    va_end(ap);
    n = strlen(context);
    memcpy(context + n, ": ", 2);
    n += 2;
    /* What does not fit is cut at the end. */
    rest = strnlen(e->msg, sizeof e->msg - 1 - n);
    memmove(e->msg + n, e->msg, rest);
    memcpy(e->msg, context, n);
    e->msg[n + rest] = '\0';
    one_line(e->msg);
    return -1;
}

const char *err_code_name(enum err_code code)
{
    if ((size_t)code >= sizeof code_names / sizeof code_names[0])
        return "bug";
    return code_names[code];
}
