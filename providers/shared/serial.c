#include "providers/shared/serial.h"

#include <time.h>

bool serial_newer(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;

    return ahead != 0 && ahead < UINT32_C(0x80000000);
}

static uint32_t plus_one(uint32_t old)
{
    /* 0 is legal, but some software takes it for "none" */
    return old == UINT32_MAX ? 1 : old + 1;
}

/* Days above 31 count too: a date serial that overflowed its two digits
 * comes back to the date as soon as that is newer. */
static bool is_date(uint32_t serial, uint32_t this_year)
{
    uint32_t year = serial / 1000000, month = serial / 10000 % 100,
             day = serial / 100 % 100;

    return year >= 1980 && year <= this_year + 1 && month >= 1 && month <= 12 &&
           day >= 1;
}

uint32_t serial_next(uint32_t old, int64_t now_wall_ms)
{
    time_t now_s = (time_t)(now_wall_ms / 1000);
    uint32_t want = plus_one(old), now32 = (uint32_t)now_s;
    struct tm tm;

    if (now_s <= 0 || gmtime_r(&now_s, &tm) == NULL)
        return want;
    if (is_date(old, (uint32_t)(tm.tm_year + 1900))) {
        want = (uint32_t)(tm.tm_year + 1900) * 1000000 +
               (uint32_t)(tm.tm_mon + 1) * 10000 + (uint32_t)tm.tm_mday * 100 +
               1;
    } else if (old - now32 <= 86400 || now32 - old <= 86400) {
        want = now32;
    }
    return want != 0 && serial_newer(want, old) ? want : plus_one(old);
}
