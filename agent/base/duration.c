#include "agent/base/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DURATION_MAX_MS (366LL * 24 * 3600 * 1000)

static const struct {
    const char *suffix;
    int64_t ms;
} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

int duration_parse(const char *text, int64_t *ms, struct err *e)
{
    int64_t whole = 0, part = 0, scale = 1, unit = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9' && whole <= DURATION_MAX_MS; p++)
        whole = whole * 10 + (*p - '0');
    if (p == text)
        goto bad;
    if (*p == '.') {
        const char *dot = p++;

        for (; *p >= '0' && *p <= '9'; p++) {
            if (scale < 1000) {
                part = part * 10 + (*p - '0');
                scale *= 10;
            }
        }
        if (p == dot + 1)
            goto bad;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(p, units[i].suffix) == 0)
            unit = units[i].ms;
    if (unit == 0 || whole > DURATION_MAX_MS / unit)
        goto bad;
    *ms = whole * unit + part * unit / scale;
    return 0;
bad:
    return err_set(e, ERR_INPUT,
                   "\"%.60s\" is not a duration; accepted: seconds, or "
                   "\"500ms\", \"10s\", \"2m\", \"1h\"",
                   text);
}

const char *duration_format(int64_t ms, char out[32])
{
    if (ms % 1000 != 0)
        (void)snprintf(out, 32, "%" PRId64 "ms", ms);
    else if (ms == 0 || ms % 60000 != 0)
        (void)snprintf(out, 32, "%" PRId64 "s", ms / 1000);
    else if (ms % 3600000 != 0)
        (void)snprintf(out, 32, "%" PRId64 "m", ms / 60000);
    else
        (void)snprintf(out, 32, "%" PRId64 "h", ms / 3600000);
    return out;
}
