#ifndef AGENT_BASE_CLOCK_H
#define AGENT_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_BOOT_ID_SIZE 40

/* Milliseconds of the monotonic clock: for intervals inside one process. */
int64_t clock_mono_ms(void);
int64_t clock_mono_ns(void);
/* Milliseconds since boot, suspend included: for what is kept from one
 * process to the next of the same boot (CLOCK_BOOTTIME on Linux, elsewhere
 * the monotonic clock). */
int64_t clock_boot_ms(void);
/* Milliseconds since 1970 UTC: for people, and across boots. */
int64_t clock_wall_ms(void);
/* This boot's id, "" where the system has none. */
void clock_boot_id(char out[CLOCK_BOOT_ID_SIZE]);
/* "2026-11-30T12:00:07Z" of wall milliseconds (seconds shown). */
void clock_format(int64_t wall_ms, char *out, size_t size);

#endif
