#include "agent/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec ts = {0, 0};

    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_mono_ms(void)
{
    return clock_mono_ns() / 1000000;
}

int64_t clock_boot_ms(void)
{
#ifdef CLOCK_BOOTTIME
    return read_ns(CLOCK_BOOTTIME) / 1000000;
#else
    return clock_mono_ms();
#endif
}

int64_t clock_wall_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

void clock_boot_id(char out[CLOCK_BOOT_ID_SIZE])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    out[0] = '\0';
    if (f == NULL)
        return;
    if (fgets(out, CLOCK_BOOT_ID_SIZE, f) == NULL)
        out[0] = '\0';
    (void)fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

void clock_format(int64_t wall_ms, char *out, size_t size)
{
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;

    if (size == 0)
        return;
    out[0] = '\0';
    if (gmtime_r(&t, &tm) != NULL)
        (void)strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
