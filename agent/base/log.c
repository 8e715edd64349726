#include "agent/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static enum log_level limit = LOG_WARN;

void log_set_level(enum log_level level)
{
    limit = level;
}

enum log_level log_get_level(void)
{
    return limit;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const int severity[] = {1, 3, 4, 6, 7};
    char text[2048];
    va_list ap;
    char *p;

    if (level > limit)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (p = text; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    if (getenv("JOURNAL_STREAM") != NULL)
        (void)fprintf(stderr, "<%d>", severity[level]);
    (void)fprintf(stderr, "dnsfailover: %s\n", text);
}
